//! The metadata of a protected resource (RFC 9728).

use super::DocumentError;
use crate::json;

/// The metadata of a protected resource: the MCP server.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ProtectedResource {
    /// The resource, byte for byte: it is sent back unchanged.
    pub resource: String,
    /// The issuers that it trusts, byte for byte; never empty.
    pub authorization_servers: Vec<String>,
    /// The scopes that it knows. `Some` and empty means that none is to be sent.
    pub scopes_supported: Option<Vec<String>>,
    /// Its name, for people.
    pub resource_name: Option<String>,
    /// Whether the resource accepts no token without a DPoP proof.
    pub requires_dpop: bool,
}

impl ProtectedResource {
    /// Reads a document.
    pub fn read(body: &[u8]) -> Result<Self, DocumentError> {
        let object = json::object(body).ok_or(DocumentError::NotAnObject)?;
        let resource = json::text(&object, "resource").ok_or(DocumentError::Missing("resource"))?;
        let servers = json::texts(&object, "authorization_servers").unwrap_or_default();
        if servers.is_empty() {
            return Err(DocumentError::Missing("authorization_servers"));
        }
        Ok(Self {
            resource: resource.to_owned(),
            authorization_servers: servers,
            scopes_supported: json::texts(&object, "scopes_supported"),
            resource_name: json::text(&object, "resource_name").map(str::to_owned),
            requires_dpop: json::is_true(&object, "dpop_bound_access_tokens_required"),
        })
    }
}
