//! The news that the network will give about one request, and when.

use std::time::Duration;

use bytes::Bytes;
use http::StatusCode;
use ridethrough_core::head::{Challenge, Content, Redirect};
use ridethrough_core::{AnswerHead, AttemptId, Cause, Failure, Link, Moment};
use ridethrough_wire::sse;

/// A piece of news about an attempt.
#[derive(Clone, Debug)]
pub(crate) enum News {
    Body(Bytes),
    Comment,
    End,
    Event(sse::SseEvent),
    Failure(Failure),
    Head(AnswerHead),
}

impl News {
    /// Gives the news to the machine.
    pub(crate) fn report(self, link: &mut Link, now: Moment, attempt: AttemptId) {
        match self {
            Self::Body(body) => link.handle_body(now, attempt, &body),
            Self::Comment => link.handle_bytes(now, attempt),
            Self::End => link.handle_end(now, attempt),
            Self::Event(event) => link.handle_event(now, attempt, &event),
            Self::Failure(failure) => link.handle_failure(now, attempt, failure),
            Self::Head(head) => link.handle_head(now, attempt, head),
        }
    }
}

/// The news of one attempt, each with its delay after the request.
#[derive(Debug, Default)]
pub(crate) struct Script(pub(crate) Vec<(Duration, News)>);

impl Script {
    /// Returns a script without news: a black hole.
    pub(crate) const fn silence() -> Self {
        Self(Vec::new())
    }

    pub(crate) fn failure(after: Duration, failure: Failure) -> Self {
        Self(vec![(after, News::Failure(failure))])
    }

    /// Returns a script with the proof that nothing was sent.
    pub(crate) fn not_sent(after: Duration, cause: Cause) -> Self {
        Self::failure(after, Failure::not_sent(cause))
    }

    /// Returns a script in which the connection broke; what arrived is unknown.
    pub(crate) fn reset(after: Duration) -> Self {
        Self::failure(after, Failure::unknown(Cause::Reset))
    }

    pub(crate) fn status(after: Duration, status: u16) -> Self {
        Self::answer(after, head(status, Content::Nothing), Bytes::new())
    }

    pub(crate) fn json(after: Duration, status: u16, body: String) -> Self {
        Self::answer(after, head(status, Content::Json), body.into())
    }

    pub(crate) fn busy(after: Duration, status: u16, hint: Duration) -> Self {
        let mut head = head(status, Content::Nothing);
        head.retry_after = Some(hint);
        Self::answer(after, head, Bytes::new())
    }

    pub(crate) fn redirect(after: Duration, to: &str) -> Self {
        let mut head = head(307, Content::Html);
        head.redirect = Some(Redirect::SameOrigin(to.into()));
        Self::answer(after, head, Bytes::new())
    }

    pub(crate) fn challenge(after: Duration) -> Self {
        let mut head = head(401, Content::Nothing);
        head.challenge = Some(Challenge::credentials());
        Self::answer(after, head, Bytes::new())
    }

    pub(crate) fn answer(after: Duration, head: AnswerHead, body: Bytes) -> Self {
        Self(vec![(after, News::Head(head)), (after, News::Body(body))])
    }

    /// Returns a script with an open stream, to which events are added.
    pub(crate) fn stream(after: Duration) -> Self {
        Self(vec![(after, News::Head(head(200, Content::EventStream)))])
    }

    pub(crate) fn push(&mut self, after: Duration, news: News) {
        self.0.push((after, news));
    }
}

pub(crate) fn head(status: u16, content: Content) -> AnswerHead {
    AnswerHead::new(StatusCode::from_u16(status).expect("a status of our own"), content)
}

pub(crate) fn event(id: Option<&str>, data: &str, retry: Option<Duration>) -> News {
    News::Event(sse::SseEvent {
        kind: None,
        data: Bytes::copy_from_slice(data.as_bytes()),
        id: id.map(sse::EventId::from),
        retry,
    })
}
