//! What the machine reads of an HTTP answer before its body.
//!
//! The transport translates headers into these few facts; header names and formats stay there.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use http::StatusCode;
use http::uri::Authority;

use crate::ids::ConnectionId;
use crate::session::SessionId;

/// The head of an HTTP answer.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct AnswerHead {
    /// The status.
    pub status: StatusCode,
    /// The media type, parameters left out.
    pub content: Content,
    /// The session id that the server issued with this answer.
    pub session: Option<SessionId>,
    /// `Retry-After`, a date already turned into a duration.
    pub retry_after: Option<Duration>,
    /// What `WWW-Authenticate` asks for.
    pub challenge: Option<Challenge>,
    /// What `WWW-Authenticate` says for people: `error_description`, and the scope that is missing.
    pub challenge_words: Option<Arc<str>>,
    /// Where `Location` points.
    pub redirect: Option<Redirect>,
    /// The values of cookies that it sets: later requests are known by them.
    pub cookies: Vec<Box<str>>,
    /// The connection that it came on, if the transport can tell its connections apart.
    pub connection: Option<ConnectionId>,
}

impl AnswerHead {
    /// A head with this status and content and nothing else.
    pub const fn new(status: StatusCode, content: Content) -> Self {
        Self {
            status,
            content,
            session: None,
            retry_after: None,
            challenge: None,
            challenge_words: None,
            redirect: None,
            cookies: Vec::new(),
            connection: None,
        }
    }

    /// Whether this answer is an open event stream.
    pub fn is_stream(&self) -> bool {
        self.status.is_success() && self.content == Content::EventStream
    }
}

/// The media types that the machine tells apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    /// `text/event-stream`.
    EventStream,
    /// `text/html`: most likely an intermediary speaking.
    Html,
    /// `application/json`.
    Json,
    /// No content type, or no body.
    Nothing,
    /// Anything else.
    Other,
}

/// What an answer demands of our credentials.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Challenge {
    /// What they lack.
    pub demand: Demand,
    /// The values of `WWW-Authenticate` as they came, one to a line. A login finds there whom to ask.
    pub header: Arc<str>,
}

/// What credentials lack.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Demand {
    /// Everything: there were none, or they are not accepted.
    Credentials,
    /// More scope than they have (`insufficient_scope`), as named by the server.
    Scope(Arc<str>),
}

impl Challenge {
    /// A demand for credentials, or better ones.
    pub fn credentials() -> Self {
        Self { demand: Demand::Credentials, header: "".into() }
    }

    /// A demand for more scope.
    pub fn scope(scope: impl Into<Arc<str>>) -> Self {
        Self { demand: Demand::Scope(scope.into()), header: "".into() }
    }

    /// The challenge as these values of `WWW-Authenticate` say it.
    pub fn with_header(self, header: impl Into<Arc<str>>) -> Self {
        Self { header: header.into(), ..self }
    }

    /// The scope that is missing, if it is scope that is missing.
    pub fn missing_scope(&self) -> Option<&Arc<str>> {
        match &self.demand {
            Demand::Credentials => None,
            Demand::Scope(scope) => Some(scope),
        }
    }
}

/// The target of a redirect, compared with the origin that we asked.
#[derive(Clone, PartialEq, Eq)]
pub enum Redirect {
    /// Scheme, host or port differ: our credentials must not go there.
    OtherOrigin(Arc<str>),
    /// The same server; this is the path and query to ask.
    SameOrigin(Arc<str>),
}

impl Redirect {
    /// The target as people may see it: a path without its query, where keys are kept, and of another
    /// origin nothing but the origin: the rest may be anything, a key of ours too.
    pub fn shown(&self) -> Cow<'_, str> {
        match self {
            Self::OtherOrigin(url) => origin(url).map_or("another origin".into(), Cow::Owned),
            Self::SameOrigin(path) => without_query(path).into(),
        }
    }
}

impl fmt::Debug for Redirect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Redirect({})", self.shown())
    }
}

/// Scheme, host and port of a URL.
fn origin(url: &str) -> Option<String> {
    let (scheme, rest) = url.split_once("://")?;
    let authority: Authority = rest.split(['/', '?', '#', '\\']).next()?.parse().ok()?;
    let port = authority.port().map(|port| format!(":{port}")).unwrap_or_default();
    Some(format!("{scheme}://{}{port}", authority.host()))
}

pub(crate) fn without_query(target: &str) -> &str {
    target.split('?').next().unwrap_or_default()
}
