//! The odd answers: every status with every body and all words.
//!
//! They are written as bytes on the wire, independent of the types of the core, so that one list serves the
//! link alone and the whole client over HTTP.

use std::fmt;

use serde_json::{Value, json};

/// One odd way to answer a call that ran.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    pub(crate) number: usize,
    pub(crate) status: Status,
    pub(crate) body: Body,
    pub(crate) words: Words,
    pub(crate) carrier: Carrier,
}

/// A status, and the header that changes what it means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Status {
    pub(crate) code: u16,
    pub(crate) header: Header,
}

/// A header that changes what a status means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Header {
    /// `WWW-Authenticate` that asks for a token.
    Challenge,
    None,
    /// `Retry-After: 1`.
    RetryAfter,
    /// `WWW-Authenticate` that asks for more scope.
    Scope,
}

/// What the body is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Body {
    /// A JSON-RPC error that names our id, broken off in the middle.
    Cut,
    Empty,
    /// A JSON-RPC error without an id.
    ErrorNoId,
    /// A JSON-RPC error whose id is null.
    ErrorNull,
    /// A JSON-RPC error that names an id which was never used.
    ErrorOther,
    /// A JSON-RPC error that names our id.
    ErrorOurs,
    /// A JSON-RPC error that names our id as a string.
    ErrorOursAsString,
    /// A JSON-RPC error that names our id, declared as plain text.
    ErrorOursAsText,
    Html,
    /// JSON that is no JSON-RPC.
    Json,
    /// A JSON-RPC result without an id.
    ResultNoId,
    /// A JSON-RPC result that names our id.
    ResultOurs,
    /// A JSON-RPC result that names our id as a string.
    ResultOursAsString,
    Text,
}

/// The words of the body, and their code if it is a JSON-RPC error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Words {
    HeaderMismatch,
    MethodNotFound,
    MissingCapability,
    NoValidSession,
    None,
    NotInitialized,
    RateLimited,
    SessionNotFound,
    Unauthorized,
    /// -32022 that names the revision that the client speaks.
    UnsupportedButOurs,
    /// -32022 that names revisions of the legacy era.
    UnsupportedLegacy,
}

/// How the body is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Carrier {
    /// With its length.
    Body,
    /// As an event.
    EventStream,
}

/// An HTTP answer to be written.
#[derive(Clone, Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(&'static str, String)>,
    pub(crate) content_type: Option<&'static str>,
    pub(crate) body: String,
    /// Whether the connection breaks before the body is whole.
    pub(crate) is_cut: bool,
    /// Whether it is the odd answer.
    pub(crate) is_odd: bool,
}

impl Reply {
    pub(crate) fn status(status: u16) -> Self {
        let (headers, body) = (Vec::new(), String::new());
        Self { status, headers, content_type: None, body, is_cut: false, is_odd: false }
    }

    pub(crate) fn json(status: u16, body: &Value) -> Self {
        let reply = Self::status(status);
        Self { content_type: Some("application/json"), body: body.to_string(), ..reply }
    }

    pub(crate) fn is_event_stream(&self) -> bool {
        self.content_type == Some("text/event-stream")
    }
}

impl Case {
    /// Returns a word that only this answer has.
    pub(crate) fn marker(&self) -> String {
        format!("mark{:05}z", self.number)
    }

    /// Returns a word that only the challenge of this answer has.
    pub(crate) fn challenge_marker(&self) -> String {
        format!("asks{:05}z", self.number)
    }

    /// Returns the answer to the request of this id.
    pub(crate) fn reply(&self, id: &Value) -> Reply {
        let mut reply = Reply { is_odd: true, ..Reply::status(self.status.code) };
        reply.headers = self.headers();
        reply.content_type = self.content_type();
        reply.body = self.payload(id);
        if self.carrier == Carrier::EventStream && self.body != Body::Empty {
            reply.body = format!("event: message\ndata: {}\n\n", reply.body);
        }
        if self.body == Body::Cut {
            reply.body.truncate(reply.body.len() / 2);
            reply.is_cut = true;
        }
        reply
    }

    /// Returns the result that the caller must get, if this answer has one for it.
    pub(crate) fn result(&self) -> Value {
        let text = format!("{} {}", self.words.phrase(), self.marker());
        json!({"content": [{"type": "text", "text": text}], "resultType": "complete"})
    }

