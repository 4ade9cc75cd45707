//! The guard of an MCP server: refuses every request without a token that was issued for it.

use serde::Deserialize;
use serde_json::json;
use tokio::time::Instant;

use super::{AddressBook, IssuerReply, Vault};

/// Which requests need a token.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Extent {
    /// Calls of tools only; every client may connect and list.
    Calls,
    /// Every request.
    Everything,
    /// No request.
    #[default]
    Nothing,
}

/// Admits requests with a valid token.
#[derive(Clone, Debug)]
pub(crate) struct Guard {
    pub(crate) vault: Vault,
    pub(crate) addresses: AddressBook,
    pub(crate) extent: Extent,
    /// The scope that a call of each tool needs.
    pub(crate) scope_of: Vec<(String, String)>,
}

impl Guard {
    /// Returns why a request is not admitted: its status, and the challenge (RFC 6750 3, RFC 9728 5.1).
    pub(crate) fn refusal(&self, token: Option<&str>, tool: Option<&str>) -> Option<(u16, String)> {
        let is_guarded = match self.extent {
            Extent::Calls => tool.is_some(),
            Extent::Everything => true,
            Extent::Nothing => false,
        };
        if !is_guarded {
            return None;
        }
        let document = format!("{}{METADATA}/mcp", origin(&self.main()));
        let challenge = format!("Bearer resource_metadata=\"{document}\"");
        let grant = token.and_then(|token| self.vault.access(token, Instant::now()));
        let is_ours =
            |resource: &Option<String>| resource.as_ref().is_none_or(|it| *it == self.main());
        let Some(grant) = grant.filter(|grant| is_ours(&grant.resource)) else {
            let error = if token.is_some() { ", error=\"invalid_token\"" } else { "" };
            return Some((401, format!("{challenge}{error}")));
        };
        let needed = self.scope_of.iter().find(|(it, _)| Some(it.as_str()) == tool);
        let (_, scope) = needed?;
        let has = grant.scope.split(' ').any(|it| it == scope);
        let error = format!("{challenge}, error=\"insufficient_scope\", scope=\"{scope}\"");
        (!has).then_some((403, error))
    }

    /// Returns the metadata of the MCP server (RFC 9728 2), if this is its path.
    pub(crate) fn document(&self, http: &str, target: &str) -> Option<IssuerReply> {
        let path = target.split('?').next().unwrap_or_default();
        if http != "GET" || !path.starts_with("/.well-known/") {
            return None;
        }
        let rest = path.strip_prefix(METADATA);
        if !matches!(rest, Some("" | "/mcp")) {
            return Some(IssuerReply::error(404, "not_found"));
        }
        let issuer = self.addresses.get().map(|it| it.issuer.clone()).unwrap_or_default();
        let document = json!({
            "resource": self.main(),
            "authorization_servers": [issuer],
            "scopes_supported": ["mcp"],
            "bearer_methods_supported": ["header"],
        });
        Some(IssuerReply::json(200, &document))
    }

    fn main(&self) -> String {
        self.addresses.get().map(|it| it.main.clone()).unwrap_or_default()
    }
}

/// Returns the origin of an MCP endpoint of the lab.
pub(crate) fn origin(url: &str) -> &str {
    url.strip_suffix("/mcp").unwrap_or(url)
}

const METADATA: &str = "/.well-known/oauth-protected-resource";
