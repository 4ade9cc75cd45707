//! News from outside: answers of the store and the token endpoint, refusals of a server.

use std::time::Duration;

use super::{
    AccessRefusal, Effect, Grant, Held, LoginReason, RefreshOutcome, RepeatScope, Then, Work,
};
use crate::scope::ScopeSet;
use crate::secret::Secret;
use crate::timestamp::Timestamp;
use crate::token_answer::TokenError;
use crate::tokens::Tokens;

impl Grant {
    /// Handles that the server did not accept this access token. `None` if nothing follows from that.
    pub fn token_refused(
        &mut self,
        now: Timestamp,
        token: &Secret,
        refusal: AccessRefusal,
    ) -> Option<Effect> {
        let Some(held) = self.held.as_mut().filter(|held| held.tokens.access == *token) else {
            // An older token: there are newer ones, or none.
            return (refusal == AccessRefusal::Token).then(|| self.decide(now));
        };
        if refusal == AccessRefusal::OtherClientError && held.is_live(now) {
            return None;
        }
        // The refusal of a token that has ended is expected, and does not count.
        if !held.is_refused && held.is_live(now) {
            let is_too_often = self.refused.count(now);
            if !is_too_often && !held.is_fresh(now) {
                self.refused.forgive();
            } else if held.stopped.is_none() {
                held.stopped = Some(LoginReason::FreshTokenRefused);
                self.refused.pause(now);
            }
        }
        held.is_refused = true;
        Some(self.decide(now))
    }

    /// Handles the tokens in the store. `None` if the store was not asked, or the answer is late.
    pub fn handle_store(
        &mut self,
        now: Timestamp,
        id: u64,
        stored: Option<Tokens>,
    ) -> Option<Effect> {
        let Work::AskingStore { id: asked, then } = &self.work else { return None };
        if *asked != id {
            return None;
        }
        let then = then.clone();
        self.work = Work::Idle;
        let is_adopted = stored.is_some_and(|stored| self.adopt(stored));
        let usable = self.held.as_ref().filter(|held| held.is_usable(now));
        let is_end_unknown = usable.is_some_and(|held| held.tokens.is_end_unknown(now));
        Some(match (is_adopted, then, usable) {
            // A call whose token was refused outlives no second one, and the lock is ours.
            (true, Then::Refresh, Some(_)) if is_end_unknown => self.refresh(now),
            (true, _, Some(held)) => Effect::UseToken(held.tokens.access.clone()),
            // Expired, but newer: its refresh token is the one to send. The lock may not be ours yet.
            (true, Then::Login(_), None) => self.decide(now),
            (_, Then::Refresh, _) => self.refresh(now),
            (false, Then::Login(why), _) => Effect::LoginNeeded(why),
        })
    }

    /// Stops using this refresh token: another process has found that it ended.
    pub fn refresh_token_ended(&mut self, token: &Secret, why: LoginReason) {
        let held = self.held.as_mut().filter(|held| held.tokens.refresh.as_ref() == Some(token));
        if let Some(held) = held {
            held.stopped.get_or_insert(why);
        }
    }

    /// Handles that the store could not be read, or not be locked: nothing is sent.
    pub fn handle_store_failure(&mut self, now: Timestamp, id: u64) -> Option<Effect> {
        let Work::AskingStore { id: asked, then } = &self.work else { return None };
        if *asked != id {
            return None;
        }
        let then = then.clone();
        self.work = Work::Idle;
        Some(match then {
            Then::Login(why) => Effect::LoginNeeded(why),
            Then::Refresh => self.wait_and_decide(now, None),
        })
    }

    /// Adopts other tokens in the store: another process has renewed them, or a person has logged in there.
    /// Returns whether they are taken: not while work is under way, which reads the store itself.
    pub fn adopt_stored(&mut self, stored: Tokens, requested: ScopeSet) -> bool {
        let is_adopted = !self.is_busy() && self.adopt(stored);
        if is_adopted {
            self.requested = requested;
        }
        is_adopted
    }

    /// Notes that the server accepts an access token that it refused: its refusals were a fault that has
    /// passed.
    pub fn token_accepted(&mut self) {
        let Some(held) = &mut self.held else { return };
        held.is_refused = false;
        held.stopped.take_if(|why| *why == LoginReason::FreshTokenRefused);
        self.refused.forgive();
    }

    /// Handles the outcome of a refresh. `None` if that refresh is not under way any more.
    pub fn handle_refresh(
        &mut self,
        now: Timestamp,
        id: u64,
        outcome: RefreshOutcome,
    ) -> Option<Effect> {
        let Work::Refreshing { id: asked, scope } = &self.work else { return None };
        if *asked != id {
            return None;
        }
        let had_scope = scope.is_some();
        self.work = Work::Idle;
        Some(match outcome {
            RefreshOutcome::Answered(Ok(tokens)) => self.renewed(tokens),
            RefreshOutcome::Answered(Err(error)) => self.refresh_failed(now, error, had_scope),
            RefreshOutcome::Impossible(words) => self.stop(now, LoginReason::NotRenewable(words)),
            RefreshOutcome::Lost => self.at_once_or_later(now),
            RefreshOutcome::Useless { refresh, words } => {
                if let (Some(held), Some(refresh)) = (&mut self.held, refresh) {
                    held.tokens.refresh = Some(refresh);
                }
                self.stop(now, LoginReason::NotRenewable(words))
            }
        })
    }

