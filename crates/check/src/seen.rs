//! The response to one request of the check, read within bounds of time and size.
//!
//! An event stream is read until it has answered, has ended, or has been watched for long enough. Reading a
//! server that sends without end stops at the bound on size.

use std::future::poll_fn;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::HeaderMap;
use ridethrough::Json;
use ridethrough::event::Answer;
use ridethrough::machine::answer::words;
use ridethrough::machine::discovery;
use ridethrough::machine::head::Content;
use ridethrough::probe::Found;
use ridethrough::transport::{AnswerHead, Body, Failure};
use ridethrough::wire::message::{Incoming, Message};
use ridethrough::wire::sse::{Decoder, Item, SseEvent};
use ridethrough_terminal::secrets;
use tokio::time::{Instant, timeout_at};

/// A response, as far as it was read.
pub(crate) struct AnswerSeen {
    pub(crate) head: AnswerHead,
    pub(crate) headers: HeaderMap,
    /// The body, or the event that held the answer.
    pub(crate) body: Bytes,
    /// The JSON-RPC answer to the request, if our client would read it.
    pub(crate) answer: Option<Answer>,
    /// Whether there is an answer that our client would not read, because of its content type.
    pub(crate) is_mistyped: bool,
    /// What an event stream said besides the answer.
    pub(crate) stream: Option<Streamed>,
    pub(crate) end: ReadEnd,
    /// How long it took until the answer was there, or the head if there is no answer.
    pub(crate) took: Duration,
    /// How long of that time the head took.
    pub(crate) head_took: Duration,
}

/// What an event stream said besides its messages.
#[derive(Clone, Debug, Default)]
pub(crate) struct Streamed {
    /// The last event id before the answer: a client that lost the stream there would resume after it.
    pub(crate) before: Option<String>,
    /// The event id of the answer itself.
    pub(crate) at: Option<String>,
    pub(crate) retry: Option<Duration>,
    /// How many events came, empty ones included.
    pub(crate) events: usize,
    /// The data of the first event of the kind `endpoint`: the mark of HTTP+SSE.
    pub(crate) endpoint: Option<String>,
}

/// How the reading of a response ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ReadEnd {
    /// The connection broke.
    Broken(Failure),
    Ended,
    /// The stream was still open when it had been watched for long enough.
    Open,
    /// The response became too large.
    Overlong,
}

/// The bounds on reading one response.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    pub(crate) bytes: usize,
    pub(crate) until: Instant,
    /// Whether to stop soon after the answer; otherwise the stream is watched for the whole time.
    pub(crate) stops_at_answer: bool,
}

impl AnswerSeen {
    /// Reads the response to the request with this id.
    pub(crate) async fn read(found: Found, id: u64, began: Instant, bounds: Bounds) -> Self {
        let mut body = found.body;
        let mut seen = Self {
            head: found.head,
            headers: found.headers,
            body: Bytes::new(),
            answer: None,
            is_mistyped: false,
            stream: None,
            end: ReadEnd::Ended,
            took: began.elapsed(),
            head_took: began.elapsed(),
        };
        if seen.head.is_stream() {
            seen.read_stream(&mut *body, id, began, bounds).await
        } else {
            seen.read_whole(&mut *body, id, began, bounds).await
        }
        seen
    }

    async fn read_whole(&mut self, body: &mut dyn Body, id: u64, began: Instant, bounds: Bounds) {
        let mut whole = BytesMut::new();
        self.end = loop {
            match chunk(body, bounds.until).await {
                Piece::Some(bytes) if whole.len() + bytes.len() > bounds.bytes => {
                    break ReadEnd::Overlong;
                }
                Piece::Some(bytes) => whole.extend_from_slice(&bytes),
                Piece::None(end) => break end,
            }
        };
        self.body = whole.freeze();
        let answer = answer_in(&self.body, id);
        // As in our client: refusals come as JSON under any content type, a success must name its type.
        let is_typed = matches!(self.head.content, Content::Json | Content::Nothing);
        self.is_mistyped = answer.is_some() && !is_typed && self.head.status.is_success();
        self.answer = answer.filter(|_| !self.is_mistyped);
        self.took = began.elapsed();
    }

    async fn read_stream(&mut self, body: &mut dyn Body, id: u64, began: Instant, bounds: Bounds) {
        let mut decoder = Decoder::new(bounds.bytes);
        let mut streamed = Streamed::default();
        let (mut size, mut until) = (0, bounds.until);
        self.end = loop {
            match chunk(body, until).await {
                Piece::Some(bytes) if size + bytes.len() > bounds.bytes => break ReadEnd::Overlong,
                Piece::Some(bytes) => {
                    size += bytes.len();
                    decoder.feed(bytes);
                }
                Piece::None(end) => break end,
            }
            while let Some(Ok(item)) = decoder.next_item() {
                let Item::Event(event) = item else { continue };
                if self.answer.is_none() {
                    self.take(&event, id, &mut streamed);
                    if self.answer.is_some() {
                        self.took = began.elapsed();
                    }
                }
                streamed.events += 1;
            }
            if self.answer.is_some() && bounds.stops_at_answer {
                until = until.min(Instant::now() + DRAIN);
            }
        };
        self.stream = Some(streamed);
    }

