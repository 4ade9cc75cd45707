//! The store of `mcp-remote`, shared with it: its users do not log in again.
//!
//! Tokens that were taken over from there stay in both stores for as long as both have them. They are renewed
//! under both locks: ours, and the lease by which processes of `mcp-remote` take turns. Renewed tokens are
//! written into both stores, there in its own form. If the two differ, the newer one counts. A login of our
//! own is ours alone; a registered client of `mcp-remote` is read and never written.

mod files;
mod lease;
mod shared;

use std::path::PathBuf;

use ridethrough_oauth_core::mcp_remote::RemoteArguments;

pub(crate) use files::RemoteLogin;
pub(crate) use shared::SharedStore;

use super::StoreError;
use super::file::off_the_runtime;
use crate::platform;

/// The place where `mcp-remote` keeps the login at one server.
///
/// ```
/// use ridethrough_oauth::OAuth;
/// use ridethrough_oauth::store::McpRemoteStore;
///
/// // What stands in the host's file: `npx mcp-remote https://example.com/mcp`.
/// let theirs = McpRemoteStore::new("https://example.com/mcp");
/// let oauth = OAuth::new("my app");
/// let oauth = match theirs {
///     Some(store) => oauth.mcp_remote(store),
///     None => oauth,
/// };
/// ```
#[derive(Clone, Debug)]
pub struct McpRemoteStore {
    folder: PathBuf,
    arguments: RemoteArguments,
}

impl McpRemoteStore {
    /// Returns the login of `mcp-remote URL`, with the URL as it is typed there; in `$MCP_REMOTE_CONFIG_DIR`
    /// or in `.mcp-auth` of the user's folder. `None` if there is neither.
    pub fn new(url: impl Into<String>) -> Option<Self> {
        let named = std::env::var_os("MCP_REMOTE_CONFIG_DIR").filter(|it| !it.is_empty());
        let usual = || platform::home_folder().map(|home| home.join(".mcp-auth"));
        Some(Self::at(named.map(PathBuf::from).or_else(usual)?, url))
    }

    /// Returns the login of `mcp-remote URL` in this folder, which `MCP_REMOTE_CONFIG_DIR` would name.
    pub fn at(folder: impl Into<PathBuf>, url: impl Into<String>) -> Self {
        let arguments = RemoteArguments { url: url.into(), ..RemoteArguments::default() };
        Self { folder: folder.into().join("mcp-remote-v1"), arguments }
    }

    /// Changes its other arguments: they are part of the names of its files.
    #[must_use]
    pub fn with_arguments(mut self, change: impl FnOnce(&mut RemoteArguments)) -> Self {
        change(&mut self.arguments);
        self
    }

    /// Whether there is a login, which may have ended.
    pub async fn has_login(&self) -> Result<bool, StoreError> {
        Ok(self.read().await?.is_some())
    }

    pub(crate) const fn arguments(&self) -> &RemoteArguments {
        &self.arguments
    }

    /// Returns the login as it is stored there.
    pub(crate) async fn read(&self) -> Result<Option<RemoteLogin>, StoreError> {
        let store = self.clone();
        off_the_runtime(move || files::read(&store)).await
    }
}
