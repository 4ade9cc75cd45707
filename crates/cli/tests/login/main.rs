//! Logging in and out as a person does it: the built binary, an MCP server that wants a token, its
//! authorization server, and a browser that consents.

#![cfg(test)]
#![cfg(unix)]

mod bridges;
#[path = "../../../gateway/tests/logins/browser.rs"]
#[allow(dead_code, reason = "the tests of the gateway attack with the rest")]
mod browser;
mod checking;
mod gateways;
mod importing;
mod keeping;
mod logging_in;
mod principals;
mod rig;
mod stored;
#[allow(dead_code, unused_imports, reason = "the tests of the library of logins need more of it")]
#[path = "../../../oauth/tests/oauth/support/mod.rs"]
mod support;
mod taken_over;
