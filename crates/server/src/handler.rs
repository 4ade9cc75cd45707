//! Answers HTTP requests: checks access, finds the session, and passes messages on.
//!
//! ```text
//!   POST initialize ──▶ a new session and its backend; the answer carries the session's id
//!   POST request ─────▶ the answer alone if it comes at once, else an event stream that ends with it
//!   POST the rest ────▶ 202
//!   GET ──────────────▶ the standing stream, or with `Last-Event-ID` any stream behind that event
//!   DELETE ───────────▶ the end of the session
//! ```

use std::sync::Arc;

use http::header::ORIGIN;
use http::{Method, Request, StatusCode};
use hyper::body::Incoming;
use percent_encoding::percent_decode_str;
use ridethrough_wire::message::Id;
use ridethrough_wire::message::code;
use ridethrough_wire::stateless::REVISION;

use crate::access::{AccessPolicy, Closed};
use crate::backend::{Caller, Principal, Unavailable};
use crate::bodies::{self, Bodies, NoBody};
use crate::connections::{Connection, Connections};
use crate::fault::{Over, error};
use crate::greeting;
use crate::headers::Headers;
use crate::page::PageRequest;
use crate::parts::ParsedMessage;
use crate::posted::{self, Posted};
use crate::reader::{Reader, place_of};
use crate::reply::{self, Reply, empty};
use crate::session::{Session, Undelivered};
use crate::sessions::Sessions;
use crate::stateless::Stateless;
use crate::streams::{Carries, STANDING};
use crate::verify::Identified;

/// Answers requests.
pub(crate) struct RequestHandler {
    access: AccessPolicy,
    pub(crate) sessions: Arc<Sessions>,
    stateless: Stateless,
    connections: Arc<Connections>,
    bodies: Bodies,
}

impl RequestHandler {
    pub(crate) fn new(
        access: AccessPolicy,
        sessions: Arc<Sessions>,
        connections: Arc<Connections>,
    ) -> Self {
        let stateless = Stateless::new(sessions.clone());
        Self { access, sessions, stateless, connections, bodies: Bodies::default() }
    }

    /// Answers one request that came on this connection. Whoever is known already needs no token.
    pub(crate) async fn answer(
        &self,
        request: Request<Incoming>,
        connection: &Arc<Connection>,
        known: Option<Principal>,
    ) -> Reply {
        if self.sessions.backend().has_page(request.uri().path()) {
            return self.page(request).await;
        }
        if let Err(closed) = self.access.check_place(request.uri(), request.headers()) {
            return reply::closed(&closed, None);
        }
        let origin = request.headers().get(ORIGIN).cloned();
        let mut answer = self.answer_friend(request, connection, known).await;
        if let Some(origin) = origin {
            reply::let_read(&mut answer, origin);
        }
        answer
    }

    /// Answers a person's browser. A page of another site that leads here is checked by the backend.
    async fn page(&self, request: Request<Incoming>) -> Reply {
        if let Err(closed) = self.access.check_host(request.uri(), request.headers()) {
            return reply::closed(&closed, None);
        }
        match PageRequest::read(request).await {
            Ok(request) => reply::page(self.sessions.backend().page(request, &self.access).await),
            Err(status) => empty(status),
        }
    }

    /// Answers a request whose `Host` and `Origin` were accepted.
    async fn answer_friend(
        &self,
        request: Request<Incoming>,
        connection: &Arc<Connection>,
        known: Option<Principal>,
    ) -> Reply {
        // A browser sends the preflight request without the token.
        if request.method() == Method::OPTIONS && request.headers().contains_key(ORIGIN) {
            return reply::preflight(request.headers());
        }
        if let Some(probed) = self.probe(&request) {
            return probed;
        }
        let checked = match known {
            Some(principal) => Ok(Identified { principal, groups: Arc::default() }),
            None => self.access.check_token(request.headers()).await,
        };
        let identified = match checked {
            Ok(identified) => identified,
            Err(Closed::Unverifiable { what, retry_after }) => {
                let why = Unavailable { what, retry_after };
                return reply::turn_away(request, connection, &self.bodies, &why).await;
            }
            Err(closed) => return reply::closed(&closed, self.access.resource.as_deref()),
        };
        if self.connections.authenticate(connection).is_err() {
            let why = reply::full("all connections are in use");
            return reply::turn_away(request, connection, &self.bodies, &why).await;
        }
        let Some(_room) = connection.hold(bodies::size_of(request.headers())) else {
            let why = reply::full("the requests of this connection hold too much");
            return reply::turn_away(request, connection, &self.bodies, &why).await;
        };
        let endpoint = endpoint(request.uri().path());
        let Identified { principal, groups } = identified;
        let caller = endpoint.map(|it| Caller::new(principal, &it).in_groups(groups));
        let Some(caller) = caller.filter(|it| self.sessions.serves(it)) else {
            return reply::nothing_here();
        };
        let is_stateless = Headers(request.headers()).version() == Some(REVISION);
        match *request.method() {
            Method::DELETE | Method::GET if is_stateless => reply::only_post(),
            Method::DELETE => self.delete(&Headers(request.headers()), &caller),
            Method::GET => self.listen(&Headers(request.headers()), &caller, connection),
            Method::POST => self.post(request, &caller, connection).await,
            _ => reply::not_that_way(),
        }
    }

