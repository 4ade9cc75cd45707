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
use crate::link::base::Base;
use crate::link::context::Context;
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
        self.calls.at(now);
        if self.closing.is_begun() {
            return;
        }
        self.closing = Closing::Begun { session: None };
        self.calls.base.cx.begin_closing();
        for id in self.calls.all.ids_where(|_| true) {
            let ending = Ending::new(Kind::Closed, Reason::Nothing);
            self.calls.end(id, ending);
            self.run_effects();
        }
        let Base { cx, session, outbound, .. } = &mut self.calls.base;
        outbound.close_notices(cx);
        outbound.withdraw_questions(cx, |_| true);
        let session = session.end_session(cx);
        stop_all_but_farewells(cx);
        cx.timers.clear();
        cx.timers.set(Timer::Close, Some(now + LIMIT));
        outbound.hurry_notices(cx);
        self.closing = Closing::Begun { session };
        self.closing_progressed();
    }

    /// Takes the next step of closing: deletes the session once the cancellations are out, then closes the
    /// link.
    pub(super) fn closing_progressed(&mut self) {
        let Closing::Begun { session } = &mut self.closing else { return };
        if self.calls.base.outbound.is_empty()
            && let Some(to) = session.take()
        {
            self.calls.base.session.say_goodbye(&mut self.calls.base.cx, to);
        }
        if self.calls.base.cx.attempts.is_empty() {
            self.finish_closing();
        }
    }

    pub(super) fn finish_closing(&mut self) {
        let cx = &mut self.calls.base.cx;
        for attempt in cx.attempts.ids_where(|_| true) {
            cx.abort(attempt);
        }
        cx.timers.clear();
        self.closing = Closing::Done;
        cx.act(Action::Closed);
    }
}

fn stop_all_but_farewells(cx: &mut Context) {
    let is_farewell = |owner: &Owner| {
        matches!(owner, Owner::Abandoned { .. } | Owner::Delete { .. } | Owner::Notice(_))
    };
    for attempt in cx.attempts.ids_where(|owner| !is_farewell(owner)) {
        cx.abort(attempt);
    }
}

const LIMIT: Duration = Duration::from_secs(5);
