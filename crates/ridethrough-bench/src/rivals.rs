//! Clients and bridges of others: which there are, and how each is started.
//!
//! A client is started as `program args… URL` and obeys the lines that `contest` documents. A bridge is
//! started as `program args… URL` too, and speaks MCP over its stdin and stdout.

use anyhow::Result;

use crate::contestant::Contestant;

/// The official SDK as it comes; P5 looks for these two names.
pub(crate) const RMCP: &str = "rmcp";
/// The official SDK with a client that keeps its connections.
pub(crate) const RMCP_POOLED: &str = "rmcp-pooled";

/// Clients of others, installed where they are not yet.
pub(crate) fn clients() -> Result<Vec<Contestant>> {
    Ok(Vec::new())
}

/// Bridges of others, installed where they are not yet.
pub(crate) fn bridges() -> Result<Vec<Contestant>> {
    Ok(Vec::new())
}