    fn renewed(&mut self, tokens: Tokens) -> Effect {
        let tokens = match &self.held {
            Some(held) => tokens.renewing(&held.tokens),
            None => tokens,
        };
        self.held = Some(Held::new(tokens.clone()));
        Effect::StoreAndUse(tokens)
    }

    fn refresh_failed(&mut self, now: Timestamp, error: TokenError, had_scope: bool) -> Effect {
        match error {
            TokenError::GrantDead { words } => self.stop(now, LoginReason::GrantDead(words)),
            TokenError::ClientDead { words } => self.stop(now, LoginReason::ClientDead(words)),
            TokenError::InvalidScope { .. } if had_scope => {
                // The server refuses the scope that it granted itself; without it, the refresh may succeed.
                self.repeat_scope = RepeatScope::No;
                self.refresh(now)
            }
            TokenError::InvalidScope { words } => self.refresh_refused(now, "invalid_scope", words),
            TokenError::InvalidTarget { words } => {
                self.refresh_refused(now, "invalid_target", words)
            }
            TokenError::Refused { code, words, .. } => {
                self.refresh_refused(now, code.as_deref().unwrap_or_default(), words)
            }
            TokenError::Transient { retry_after, .. } => self.wait_and_decide(now, retry_after),
            // The request was refused for its form; the next one has the nonce.
            TokenError::UseDpopNonce(_) => self.at_once_or_later(now),
            // These are never answers to a refresh.
            TokenError::AuthorizationPending | TokenError::SlowDown => {
                self.wait_and_decide(now, None)
            }
        }
    }

    /// Handles a refused refresh. One refusal may be a mistake of the server; three equal ones are final. The
    /// refresh token is kept, because it may still be good.
    fn refresh_refused(&mut self, now: Timestamp, code: &str, words: String) -> Effect {
        let is_enough =
            self.held.as_mut().is_some_and(|held| held.backoff.count_refusal(now, code));
        if is_enough {
            return self.stop(now, LoginReason::RefreshRefused(words));
        }
        self.wait_and_decide(now, None)
    }

    fn stop(&mut self, now: Timestamp, why: LoginReason) -> Effect {
        if let Some(held) = &mut self.held {
            held.stopped = Some(why);
        }
        self.decide(now)
    }

    /// Repeats the refresh: at once the first time, and after a wait from then on. Servers that replace
    /// refresh tokens accept the old one for a short time only, and a wait may outlast it, so that the first
    /// repetition does not wait.
    fn at_once_or_later(&mut self, now: Timestamp) -> Effect {
        let is_first = self.held.as_mut().is_some_and(|held| held.backoff.take_repetition());
        if is_first { self.refresh(now) } else { self.wait_and_decide(now, None) }
    }

    fn wait_and_decide(&mut self, now: Timestamp, retry_after: Option<Duration>) -> Effect {
        if let Some(held) = &mut self.held {
            held.backoff.wait(now, retry_after);
        }
        self.decide(now)
    }

    /// Takes tokens that another process has stored since the store was last read. Ours may be newer than
    /// those in the store, if they could not be stored. Times do not tell which is which: the clock may have
    /// been set back in between.
    fn adopt(&mut self, stored: Tokens) -> bool {
        let is_other = |known: &Tokens| {
            let has_refresh = stored.refresh.is_some();
            known.access != stored.access || (has_refresh && known.refresh != stored.refresh)
        };
        let is_newer = self.held.as_ref().is_none_or(|held| is_other(&held.tokens))
            && (self.held.is_none() || self.seen.as_ref().is_none_or(is_other));
        self.seen = Some(stored.clone());
        if is_newer {
            let old = self.held.replace(Held::new(stored));
            if let (Some(old), Some(new)) = (old, &mut self.held) {
                new.keep_experience_of(old);
            }
        }
        is_newer
    }
}

impl Held {
    /// Keeps what is known about a refresh token that both sets have: what the server said about it still
    /// holds. A refresh token beside an access token that could not be renewed is no better than the last.
    fn keep_experience_of(&mut self, old: Self) {
        if let Some(why @ LoginReason::NotRenewable(_)) = &old.stopped
            && self.tokens.access == old.tokens.access
        {
            self.stopped = Some(why.clone());
        }
        if self.tokens.refresh != old.tokens.refresh {
            return;
        }
        self.backoff = old.backoff;
        self.stopped = old.stopped.filter(|why| *why != LoginReason::FreshTokenRefused);
    }
}
