//! Words as people type them, against schemas as servers write them.

use std::fs;

use serde_json::{Value, json};

use super::*;
use crate::talk::schema::SchemaDocument;

#[test]
fn a_value_has_the_type_that_the_schema_gives_it() {
    let schema = json!({"properties": {
        "s": {"type": "string"}, "n": {"type": "number"}, "i": {"type": "integer"},
        "b": {"type": "boolean"}, "a": {"type": "array"}, "o": {"type": "object"},
        "e": {"enum": ["1", 2]}, "maybe": {"anyOf": [{"type": "string"}, {"type": "null"}]},
        "either": {"type": ["string", "integer"]}}});

    let typed = typed(
        &schema,
        &[
            "s=12",
            "n=1.10",
            "i=123456789012345678901234567890",
            "b=true",
            "a=[1, 2]",
            r#"o={"x":1}"#,
            "e=1",
            "maybe=null",
            "either=7",
            "free=1",
            "more=a=b c",
        ],
    );

    assert_eq!(
        typed,
        r#"{"s":"12","n":1.10,"i":123456789012345678901234567890,"b":true,"a":[1, 2],"#.to_owned()
            + r#""o":{"x":1},"e":"1","maybe":null,"either":7,"free":1,"more":"a=b c"}"#
    );
}

#[test]
fn json_behind_a_colon_is_what_it_is_whatever_the_schema_says() {
    let schema = json!({"properties": {"s": {"type": "string"}}});

    assert_eq!(typed(&schema, &["s:=12", "o:={\"a\": [1]}"]), r#"{"s":12,"o":{"a": [1]}}"#);
}

#[test]
fn points_lead_into_objects_and_types_come_from_there() {
    let schema = json!({"properties": {"a": {"properties": {"n": {"type": "number"}, "s": {"type": "string"}}},
        "x.y": {"type": "string"}}});

    let words = ["a.n=1", "a.s=1", "a.new.deep=t", "x.y=1", r"p\.q=1", ".r=1"];

    assert_eq!(
        typed(&schema, &words),
        r#"{"a":{"n":1,"s":"1","new":{"deep":"t"}},"x.y":"1","p.q":1,".r":1}"#
    );
}

#[test]
fn a_key_that_is_there_again_makes_a_list() {
    let schema = json!({"properties": {"tags": {"type": "array", "items": {"type": "string"}},
        "sizes": {"anyOf": [{"type": "array", "items": {"type": "integer"}}, {"type": "null"}]}}});

    assert_eq!(
        typed(&schema, &["tags=1", "tags=b", "sizes=1", "sizes=2", "free=a", "free=b"]),
        r#"{"tags":["1","b"],"sizes":[1,2],"free":["a","b"]}"#
    );
    assert_eq!(typed(&schema, &["tags=a", "sizes=null"]), r#"{"tags":["a"],"sizes":null}"#);
    assert_eq!(typed(&schema, &[r#"tags=["a"]"#]), r#"{"tags":["a"]}"#);
}

#[test]
fn a_key_that_takes_one_value_is_not_given_twice() {
    let schema = json!({"properties": {"to": {"type": "string"}}});

    assert_eq!(
        refused(&schema, &["to=a", "to=b"]),
        ["`to` is given 2 times, but takes one value: string; typed: `to=a`, `to=b`"]
    );
    assert_eq!(
        refused(&json!({}), &["a=1", "a.b=2"]),
        ["`a` cannot be a value and an object; typed: `a.b=2`"]
    );
}

#[test]
fn a_file_is_read_and_one_that_cannot_be_read_is_named() {
    let path = std::env::temp_dir().join(format!("ridethrough-arguments-{}", std::process::id()));
    fs::write(&path, "[1, 2]").unwrap();
    let schema = json!({"properties": {"text": {"type": "string"}, "list": {"type": "array"}}});
    let path_shown = path.display();

    let words = [
        format!("text=@{path_shown}"),
        format!("list=@{path_shown}"),
        format!("json:=@{path_shown}"),
        "at=@".to_owned(),
    ];

    let words: Vec<_> = words.iter().map(String::as_str).collect();
    assert_eq!(typed(&schema, &words), r#"{"text":"[1, 2]","list":[1, 2],"json":[1, 2],"at":"@"}"#);
    fs::remove_file(path).unwrap();
    let fault = read(&["who=@nobody-here".to_owned()]).unwrap().unwrap_err();
    assert!(fault.contains("`who=@nobody-here` cannot be read: "), "{fault}");
    assert!(fault.contains(r#"`who:='"@nobody-here"'` is the text itself"#), "{fault}");
}

#[test]
fn booleans_are_typed_as_people_say_them_and_texts_stay_texts() {
    let schema = json!({"properties": {"b": {"type": "boolean"}, "t": {"type": "string"},
        "e": {"type": ["boolean", "string"]}}});

    let words = ["b=yes", "t=yes", "e=yes"].map(str::to_owned);
    let (built, _) = read(&words)
        .unwrap()
        .unwrap()
        .by(SchemaDocument::new(&Json::from(schema)).schema())
        .unwrap();

    assert_eq!(built.as_str(), r#"{"b":true,"t":"yes","e":"yes"}"#);
}

#[test]
fn what_fits_no_type_stays_text() {
    let schema = json!({"properties": {"i": {"type": "integer"}, "b": {"type": "boolean"}}});

    assert_eq!(typed(&schema, &["i=many", "b=maybe"]), r#"{"i":"many","b":"maybe"}"#);
}

#[test]
fn what_cannot_be_read_is_repeated_and_cut() {
    for (words, shown) in [
        (&["word"][..], "`word` is no `key=value`"),
        (&["=text"], "`=text` is no `key=value`"),
        (&["a=1", "-"], "`-` is no `key=value`: `-` stands alone, for an object on stdin"),
        (&["a:={"], "`a:={` is no JSON behind `:=`: EOF while parsing"),
        (&["{a"], "`{a` is no JSON object: key must be a string"),
    ] {
        let words: Vec<_> = words.iter().map(|&it| it.to_owned()).collect();

        let fault = read(&words).unwrap().unwrap_err();

        assert!(fault.starts_with(shown), "{fault}");
    }
    let fault = read(&["x".repeat(5000)]).unwrap().unwrap_err();
    assert!(fault.len() < 100, "{fault}");
}

#[test]
fn an_object_is_sent_as_it_was_typed() {
    let words = [r#" {"z": 1.10, "a": 1e2} "#.to_owned()];
    let document = SchemaDocument::new(&Json::empty_object());

    let (json, _) = read(&words).unwrap().unwrap().by(document.schema()).unwrap();

    assert_eq!(json.as_str(), r#"{"z": 1.10, "a": 1e2}"#);
}

fn built(schema: &Value, words: &[&str]) -> Result<(Json, Origins), Vec<String>> {
    let words: Vec<_> = words.iter().map(|&it| it.to_owned()).collect();
    let document = SchemaDocument::new(&schema.clone().into());
    read(&words).unwrap().unwrap().by(document.schema())
}

fn typed(schema: &Value, words: &[&str]) -> String {
    built(schema, words).unwrap_or_else(|faults| panic!("{faults:?}")).0.as_str().to_owned()
}

fn refused(schema: &Value, words: &[&str]) -> Vec<String> {
    built(schema, words).err().expect("it is refused")
}
