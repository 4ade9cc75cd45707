//! HTTP+SSE, the transport of 2024-11-05, on top of HTTP: each message of the client is a POST to an address
//! that the server names, and all messages of the server come on one stream, opened by GET.
//!
//! It makes this look like Streamable HTTP to the machine, as `stdio` does with lines. It decides nothing: it
//! opens one stream for each handshake, and never a second one by itself.
//!
//! ```text
//!   POST initialize      a stream is opened; 200, an event stream that ends with the answer
//!   POST request         200, an event stream that ends with the answer, wherever the server put it
//!   POST anything else   202 once it is accepted
//!   GET                  200, everything that no call waits for
//!   DELETE               204, the stream is closed
//! ```
//! Each stream is a session of its own: a request in the session of a closed stream is answered by 404. A
//! POST that the server refuses is answered as the server did. Requests by Streamable HTTP pass through
//! untouched.

mod opening;
mod posting;
mod stream;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::{BoxFuture, FutureExt, ready};
use http::StatusCode;
use ridethrough_core::head::{Content, Redirect};
use ridethrough_core::session::SessionId;
use ridethrough_core::{Address, AnswerHead, Carrier, Cause, Failure, Outgoing, Route, Verb};
use ridethrough_wire::message::{Incoming, Message};

use crate::credentials::Token;
use crate::drain::{self, Bounds};
use crate::endpoint::Endpoint;
use crate::switchboard::{Awaited, LineBody, LineSource, Parcel};
use crate::transport::{Recall, Reply, Transport, TransportRequest};

use opening::Opening;
use posting::{Held, Posting};
use stream::Stream;

/// The HTTP transport with both carriers: Streamable HTTP and HTTP+SSE.
pub struct HttpSse {
    shared: Arc<HttpSseShared>,
}

/// What all requests of one client share.
struct HttpSseShared {
    http: Arc<dyn Transport>,
    endpoint: Endpoint,
    message_limit: usize,
    streams: Mutex<OpenStreams>,
}

#[derive(Default)]
struct OpenStreams {
    opened: u64,
    /// The stream of the newest session. Calls of an older one hold theirs until they end.
    current: Option<Arc<Stream>>,
}

/// A message on its way to the server.
struct OutgoingMessage {
    outgoing: Outgoing,
    token: Option<Token>,
    recall: Recall,
}

impl HttpSse {
    /// Speaks it over this transport, by which each request goes out as HTTP.
    pub fn new(http: Arc<dyn Transport>, endpoint: Endpoint, message_limit: usize) -> Self {
        let streams = Mutex::default();
        Self { shared: Arc::new(HttpSseShared { http, endpoint, message_limit, streams }) }
    }
}

impl Transport for HttpSse {
    fn perform(&self, request: TransportRequest) -> BoxFuture<'static, Result<Reply, Failure>> {
        match request {
            TransportRequest::Request { outgoing, token, recall }
                if outgoing.to.carrier == Carrier::HttpSse =>
            {
                let shared = self.shared.clone();
                Box::pin(async move {
                    let reply = shared.ask(OutgoingMessage { outgoing, token, recall }).await?;
                    Ok(without_connection(reply))
                })
            }
            request => self.shared.http.perform(request),
        }
    }
}

impl HttpSseShared {
    async fn ask(&self, letter: OutgoingMessage) -> Result<Reply, Failure> {
        let session = letter.outgoing.to.session.as_ref();
        match &letter.outgoing.verb {
            Verb::Delete => Ok(self.close(session)),
            // In this revision, the rest of a broken stream is lost.
            Verb::Get { last_event_id: Some(_) } => Ok(status(StatusCode::METHOD_NOT_ALLOWED)),
            Verb::Get { last_event_id: None } => Ok(self.listen(session)),
            Verb::Post { body } => match asked(body)? {
                Some(WantedAnswer { id, method }) if &*method == "initialize" => {
                    self.shake_hands(id, letter).await
                }
                asked => match (self.stream_of(session), asked) {
                    (None, _) => Ok(status(StatusCode::NOT_FOUND)),
                    (Some(stream), Some(asked)) => self.request(stream, asked, letter).await,
                    (Some(stream), None) => self.tell(&stream, letter).await,
                },
            },
        }
    }

