//! Logins of principals through the gateway, over real sockets: callers, browsers, an MCP server that wants tokens,
//! and an authorization server.

#![cfg(test)]

mod asking;
mod attacking;
mod browser;
mod rig;
#[path = "../../../oauth/tests/oauth/support/mod.rs"]
#[allow(dead_code, unused_imports, reason = "tests of logins without a gateway use the rest")]
mod support;
