//! The small results with which every method is answered.

use serde_json::{Value, json};

use super::era::Spoken;
use super::state::McpState;
use super::stateless;

/// Returns the result of a request; `None` for a method that the server does not know.
pub(super) fn of(method: &str, params: &Value, state: &McpState) -> Option<Value> {
    let result = match method {
        "completion/complete" => json!({"completion": {"values": ["lab"], "hasMore": false}}),
        "initialize" => initialized(params, &state.initialize_result),
        "logging/setLevel" | "ping" | "resources/subscribe" | "resources/unsubscribe" => json!({}),
        "prompts/get" => {
            let content = json!({"type": "text", "text": "Hello from the lab."});
            json!({"messages": [{"role": "user", "content": content}]})
        }
        "prompts/list" => json!({"prompts": [{"name": "greet"}]}),
        "resources/list" => json!({"resources": [{"uri": "lab://note", "name": "note"}]}),
        "resources/read" => {
            json!({"contents": [{"uri": params["uri"], "mimeType": "text/plain", "text": "A note."}]})
        }
        "resources/templates/list" => {
            json!({"resourceTemplates": [{"uriTemplate": "lab://{name}", "name": "any"}]})
        }
        "tools/call" => {
            let arguments = &params["arguments"];
            let text =
                arguments["msg"].as_str().map_or_else(|| arguments.to_string(), str::to_owned);
            json!({"content": [{"type": "text", "text": text}]})
        }
        "tools/list" => json!({"tools": state.tools}),
        _ => return None,
    };
    Some(result)
}

/// Returns the result of `server/discover`.
pub(super) fn discovered(state: &McpState) -> Value {
    let result = &state.initialize_result;
    let mut discovered = json!({
        "supportedVersions": versions(state.spoken),
        "capabilities": result["capabilities"],
    });
    if !result["instructions"].is_null() {
        discovered["instructions"] = result["instructions"].clone();
    }
    discovered
}

/// Returns the revisions of these eras, newest first.
pub(super) fn versions(spoken: Spoken) -> Vec<&'static str> {
    let modern = (spoken != Spoken::Legacy).then_some(stateless::VERSION);
    let legacy = VERSIONS.into_iter().rev().filter(|_| spoken != Spoken::Modern);
    modern.into_iter().chain(legacy).collect()
}

/// Returns the default result of `initialize`, without the version.
pub(super) fn initialize() -> Value {
    json!({
        "capabilities": {
            "completions": {},
            "logging": {},
            "prompts": {"listChanged": true},
            "resources": {"listChanged": true, "subscribe": true},
            "tools": {"listChanged": true},
        },
        "serverInfo": {"name": "ridethrough-lab", "version": env!("CARGO_PKG_VERSION")},
    })
}

/// Returns the tools that are offered by default: one of each kind that matters to a client that would like
/// to send a call twice.
pub(super) fn tools() -> Value {
    let schema = json!({"type": "object"});
    json!([
        {"name": "echo", "inputSchema": schema},
        {"name": "add", "inputSchema": schema},
        {"name": "deploy", "inputSchema": schema},
        {"name": "read", "inputSchema": schema, "annotations": {"readOnlyHint": true}},
        {"name": "put", "inputSchema": schema, "annotations": {"idempotentHint": true}},
    ])
}

/// Adds the version to the result: the client's if this server speaks it, or else the latest.
fn initialized(params: &Value, result: &Value) -> Value {
    let mut result = result.clone();
    if let Value::Object(fields) = &mut result {
        let asked = params["protocolVersion"].as_str();
        let latest = VERSIONS[VERSIONS.len() - 1];
        let version = asked.filter(|asked| VERSIONS.contains(asked)).unwrap_or(latest);
        fields.entry("protocolVersion").or_insert_with(|| version.into());
    }
    result
}

/// The legacy revisions that are spoken, oldest first.
const VERSIONS: [&str; 3] = ["2025-03-26", "2025-06-18", "2025-11-25"];
