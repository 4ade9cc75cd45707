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

/// Which credentials are in force, and whether better ones are on their way.
#[derive(Debug, Default)]
pub(super) struct Credentials {
    /// Whether the hook is at work: it may be a person who logs in, and is not asked twice.
    is_asked: bool,
    /// Whether somebody waits for it.
    is_renewing: bool,
    /// Whether there is a hook that has not brought anything yet.
    is_missing: bool,
    /// What we are known by: the server's words are shown without it.
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

/// The hook could not bring better credentials.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NoCredentials {
    reason: Option<Arc<str>>,
}

impl NoCredentials {
    /// There are none, and that is all there is to say.
    pub const fn new() -> Self {
        Self { reason: None }
    }

    /// There are none, for this reason. People will read it: it must hold no secret.
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
    /// There is a credentials hook: ask it before anything is sent. Whatever it brings first, be it
    /// "none yet", is brought by `handle_credentials`.
    pub fn await_first_credentials(&mut self) {
        self.credentials.is_missing = true;
    }

    /// The credentials in force, for whoever brings better ones unasked.
    pub const fn credentials(&self) -> CredentialsId {
        self.cx.credentials
    }

    /// Whether requests must wait for the hook; it is asked if it was not.
    pub(super) fn must_await_credentials(&mut self, now: Moment) -> bool {
        if self.credentials.is_missing {
            self.renew_credentials(now, self.cx.credentials, None);
        }
        self.credentials.is_renewing
    }

    /// Row 22, single flight by the rejected token: a refusal of older credentials is old news.
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
        if !std::mem::replace(&mut self.credentials.is_asked, true) {
            self.cx.act(Action::RenewCredentials { rejected, challenge });
        }
    }

    /// The hook has come back with better credentials, or without.
    pub(super) fn credentials_came(
        &mut self,
        now: Moment,
        rejected: CredentialsId,
        renewed: Result<(), NoCredentials>,
    ) {
        let is_late = !self.credentials.is_renewing;
        if rejected != self.cx.credentials {
            return;
        }
        self.credentials.is_asked = false;
        if is_late && renewed.is_err() {
            return;
        }
        match renewed {
            Ok(()) => {
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
            Err(none) => self.credentials_failed(now, &none),
        }
    }

    /// The hook failed or took too long.
    pub(super) fn credentials_failed(&mut self, now: Moment, none: &NoCredentials) {
        self.credentials.is_renewing = false;
        self.cx.timers.set(Timer::Credentials, None);
        self.cx.tell(Event::CredentialsFailed { reason: none.reason.clone() });
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

/// The hook had its time.
pub(super) fn too_late() -> NoCredentials {
    NoCredentials::because("none came within 30 s")
}

const LIMIT: Duration = Duration::from_secs(30);
