//! Answers requests: looks at who comes, finds the session, and hands messages over.
//!
//! ```text
//!   POST initialize ──▶ a new session and its child; the answer carries the session's id
//!   POST request ─────▶ an event stream that ends with the answer, or the answer alone
//!   POST the rest ────▶ 202
//!   GET ──────────────▶ the standing stream, or with `Last-Event-ID` any stream behind that event
//!   DELETE ───────────▶ the end of the session
//! ```

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::ORIGIN;
use http::{Method, Request, StatusCode};
use http_body_util::{BodyExt, Limited};
use hyper::body::Incoming;
use ridethrough_core::message::Message;
use tokio::time::timeout;

use crate::cors;
use crate::door::Door;
use crate::fault::{NO_ANSWER, Over, error};
use crate::greeting;
use crate::headers::Headers;
use crate::parts::{Part, Parts, Unreadable};
use crate::reader::{Piece, Reader, place_of};
use crate::reply::{self, Reply, empty};
use crate::session::{Session, Undelivered};
use crate::sessions::Sessions;
use crate::streams::{Carries, MOST_CALLS, NotTaken, STANDING};

/// Answers requests.
pub(crate) struct Desk {
    pub(crate) door: Door,
    pub(crate) sessions: Arc<Sessions>,
}

impl Desk {
    /// Answers one request.
    pub(crate) async fn answer(&self, request: Request<Incoming>) -> Reply {
        if let Err(closed) = self.door.check_place(request.uri(), request.headers()) {
            return reply::closed(closed);
        }
        let origin = request.headers().get(ORIGIN).cloned();
        let mut answer = self.answer_friend(request).await;
        if let Some(origin) = origin {
            cors::let_read(&mut answer, origin);
        }
        answer
    }

    /// The same for whoever came to the right place from the right one.
    async fn answer_friend(&self, request: Request<Incoming>) -> Reply {
        // A browser asks without the token whether it may come with it.
        if request.method() == Method::OPTIONS && request.headers().contains_key(ORIGIN) {
            return cors::preflight(request.headers());
        }
        if let Err(closed) = self.door.check_token(request.headers()) {
            return reply::closed(closed);
        }
        if request.uri().path() != PATH {
            return reply::nothing_here();
        }
        match *request.method() {
            Method::DELETE => self.delete(&Headers(request.headers())),
            Method::GET => self.listen(&Headers(request.headers())),
            Method::POST => self.post(request).await,
            _ => reply::not_that_way(),
        }
    }

    fn delete(&self, headers: &Headers<'_>) -> Reply {
        match self.live_session(headers) {
            Ok(session) => {
                session.end("its client ended it");
                empty(StatusCode::NO_CONTENT)
            }
            Err(refusal) => *refusal,
        }
    }

    fn listen(&self, headers: &Headers<'_>) -> Reply {
        if !headers.takes_events() {
            return not_acceptable("GET is answered with `text/event-stream`");
        }
        let session = match self.session(headers) {
            Ok(session) => session,
            Err(refusal) => return *refusal,
        };
        let reader = match headers.last_event().map(place_of) {
            Some(place) => place.and_then(|(stream, event)| session.attach(stream, Some(event))),
            None if session.lock().over.is_some() => None,
            None => session.attach(STANDING, None),
        };
        match (reader, story(&session)) {
            (Some(reader), _) => reply::events(Vec::new(), reader),
            (None, Some(story)) => reply::no_session(Some(&story)),
            (None, None) => reply::wrong(
                "nothing comes behind the event of `Last-Event-ID`: it is not known, or not any more, or its \
                 stream is over; this stream cannot be resumed",
            ),
        }
    }

    async fn post(&self, request: Request<Incoming>) -> Reply {
        let (head, body) = request.into_parts();
        let headers = Headers(&head.headers);
        let Some(carries) = headers.takes() else {
            return not_acceptable(
                "POST is answered with `application/json` or `text/event-stream`",
            );
        };
        if !headers.has_json() {
            let status = StatusCode::UNSUPPORTED_MEDIA_TYPE;
            return reply::unreadable(status, "a message is sent as `application/json`");
        }
        let parts = match read(body).await {
            Ok(parts) => parts,
            Err(refusal) => return *refusal,
        };
        if let Parts::One(part) = &parts
            && greeting::is_greeting(&part.message)
        {
            return self.greet(&headers, parts.into_vec(), carries).await;
        }
        self.pass(&headers, parts, carries).await
    }

    /// A new session.
    async fn greet(&self, headers: &Headers<'_>, parts: Vec<Part>, carries: Carries) -> Reply {
        if headers.session().is_some() {
            return match self.live_session(headers) {
                Ok(_) => reply::wrong("this session has begun; another begins without its id"),
                Err(refusal) => *refusal,
            };
        }
        greeting::begin(&self.sessions, &parts, carries).await
    }

