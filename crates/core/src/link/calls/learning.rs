//! Learning what the tools say of themselves before that is needed: a call whose answer is lost can be sent again
//! only if its tool is known to be harmless.
//!
//! ```text
//!   a session begins, or the tools change ──▶ Planned ──2 s, and nothing is out (or 10 s)──▶ tools/list
//!                                                ▲ └── somebody has listed ──▶ nothing to do
//!                                                └── no answer: a minute later, then two, up to half an hour
//! ```
//! The list takes no place from a call, and a server without tools, or one that refuses the list, is not asked again.

use std::time::Duration;

use ridethrough_wire::message::{Answer, Json};

use super::Calls;
use crate::link::session::Ready;
use crate::link::timers::Timer;
use crate::moment::Moment;

/// What became of the link's own lists, made for their hints.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Learning {
    /// Since when a list is planned.
    planned: Option<Moment>,
    /// How many lists in a row had no answer.
    failures: u32,
    /// When the next list may be asked for at the earliest.
    not_before: Option<Moment>,
}

impl Calls {
    /// Plans a list, unless the tools are known.
    pub(crate) fn plan_learning(&mut self) {
        let now = self.base.cx.now;
        if !self.base.cx.policy.learn_hints || self.tools.is_known() {
            return;
        }
        self.learning.planned = Some(now);
        let at = (now + QUIET).max(self.learning.not_before.unwrap_or(now));
        self.base.cx.timers.set(Timer::Hints, Some(at));
    }

    /// Lists the tools if nobody has, once the link is idle.
    pub(crate) fn learning_is_due(&mut self) {
        let now = self.base.cx.now;
        let can_list = self.base.session.ready().is_some_and(has_tools);
        let Some(planned) = self.learning.planned.filter(|_| can_list && !self.tools.is_known())
        else {
            return;
        };
        let is_busy = self.all.iter().any(|it| it.origin.is_application());
        if is_busy && now.since(planned) < LONGEST_WAIT {
            return self.base.cx.timers.set(Timer::Hints, Some(now + QUIET));
        }
        self.learning.planned = None;
        self.learning.not_before = Some(now + BETWEEN);
        self.list_tools();
    }

    /// Plans another list after one that had no answer.
    pub(super) fn learning_ended(&mut self, answer: Option<&Answer>) {
        if answer.is_some() {
            self.learning.failures = 0;
            return;
        }
        let pause = BETWEEN * 2_u32.saturating_pow(self.learning.failures.min(MOST_DOUBLINGS));
        self.learning.failures += 1;
        self.learning.not_before = Some(self.base.cx.now + pause);
        self.plan_learning();
    }
}

/// Whether the server of a session says that it has tools, or has said nothing of itself.
fn has_tools(ready: &Ready) -> bool {
    let has = |server: &Json| server.member("capabilities")?.member("tools").map(|_| ());
    ready.server.as_ref().is_none_or(|server| has(server).is_some())
}

/// An application that lists the tools itself does so at once.
const QUIET: Duration = Duration::from_secs(2);
/// A call may be out for long, and its hints are wanted when it breaks.
const LONGEST_WAIT: Duration = Duration::from_secs(10);
/// The least time between two lists of the link's own: a server may change its tools without end.
const BETWEEN: Duration = Duration::from_secs(60);
/// Half an hour, about.
const MOST_DOUBLINGS: u32 = 5;
