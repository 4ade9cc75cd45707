//! Config files as the gateway reads them.
//!
//! An input that begins with `#toml` is TOML. Any other is JSON.

use std::collections::BTreeSet;
use std::path::Path;

use ridethrough_config::gateway::rehearse;
use serde_json::Value;

/// Checks that a file is refused with a line and a column for each fault, or names servers of which each is
/// there once; and that neither has anything in it that steers a terminal, nor a value of the file.
pub fn gateway_config(input: &[u8]) {
    let is_toml = input.starts_with(b"#toml");
    let path = if is_toml { "/project/ridethrough.toml" } else { "/project/mcp.json" };
    match rehearse(Path::new(path), input.to_vec()) {
        Ok(names) => {
            let unique: BTreeSet<_> = names.iter().collect();
            assert_eq!(unique.len(), names.len(), "two servers have one name: {names:?}");
            let is_plain = |name: &String| !name.is_empty() && !name.contains(char::is_control);
            assert!(names.iter().all(is_plain), "a name steers the terminal: {names:?}");
        }
        Err(faults) => {
            assert!(!faults.is_empty(), "refused without a reason");
            for fault in faults {
                assert!(fault.starts_with("line "), "without a place: {fault}");
                assert!(!fault.contains(SECRET) || is_named(input), "a value is repeated: {fault}");
            }
        }
    }
}

/// Whether the secret may be a name, which a message repeats: it stands in a key, or no other reader can tell.
fn is_named(input: &[u8]) -> bool {
    fn has_key(value: &Value) -> bool {
        match value {
            Value::Array(all) => all.iter().any(has_key),
            Value::Object(all) => all.iter().any(|(key, it)| key.contains(SECRET) || has_key(it)),
            _ => false,
        }
    }
    serde_json::from_slice(input).map_or(true, |value| has_key(&value))
}

/// A value that stands in inputs, and is never in a message.
const SECRET: &str = "s3cr3t";
