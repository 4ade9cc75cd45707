//! Credentials: renewed once for all calls whose token was refused.
//!
//! ```text
//!   step_up   more scope, for the calls that were refused for lack of it
//! ```

mod step_up;

pub(crate) use step_up::scope_failed;

use std::time::Duration;

use crate::event::Event;
use crate::exchange::{Awaited, Ending};
use crate::head::Challenge;
use crate::ids::CredentialsId;
pub use crate::outcome::NoCredentials;
use crate::outcome::{Kind, Reason};
use crate::output::Action;

use super::context::Context;
use super::effects::{CallEffect, HealthEffect, ListeningEffect, OutboundEffect, SessionEffect};
use super::timers::Timer;
use step_up::StepUp;

/// Whether the credentials in force are good, and whether better ones are on their way.
#[derive(Debug, Default)]
pub(crate) struct Credentials {
    /// What the hook was asked for, until it comes back. It may be a person logging in, who is not asked twice.
    asked: Option<TokenQuestion>,
    /// Whether calls wait for the hook.
    is_renewing: bool,
    /// Whether only the standing stream was refused, or one call, without a challenge. Other calls are the better
    /// witnesses of whether credentials are good.
    is_in_doubt: bool,
    /// Whether there is a hook that has not returned anything yet.
    is_missing: bool,
    /// Whether more scope is on its way.
    step_up: StepUp,
}

/// A question to the hook for better credentials.
#[derive(Clone, Copy, Debug)]
struct TokenQuestion {
    /// Those that were refused.
    rejected: CredentialsId,
    /// Whether the hook was told that they may be good.
    is_suspicion: bool,
}

impl Credentials {
    /// Whether calls wait for the hook.
    pub(crate) const fn is_renewing(&self) -> bool {
        self.is_renewing
    }

    /// Makes the link ask its hook before it sends anything.
    pub(crate) const fn await_first(&mut self) {
        self.is_missing = true;
    }

    /// Whether requests must wait for the hook, which is asked if it has not been.
    pub(crate) fn must_await(&mut self, cx: &mut Context) -> bool {
        if self.is_missing {
            self.renew(cx, cx.credentials, None);
        }
        self.is_renewing
    }

    /// Row 22: asks the hook for better credentials, once for all refusals. A refusal of credentials that
    /// were replaced meanwhile is ignored.
    pub(crate) fn renew(
        &mut self,
        cx: &mut Context,
        rejected: CredentialsId,
        challenge: Option<Challenge>,
    ) {
        self.is_in_doubt = false;
        self.begin(cx, rejected, challenge, false);
    }

    /// Asks the hook for better credentials than those that the standing stream, or one call alone, was refused
    /// with. Without a challenge, nothing but this one refusal says that they are bad, and the hook is told so.
    pub(crate) fn renew_on_suspicion(
        &mut self,
        cx: &mut Context,
        rejected: CredentialsId,
        challenge: Option<Challenge>,
    ) {
        let is_only_witness = self.is_in_doubt || !self.is_renewing;
        let is_suspicion = challenge.is_none();
        self.begin(cx, rejected, challenge, is_suspicion);
        self.is_in_doubt = is_only_witness && self.is_renewing;
    }

    fn begin(
        &mut self,
        cx: &mut Context,
        rejected: CredentialsId,
        challenge: Option<Challenge>,
        is_suspicion: bool,
    ) {
        if self.is_renewing {
            return;
        }
        if rejected < cx.credentials {
            return release_waiters(cx);
        }
        let rejected = cx.credentials;
        self.is_renewing = true;
        cx.timers.set(Timer::Credentials, Some(cx.now + LIMIT));
        if self.asked.is_none() {
            self.asked = Some(TokenQuestion { rejected, is_suspicion });
            cx.act(Action::RenewCredentials { rejected, challenge, is_suspicion });
        }
    }

    /// Handles the hook's reply: better credentials, or none.
    pub(crate) fn came(
        &mut self,
        cx: &mut Context,
        rejected: CredentialsId,
        renewed: Result<(), NoCredentials>,
    ) {
        let reply_to = self.asked.take_if(|it| it.rejected == rejected);
        let is_reply = reply_to.is_some();
        let is_current = rejected == cx.credentials;
        // The hook did not do its best: what has become certain meanwhile it was not told.
        let asked_too_little = reply_to.is_some_and(|it| it.is_suspicion) && !self.is_in_doubt;
        match renewed {
            Ok(()) if is_reply || is_current => self.put_in_force(cx),
            Err(_) if asked_too_little && self.is_renewing => {
                self.is_renewing = false;
                self.renew(cx, cx.credentials, None);
            }
            Err(none) if is_current && self.is_renewing => self.failed(cx, &none),
            // Credentials that came by a step-up while the hook was at work have been refused, too.
            Err(_) if is_reply && self.is_renewing => {
                self.is_renewing = false;
                self.renew(cx, cx.credentials, None);
            }
            _ => {}
        }
    }

    /// Lets everything that waits for credentials go on with new ones.
    fn put_in_force(&mut self, cx: &mut Context) {
        self.is_renewing = false;
        self.is_in_doubt = false;
        cx.credentials = cx.credentials.next();
        cx.timers.set(Timer::Credentials, None);
        if !std::mem::take(&mut self.is_missing) {
            cx.tell(Event::CredentialsRenewed);
        }
        release_waiters(cx);
        cx.then(ListeningEffect::Hurry);
        cx.then(HealthEffect::ProbeWithCredentials);
    }

    /// Ends what waits for the hook, which failed or took too long. What waits on a suspicion only goes on with
    /// the credentials in force.
    pub(crate) fn failed(&mut self, cx: &mut Context, none: &NoCredentials) {
        self.is_renewing = false;
        cx.timers.set(Timer::Credentials, None);
        none.tell(cx);
        if std::mem::take(&mut self.is_in_doubt) {
            cx.then(SessionEffect::CredentialsCame);
            cx.then(CallEffect::LetOutAll(Awaited::Credentials));
            cx.then(OutboundEffect::CredentialsCame);
        } else {
            let ending = Ending::new(Kind::Unauthorized, Reason::Credentials(none.clone()));
            cx.then(CallEffect::EndAll(Awaited::Credentials, ending.clone()));
            cx.then(SessionEffect::CredentialsFailed(ending));
            cx.then(OutboundEffect::CredentialsFailed);
        }
        let ending = Ending::new(Kind::Unauthorized, Reason::Nothing);
        cx.then(CallEffect::EndAll(Awaited::Acknowledgement, ending));
        cx.then(ListeningEffect::CredentialsFailed);
    }
}

impl NoCredentials {
    fn tell(&self, cx: &mut Context) {
        cx.tell(Event::CredentialsFailed { reason: self.reason().map(Into::into) });
    }
}

/// Lets everything go on that waits for credentials.
fn release_waiters(cx: &mut Context) {
    cx.then(SessionEffect::CredentialsCame);
    cx.then(ListeningEffect::CredentialsCame);
    cx.then(CallEffect::LetOutAll(Awaited::Credentials));
    cx.then(OutboundEffect::CredentialsCame);
}

/// Returns the refusal for a hook that exceeded its time limit.
pub(crate) fn too_late() -> NoCredentials {
    NoCredentials::because("none came within 30 s")
}

/// How long calls wait for the hook.
const LIMIT: Duration = Duration::from_secs(30);
