//! Repeats of calls that may have run: for a while they are answered with the doubt that the caller was told.

use ridethrough_core::repeat_guard::{CallScope, DoubtRepeat, RepeatGuard, is_look};
use ridethrough_core::{CallError, Doubt, DoubtForm, Moment};
use ridethrough_wire::message::{Answer, Json};
use tokio::time::Instant;

/// What one caller was told of calls that may have run.
pub(crate) struct Repeats {
    guard: RepeatGuard,
    rule: DoubtRepeat,
    held: u64,
    began: Instant,
}

impl Repeats {
    pub(crate) fn new(rule: DoubtRepeat, began: Instant) -> Self {
        Self { guard: RepeatGuard::default(), rule, held: 0, began }
    }

    /// Returns how many calls were not sent.
    pub(crate) const fn held(&self) -> u64 {
        self.held
    }

    /// Returns what the caller was told of the call of a tool that this one repeats, if it must not be sent.
    pub(crate) fn ask(&mut self, caller: &str, params: Option<&Json>) -> Option<Doubt> {
        if self.guard.is_empty() {
            return None;
        }
        let call = scope(caller).call(params?)?;
        let doubt = self.guard.ask(self.moment(Instant::now()), &call, None)?;
        self.held += 1;
        Some(doubt)
    }

    /// Records that the caller is told this of a call that began then.
    pub(crate) fn told(
        &mut self,
        caller: &str,
        error: &CallError,
        params: Option<&Json>,
        began: Instant,
        doubt: &Doubt,
    ) {
        let is_unsafe = DoubtForm::Result.of_call(error, params) == DoubtForm::Result;
        let call = params.filter(|_| is_unsafe && self.rule == DoubtRepeat::Hold);
        if let Some(call) = call.and_then(|params| scope(caller).call(params)) {
            let (now, began) = (self.moment(Instant::now()), self.moment(began));
            self.guard.told(now, call, None, began, doubt.clone());
        }
    }

    /// Records that the upstream has answered a request that began then: the caller may have seen what became of a
    /// call.
    pub(crate) fn looked(&mut self, caller: &str, method: &str, answer: &Answer, began: Instant) {
        if !self.guard.is_empty() && is_look(method, answer) {
            self.guard.looked(scope(caller), None, self.moment(began));
        }
    }

    fn moment(&self, at: Instant) -> Moment {
        Moment::at(at.saturating_duration_since(self.began))
    }
}

/// There is one upstream, and it has one caller.
fn scope(caller: &str) -> CallScope {
    CallScope::new(b"", caller, "")
}
