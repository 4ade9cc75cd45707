//! Values against schemas as servers write them.

use serde_json::{Value, json};

use super::*;
use crate::talk::origins::Origins;

#[test]
fn what_is_missing_is_told_with_its_type_and_its_description() {
    let schema = json!({"type": "object", "required": ["count", "x"], "properties": {
        "count": {"type": "integer", "minimum": 1, "description": "how many"}}});

    let verdict = checked(&schema, json!({}));

    assert_eq!(
        verdict.faults,
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
fn alternatives_that_lead_back_to_themselves_have_an_end() {
    let schema = json!({"$ref": "#/$defs/tree",
        "$defs": {"tree": {"anyOf": [{"$ref": "#/$defs/tree"}, {"$ref": "#/$defs/tree"}]}}});

    assert_eq!(document_words(&schema), "any value");
}

#[test]
fn a_name_that_no_schema_knows_is_told_and_one_that_is_nearly_known_is_a_slip() {
    let schema = json!({"properties": {"message": {"type": "string"}, "labels": {"type": "object"},
        "map": {"type": "object", "additionalProperties": {"type": "string"}},
        "at": {"type": "object", "properties": {"line": {}}}}});
    let given = json!({"mesage": "x", "labels": {"any": 1}, "map": {"any": "x"}, "at": {"lien": 1, "other": 2}});

    let verdict = checked(&schema, given);

    assert!(verdict.faults.is_empty(), "{:?}", verdict.faults);
    assert_eq!(
        verdict.misspelt,
        [
            "`at.lien` is not known (did you mean `line`?)",
            "`mesage` is not known (did you mean `message`?)",
        ]
    );
    assert_eq!(
        verdict.warnings,
        ["`at.other` is not known; known are line; it is sent all the same"]
    );
}

/// Before this was fixed, a description was cut first, and the beginning of a token stayed.
#[test]
fn a_secret_at_the_edge_of_a_long_description_is_masked() {
    secrets::keep("https://example.com/mcp", &[("x-key", "s3cret-at-the-edge")]);
    let said = |longest: usize| format!("{}s3cret-at-the-edge", "x".repeat(longest - 6));
    let schema = json!({"description": said(LONGEST_TEXT), "enum": [said(LONGEST_VALUE)]});
    let schema = Json::from(schema);
    let document = SchemaDocument::new(&schema);

    for shown in [document.schema().description().unwrap(), document.schema().words()] {
        assert!(!shown.contains("s3c"), "{shown}");
    }
}

#[test]
fn what_a_value_is_worth_the_server_decides() {
    let schema = json!({"properties": {"a": {"type": "integer"}, "b": {"enum": ["s"]},
        "c": {"pattern": "^x", "format": "email"}, "d": {"$ref": "https://example.com/a.json"}}});

    let verdict = checked(&schema, json!({"a": "x", "b": 1, "c": [], "d": null}));

    let NameVerdict { faults, misspelt, warnings } = verdict;
    assert_eq!([faults, misspelt, warnings].concat(), Vec::<String>::new());
}

#[test]
fn an_unknown_name_is_refused_only_where_the_schema_forbids_it() {
    let open = json!({"properties": {"a": {}}});
    let closed = json!({"properties": {"a": {}}, "additionalProperties": false});
    let patterns = json!({"properties": {"a": {}}, "additionalProperties": false,
        "patternProperties": {"^b": {}}});

    for schema in [&open, &patterns] {
        assert!(checked(schema, json!({"b": 1})).faults.is_empty(), "{schema}");
    }
    assert_eq!(checked(&closed, json!({"b": 1})).faults, ["`b` is not known; known are a"]);
}

#[test]
fn what_is_missing_inside_is_told_by_its_place_and_not_for_one_of_several_forms() {
    let shape =
        json!({"type": "object", "required": ["side"], "properties": {"side": {"type": "number"}}});
    let own = json!({"properties": {"a": {"properties": {"shape": shape}}}});
    let either = json!({"anyOf": [{"properties": {"a": {"properties": {"shape": shape}}}}, {}]});
    let given = json!({"a": {"shape": {}}});

    assert_eq!(checked(&own, given.clone()).faults, ["`a.shape.side` is missing: number"]);
    assert!(checked(&either, given).faults.is_empty());
}

#[test]
fn a_reference_is_followed_and_one_to_itself_has_an_end() {
    let schema = json!({"required": ["a", "b"], "properties": {
        "a": {"$ref": "#/$defs/size"}, "b": {"$ref": "#/$defs/loop"}},
        "$defs": {"size": {"enum": ["s", "m"]}, "loop": {"$ref": "#/$defs/loop"}}});

    assert_eq!(
        checked(&schema, json!({})).faults,
        [r#"`a` is missing: one of "s", "m""#, "`b` is missing: any value"]
    );
}

fn checked(schema: &Value, arguments: Value) -> NameVerdict {
    let document = SchemaDocument::new(&schema.clone().into());
    check_names(&document, &arguments.into(), &Origins::default())
}

fn document_words(schema: &Value) -> String {
    SchemaDocument::new(&schema.clone().into()).schema().words()
}
