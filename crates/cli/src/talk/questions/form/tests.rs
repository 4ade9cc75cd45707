//! Forms filled in by scripts: lines in, prompts and JSON out.

use serde_json::{Value, json};

use super::*;

#[test]
fn every_kind_of_field_takes_what_a_person_types() {
    let mut form = ordered(
        r##"{"name": {"type": "string", "minLength": 2},
        "mail": {"type": "string", "format": "email"},
        "age": {"type": "integer", "minimum": 0},
        "ratio": {"type": "number"},
        "sure": {"type": "boolean"},
        "size": {"type": "string", "enum": ["s", "m"]},
        "hue": {"type": "string", "oneOf": [{"const": "#f00", "title": "Red"}, {"const": "#0f0", "title": "Green"}]},
        "old": {"type": "string", "enum": ["a", "b"], "enumNames": ["Alpha", "Beta"]},
        "tags": {"type": "array", "items": {"type": "string", "enum": ["x", "y", "z"]}},
        "more": {"type": "array", "items": {"anyOf": [{"const": "1st", "title": "First"}, {"const": "2nd", "title": "Second"}]}}}"##,
    );

    let lines =
        ["Ann", "a@b.example", "30", "1.50", "Y", "2", "red", "Beta", "z, 1", "second,First", ""];

    assert_eq!(
        filled_in(&mut form, &lines),
        r##"{"name":"Ann","mail":"a@b.example","age":30,"ratio":1.50,"sure":true,"size":"m","hue":"#f00","old":"b","tags":["z","x"],"more":["2nd","1st"]}"##
    );
}

#[test]
fn what_does_not_fit_is_asked_again_with_the_reason() {
    for (property, line, reason) in [
        (json!({"type": "integer", "minimum": 1}), "none", "`a` must be integer, at least 1"),
        (json!({"type": "integer", "minimum": 1}), "0", "`a` must be integer, at least 1"),
        (json!({"type": "integer"}), "1.5", "`a` must be integer"),
        (json!({"type": "number", "maximum": 2}), "3", "`a` must be number, at most 2"),
        (json!({"type": "boolean"}), "perhaps", "type `yes` or `no`"),
        (
            json!({"type": "string", "minLength": 3}),
            "ab",
            "`a` must be string, characters at least 3",
        ),
        (json!({"type": "string", "format": "email"}), "ab", "`a` must be string, as `email`"),
        (json!({"type": "string", "format": "date"}), "today", "`a` must be string, as `date`"),
        (json!({"type": "string", "format": "uri"}), "here", "`a` must be string, as `uri`"),
        (json!({"enum": ["s", "m"]}), "3", "`3` is none of the choices"),
        (json!({"enum": ["s", "m"]}), "0", "`0` is none of the choices"),
        (
            json!({"type": "array", "items": {"enum": ["s", "m"]}}),
            "s, l",
            "`l` is none of the choices",
        ),
        (
            json!({"type": "array", "minItems": 2, "items": {"enum": ["s", "m"]}}),
            "s",
            "`a` must be array of (one of \"s\", \"m\"), items at least 2",
        ),
        (
            json!({"type": "array", "items": {"enum": ["s", "m"]}}),
            "[",
            "what begins with `[` must be a list as JSON",
        ),
    ] {
        let mut form = form(json!({ "a": property }));
        let asked = form.question();

        let taken = form.take(line);

        assert_eq!(taken, Taken::Again(reason.to_owned()), "{property} {line}");
        assert_eq!(form.question(), asked);
    }
}

#[test]
fn an_empty_line_takes_the_default_and_says_nothing_where_there_is_none() {
    let mut form = ordered(
        r#"{"name": {"type": "string", "default": "Ann"},
        "sure": {"type": "boolean", "default": false},
        "tags": {"type": "array", "items": {"enum": ["x", "y"]}, "default": ["y", "x"]},
        "note": {"type": "string"}}"#,
    );

    assert!(form.question().ends_with("\nname [Ann]: "), "{}", form.question());
    assert_eq!(form.take(""), Taken::Next);
    assert!(form.question().ends_with("\nsure [no]: "), "{}", form.question());
    assert_eq!(form.take(" "), Taken::Next);
    assert!(form.question().ends_with("\ntags [y, x]: "), "{}", form.question());
    assert_eq!(
        filled_in(&mut form, &["", "", "yes"]),
        r#"{"name":"Ann","sure":false,"tags":["y", "x"]}"#
    );
}

