//! The small, sensible results with which every method is answered.

use serde_json::{Value, json};

use super::state::State;

/// The result of a request; `None` for a method that the server does not know.
pub(super) fn of(method: &str, params: &Value, state: &State) -> Option<Value> {
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

/// What `initialize` answers unless a test wants otherwise, but for the version.
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

/// The tools that are offered unless a test wants otherwise: one of each kind that matters to a
/// client that would like to send a call twice.
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

/// Adds the version to the result: the client's, if we speak it, and our latest otherwise.
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

/// The revisions that are spoken, oldest first.
const VERSIONS: [&str; 3] = ["2025-03-26", "2025-06-18", "2025-11-25"];
