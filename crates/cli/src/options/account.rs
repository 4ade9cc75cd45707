//! The account at a server, as a source of tokens where no token is configured.

use std::sync::PoisonError;

use ridethrough::ClientBuilder;
use ridethrough_config::hosts::RemoteServer;
use ridethrough_config::login::{OAuthSettings, TheirArguments};
use ridethrough_oauth::error::SettingsError;
use ridethrough_oauth::store::StoreError;
use ridethrough_oauth::{Account, OAuth};
use secrecy::ExposeSecret;

use super::settings::{Settings, wrong};
use crate::misuse::Misuse;
use crate::oauth::MaskedAccount;

impl Settings {
    /// Returns the login settings at this server: from the command's settings, completed by the server's
    /// entry.
    pub(crate) fn oauth_at(&self, address: &RemoteServer) -> OAuthSettings {
        self.oauth.clone().over(&address.oauth)
    }

    /// Returns the login at this server, without a person. A login that was made with `mcp-remote` is used,
    /// if there is none of ours.
    pub(crate) fn login_at(&self, address: &RemoteServer) -> OAuth {
        let settings = self.oauth_at(address);
        let theirs = address.theirs.as_deref().cloned().unwrap_or_else(|| {
            TheirArguments::of(address.url.expose_secret(), &settings, &self.typed_headers)
        });
        match theirs.store() {
            Some(store) => settings.oauth().mcp_remote(store),
            None => settings.oauth(),
        }
    }

    /// Lets a client take its tokens from a stored login, if there is one. No login is begun.
    pub(super) fn logged_in(
        &self,
        builder: ClientBuilder,
        address: &RemoteServer,
    ) -> Result<ClientBuilder, Misuse> {
        Ok(match self.account(self.login_at(address), &builder)? {
            Some(account) => builder.credentials(MaskedAccount(account)),
            None => builder,
        })
    }

    /// Returns the account of this login at the server of a client; `None` where there can be none.
    pub(crate) fn account(
        &self,
        oauth: OAuth,
        builder: &ClientBuilder,
    ) -> Result<Option<Account>, Misuse> {
        let account = match oauth.account(builder) {
            Ok(account) => account,
            // No login can be stored for such a server, and it may want none.
            Err(SettingsError::ServerUrl(_) | SettingsError::Store(StoreError::NoFolder)) => {
                return Ok(None);
            }
            Err(error) => return Err(wrong(&error.to_string())),
        };
        let accounts = self.accounts.lock();
        accounts.unwrap_or_else(PoisonError::into_inner).push(account.clone());
        Ok(Some(account))
    }

    /// Returns the account that the last client was made with; `None` if it has a token of its own.
    pub(crate) fn account_in_use(&self) -> Option<Account> {
        self.accounts.lock().unwrap_or_else(PoisonError::into_inner).last().cloned()
    }

    /// Waits until no token is being renewed. Code that ends the runtime waits for this first: a refresh
    /// token that was sent is worth nothing any more, and its successor must be stored.
    pub(crate) async fn renewals_ended(&self) {
        let accounts = self.accounts.lock();
        let accounts = accounts.unwrap_or_else(PoisonError::into_inner).clone();
        for account in accounts {
            account.work_ended().await;
        }
    }
}
