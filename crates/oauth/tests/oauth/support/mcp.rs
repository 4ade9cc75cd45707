//! An MCP server of revision 2025-06-18 that wants a token.

use serde_json::{Value, json};

use super::http::{Answer, Request};
use super::world::State;

pub(super) fn answer(state: &mut State, _: &'static str, request: &Request) -> Answer {
    if request.path.starts_with("/.well-known/oauth-protected-resource") {
        let issuer = state.origin(state.issuer);
        let resource = format!("{}/mcp", state.mcp);
        return Answer::json(
            200,
            json!({"resource": resource, "authorization_servers": [issuer],
                   "scopes_supported": state.scopes}),
        );
    }
    if request.path != "/mcp" {
        return Answer::new(404, "");
    }
    let scheme = if state.proofs.are_wanted { "DPoP" } else { "Bearer" };
    let token = request.headers.get("authorization").and_then(|it| it.strip_prefix(scheme));
    let token = token.map(str::trim_start);
    let scope = token.and_then(|token| state.access.get(token)).cloned();
    let scope = scope.or_else(|| state.wants_no_token.then(String::new));
    let Some(scope) = scope.filter(|_| !state.refuses_all_tokens) else {
        let metadata = format!("{}/.well-known/oauth-protected-resource/mcp", state.mcp);
        // Carelessly written servers repeat the token.
        let said = token.map(|token| format!("{token} is not good")).unwrap_or_default();
        let mut challenge =
            format!("{scheme} resource_metadata=\"{metadata}\", error_description=\"{said}\"");
        challenge +=
            &state.challenge_scope.map(|it| format!(", scope=\"{it}\"")).unwrap_or_default();
        return Answer::new(401, said).with("www-authenticate", &challenge);
    };
    if state.proofs.are_wanted {
        if state.refuses_every_nonce {
            let nonce = state.name("nonce");
            state.proofs.nonces.insert("mcp", nonce);
        }
        let origin = state.mcp.clone();
        let proven = state.proofs.check("mcp", &origin, request, token);
        match proven {
            Err(refused) => return refused,
            Ok(key) if state.bound.get(token.unwrap_or_default()) != Some(&key) => {
                return Answer::new(401, "")
                    .with("www-authenticate", "DPoP error=\"invalid_token\"");
            }
            Ok(_) => {}
        }
    }
    match request.method.as_str() {
        "POST" => message(state.tools, &request.body, &scope, token.unwrap_or_default()),
        _ => Answer::new(405, ""),
    }
}

fn message(tools: &[&str], body: &str, scope: &str, token: &str) -> Answer {
    let message: Value = serde_json::from_str(body).unwrap();
    let result = match message["method"].as_str() {
        Some("initialize") => json!({
            "protocolVersion": "2025-06-18",
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "guarded", "version": "1"},
        }),
        Some("tools/list") => {
            let tool = |name: &&str| json!({"name": name, "inputSchema": {"type": "object"}});
            json!({"tools": tools.iter().map(tool).collect::<Vec<_>>()})
        }
        Some("tools/call") if message["params"]["name"] == "admin" && !scope.contains("admin") => {
            let challenge = "Bearer error=\"insufficient_scope\", scope=\"admin\"";
            return Answer::new(403, "").with("www-authenticate", challenge);
        }
        Some("tools/call") if message["params"]["name"] == "scold" => {
            let error = json!({"code": -32000, "message": format!("what is {token}?")});
            return Answer::json(
                200,
                json!({"jsonrpc": "2.0", "id": message["id"], "error": error}),
            );
        }
        // Frameworks pass on what the service behind a tool said.
        Some("tools/call") if message["params"]["name"] == "behind" => return Answer::new(401, ""),
        // Some servers repeat the request.
        Some("tools/call") if message["params"]["name"] == "repeat" => {
            json!({"content": [{"type": "text", "text": token}]})
        }
        Some("tools/call") => json!({"content": [{"type": "text", "text": "hello"}]}),
        Some("ping") => json!({}),
        _ => return Answer::new(202, ""),
    };
    Answer::json(200, json!({"jsonrpc": "2.0", "id": message["id"], "result": result}))
}
