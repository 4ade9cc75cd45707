//! Answers to stateless requests: what comes before an answer and the answer, in pieces; and in HTTP, where that
//! is JSON if the answer comes first and soon, or else an event stream.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::StreamExt;
use futures_util::stream::{self, Stream};
use http::StatusCode;
use ridethrough_wire::message::{Answer, Id};
use ridethrough_wire::stateless::input_required;
use tokio::time::{Instant, timeout_at};

use super::answers::written;
use super::call::{CallEvent, StatelessCall};
use super::holds::Holds;
use super::listening::{Listening, Told};
use super::refusal::{over_quota, status_of};
use super::seal::Digest;
use crate::fault::error;
use crate::reply::{self, Reply};
use crate::streams::Carries;

/// Writes the answer to a call of one principal.
pub(crate) struct CallWriter {
    pub(crate) holds: Arc<Holds>,
    pub(crate) principal: Digest,
}

/// The answer to a request.
pub(crate) struct Last {
    pub(crate) status: StatusCode,
    pub(crate) retry_after: Option<Duration>,
    pub(crate) pieces: Vec<Bytes>,
}

impl Last {
    pub(crate) const fn ok(pieces: Vec<Bytes>) -> Self {
        Self { status: StatusCode::OK, retry_after: None, pieces }
    }

    /// Returns an answer that is an error.
    pub(crate) fn refusal(id: Option<&Id>, code: i64, message: &str) -> Self {
        let pieces = vec![error(id, code, message, None)];
        Self { status: StatusCode::BAD_REQUEST, retry_after: None, pieces }
    }

    /// Returns the answer in HTTP.
    pub(crate) fn reply(self) -> Reply {
        let reply = reply::pieces(self.status, self.pieces);
        match self.retry_after {
            Some(wait) => reply::come_again(reply, wait),
            None => reply,
        }
    }
}

/// The state of a call after an event.
enum Progressed {
    Done(Last),
    GoesOn(Box<StatelessCall>),
}

impl CallWriter {
    /// Answers with the events of a call. The call is cancelled if the client disconnects.
    pub(crate) async fn reply(self, mut call: Box<StatelessCall>, carries: Carries) -> Reply {
        let until = Instant::now() + SOON;
        loop {
            let event = match carries {
                Carries::Answers => Ok(call.next().await),
                Carries::Everything => timeout_at(until, call.next()).await,
            };
            match (event, carries) {
                (Err(_), _) => return self.events(None, call),
                (Ok(CallEvent::Notice(notice)), Carries::Everything) => {
                    return self.events(Some(notice), call);
                }
                (Ok(event), _) => match self.step(call, event).await {
                    Progressed::Done(last) => return last.reply(),
                    Progressed::GoesOn(same) => call = same,
                },
            }
        }
    }

    fn events(self, first: Option<Bytes>, call: Box<StatelessCall>) -> Reply {
        let first: Vec<_> = first.map(|notice| event(vec![notice])).into_iter().collect();
        reply::event_stream(first, self.pieces(call).map(written_as_event))
    }

    /// Returns what comes of a call, each in pieces, of which the last is the answer; `None` stands for nothing that
    /// has come for a while. Dropping the stream cancels the call.
    pub(crate) fn pieces(
        self,
        call: Box<StatelessCall>,
    ) -> impl Stream<Item = Option<Vec<Bytes>>> + Send + 'static {
        stream::unfold((self, Some(call)), |(answering, call)| async {
            let mut call = call?;
            loop {
                match call.next().await {
                    CallEvent::Notice(notice) => {
                        return Some((Some(vec![notice]), (answering, Some(call))));
                    }
                    CallEvent::Silence => return Some((None, (answering, Some(call)))),
                    last => match answering.step(call, last).await {
                        Progressed::Done(last) => {
                            return Some((Some(last.pieces), (answering, None)));
                        }
                        Progressed::GoesOn(same) => call = same,
                    },
                }
            }
        })
    }

    async fn step(&self, call: Box<StatelessCall>, event: CallEvent) -> Progressed {
        let (id, method) = (call.id.clone(), call.state.method.clone());
        let server = call.conversation.server.clone();
        let answer = match event {
            CallEvent::Notice(_) | CallEvent::Silence => return Progressed::GoesOn(call),
            CallEvent::Answer(answer) => answer,
            CallEvent::Ask(questions) => match self.holds.hold(*call, self.principal) {
                Ok(state) => {
                    let asked = questions.iter();
                    let asked = asked.map(|it| (it.key.clone(), &*it.method, it.params.clone()));
                    Answer::Result(input_required(asked, Some(&state)))
                }
                Err(call) => {
                    call.refuse_questions("too many calls wait for answers").await;
                    return Progressed::GoesOn(call);
                }
            },
        };
        let (status, retry_after) = (status_of(&answer), over_quota(&answer));
        let pieces = written(&id, &answer, &method, server.as_ref());
        Progressed::Done(Last { status, retry_after, pieces })
    }
}

/// Answers with the changes that a client listens for.
pub(crate) fn changes(listening: Listening) -> Reply {
    reply::event_stream(Vec::new(), told(listening).map(written_as_event))
}

/// Returns what a client that listens is told; `None` stands for nothing that has come for a while.
pub(crate) fn told(
    listening: Listening,
) -> impl Stream<Item = Option<Vec<Bytes>>> + Send + 'static {
    let first = stream::iter([Some(vec![listening.acknowledgement()])]);
    first.chain(stream::unfold(listening, |mut listening| async {
        let told = match listening.next().await? {
            Told::Message(message) => Some(vec![message]),
            Told::Silence => None,
        };
        Some((told, listening))
    }))
}

fn written_as_event(pieces: Option<Vec<Bytes>>) -> Vec<Bytes> {
    pieces.map_or_else(|| vec![Bytes::from_static(b": still here\n\n")], event)
}

fn event(pieces: Vec<Bytes>) -> Vec<Bytes> {
    let (head, end) = (Bytes::from_static(b"data: "), Bytes::from_static(b"\n\n"));
    [head].into_iter().chain(pieces).chain([end]).collect()
}

/// How long the head of an answer waits for the answer: long enough for most answers, and shorter than the
/// patience of every proxy.
const SOON: Duration = Duration::from_secs(2);
