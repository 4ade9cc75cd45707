//! The tools as they are listed: name, arguments, and whether each only reads.

use serde_json::{Value, json};

/// The name of a tool, its arguments with their types, and whether it only reads.
type Listed = (&'static str, &'static [(&'static str, &'static str)], bool);

pub(crate) fn tool((name, args, is_read_only): &Listed) -> Value {
    let mut properties: serde_json::Map<_, _> =
        args.iter().map(|(key, kind)| ((*key).to_owned(), json!({ "type": kind }))).collect();
    if let Some(region) = properties.get_mut("region") {
        region["x-mcp-header"] = json!("Region");
    }
    json!({
        "name": name,
        "description": format!("See {name} in the README."),
        "inputSchema": { "type": "object", "properties": properties },
        "annotations": { "readOnlyHint": is_read_only },
    })
}

pub(crate) const TOOLS: &[Listed] = &[
    ("add", &[("a", "number"), ("b", "number")], true),
    ("ask_elicitation", &[], false),
    ("ask_roots", &[], false),
    ("ask_sampling", &[("prompt", "string")], false),
    ("change", &[], false),
    ("count", &[("key", "string"), ("pause_ms", "number")], false),
    ("drop_stream", &[("key", "string")], false),
    ("echo", &[("text", "string")], true),
    ("fail", &[], false),
    ("later", &[("asks", "boolean"), ("key", "string"), ("pause_ms", "number")], false),
    ("log", &[], false),
    ("route", &[("region", "string")], true),
    ("slow", &[("key", "string"), ("steps", "number"), ("pause_ms", "number")], false),
    ("touch", &[], false),
    ("wait", &[("key", "string")], false),
];
