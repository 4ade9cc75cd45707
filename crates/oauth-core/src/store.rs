//! The stored form of a grant, and its name.
//!
//! A grant belongs to a resource, an issuer, a client and a profile, so that tokens of one server are never
//! found for another. Records carry a version of the layout only: an update of the program must not log
//! people out. Members that a newer program wrote are kept.

mod end;
mod record;
mod status;
#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::address::HttpUrl;

pub use end::StoredEnd;
pub use record::{GrantRecord, RecordError};
pub use status::GrantStatus;

/// The resource, issuer, client and profile that a grant belongs to.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct GrantKey {
    /// The MCP server: `resource` as it is sent, or its URL without query.
    pub resource: String,
    /// The issuer.
    pub issuer: String,
    /// The client.
    pub client_id: String,
    /// The person's name for one of several accounts; empty for the usual one.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub profile: String,
}

impl GrantKey {
    /// Returns the name of the grant's file: the host for people, and a digest of everything.
    ///
    /// It holds no secret, does not depend on the platform, and is safe on file systems that ignore case.
    pub fn file_name(&self) -> String {
        let parts = [&*self.resource, &self.issuer, &self.client_id, &self.profile];
        format!("{}-{}.json", plain_host(&self.resource), digest(&parts))
    }
}

/// One of a person's accounts at one MCP server. A record is looked up by it, before anything is known of the
/// issuer.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AccountKey {
    /// The URL of the MCP server, without its query.
    pub server_url: String,
    /// The person's name for one of several accounts; empty for the usual one.
    pub profile: String,
}

impl AccountKey {
    /// Returns the account of this name at this server.
    pub fn new(server: &HttpUrl, profile: impl Into<String>) -> Self {
        Self { server_url: server.without_query().to_owned(), profile: profile.into() }
    }

    /// Returns the name of the account's file without an extension: the host for people, and a digest of
    /// everything.
    ///
    /// It holds no secret, does not depend on the platform, and is safe on file systems that ignore case.
    pub fn file_stem(&self) -> String {
        let digest = digest(&[&self.server_url, &self.profile]);
        format!("{}-{digest}", plain_host(&self.server_url))
    }

    /// Whether this record belongs to the account.
    pub fn owns(&self, record: &GrantRecord) -> bool {
        record.server_url == self.server_url && record.key.profile == self.profile
    }
}

fn digest(parts: &[&str]) -> String {
    let mut digest = Sha256::new();
    for part in parts {
        // With its length in front, no part can be taken for the end of another.
        digest.update((part.len() as u64).to_be_bytes());
        digest.update(part.as_bytes());
    }
    digest.finalize().iter().take(16).map(|byte| format!("{byte:02x}")).collect()
}

fn plain_host(url: &str) -> String {
    let url = HttpUrl::parse(url).ok();
    let host = url.as_ref().map_or("server", HttpUrl::host);
    let is_plain = |letter: &char| letter.is_ascii_alphanumeric() || "-.".contains(*letter);
    host.chars().filter(is_plain).take(LONGEST_HOST).collect()
}

const LONGEST_HOST: usize = 60;
