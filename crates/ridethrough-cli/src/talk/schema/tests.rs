//! Values against schemas as servers write them.

use serde_json::{Value, json};

use super::*;

#[test]
fn what_is_missing_is_told_with_its_type_and_its_description() {
    let schema = json!({"type": "object", "required": ["count", "x"], "properties": {
        "count": {"type": "integer", "minimum": 1, "description": "how many"}}});

    let faults = faults(&schema, json!({}));

    assert_eq!(
        faults,
        ["`count` is missing: integer, at least 1 (how many)", "`x` is missing: any value"]
    );
}

#[test]
fn each_type_takes_its_own_and_nothing_else() {
    for (kind, fits, not) in [
        ("array", "[1]", "{}"),
        ("boolean", "true", "\"true\""),
        ("integer", "123456789012345678901234567890", "1.5"),
        ("integer", "1.0", "\"1\""),
        ("null", "null", "0"),
        ("number", "-1.5e3", "\"1\""),
        ("object", "{}", "[]"),
        ("string", "\"a\"", "1"),
    ] {
        assert!(is_of(&Json::new(fits).unwrap(), kind), "{kind} {fits}");
        assert!(!is_of(&Json::new(not).unwrap(), kind), "{kind} {not}");
    }
}

#[test]
fn an_optional_value_as_python_servers_write_it_may_be_null_or_of_its_type() {
    let schema = json!({"properties": {"a": {"anyOf": [{"type": "string"}, {"type": "null"}]}}});

    assert!(faults(&schema, json!({"a": null})).is_empty());
    assert!(faults(&schema, json!({"a": "x"})).is_empty());
    assert_eq!(faults(&schema, json!({"a": 1})), ["`a` must be string or null"]);
}

#[test]
fn an_optional_choice_is_one_of_its_values_or_null() {
    let schema = json!({"properties": {"a": {"anyOf": [{"enum": ["s", "m"]}, {"type": "null"}]}}});

    assert!(faults(&schema, json!({"a": "m"})).is_empty());
    assert!(faults(&schema, json!({"a": null})).is_empty());
    assert_eq!(faults(&schema, json!({"a": "xl"})), [r#"`a` must be one of "s", "m" or null"#]);
}

#[test]
fn a_reference_is_followed_and_one_to_itself_has_an_end() {
    let schema = json!({"properties": {"a": {"$ref": "#/$defs/size"}, "b": {"$ref": "#/$defs/loop"}},
        "$defs": {"size": {"enum": ["s", "m"]}, "loop": {"$ref": "#/$defs/loop"},
                  "tree": {"anyOf": [{"$ref": "#/$defs/tree"}]}}});

    assert_eq!(faults(&schema, json!({"a": "xl", "b": 1})), [r#"`a` must be one of "s", "m""#]);
}

#[test]
fn alternatives_that_lead_back_to_themselves_have_an_end() {
    let schema = json!({"$ref": "#/$defs/tree",
        "$defs": {"tree": {"anyOf": [{"$ref": "#/$defs/tree"}, {"$ref": "#/$defs/tree"}]}}});

    assert!(faults(&schema, json!({"a": 1})).is_empty());
}

#[test]
fn unknown_names_are_told_only_where_the_schema_forbids_them() {
    let open = json!({"properties": {"a": {}}});
    let closed = json!({"properties": {"a": {}}, "additionalProperties": false});

    assert!(faults(&open, json!({"b": 1})).is_empty());
    assert_eq!(faults(&closed, json!({"b": 1})), ["`b` is not known; known are a"]);
}

#[test]
fn places_inside_are_named_by_their_path() {
    let schema = json!({"properties": {"a": {"type": "object", "properties": {
        "b": {"type": "array", "items": {"type": "string", "maxLength": 2}}}}}});

    let faults = faults(&schema, json!({"a": {"b": ["ok", 1, "long"]}}));

    assert_eq!(
        faults,
        [
            "`a.b[1]` must be string, characters at most 2",
            "`a.b[2]` must be string, characters at most 2"
        ]
    );
}

fn faults(schema: &Value, value: Value) -> Vec<String> {
    Schema::new(&schema.clone().into()).faults(&value.into())
}
