//! Values against schemas as servers write them.

use serde_json::{Value, json};

use super::*;
use crate::talk::arguments::Origins;

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
    let given: Json = value.into();
    // With words as origins, nested values are not repeated.
    check(&schema.clone().into(), &given, &Origins::default()).faults
}

#[test]
fn what_is_wrong_inside_of_one_of_several_forms_is_told_for_the_form_that_was_meant() {
    let schema = json!({"properties": {"shape": {"anyOf": [
        {"type": "object", "required": ["kind", "radius"], "properties": {
            "kind": {"const": "circle"}, "radius": {"type": "number", "description": "in metres"}}},
        {"type": "object", "required": ["kind", "side"], "properties": {
            "kind": {"const": "square"}, "side": {"type": "number"}}},
        {"type": "null"}]}}});

    let faults = faults(&schema, json!({"shape": {"kind": "circle"}}));

    assert_eq!(faults, ["`shape.radius` is missing: number (in metres)"]);
}

#[test]
fn formats_and_patterns_are_checked() {
    let schema = json!({"properties": {"mail": {"type": "string", "format": "email"},
        "day": {"type": "string", "format": "date"}, "code": {"type": "string", "pattern": "^\\d+$"}}});

    assert!(
        faults(&schema, json!({"mail": "a@b.example", "day": "2026-02-28", "code": "12"}))
            .is_empty()
    );
    assert_eq!(
        faults(&schema, json!({"mail": "nobody", "day": "2026-02-30", "code": "x"})),
        [
            r"`code` must match `^\d+$`",
            "`day` must be a text of the format `date`",
            "`mail` must be a text of the format `email`",
        ]
    );
}

#[test]
fn a_pattern_that_takes_long_elsewhere_takes_a_moment_here() {
    let schema = json!({"properties": {"a": {"type": "string", "pattern": "^(a+)+$"}}});
    let began = std::time::Instant::now();

    let faults = faults(&schema, json!({"a": format!("{}b", "a".repeat(50_000))}));

    assert_eq!(faults.len(), 1);
    assert!(began.elapsed() < std::time::Duration::from_secs(5), "{:?}", began.elapsed());
}

#[test]
fn a_pattern_that_looks_ahead_is_left_to_the_server_and_everything_else_is_checked() {
    let schema = json!({"properties": {"a": {"type": "string", "pattern": "^(?=x)y"}, "b": {"type": "integer"}},
        "patternProperties": {"(?!a)b": {}}});

    assert_eq!(faults(&schema, json!({"a": "z", "b": "x"})), ["`b` must be integer"]);
}

#[test]
fn a_reference_to_elsewhere_is_not_followed_and_everything_else_is_checked() {
    for foreign in
        ["https://example.com/a.json", "file:///etc/passwd", "other.json#/a", "#/nowhere", "#name"]
    {
        let schema = json!({"$id": "https://example.com/root.json", "properties": {
            "a": {"$ref": foreign}, "b": {"type": "integer"}}});

        assert_eq!(
            faults(&schema, json!({"a": 1, "b": "x"})),
            ["`b` must be integer"],
            "{foreign}"
        );
    }
}

#[test]
fn a_schema_that_is_none_is_told_and_checks_nothing() {
    let schema: Json = json!({"properties": {"a": {"type": "strnig"}}}).into();
    let given: Json = json!({"a": 1}).into();

    let verdict = check(&schema, &given, &Origins::default());

    assert!(verdict.faults.is_empty(), "{:?}", verdict.faults);
    assert!(verdict.warnings[0].contains("cannot be used ("), "{:?}", verdict.warnings);
}

#[test]
fn a_name_that_no_schema_knows_is_told_and_one_that_is_nearly_known_is_a_slip() {
    let schema: Json =
        json!({"properties": {"message": {"type": "string"}, "labels": {"type": "object"},
        "map": {"type": "object", "additionalProperties": {"type": "string"}},
        "at": {"type": "object", "properties": {"line": {}}}}})
        .into();
    let given: Json =
        json!({"mesage": "x", "labels": {"any": 1}, "map": {"any": "x"}, "at": {"lien": 1, "other": 2}}).into();

    let verdict = check(&schema, &given, &Origins::default());

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

#[test]
fn a_schema_that_unfolds_without_end_is_not_checked_by() {
    let twice = |it: usize| {
        let next: Value = json!({"$ref": format!("#/$defs/d{}", it + 1)});
        (format!("d{it}"), json!({"anyOf": [next, next]}))
    };
    let definitions: serde_json::Map<_, _> = (0..60).map(twice).collect();
    let schema: Json =
        json!({"properties": {"a": {"$ref": "#/$defs/d0"}}, "$defs": definitions}).into();

    let verdict = check(&schema, &json!({"a": 1}).into(), &Origins::default());

    assert_eq!(
        verdict.warnings,
        ["the tool's schema is too intricate: the arguments are not checked by it"]
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