#[test]
fn a_required_field_cannot_be_left_empty_but_its_text_can_be() {
    let schema =
        json!({"type": "object", "required": ["a"], "properties": {"a": {"type": "string"}}});
    let mut form = Form::new(&request("?", schema)).unwrap();

    assert_eq!(form.take(""), Taken::Again("`a` is required; `\"\"` is the empty text".to_owned()));
    assert_eq!(filled_in(&mut form, &["\"\"", "y"]), r#"{"a":""}"#);
}

#[test]
fn a_default_that_does_not_fit_is_not_taken() {
    let mut form = form(json!({"a": {"type": "integer", "default": "many"}}));

    assert_eq!(form.take(""), Taken::Again("`a` must be integer".to_owned()));
}

#[test]
fn what_is_sent_is_shown_first_and_can_be_changed_or_declined() {
    let mut form = ordered(r#"{"name": {"type": "string"}, "age": {"type": "integer"}}"#);
    form.take("Bob");
    form.take("");

    let review = form.question();
    assert_eq!(
        review,
        "\nThis is sent:\n  name: Bob\n  age: (nothing)\nsend it? yes, no or edit [yes]: "
    );
    assert_eq!(form.take("what?"), Taken::Again("type `yes`, `no` or `edit`".to_owned()));
    assert_eq!(form.take("edit"), Taken::Next);
    assert!(form.question().ends_with("\nname [Bob]: "), "{}", form.question());
    assert_eq!((form.take(""), form.take("7")), (Taken::Next, Taken::Next));
    assert_eq!(form.take("no"), Taken::Declined);
    assert_eq!(form.take(""), Taken::Accepted(Json::new(r#"{"name":"Bob","age":7}"#).unwrap()));
}

#[test]
fn a_form_without_fields_wants_a_plain_yes() {
    let mut form = form(json!({}));

    assert_eq!(form.question(), "\nagree? yes or no: ");
    assert_eq!(form.take(""), Taken::Again("type `yes` or `no`".to_owned()));
    assert_eq!(form.take("y"), Taken::Accepted(Json::empty_object()));
}

#[test]
fn values_that_were_given_before_are_held_to_the_same_bounds() {
    for (property, fits, not) in [
        (json!({"type": "string", "maxLength": 2}), json!("äö"), json!("abc")),
        (json!({"type": "number", "minimum": 1.5}), json!(1.5), json!(1)),
        (json!({"type": "array", "maxItems": 1}), json!(["x"]), json!(["x", "y"])),
        (json!({"type": "array", "items": {"enum": ["x"]}}), json!(["x"]), json!(["y"])),
        (json!({"oneOf": [{"const": "a", "title": "A"}]}), json!("a"), json!("A")),
        (json!({"const": 1}), json!(1), json!(2)),
        (json!({"enum": ["s"]}), json!("s"), json!(null)),
        (json!({"format": "email"}), json!("a@b.example"), json!("a b@c")),
        (json!({"format": "date"}), json!("2026-02-28"), json!("2026-13-01")),
        (json!({"format": "date-time"}), json!("2026-02-28T10:00:00Z"), json!("2026-02-28")),
        (json!({"format": "uri"}), json!("mailto:a"), json!("/a")),
    ] {
        let know = |value: &Value| {
            let mut form = form(json!({ "a": property }));
            form.know(vec![("a".to_owned(), value.clone().into())])
        };

        assert!(know(&fits).is_ok(), "{property} {fits}");
        assert!(know(&not).is_err(), "{property} {not}");
    }
}

#[test]
fn a_rule_that_no_form_may_have_is_left_to_the_server() {
    let schema = json!({"type": "object", "properties": {"a": {"type": "string", "pattern": "^y"},
        "b": {"type": "string"}}, "dependentRequired": {"a": ["b"]}, "required": ["c"]});
    let mut form = Form::new(&request("?", schema)).unwrap();

    assert_eq!(filled_in(&mut form, &["x", "", ""]), r#"{"a":"x"}"#);
}

#[test]
fn numbers_name_choices_only_where_no_choice_is_a_number() {
    let mut form = form(json!({"a": {"type": "string", "enum": ["3", "1", "2"]}}));

    assert!(form.question().contains("\n    3\n    1\n    2\n"), "{}", form.question());
    assert_eq!(filled_in(&mut form, &["1", ""]), r#"{"a":"1"}"#);
}

#[test]
fn a_choice_by_a_reference_is_a_choice() {
    let schema = json!({"type": "object", "properties": {"a": {"$ref": "#/$defs/hue"}},
        "$defs": {"hue": {"enum": ["red", "green"], "title": "Hue", "type": "string"}}});
    let mut form = Form::new(&request("?", schema)).unwrap();

    assert!(form.question().starts_with("\nHue (1 of 1): one of these"), "{}", form.question());
    assert_eq!(filled_in(&mut form, &["2", ""]), r#"{"a":"green"}"#);
}

#[test]
fn titles_descriptions_types_and_choices_are_shown() {
    let form = form(
        json!({"size": {"type": "string", "title": "Your size", "description": "as on the label",
        "oneOf": [{"const": "s", "title": "Small"}, {"const": "xl", "title": "Very large"}], "default": "s"}}),
    );

    assert_eq!(
        form.question(),
        "\nYour size (1 of 1): one of these, may be left empty\n  | as on the label\n   1  s   Small\n   \
         2  xl  Very large\nsize [s]: "
    );
}

#[test]
fn no_word_of_a_server_passes_for_ours_or_moves_the_cursor() {
    let nasty = "hello\nsend it? yes\u{1b}[2J";
    let properties = json!({nasty: {"type": "string", "title": nasty, "description": nasty, "default": nasty,
        "pattern": nasty}, "b": {"enum": [nasty]}});
    let schema = json!({"type": "object", "properties": properties});
    let mut form = Form::new(&request(nasty, schema)).unwrap();
    let mut shown = form.head("a server") + &form.question();

    if let Taken::Again(reason) = form.take("other") {
        shown += &reason;
    }
    shown += &form.names().join(" ");

    assert!(!shown.contains('\u{1b}'), "{shown}");
    assert!(!shown.lines().any(|line| line.starts_with("send it?")), "{shown}");
}

#[test]
fn what_sounds_like_a_secret_is_warned_of() {
    let with = |name: &str| form(json!({name: {"type": "string"}})).head("a server");

    assert!(with("password").contains("warning: `password` sounds like a secret"));
    assert!(with("API key").contains("warning: "));
    assert!(!with("name").contains("warning: "));
}

#[test]
fn what_is_known_is_shown_and_not_asked_for() {
    let mut form = form(json!({"a": {"type": "string"}, "b": {"type": "integer"}}));

    let names =
        form.know(vec![("a".to_owned(), json!("x").into()), ("z".to_owned(), json!(1).into())]);

    assert_eq!(names.unwrap(), ["a"]);
    assert!(form.head("a server").contains("\n  a: x\n"), "{}", form.head("a server"));
    assert!(form.question().starts_with("\nb (2 of 2): integer"), "{}", form.question());
    assert_eq!(filled_in(&mut form, &["2", ""]), r#"{"a":"x","b":2}"#);
}

#[test]
fn what_is_known_and_does_not_fit_is_refused() {
    let mut form = form(json!({"a": {"type": "integer"}}));

    let refused = form.know(vec![("a".to_owned(), json!("x").into())]);

    assert_eq!(refused.unwrap_err(), "`a` must be integer");
}

#[test]
fn a_form_that_nobody_could_fill_in_is_none() {
    let many: serde_json::Map<_, _> =
        (0..101).map(|it| (it.to_string(), json!({"type": "string"}))).collect();

    assert!(Form::new(&request("?", json!({ "properties": many }))).is_err());
}

/// Gives these lines, of which each but the last must fit, and returns what is sent.
fn filled_in(form: &mut Form, lines: &[&str]) -> String {
    let (last, lines) = lines.split_last().unwrap();
    for line in lines {
        assert_eq!(form.take(line), Taken::Next, "{line}: {}", form.question());
    }
    match form.take(last) {
        Taken::Accepted(json) => json.as_str().to_owned(),
        other => panic!("{other:?}"),
    }
}

fn form(properties: Value) -> Form {
    Form::new(&request("?", json!({"type": "object", "properties": properties}))).unwrap()
}

/// Returns a form with these properties, in their order.
fn ordered(properties: &str) -> Form {
    let request =
        format!(r#"{{"message": "?", "requestedSchema": {{"properties": {properties}}}}}"#);
    Form::new(&serde_json::from_str(&request).unwrap()).unwrap()
}

fn request(message: &str, schema: Value) -> FormRequest {
    serde_json::from_value(json!({"message": message, "requestedSchema": schema})).unwrap()
}
