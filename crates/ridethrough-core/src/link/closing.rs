//! Closing: every exchange ends, the session is deleted, and after 5 s it is over either way.

use std::time::Duration;

use super::Link;
use super::attempts::Owner;
use super::renewal::{Opening, Renewal, Session, Stage};
use super::timers::Timer;
use crate::exchange::Ending;
use crate::moment::Moment;
use crate::outcome::{Kind, Reason};
use crate::output::Action;

/// How far closing is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Closing {
    #[default]
    Open,
    Begun,
    Done,
}

impl Closing {
    pub(super) fn is_begun(self) -> bool {
        self != Self::Open
    }
}

impl Link {
    /// Ends everything. [`Action::Closed`] follows when the session is deleted, or 5 s later.
    pub fn close(&mut self, now: Moment) {
        if self.closing.is_begun() {
            return;
        }
        self.closing = Closing::Begun;
        for id in self.ids_where(|_| true) {
            self.end(now, id, Ending::new(Kind::Closed, Reason::Nothing));
        }
        self.close_notices(now);
        self.withdraw_questions(|_| true);
        self.end_session(now);
        self.stop_all_but_farewells();
        self.timers.clear();
        self.timers.set(Timer::Close, Some(now + LIMIT));
        self.closing_progressed();
    }

    fn end_session(&mut self, now: Moment) {
        match std::mem::replace(&mut self.session, Session::Absent) {
            Session::Ready(ready)
            | Session::Renewing(Renewal { stage: Stage::Initialized { ready, .. }, .. })
                if ready.address.session.is_some() =>
            {
                self.say_goodbye(now, ready.address);
            }
            // The session may come into being while we leave: then it is deleted, too.
            Session::Renewing(Renewal {
                stage: Stage::Opening(Opening { attempt, .. }), ..
            }) => {
                self.abandon(now, attempt);
            }
            _ => {}
        }
    }

    fn stop_all_but_farewells(&mut self) {
        let is_farewell =
            |owner: &Owner| matches!(owner, Owner::Abandoned { .. } | Owner::Delete { .. });
        for attempt in self.attempts_of(|owner| !is_farewell(owner)) {
            self.abort(attempt);
        }
    }

    /// A farewell is over; when the last one is, so is the link.
    pub(super) fn closing_progressed(&mut self) {
        if self.closing == Closing::Begun && self.attempts.is_empty() {
            self.finish_closing();
        }
    }

    pub(super) fn finish_closing(&mut self) {
        for attempt in self.attempts_of(|_| true) {
            self.abort(attempt);
        }
        self.timers.clear();
        self.closing = Closing::Done;
        self.act(Action::Closed);
    }
}

const LIMIT: Duration = Duration::from_secs(5);
