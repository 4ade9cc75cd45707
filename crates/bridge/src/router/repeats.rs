//! Repeats of calls that may have run: for a while they are answered with the doubt that the host was told.

use ridethrough_core::repeat_guard::{CallScope, DoubtRepeat, is_look};
use ridethrough_core::{CallError, Doubt, DoubtForm, Moment};
use ridethrough_wire::message::{Answer, Json};
use tokio::time::Instant;

use super::Router;

impl<W> Router<W> {
    /// Returns the answer to a call of a tool that is not sent, because it repeats one that may have run.
    pub(super) fn held_repeat(&mut self, params: Option<&Json>) -> Option<Answer> {
        if self.guard.is_empty() {
            return None;
        }
        let call = self.scope().call(params?)?;
        let doubt = self.guard.ask(self.moment(Instant::now()), &call, None)?;
        self.held_repeats += 1;
        self.voice.say(Some("a repeat of a call that may have run was not sent"));
        Some(doubt.answer_to_repeat(self.manner.doubt))
    }

    /// Records that the host is told this of a call that began then.
    pub(super) fn note_doubt(
        &mut self,
        error: &CallError,
        params: Option<&Json>,
        began: Instant,
        doubt: &Doubt,
    ) {
        let is_unsafe = DoubtForm::Result.of_call(error, params) == DoubtForm::Result;
        let call = params.filter(|_| is_unsafe && self.manner.repeat == DoubtRepeat::Hold);
        if let Some(call) = call.and_then(|params| self.scope().call(params)) {
            let (now, began) = (self.moment(Instant::now()), self.moment(began));
            self.guard.told(now, call, None, began, doubt.clone());
        }
    }

    /// Records that the upstream has answered a request that began then: the host may have seen what became of a
    /// call.
    pub(super) fn note_look(&mut self, method: &str, answer: &Answer, began: Instant) {
        if !self.guard.is_empty() && is_look(method, answer) {
            self.guard.looked(self.scope(), None, self.moment(began));
        }
    }

    /// A bridge has one host, whose session is the bridge's own.
    fn scope(&self) -> CallScope {
        CallScope::new(b"", self.host.as_deref().unwrap_or_default(), "")
    }

    fn moment(&self, at: Instant) -> Moment {
        Moment::at(at.saturating_duration_since(self.began))
    }
}
