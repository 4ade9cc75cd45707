//! The last resort: a server that refuses `initialize` may be one of 2024-11-05, which speaks HTTP+SSE.
//!
//! ```text
//!   initialize refused by a 4xx ──the same on a stream──▶ answered: HTTP+SSE, for an hour
//!                                                     └──▶ refused too: the first refusal counts
//! ```
//! A server that is down, busy or guarded has not refused: it is never taken for an old one. A stream
//! that was good and is refused is forgotten, and the server asked as if it had never been met.

use http::StatusCode;

use super::Sessions;
use super::renewal::{Opens, RefusedInitialize};
use crate::answer::{PostReading, discovery, is_told_in_modern_words};
use crate::era::{Carrier, Era};
use crate::event::Event;
use crate::head::AnswerHead;
use crate::link::Link;
use crate::message::Answer;
use crate::moment::Moment;

/// What is known of HTTP+SSE at this server.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LastResort {
    /// Whether the transport can carry it.
    is_possible: bool,
    /// When the server was found to speak nothing else.
    found: Option<Moment>,
}

impl LastResort {
    pub(crate) const fn new() -> Self {
        Self { is_possible: false, found: None }
    }

    pub(crate) const fn allow(&mut self) {
        self.is_possible = true;
    }

    pub(crate) const fn forget(&mut self) {
        self.found = None;
    }

    pub(crate) fn is_spoken(&self, now: Moment) -> bool {
        self.found.is_some_and(|at| now.since(at) < Era::LEGACY_LASTS)
    }
}

impl Sessions {
    /// What the next handshake begins with.
    pub(crate) fn opens(&mut self, now: Moment) -> Opens {
        let is_last_resort = self.renewal().is_some_and(|it| it.refusal.is_some());
        if is_last_resort { Opens::Initialize(Carrier::HttpSse) } else { self.era.opens(now) }
    }
}

impl Link {
    /// `initialize` over Streamable HTTP was answered.
    pub(crate) fn first_try_answered(
        &mut self,
        now: Moment,
        head: &AnswerHead,
        reading: PostReading,
    ) {
        if !self.session.era.last_resort.is_possible || !is_refused(head.status, &reading) {
            return self.initialize_answered(now, head, reading);
        }
        if self.doubts_era(now, &reading) {
            return;
        }
        if let Some(renewal) = self.session.renewal() {
            renewal.refusal = Some(Box::new(RefusedInitialize { head: head.clone(), reading }));
            self.try_handshake(now);
        }
    }

    /// `initialize` over HTTP+SSE was answered, or the stream for it was refused.
    pub(crate) fn last_resort_answered(
        &mut self,
        now: Moment,
        head: &AnswerHead,
        reading: PostReading,
    ) {
        // A server of Streamable HTTP asks a GET for the session that it does not name.
        let wants_session =
            matches!(reading, PostReading::Suspected(_)) && head.status.is_client_error();
        if wants_session || is_refused(head.status, &reading) {
            return self.last_resort_refused(now);
        }
        if let PostReading::Answer(answer) = &reading
            && let Some(renewal) = self.session.renewal()
            && renewal.refusal.take().is_some()
            && matches!(answer, Answer::Result(_))
        {
            self.session.era.last_resort.found = Some(now);
            self.cx.tell(Event::FellBack { to: Carrier::HttpSse });
        }
        self.initialize_answered(now, head, reading);
    }

    fn last_resort_refused(&mut self, now: Moment) {
        let Some(renewal) = self.session.renewal() else { return };
        match renewal.refusal.take() {
            Some(refusal) => {
                let RefusedInitialize { head, reading } = *refusal;
                self.initialize_answered(now, &head, reading);
            }
            None => {
                // It was spoken once: perhaps the server was upgraded.
                self.session.era.last_resort.forget();
                self.try_handshake(now);
            }
        }
    }

    /// Row 19: a server that takes what is sent and says nothing on its stream has lost the stream.
    pub(crate) fn leave_dead_stream(&mut self, now: Moment) {
        let on_stream =
            self.session.ready().filter(|ready| ready.address.carrier == Carrier::HttpSse);
        if let Some(generation) = on_stream.map(|ready| ready.generation()) {
            self.lose_session(now, generation);
        }
    }
}

/// Whether an answer to `initialize` says that the server takes none by this way, in no words of the
/// stateless revision. What a guard or a limit may have said is no such answer.
fn is_refused(status: StatusCode, reading: &PostReading) -> bool {
    if !status.is_client_error() || discovery::is_no_evidence(status) {
        return false;
    }
    match reading {
        PostReading::Rejected(_) => true,
        PostReading::Answer(answer) => {
            answer.error().is_some_and(|error| !is_told_in_modern_words(error.code))
        }
        _ => false,
    }
}
