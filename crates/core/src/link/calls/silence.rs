//! Calls that are out and have heard nothing for long: what a ping that was sent for them means to them.

use super::Calls;
use super::exchanges::Exchanges;
use crate::exchange::{Exchange, Phase, State, Waiting};
use crate::failure::{Cause, Failure};
use crate::ids::ExchangeId;
use crate::link::effects::CallEffect;
use crate::link::health;
use crate::moment::Moment;

impl Calls {
    /// Sets the timers by which calls that are out notice their own silence.
    pub(super) fn watch_live(&mut self) {
        for id in self.all.ids_where(|exchange| exchange.live().is_some()) {
            self.set_alarm(id);
        }
    }

    /// Row 19: resumes streams that have been silent for long at a live server, in case the rest of a stream
    /// waits there.
    pub(super) fn resume_silent(&mut self) {
        let is_stuck = |exchange: &Exchange| {
            let live = exchange.live().filter(|live| live.replaces.is_none());
            exchange.era().resumes_streams()
                && exchange.resume_state.last_event_id().is_some()
                && exchange.may_resume()
                && live.is_some_and(|live| {
                    matches!(live.phase, Phase::Stream { .. })
                        && self.base.cx.now.since(live.last_sign) >= health::RESUME_BESIDE
                })
        };
        for id in self.all.ids_where(is_stuck) {
            let Some(exchange) = self.all.get_mut(id) else { continue };
            let placeholder = State::Waiting(Waiting::Place);
            if let State::Live(live) = std::mem::replace(&mut exchange.state, placeholder) {
                self.resume_beside(id, Some(Box::new(live)));
            }
        }
    }

    /// Row 19: ends the silent attempts at a dead server. A server that can be reached but answers nothing
    /// may be at work, so a call whose caller has set a deadline waits until then.
    pub(super) fn end_silent(&mut self, is_unreachable: bool) {
        let is_over = |exchange: &Exchange| {
            is_silent(exchange, self.base.cx.now)
                && (is_unreachable || !exchange.deadline.is_callers)
        };
        for id in self.all.ids_where(is_over) {
            self.base.cx.then(CallEffect::EndSilentAttempt(id));
        }
    }

    pub(super) fn end_silent_attempt(&mut self, id: ExchangeId) {
        let failure = Failure::unknown(Cause::Silent);
        let Some(live) = self.all.get(id).and_then(|it| it.live()) else { return };
        let attempts = [Some(live.attempt), live.replaces.as_ref().map(|old| old.attempt)];
        attempts.into_iter().flatten().for_each(|attempt| self.base.cx.abort(attempt));
        self.base.reach.attempt_failed(&mut self.base.cx, &failure, true);
        self.base.cx.then(CallEffect::Failed(id, failure));
    }
}

impl Exchanges {
    /// Whether a call has heard nothing for so long that it asks for a ping.
    pub(crate) fn is_any_silent(&self, now: Moment) -> bool {
        self.iter().any(|exchange| is_silent(exchange, now))
    }
}

fn is_silent(exchange: &Exchange, now: Moment) -> bool {
    let live = exchange.live().filter(|_| exchange.origin.is_application());
    live.is_some_and(|live| now.since(live.last_sign) >= health::INTERVAL)
}
