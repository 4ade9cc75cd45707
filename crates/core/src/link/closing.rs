//! Closing a link: every exchange ends, the session is deleted, and after 5 s the link is closed in any case.
//!
//! ```text
//!   Open ──close──▶ Begun: cancellations sent ▶ session deleted ──▶ Done
//! ```
//! Cancellations go out before the session that they belong to is deleted, and delay that by 250 ms at most.

use std::time::Duration;

use super::Link;
use crate::exchange::Ending;
use crate::link::attempts::Owner;
use crate::link::timers::Timer;
use crate::moment::Moment;
use crate::outcome::{Kind, Reason};
use crate::output::{Action, Address};

/// How far the link has come in closing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum Closing {
    #[default]
    Open,
    Begun {
        /// The session to delete once the cancellations are out.
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
    /// Ends every exchange and deletes the session. [`Action::Closed`] follows when that is done, or after 5
    /// s.
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

    /// Takes the next step of closing: deletes the session once the cancellations are out, then closes the
    /// link.
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
