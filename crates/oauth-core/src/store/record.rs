//! The record of a grant.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{GrantKey, StoredEnd};
use crate::client::Client;
use crate::metadata::{AuthorizationServer, DocumentError, PinnedEndpoints};
use crate::scope::ScopeSet;
use crate::secret::{self, Secret};
use crate::tokens::Tokens;

/// Everything that is stored of one grant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct GrantRecord {
    version: u32,
    /// The resource, issuer, client and profile that it belongs to.
    #[serde(flatten)]
    pub key: GrantKey,
    /// The URL of the MCP server, without its query: a record is looked up by it.
    pub server_url: String,
    /// What to send as `resource`; `None` if the parameter is not sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resource_parameter: Option<String>,
    /// The client.
    pub client: Client,
    /// The scopes that were requested, to which a demand for more is added.
    #[serde(default)]
    pub requested: ScopeSet,
    /// The tokens; `None` after a logout that kept the client.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<Tokens>,
    /// The private key that the tokens are bound to (PKCS#8 in base64); `None` if they are bound to none.
    #[serde(default, with = "secret::stored_option", skip_serializing_if = "Option::is_none")]
    pub dpop_key: Option<Secret>,
    /// The digest in the names of the files of `mcp-remote` that hold these tokens, too; `None` if none do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mcp_remote: Option<String>,
    /// Why the refresh token is not used any more; `None` while it is used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end: Option<StoredEnd>,
    /// Whether requests are sent with the identity token in place of the access token, as the person set it
    /// at the login.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub sends_id_token: bool,
    /// Whether the person allowed endpoints that are closer to this machine than the MCP server.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub allows_near_hosts: bool,
    /// The places of the endpoints at the login.
    pub endpoints: PinnedEndpoints,
    /// The metadata of the authorization server, so that it is known after a restart.
    metadata: Value,
    /// Members that a newer program wrote.
    #[serde(flatten)]
    unknown: Map<String, Value>,
}

impl GrantRecord {
    /// Creates the record of a login at this server by this client.
    pub fn new(
        key: GrantKey,
        server_url: &str,
        client: Client,
        server: &AuthorizationServer,
    ) -> Self {
        Self {
            version: VERSION,
            key,
            server_url: server_url.to_owned(),
            resource_parameter: None,
            client,
            requested: ScopeSet::default(),
            tokens: None,
            dpop_key: None,
            mcp_remote: None,
            end: None,
            sends_id_token: false,
            allows_near_hosts: false,
            endpoints: PinnedEndpoints::of(server),
            metadata: server.to_json(),
            unknown: Map::new(),
        }
    }

    /// Reads a record.
    pub fn read(text: &str) -> Result<Self, RecordError> {
        let value: Value = serde_json::from_str(text).map_err(|_| RecordError::Unreadable)?;
        let version = value.get("version").and_then(Value::as_u64).unwrap_or_default();
        if version > u64::from(VERSION) {
            return Err(RecordError::Newer(version));
        }
        serde_json::from_value(value).map_err(|_| RecordError::Unreadable)
    }

    /// Returns the text to store, in a file that only its owner can read.
    pub fn write(&self) -> Secret {
        // All keys are texts, so writing cannot fail.
        Secret::new(serde_json::to_string_pretty(self).unwrap_or_default())
    }

    /// Returns the authorization server as it was at the login.
    pub fn server(&self) -> Result<AuthorizationServer, DocumentError> {
        AuthorizationServer::from_json(&self.metadata.to_string())
    }

    /// Whether exactly these tokens are stored: the condition for deleting or replacing them.
    ///
    /// Another process may have stored newer ones, which must not be deleted.
    pub fn holds(&self, tokens: &Tokens) -> bool {
        self.tokens.as_ref().is_some_and(|stored| {
            stored.access == tokens.access && stored.refresh == tokens.refresh
        })
    }
}

/// Why a record cannot be used. It is left unchanged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RecordError {
    /// A newer program wrote it.
    #[error("it was written by a newer version (layout {0}); update this program")]
    Newer(u64),
    /// The text is not a record. It is not shown: it may hold secrets.
    #[error("it is no record of a login; log in again")]
    Unreadable,
}

const VERSION: u32 = 1;