    /// Returns the error that the caller must get, if this answer has one for it.
    pub(crate) fn error(&self) -> Value {
        let message = format!("{} {}", self.words.phrase(), self.marker());
        let mut error = json!({"code": self.words.code(), "message": message});
        if let Some(supported) = self.words.supported() {
            error["data"] = json!({"supported": [supported], "requested": "2026-07-28"});
        }
        error
    }

    /// Whether the body has a complete answer that names our id.
    pub(crate) const fn names_our_id(&self) -> bool {
        self.body.is_our_error() || self.body.is_our_result()
    }

    fn payload(&self, id: &Value) -> String {
        let words = format!("{} {}", self.words.phrase(), self.marker());
        let error =
            |id: &Value| json!({"jsonrpc": "2.0", "id": id, "error": self.error()}).to_string();
        let result =
            |id: &Value| json!({"jsonrpc": "2.0", "id": id, "result": self.result()}).to_string();
        match self.body {
            Body::Cut | Body::ErrorOurs | Body::ErrorOursAsText => error(id),
            Body::Empty => String::new(),
            Body::ErrorNoId => json!({"jsonrpc": "2.0", "error": self.error()}).to_string(),
            Body::ErrorNull => error(&Value::Null),
            Body::ErrorOursAsString => error(&json!(id.to_string())),
            Body::ErrorOther => error(&json!(987_654_321)),
            Body::Html => format!("<html><body><h1>{words}</h1></body></html>"),
            Body::Json => json!({"error": words}).to_string(),
            Body::ResultNoId => json!({"jsonrpc": "2.0", "result": self.result()}).to_string(),
            Body::ResultOurs => result(id),
            Body::ResultOursAsString => result(&json!(id.to_string())),
            Body::Text => words,
        }
    }

    fn content_type(&self) -> Option<&'static str> {
        match (self.carrier, self.body) {
            (Carrier::EventStream, _) => Some("text/event-stream"),
            (_, Body::Empty) => None,
            (_, Body::Html) => Some("text/html"),
            (_, Body::ErrorOursAsText | Body::Text) => Some("text/plain"),
            _ => Some("application/json"),
        }
    }

    fn headers(&self) -> Vec<(&'static str, String)> {
        let marker = self.challenge_marker();
        let mut headers = Vec::new();
        match self.status.header {
            Header::Challenge => headers.push((
                "www-authenticate",
                format!(r#"Bearer error="invalid_token", error_description="{marker}""#),
            )),
            Header::None => {}
            Header::RetryAfter => headers.push(("retry-after", "1".to_owned())),
            Header::Scope => headers.push((
                "www-authenticate",
                format!(r#"Bearer error="insufficient_scope", scope="{marker}""#),
            )),
        }
        if (300..400).contains(&self.status.code) {
            headers.push(("location", "/mcp".to_owned()));
        }
        headers
    }
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Status { code, header } = self.status;
        write!(f, "{code}")?;
        if header != Header::None {
            write!(f, "+{header:?}")?;
        }
        write!(f, " {:?} {:?}", self.body, self.words)?;
        match self.carrier {
            Carrier::Body => Ok(()),
            Carrier::EventStream => f.write_str(" as an event"),
        }
    }
}

impl Words {
    pub(crate) const fn phrase(self) -> &'static str {
        match self {
            Self::HeaderMismatch => "-32020 header mismatch",
            Self::MethodNotFound => "-32601 method not found",
            Self::MissingCapability => "-32021 missing capability",
            Self::NoValidSession => "Bad Request: No valid session ID provided",
            Self::None => "it went wrong",
            Self::NotInitialized => "Bad Request: Server not initialized",
            Self::RateLimited => "rate limited",
            Self::SessionNotFound => "Session not found",
            Self::Unauthorized => "Unauthorized",
            Self::UnsupportedButOurs | Self::UnsupportedLegacy => "-32022 unsupported revision",
        }
    }

    pub(crate) const fn code(self) -> i64 {
        match self {
            Self::HeaderMismatch => -32020,
            Self::MethodNotFound => -32601,
            Self::MissingCapability => -32021,
            Self::NoValidSession | Self::NotInitialized | Self::None => -32000,
            Self::RateLimited => -32005,
            Self::SessionNotFound => -32001,
            Self::Unauthorized => -32003,
            Self::UnsupportedButOurs | Self::UnsupportedLegacy => -32022,
        }
    }

    /// Whether servers use these words for a session that is gone.
    pub(crate) const fn speaks_of_a_lost_session(self) -> bool {
        matches!(self, Self::NoValidSession | Self::NotInitialized | Self::SessionNotFound)
    }

    const fn supported(self) -> Option<&'static str> {
        match self {
            Self::UnsupportedButOurs => Some("2026-07-28"),
            Self::UnsupportedLegacy => Some("2025-11-25"),
            _ => None,
        }
    }

    const ALL: [Self; 11] = [
        Self::None,
        Self::SessionNotFound,
        Self::NotInitialized,
        Self::NoValidSession,
        Self::Unauthorized,
        Self::MethodNotFound,
        Self::HeaderMismatch,
        Self::MissingCapability,
        Self::UnsupportedButOurs,
        Self::UnsupportedLegacy,
        Self::RateLimited,
    ];
}

