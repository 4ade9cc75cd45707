//! Arguments as people type them: one JSON object, or `key=value` pairs that the schema gives types to.

use std::io::Read;

use anyhow::{Context, Result};
use ridethrough::Json;

use super::schema::{Schema, is_of};

/// What was typed.
#[derive(Debug, PartialEq)]
pub(super) enum Typed {
    /// The arguments, whole.
    Object(Json),
    /// Name and text of each.
    Pairs(Vec<(String, String)>),
}

/// Reads the words behind the tool's name; `-` is the object on stdin. A fault is told without values.
pub(super) fn read(words: &[String]) -> Result<Result<Typed, String>> {
    if words == ["-"] {
        let mut text = String::new();
        std::io::stdin().read_to_string(&mut text).context("stdin cannot be read")?;
        return Ok(object(&text));
    }
    match words {
        [word] if word.trim_start().starts_with('{') => Ok(object(word)),
        words => Ok(pairs(words).map(Typed::Pairs)),
    }
}

fn object(text: &str) -> Result<Typed, String> {
    let json = Json::new(text.trim().to_owned());
    match json.ok().filter(|json| json.as_str().starts_with('{')) {
        Some(json) => Ok(Typed::Object(json)),
        None => Err("the arguments are no JSON object".to_owned()),
    }
}

/// Name and text of each argument.
pub(super) fn pairs(words: &[String]) -> Result<Vec<(String, String)>, String> {
    let mut pairs: Vec<(String, String)> = Vec::new();
    for (number, word) in words.iter().enumerate() {
        let Some((key, text)) = word.split_once('=').filter(|(key, _)| !key.is_empty()) else {
            return Err(format!("argument {} is no `key=value`", number + 1));
        };
        if pairs.iter().any(|(known, _)| known == key) {
            return Err(format!("`{key}` is given twice"));
        }
        pairs.push((key.to_owned(), text.to_owned()));
    }
    Ok(pairs)
}

impl Typed {
    /// The arguments as they are sent, with types from the schema.
    pub(super) fn by(self, schema: &Schema) -> Json {
        let pairs = match self {
            Self::Object(json) => return json,
            Self::Pairs(pairs) => pairs,
        };
        let properties = schema.properties();
        let members = pairs.into_iter().map(|(key, text)| {
            let property = properties.iter().find(|(name, _)| *name == key);
            let value = value(&text, property.map(|(_, schema)| schema));
            (key, value)
        });
        Json::empty_object().with_members(members)
    }
}

/// The value that a text stands for. One that fits no type stays text: the check says what is wrong.
fn value(text: &str, schema: Option<&Schema>) -> Json {
    let as_text = || Json::of(text).expect("a string is JSON");
    let as_json = Json::new(text.trim().to_owned()).ok();
    let types = schema.map(Schema::types).unwrap_or_default();
    let values = schema.and_then(Schema::values).unwrap_or_default();
    if values.contains(&as_text()) {
        return as_text();
    }
    let Some(json) = as_json else { return as_text() };
    let takes_text = types.iter().any(|it| it == "string");
    // Where both would do, text that looks like a list or an object is meant as one.
    let is_other = types.iter().any(|it| it != "string" && is_of(&json, it));
    match is_other || types.is_empty() || (!takes_text && values.contains(&json)) {
        true => json,
        false => as_text(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

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
            typed.as_str(),
            r#"{"s":"12","n":1.10,"i":123456789012345678901234567890,"b":true,"a":[1, 2],"#
                .to_owned()
                + r#""o":{"x":1},"e":"1","maybe":null,"either":7,"free":1,"more":"a=b c"}"#
        );
    }

    #[test]
    fn what_fits_no_type_stays_text_and_is_found_by_the_check() {
        let schema = json!({"properties": {"i": {"type": "integer"}, "b": {"type": "boolean"}}});

        let typed = typed(&schema, &["i=many", "b=yes"]);

        let faults = Schema::new(&schema.into()).faults(&typed);
        assert_eq!(faults, ["`i` must be integer", "`b` must be boolean"]);
    }

    #[test]
    fn what_cannot_be_read_is_told_without_its_value() {
        for words in [&["s3cret"][..], &["a=1", "a=s3cret"], &["{s3cret"], &["=s3cret"]] {
            let words: Vec<_> = words.iter().map(|&it| it.to_owned()).collect();

            let fault = read(&words).unwrap().unwrap_err();

            assert!(!fault.contains("s3cret"), "{fault}");
        }
    }

    #[test]
    fn an_object_is_sent_as_it_was_typed() {
        let words = [r#" {"z": 1.10, "a": 1e2} "#.to_owned()];

        let typed = read(&words).unwrap().unwrap().by(&Schema::new(&Json::empty_object()));

        assert_eq!(typed.as_str(), r#"{"z": 1.10, "a": 1e2}"#);
    }

    fn typed(schema: &Value, words: &[&str]) -> Json {
        let words: Vec<_> = words.iter().map(|&it| it.to_owned()).collect();
        read(&words).unwrap().unwrap().by(&Schema::new(&schema.clone().into()))
    }
}