    /// Begins a session: opens a stream, which names the address to post to, and waits for the answer on it.
    async fn shake_hands(&self, id: u64, letter: OutgoingMessage) -> Result<Reply, Failure> {
        let opening = Opening { shared: self, letter: &letter };
        let stream = match opening.stream().await? {
            Ok(stream) => stream,
            Err(refusal) => return Ok(refusal),
        };
        let sent = match self.send(&stream, id, letter, Until::Answered).await? {
            Ok(sent) => sent,
            // The session ended with its stream, which says nothing about what the server speaks.
            Err(refusal) if !stream.is_open() && names_no_session(&refusal) => {
                return Err(stream::over());
            }
            Err(refusal) => return Ok(refusal),
        };
        self.keep(&stream);
        let mut head = AnswerHead::new(StatusCode::OK, Content::EventStream);
        head.session = SessionId::new(&stream.number.to_string());
        Ok(sent.answered(head, stream))
    }

    async fn request(
        &self,
        stream: Arc<Stream>,
        asked: WantedAnswer,
        letter: OutgoingMessage,
    ) -> Result<Reply, Failure> {
        // An accepted ping does not show that its answer can arrive: the stream may be dead.
        let until = if &*asked.method == "ping" { Until::Answered } else { Until::Taken };
        match self.send(&stream, asked.id, letter, until).await? {
            Ok(sent) => {
                let head = AnswerHead::new(StatusCode::OK, Content::EventStream);
                Ok(sent.answered(head, stream))
            }
            Err(refusal) => Ok(refusal),
        }
    }

    /// Sends a message that has no answer.
    async fn tell(&self, stream: &Stream, letter: OutgoingMessage) -> Result<Reply, Failure> {
        match posted(self.post(stream, letter).await?) {
            Posted::Taken(reply) => {
                tokio::spawn(drain::drain_reply(ready(Ok(reply)), REST));
                Ok(status(StatusCode::ACCEPTED))
            }
            Posted::Refused(refusal) => Ok(refusal),
        }
    }

    /// Sends a request and waits for its acceptance or its answer, which may arrive first. A refusal is the
    /// inner error.
    async fn send(
        &self,
        stream: &Arc<Stream>,
        id: u64,
        letter: OutgoingMessage,
        until: Until,
    ) -> Result<Result<Sent, Reply>, Failure> {
        // The answer is expected before the request is sent, because it may arrive before the acceptance.
        let Ok(mut awaited) = stream.await_answer(id) else {
            return Ok(Err(status(StatusCode::NOT_FOUND)));
        };
        let mut posting = self.post(stream, letter);
        let (first, posting) = tokio::select! {
            biased;
            first = awaited.first() => (Some(first), posting),
            reply = &mut posting => match posted(reply?) {
                Posted::Taken(reply) => (None, ready(Ok(reply)).boxed()),
                Posted::Refused(refusal) => return Ok(Err(refusal)),
            },
        };
        if let Some(lost @ (None | Some(Err(_)))) = first {
            let lost = lost.and_then(Result::err).unwrap_or_else(stream::over);
            return self.lost(stream, id, posting.await?, until, lost).await;
        }
        let posting = Posting::hold(posting, id, stream);
        let first = match (first, until) {
            (None, Until::Answered) => awaited.first().await.ok_or_else(stream::over)?.map(Some)?,
            (first, _) => first.flatten().transpose()?,
        };
        Ok(Ok(Sent { awaited, first, posting }))
    }

    /// Handles a request whose stream has ended. Only the POST can tell whether the server has the request,
    /// and its body may even be the answer. A handshake or a ping fails in any case, because its session is
    /// over.
    async fn lost(
        &self,
        stream: &Stream,
        id: u64,
        reply: Reply,
        until: Until,
        lost: Failure,
    ) -> Result<Result<Sent, Reply>, Failure> {
        let reply = match posted(reply) {
            Posted::Taken(reply) if until == Until::Taken => reply,
            Posted::Taken(_) => return Err(lost),
            Posted::Refused(refusal) => return Ok(Err(refusal)),
        };
        match posting::answer_in(reply, id, stream).await? {
            Some(answer) => {
                let head = AnswerHead::new(StatusCode::OK, Content::Json);
                Ok(Err(Reply::whole(head, answer)))
            }
            None => Err(lost),
        }
    }