impl Body {
    /// Whether it is a JSON-RPC error that names our id.
    pub(crate) const fn is_our_error(self) -> bool {
        matches!(self, Self::ErrorOurs | Self::ErrorOursAsString | Self::ErrorOursAsText)
    }

    /// Whether it is a JSON-RPC result that names our id.
    pub(crate) const fn is_our_result(self) -> bool {
        matches!(self, Self::ResultOurs | Self::ResultOursAsString)
    }

    /// Whether it is a JSON-RPC error without an id.
    pub(crate) const fn is_nameless_error(self) -> bool {
        matches!(self, Self::ErrorNoId | Self::ErrorNull)
    }

    const ALL: [Self; 14] = [
        Self::Empty,
        Self::Text,
        Self::Html,
        Self::Json,
        Self::ErrorOurs,
        Self::ErrorOursAsText,
        Self::ErrorNull,
        Self::ErrorOther,
        Self::ResultOurs,
        Self::Cut,
        Self::ErrorNoId,
        Self::ErrorOursAsString,
        Self::ResultNoId,
        Self::ResultOursAsString,
    ];
}

impl Status {
    pub(crate) const fn bare(code: u16) -> Self {
        Self { code, header: Header::None }
    }

    /// Whether HTTP allows no body with this status.
    const fn has_no_body(self) -> bool {
        matches!(self.code, 204 | 304)
    }
}

/// Returns how far a sample goes from one case to the next: one by one where `RIDETHROUGH_TESTS` is `all`, which
/// `./test --all` sets, and `step` elsewhere.
#[allow(
    clippy::disallowed_methods,
    reason = "the machine may not look at its environment; a test may"
)]
pub(crate) fn sampled(step: usize) -> usize {
    if std::env::var("RIDETHROUGH_TESTS").is_ok_and(|it| it == "all") { 1 } else { step }
}

/// Returns every answer with this carrier.
pub(crate) fn cases(carrier: Carrier) -> Vec<Case> {
    let statuses = match carrier {
        Carrier::Body => statuses(),
        Carrier::EventStream => statuses_of_streams(),
    };
    let mut cases = Vec::new();
    for status in statuses {
        for body in Body::ALL {
            for words in Words::ALL {
                let is_repetition = body == Body::Empty && words != Words::None;
                let is_impossible = status.has_no_body() && body != Body::Empty;
                // Within an event stream neither has a content type of its own.
                let is_unnamed = carrier == Carrier::EventStream
                    && matches!(body, Body::ErrorOursAsText | Body::Html);
                if !(is_repetition || is_impossible || is_unnamed) {
                    let number = cases.len();
                    cases.push(Case { number, status, body, words, carrier });
                }
            }
        }
    }
    cases
}

fn statuses() -> Vec<Status> {
    let mut statuses: Vec<_> = BARE.into_iter().map(Status::bare).collect();
    statuses.extend((520..=530).map(Status::bare));
    statuses.extend(WITH_HEADERS);
    statuses
}

fn statuses_of_streams() -> Vec<Status> {
    let bare = [200, 201, 202, 400, 403, 404, 409, 410, 422, 500, 502, 503];
    let mut statuses: Vec<_> = bare.into_iter().map(Status::bare).collect();
    statuses.extend(WITH_HEADERS);
    statuses
}

const BARE: [u16; 50] = [
    200, 201, 202, 204, 300, 301, 302, 303, 304, 307, 308, 400, 401, 402, 403, 404, 405, 406, 407,
    408, 409, 410, 411, 413, 414, 415, 417, 418, 421, 422, 423, 424, 425, 426, 428, 429, 431, 451,
    499, 500, 501, 502, 503, 504, 505, 507, 508, 511, 599, 416,
];

const WITH_HEADERS: [Status; 4] = [
    Status { code: 401, header: Header::Challenge },
    Status { code: 403, header: Header::Scope },
    Status { code: 429, header: Header::RetryAfter },
    Status { code: 503, header: Header::RetryAfter },
];
