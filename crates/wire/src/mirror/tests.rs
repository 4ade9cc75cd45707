use serde_json::{Value, json};

use super::*;

#[test]
fn marked_arguments_are_repeated_and_others_are_not() {
    let mirrors = of(json!({"properties": {
        "region": {"type": "string", "x-mcp-header": "Region"},
        "dry": {"type": "boolean", "x-mcp-header": "Dry-Run"},
        "count": {"type": "integer", "x-mcp-header": "Count"},
        "note": {"type": "string"},
    }}))
    .unwrap();

    let sent = headers(
        &mirrors,
        json!({"region": "us-west1", "dry": false, "count": -5, "note": "s3cret"}),
    );

    assert_eq!(
        sent,
        ["mcp-param-count: -5", "mcp-param-dry-run: false", "mcp-param-region: us-west1"]
    );
}

#[test]
fn what_is_absent_or_null_has_no_header_and_what_is_empty_has_one() {
    let mirrors = of(json!({"properties": {
        "a": {"type": "string", "x-mcp-header": "A"},
        "b": {"type": "string", "x-mcp-header": "B"},
        "c": {"type": "string", "x-mcp-header": "C"},
    }}))
    .unwrap();

    assert_eq!(headers(&mirrors, json!({"a": null, "c": ""})), ["mcp-param-c: "]);
}

#[test]
fn a_whole_number_has_one_spelling() {
    let mirrors =
        of(json!({"properties": {"n": {"type": "integer", "x-mcp-header": "N"}}})).unwrap();
    let sent = |text: &str| {
        let arguments = Json::new(format!(r#"{{"n":{text}}}"#)).unwrap();
        let headers = mirrors.headers(&arguments);
        headers.first().map(|(_, value)| value.to_str().unwrap().to_owned())
    };

    assert_eq!(sent("5.0").as_deref(), Some("5"));
    assert_eq!(sent("1e3").as_deref(), Some("1000"));
    assert_eq!(sent("9007199254740991").as_deref(), Some("9007199254740991"));
    assert_eq!(sent("1.5"), None);
    assert_eq!(sent("1e300"), None);
    assert_eq!(sent("[1]"), None);
}

#[test]
fn arguments_inside_arguments_are_found() {
    let mirrors = of(json!({"properties": {"where": {"type": "object", "properties": {
        "zone": {"type": "string", "x-mcp-header": "Zone"}}}}}))
    .unwrap();

    assert_eq!(headers(&mirrors, json!({"where": {"zone": "b"}})), ["mcp-param-zone: b"]);
    assert!(headers(&mirrors, json!({"where": "here"})).is_empty());
}

#[test]
fn a_wrong_mark_makes_a_tool_unfit_and_says_why() {
    let name = |name: Value| json!({"properties": {"a": {"type": "string", "x-mcp-header": name}}});
    let kind = |kind: Value| json!({"properties": {"a": {"type": kind, "x-mcp-header": "A"}}});
    let two = |one: &str, two: &str| {
        json!({"properties": {"a": {"type": "string", "x-mcp-header": one},
            "b": {"type": "string", "x-mcp-header": two}}})
    };
    for (schema, words) in [
        (name(json!("")), "must be the name"),
        (name(json!(7)), "must be the name"),
        (name(json!("My Region")), "no header can have"),
        (name(json!("Region:Primary")), "no header can have"),
        (name(json!("Région")), "no header can have"),
        (name(json!("a\u{7}b")), "no header can have"),
        (name(json!("a\r\nb")), "no header can have"),
        (kind(json!("object")), "must be a string"),
        (kind(json!("array")), "must be a string"),
        (kind(json!("null")), "must be a string"),
        (kind(json!("number")), "must be a string"),
        (kind(json!(["string", "object"])), "must be a string"),
        (json!({"properties": {"a": {"x-mcp-header": "A"}}}), "must be a string"),
        (two("Region", "Region"), "the same header"),
        (two("Region", "REGION"), "the same header"),
        (json!({"type": "object", "x-mcp-header": "A"}), "no fixed way"),
    ] {
        let unfit = of(schema.clone()).unwrap_err().to_string();

        assert!(unfit.contains(words), "{schema}: {unfit}");
    }
}

#[test]
fn a_mark_to_which_no_fixed_way_leads_makes_a_tool_unfit() {
    let marked = json!({"type": "string", "x-mcp-header": "A"});
    let inside = json!({"properties": {"a": marked}});
    for schema in [
        json!({"properties": {"list": {"type": "array", "items": marked}}}),
        json!({"anyOf": [{"type": "object"}, inside]}),
        json!({"$defs": {"it": inside}}),
        json!({"additionalProperties": marked}),
        json!({"if": inside}),
    ] {
        let unfit = of(schema.clone()).unwrap_err().to_string();

        assert!(unfit.contains("no fixed way"), "{schema}: {unfit}");
    }
}

#[test]
fn what_only_looks_like_a_mark_is_none() {
    for schema in [
        json!({"properties": {"x-mcp-header": {"type": "string"}}}),
        json!({"properties": {"a": {"type": "object", "default": {"x-mcp-header": 7}}}}),
        json!({"properties": {"a": {"enum": [{"x-mcp-header": ""}], "description": "x-mcp-header"}}}),
        json!(true),
    ] {
        assert!(of(schema.clone()).unwrap().is_empty(), "{schema}");
    }
}

#[test]
fn a_schema_without_a_bottom_is_unfit() {
    let mut schema = json!({"type": "string", "x-mcp-header": "A"});
    for _ in 0..100 {
        schema = json!({"properties": {"a": schema}});
    }

    assert!(of(schema).unwrap_err().to_string().contains("too deep"));
}

#[test]
fn the_name_of_a_request_is_what_it_is_about() {
    let named = |method: &str, params: Value| {
        let value = name(method, Some(&Json::from(params)));
        value.map(|it| it.to_str().unwrap().to_owned())
    };

    assert_eq!(named("tools/call", json!({"name": "deploy"})).as_deref(), Some("deploy"));
    assert_eq!(
        named("prompts/get", json!({"name": "日本"})).as_deref(),
        Some("=?base64?5pel5pys?=")
    );
    let uri = "file:///path/to/file%20name.txt";
    assert_eq!(named("resources/read", json!({"uri": uri})).as_deref(), Some(uri));
    for method in ["tasks/get", "tasks/update", "tasks/cancel"] {
        assert_eq!(named(method, json!({"taskId": "7"})).as_deref(), Some("7"));
    }
    for method in ["tools/list", "server/discover", "subscriptions/listen", "completion/complete"] {
        assert_eq!(named(method, json!({"name": "it", "uri": "a:b"})), None, "{method}");
    }
    assert_eq!(name("tools/call", None), None);
}

fn of(schema: Value) -> Result<Mirrors, Unfit> {
    Mirrors::of_schema(&Json::from(schema))
}

/// Returns each header as `name: value`.
fn headers(mirrors: &Mirrors, arguments: Value) -> Vec<String> {
    let sent = mirrors.headers(&Json::from(arguments));
    sent.iter().map(|(name, value)| format!("{name}: {}", value.to_str().unwrap())).collect()
}