    fn post(
        &self,
        stream: &Stream,
        letter: OutgoingMessage,
    ) -> BoxFuture<'static, Result<Reply, Failure>> {
        let OutgoingMessage { outgoing, token, recall } = letter;
        // This revision has neither a session nor a version to name.
        let (generation, target) = (outgoing.to.generation, Some(stream.post_to.clone()));
        let to = Address { generation, target, ..Address::default() };
        // All answers of a session come on one stream, whichever connection carries the request.
        let outgoing = Outgoing { to, route: Route::Any, ..outgoing };
        self.http.perform(TransportRequest::Request { outgoing, token, recall })
    }

    fn listen(&self, session: Option<&SessionId>) -> Reply {
        let Some(stream) = self.named(session) else { return status(StatusCode::NOT_FOUND) };
        match stream.listen() {
            Some(deliveries) => {
                let head = AnswerHead::new(StatusCode::OK, Content::EventStream);
                answered(
                    head,
                    Held::new(LineBody::new(LineSource::Standing(deliveries), None), stream),
                )
            }
            None => status(StatusCode::NOT_FOUND),
        }
    }

    fn close(&self, session: Option<&SessionId>) -> Reply {
        match self.stream_of(session) {
            Some(stream) => {
                self.streams().current.take_if(|current| Arc::ptr_eq(current, &stream));
                stream.close();
                status(StatusCode::NO_CONTENT)
            }
            None => status(StatusCode::NOT_FOUND),
        }
    }

    /// Returns the stream of this session, if it is open.
    fn stream_of(&self, session: Option<&SessionId>) -> Option<Arc<Stream>> {
        self.named(session).filter(|stream| stream.is_open())
    }

    /// Returns the stream of this session.
    fn named(&self, session: Option<&SessionId>) -> Option<Arc<Stream>> {
        let number: u64 = session?.as_str().parse().ok()?;
        self.streams().current.clone().filter(|stream| stream.number == number)
    }

    fn next_number(&self) -> u64 {
        let mut streams = self.streams();
        streams.opened += 1;
        streams.opened
    }

    /// Makes a stream the current one, unless a newer one is: then its handshake was abandoned.
    fn keep(&self, stream: &Arc<Stream>) {
        let mut streams = self.streams();
        if streams.current.as_ref().is_none_or(|current| current.number < stream.number) {
            streams.current = Some(stream.clone());
        }
    }

    fn streams(&self) -> MutexGuard<'_, OpenStreams> {
        // No code panics while it holds the lock.
        self.streams.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A request that the server has accepted.
struct Sent {
    awaited: Awaited,
    first: Option<Parcel>,
    posting: Posting,
}

impl Sent {
    fn answered(self, head: AnswerHead, stream: Arc<Stream>) -> Reply {
        let body = LineBody::new(LineSource::Call(self.awaited), self.first);
        answered(head, Held::new(body, stream).with(self.posting))
    }
}

/// The request in a message: its id and method.
struct WantedAnswer {
    id: u64,
    method: Box<str>,
}

/// Whether a refusal is one that servers give when they do not know the session.
fn names_no_session(refusal: &Reply) -> bool {
    matches!(refusal, Reply::Answered { head, .. } if matches!(head.status.as_u16(), 400 | 404 | 410))
}

/// What a request waits for before it counts as answered.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Until {
    Answered,
    Taken,
}

/// Returns the request in a message; `None` if it is a notification or an answer.
fn asked(body: &Bytes) -> Result<Option<WantedAnswer>, Failure> {
    match Incoming::parse(body) {
        Ok(Incoming::One(Message::Request { id, method, .. })) => {
            Ok(id.number().map(|id| WantedAnswer { id, method }))
        }
        Ok(Incoming::One(_)) => Ok(None),
        _ => Err(Failure::not_sent(Cause::Unreadable).with_detail(NO_MESSAGE)),
    }
}

/// Whether a body holds the response to this request.
fn answers(body: &Bytes, id: u64) -> bool {
    let messages = Incoming::parse(body).map(Incoming::into_messages).unwrap_or_default();
    messages.iter().any(|message| {
        matches!(message, Message::Response { id: Some(it), .. } if it.number() == Some(id))
    })
}

/// How the server answered a POST.
enum Posted {
    Refused(Reply),
    Taken(Reply),
}

fn posted(reply: Reply) -> Posted {
    let Reply::Answered { mut head, body, capacity } = reply else { return Posted::Taken(reply) };
    if head.status.is_success() {
        return Posted::Taken(Reply::Answered { head, body, capacity });
    }
    // The server named this address for the life of the stream: there is no other to be redirected to.
    head.redirect.take_if(|to| matches!(to, Redirect::SameOrigin(_)));
    Posted::Refused(Reply::Answered { head, body, capacity })
}

/// Returns a reply that names no connection, because the server identifies the client by its stream.
fn without_connection(mut reply: Reply) -> Reply {
    if let Reply::Answered { head, .. } = &mut reply {
        head.connection = None;
    }
    reply
}

fn answered(head: AnswerHead, body: Held) -> Reply {
    Reply::Answered { head, body: Box::new(body), capacity: None }
}

fn status(status: StatusCode) -> Reply {
    Reply::whole(AnswerHead::new(status, Content::Nothing), Bytes::new())
}

/// The bounds of row 15.
const REST: Bounds = Bounds { within: Duration::from_secs(2), bytes: 64 << 10 };
const NO_MESSAGE: &str = "this is no message that could be sent by itself";
