//! Answers to stateless requests in HTTP: JSON if the answer comes first and soon, an event stream if
//! anything comes before it.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream;
use http::StatusCode;
use ridethrough_wire::message::Answer;
use tokio::time::{Instant, timeout_at};

use super::answers::written;
use super::call::{CallEvent, StatelessCall};
use super::holds::Holds;
use super::listening::{Listening, Told};
use super::question::input_required;
use super::refusal::{over_quota, status_of};
use super::seal::Digest;
use crate::reply::{self, Reply};
use crate::streams::Carries;

/// Writes the answer to a call of one principal.
pub(crate) struct CallWriter {
    pub(crate) holds: Arc<Holds>,
    pub(crate) principal: Digest,
}

/// The answer to a call.
struct Last {
    status: StatusCode,
    retry_after: Option<Duration>,
    pieces: Vec<Bytes>,
}

/// The state of a call after an event.
enum Progressed {
    Done(Last),
    GoesOn(Box<StatelessCall>),
}

impl CallWriter {
    /// Answers with the events of a call. The call is cancelled if the client disconnects.
    pub(crate) async fn reply(self, call: StatelessCall, carries: Carries) -> Reply {
        let mut call = Box::new(call);
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
                    Progressed::Done(Last { status, retry_after, pieces }) => {
                        let reply = reply::pieces(status, pieces);
                        return match retry_after {
                            Some(wait) => reply::come_again(reply, wait),
                            None => reply,
                        };
                    }
                    Progressed::GoesOn(same) => call = same,
                },
            }
        }
    }

    fn events(self, first: Option<Bytes>, call: Box<StatelessCall>) -> Reply {
        let first: Vec<_> = first.map(|notice| event(vec![notice])).into_iter().collect();
        let rest = stream::unfold((self, Some(call)), |(answering, call)| async {
            let mut call = call?;
            loop {
                match call.next().await {
                    CallEvent::Notice(notice) => {
                        return Some((event(vec![notice]), (answering, Some(call))));
                    }
                    CallEvent::Silence => return Some((silence(), (answering, Some(call)))),
                    last => match answering.step(call, last).await {
                        Progressed::Done(last) => {
                            return Some((event(last.pieces), (answering, None)));
                        }
                        Progressed::GoesOn(same) => call = same,
                    },
                }
            }
        });
        reply::event_stream(first, rest)
    }

    async fn step(&self, call: Box<StatelessCall>, event: CallEvent) -> Progressed {
        let (id, method) = (call.id.clone(), call.state.method.clone());
        let server = call.conversation.server.clone();
        let answer = match event {
            CallEvent::Notice(_) | CallEvent::Silence => return Progressed::GoesOn(call),
            CallEvent::Answer(answer) => answer,
            CallEvent::Ask(questions) => match self.holds.hold(*call, self.principal) {
                Ok(state) => Answer::Result(input_required(&questions, &state)),
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
    let first = event(vec![listening.acknowledgement()]);
    let rest = stream::unfold(listening, |mut listening| async {
        let told = match listening.next().await? {
            Told::Message(message) => event(vec![message]),
            Told::Silence => silence(),
        };
        Some((told, listening))
    });
    reply::event_stream(vec![first], rest)
}

fn event(pieces: Vec<Bytes>) -> Vec<Bytes> {
    let (head, end) = (Bytes::from_static(b"data: "), Bytes::from_static(b"\n\n"));
    [head].into_iter().chain(pieces).chain([end]).collect()
}

fn silence() -> Vec<Bytes> {
    vec![Bytes::from_static(b": still here\n\n")]
}

/// How long the head of an answer waits for the answer: long enough for most answers, and shorter than the
/// patience of every proxy.
const SOON: Duration = Duration::from_secs(2);
