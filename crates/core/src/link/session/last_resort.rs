//! HTTP+SSE as the last resort: a server that refuses `initialize` may be one of 2024-11-05.
//!
//! ```text
//!   initialize refused by a 4xx ──initialize over SSE───▶ answered: HTTP+SSE, for an hour
//!                                                     └──▶ refused too: the first refusal counts
//! ```
//! A server that is down, busy or behind a guard has not refused: it is never taken for an old one. If a
//! stream is refused where it was good before, the link forgets what it knows and begins with Streamable HTTP
//! again.

use http::StatusCode;
use ridethrough_wire::era::{Carrier, Era};
use ridethrough_wire::message::Answer;

use super::Sessions;
use super::renewal::{Opens, RefusedInitialize};
use crate::answer::{PostReading, discovery, is_told_in_modern_words};
use crate::event::Event;
use crate::head::AnswerHead;
use crate::link::context::Context;
use crate::link::effects::SessionEffect;
use crate::moment::Moment;

/// What is known of HTTP+SSE at this server.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LastResort {
    /// Whether the transport can carry HTTP+SSE.
    is_possible: bool,
    /// When the server was found to speak nothing but HTTP+SSE.
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
    /// Returns the first request of the next handshake.
    pub(crate) fn opens(&mut self, now: Moment) -> Opens {
        let is_last_resort = self.renewal().is_some_and(|it| it.refusal.is_some());
        if is_last_resort { Opens::Initialize(Carrier::HttpSse) } else { self.era.opens(now) }
    }

    /// Handles the answer to `initialize` over Streamable HTTP.
    pub(crate) fn first_try_answered(
        &mut self,
        cx: &mut Context,
        head: &AnswerHead,
        reading: PostReading,
    ) {
        if !self.era.last_resort.is_possible || !is_refused(head.status, &reading) {
            return self.initialize_answered(cx, head, reading);
        }
        if self.doubts_era(cx, &reading) {
            return;
        }
        if let Some(renewal) = self.renewal() {
            renewal.refusal = Some(Box::new(RefusedInitialize { head: head.clone(), reading }));
            cx.then(SessionEffect::TryHandshake);
        }
    }

    /// Handles the answer to `initialize` over HTTP+SSE, or a refusal of the stream for it.
    pub(crate) fn last_resort_answered(
        &mut self,
        cx: &mut Context,
        head: &AnswerHead,
        reading: PostReading,
    ) {
        // A server of Streamable HTTP refuses a GET that names no session.
        let wants_session =
            matches!(reading, PostReading::Suspected(_)) && head.status.is_client_error();
        if wants_session || is_refused(head.status, &reading) {
            return self.last_resort_refused(cx);
        }
        if let PostReading::Answer(answer) = &reading
            && let Some(renewal) = self.renewal()
            && renewal.refusal.take().is_some()
            && matches!(answer, Answer::Result(_))
        {
            self.era.last_resort.found = Some(cx.now);
            cx.tell(Event::FellBack { to: Carrier::HttpSse });
        }
        self.initialize_answered(cx, head, reading);
    }

    fn last_resort_refused(&mut self, cx: &mut Context) {
        let Some(renewal) = self.renewal() else { return };
        match renewal.refusal.take() {
            Some(refusal) => {
                let RefusedInitialize { head, reading } = *refusal;
                self.initialize_answered(cx, &head, reading);
            }
            None => {
                // The server spoke HTTP+SSE before; it may have been upgraded.
                self.era.last_resort.forget();
                cx.then(SessionEffect::TryHandshake);
            }
        }
    }

    /// Row 19: gives up the session of a server that accepts requests and sends nothing on its HTTP+SSE
    /// stream, because that stream is lost.
    pub(crate) fn leave_dead_stream(&mut self, cx: &mut Context) {
        let on_stream = self.ready().filter(|ready| ready.address.carrier == Carrier::HttpSse);
        if let Some(generation) = on_stream.map(|ready| ready.generation()) {
            self.lose(cx, generation);
        }
    }
}

/// Whether an answer to `initialize` says that the server does not accept it over this carrier, and is not in
/// the words of the stateless revision. A status that a guard or a limit may have sent does not count.
fn is_refused(status: StatusCode, reading: &PostReading) -> bool {
    if !status.is_client_error() || discovery::is_no_evidence(status) {
        return false;
    }
    match reading {
        PostReading::Rejected(..) => true,
        PostReading::Answer(answer) => {
            answer.error().is_some_and(|error| !is_told_in_modern_words(error.code))
        }
        _ => false,
    }
}
