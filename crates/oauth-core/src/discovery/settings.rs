//! The settings of a person for one MCP server.

use crate::address::NearHosts;

/// The settings of a person for one MCP server.
#[derive(Clone, Debug, Default)]
pub struct DiscoverySettings {
    /// What is sent as `resource`.
    pub resource: ResourceParameter,
    /// An issuer that is accepted in a document although another one was looked for.
    pub trusted_issuer: Option<String>,
    /// The issuer of the last login: preferred if the server names several.
    pub recorded_issuer: Option<String>,
    /// What a document must say about PKCE.
    pub pkce: PkceRule,
    /// Whether endpoints may be closer to this machine than the MCP server.
    pub near_hosts: NearHosts,
}

/// What is sent as `resource`, at the login and in every request for tokens.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ResourceParameter {
    /// The value in the metadata. The default.
    #[default]
    FromMetadata,
    /// This value, which is also accepted in the metadata although it is not the server's own.
    Given(String),
    /// Nothing: Entra refuses it together with its own scopes.
    NotSent,
}

impl ResourceParameter {
    pub(super) const fn given(&self) -> Option<&String> {
        match self {
            Self::Given(resource) => Some(resource),
            Self::FromMetadata | Self::NotSent => None,
        }
    }

    pub(super) fn to_send<'a>(&'a self, published: Option<&'a str>) -> Option<&'a str> {
        match self {
            Self::FromMetadata => published,
            Self::Given(resource) => Some(resource),
            Self::NotSent => None,
        }
    }
}

/// What the metadata of an authorization server must say about PKCE.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PkceRule {
    /// It need not mention PKCE: the person says that the server knows S256.
    Assumed,
    /// No person logs in by a browser, so there is no code to protect.
    NotNeeded,
    /// It must list S256. The default, because the specification says so.
    #[default]
    Required,
}