    /// Hands messages to the child.
    async fn pass(&self, headers: &Headers<'_>, parts: Parts, carries: Carries) -> Reply {
        let session = match self.live_session(headers) {
            Ok(session) => session,
            Err(refusal) => return *refusal,
        };
        let is_batch = matches!(parts, Parts::Batch(_));
        if is_batch && session.lock().version.as_deref().is_some_and(|it| it > LAST_BATCHES) {
            return reply::wrong("batches ended with 2025-03-26; send one message at a time");
        }
        let _visit = session.visit();
        let parts = parts.into_vec();
        let is_greeted = |part: &Part| greeting::is_greeting(&part.message);
        if parts.iter().any(is_greeted) {
            return reply::wrong("`initialize` must come alone");
        }
        if !parts.iter().any(|part| matches!(part.message, Message::Request { .. })) {
            return match session.tell(&parts).await {
                Ok(()) => empty(StatusCode::ACCEPTED),
                Err(undelivered) => not_delivered(&session, &undelivered),
            };
        }
        match (session.ask(&parts, carries).await, carries) {
            (Ok(reader), Carries::Everything) => reply::events(Vec::new(), reader),
            (Ok(reader), Carries::Answers) => answers(reader, &parts, is_batch).await,
            (Err(undelivered), _) => not_delivered(&session, &undelivered),
        }
    }

    /// The session that a request names, also if it is over.
    fn session(&self, headers: &Headers<'_>) -> Result<Arc<Session>, Refused> {
        let id = headers.session().ok_or_else(|| Box::new(reply::which_session()))?;
        let session = self.sessions.find(id).ok_or_else(|| Box::new(reply::no_session(None)))?;
        match headers.version() {
            Some(version) if !session.speaks(version) => {
                let message = "this revision is not spoken here, see `MCP-Protocol-Version`";
                Err(Box::new(reply::wrong(message)))
            }
            _ => Ok(session),
        }
    }

    fn live_session(&self, headers: &Headers<'_>) -> Result<Arc<Session>, Refused> {
        let session = self.session(headers)?;
        match story(&session) {
            Some(why) => Err(Box::new(reply::no_session(Some(&why)))),
            None => Ok(session),
        }
    }
}

/// An answer to what cannot be done.
type Refused = Box<Reply>;

/// The answers alone, once they are there.
async fn answers(mut reader: Reader, asked: &[Part], is_batch: bool) -> Reply {
    let mut answers = Vec::new();
    while let Some(piece) = reader.next().await {
        if let Piece::Event(entry) = piece {
            answers.push(entry.text);
        }
    }
    match (answers.as_slice(), is_batch) {
        ([], _) => {
            let id = match asked {
                [Part { message: Message::Request { id, .. }, .. }] => Some(id),
                _ => None,
            };
            reply::json(StatusCode::OK, error(id, NO_ANSWER, "the call was cancelled", None))
        }
        ([answer], false) => reply::json(StatusCode::OK, answer.clone()),
        (answers, _) => {
            reply::json(StatusCode::OK, [b"[", &*answers.join(&b","[..]), b"]"].concat().into())
        }
    }
}

async fn read(body: Incoming) -> Result<Parts, Refused> {
    let refused = |status, message| Err(Box::new(reply::unreadable(status, message)));
    let body = timeout(BODY_TIME, Limited::new(body, MOST_BODY).collect()).await;
    let body: Bytes = match body {
        Ok(Ok(body)) => body.to_bytes(),
        Ok(Err(error)) if error.is::<http_body_util::LengthLimitError>() => {
            return refused(StatusCode::PAYLOAD_TOO_LARGE, "a message may have 16 MiB");
        }
        Ok(Err(_)) => return refused(StatusCode::BAD_REQUEST, "the body was cut"),
        Err(_) => return refused(StatusCode::REQUEST_TIMEOUT, "the body took longer than 60 s"),
    };
    Parts::read(&body).or_else(|unreadable| match unreadable {
        Unreadable::NotJson => refused(StatusCode::BAD_REQUEST, "this is not JSON"),
        Unreadable::NotJsonRpc => Err(Box::new(reply::wrong("this is no JSON-RPC message"))),
    })
}

fn not_delivered(session: &Session, undelivered: &Undelivered) -> Reply {
    match undelivered {
        Undelivered::NotTaken(NotTaken::InUse) => {
            reply::wrong("a call with this id is under way; ids are used once")
        }
        Undelivered::NotTaken(NotTaken::TooMany) => {
            let message = format!(
                "{MOST_CALLS} calls of this session may be under way at once; nothing was run; \
                 come again when some are answered"
            );
            reply::refusal(StatusCode::TOO_MANY_REQUESTS, NO_ANSWER, &message)
        }
        Undelivered::Over => reply::no_session(story(session).as_deref()),
    }
}

/// Why a session is over, if it is.
fn story(session: &Session) -> Option<String> {
    session.lock().over.as_ref().map(Over::story)
}

fn not_acceptable(message: &str) -> Reply {
    reply::refusal(StatusCode::NOT_ACCEPTABLE, NO_ANSWER, message)
}

/// Where the server is.
const PATH: &str = "/mcp";
const MOST_BODY: usize = 16 << 20;
const BODY_TIME: Duration = Duration::from_secs(60);
/// The last revision that has batches.
const LAST_BATCHES: &str = "2025-03-26";
