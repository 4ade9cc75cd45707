//! What the backend says of itself and what it lists: the same in every room.

use serde_json::{Value, json};

use super::{NAME, Room, error};

/// The result of `initialize`.
pub(super) fn initialized(params: &Value) -> Value {
    let asked = params["protocolVersion"].as_str().unwrap_or_default();
    let spoken = ["2025-11-25", "2025-06-18", "2025-03-26"];
    let revision = spoken.iter().find(|it| **it == asked).unwrap_or(&spoken[0]);
    let mut can = capabilities();
    can["tasks"] = json!({"list": {}, "cancel": {}, "requests": {"tools": {"call": {}}}});
    json!({
        "protocolVersion": revision,
        "capabilities": can,
        "serverInfo": {"name": NAME, "version": "1"},
        "instructions": "be kind",
    })
}

/// The result of `server/discover`.
pub(super) fn discovered() -> Value {
    json!({
        "supportedVersions": ["2026-07-28"],
        "capabilities": capabilities(),
        "instructions": "be kind",
        "_meta": {"io.modelcontextprotocol/serverInfo": {"name": NAME, "version": "1"}},
    })
}

fn capabilities() -> Value {
    json!({
        "completions": {},
        "logging": {},
        "prompts": {"listChanged": true},
        "resources": {"listChanged": true, "subscribe": true},
        "tools": {"listChanged": true},
    })
}

/// Answers a method that needs no state.
pub(super) fn answer(method: &str, params: &Value, room: &Room) -> Result<Value, Value> {
    let text = |key: &str| params[key].as_str().unwrap_or_default().to_owned();
    match method {
        _ if method.ends_with("/list") && params["cursor"].is_string() => {
            Err(error(-32602, "no such cursor"))
        }
        "tools/list" => Ok(json!({"tools": tools(room)})),
        "prompts/list" => Ok(json!({"prompts": [{"name": "greet"}]})),
        "prompts/get" if text("name") == "greet" => {
            let said = json!({"role": "user", "content": {"type": "text", "text": "hello"}});
            Ok(json!({"messages": [said]}))
        }
        "prompts/get" => Err(error(-32602, "no such prompt")),
        "resources/list" => Ok(json!({"resources": [{"name": "a", "uri": "x:/a"}]})),
        "resources/templates/list" => {
            Ok(json!({"resourceTemplates": [{"name": "any", "uriTemplate": "x:/{path}"}]}))
        }
        "resources/read" if text("uri").starts_with("x:/") => {
            Ok(json!({"contents": [{"uri": text("uri"), "text": "content"}]}))
        }
        "resources/read" => {
            let mut missing = error(-32002, "no such resource");
            missing["data"] = json!({"uri": text("uri")});
            Err(missing)
        }
        "completion/complete" => {
            Ok(json!({"completion": {"values": ["hello"], "total": 1, "hasMore": false}}))
        }
        _ => Err(error(-32601, "no such method")),
    }
}

/// Whether the results of a method say how long they may be kept.
pub(super) fn is_kept(method: &str) -> bool {
    matches!(method, "server/discover" | "resources/read") || method.ends_with("/list")
}

/// The tools that are listed, by name: a gateway sorts them. Doors that can hide hide `secret`.
fn tools(room: &Room) -> Vec<Value> {
    let is_there = |name: &&&str| match **name {
        "grown" => room.has_grown(),
        "secret" => room.has_secret,
        _ => true,
    };
    let names = super::tools::NAMES.iter().filter(is_there);
    names.map(|name| json!({"name": name, "inputSchema": {"type": "object"}})).collect()
}
