//! The files of `mcp-remote`: their names, and how they are read and written.
//!
//! A person who used `mcp-remote` before should not have to log in again. Both programs may run side by side,
//! so a refresh token of `mcp-remote` is used only under its lease and written back in its form; its
//! registration of a client is read and never written.

mod files;
mod md5;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

pub use files::{Holder, Lease, client_info, read_tokens, tokens_issuer, write_tokens};

/// The arguments of `mcp-remote` on which the names of its files depend.
#[derive(Clone, Debug, Default)]
pub struct RemoteArguments {
    /// The URL as it was typed.
    pub url: String,
    /// `--resource`.
    pub resource: Option<String>,
    /// `--authorize-param`.
    pub authorize_parameters: BTreeMap<String, String>,
    /// `--header`, before variables are filled in.
    pub headers: BTreeMap<String, String>,
    /// `--client-metadata-url`.
    pub client_metadata_url: Option<String>,
    /// `--token-endpoint`.
    pub token_endpoint: Option<String>,
}

impl RemoteArguments {
    /// Returns the digest that its files begin with.
    pub fn hash(&self) -> String {
        let json = |map: &BTreeMap<String, String>| {
            // A map of texts can always be written.
            (!map.is_empty()).then(|| serde_json::to_string(map).unwrap_or_default())
        };
        let parts = [
            Some(self.url.clone()),
            self.resource.clone(),
            json(&self.authorize_parameters),
            json(&self.headers),
            self.client_metadata_url.clone(),
            self.token_endpoint.clone(),
        ];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        md5::hex(parts.join("|").as_bytes())
    }

    /// Returns the file with the tokens.
    pub fn tokens_file(&self) -> String {
        format!("{}_tokens.json", self.hash())
    }

    /// Returns the file with the client, which is never written.
    pub fn client_file(&self) -> String {
        format!("{}_client_info.json", self.hash())
    }

    /// Returns the file whose holder may refresh.
    pub fn lease_file(&self) -> String {
        format!("{}_refresh_in_progress.json", self.hash())
    }
}
