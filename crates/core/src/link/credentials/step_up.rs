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

use super::{Credentials, LIMIT, NoCredentials};
use crate::exchange::{Awaited, Ending};
use crate::head::Challenge;
use crate::ids::CredentialsId;
use crate::link::context::Context;
use crate::link::effects::CallEffect;
use crate::link::timers::Timer;
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

impl Credentials {
    /// Whether those in force have more scope than the credentials that were refused for theirs.
    pub(crate) fn has_more_scope_than(&self, rejected: CredentialsId) -> bool {
        rejected < self.step_up.brought
    }

    /// Row 23: asks the hook for more scope, once for all refusals.
    pub(crate) fn request_scope(&mut self, cx: &mut Context, challenge: Challenge) {
        if cx.timers.get(Timer::Scope).is_none() {
            cx.timers.set(Timer::Scope, Some(cx.now + LIMIT));
        }
        if !std::mem::replace(&mut self.step_up.is_asked, true) {
            cx.act(Action::RequestScope { challenge });
        }
    }

    /// Handles the hook's reply: credentials with more scope, or none. `is_awaited` says whether a call waits
    /// for them.
    pub(crate) fn scope_came(
        &mut self,
        cx: &mut Context,
        brought: Result<(), NoCredentials>,
        is_awaited: bool,
    ) {
        self.step_up.is_asked = false;
        match brought {
            Ok(()) => {
                cx.timers.set(Timer::Scope, None);
                self.step_up.brought = cx.credentials.next();
                self.put_in_force(cx);
                cx.then(CallEffect::LetOutAll(Awaited::Scope));
            }
            Err(none) => scope_failed(cx, &none, is_awaited),
        }
    }
}

/// Ends the calls that wait for more scope, because the hook has none or took too long.
pub(crate) fn scope_failed(cx: &mut Context, none: &NoCredentials, is_awaited: bool) {
    cx.timers.set(Timer::Scope, None);
    if is_awaited {
        none.tell(cx);
        let ending = Ending::new(Kind::Unauthorized, Reason::Credentials(none.clone()));
        cx.then(CallEffect::EndAll(Awaited::Scope, ending));
    }
}
