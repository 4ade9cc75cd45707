//! Schemas of tools, and arguments as people type them.

use ridethrough_cli::rehearse_schema;
use serde_json::Value;

/// Gives typed words the types of a schema: the first line is the schema, each other line a word. What would be
/// sent is one JSON object.
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
    // What is nested deeper than this is not read.
    let Ok(sent) = serde_json::from_str::<Value>(arguments) else { return };
    assert!(sent.is_object(), "arguments are an object: {arguments}");
}
