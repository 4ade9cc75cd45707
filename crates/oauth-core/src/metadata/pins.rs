//! Endpoints as they were at the login, so that a later swap is noticed.
//!
//! A document with the right issuer and a foreign token endpoint would receive the refresh token and the
//! client's secret. Endpoints may be on another origin than the issuer, and often are; they may not move
//! between two requests without a new login.

use serde::{Deserialize, Serialize};

use super::AuthorizationServer;
use crate::address::HttpUrl;

/// The issuer of a grant and the origins of its endpoints, recorded at the login.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PinnedEndpoints {
    issuer: String,
    token: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    registration: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    revocation: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    device: Option<String>,
}

impl PinnedEndpoints {
    /// Records where this server's endpoints are.
    pub fn of(server: &AuthorizationServer) -> Self {
        let origin = |url: &Option<HttpUrl>| url.as_ref().map(HttpUrl::origin);
        Self {
            issuer: server.issuer.clone(),
            token: server.token_endpoint.origin(),
            registration: origin(&server.registration_endpoint),
            revocation: origin(&server.revocation_endpoint),
            device: origin(&server.device_authorization_endpoint),
        }
    }

    /// Returns the issuer that tokens and client belong to.
    pub fn issuer(&self) -> &str {
        &self.issuer
    }

    /// Checks whether secrets of this grant may be sent to the endpoints of a document that was read later.
    ///
    /// An endpoint that was not there at the login may appear: nothing was recorded that it could swap.
    pub fn check(&self, later: &AuthorizationServer) -> Result<(), Swapped> {
        same("issuer", &self.issuer, &later.issuer)?;
        same("token_endpoint", &self.token, &later.token_endpoint.origin())?;
        let optional = [
            ("registration_endpoint", &self.registration, &later.registration_endpoint),
            ("revocation_endpoint", &self.revocation, &later.revocation_endpoint),
            ("device_authorization_endpoint", &self.device, &later.device_authorization_endpoint),
        ];
        for (name, recorded, found) in optional {
            if let (Some(recorded), Some(found)) = (recorded, found) {
                same(name, recorded, &found.origin())?;
            }
        }
        Ok(())
    }
}

fn same(name: &'static str, recorded: &str, found: &str) -> Result<(), Swapped> {
    if recorded == found {
        return Ok(());
    }
    Err(Swapped { name, recorded: recorded.to_owned(), found: crate::words::shown(found) })
}

/// The error that the issuer or an endpoint has moved since the login.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the `{name}` was `{recorded}` at the login and is `{found}`; nothing was sent there, log in again to accept it"
)]
#[non_exhaustive]
pub struct Swapped {
    /// The name of the endpoint, or `issuer`.
    pub name: &'static str,
    /// What was recorded.
    pub recorded: String,
    /// What was found.
    pub found: String,
}
