//! The errors of settings and of logins.

use std::io;
use std::time::Duration;

use ridethrough_oauth_core::AddressError;
use ridethrough_oauth_core::client::OtherIssuer;
use ridethrough_oauth_core::device::DeviceError;
use ridethrough_oauth_core::discovery::DiscoveryError;
use ridethrough_oauth_core::grant::LoginReason;
use ridethrough_oauth_core::login::{LoginError, LoginStartError};
use ridethrough_oauth_core::metadata::{DocumentError, Swapped};
use ridethrough_oauth_core::registration::RegistrationError;
use ridethrough_oauth_core::token_answer::TokenError;

use crate::store::StoreError;

/// Settings that cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SettingsError {
    /// The browser cannot be sent back to this URL.
    #[error("`callback_url` is `{0}`, must be https, or http on this machine, without a query")]
    CallbackUrl(String),
    /// The URL of the client's metadata cannot be a client id.
    #[error("`client_metadata_url` is `{url}`, must be https with a path")]
    ClientMetadataUrl {
        /// The URL.
        url: String,
        /// What is wrong with it.
        source: AddressError,
    },
    /// The identity provider's issuer cannot be used.
    #[error("the identity provider is `{issuer}`, must be the URL of an issuer")]
    IdentityProvider {
        /// The issuer.
        issuer: String,
        /// What is wrong with it.
        source: AddressError,
    },
    /// A local server has no authorization server.
    #[error("`oauth` is set, must not be for a local server")]
    LocalServer,
    /// The redirect names another machine.
    #[error("`redirect` has the host `{0}`, must be `127.0.0.1` or `localhost`")]
    RedirectHost(String),
    /// The redirect has an unusable path.
    #[error("`redirect` has the path `{0}`, must begin with `/` and have no query")]
    RedirectPath(String),
    /// The URL of the MCP server cannot be used for a login.
    #[error("the server's `url` cannot be used with `oauth`")]
    ServerUrl(#[source] AddressError),
    /// The store of logins cannot be used.
    #[error("logins cannot be kept")]
    Store(#[from] StoreError),
    /// The token endpoint must not be used. The URL may hold a secret, and is not shown.
    #[error("`token_endpoint` cannot be used")]
    TokenEndpoint(#[source] AddressError),
}

/// Why a login failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LoginFailure {
    /// The platform gave no assertion for the client.
    #[error("there is no assertion for the client: {0}")]
    Assertion(String),
    /// The server wants a client that a person registers.
    #[error("`{issuer}` lets no client register itself; register one there and set `client_id`")]
    ClientIdNeeded {
        /// The issuer.
        issuer: String,
    },
    /// The device flow failed.
    #[error("the device login failed")]
    Device(#[from] DeviceError),
    /// The authorization server was not found.
    #[error("the authorization server was not found")]
    Discovery(#[from] DiscoveryError),
    /// The person or the server refused.
    #[error("the login failed")]
    Login(#[from] LoginError),
    /// The port for the callback could not be opened.
    #[error(
        "the port for the browser to come back to could not be had; set another one by `redirect`"
    )]
    Listener(#[source] io::Error),
    /// A person must log in, and none is set.
    #[error("log in first: {0}")]
    Needed(LoginReason),
    /// An endpoint did not answer.
    #[error("`{url}` did not answer: {why}; try again later")]
    NoAnswer {
        /// The URL without its query.
        url: String,
        /// What happened.
        why: String,
    },
    /// The server has no endpoint for a login on another device.
    #[error("`{issuer}` knows no login by a code for another device")]
    NoDeviceEndpoint {
        /// The issuer.
        issuer: String,
    },
    /// The answer has no identity token, which was asked for in place of the access token.
    #[error(
        "the answer holds no identity token; add the scope `openid`, or do not use the identity token"
    )]
    NoIdToken,
    /// The person did not finish in this time.
    #[error("the login was not finished within {0:?}; log in again")]
    NotFinished(Duration),
    /// The client belongs to another issuer.
    #[error("the client cannot be used")]
    OtherIssuer(#[from] OtherIssuer),
    /// The metadata that was stored cannot be used.
    #[error("the stored metadata cannot be used; log in again")]
    Record(#[from] DocumentError),
    /// No client could be registered.
    #[error("the client could not be registered")]
    Registration(#[from] RegistrationError),
    /// The key cannot sign.
    #[error("the key of the client cannot sign")]
    Key,
    /// The login cannot begin.
    #[error("the login cannot begin")]
    Start(#[from] LoginStartError),
    /// The grant could not be stored.
    #[error("the login could not be kept")]
    Store(#[from] StoreError),
    /// An endpoint has moved since the login.
    #[error("the authorization server has moved an endpoint")]
    Swapped(#[from] Swapped),
    /// No tokens were granted.
    #[error("no tokens were granted")]
    Token(#[from] TokenError),
    /// The last login was a moment ago, and failed or did not help.
    #[error("no login is begun: {0}")]
    TooSoon(String),
}

impl LoginFailure {
    /// Whether the person declined, or did nothing.
    pub(crate) const fn is_of_person(&self) -> bool {
        matches!(
            self,
            Self::Login(_)
                | Self::NotFinished(_)
                | Self::Device(DeviceError::AccessDenied | DeviceError::Expired)
        )
    }
}

/// Returns an error with all its causes, on one line.
pub fn with_causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}
