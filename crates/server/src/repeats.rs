//! Repeats of calls that were under way when their session ended, at whatever backend: for a while they are answered
//! with the doubt that their client was told, in its next session too.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ridethrough_core::repeat_guard::{CallScope, CallSession, DoubtRepeat, RepeatGuard};
use ridethrough_core::{CallDigest, Doubt, Moment};
use ridethrough_wire::message::{Json, Message};
use tokio::time::Instant;

use crate::backend::Caller;
use crate::parts::ParsedMessage;

/// The doubts that clients were told. Clones share them.
#[derive(Clone, Debug)]
pub(crate) struct Repeats(Arc<RepeatsState>);

#[derive(Debug)]
struct RepeatsState {
    guard: Mutex<RepeatGuard>,
    repeat: DoubtRepeat,
    began: Instant,
}

/// Who makes calls in a session.
#[derive(Clone, Debug)]
pub(crate) struct CallOrigin {
    pub(crate) scope: CallScope,
    /// The session; `None` of a client without one.
    pub(crate) session: Option<CallSession>,
}

/// What is kept of a call for the time when its session may have ended.
#[derive(Clone, Debug)]
pub(crate) struct Repeatable {
    pub(crate) origin: CallOrigin,
    pub(crate) began: Instant,
    /// Its identity; `None` if no repeat of it is held.
    pub(crate) call: Option<CallDigest>,
}

impl Repeats {
    pub(crate) fn new(repeat: DoubtRepeat) -> Self {
        let (guard, began) = (Mutex::default(), Instant::now());
        Self(Arc::new(RepeatsState { guard, repeat, began }))
    }

    /// Returns who makes calls in the session of this number, which began then. `client` is what the client calls
    /// itself.
    pub(crate) fn origin(
        &self,
        caller: &Caller,
        client: &str,
        (number, opened): (u64, Instant),
    ) -> CallOrigin {
        let special = [u8::from(caller.principal.is_special())];
        let principal = [&special[..], caller.principal.name().as_bytes()].concat();
        let session = CallSession { number, opened_at: self.moment(opened) };
        CallOrigin {
            // What lies behind an endpoint is one server to its clients.
            scope: CallScope::new(&principal, client, &caller.endpoint),
            session: (!caller.is_stateless).then_some(session),
        }
    }

    /// Returns what is to be kept of a request; `None` if it is neither a call of a tool nor a look.
    pub(crate) fn of_request(
        &self,
        part: &ParsedMessage,
        origin: &CallOrigin,
    ) -> Option<Repeatable> {
        let Message::Request { method, params, .. } = &part.message else { return None };
        let is_small = |params: &&Json| params.as_bytes().len() <= LARGEST;
        let call = match &**method {
            "tools/call" if self.0.repeat == DoubtRepeat::Hold => {
                params.as_ref().filter(is_small).and_then(|it| origin.scope.call(it))
            }
            "tools/call" | "resources/read" => None,
            _ => return None,
        };
        Some(Repeatable { origin: origin.clone(), began: Instant::now(), call })
    }

    /// Returns the doubt that answers a call which is not to be sent.
    pub(crate) fn held(&self, of: &Repeatable) -> Option<Doubt> {
        let mut guard = self.guard();
        if guard.is_empty() {
            return None;
        }
        guard.ask(self.moment(of.began), of.call.as_ref()?, of.origin.session)
    }

    /// Records that a client is told this of its call.
    pub(crate) fn told(&self, of: &Repeatable, doubt: &Doubt) {
        let Some(call) = of.call else { return };
        let (now, began) = (self.moment(Instant::now()), self.moment(of.began));
        self.guard().told(now, call, of.origin.session, began, doubt.clone());
    }

    /// Records that a call or a read was answered.
    pub(crate) fn looked(&self, of: &Repeatable) {
        self.guard().looked(of.origin.scope, of.origin.session, self.moment(of.began));
    }

    /// Whether nothing is held.
    pub(crate) fn is_empty(&self) -> bool {
        self.guard().is_empty()
    }

    fn moment(&self, at: Instant) -> Moment {
        Moment::at(at.saturating_duration_since(self.0.began))
    }

    fn guard(&self) -> MutexGuard<'_, RepeatGuard> {
        // No code panics in the middle of a change, so a poisoned lock is still valid.
        self.0.guard.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The params of a call whose repeats are held. Larger ones would take a serving thread too long to compare.
const LARGEST: usize = 64 * 1024;
