//! A layer before `rmcp`'s HTTP service that records what passes, and breaks it as a test says.

use std::convert::Infallible;
use std::sync::Mutex;

use bytes::Bytes;
use futures_util::{Stream, StreamExt};
use http::{HeaderMap, Method, Request, Response};
use http_body_util::combinators::{BoxBody, UnsyncBoxBody};
use http_body_util::{BodyExt, BodyStream, Empty, Full, StreamBody};
use hyper::body::{Frame, Incoming};
use tokio::time::Instant;

/// A body that may break off.
pub(crate) type Body = UnsyncBoxBody<Bytes, std::io::Error>;

/// A body of `rmcp`'s service.
pub(crate) type Theirs = BoxBody<Bytes, Infallible>;

/// The kind of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Asked {
    Delete,
    /// A message, by its method; an empty method for an answer of the client.
    Post(String),
    /// A resume of the stream of a call.
    Resume,
    /// The standing stream, opened for the first time or again.
    Standing,
}

/// What is done to a request instead of passing it on.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Fault {
    /// Accepts it as a stream, and cuts that at once.
    AcceptAndCut,
    /// Passes it on, and cuts the answer off after so many events.
    CutAfter(usize),
    /// Answers with this status, and a `Retry-After` of so many seconds.
    Refuse(u16, Option<u64>),
}

#[derive(Default)]
pub(crate) struct Front {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    seen: Vec<(Asked, Instant)>,
    rules: Vec<Rule>,
}

struct Rule {
    asked: Asked,
    fault: Fault,
    left: usize,
}

impl Front {
    /// Applies this fault to the next so many requests of that kind.
    pub(crate) fn rule(&self, asked: Asked, fault: Fault, times: usize) {
        self.state.lock().unwrap().rules.push(Rule { asked, fault, left: times });
    }

    /// Returns how many requests of a kind came.
    pub(crate) fn count(&self, asked: &Asked) -> usize {
        self.times(asked).len()
    }

    /// Returns when they came.
    pub(crate) fn times(&self, asked: &Asked) -> Vec<Instant> {
        let state = self.state.lock().unwrap();
        state.seen.iter().filter(|(each, _)| each == asked).map(|(_, at)| *at).collect()
    }

    /// Reads a request and returns what is to become of it.
    pub(crate) async fn admit(
        &self,
        request: Request<Incoming>,
    ) -> (Request<Full<Bytes>>, Option<Fault>) {
        let (head, body) = request.into_parts();
        let body =
            body.collect().await.map(http_body_util::Collected::to_bytes).unwrap_or_default();
        let asked = match head.method {
            Method::DELETE => Asked::Delete,
            Method::GET if resumes_a_call(&head.headers) => Asked::Resume,
            Method::GET => Asked::Standing,
            _ => Asked::Post(method(&body)),
        };
        let mut state = self.state.lock().unwrap();
        let rule = state.rules.iter_mut().find(|rule| rule.asked == asked && rule.left > 0);
        let fault = rule.map(|rule| {
            rule.left -= 1;
            rule.fault
        });
        state.seen.push((asked, Instant::now()));
        (Request::from_parts(head, Full::new(body)), fault)
    }
}

/// Whether a GET resumes the stream of a call: `rmcp` numbers the events of a call with a slash, and those of
/// the standing stream without one.
fn resumes_a_call(headers: &HeaderMap) -> bool {
    let last = headers.get("last-event-id").and_then(|id| id.to_str().ok());
    last.is_some_and(|id| id.contains('/'))
}

/// Returns the method of a message.
fn method(body: &[u8]) -> String {
    let message: serde_json::Value = serde_json::from_slice(body).unwrap_or_default();
    message["method"].as_str().unwrap_or_default().to_owned()
}

/// Returns an answer that `rmcp`'s service did not give.
pub(crate) fn refusal(status: u16, retry_after: Option<u64>) -> Response<Body> {
    let mut answer = Response::builder().status(status);
    if let Some(seconds) = retry_after {
        answer = answer.header("retry-after", seconds);
    }
    answer.body(Empty::new().map_err(never).boxed_unsync()).unwrap()
}

/// Returns a stream that was accepted and broke off.
pub(crate) fn cut_stream() -> Response<Body> {
    let answer = Response::builder().header("content-type", "text/event-stream");
    answer.body(StreamBody::new(cut_here()).boxed_unsync()).unwrap()
}

/// Returns the answer unchanged.
pub(crate) fn whole(answer: Response<Theirs>) -> Response<Body> {
    answer.map(|body| body.map_err(never).boxed_unsync())
}

/// Returns the answer up to its `events`th event, and then the end of the connection.
pub(crate) fn cut(answer: Response<Theirs>, events: usize) -> Response<Body> {
    answer.map(|body| {
        // `rmcp` writes one frame for each event.
        let frames = BodyStream::new(body).map(|frame| frame.map_err(never)).take(events);
        StreamBody::new(frames.chain(cut_here())).boxed_unsync()
    })
}

/// Returns the sudden end of a body. It waits for a turn, because hyper flushes when it waits for a body.
fn cut_here() -> impl Stream<Item = Result<Frame<Bytes>, std::io::Error>> + Send {
    futures_util::stream::once(async {
        tokio::task::yield_now().await;
        Err(std::io::Error::other("cut"))
    })
}

fn never(never: Infallible) -> std::io::Error {
    match never {}
}
