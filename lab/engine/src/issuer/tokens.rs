//! The token endpoint: codes and refresh tokens in exchange for tokens.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use tokio::time::Instant;

use super::vault::{ACCESS_TOKEN, AccessGrant, REFRESH_TOKEN, RefreshGrant, VaultState};
use super::{Issuer, IssuerReply, Rotation, TokenForm};

impl Issuer {
    /// Answers a token request.
    pub(super) fn tokens(&self, asked: &BTreeMap<String, String>, now: Instant) -> IssuerReply {
        let word = |name: &str| asked.get(name).map(String::as_str).unwrap_or_default();
        let client = word("client_id");
        if !self.vault.is_client(&self.origin, client, None) {
            return IssuerReply::error(401, "invalid_client");
        }
        match word("grant_type") {
            "authorization_code" => self.exchange(asked, now),
            "refresh_token" => self.refresh(word("refresh_token"), client, now),
            _ => IssuerReply::error(400, "unsupported_grant_type"),
        }
    }

    fn exchange(&self, asked: &BTreeMap<String, String>, now: Instant) -> IssuerReply {
        let word = |name: &str| asked.get(name).map(String::as_str).unwrap_or_default();
        let mut state = self.vault.state();
        // A code is valid once (RFC 6749 4.1.2).
        let Some(code) = state.codes.remove(word("code")) else {
            return IssuerReply::error(400, "invalid_grant");
        };
        let before = |name: &str| code.asked.get(name).map(String::as_str).unwrap_or_default();
        let is_same = |name: &str| before(name) == word(name);
        let is_own = code.issuer == self.origin && is_same("client_id") && is_same("redirect_uri");
        if !is_own || !verifies(word("code_verifier"), before("code_challenge")) {
            return IssuerReply::error(400, "invalid_grant");
        }
        let login = state.new_login();
        let scope = before("scope").to_owned();
        let grant = RefreshGrant {
            issuer: self.origin.clone(),
            client: word("client_id").to_owned(),
            login,
            scope,
            resource: code.asked.get("resource").cloned(),
            answer: None,
        };
        self.issue(&mut state, grant, now)
    }

    fn refresh(&self, token: &str, client: &str, now: Instant) -> IssuerReply {
        let mut state = self.vault.state();
        let Some(grant) = state.refresh.get(token).cloned() else {
            return IssuerReply::error(400, "invalid_grant");
        };
        let is_own = grant.issuer == self.origin && grant.client == client;
        if !is_own || state.ended.contains(&grant.login) {
            return IssuerReply::error(400, "invalid_grant");
        }
        match (&grant.answer, self.issues.rotation) {
            (Some(answer), Rotation::Grace) => {
                let answer = serde_json::from_str(answer).unwrap_or_default();
                IssuerReply::tokens(&answer)
            }
            (Some(_), Rotation::Strict) => {
                // A used refresh token means that there is a copy: the login is over for all holders (RFC
                // 9700 4.14.2).
                state.ended.insert(grant.login);
                IssuerReply::error(400, "invalid_grant")
            }
            (None, _) | (_, Rotation::None) => {
                let reply = self.issue(&mut state, RefreshGrant { answer: None, ..grant }, now);
                if let Some(used) = state.refresh.get_mut(token) {
                    used.answer = Some(reply.body.clone());
                }
                reply
            }
        }
    }

    /// Issues tokens for a login. The refresh token of a server that does not rotate is issued once.
    fn issue(&self, state: &mut VaultState, grant: RefreshGrant, now: Instant) -> IssuerReply {
        let RefreshGrant { login, scope, resource, .. } = grant.clone();
        let access = match self.issues.form {
            TokenForm::Opaque => state.secret(ACCESS_TOKEN, &self.origin),
            TokenForm::JwtOfYesterday => {
                let name = state.secret(ACCESS_TOKEN, &self.origin);
                state.keep(jwt_of_yesterday(&name), ACCESS_TOKEN, &self.origin)
            }
        };
        let ends = now + Duration::from_secs_f64(self.issues.access_lives);
        let of_scope = scope.clone();
        state.add_access(access.clone(), AccessGrant { ends, scope, resource });
        let mut answer = json!({
            "access_token": access,
            "token_type": "Bearer",
            "expires_in": self.issues.access_lives.round(),
            "scope": of_scope,
        });
        // An integer, which every client reads.
        answer["expires_in"] = (self.issues.access_lives.round() as u64).into();
        let is_first = !state.refresh.values().any(|it| it.login == login);
        if is_first || self.issues.rotation != Rotation::None {
            let refresh = state.secret(REFRESH_TOKEN, &self.origin);
            answer["refresh_token"] = refresh.clone().into();
            state.refresh.insert(refresh, grant);
        }
        IssuerReply::tokens(&answer)
    }
}

impl IssuerReply {
    fn tokens(answer: &Value) -> Self {
        let value = |name| (name, answer[name].as_str().unwrap_or_default().to_owned());
        let values = vec![value("access_token"), value("refresh_token")];
        Self { values, ..Self::json(200, answer) }
    }
}

/// Whether the verifier belongs to the challenge (RFC 7636 4.6, S256).
fn verifies(verifier: &str, challenge: &str) -> bool {
    !verifier.is_empty() && challenge_of(verifier) == challenge
}

/// Returns the challenge of a verifier (RFC 7636 4.2, S256).
pub(crate) fn challenge_of(verifier: &str) -> String {
    URL_SAFE_NO_PAD.encode(Sha256::digest(verifier))
}

/// Returns a JWT that ended yesterday by its own times.
fn jwt_of_yesterday(name: &str) -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    let part = |value: Value| URL_SAFE_NO_PAD.encode(value.to_string());
    let head = part(json!({"alg": "none", "typ": "at+jwt"}));
    let issued = now.saturating_sub(DAY);
    let body = part(json!({"jti": name, "iat": issued, "exp": issued + 3600}));
    format!("{head}.{body}.c2lnbmF0dXJl")
}

const DAY: u64 = 86_400;