    /// Answers a question of whoever watches this process. It says one word, and so needs no token.
    fn probe(&self, request: &Request<Incoming>) -> Option<Reply> {
        let is_read = matches!(*request.method(), Method::GET | Method::HEAD);
        match request.uri().path() {
            "/healthz" if is_read => Some(reply::word(StatusCode::OK, "alive")),
            "/readyz" if is_read && self.sessions.is_ready() => {
                Some(reply::word(StatusCode::OK, "ready"))
            }
            "/readyz" if is_read => Some(reply::word(StatusCode::SERVICE_UNAVAILABLE, "stopping")),
            METADATA | METADATA_OF_PATH if is_read => {
                self.access.resource.as_deref().map(reply::metadata)
            }
            _ => None,
        }
    }

    fn delete(&self, headers: &Headers<'_>, caller: &Caller) -> Reply {
        match self.live_session(headers, caller) {
            Ok(session) => {
                session.end("its client ended it");
                empty(StatusCode::NO_CONTENT)
            }
            Err(refusal) => *refusal,
        }
    }

    fn listen(&self, headers: &Headers<'_>, caller: &Caller, connection: &Connection) -> Reply {
        if !headers.takes_events() {
            return not_acceptable("GET is answered with `text/event-stream`");
        }
        let session = match self.session(headers, caller) {
            Ok(session) => session,
            Err(refusal) => return *refusal,
        };
        connection.serves(session.number);
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

    async fn post(
        &self,
        request: Request<Incoming>,
        caller: &Caller,
        connection: &Arc<Connection>,
    ) -> Reply {
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
        let posted = match self.read(body, connection).await {
            Ok(posted) => posted,
            Err(refusal) => return *refusal,
        };
        if Stateless::is_meant(&headers, &posted) {
            let stateless = &self.stateless;
            return stateless.answer(headers.0, caller, posted, carries, connection).await;
        }
        if let [part] = &*posted.parts
            && !posted.is_batch
            && greeting::is_greeting(&part.message)
        {
            return self.greet(&headers, caller, posted, carries).await;
        }
        let session = match self.live_session(&headers, caller) {
            Ok(session) => session,
            Err(refusal) => return *refusal,
        };
        connection.serves(session.number);
        let takes_alone = headers.takes_json() && !posted.is_batch;
        pass(&session, posted, carries, takes_alone).await
    }

    /// Begins a new session.
    async fn greet(
        &self,
        headers: &Headers<'_>,
        caller: &Caller,
        posted: Posted,
        carries: Carries,
    ) -> Reply {
        if headers.session().is_some() {
            return match self.live_session(headers, caller) {
                Ok(_) => reply::wrong("this session has begun; another begins without its id"),
                Err(refusal) => *refusal,
            };
        }
        greeting::begin(&self.sessions, caller, posted, carries).await
    }

    /// Reads a body to its end.
    async fn read(
        &self,
        body: Incoming,
        connection: &Arc<Connection>,
    ) -> Result<Posted, ErrorReply> {
        let (body, room) = self.bodies.read(body, connection).await.map_err(|no_body| {
            let (status, message) = match no_body {
                NoBody::Cut => (StatusCode::BAD_REQUEST, "the body was cut"),
                NoBody::Late => (StatusCode::REQUEST_TIMEOUT, "the body took longer than 60 s"),
                NoBody::TooLarge => (StatusCode::PAYLOAD_TOO_LARGE, "a message may have 16 MiB"),
            };
            Box::new(reply::unreadable(status, message))
        })?;
        let posted = Posted::read(body, room).await;
        posted.map_err(|refused| Box::new(reply::not_taken(refused)))
    }

    /// The session that a request names, also one that is over.
    fn session(&self, headers: &Headers<'_>, caller: &Caller) -> Result<Arc<Session>, ErrorReply> {
        if headers.names_two_sessions() {
            return Err(Box::new(reply::wrong("a request is for one session")));
        }
        let id = headers.session().ok_or_else(|| Box::new(reply::which_session()))?;
        let session = self.sessions.find(id, caller);
        let session = session.ok_or_else(|| Box::new(reply::no_session(None)))?;
        match headers.version() {
            Some(version) if !session.speaks(version) => {
                let message = "this revision is not spoken here, see `MCP-Protocol-Version`";
                Err(Box::new(reply::wrong(message)))
            }
            _ => Ok(session),
        }
    }

    fn live_session(
        &self,
        headers: &Headers<'_>,
        caller: &Caller,
    ) -> Result<Arc<Session>, ErrorReply> {
        let session = self.session(headers, caller)?;
        match story(&session) {
            Some(why) => Err(Box::new(reply::no_session(Some(&why)))),
            None => Ok(session),
        }
    }
}

/// The answer to a request that cannot be carried out.
type ErrorReply = Box<Reply>;

/// Passes messages on to the backend. An answer may be sent without an event stream if the client takes it alone.
async fn pass(
    session: &Arc<Session>,
    posted: Posted,
    carries: Carries,
    takes_alone: bool,
) -> Reply {
    let is_batch = posted.is_batch;
    if is_batch && session.lock().version.as_deref().is_some_and(|it| it > LAST_BATCHES) {
        return reply::wrong("batches ended with 2025-03-26; send one message at a time");
    }
    let _visit = session.visit();
    let is_greeted = |part: &ParsedMessage| greeting::is_greeting(&part.message);
    if posted.parts.iter().any(is_greeted) {
        return reply::wrong("`initialize` must come alone");
    }
    if !posted.has_calls() {
        return match session.tell(posted).await {
            Ok(()) => empty(StatusCode::ACCEPTED),
            Err(undelivered) => not_delivered(session, None, &undelivered),
        };
    }
    let asked = posted.id().cloned();
    match (session.ask(posted, carries).await, carries) {
        (Ok(reader), Carries::Everything) if takes_alone => match reader.answer_alone().await {
            Some(answer) => reply::json(StatusCode::OK, answer),
            None => reply::events(Vec::new(), reader),
        },
        (Ok(reader), Carries::Everything) => reply::events(Vec::new(), reader),
        (Ok(reader), Carries::Answers) => answers(reader, asked.as_ref(), is_batch).await,
        (Err(undelivered), _) => not_delivered(session, asked.as_ref(), &undelivered),
    }
}

/// Answers with the answers alone, once they have all arrived.
async fn answers(mut reader: Reader, asked: Option<&Id>, is_batch: bool) -> Reply {
    match reader.next_event().await {
        None => reply::json(
            StatusCode::OK,
            error(asked, code::SERVER_ERROR, "the call was cancelled", None),
        ),
        Some(first) if is_batch => reply::array(first, reader),
        Some(answer) => reply::json(StatusCode::OK, answer),
    }
}

fn not_delivered(session: &Session, id: Option<&Id>, undelivered: &Undelivered) -> Reply {
    match undelivered {
        Undelivered::NotTaken(why) => reply::not_taken(posted::Refused::NotTaken(*why)),
        Undelivered::Over => reply::no_session(story(session).as_deref()),
        Undelivered::TooLate => reply::no_place(id, "the server of this session reads nothing"),
    }
}

/// Returns why a session is over, if it is.
fn story(session: &Session) -> Option<String> {
    session.lock().over.as_ref().map(Over::story)
}

fn not_acceptable(message: &str) -> Reply {
    reply::refusal(StatusCode::NOT_ACCEPTABLE, code::SERVER_ERROR, message)
}

/// What stands behind `/mcp/` in a path; nothing for `/mcp` itself, and `None` for every other path.
fn endpoint(path: &str) -> Option<String> {
    match path.strip_prefix(PATH)? {
        "" => Some(String::new()),
        rest => {
            let name = percent_decode_str(rest.strip_prefix('/')?).decode_utf8().ok()?;
            (!name.is_empty()).then(|| name.into_owned())
        }
    }
}

/// Where clients look for who would give them a token (RFC 9728, section 3.1).
const METADATA: &str = "/.well-known/oauth-protected-resource";
const METADATA_OF_PATH: &str = "/.well-known/oauth-protected-resource/mcp";
/// The path of the server.
const PATH: &str = "/mcp";
/// The last revision with batches.
const LAST_BATCHES: &str = "2025-03-26";
