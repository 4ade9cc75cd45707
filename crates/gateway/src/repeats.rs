//! Repeats of calls that may have run, at all servers: for a while they are answered with the doubt that their caller
//! was told. Each of its entries is of one principal, one client and one server.

use std::sync::{Mutex, MutexGuard, PoisonError};

use ridethrough_core::repeat_guard::{CallScope, CallSession, DoubtRepeat, RepeatGuard};
use ridethrough_core::{Doubt, Moment};
use ridethrough_server::Principal;
use ridethrough_wire::message::Json;
use tokio::time::Instant;

use crate::sealed::principal_fact;

/// The doubts that callers were told.
pub(crate) struct Repeats {
    guard: Mutex<RepeatGuard>,
    repeat: DoubtRepeat,
    began: Instant,
}

/// Who makes a call, and at which server.
pub(crate) struct CallOrigin<'a> {
    pub(crate) principal: &'a Principal,
    /// What the client calls itself.
    pub(crate) client: String,
    /// The conversation, and when it began; `None` of a caller without sessions.
    pub(crate) session: Option<(u64, Instant)>,
    pub(crate) server: &'a str,
}

impl Repeats {
    pub(crate) fn new(repeat: DoubtRepeat) -> Self {
        Self { guard: Mutex::default(), repeat, began: Instant::now() }
    }

    /// Returns the doubt that answers a call of a tool, if that is not to be sent.
    pub(crate) fn held<'a>(
        &self,
        params: Option<&Json>,
        origin: impl FnOnce() -> CallOrigin<'a>,
    ) -> Option<Doubt> {
        let mut guard = self.guard();
        if guard.is_empty() {
            return None;
        }
        let origin = origin();
        let call = origin.scope().call(params?)?;
        guard.ask(self.moment(Instant::now()), &call, self.session(&origin))
    }

    /// Records that a caller is told this of a call that began then.
    pub(crate) fn told(
        &self,
        origin: &CallOrigin<'_>,
        params: Option<&Json>,
        began: Instant,
        doubt: Doubt,
    ) {
        let params = params.filter(|_| self.repeat == DoubtRepeat::Hold);
        if let Some(call) = params.and_then(|params| origin.scope().call(params)) {
            let (now, began) = (self.moment(Instant::now()), self.moment(began));
            self.guard().told(now, call, self.session(origin), began, doubt);
        }
    }

    /// Records that a server has answered a look of a caller that began then.
    pub(crate) fn looked(&self, began: Instant, origin: &CallOrigin<'_>) {
        self.guard().looked(origin.scope(), self.session(origin), self.moment(began));
    }

    /// Whether nothing is held.
    pub(crate) fn is_empty(&self) -> bool {
        self.guard().is_empty()
    }

    fn session(&self, origin: &CallOrigin<'_>) -> Option<CallSession> {
        let (number, opened) = origin.session?;
        Some(CallSession { number, opened_at: self.moment(opened) })
    }

    fn moment(&self, at: Instant) -> Moment {
        Moment::at(at.saturating_duration_since(self.began))
    }

    fn guard(&self) -> MutexGuard<'_, RepeatGuard> {
        // No code panics in the middle of a change, so a poisoned lock is still valid.
        self.guard.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl CallOrigin<'_> {
    fn scope(&self) -> CallScope {
        CallScope::new(&principal_fact(self.principal), &self.client, self.server)
    }
}
