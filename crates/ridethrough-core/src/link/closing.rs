//! Closing: every exchange ends, the session is deleted, and after 5 s it is over either way.
//!
//! ```text
//!   Open ──close──▶ Begun: calls taken back are told ▶ session deleted ──▶ Done
//! ```
//! Word that a call is not wanted goes before the session that it belongs to, but holds up the farewell
//! for a moment only.

use std::time::Duration;

use super::Link;
use crate::exchange::Ending;
use crate::link::attempts::Owner;
use crate::link::timers::Timer;
use crate::moment::Moment;
use crate::outcome::{Kind, Reason};
use crate::output::{Action, Address};

/// How far closing is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum Closing {
    #[default]
    Open,
    Begun {
        /// A session that is deleted once the server has heard which calls are not wanted.
        session: Option<Address>,
    },
    Done,
}

impl Closing {
    pub(super) fn is_begun(&self) -> bool {
        *self != Self::Open
    }
}

impl Link {
    /// Ends everything. [`Action::Closed`] follows when the session is deleted, or 5 s later.
    pub fn close(&mut self, now: Moment) {
        if self.closing.is_begun() {
            return;
        }
        self.closing = Closing::Begun { session: None };
        for id in self.calls.ids_where(|_| true) {
            self.end(now, id, Ending::new(Kind::Closed, Reason::Nothing));
        }
        self.close_notices(now);
        self.withdraw_questions(|_| true);
        let session = self.end_session(now);
        self.stop_all_but_farewells();
        self.timers.clear();
        self.timers.set(Timer::Close, Some(now + LIMIT));
        self.hurry_notices(now);
        self.closing = Closing::Begun { session };
        self.closing_progressed(now);
    }

    fn stop_all_but_farewells(&mut self) {
        let is_farewell = |owner: &Owner| {
            matches!(owner, Owner::Abandoned { .. } | Owner::Delete { .. } | Owner::Notice(_))
        };
        for attempt in self.attempts.ids_where(|owner| !is_farewell(owner)) {
            self.abort(attempt);
        }
    }

    /// A farewell is over: the next one follows, and after the last one the link is closed.
    pub(super) fn closing_progressed(&mut self, now: Moment) {
        let Closing::Begun { session } = &mut self.closing else { return };
        if self.outbound.is_empty()
            && let Some(to) = session.take()
        {
            self.say_goodbye(now, to);
        }
        if self.attempts.is_empty() {
            self.finish_closing();
        }
    }

    pub(super) fn finish_closing(&mut self) {
        for attempt in self.attempts.ids_where(|_| true) {
            self.abort(attempt);
        }
        self.timers.clear();
        self.closing = Closing::Done;
        self.act(Action::Closed);
    }
}

const LIMIT: Duration = Duration::from_secs(5);
