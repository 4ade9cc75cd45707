//! What becomes of all messages that we owe when the link, the session or the credentials change.

use std::time::Duration;

use super::{Due, Owed};
use crate::exchange::Ending;
use crate::ids::{ExchangeId, Generation, NoticeId};
use crate::link::Link;
use crate::link::timers::Timer;
use crate::moment::Moment;
use crate::outcome::{Kind, Reason};

impl Link {
    /// One notification less is out: the next ones in line go.
    pub(in crate::link) fn fill_turns(&mut self, now: Moment) {
        while let Some(next) = self.turns.next(self.capacity) {
            self.send_owed(now, next);
        }
    }

    /// The connection is back: what waited for it goes out.
    pub(in crate::link) fn release_link_notices(&mut self, now: Moment) {
        for id in self.owed_where(Owed::waits_for_link) {
            self.send_owed(now, id);
        }
        self.fill_turns(now);
    }

    pub(in crate::link) fn release_session_notices(&mut self, now: Moment) {
        for id in self.owed_where(Owed::waits_for_session) {
            self.send_owed(now, id);
        }
        self.fill_turns(now);
    }

    pub(in crate::link) fn release_credential_notices(&mut self, now: Moment) {
        for id in self.owed_where(Owed::waits_for_credentials) {
            self.send_owed(now, id);
        }
    }

    pub(in crate::link) fn drop_credential_notices(&mut self, now: Moment) {
        for id in self.owed_where(Owed::waits_for_credentials) {
            self.owed_ended(now, id, Err(Ending::new(Kind::Unauthorized, Reason::Nothing)));
        }
    }

    /// There will be no connection: nothing can be told to anybody.
    pub(in crate::link) fn drop_link_notices(&mut self, now: Moment, ending: &Ending) {
        for id in self.owed_where(Owed::waits_for_link) {
            self.owed_ended(now, id, Err(ending.clone()));
        }
    }

    /// There will be no session: nothing can be told to it.
    pub(in crate::link) fn drop_session_notices(&mut self, now: Moment, ending: &Ending) {
        for id in self.owed_where(Owed::waits_for_session) {
            self.owed_ended(now, id, Err(ending.clone()));
        }
    }

    /// Answers are for the session, and the exchange, that asked.
    pub(in crate::link) fn drop_answers(
        &mut self,
        now: Moment,
        is_void: impl Fn(Generation, Option<ExchangeId>) -> bool,
    ) {
        let void = self.owed_where(|owed| match owed.due {
            Due::Answer { ref to, exchange, .. } => is_void(to.generation, exchange),
            _ => false,
        });
        for id in void {
            self.owed_ended(now, id, Ok(()));
        }
    }

    /// The link is closed under all of them, but for the word that a call is not wanted: the server
    /// may be at work for nobody.
    pub(in crate::link) fn close_notices(&mut self, now: Moment) {
        for id in self.owed_where(|owed| !matches!(owed.due, Due::Cancelled { .. })) {
            self.owed_ended(now, id, Err(Ending::new(Kind::Closed, Reason::Nothing)));
        }
    }

    /// What is left of them while the link closes has little time.
    pub(in crate::link) fn hurry_notices(&mut self, now: Moment) {
        for id in self.owed_where(|_| true) {
            self.timers.set(Timer::Notice(id), Some(now + LAST_WORD));
        }
    }

    fn owed_where(&self, matches: impl Fn(&Owed) -> bool) -> Vec<NoticeId> {
        self.owed.iter().filter(|(_, owed)| matches(owed)).map(|(id, _)| *id).collect()
    }
}

/// Enough for a round trip; whoever closes waits for it.
const LAST_WORD: Duration = Duration::from_millis(250);
