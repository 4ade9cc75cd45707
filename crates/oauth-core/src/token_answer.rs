//! Reads an answer of a token endpoint, in all dialects that servers speak.
//!
//! JSON or a form; an error under any status, 200 too; members of other names. Only proof ends a grant: a web
//! page, a 5xx or an unknown word never does.

mod expiry;
mod fields;
mod refusal;
#[cfg(test)]
mod tests;

use std::time::Duration;

use http::StatusCode;

use crate::http_answer::HttpAnswer;
use crate::json::{self, Object};
use crate::secret::Secret;
use crate::timestamp::Timestamp;
use crate::token_request::{Asked, ID_JAG};
use crate::tokens::{TokenType, Tokens};

/// Reads the answer to a request for tokens.
///
/// `received_at` is when the request was sent, because a token may end before a slow answer is here.
///
/// An answer to a refresh may leave out what is unchanged: [`Tokens::renewing`] adds it.
pub fn read(
    answer: &HttpAnswer,
    asked: Asked,
    received_at: Timestamp,
) -> Result<Tokens, TokenError> {
    if answer.is_transient() {
        return Err(refusal::transient(answer, "the token endpoint is in trouble"));
    }
    let Some(object) = fields::read(answer) else {
        // A page in front of the server, or a broken body: it says nothing about the grant.
        return Err(refusal::transient(answer, "the answer is neither JSON nor a form"));
    };
    if let Some(refusal) = refusal::read(&object, answer, asked) {
        return Err(refusal);
    }
    if !answer.status.is_success() {
        return Err(refusal::unnamed(answer, &object));
    }
    granted(&object, received_at).ok_or_else(|| TokenError::Refused {
        status: answer.status,
        code: None,
        words: "the answer holds no access token that can be sent".to_owned(),
    })
}

/// Reads the answer to the exchange of an identity token for an ID-JAG.
///
/// A token of another kind is not sent on: the receiver of an assertion could use an access token as its own.
pub fn read_id_jag(answer: &HttpAnswer, received_at: Timestamp) -> Result<Secret, TokenError> {
    let tokens = read(answer, Asked::TokenExchange, received_at)?;
    let object = fields::read(answer).unwrap_or_default();
    if json::text(&object, "issued_token_type") != Some(ID_JAG) {
        return Err(TokenError::Refused {
            status: answer.status,
            code: None,
            words: "the answer holds another kind of token than an ID-JAG".to_owned(),
        });
    }
    Ok(tokens.access)
}

/// Reads the answer to a revocation. 200 means done, whatever its body (RFC 7009, 2.2).
pub fn read_revocation(answer: &HttpAnswer) -> Result<(), TokenError> {
    if answer.is_transient() {
        return Err(refusal::transient(answer, "the revocation endpoint is in trouble"));
    }
    if answer.status.is_success() {
        return Ok(());
    }
    let object = fields::read(answer).unwrap_or_default();
    let refusal = refusal::read(&object, answer, Asked::Revocation);
    Err(refusal.unwrap_or_else(|| refusal::unnamed(answer, &object)))
}

/// Returns the tokens of an answer. Slack puts a person's tokens into a member of their own.
fn granted(object: &Object, received_at: Timestamp) -> Option<Tokens> {
    let person = object.get("authed_user").and_then(serde_json::Value::as_object);
    let object = match json::text(object, "access_token") {
        Some(_) => object,
        None => person?,
    };
    let secret = |name| json::text(object, name).filter(|it| it.len() <= LONGEST).map(Secret::new);
    let access = secret("access_token").filter(|it| is_sendable(it.expose()))?;
    let tokens = Tokens::new(access, received_at);
    Some(Tokens {
        refresh: secret("refresh_token"),
        id_token: secret("id_token"),
        scope: json::text(object, "scope").map(str::to_owned),
        token_type: token_type(object),
        expires_at: expiry::read(object, received_at).or(tokens.expires_at),
        ..tokens
    })
}

/// Returns the type of a token. An absent or unknown type means a bearer token.
fn token_type(object: &Object) -> TokenType {
    let is_dpop =
        json::text(object, "token_type").is_some_and(|name| name.eq_ignore_ascii_case("dpop"));
    if is_dpop { TokenType::Dpop } else { TokenType::Bearer }
}

fn is_sendable(token: &str) -> bool {
    token.bytes().all(|byte| byte.is_ascii_graphic())
}

/// Why there are no tokens.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TokenError {
    /// The person has not consented yet.
    #[error("the person has not consented yet")]
    AuthorizationPending,
    /// The server does not know the client, or its secret.
    #[error("the authorization server does not accept this client: {words}")]
    ClientDead {
        /// The server's words.
        words: String,
    },
    /// The code or refresh token has ended. Only a login helps.
    #[error("the grant has ended: {words}")]
    GrantDead {
        /// The server's words.
        words: String,
    },
    /// The server does not grant this scope.
    #[error("the scope was refused: {words}")]
    InvalidScope {
        /// The server's words.
        words: String,
    },
    /// The server does not know the resource, or wants none.
    #[error("the resource was refused: {words}")]
    InvalidTarget {
        /// The server's words.
        words: String,
    },
    /// The request was refused for another reason. The grant is unchanged.
    #[error("the token request was refused with {status}: {words}")]
    Refused {
        /// The status.
        status: StatusCode,
        /// The error code, if there is one.
        code: Option<String>,
        /// The server's words.
        words: String,
    },
    /// The server asks for longer intervals.
    #[error("the authorization server wants to be asked less often")]
    SlowDown,
    /// The server, or a proxy before it, is in trouble. The grant is unchanged.
    #[error("{words}; try again later")]
    Transient {
        /// When to try again, if the server says so.
        retry_after: Option<Duration>,
        /// What happened.
        words: String,
    },
    /// Send the request again with a proof that carries this nonce.
    #[error("the authorization server wants a DPoP proof with its nonce")]
    UseDpopNonce(String),
}

/// The most bytes of a token: no header carries more.
const LONGEST: usize = 64 * 1024;
