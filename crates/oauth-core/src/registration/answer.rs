//! Reads the answer to a registration, in all dialects that servers speak.

use std::time::Duration;

use http::StatusCode;
use serde_json::Value;

use super::Registration;
use crate::client::{AuthMethod, Client, ClientKind};
use crate::http_answer::HttpAnswer;
use crate::json::{self, Object};
use crate::scope::ScopeSet;
use crate::secret::Secret;
use crate::timestamp::Timestamp;
use crate::words;

/// The outcome of a registration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RegistrationOutcome {
    /// The server does not know a scope: send the registration again, which then has none.
    AgainWithoutScope,
    /// There is no client.
    Failed(RegistrationError),
    /// There is a client, bound to its issuer.
    Registered(Box<Client>),
}

/// Why there is no client.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RegistrationError {
    /// The server admits only clients that its owner knows.
    #[error(
        "the authorization server admits approved clients only: {words}; register a client with its \
         owner and configure the client id"
    )]
    ApprovedOnly {
        /// The server's words.
        words: String,
    },
    /// The server refused for another reason.
    #[error("the registration was refused with {status}: {words}")]
    Refused {
        /// The status.
        status: StatusCode,
        /// The error code, if there is one.
        code: Option<String>,
        /// The server's words.
        words: String,
    },
    /// The server accepts no redirect to this machine.
    #[error("the authorization server refuses to redirect to this machine: {words}")]
    RedirectUriRefused {
        /// The server's words.
        words: String,
    },
    /// The server is in trouble.
    #[error("the registration endpoint is in trouble ({status}); try again later")]
    Transient {
        /// The status.
        status: StatusCode,
        /// When to try again, if the server says so.
        retry_after: Option<Duration>,
    },
    /// The answer has no client: most often it is a page of a proxy.
    #[error("the registration endpoint answered {0} without a client id")]
    Unreadable(StatusCode),
}

impl Registration {
    /// Handles the answer.
    pub fn handle(&mut self, answer: &HttpAnswer) -> RegistrationOutcome {
        if answer.is_transient() {
            return RegistrationOutcome::Failed(RegistrationError::Transient {
                status: answer.status,
                retry_after: answer.retry_after,
            });
        }
        let object = json::object(&answer.body);
        let client = object.as_ref().filter(|_| answer.status.is_success());
        if let Some(client) = client.and_then(|object| self.client(object)) {
            return RegistrationOutcome::Registered(Box::new(client));
        }
        let code = object.as_ref().and_then(|object| json::text(object, "error"));
        let is_about_scope = matches!(code, Some("invalid_client_metadata" | "invalid_scope"));
        if is_about_scope && !self.description.scopes.is_empty() {
            self.description.scopes = ScopeSet::default();
            return RegistrationOutcome::AgainWithoutScope;
        }
        RegistrationOutcome::Failed(refusal(answer, object.as_ref(), code))
    }

    fn client(&self, object: &Object) -> Option<Client> {
        if object.contains_key("error") {
            return None;
        }
        let id = json::text(object, "client_id")?.to_owned();
        let secret = json::text(object, "client_secret").map(Secret::new);
        let method = json::text(object, "token_endpoint_auth_method").and_then(AuthMethod::named);
        let asked = || self.description.redirect_uris.iter().map(|uri| uri.as_str().to_owned());
        Some(Client {
            // Without a secret there is nothing that could end.
            secret_expires_at: secret.as_ref().and_then(|_| secret_expiry(object)),
            method,
            issuer: Some(self.issuer.clone()),
            redirect_uris: json::texts(object, "redirect_uris")
                .filter(|uris| !uris.is_empty())
                .unwrap_or_else(|| asked().collect()),
            ..Client::new(id, secret, ClientKind::Dynamic)
        })
    }
}

/// Returns when the secret ends. 0 means never; some servers send a text.
fn secret_expiry(object: &Object) -> Option<Timestamp> {
    let value = object.get("client_secret_expires_at")?;
    let seconds = match value {
        Value::String(text) => text.parse().ok(),
        value => value.as_u64(),
    };
    seconds.filter(|seconds| *seconds > 0).map(Timestamp::from_unix_secs)
}

fn refusal(answer: &HttpAnswer, object: Option<&Object>, code: Option<&str>) -> RegistrationError {
    let status = answer.status;
    let words = said(answer, object);
    match (status, code) {
        (_, Some("invalid_redirect_uri")) => RegistrationError::RedirectUriRefused { words },
        (StatusCode::FORBIDDEN, _) => RegistrationError::ApprovedOnly { words },
        (status, None) if status.is_success() => RegistrationError::Unreadable(status),
        (status, code) => {
            RegistrationError::Refused { status, code: code.map(words::shown), words }
        }
    }
}

/// Returns the server's words: members of an error, or a text that is not a page.
fn said(answer: &HttpAnswer, object: Option<&Object>) -> String {
    let members = ["error_description", "message", "msg", "detail", "error"];
    let member = object
        .and_then(|object| members.iter().find_map(|member| json::text(object, member)))
        .map(words::shown);
    let text = || {
        let text = String::from_utf8_lossy(&answer.body[..answer.body.len().min(1000)]);
        let is_page = text.trim_start().starts_with(['<', '{', '[']) || text.trim().is_empty();
        if is_page { "it gives no reason".to_owned() } else { words::shown(&text) }
    };
    member.unwrap_or_else(text)
}
