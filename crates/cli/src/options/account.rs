//! The account at a server, as a source of tokens where none is configured.

use std::sync::PoisonError;

use ridethrough::ClientBuilder;
use ridethrough_oauth::error::SettingsError;
use ridethrough_oauth::store::{McpRemoteStore, StoreError};
use ridethrough_oauth::{Account, OAuth, ResourceParameter};

use super::settings::{Settings, wrong};
use crate::import::RemoteServer;
use crate::misuse::Misuse;
use crate::oauth::{MaskedAccount, OAuthSettings};

impl Settings {
    /// How the account at this server is logged in to: as the settings say, and as its entry says beyond
    /// them.
    pub(crate) fn oauth_at(&self, address: &RemoteServer) -> OAuthSettings {
        self.oauth.clone().over(&address.oauth)
    }

    /// Lets a client take its tokens from a stored login, if there is one. No login is begun.
    pub(super) fn logged_in(
        &self,
        builder: ClientBuilder,
        address: &RemoteServer,
    ) -> Result<ClientBuilder, Misuse> {
        Ok(match self.account(self.oauth_at(address).oauth(), &builder)? {
            Some(account) => builder.credentials(MaskedAccount(account)),
            None => builder,
        })
    }

    /// The account of this login at the server of a client; `None` where there can be none.
    pub(crate) fn account(
        &self,
        oauth: OAuth,
        builder: &ClientBuilder,
    ) -> Result<Option<Account>, Misuse> {
        let oauth = match builder.url().and_then(|url| self.login_of_mcp_remote(url)) {
            Some(theirs) => oauth.mcp_remote(theirs),
            None => oauth,
        };
        let account = match oauth.account(builder) {
            Ok(account) => account,
            // Nobody can have logged in there, and it may want no login.
            Err(SettingsError::ServerUrl(_) | SettingsError::Store(StoreError::NoFolder)) => {
                return Ok(None);
            }
            Err(error) => return Err(wrong(&error.to_string())),
        };
        let accounts = self.accounts.lock();
        accounts.unwrap_or_else(PoisonError::into_inner).push(account.clone());
        Ok(Some(account))
    }

    /// Where `mcp-remote` keeps the login at this server: whoever comes from there does not log in again.
    fn login_of_mcp_remote(&self, url: &str) -> Option<McpRemoteStore> {
        let settings = &self.oauth;
        Some(McpRemoteStore::new(url)?.with_arguments(|arguments| {
            if let Some(ResourceParameter::Given(resource)) = &settings.resource {
                arguments.resource = Some(resource.clone());
            }
            arguments.authorize_parameters =
                settings.authorize_parameters.iter().cloned().collect();
            arguments.client_metadata_url.clone_from(&settings.client_metadata_url);
        }))
    }

    /// The account that the last client was made with; `None` if it has a token of its own.
    pub(crate) fn account_in_use(&self) -> Option<Account> {
        self.accounts.lock().unwrap_or_else(PoisonError::into_inner).last().cloned()
    }

    /// Waits until no token is being renewed. Whoever ends the runtime waits for this first: a refresh token
    /// that was sent is worth nothing any more, and its successor must be stored.
    pub(crate) async fn renewals_ended(&self) {
        let accounts = self.accounts.lock();
        let accounts = accounts.unwrap_or_else(PoisonError::into_inner).clone();
        for account in accounts {
            account.work_ended().await;
        }
    }
}
