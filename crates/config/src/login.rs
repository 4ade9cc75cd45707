//! How a command logs in to a server: what its flags, or a line in the file of a host, say about it.

mod flags;
mod settings;

use std::collections::BTreeMap;
use std::fmt;

use ridethrough_oauth::store::McpRemoteStore;
use ridethrough_oauth_core::mcp_remote::RemoteArguments;

pub use flags::{FlagSources, LOGIN_SECONDS, LoginFlags};
pub use settings::{LoginFlow, OAuthSettings};

/// The arguments of `mcp-remote` at a server, on which the names of its files depend. They contain headers,
/// so there is no `Debug`.
#[derive(Clone, Default)]
pub struct TheirArguments(pub(crate) RemoteArguments);

impl TheirArguments {
    /// Returns the arguments of `mcp-remote` for this URL, these settings and these headers, each as it was
    /// typed.
    pub fn of(url: &str, settings: &OAuthSettings, headers: &[String]) -> Self {
        let headers = headers.iter().filter_map(|line| line.split_once(':'));
        let pair = |(name, value): (&str, &str)| (name.trim().to_owned(), value.trim().to_owned());
        let resource = match &settings.resource {
            Some(ridethrough_oauth::ResourceParameter::Given(resource)) => Some(resource.clone()),
            _ => None,
        };
        Self(RemoteArguments {
            url: url.to_owned(),
            resource,
            authorize_parameters: settings.authorize_parameters.iter().cloned().collect(),
            headers: headers.map(pair).collect::<BTreeMap<_, _>>(),
            client_metadata_url: settings.client_metadata_url.clone(),
            token_endpoint: settings.token_endpoint.clone(),
        })
    }

    /// Returns the store of its login; `None` if there is no such folder.
    pub fn store(&self) -> Option<McpRemoteStore> {
        let store = McpRemoteStore::new(self.0.url.clone())?;
        Some(store.with_arguments(|arguments| *arguments = self.0.clone()))
    }
}

impl fmt::Debug for TheirArguments {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TheirArguments(..)")
    }
}
