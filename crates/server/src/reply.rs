//! The HTTP answers of the server.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream::{self, Stream, StreamExt};
use http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_HEADERS, ALLOW,
    CACHE_CONTROL, CONTENT_TYPE, RETRY_AFTER, VARY, WWW_AUTHENTICATE,
};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Response, StatusCode};
use http_body::{Body, Frame};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Empty, Full, StreamBody};
use hyper::body::Incoming;
use ridethrough_wire::message::Id;
use ridethrough_wire::message::code;
use tokio::time::timeout;

use crate::access::Closed;
use crate::backend::Unavailable;
use crate::bodies::Bodies;
use crate::body_size::BodySize;
use crate::calls::{LONGEST_ID, MOST_CALLS, NotTaken};
use crate::connections::Connection;
use crate::fault::{self, error, whole_seconds};
use crate::headers::{EVENTS, Headers, JSON};
use crate::page::Page;
use crate::parts::{MOST_PARTS, Unreadable};
use crate::posted::{Posted, Refused};
use crate::reader::{Piece, Reader};
use crate::verify::ProtectedResource;

/// An HTTP answer.
pub(crate) type Reply = Response<UnsyncBoxBody<Bytes, Infallible>>;

/// Returns an answer without a body.
pub(crate) fn empty(status: StatusCode) -> Reply {
    reply(status, Empty::new().boxed_unsync())
}

/// Returns an answer with a JSON body.
pub(crate) fn json(status: StatusCode, body: Bytes) -> Reply {
    with(reply(status, Full::new(body).boxed_unsync()), CONTENT_TYPE, JSON)
}

/// Returns an answer with a JSON body in pieces. A large one is not copied.
pub(crate) fn pieces(status: StatusCode, pieces: Vec<Bytes>) -> Reply {
    if pieces.iter().map(Bytes::len).sum::<usize>() <= SMALL {
        return json(status, pieces.concat().into());
    }
    let frames = stream::iter(pieces).map(|bytes| Ok(Frame::data(bytes)));
    with(reply(status, BodyExt::boxed_unsync(StreamBody::new(frames))), CONTENT_TYPE, JSON)
}

/// Returns an answer with a JSON-RPC error that belongs to no request in particular.
pub(crate) fn refusal(status: StatusCode, code: i64, message: &str) -> Reply {
    json(status, error(None, code, message, None))
}

/// Returns an event stream: the pieces that were already read, then everything that comes.
pub(crate) fn events(read: Vec<Piece>, reader: Reader) -> Reply {
    let read: Vec<_> = read.iter().map(|piece| reader.write(piece)).collect();
    let rest = stream::unfold(reader, |mut reader| async {
        let piece = reader.next().await?;
        Some((reader.write(&piece), reader))
    });
    event_stream(read, rest)
}

/// Returns an event stream of the pieces that are there already, and of those that come.
pub(crate) fn event_stream(
    first: Vec<Vec<Bytes>>,
    rest: impl Stream<Item = Vec<Bytes>> + Send + 'static,
) -> Reply {
    let frames = stream::iter(first).chain(rest).flat_map(stream::iter);
    let frames = frames.map(|bytes| Ok(Frame::data(bytes)));
    let reply = reply(StatusCode::OK, BodyExt::boxed_unsync(StreamBody::new(frames)));
    let reply = with(reply, CONTENT_TYPE, EVENTS);
    // A proxy that buffers would delay events.
    let reply = with(reply, HeaderName::from_static("x-accel-buffering"), "no");
    with(reply, CACHE_CONTROL, "no-cache, no-transform")
}

/// Returns a JSON array of this answer and of all that follow, each written when it arrives: together they
/// may exceed the memory that is allowed.
pub(crate) fn array(first: Bytes, reader: Reader) -> Reply {
    let rest = stream::unfold(reader, |mut reader| async {
        let answer = reader.next_event().await?;
        Some(([Bytes::from_static(b","), answer], reader))
    });
    let first = stream::iter([Bytes::from_static(b"["), first]);
    let end = stream::iter([Bytes::from_static(b"]")]);
    let frames = first.chain(rest.flat_map(stream::iter)).chain(end);
    let frames = frames.map(|bytes| Ok(Frame::data(bytes)));
    let body = BodyExt::boxed_unsync(StreamBody::new(frames));
    with(reply(StatusCode::OK, body), CONTENT_TYPE, JSON)
}

/// Returns 503: there is no place for the request, for this reason.
pub(crate) fn no_place(id: Option<&Id>, why: &str) -> Reply {
    unavailable(id, &full(why))
}

/// Returns why there is no place, in words. There may be one in a moment.
pub(crate) fn full(why: &str) -> Unavailable {
    Unavailable { what: why.to_owned(), retry_after: Duration::from_secs(1) }
}