    fn take(&mut self, event: &SseEvent, id: u64, streamed: &mut Streamed) {
        streamed.retry = event.retry.or(streamed.retry);
        if event.kind.as_deref() == Some("endpoint") && streamed.endpoint.is_none() {
            streamed.endpoint = Some(String::from_utf8_lossy(&event.data).into_owned());
        }
        let event_id = event.id.as_ref().map(|it| it.as_str().to_owned());
        self.answer = event.is_message().then(|| answer_in(&event.data, id)).flatten();
        if self.answer.is_some() {
            self.body = event.data.clone();
            streamed.at = event_id;
        } else {
            streamed.before = event_id.or_else(|| streamed.before.take())
        }
    }

    /// Returns the result, if the answer is one.
    pub(crate) fn result(&self) -> Option<&Json> {
        match &self.answer {
            Some(Answer::Result(result)) => Some(result),
            _ => None,
        }
    }

    /// Returns the revision in a result of `initialize`.
    pub(crate) fn version(&self) -> Option<String> {
        self.result()?.member("protocolVersion")?.read()
    }

    /// Returns what the answer says about the session, as a call of our client would read it.
    pub(crate) fn session_loss(&self, id: u64) -> ridethrough::machine::Loss {
        // A call reads an event that answers it as it would read a body.
        let mut head = self.head.clone();
        if self.stream.is_some() {
            head.content = Content::Json;
        }
        ridethrough::machine::session_loss(&head, &self.body, id)
    }

    /// Returns the status and the server's message, in a few words.
    pub(crate) fn words(&self) -> String {
        let status = self.head.status.as_u16();
        match self.answer.as_ref().and_then(Answer::error) {
            Some(error) => {
                format!("{status} with error {}, `{}`", error.code, secrets::cut(&error.message))
            }
            None if self.stream.is_some() => format!("{status} with an event stream"),
            None if self.is_mistyped => format!("{status} with JSON-RPC as `{}`", self.kind()),
            None => match self.head.content {
                Content::Html => format!("{status} with an HTML page"),
                _ => status.to_string(),
            },
        }
    }

    /// Returns the message for people in the body of a refusal, unless `words` has it.
    pub(crate) fn said(&self) -> String {
        if self.answer.as_ref().and_then(Answer::error).is_some() {
            return String::new();
        }
        let said = words::of_refusal(self.head.content, &self.body);
        let said = said.map(|it| words::shortened(&secrets::masked(&it), LONGEST_WORDS));
        let said = said.filter(|it| !it.is_empty());
        said.map(|it| format!("; the server said `{it}`")).unwrap_or_default()
    }

    /// Returns the content type.
    pub(crate) fn kind(&self) -> String {
        secrets::cut(self.header("content-type").unwrap_or_default())
    }

    /// Whether the server, or a proxy before it, is too busy to answer. Such an answer says nothing about
    /// what the server would do otherwise.
    pub(crate) fn is_busy(&self) -> bool {
        matches!(self.head.status.as_u16(), 408 | 425 | 429 | 502..=504)
    }

    /// Returns why this response is no evidence of how the server treats the request, if it is none: the
    /// answer did not come whole, or need not be the server's own.
    pub(crate) fn no_evidence(&self) -> Option<String> {
        let is_foreign = discovery::is_no_evidence(self.head.status);
        is_foreign.then(|| self.turned_away()).or_else(|| self.unfinished())
    }

    /// Returns, as a reason, that the server answered with this status.
    pub(crate) fn turned_away(&self) -> String {
        format!("the server answers {}", self.words())
    }

    /// Returns why there is no answer, although a head came that promised one.
    pub(crate) fn unfinished(&self) -> Option<String> {
        let is_promised = self.head.status.is_success() && self.head.content != Content::Html;
        match &self.end {
            _ if self.answer.is_some() || !is_promised => None,
            ReadEnd::Broken(failure) => Some(format!("its answer broke off: {failure}")),
            ReadEnd::Ended => None,
            ReadEnd::Open => Some("its answer did not come in time".to_owned()),
            ReadEnd::Overlong => Some("its answer is too long".to_owned()),
        }
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }
}

/// Returns the answer to this request among the messages of a body.
fn answer_in(body: &Bytes, id: u64) -> Option<Answer> {
    let messages = Incoming::parse(body).ok()?.into_messages();
    messages.into_iter().find_map(|message| match message {
        Message::Response { id: of, answer }
            if of.as_ref().is_none_or(|of| of.number() == Some(id)) =>
        {
            Some(answer)
        }
        _ => None,
    })
}

enum Piece {
    Some(Bytes),
    None(ReadEnd),
}

async fn chunk(body: &mut dyn Body, until: Instant) -> Piece {
    let next = poll_fn(|context| body.poll_chunk(context));
    match timeout_at(until, next).await {
        Err(_) => Piece::None(ReadEnd::Open),
        Ok(None) => Piece::None(ReadEnd::Ended),
        Ok(Some(Ok(bytes))) => Piece::Some(bytes),
        Ok(Some(Err(failure))) => Piece::None(ReadEnd::Broken(failure)),
    }
}

/// The most characters of a refusal's message that are shown.
const LONGEST_WORDS: usize = 300;
/// How long a stream may go on after its answer for its connection to be used again.
const DRAIN: Duration = Duration::from_secs(1);
