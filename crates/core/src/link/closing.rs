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
        self.outbound.close_notices(&mut self.cx, now);
        self.outbound.withdraw_questions(&mut self.cx, |_| true);
        let session = self.session.end_session(&mut self.cx, now);
        self.stop_all_but_farewells();
        self.cx.timers.clear();
        self.cx.timers.set(Timer::Close, Some(now + LIMIT));
        self.outbound.hurry_notices(&mut self.cx, now);
        self.closing = Closing::Begun { session };
        self.closing_progressed(now);
    }

    fn stop_all_but_farewells(&mut self) {
        let is_farewell = |owner: &Owner| {
            matches!(owner, Owner::Abandoned { .. } | Owner::Delete { .. } | Owner::Notice(_))
        };
        for attempt in self.cx.attempts.ids_where(|owner| !is_farewell(owner)) {
            self.cx.abort(attempt);
        }
    }

    /// A farewell is over: the next one follows, and after the last one the link is closed.
    pub(super) fn closing_progressed(&mut self, now: Moment) {
        let Closing::Begun { session } = &mut self.closing else { return };
        if self.outbound.is_empty()
            && let Some(to) = session.take()
        {
            self.session.say_goodbye(&mut self.cx, now, to);
        }
        if self.cx.attempts.is_empty() {
            self.finish_closing();
        }
    }

    pub(super) fn finish_closing(&mut self) {
        for attempt in self.cx.attempts.ids_where(|_| true) {
            self.cx.abort(attempt);
        }
        self.cx.timers.clear();
        self.closing = Closing::Done;
        self.cx.act(Action::Closed);
    }
}

const LIMIT: Duration = Duration::from_secs(5);
