//! Where the servers of a world are.

use super::grants::Issuer;

/// The origin of an issuer.
pub(super) const fn origin(issuer: Issuer) -> &'static str {
    match issuer {
        Issuer::One => "http://127.0.0.2",
        Issuer::Two => "http://127.0.0.3",
    }
}

/// The MCP server of every world. No socket has these addresses: they are names that may be used without TLS.
pub(super) const RESOURCE: &str = "http://127.0.0.1/mcp";
pub(super) const STRANGER: &str = "http://127.0.0.4";
