//! More scope, for the calls that were refused for lack of it. All other calls go on.
//!
//! ```text
//!   403 for scope ──▶ asked ──▶ brought: the calls that wait go out again
//!                       │
//!                       └─────▶ refused, or 30 s have passed: they end
//! ```
//!
//! A person may have to agree, which takes minutes. The token in force is good for everything else, and may be
//! renewed meanwhile: a renewed token has no more scope than before, so that it ends no wait of this module.

use super::{Link, NoCredentials};
use crate::exchange::{Ending, State, Then, Waiting};
use crate::head::Challenge;
use crate::ids::{CredentialsId, ExchangeId};
use crate::link::credentials::LIMIT;
use crate::link::timers::Timer;
use crate::moment::Moment;
use crate::outcome::{Kind, Reason};
use crate::output::Action;

/// Whether more scope is on its way.
#[derive(Debug, Default)]
pub(super) struct StepUp {
    /// Whether the hook has been asked and has not come back. It may be a person, who is not asked twice.
    is_asked: bool,
    /// The first credentials that have the scope that was brought last.
    brought: CredentialsId,
}

impl Link {
    /// Row 23: asks the hook for more scope, once for all refusals. A refusal of credentials that had less
    /// scope than those in force is ignored.
    pub(super) fn request_scope(
        &mut self,
        now: Moment,
        id: ExchangeId,
        rejected: CredentialsId,
        challenge: Challenge,
    ) {
        if rejected < self.step_up.brought {
            return self.let_out(now, id, Then::Send);
        }
        // The wait may be long, and other calls need the place.
        self.give_place_back(now, id);
        if self.cx.timers.get(Timer::Scope).is_none() {
            self.cx.timers.set(Timer::Scope, Some(now + LIMIT));
        }
        if !std::mem::replace(&mut self.step_up.is_asked, true) {
            self.cx.act(Action::RequestScope { challenge });
        }
    }

    /// Handles the hook's reply: credentials with more scope, or none.
    pub(super) fn scope_came(&mut self, now: Moment, brought: Result<(), NoCredentials>) {
        self.step_up.is_asked = false;
        match brought {
            Ok(()) => {
                self.cx.timers.set(Timer::Scope, None);
                self.step_up.brought = self.cx.credentials.next();
                self.put_credentials_in_force(now);
                for id in self.scope_waiters() {
                    self.let_out_if(now, id, Then::Send, |it| matches!(it, Waiting::Scope));
                }
            }
            Err(none) => self.scope_failed(now, &none),
        }
    }

    /// Ends the calls that wait for more scope, because the hook has none or took too long.
    pub(super) fn scope_failed(&mut self, now: Moment, none: &NoCredentials) {
        self.cx.timers.set(Timer::Scope, None);
        let waiters = self.scope_waiters();
        if waiters.is_empty() {
            return;
        }
        self.tell_credentials_failed(none);
        let reason = Reason::Credentials(none.to_string().into());
        for id in waiters {
            self.end(now, id, Ending::new(Kind::Unauthorized, reason.clone()));
        }
    }

    fn scope_waiters(&self) -> Vec<ExchangeId> {
        let waits = |state: &State| matches!(state, State::Waiting(Waiting::Scope));
        self.calls.iter().filter(|it| waits(&it.state)).map(|it| it.id).collect()
    }
}
