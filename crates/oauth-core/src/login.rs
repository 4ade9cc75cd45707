//! One login by a browser: the URL to open, and the callback that ends it.
//!
//! ```text
//! LoginRequest ─► PendingLogin ──callback with our state──► AuthorizationCode or LoginError, once
//!                      └────────anything else─────────────► ignored, keep listening
//! ```
//!
//! A pending login is bound to its state, issuer, verifier and redirect URI. The state of a callback is
//! checked before anything else, so that a stranger's request can neither end the login nor show a word to
//! the person; then the issuer (RFC 9207), then the error, then the code.

mod callback;
mod start;
#[cfg(test)]
mod tests;

use std::fmt;

use http::StatusCode;
use serde::{Deserialize, Serialize};

use crate::address::HttpUrl;
use crate::constant_time;
use crate::http_answer::HttpAnswer;
use crate::pkce::Pkce;
use crate::scope::ScopeSet;
use crate::secret::{self, Secret};
use crate::words;

pub use callback::{Callback, is_own_host};
pub use start::{LoginRandom, LoginRequest, LoginStartError};

/// A login that waits for its callback.
///
/// It may be stored, so that another process takes over the port and the login with it. Its serialised form
/// has state and verifier in the clear.
#[derive(Clone, Serialize, Deserialize)]
pub struct PendingLogin {
    #[serde(with = "secret::stored")]
    state: Secret,
    #[serde(with = "secret::stored")]
    verifier: Secret,
    issuer: String,
    sends_issuer: bool,
    redirect_uri: String,
    #[serde(default)]
    resource: Option<String>,
    #[serde(default)]
    scopes: ScopeSet,
    url: String,
    #[serde(default)]
    is_over: bool,
}

impl PendingLogin {
    /// Returns the URL to open in a browser, or to show.
    ///
    /// It has been checked; it must still not be given to a shell.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Returns the scopes that are requested: a later demand for more is added to them.
    pub const fn scopes(&self) -> &ScopeSet {
        &self.scopes
    }

    /// Returns the issuer that the person logs in at.
    pub fn issuer(&self) -> &str {
        &self.issuer
    }

    /// Returns where the callback goes.
    pub fn redirect_uri(&self) -> &str {
        &self.redirect_uri
    }

    /// Handles a callback. A callback without our state is ignored, and so is every callback after the end.
    pub fn handle(&mut self, callback: &Callback) -> CallbackOutcome {
        if self.is_over {
            return CallbackOutcome::Ignored(Ignored::Over);
        }
        let Some(state) = callback.only("state") else {
            return CallbackOutcome::Ignored(Ignored::NoState);
        };
        if !constant_time::is_equal(state.as_bytes(), self.state.expose().as_bytes()) {
            return CallbackOutcome::Ignored(Ignored::OtherState);
        }
        self.is_over = true;
        match self.code(callback) {
            Ok(code) => CallbackOutcome::Code(code),
            Err(error) => CallbackOutcome::Failed(error),
        }
    }

    fn code(&self, callback: &Callback) -> Result<AuthorizationCode, LoginError> {
        self.check_issuer(callback)?;
        if let Some(code) = callback.only("error") {
            let words = callback.only("error_description").unwrap_or_default();
            let (code, words) = (words::shown(code), words::shown(words));
            return Err(LoginError::Refused { code, words });
        }
        let code = callback.only("code").filter(|code| !code.is_empty());
        Ok(AuthorizationCode {
            code: Secret::new(code.ok_or(LoginError::NoCode)?),
            pkce: Pkce::from_verifier(self.verifier.clone()),
            redirect_uri: self.redirect_uri.clone(),
            issuer: self.issuer.clone(),
            resource: self.resource.clone(),
            scopes: self.scopes.clone(),
        })
    }

    /// Checks the issuer by the table of RFC 9207: exact if it is there, required if the server says that it
    /// sends it.
    fn check_issuer(&self, callback: &Callback) -> Result<(), LoginError> {
        match callback.only("iss") {
            Some(issuer) if issuer == self.issuer => Ok(()),
            None if !self.sends_issuer && !callback.has("iss") => Ok(()),
            None => Err(LoginError::NoIssuer { expected: self.issuer.clone() }),
            Some(_) => Err(LoginError::OtherIssuer { expected: self.issuer.clone() }),
        }
    }
}

impl fmt::Debug for PendingLogin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.state.fingerprint();
        write!(f, "PendingLogin({}, state {state}, over: {})", self.issuer, self.is_over)
    }
}

/// The meaning of a callback.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CallbackOutcome {
    /// The person has consented: exchange the code.
    Code(AuthorizationCode),
    /// The login has ended without a code.
    Failed(LoginError),
    /// The callback is not for this login: answer 400 and keep listening.
    Ignored(Ignored),
}

/// Why a callback is ignored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ignored {
    /// It has no state, or several.
    NoState,
    /// Its state is not ours.
    OtherState,
    /// The login has ended.
    Over,
}

/// Why a login ended without a code.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LoginError {
    /// The callback has neither a code nor an error.
    #[error("the authorization server sent the browser back without a code; log in again")]
    NoCode,
    /// The server says that it names itself in callbacks, and did not.
    #[error(
        "the browser came back without the issuer `{expected}`, which this authorization server always \
         names; the answer was not used, log in again"
    )]
    NoIssuer {
        /// The issuer that the person logged in at.
        expected: String,
    },
    /// The callback is of another server. Its words are not shown: they may be an attacker's.
    #[error(
        "the browser came back from another issuer than `{expected}`; the answer was not used, log in \
         again"
    )]
    OtherIssuer {
        /// The issuer that the person logged in at.
        expected: String,
    },
    /// The server or the person refused.
    #[error("the login was refused with `{code}`{}", words::after_colon(words))]
    Refused {
        /// The error code, `access_denied` if the person refused.
        code: String,
        /// The server's words; empty if it said no more.
        words: String,
    },
}

/// A code, with everything that its exchange needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuthorizationCode {
    pub(crate) code: Secret,
    pub(crate) pkce: Pkce,
    pub(crate) redirect_uri: String,
    pub(crate) issuer: String,
    pub(crate) resource: Option<String>,
    pub(crate) scopes: ScopeSet,
}

impl AuthorizationCode {
    /// Returns the scopes that were requested.
    pub const fn scopes(&self) -> &ScopeSet {
        &self.scopes
    }
}

/// What the authorization URL shows about the client, before a person sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Preflight {
    /// The server does not know the client.
    ClientDead,
    /// There is no reason not to open it.
    Open,
}

impl Preflight {
    /// Reads the answer to a GET of the authorization URL, without following redirects.
    ///
    /// Servers that have deleted a client show people an error page for ever. A 403 or 405 says nothing: some
    /// servers admit only browsers.
    pub fn read(answer: &HttpAnswer) -> Self {
        let dead = [
            StatusCode::BAD_REQUEST,
            StatusCode::UNAUTHORIZED,
            StatusCode::NOT_FOUND,
            StatusCode::UNPROCESSABLE_ENTITY,
        ];
        if dead.contains(&answer.status) { Self::ClientDead } else { Self::Open }
    }
}

/// Returns the path of a redirect URI.
pub(crate) fn redirect_path(redirect_uri: &str) -> Option<String> {
    HttpUrl::parse(redirect_uri).ok().map(|url| url.path().to_owned())
}
