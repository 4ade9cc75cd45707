//! Credentials: renewed once for all calls whose token was refused.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::Link;
use crate::event::Event;
use crate::exchange::{Ending, State, Then, Waiting};
use crate::head::Challenge;
use crate::ids::{CredentialsId, ExchangeId};
use crate::link::timers::Timer;
use crate::moment::Moment;
use crate::outcome::{Kind, Reason};
use crate::output::Action;
use crate::secrets::Secrets;

/// Whether the credentials in force are good, and whether better ones are on their way.
#[derive(Debug, Default)]
pub(super) struct Credentials {
    /// Better than which credentials the hook was asked for, until it comes back. It may be a person logging
    /// in, who is not asked twice.
    asked: Option<CredentialsId>,
    /// Whether calls wait for the hook.
    is_renewing: bool,
    /// Whether there is a hook that has not returned anything yet.
    is_missing: bool,
    /// The tokens and ids that must not appear where the server's words are quoted.
    secrets: Secrets,
}

impl Credentials {
    pub(super) const fn secrets(&self) -> &Secrets {
        &self.secrets
    }

    pub(super) const fn secrets_mut(&mut self) -> &mut Secrets {
        &mut self.secrets
    }

    pub(super) const fn is_renewing(&self) -> bool {
        self.is_renewing
    }
}

/// The reply of a credentials hook that has no better credentials.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NoCredentials {
    reason: Option<Arc<str>>,
}

impl NoCredentials {
    /// Returns a refusal without a reason.
    pub const fn new() -> Self {
        Self { reason: None }
    }

    /// Returns a refusal with a reason. People read it, so it must hold no secret.
    pub fn because(reason: impl Into<Arc<str>>) -> Self {
        Self { reason: Some(reason.into()) }
    }
}

impl fmt::Display for NoCredentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("no better credentials could be had")?;
        match &self.reason {
            Some(reason) => write!(f, ": {reason}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for NoCredentials {}

impl Link {
    /// Makes the link ask its credentials hook before it sends anything. The hook's first reply, even "none
    /// yet", comes in through [`handle_credentials`](Self::handle_credentials).
    pub fn await_first_credentials(&mut self) {
        self.credentials.is_missing = true;
    }

    /// Returns the id of the credentials in force, so that better ones can be brought unasked.
    pub const fn credentials(&self) -> CredentialsId {
        self.cx.credentials
    }

    /// Whether requests must wait for the hook, which is asked if it has not been.
    pub(super) fn must_await_credentials(&mut self, now: Moment) -> bool {
        if self.credentials.is_missing {
            self.renew_credentials(now, self.cx.credentials, None);
        }
        self.credentials.is_renewing
    }

    /// Row 22: asks the hook for better credentials, once for all refusals. A refusal of credentials that
    /// were replaced meanwhile is ignored.
    pub(super) fn renew_credentials(
        &mut self,
        now: Moment,
        rejected: CredentialsId,
        challenge: Option<Challenge>,
    ) {
        if self.credentials.is_renewing {
            return;
        }
        if rejected < self.cx.credentials {
            return self.release_credential_waiters(now);
        }
        let rejected = self.cx.credentials;
        self.credentials.is_renewing = true;
        self.cx.timers.set(Timer::Credentials, Some(now + LIMIT));
        if self.credentials.asked.is_none() {
            self.credentials.asked = Some(rejected);
            self.cx.act(Action::RenewCredentials { rejected, challenge });
        }
    }

    /// Handles the hook's reply: better credentials, or none.
    pub(super) fn credentials_came(
        &mut self,
        now: Moment,
        rejected: CredentialsId,
        renewed: Result<(), NoCredentials>,
    ) {
        let is_reply = self.credentials.asked == Some(rejected);
        let is_current = rejected == self.cx.credentials;
        if is_reply {
            self.credentials.asked = None;
        }
        match renewed {
            Ok(()) if is_reply || is_current => self.put_credentials_in_force(now),
            Err(none) if is_current && self.credentials.is_renewing => {
                self.credentials_failed(now, &none);
            }
            // Credentials that came by a step-up while the hook was at work have been refused, too.
            Err(_) if is_reply && self.credentials.is_renewing => {
                self.credentials.is_renewing = false;
                self.renew_credentials(now, self.cx.credentials, None);
            }
            _ => {}
        }
    }

    /// Lets everything that waits for credentials go on with new ones.
    pub(super) fn put_credentials_in_force(&mut self, now: Moment) {
        self.credentials.is_renewing = false;
        self.cx.credentials = self.cx.credentials.next();
        self.cx.timers.set(Timer::Credentials, None);
        if !std::mem::take(&mut self.credentials.is_missing) {
            self.cx.tell(Event::CredentialsRenewed);
        }
        self.release_credential_waiters(now);
        self.listening.hurry_listener(&mut self.cx, now);
        self.probe_with_credentials(now);
    }

    /// Ends the calls that wait for the hook, which failed or took too long.
    pub(super) fn credentials_failed(&mut self, now: Moment, none: &NoCredentials) {
        self.credentials.is_renewing = false;
        self.cx.timers.set(Timer::Credentials, None);
        self.tell_credentials_failed(none);
        let reason = Reason::Credentials(none.to_string().into());
        for (id, _) in self.credential_waiters() {
            self.end(now, id, Ending::new(Kind::Unauthorized, reason.clone()));
        }
        if self.session.awaits_credentials() {
            self.fail_session_waiters(now, &Ending::new(Kind::Unauthorized, reason));
        }
        self.outbound.drop_credential_notices(&mut self.cx, now);
        self.end_subscribers(now, &Ending::new(Kind::Unauthorized, Reason::Nothing));
        self.listener_goes_without_credentials(now);
    }

    pub(super) fn tell_credentials_failed(&mut self, none: &NoCredentials) {
        self.cx.tell(Event::CredentialsFailed { reason: none.reason.clone() });
    }

    fn release_credential_waiters(&mut self, now: Moment) {
        if self.session.awaits_credentials() {
            self.try_handshake(now);
        }
        self.listener_has_credentials(now);
        for (id, then) in self.credential_waiters() {
            self.let_out_if(now, id, then, |waiting| matches!(waiting, Waiting::Credentials(_)));
        }
        self.release_credential_notices(now);
    }

    fn credential_waiters(&self) -> Vec<(ExchangeId, Then)> {
        let waiting = self.calls.iter().filter_map(|exchange| match exchange.state {
            State::Waiting(Waiting::Credentials(then)) => Some((exchange.id, then)),
            _ => None,
        });
        waiting.collect()
    }
}

/// Returns the refusal for a hook that exceeded its time limit.
pub(super) fn too_late() -> NoCredentials {
    NoCredentials::because("none came within 30 s")
}

/// How long calls wait for the hook.
pub(super) const LIMIT: Duration = Duration::from_secs(30);
