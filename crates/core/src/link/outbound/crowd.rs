//! What becomes of all notices when the link, the session or the credentials change.

use std::time::Duration;

use super::Outbound;
use super::notices::{Notice, NoticeKind};
use crate::exchange::Ending;
use crate::ids::{ExchangeId, Generation, NoticeId};
use crate::link::context::Context;
use crate::link::effects::OutboundEffect;
use crate::link::timers::Timer;
use crate::outcome::{Kind, Reason};

impl Outbound {
    /// Ends all notices because the link closes, except cancellations: without them the server would go on
    /// working for no caller.
    pub(crate) fn close_notices(&mut self, cx: &mut Context) {
        for id in self.notices_where(|notice| !matches!(notice.kind, NoticeKind::Cancelled { .. }))
        {
            self.end_notice(cx, id, Err(Ending::new(Kind::Closed, Reason::Nothing)));
        }
    }

    /// Ends the answers whose session or exchange is gone, because only the one that asked can use them.
    pub(crate) fn drop_answers(
        &mut self,
        cx: &mut Context,
        is_void: impl Fn(Generation, Option<ExchangeId>) -> bool,
    ) {
        let void = self.notices_where(|notice| match notice.kind {
            NoticeKind::Answer { ref to, exchange, .. } => is_void(to.generation, exchange),
            _ => false,
        });
        for id in void {
            self.end_notice(cx, id, Ok(()));
        }
    }

    /// Ends the notices that wait for credentials, because there are none.
    pub(crate) fn credentials_failed(&mut self, cx: &mut Context) {
        for id in self.notices_where(Notice::waits_for_credentials) {
            self.end_notice(cx, id, Err(Ending::new(Kind::Unauthorized, Reason::Nothing)));
        }
    }

    /// Ends the notices that wait for a connection, because there will be none.
    pub(crate) fn link_failed(&mut self, cx: &mut Context, ending: &Ending) {
        for id in self.notices_where(Notice::waits_for_link) {
            self.end_notice(cx, id, Err(ending.clone()));
        }
    }

    /// Ends the notices that wait for a session, because there will be none.
    pub(crate) fn session_failed(&mut self, cx: &mut Context, ending: &Ending) {
        for id in self.notices_where(Notice::waits_for_session) {
            self.end_notice(cx, id, Err(ending.clone()));
        }
    }

    /// Limits the time of all notices that are left while the link closes.
    pub(crate) fn hurry_notices(&mut self, cx: &mut Context) {
        for id in self.notices_where(|_| true) {
            cx.timers.set(Timer::Notice(id), Some(cx.now + LAST_WORD));
        }
    }

    pub(crate) fn notices_where(&self, matches: impl Fn(&Notice) -> bool) -> Vec<NoticeId> {
        self.notices.iter().filter(|(_, notice)| matches(notice)).map(|(id, _)| *id).collect()
    }

    /// Sends the next notification in line, if there is room, and then those after it.
    pub(crate) fn fill_turns(&self, cx: &mut Context, capacity: usize) {
        if let Some(next) = self.turns.next(capacity) {
            cx.then(OutboundEffect::Send(next));
            cx.then(OutboundEffect::FillTurns);
        }
    }

    /// Sends the notices that waited for a connection.
    pub(crate) fn link_came(&self, cx: &mut Context) {
        self.send_all(cx, Notice::waits_for_link);
        cx.then(OutboundEffect::FillTurns);
    }

    /// Sends the notices that waited for a session.
    pub(crate) fn session_came(&self, cx: &mut Context) {
        self.send_all(cx, Notice::waits_for_session);
        cx.then(OutboundEffect::FillTurns);
    }

    /// Sends the notices that waited for credentials.
    pub(crate) fn credentials_came(&self, cx: &mut Context) {
        self.send_all(cx, Notice::waits_for_credentials);
    }

    fn send_all(&self, cx: &mut Context, matches: impl Fn(&Notice) -> bool) {
        for id in self.notices_where(matches) {
            cx.then(OutboundEffect::Send(id));
        }
    }

    /// Drops the answers to questions of a session that is gone, and withdraws those questions.
    pub(crate) fn session_lost(&mut self, cx: &mut Context, generation: Generation) {
        self.withdraw_questions(cx, |question| question.generation == generation);
        self.drop_answers(cx, |asked, _| asked == generation);
    }
}

/// How long a notice may take while the link closes: enough for a round trip, because the caller of `close`
/// waits for it.
const LAST_WORD: Duration = Duration::from_millis(250);
