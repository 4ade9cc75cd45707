//! The answers of the server: a legacy server of 2025-11-25 with two tools.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::{Method, Request, Response, StatusCode};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::Tally;
use super::body::Says;
use super::sickness::Sickness;

/// The state that all requests share.
pub(super) struct Responder {
    tally: Arc<Tally>,
    /// The beginning of this server's session ids; those of another server differ.
    epoch: String,
    sessions: AtomicU64,
    big: String,
}

/// How an answer is written.
#[derive(Clone, Copy)]
enum Way {
    Json,
    Sse,
    SseApart,
}

#[derive(Deserialize)]
struct Message<'a> {
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    method: &'a str,
    #[serde(borrow)]
    params: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Params<'a> {
    #[serde(borrow)]
    name: Option<&'a str>,
}

impl Responder {
    pub(super) fn new(tally: Arc<Tally>) -> Self {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let epoch = format!("{}-", now.as_nanos());
        Self { tally, epoch, sessions: AtomicU64::new(0), big: big() }
    }

    /// Counts the connection, if this is its first request.
    pub(super) fn count(&self, request: &Request<Incoming>) {
        *self.tally.paths().entry(request.uri().path().to_owned()).or_default() += 1;
    }

    pub(super) async fn answer(&self, request: Request<Incoming>) -> io::Result<Response<Says>> {
        if !self.knows(&request) {
            return Ok(plain(StatusCode::NOT_FOUND));
        }
        match self.tally.condition.now() {
            Sickness::None => {}
            Sickness::Dies => return Err(io::ErrorKind::ConnectionReset.into()),
            Sickness::Floods => return Ok(stream(Says::flood())),
            Sickness::Hangs => return std::future::pending().await,
            Sickness::Lies => return Ok(stream(Says::event(Bytes::from_static(LIE)))),
        }
        match *request.method() {
            Method::DELETE => Ok(plain(StatusCode::OK)),
            Method::GET => Ok(stream(Says::standing(self.tally.clone()))),
            Method::POST => Ok(self.post(request).await),
            _ => Ok(plain(StatusCode::METHOD_NOT_ALLOWED)),
        }
    }

    /// Whether the session that it names, if any, belongs to this server.
    fn knows(&self, request: &Request<Incoming>) -> bool {
        let named = request.headers().get(SESSION);
        named.is_none_or(|it| it.as_bytes().starts_with(self.epoch.as_bytes()))
    }

    async fn post(&self, request: Request<Incoming>) -> Response<Says> {
        let path = request.uri().path();
        let way = match path.split('/').nth(1) {
            Some("json") => Way::Json,
            Some("sse") => Way::Sse,
            Some("sse-apart") => Way::SseApart,
            _ => return plain(StatusCode::NOT_FOUND),
        };
        let Ok(body) = request.into_body().collect().await else {
            return plain(StatusCode::BAD_REQUEST);
        };
        let body = body.to_bytes();
        let Ok(message) = serde_json::from_slice::<Message<'_>>(&body) else {
            return plain(StatusCode::BAD_REQUEST);
        };
        let Some(id) = message.id else { return plain(StatusCode::ACCEPTED) };
        match self.result(&message) {
            Some(result) => self.say(
                way,
                &message,
                format!(r#"{{"jsonrpc":"2.0","id":{},"result":{result}}}"#, id.get()),
            ),
            None => {
                let error = r#"{"code":-32601,"message":"Method not found"}"#;
                let json = format!(r#"{{"jsonrpc":"2.0","id":{},"error":{error}}}"#, id.get());
                let mut response = self.say(Way::Json, &message, json);
                *response.status_mut() = StatusCode::BAD_REQUEST;
                response
            }
        }
    }

    fn result(&self, message: &Message<'_>) -> Option<&str> {
        match message.method {
            "initialize" => Some(INITIALIZED),
            "ping" => Some("{}"),
            "tools/call" => {
                let params = message.params.map(RawValue::get).unwrap_or_default();
                let name = serde_json::from_str::<Params<'_>>(params).ok()?.name;
                Some(if name == Some("big") { &self.big } else { ECHO })
            }
            "tools/list" => Some(TOOLS),
            _ => None,
        }
    }

    fn say(&self, way: Way, message: &Message<'_>, json: String) -> Response<Says> {
        let event = || Bytes::from(format!("event: message\ndata: {json}\n\n"));
        let mut response = match way {
            Way::Json => {
                let mut response = Response::new(Says::whole(json.into()));
                response.headers_mut().insert(CONTENT_TYPE, JSON);
                response
            }
            Way::Sse => stream(Says::event(event())),
            Way::SseApart => stream(Says::event_apart(event())),
        };
        if message.method == "initialize" {
            let number = self.sessions.fetch_add(1, Ordering::Relaxed);
            if let Ok(session) = HeaderValue::try_from(format!("{}{number}", self.epoch)) {
                response.headers_mut().insert(SESSION, session);
            }
        }
        response
    }
}

fn plain(status: StatusCode) -> Response<Says> {
    let mut response = Response::new(Says::nothing());
    *response.status_mut() = status;
    response
}

fn stream(says: Says) -> Response<Says> {
    let mut response = Response::new(says);
    response.headers_mut().insert(CONTENT_TYPE, EVENTS);
    response
}

/// Returns a result of a megabyte, in rows. With all that is around it, it is a little under 2^20 bytes,
/// because some clients stop there.
fn big() -> String {
    let row = |number| {
        format!(
            r#"{{"id":{number},"name":"row {number}","tags":["alpha","beta \"quoted\""],"score":{number}.25,"is_good":true,"next":null}}"#
        )
    };
    let mut rows = String::with_capacity(MEGABYTE + 200);
    for number in 0.. {
        if rows.len() >= MEGABYTE {
            break;
        }
        rows.push_str(if number == 0 { "" } else { "," });
        rows.push_str(&row(number));
    }
    format!(
        r#"{{"content":[{{"type":"text","text":"done"}}],"structuredContent":{{"rows":[{rows}]}}}}"#
    )
}

/// An answer to nobody, and something that is no message.
const LIE: &[u8] =
    b"data: {\"jsonrpc\":\"2.0\",\"id\":987654321,\"result\":{}}\n\ndata: <html>\n\n";
const MEGABYTE: usize = 1_000_000;
const SESSION: &str = "mcp-session-id";
const JSON: HeaderValue = HeaderValue::from_static("application/json");
const EVENTS: HeaderValue = HeaderValue::from_static("text/event-stream");
const INITIALIZED: &str = r#"{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"bench","version":"1"}}"#;
const TOOLS: &str = r#"{"tools":[{"name":"echo","inputSchema":{"type":"object","properties":{"text":{"type":"string"}}}},{"name":"big","inputSchema":{"type":"object"}}]}"#;
/// The result of `echo`: a hundred bytes of text.
const ECHO: &str = r#"{"content":[{"type":"text","text":"0123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789"}]}"#;