/// Returns the answer to a request that the access policy refuses. It says where a token is to be had, if that
/// is known.
pub(crate) fn closed(why: &Closed, resource: Option<&ProtectedResource>) -> Reply {
    let (status, message) = match why {
        Closed::Forwarded => (
            StatusCode::FORBIDDEN,
            "this came through a proxy, and there is no token that says from whom; use a token",
        ),
        Closed::Host => {
            (StatusCode::FORBIDDEN, "this name is none of ours; `--allow-host` adds one")
        }
        Closed::Origin => {
            (StatusCode::FORBIDDEN, "pages of this origin may not call; `--allow-origin` adds one")
        }
        Closed::NoToken => {
            (StatusCode::UNAUTHORIZED, "show the token: `Authorization: Bearer ...`")
        }
        Closed::Unverifiable { what, retry_after } => {
            let why = Unavailable { what: what.clone(), retry_after: *retry_after };
            return unavailable(None, &why);
        }
        Closed::WrongToken(None) => (StatusCode::UNAUTHORIZED, "this is not the token"),
        Closed::WrongToken(Some(what)) => (StatusCode::UNAUTHORIZED, what.as_str()),
    };
    let reply = refusal(status, code::SERVER_ERROR, message);
    if status != StatusCode::UNAUTHORIZED {
        return reply;
    }
    let mut parts = Vec::new();
    if matches!(why, Closed::WrongToken(_)) {
        parts.push("error=\"invalid_token\"".to_owned());
    }
    if let Some(resource) = resource {
        parts.push(format!("resource_metadata=\"{}\"", resource.metadata_url()));
        if !resource.scopes.is_empty() {
            parts.push(format!("scope=\"{}\"", resource.scopes.join(" ")));
        }
    }
    let challenge = format!("Bearer {}", parts.join(", "));
    with(reply, WWW_AUTHENTICATE, challenge.trim_end())
}

/// Returns who gives tokens for this server.
pub(crate) fn metadata(resource: &ProtectedResource) -> Reply {
    let reply = json(StatusCode::OK, resource.document().into());
    with(reply, CACHE_CONTROL, "max-age=300")
}

/// Returns 503: the request cannot be taken now, and nothing was run. `Retry-After` is rounded up, and is at least
/// a second, so that a client never comes back too early.
pub(crate) fn unavailable(id: Option<&Id>, why: &Unavailable) -> Reply {
    let body = fault::unavailable(id, why);
    come_again(json(StatusCode::SERVICE_UNAVAILABLE, body), why.retry_after)
}

/// Adds `Retry-After`, rounded up to whole seconds, of which there is at least one.
pub(crate) fn come_again(reply: Reply, wait: Duration) -> Reply {
    with(reply, RETRY_AFTER, &whole_seconds(wait).max(1).to_string())
}

/// Returns 404: there is no such session, for this reason if it is known.
pub(crate) fn no_session(why: Option<&str>) -> Reply {
    let message = match why {
        Some(why) => format!("Session not found: {why}; begin a new one with `initialize`"),
        None => "Session not found; begin a new one with `initialize`".to_owned(),
    };
    refusal(StatusCode::NOT_FOUND, code::SESSION_NOT_FOUND, &message)
}

/// Returns 400: the request names no session.
pub(crate) fn which_session() -> Reply {
    let message = "Mcp-Session-Id header is required; a session begins with `initialize`";
    refusal(StatusCode::BAD_REQUEST, code::SERVER_ERROR, message)
}

/// Returns 404: the path is wrong.
pub(crate) fn nothing_here() -> Reply {
    let body = Full::new(Bytes::from_static(b"there is nothing here; the server is at /mcp\n"));
    with(reply(StatusCode::NOT_FOUND, body.boxed_unsync()), CONTENT_TYPE, "text/plain")
}

/// One word, for whoever watches this process.
pub(crate) fn word(status: StatusCode, word: &'static str) -> Reply {
    let body = Full::new(Bytes::from_static(word.as_bytes()));
    with(reply(status, body.boxed_unsync()), CONTENT_TYPE, "text/plain")
}

/// Returns a page of the backend for a browser.
pub(crate) fn page(page: Page) -> Reply {
    let mut reply = reply(page.status, Full::new(Bytes::from(page.body)).boxed_unsync());
    *reply.headers_mut() = page.headers;
    reply
}

/// 405: the method is wrong.
pub(crate) fn not_that_way() -> Reply {
    let reply =
        refusal(StatusCode::METHOD_NOT_ALLOWED, code::SERVER_ERROR, "only GET, POST and DELETE");
    with(reply, ALLOW, "GET, POST, DELETE")
}

/// Returns 405: the stateless revision has POST only.
pub(crate) fn only_post() -> Reply {
    let reply = refusal(
        StatusCode::METHOD_NOT_ALLOWED,
        code::SERVER_ERROR,
        "2026-07-28 has only POST; listen with `subscriptions/listen`",
    );
    with(reply, ALLOW, "POST")
}

