//! What becomes of all notices when the link, the session or the credentials change.

use std::time::Duration;

use super::Outbound;
use super::notices::{Notice, NoticeKind};
use crate::exchange::Ending;
use crate::ids::{ExchangeId, Generation, NoticeId};
use crate::link::Link;
use crate::link::context::Context;
use crate::link::timers::Timer;
use crate::moment::Moment;
use crate::outcome::{Kind, Reason};

impl Outbound {
    /// Ends all notices because the link closes, except cancellations: without them the server would go on
    /// working for no caller.
    pub(crate) fn close_notices(&mut self, cx: &mut Context, now: Moment) {
        for id in self.notices_where(|notice| !matches!(notice.kind, NoticeKind::Cancelled { .. }))
        {
            self.end_notice(cx, now, id, Err(Ending::new(Kind::Closed, Reason::Nothing)));
        }
    }

    /// Ends the answers whose session or exchange is gone, because only the one that asked can use them.
    pub(crate) fn drop_answers(
        &mut self,
        cx: &mut Context,
        now: Moment,
        is_void: impl Fn(Generation, Option<ExchangeId>) -> bool,
    ) {
        let void = self.notices_where(|notice| match notice.kind {
            NoticeKind::Answer { ref to, exchange, .. } => is_void(to.generation, exchange),
            _ => false,
        });
        for id in void {
            self.end_notice(cx, now, id, Ok(()));
        }
    }

    pub(crate) fn drop_credential_notices(&mut self, cx: &mut Context, now: Moment) {
        for id in self.notices_where(Notice::waits_for_credentials) {
            self.end_notice(cx, now, id, Err(Ending::new(Kind::Unauthorized, Reason::Nothing)));
        }
    }

    /// Ends the notices that wait for a connection, because there will be none.
    pub(crate) fn drop_link_notices(&mut self, cx: &mut Context, now: Moment, ending: &Ending) {
        for id in self.notices_where(Notice::waits_for_link) {
            self.end_notice(cx, now, id, Err(ending.clone()));
        }
    }

    /// Ends the notices that wait for a session, because there will be none.
    pub(crate) fn drop_session_notices(&mut self, cx: &mut Context, now: Moment, ending: &Ending) {
        for id in self.notices_where(Notice::waits_for_session) {
            self.end_notice(cx, now, id, Err(ending.clone()));
        }
    }

    /// Limits the time of all notices that are left while the link closes.
    pub(crate) fn hurry_notices(&mut self, cx: &mut Context, now: Moment) {
        for id in self.notices_where(|_| true) {
            cx.timers.set(Timer::Notice(id), Some(now + LAST_WORD));
        }
    }

    pub(crate) fn notices_where(&self, matches: impl Fn(&Notice) -> bool) -> Vec<NoticeId> {
        self.notices.iter().filter(|(_, notice)| matches(notice)).map(|(id, _)| *id).collect()
    }
}

impl Link {
    /// Sends the next notifications in line, as far as there is room.
    pub(crate) fn fill_turns(&mut self, now: Moment) {
        while let Some(next) = self.outbound.turns.next(self.admission.capacity()) {
            self.send_notice(now, next);
        }
    }

    /// Sends the notices that waited for a connection.
    pub(crate) fn release_link_notices(&mut self, now: Moment) {
        for id in self.outbound.notices_where(Notice::waits_for_link) {
            self.send_notice(now, id);
        }
        self.fill_turns(now);
    }

    pub(crate) fn release_session_notices(&mut self, now: Moment) {
        for id in self.outbound.notices_where(Notice::waits_for_session) {
            self.send_notice(now, id);
        }
        self.fill_turns(now);
    }

    pub(crate) fn release_credential_notices(&mut self, now: Moment) {
        for id in self.outbound.notices_where(Notice::waits_for_credentials) {
            self.send_notice(now, id);
        }
    }
}

/// How long a notice may take while the link closes: enough for a round trip, because the caller of `close`
/// waits for it.
const LAST_WORD: Duration = Duration::from_millis(250);
