//! An authorization server that replaces each refresh token, and records which process sent which.
//!
//! It has no I/O and no clock: the server around it passes in the process and the time.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde_json::{Value, json};

use crate::process::ProcessNumber;

/// What becomes of a refresh token that is sent a second time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Replay {
    /// It is forgiven for a while: the answer may have been lost.
    Forgiven,
    /// It ends the login: the holder of its successors may be a thief.
    EndsLogin,
}

/// One use of a refresh token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Sent {
    pub(crate) token: String,
    pub(crate) by: ProcessNumber,
    /// The time of the use, since the start of the run.
    pub(crate) at: Duration,
    pub(crate) reply: Reply,
}

/// The answer to a refresh.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reply {
    Granted,
    /// The token was used before, or its login has ended.
    InvalidGrant,
}

/// The state of the server.
pub(crate) struct Authorization {
    replay: Replay,
    token_life: Duration,
    last_name: u64,
    codes: BTreeSet<String>,
    /// Access tokens, and when each ends.
    access: BTreeMap<String, Duration>,
    refresh: BTreeMap<String, RefreshToken>,
    pub(crate) logins: u64,
    /// How many logins a second use of a refresh token has ended.
    pub(crate) ended: u64,
    pub(crate) sent: Vec<Sent>,
}

#[derive(Clone, Copy)]
enum RefreshToken {
    /// Its login has ended.
    Dead,
    Good,
    /// It was first used at this time.
    Used(Duration),
}

impl Authorization {
    pub(crate) const fn new(replay: Replay, token_life: Duration) -> Self {
        Self {
            replay,
            token_life,
            last_name: 0,
            codes: BTreeSet::new(),
            access: BTreeMap::new(),
            refresh: BTreeMap::new(),
            logins: 0,
            ended: 0,
            sent: Vec::new(),
        }
    }

    /// Returns a code for a person who consents.
    pub(crate) fn consent(&mut self) -> String {
        let code = self.name("code");
        self.codes.insert(code.clone());
        code
    }

    /// Exchanges a code, which makes one login.
    pub(crate) fn exchange(&mut self, code: &str, now: Duration) -> Option<Value> {
        let is_good = self.codes.remove(code);
        self.logins += u64::from(is_good);
        is_good.then(|| self.grant(now))
    }

    /// Renews tokens, and records the process that asked.
    pub(crate) fn renew(&mut self, token: &str, by: ProcessNumber, now: Duration) -> Option<Value> {
        let found = self.refresh.get(token).copied().unwrap_or(RefreshToken::Dead);
        let is_granted = match (found, self.replay) {
            (RefreshToken::Good, _) => true,
            (RefreshToken::Used(at), Replay::Forgiven) => now.saturating_sub(at) < GRACE,
            (RefreshToken::Used(_), Replay::EndsLogin) | (RefreshToken::Dead, _) => false,
        };
        let reply = if is_granted { Reply::Granted } else { Reply::InvalidGrant };
        self.sent.push(Sent { token: token.to_owned(), by, at: now, reply });
        if !is_granted {
            if matches!(found, RefreshToken::Used(_)) {
                self.end_login();
            }
            return None;
        }
        if matches!(found, RefreshToken::Good) {
            self.refresh.insert(token.to_owned(), RefreshToken::Used(now));
        }
        Some(self.grant(now))
    }

    pub(crate) fn is_good(&self, access: &str, now: Duration) -> bool {
        self.access.get(access).is_some_and(|end| now < *end)
    }

    /// Ends every token, as an owner who revokes an account does.
    fn end_login(&mut self) {
        self.ended += 1;
        self.access.clear();
        for token in self.refresh.values_mut() {
            *token = RefreshToken::Dead;
        }
    }

    fn grant(&mut self, now: Duration) -> Value {
        let (access, refresh) = (self.name("access"), self.name("refresh"));
        self.access.retain(|_, end| now < *end);
        self.access.insert(access.clone(), now + self.token_life);
        self.refresh.insert(refresh.clone(), RefreshToken::Good);
        json!({
            "access_token": access, "refresh_token": refresh, "token_type": "Bearer",
            "expires_in": self.token_life.as_secs(),
        })
    }

    fn name(&mut self, kind: &str) -> String {
        self.last_name += 1;
        format!("{kind}-{}", self.last_name)
    }
}

/// How long after its first use a refresh token may be used again: one hosted server has half an hour, and a
/// run is shorter.
const GRACE: Duration = Duration::from_secs(30 * 60);

#[cfg(test)]
mod tests {
    use super::*;

    const ANYBODY: ProcessNumber = ProcessNumber::new(1);

    #[test]
    fn a_second_use_ends_the_login_and_all_its_tokens() {
        let mut server = Authorization::new(Replay::EndsLogin, Duration::from_secs(2));
        let first = logged_in(&mut server);
        let renewed = server.renew(&first, ANYBODY, NOW).unwrap();

        let replayed = server.renew(&first, ANYBODY, NOW);

        assert!(replayed.is_none());
        assert!(server.renew(word(&renewed, "refresh_token"), ANYBODY, NOW).is_none());
        assert!(!server.is_good(word(&renewed, "access_token"), NOW));
        assert_eq!((server.ended, server.sent.len()), (1, 3));
    }

    #[test]
    fn a_second_use_is_forgiven_for_a_while() {
        let mut server = Authorization::new(Replay::Forgiven, Duration::from_secs(2));
        let first = logged_in(&mut server);
        server.renew(&first, ANYBODY, NOW).unwrap();

        assert!(server.renew(&first, ANYBODY, NOW + GRACE / 2).is_some());
        assert!(server.renew(&first, ANYBODY, NOW + GRACE).is_none());
    }

    #[test]
    fn an_access_token_ends_and_a_code_is_good_once() {
        let mut server = Authorization::new(Replay::EndsLogin, Duration::from_secs(2));
        let code = server.consent();
        let granted = server.exchange(&code, NOW).unwrap();
        let access = word(&granted, "access_token");

        assert!(server.is_good(access, NOW + Duration::from_millis(1999)));
        assert!(!server.is_good(access, NOW + Duration::from_secs(2)));
        assert!(server.exchange(&code, NOW).is_none());
        assert_eq!(server.logins, 1);
    }

    fn logged_in(server: &mut Authorization) -> String {
        let code = server.consent();
        let granted = server.exchange(&code, NOW).unwrap();
        word(&granted, "refresh_token").to_owned()
    }

    fn word<'a>(granted: &'a Value, member: &str) -> &'a str {
        granted[member].as_str().unwrap()
    }

    const NOW: Duration = Duration::from_secs(60);
}
