//! What follows when the server is lost or can be reached again.

use super::Reach;
use super::dial::DialState;
use crate::event::Event;
use crate::exchange::{Awaited, Ending};
use crate::failure::{Cause, Delivery, Failure};
use crate::ids::AttemptId;
use crate::link::context::Context;
use crate::link::effects::{
    CallEffect, HealthEffect, ListeningEffect, OutboundEffect, ReachEffect, SessionEffect,
};
use crate::link::timers::Timer;
use crate::moment::Moment;
use crate::outcome::{Kind, Reason};

impl Reach {
    /// Notes a transport failure: an incident begins, unless there is one.
    pub(crate) fn begin_incident(&mut self) {
        if !self.in_incident {
            self.in_incident = true;
            self.incidents += 1;
        }
    }

    /// Handles the result of a connect.
    pub(crate) fn connect_ended(&mut self, cx: &mut Context, result: Result<(), Failure>) {
        let now = cx.now;
        match result {
            Ok(()) => {
                self.dial.connected(now);
                let_all_go_on(cx);
            }
            Err(failure) if failure.cause.is_lasting(self.dial.connected_before()) => {
                self.dial.gave_up();
                cx.note_failure(Reason::Transport(failure.clone()));
                fail_unreachable(cx, failure);
            }
            Err(failure) => {
                let next = self.dial.failed(now, &mut cx.rng);
                self.begin_incident();
                cx.note_failure(Reason::Transport(failure.clone()));
                cx.tell(Event::ConnectFailed { failure, next });
                cx.then(HealthEffect::ProbeNotSent);
                cx.then(CallEffect::EndImpatient);
                cx.then(ReachEffect::Drive);
            }
        }
    }

    /// Notes what a failed attempt says about reaching the server.
    pub(crate) fn attempt_failed(
        &mut self,
        cx: &mut Context,
        failure: &Failure,
        is_headless: bool,
    ) {
        let says_nothing = matches!(failure.cause, Cause::ConnectionGone | Cause::Withheld);
        if failure.cause.is_misbehaviour() || says_nothing {
            return;
        }
        self.begin_incident();
        let is_unsent = failure.delivery == Delivery::NotSent;
        if is_unsent && failure.cause.is_lasting(self.dial.connected_before()) {
            return;
        }
        // During an outage, a connection that carried no response counts as a failed connect.
        if is_unsent || (is_headless && self.dial.is_in_outage()) {
            self.dial.lost(cx.now, cx.attempts.last(), &mut cx.rng);
            cx.then(ReachEffect::Drive);
        }
    }

    /// Notes a response head, which shows that the server can be reached.
    pub(crate) fn answered(&mut self, cx: &mut Context, attempt: AttemptId) {
        self.in_incident = false;
        if let Some(outage) = self.dial.answered(cx.now, attempt) {
            cx.tell(Event::Connected { outage });
            let_all_go_on(cx);
        }
    }

    /// Dials if the pause is over and `is_awaited` says that something waits for the connection, or sets the
    /// timer for it.
    pub(crate) fn drive(&mut self, cx: &mut Context, is_awaited: bool) {
        if cx.is_closing() {
            return;
        }
        let alarm = match self.dial.state() {
            DialState::Pausing { until } if is_awaited => {
                if until <= cx.now {
                    self.dial.dialing(cx.dial());
                    None
                } else {
                    Some(until)
                }
            }
            DialState::Ramping { next, .. } => Some(next),
            DialState::Pausing { .. } | DialState::Dialing { .. } | DialState::Up => None,
        };
        cx.timers.set(Timer::Dial, alarm);
    }

    /// Handles the end of a pause, or the next group of the ramp.
    pub(crate) fn due(&mut self, cx: &mut Context) {
        if let Some(group) = self.dial.next_group(cx.now) {
            cx.then(CallEffect::LetOutGroup(group));
            cx.then(OutboundEffect::LinkCame);
        }
        cx.then(ReachEffect::Drive);
    }

    /// Ends the ramp, because its last group goes out.
    pub(crate) const fn ramp_done(&mut self) {
        self.dial.ramp_done();
    }

    /// Brings the next connect forward, because a call is about to give up.
    pub(crate) fn hurry(&mut self, now: Moment) {
        self.dial.hurry(now);
    }
}

/// Row 1p: ends everything that waits for a connection, because waiting cannot help.
pub(crate) fn fail_unreachable(cx: &mut Context, failure: Failure) {
    let ending = Ending::new(Kind::Unreachable, Reason::Transport(failure));
    cx.then(CallEffect::EndAll(Awaited::Link, ending.clone()));
    cx.then(OutboundEffect::LinkFailed(ending.clone()));
    cx.then(SessionEffect::Fail(ending));
}

fn let_all_go_on(cx: &mut Context) {
    cx.then(ListeningEffect::Hurry);
    cx.then(SessionEffect::LinkCame);
    cx.then(ReachEffect::Due);
}
