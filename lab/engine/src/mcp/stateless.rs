//! The stateless revision (2026-07-28): what every request must carry, and what every result has.
//!
//! A request is checked in this order: its method, its revision, then the headers that repeat parts of the
//! body. A request that is refused has not run.

use serde_json::{Map, Value, json};

use super::state::McpState;
use super::{Ask, What, inquiry, mirror, results};

/// Why a request is refused.
pub(super) struct Wrong {
    pub(super) status: u16,
    pub(super) code: i64,
    message: String,
    data: Option<Value>,
}

impl Wrong {
    fn new(status: u16, code: i64, message: impl Into<String>) -> Self {
        Self { status, code, message: message.into(), data: None }
    }

    fn header(message: impl Into<String>) -> Self {
        Self::new(400, HEADER_MISMATCH, message)
    }

    fn with(self, data: Value) -> Self {
        Self { data: Some(data), ..self }
    }

    /// Returns the error of its JSON-RPC answer.
    pub(super) fn error(&self) -> Value {
        let mut error = json!({"code": self.code, "message": self.message});
        if let Some(data) = &self.data {
            error["data"] = data.clone();
        }
        error
    }
}

/// Returns what is wrong with a request of a method, before it is carried out.
pub(super) fn wrong(ask: &Ask, state: &McpState) -> Option<Wrong> {
    let What::Request { method, .. } = &ask.entry.what else { return None };
    if !METHODS.contains(&method.as_str()) {
        // `initialize` is the first request of a legacy client, which should learn what this server speaks.
        let wrong = Wrong::new(404, METHOD_NOT_FOUND, format!("Method not found: {method}"));
        return Some(wrong.with(json!({"supported": results::versions(state.spoken)})));
    }
    let params = ask.params();
    wrong_version(ask, &params, state)
        .or_else(|| wrong_headers(ask, method, &params, state))
        .or_else(|| missing_capability(method, &params, state))
}

fn wrong_version(ask: &Ask, params: &Value, state: &McpState) -> Option<Wrong> {
    let named = ask.entry.header("mcp-protocol-version");
    let meta = &params["_meta"];
    let meant = meta[PROTOCOL_VERSION].as_str();
    match (named, meant) {
        // A legacy client in the middle of its session.
        (Some(named), None) if named != VERSION => Some(unsupported(named, state)),
        (_, None) => Some(Wrong::new(400, INVALID_PARAMS, "_meta lacks the protocol version")),
        _ if !meta[CLIENT_CAPABILITIES].is_object() => {
            Some(Wrong::new(400, INVALID_PARAMS, "_meta lacks the client's capabilities"))
        }
        (None, _) => Some(Wrong::header("MCP-Protocol-Version is missing")),
        (Some(named), Some(meant)) if named != meant => {
            Some(Wrong::header("MCP-Protocol-Version is not what _meta says"))
        }
        (_, Some(meant)) => (meant != VERSION).then(|| unsupported(meant, state)),
    }
}

fn unsupported(requested: &str, state: &McpState) -> Wrong {
    let data = json!({"supported": results::versions(state.spoken), "requested": requested});
    Wrong::new(400, UNSUPPORTED_VERSION, "Unsupported protocol version").with(data)
}

fn wrong_headers(ask: &Ask, method: &str, params: &Value, state: &McpState) -> Option<Wrong> {
    if ask.entry.header("mcp-method") != Some(method) {
        return Some(Wrong::header("Mcp-Method is not the method"));
    }
    let name = match method {
        "prompts/get" | "tools/call" => params["name"].as_str(),
        "resources/read" => params["uri"].as_str(),
        _ => return None,
    };
    if mirror::text(&ask.entry, "mcp-name").as_deref() != name {
        return Some(Wrong::header("Mcp-Name is not the name"));
    }
    let tools = state.tools.as_array().map(Vec::as_slice).unwrap_or_default();
    let tool = tools.iter().find(|tool| method == "tools/call" && tool["name"].as_str() == name)?;
    let unlike = mirror::unlike(&ask.entry, &tool["inputSchema"], &params["arguments"])?;
    Some(Wrong::header(format!("{unlike} is not what the arguments say")))
}

/// Returns the refusal of a call whose tool needs a capability that the client does not have.
fn missing_capability(method: &str, params: &Value, state: &McpState) -> Option<Wrong> {
    let rounds = state.rounds_of(method, params)?;
    let missing = inquiry::missing(rounds, params, &params["_meta"][CLIENT_CAPABILITIES])?;
    let required = Map::from_iter([(missing.to_owned(), json!({}))]);
    let wrong = Wrong::new(400, MISSING_CAPABILITY, format!("`{missing}` is needed"));
    Some(wrong.with(json!({"requiredCapabilities": required})))
}

/// Returns the result, or the error, of a valid request.
pub(super) fn answer(method: &str, params: &Value, state: &McpState) -> Result<Value, Value> {
    let asked = state.rounds_of(method, params).map(|rounds| inquiry::next(rounds, params));
    match asked {
        Some(inquiry::InquiryStep::Ask(result)) => return Ok(complete(method, result, state)),
        Some(inquiry::InquiryStep::Wrong(why)) => {
            return Err(Wrong::new(200, INVALID_PARAMS, why).error());
        }
        Some(inquiry::InquiryStep::Run) | None => {}
    }
    let result = match method {
        "server/discover" => Some(results::discovered(state)),
        method if METHODS.contains(&method) => results::of(method, params, state),
        _ => None,
    };
    let unknown = || Wrong::new(404, METHOD_NOT_FOUND, "Method not found").error();
    result.map(|result| complete(method, result, state)).ok_or_else(unknown)
}

/// Adds the members that every result has.
pub(super) fn complete(method: &str, result: Value, state: &McpState) -> Value {
    let mut result = result;
    if let Value::Object(members) = &mut result {
        members.entry("resultType").or_insert_with(|| "complete".into());
        if CACHEABLE.contains(&method) {
            members.insert("ttlMs".to_owned(), 0.into());
            members.insert("cacheScope".to_owned(), "private".into());
        }
        let meta = json!({SERVER_INFO: state.initialize_result["serverInfo"]});
        members.entry("_meta").or_insert(meta);
    }
    result
}

/// The stateless revision.
pub(super) const VERSION: &str = "2026-07-28";
pub(super) const PROTOCOL_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
pub(super) const SUBSCRIPTION_ID: &str = "io.modelcontextprotocol/subscriptionId";
const CLIENT_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";

/// The methods of this revision.
const METHODS: [&str; 10] = [
    "completion/complete",
    "prompts/get",
    "prompts/list",
    "resources/list",
    "resources/read",
    "resources/templates/list",
    "server/discover",
    "subscriptions/listen",
    "tools/call",
    "tools/list",
];
/// Methods whose results must say how long they may be kept.
const CACHEABLE: [&str; 6] = [
    "prompts/list",
    "resources/list",
    "resources/read",
    "resources/templates/list",
    "server/discover",
    "tools/list",
];
const METHOD_NOT_FOUND: i64 = -32601;
const INVALID_PARAMS: i64 = -32602;
const HEADER_MISMATCH: i64 = -32020;
const MISSING_CAPABILITY: i64 = -32021;
const UNSUPPORTED_VERSION: i64 = -32022;
