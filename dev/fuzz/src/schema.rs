//! Schemas of tools, and arguments as people type them.

use jsonschema::{Draft, PatternOptions};
use ridethrough_cli::rehearse_schema;
use serde_json::Value;

/// Checks arguments against a schema: the first line is the schema, each other line a word. What would be
/// sent is one JSON object with the keys that were typed; and making a schema safe to check changes no
/// verdict, where it is safe already.
pub fn schema(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    let mut lines = text.lines();
    let schema = lines.next().unwrap_or_default();
    // The fuzzer must not read files of this machine or stdin.
    let is_harmless = |it: &&str| !it.contains("=@") && *it != "-";
    let words: Vec<_> = lines.filter(is_harmless).map(str::to_owned).collect();

    let Some(seen) = rehearse_schema(schema, &words) else { return };

    assert!(!seen.shown.contains('\u{1b}'), "an escape of the schema is shown");
    let Some(arguments) = &seen.arguments else {
        assert!(!seen.faults.is_empty(), "refused without a reason");
        return;
    };
    // What is nested deeper than this is not read, and not checked.
    let Ok(sent) = serde_json::from_str::<Value>(arguments) else {
        assert!(seen.faults.is_empty());
        return;
    };
    assert!(sent.is_object(), "arguments are an object: {arguments}");
    if let Some(is_valid) = opinion(schema, &sent) {
        assert_eq!(seen.faults.is_empty(), is_valid, "{schema} and {arguments}: {:?}", seen.faults);
    }
}

/// Returns the verdict of the library alone, if nothing had to be removed from the schema.
fn opinion(schema: &str, sent: &Value) -> Option<bool> {
    let names = ["$", "\"id\"", "\"pattern"];
    if names.iter().any(|it| schema.contains(it)) || schema.contains('\\') {
        return None;
    }
    let schema: Value = serde_json::from_str(schema).ok()?;
    let validator = jsonschema::options()
        .with_draft(Draft::Draft202012)
        .should_validate_formats(true)
        .with_pattern_options(PatternOptions::regex())
        .build(&schema)
        .ok()?;
    Some(validator.is_valid(sent))
}
