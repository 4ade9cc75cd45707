//! Tokens with the time at which they came, and the time at which they end.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::jwt;
use crate::secret::{self, Secret};
use crate::timestamp::Timestamp;

/// The tokens that a token endpoint granted.
///
/// Its serialised form, which is stored, has the secrets in the clear.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Tokens {
    /// The access token, which requests are sent with.
    #[serde(with = "secret::stored")]
    pub access: Secret,
    /// The refresh token, which gets new tokens.
    #[serde(default, with = "secret::stored_option", skip_serializing_if = "Option::is_none")]
    pub refresh: Option<Secret>,
    /// The identity token, for servers that want it in place of the access token.
    #[serde(default, with = "secret::stored_option", skip_serializing_if = "Option::is_none")]
    pub id_token: Option<Secret>,
    /// The scope that was granted, as the server says it. It is not compared with the requested scope:
    /// servers leave out scopes that they did grant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<String>,
    /// How the access token is sent.
    #[serde(default)]
    pub token_type: TokenType,
    /// When the answer came, or the request was sent: the token's life is counted from there.
    pub received_at: Timestamp,
    /// When the access token ends; `None` means unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
}

/// How an access token is sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TokenType {
    /// `Authorization: Bearer`.
    #[default]
    Bearer,
    /// `Authorization: DPoP`, with a proof for each request.
    Dpop,
}

impl Tokens {
    /// Creates tokens with an access token that came at this time. If it is a JWT, it ends when it says so
    /// itself.
    pub fn new(access: Secret, received_at: Timestamp) -> Self {
        Self {
            // With a clock that is off by a day each new token would be expired, so such a hint is ignored.
            expires_at: jwt::expiry_hint(&access).filter(|end| *end > received_at),
            access,
            refresh: None,
            id_token: None,
            scope: None,
            token_type: TokenType::Bearer,
            received_at,
        }
    }

    /// Whether the access token has not ended, as far as is known.
    pub fn is_live(&self, now: Timestamp) -> bool {
        self.expires_at.is_none_or(|end| now < end)
    }

    /// Returns when to renew: a fifth of the token's life before its end, and at most a minute.
    ///
    /// A fixed minute would renew a token of one minute with every request.
    pub fn due_at(&self) -> Option<Timestamp> {
        let end = self.expires_at?;
        let life = end.since(self.received_at);
        Some(end.minus((life / 5).min(LONGEST_MARGIN)))
    }

    /// Whether the clock was set back since they came, by more than the time that a renewal has: it does not
    /// tell any more when they end.
    pub fn is_end_unknown(&self, now: Timestamp) -> bool {
        let margin = |due| self.expires_at.unwrap_or_default().since(due);
        self.due_at().is_some_and(|due| self.received_at.since(now) > margin(due))
    }

    /// These tokens, with what an answer may leave out of the tokens that it renews.
    #[must_use]
    pub fn renewing(mut self, old: &Self) -> Self {
        self.refresh = self.refresh.or_else(|| old.refresh.clone());
        self.id_token = self.id_token.or_else(|| old.id_token.clone());
        self.scope = self.scope.or_else(|| old.scope.clone());
        self
    }

    /// Returns these tokens with the identity token as the access token, until the identity token ends;
    /// `None` if there is none.
    pub fn with_id_token_as_access(mut self) -> Option<Self> {
        self.access = self.id_token.clone()?;
        // An identity token is not bound to a key.
        self.token_type = TokenType::Bearer;
        self.expires_at = jwt::expiry_hint(&self.access).filter(|end| *end > self.received_at);
        Some(self)
    }
}

const LONGEST_MARGIN: Duration = Duration::from_secs(60);

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp::from_unix_secs(1_000_000);

    fn living(secs: u64) -> Tokens {
        let expires_at = Some(NOW + Duration::from_secs(secs));
        Tokens { expires_at, ..Tokens::new(Secret::new("a"), NOW) }
    }

    #[test]
    fn tokens_are_due_a_minute_or_a_fifth_of_their_life_before_the_end() {
        let due = |secs| living(secs).due_at().unwrap().since(NOW).as_secs();

        assert_eq!(due(3600), 3540);
        assert_eq!(due(60), 48);
        assert_eq!(due(0), 0);
        assert_eq!(Tokens::new(Secret::new("opaque"), NOW).due_at(), None);
    }

    #[test]
    fn by_a_clock_that_was_set_back_an_end_is_unknown() {
        let is_unknown =
            |secs: u64| living(3600).is_end_unknown(NOW.minus(Duration::from_secs(secs)));

        assert!(!is_unknown(0) && !is_unknown(60));
        assert!(is_unknown(61) && is_unknown(86_400));
        assert!(!living(3600).is_end_unknown(NOW + Duration::from_secs(86_400)));
        assert!(!Tokens::new(Secret::new("opaque"), NOW).is_end_unknown(Timestamp::default()));
    }

    #[test]
    fn an_answer_that_leaves_something_out_keeps_the_old() {
        let old = Tokens {
            refresh: Some(Secret::new("r1")),
            scope: Some("a".into()),
            id_token: Some(Secret::new("i")),
            ..living(1)
        };

        assert_eq!(living(5).renewing(&old).refresh, old.refresh);
        assert_eq!(living(5).renewing(&old).scope, old.scope);
        let rotated = Tokens { refresh: Some(Secret::new("r2")), ..living(5) };
        assert_eq!(rotated.renewing(&old).refresh, Some(Secret::new("r2")));
    }
}
