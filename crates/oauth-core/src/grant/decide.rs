//! Decides what to do next, from what is held and the time.

use std::time::Duration;

use super::backoff::Backoff;
use super::{Effect, Grant, Held, LoginReason, RepeatScope, StoreUse, Then, Work};
use crate::timestamp::Timestamp;
use crate::tokens::Tokens;

impl Held {
    pub(super) fn new(tokens: Tokens) -> Self {
        Self { tokens, is_refused: false, stopped: None, backoff: Backoff::default() }
    }

    /// Whether requests may be sent with the access token.
    pub(super) fn is_usable(&self, now: Timestamp) -> bool {
        !self.is_refused && self.is_live(now)
    }

    pub(super) fn is_live(&self, now: Timestamp) -> bool {
        self.end().is_none_or(|end| now < end)
    }

    pub(super) fn is_due(&self, now: Timestamp) -> bool {
        let due = if self.has_no_life() { self.end() } else { self.tokens.due_at() };
        due.is_some_and(|due| due <= now) || self.tokens.is_end_unknown(now)
    }

    /// Whether the access token came a moment ago, in relation to its life.
    pub(super) fn is_fresh(&self, now: Timestamp) -> bool {
        let received_at = self.tokens.received_at;
        let half = self.end().map_or(FRESH, |end| end.since(received_at) / 2);
        received_at <= now && now.since(received_at) < half.min(FRESH)
    }

    /// Returns when the access token ends. A token without a life is still used for a while: a server that
    /// grants such tokens would otherwise be asked for one with every request.
    fn end(&self) -> Option<Timestamp> {
        let end = self.tokens.expires_at?;
        Some(if self.has_no_life() { self.tokens.received_at + LEAST_LIFE } else { end })
    }

    fn has_no_life(&self) -> bool {
        let life = self.tokens.expires_at.map(|end| end.since(self.tokens.received_at));
        life.is_some_and(|life| life < NO_LIFE)
    }

    /// Returns why a person is needed, if a refresh cannot help.
    fn needs_person(&self) -> Option<LoginReason> {
        let is_over = self.tokens.refresh.is_none().then_some(LoginReason::Expired);
        self.stopped.clone().or(is_over)
    }
}

impl Grant {
    pub(super) fn decide(&mut self, now: Timestamp) -> Effect {
        self.resume(now);
        let Some(held) = &self.held else {
            return self.when_idle(|grant| grant.ask_store(Then::Login(LoginReason::NoGrant)));
        };
        let usable = held.is_usable(now).then(|| held.tokens.access.clone());
        let waits_until = held.backoff.until(now);
        let is_in_need = usable.is_none() || held.is_due(now);
        match (usable, held.needs_person(), waits_until) {
            (Some(token), ..) if !is_in_need || self.is_busy() => Effect::UseToken(token),
            (Some(token), Some(_), _) | (Some(token), _, Some(_)) => Effect::UseToken(token),
            (None, Some(why), _) => self.when_idle(|grant| grant.ask_store(Then::Login(why))),
            (None, None, Some(until)) => self.when_idle(|_| Effect::WaitUntil(until)),
            (_, None, None) => self.when_idle(|grant| grant.ask_store(Then::Refresh)),
        }
    }

    /// Tries a server that refused new tokens again, after a pause: a person could do no more about it.
    fn resume(&mut self, now: Timestamp) {
        if let Some(held) = &mut self.held
            && held.stopped == Some(LoginReason::FreshTokenRefused)
            && self.refused.is_pause_over(now)
        {
            held.stopped = None;
        }
    }

    pub(super) fn ask_store(&mut self, then: Then) -> Effect {
        let purpose = match then {
            Then::Login(_) => StoreUse::Login,
            Then::Refresh => StoreUse::Refresh,
        };
        let id = self.next_id();
        self.work = Work::AskingStore { id, then };
        Effect::AskStore { id, purpose }
    }

    /// Sends the refresh token that is held, if there is one that may be sent.
    pub(super) fn refresh(&mut self, now: Timestamp) -> Effect {
        let held = self.held.as_ref().filter(|held| held.stopped.is_none());
        let Some(refresh_token) = held.and_then(|held| held.tokens.refresh.clone()) else {
            return self.decide(now);
        };
        let granted = self.tokens().and_then(|tokens| tokens.scope.clone());
        let scope = granted.filter(|_| self.repeat_scope == RepeatScope::Yes);
        let id = self.next_id();
        self.work = Work::Refreshing { id, scope: scope.clone() };
        Effect::RefreshWith { id, refresh_token, scope }
    }

    fn when_idle(&mut self, act: impl FnOnce(&mut Self) -> Effect) -> Effect {
        if self.is_busy() { Effect::Wait } else { act(self) }
    }

    const fn next_id(&mut self) -> u64 {
        self.last_id += 1;
        self.last_id
    }
}

/// How long a token counts as new: if it is refused so soon, the next one would be refused as well.
const FRESH: Duration = Duration::from_secs(60);
/// The shortest life that counts: `expires_in` of 0 or 1 is a mistake.
const NO_LIFE: Duration = Duration::from_secs(2);
const LEAST_LIFE: Duration = Duration::from_secs(30);
