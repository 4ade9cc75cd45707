//! Closing: every exchange ends, the session is deleted, and after 5 s it is over either way.

use std::time::Duration;

use super::Link;
use super::attempts::Owner;
use super::renewal::{Initialize, Renewal, Session, Stage};
use super::timers::Timer;
use crate::exchange::Ending;
use crate::moment::Moment;
use crate::outcome::{Kind, Reason};
use crate::output::{Action, Verb};

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
        self.end_session();
        self.stop_all_but_farewells();
        self.timers.clear();
        self.timers.set(Timer::Close, Some(now + LIMIT));
        self.closing_progressed();
    }

    fn end_session(&mut self) {
        match std::mem::replace(&mut self.session, Session::Absent) {
            Session::Ready(ready)
            | Session::Renewing(Renewal { stage: Stage::Initialized { ready, .. }, .. })
                if ready.address.session.is_some() =>
            {
                self.request(Owner::Delete, Verb::Delete, ready.address);
            }
            // The session may come into being while we leave: then it is deleted, too.
            Session::Renewing(Renewal {
                stage: Stage::Initialize(Initialize { attempt, .. }),
                ..
            }) => {
                if let Some(attempt) = self.attempts.get_mut(&attempt) {
                    attempt.owner = Owner::Abandoned;
                }
            }
            _ => {}
        }
    }

    fn stop_all_but_farewells(&mut self) {
        let others: Vec<_> = self
            .attempts
            .iter()
            .filter(|(_, each)| !matches!(each.owner, Owner::Abandoned | Owner::Delete))
            .map(|(attempt, _)| *attempt)
            .collect();
        others.into_iter().for_each(|attempt| self.abort(attempt));
    }

    /// A farewell is over; when the last one is, so is the link.
    pub(super) fn closing_progressed(&mut self) {
        if self.closing == Closing::Begun && self.attempts.is_empty() {
            self.finish_closing();
        }
    }

    pub(super) fn finish_closing(&mut self) {
        let left: Vec<_> = self.attempts.keys().copied().collect();
        left.into_iter().for_each(|attempt| self.abort(attempt));
        self.timers.clear();
        self.closing = Closing::Done;
        self.act(Action::Closed);
    }
}

const LIMIT: Duration = Duration::from_secs(5);