/// Returns the answer to a body that is refused. Nothing of it was run.
pub(crate) fn not_taken(why: Refused) -> Reply {
    match why {
        Refused::NotTaken(why) => {
            let (status, code, message) = not_taken_words(why);
            refusal(status, code, &message)
        }
        Refused::Unreadable(Unreadable::Ambiguous) => {
            wrong("a member by which requests are told apart is there twice; nothing was run")
        }
        Refused::Unreadable(Unreadable::NotJson) => {
            unreadable(StatusCode::BAD_REQUEST, "this is not JSON")
        }
        Refused::Unreadable(Unreadable::NotJsonRpc) => not_rpc(None),
        Refused::NoMessage(id) => not_rpc(id.as_ref()),
        Refused::Unreadable(Unreadable::TooMany) => {
            let message = format!("a batch may have {MOST_PARTS} messages; nothing was run");
            refusal(StatusCode::PAYLOAD_TOO_LARGE, code::INVALID_REQUEST, &message)
        }
    }
}

/// Returns why a call is refused: a status, a code, and words.
pub(crate) fn not_taken_words(why: NotTaken) -> (StatusCode, i64, String) {
    let wrong = |words: String| (StatusCode::BAD_REQUEST, code::INVALID_REQUEST, words);
    match why {
        NotTaken::InUse => wrong("a call with this id is under way; ids are used once".to_owned()),
        NotTaken::TooLong => {
            wrong(format!("an id and a progress token may have {LONGEST_ID} bytes"))
        }
        NotTaken::TooMany => {
            let message = format!(
                "{MOST_CALLS} calls of this session may be under way at once; nothing was run; \
                 come again when some are answered"
            );
            (StatusCode::TOO_MANY_REQUESTS, code::SERVER_ERROR, message)
        }
    }
}

/// Refuses a request before it is checked, because there is no room for it. Of a small message its id is read, because the refusal is only believed if it names it.
pub(crate) async fn turn_away(
    request: Request<Incoming>,
    connection: &Arc<Connection>,
    bodies: &Bodies,
    why: &Unavailable,
) -> Reply {
    let (head, body) = request.into_parts();
    let size = body.size_hint().exact().and_then(|size| usize::try_from(size).ok());
    let is_small = size.is_some_and(|size| BodySize::of(size) == BodySize::Small);
    let is_read = is_small && head.method == Method::POST && Headers(&head.headers).has_json();
    // It may be the head for which there is no room.
    drop(head);
    let id = if is_read {
        timeout(LONGEST_REFUSED, id_of(body, connection, bodies)).await.ok().flatten()
    } else {
        None
    };
    unavailable(id.as_ref(), why)
}

async fn id_of(body: Incoming, connection: &Arc<Connection>, bodies: &Bodies) -> Option<Id> {
    let (body, room) = bodies.read(body, connection).await.ok()?;
    Posted::read(body, room).await.ok()?.id().cloned()
}

/// Answers a preflight request. The page may send all the headers that it asks for: the access policy has
/// allowed its origin, and clients have headers of their own.
pub(crate) fn preflight(asked: &HeaderMap) -> Reply {
    let usual = HeaderValue::from_static(USUAL);
    let allowed = asked.get(ACCESS_CONTROL_REQUEST_HEADERS).cloned().unwrap_or(usual);
    let mut reply = empty(StatusCode::NO_CONTENT);
    let headers = reply.headers_mut();
    headers.insert(ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static("GET, POST, DELETE"));
    headers.insert(ACCESS_CONTROL_ALLOW_HEADERS, allowed);
    headers.insert(ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("600"));
    reply
}

/// Lets the page of this origin, which the policy has allowed, read the answer.
pub(crate) fn let_read<B>(response: &mut Response<B>, origin: HeaderValue) {
    let headers = response.headers_mut();
    headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static(TOLD));
    headers.insert(VARY, HeaderValue::from_static("Origin"));
}

fn not_rpc(id: Option<&Id>) -> Reply {
    let body = error(id, code::INVALID_REQUEST, "this is no JSON-RPC message", None);
    json(StatusCode::BAD_REQUEST, body)
}

/// Returns the answer to a body that cannot be read.
pub(crate) fn unreadable(status: StatusCode, message: &str) -> Reply {
    refusal(status, code::PARSE_ERROR, message)
}

/// Returns 400: the request cannot be answered, for this reason.
pub(crate) fn wrong(message: &str) -> Reply {
    refusal(StatusCode::BAD_REQUEST, code::INVALID_REQUEST, message)
}

pub(crate) fn with(mut reply: Reply, name: HeaderName, value: &str) -> Reply {
    if let Ok(value) = HeaderValue::from_str(value) {
        reply.headers_mut().insert(name, value);
    }
    reply
}

fn reply(status: StatusCode, body: UnsyncBoxBody<Bytes, Infallible>) -> Reply {
    let mut reply = Response::new(body);
    *reply.status_mut() = status;
    reply
}

/// How long the body of a request may take that is refused.
const LONGEST_REFUSED: Duration = Duration::from_secs(10);
/// The headers that a page may send if it does not say which.
const USUAL: &str =
    "Authorization, Content-Type, Last-Event-ID, MCP-Protocol-Version, Mcp-Session-Id";
/// The headers that a page may read.
const TOLD: &str = "Mcp-Session-Id, Retry-After, WWW-Authenticate";
/// The size below which a copy is cheaper than a write in pieces.
const SMALL: usize = 16 * 1024;
