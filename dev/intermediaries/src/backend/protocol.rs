//! What the backend says, as an MCP server of both eras: `/sessions` speaks 2025-11-25, `/stateless` speaks
//! 2026-07-28. It fails only where a call asks for it.

use std::time::Duration;

use ridethrough_testkit::http::Request;
use serde_json::{Value, json};

use super::Shared;
use crate::way::Way;

/// What to answer a request with.
pub(super) enum Reply {
    /// A status without a body.
    Bare(u16),
    /// JSON, and the id of the session that it opens.
    Json { status: u16, session: Option<String>, body: String },
    /// The result of a tool that ran, and the way to fail with it.
    Ran { body: String, way: Option<Way>, pause: Duration },
}

/// Returns the answer to a request, and runs the tool that it calls.
pub(super) fn reply(request: &Request, shared: &Shared) -> Reply {
    match (request.method.as_str(), request.target.as_str()) {
        ("GET", "/health") => json_reply(200, &json!({"is": "well"})),
        ("POST", "/sessions" | "/stateless") => posted(request, shared),
        ("DELETE", "/sessions") => Reply::Bare(200),
        (_, "/sessions" | "/stateless") => Reply::Bare(405),
        _ => Reply::Bare(404),
    }
}

fn posted(request: &Request, shared: &Shared) -> Reply {
    let message = request.json();
    let (id, method) = (&message["id"], message["method"].as_str().unwrap_or_default());
    let is_stateless = request.target == "/stateless";
    if let Some(key) = message["params"]["arguments"]["key"].as_str() {
        shared.received.add(key);
    }
    if !is_stateless && method == "initialize" {
        let session = Some(shared.open_session());
        let body = answer(id, &initialized(), false);
        return Reply::Json { status: 200, session, body };
    }
    if !is_stateless && let Some(refusal) = session_refusal(request, id, shared) {
        return refusal;
    }
    if id.is_null() {
        return Reply::Bare(202);
    }
    match method {
        "ping" => result(id, &json!({}), is_stateless),
        "server/discover" if is_stateless => result(id, &discovered(), true),
        "tools/call" => called(id, &message["params"], is_stateless, shared),
        "tools/list" => result(id, &tools(), is_stateless),
        _ => error(200, id, -32601, "Method not found"),
    }
}

/// Refuses a request without a session that this server knows.
fn session_refusal(request: &Request, id: &Value, shared: &Shared) -> Option<Reply> {
    match request.header("mcp-session-id") {
        Some(session) if shared.knows_session(session) => None,
        Some(_) => Some(error(404, id, -32001, "Session not found")),
        None => Some(error(400, &Value::Null, -32000, "Bad Request: no valid session ID provided")),
    }
}

fn called(id: &Value, params: &Value, is_stateless: bool, shared: &Shared) -> Reply {
    let arguments = &params["arguments"];
    let key = arguments["key"].as_str().unwrap_or_default();
    let done = match params["name"].as_str() {
        Some("look") => "looked at",
        Some("pay") => "paid",
        _ => return error(200, id, -32602, "Unknown tool"),
    };
    let run = shared.runs.add(key);
    let way = arguments["way"].as_u64().and_then(Way::numbered).filter(|_| run == 1);
    let told = told(way);
    let text = format!("{done} {key}{told}");
    let content = json!({"content": [{"type": "text", "text": text}], "isError": false});
    let pause = Duration::from_millis(arguments["pause"].as_u64().unwrap_or_default());
    Reply::Ran { body: answer(id, &content, is_stateless), way, pause }
}

/// Returns what the text of a result says besides.
fn told(way: Option<Way>) -> String {
    match way {
        Some(Way::LargeAnswer) => format!(" {}", "x".repeat(2_000_000)),
        Some(Way::SqlError) => format!(": {SQL_ERROR}"),
        _ => String::new(),
    }
}

fn initialized() -> Value {
    json!({
        "protocolVersion": "2025-11-25",
        "capabilities": {"tools": {}},
        "serverInfo": {"name": "intermediaries", "version": "1"},
    })
}

fn discovered() -> Value {
    json!({
        "supportedVersions": ["2026-07-28"],
        "capabilities": {"tools": {}},
        "serverInfo": {"name": "intermediaries", "version": "1"},
    })
}

fn tools() -> Value {
    let schema = json!({"type": "object"});
    json!({"tools": [
        {"name": "pay", "inputSchema": schema},
        {"name": "look", "inputSchema": schema, "annotations": {"readOnlyHint": true}},
    ]})
}

fn result(id: &Value, result: &Value, is_stateless: bool) -> Reply {
    Reply::Json { status: 200, session: None, body: answer(id, result, is_stateless) }
}

fn answer(id: &Value, result: &Value, is_stateless: bool) -> String {
    let mut result = result.clone();
    if is_stateless {
        result["resultType"] = "complete".into();
    }
    json!({"jsonrpc": "2.0", "id": id, "result": result}).to_string()
}

fn error(status: u16, id: &Value, code: i64, message: &str) -> Reply {
    let error = json!({"code": code, "message": message});
    json_reply(status, &json!({"jsonrpc": "2.0", "id": id, "error": error}))
}

fn json_reply(status: u16, body: &Value) -> Reply {
    Reply::Json { status, session: None, body: body.to_string() }
}

/// The words that rules against leaks of databases look for.
const SQL_ERROR: &str = "You have an error in your SQL syntax; check the manual that corresponds to your MySQL server version for the right syntax to use near ''' at line 1";
