//! The errors of an answer, by all the names that servers have for them.

use serde_json::Value;

use super::TokenError;
use crate::http_answer::HttpAnswer;
use crate::json::{self, Object};
use crate::token_request::Asked;
use crate::words;

/// Returns the error that an answer names, under any status.
pub(super) fn read(object: &Object, answer: &HttpAnswer, asked: Asked) -> Option<TokenError> {
    let code = code(object)?;
    let said = said(object).unwrap_or_else(|| words::shown(code));
    Some(match code {
        "authorization_pending" => TokenError::AuthorizationPending,
        "slow_down" => TokenError::SlowDown,
        "invalid_scope" => TokenError::InvalidScope { words: said },
        "invalid_target" => TokenError::InvalidTarget { words: said },
        "temporarily_unavailable" | "server_error" => transient(answer, &said),
        code if is_dead_grant(code) || is_dead_refresh_token(code, &said, asked) => {
            TokenError::GrantDead { words: said }
        }
        code if DEAD_CLIENT.contains(&code) => TokenError::ClientDead { words: said },
        "use_dpop_nonce" if answer.dpop_nonce.is_some() => {
            TokenError::UseDpopNonce(answer.dpop_nonce.clone().unwrap_or_default())
        }
        code => TokenError::Refused {
            status: answer.status,
            code: Some(words::shown(code)),
            words: said,
        },
    })
}

/// Returns the error of a refusal without a code.
pub(super) fn unnamed(answer: &HttpAnswer, object: &Object) -> TokenError {
    let words = said(object).unwrap_or_else(|| "it gives no reason".to_owned());
    TokenError::Refused { status: answer.status, code: None, words }
}

/// Returns the error that the server, or a proxy before it, is in trouble.
pub(super) fn transient(answer: &HttpAnswer, words: &str) -> TokenError {
    let words = format!("{words} ({})", answer.status);
    TokenError::Transient { retry_after: answer.retry_after, words }
}

/// Returns the error code: `error` as a text or an object, `error_code` (Supabase), or `ok: false` (Slack).
fn code(object: &Object) -> Option<&str> {
    let nested = || {
        let error = object.get("error")?.as_object()?;
        ["code", "type", "message"].iter().find_map(|name| json::text(error, name))
    };
    let is_not_ok = object.get("ok") == Some(&Value::Bool(false));
    let has_error = object.get("error").is_some_and(|error| match error {
        Value::Null | Value::Bool(false) => false,
        Value::String(text) => !text.is_empty(),
        _ => true,
    });
    json::text(object, "error_code")
        .or_else(|| json::text(object, "error"))
        .or_else(nested)
        .or_else(|| (is_not_ok || has_error).then_some("unnamed_error"))
}

/// Returns the words of an answer for people.
fn said(object: &Object) -> Option<String> {
    let nested = || json::text(object.get("error")?.as_object()?, "message");
    ["error_description", "error_message", "message", "msg"]
        .iter()
        .find_map(|name| json::text(object, name))
        .or_else(nested)
        .map(words::shown)
}

fn is_dead_grant(code: &str) -> bool {
    DEAD_GRANT.contains(&code)
}

/// Whether the refresh token has ended. Atlassian names the client when it means the refresh token.
fn is_dead_refresh_token(code: &str, said: &str, asked: Asked) -> bool {
    asked == Asked::RefreshToken
        && code == "unauthorized_client"
        && said.to_ascii_lowercase().contains("refresh_token is invalid")
}

/// The codes for a dead grant: RFC 6749; then GitHub's two, Supabase's two and Slack's.
const DEAD_GRANT: [&str; 6] = [
    "invalid_grant",
    "bad_refresh_token",
    "bad_verification_code",
    "refresh_token_not_found",
    "refresh_token_already_used",
    "invalid_refresh_token",
];

/// The codes for a dead client: RFC 6749; then GitHub's and Slack's.
const DEAD_CLIENT: [&str; 5] = [
    "invalid_client",
    "unauthorized_client",
    "incorrect_client_credentials",
    "invalid_client_id",
    "bad_client_secret",
];
