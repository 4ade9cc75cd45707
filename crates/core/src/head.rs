//! The head of an HTTP answer, as far as the machine reads it.
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
    /// The media type, without parameters.
    pub content: Content,
    /// The session id that the server issued with this answer.
    pub session: Option<SessionId>,
    /// `Retry-After`, a date already turned into a duration.
    pub retry_after: Option<Duration>,
    /// What `WWW-Authenticate` asks for.
    pub challenge: Option<Challenge>,
    /// The words of `WWW-Authenticate` for people: `error_description`, and the missing scope.
    pub challenge_words: Option<Arc<str>>,
    /// Where `Location` points.
    pub redirect: Option<Redirect>,
    /// The values of cookies that the answer sets, which later requests carry.
    pub cookies: Vec<Box<str>>,
    /// The connection that carried the answer, if the transport can tell its connections apart.
    pub connection: Option<ConnectionId>,
}

impl AnswerHead {
    /// Creates a head with this status and content and nothing else.
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

/// The media types that the machine distinguishes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    /// `text/event-stream`.
    EventStream,
    /// `text/html`: most likely from an intermediary.
    Html,
    /// `application/json`.
    Json,
    /// No content type, or no body.
    Nothing,
    /// Anything else.
    Other,
}

/// What an answer asks of the client's credentials.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Challenge {
    /// What the credentials lack.
    pub demand: Demand,
    /// The values of `WWW-Authenticate` as they came, one per line. A login finds its authorization server
    /// there.
    pub header: Arc<str>,
}

/// What credentials lack.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Demand {
    /// Everything: none were sent, or the server does not accept them.
    Credentials,
    /// More scope than they have (`insufficient_scope`), as named by the server.
    Scope(Arc<str>),
}

impl Challenge {
    /// Creates a challenge that asks for credentials, or better ones.
    pub fn credentials() -> Self {
        Self { demand: Demand::Credentials, header: "".into() }
    }

    /// Creates a challenge that asks for more scope.
    pub fn scope(scope: impl Into<Arc<str>>) -> Self {
        Self { demand: Demand::Scope(scope.into()), header: "".into() }
    }

    /// Sets the values of `WWW-Authenticate`.
    pub fn with_header(self, header: impl Into<Arc<str>>) -> Self {
        Self { header: header.into(), ..self }
    }

    /// Returns the missing scope, if the credentials lack scope.
    pub fn missing_scope(&self) -> Option<&Arc<str>> {
        match &self.demand {
            Demand::Credentials => None,
            Demand::Scope(scope) => Some(scope),
        }
    }
}

/// The target of a redirect, relative to the origin of the request.
#[derive(Clone, PartialEq, Eq)]
pub enum Redirect {
    /// Scheme, host or port differ: our credentials must not go there.
    OtherOrigin(Arc<str>),
    /// The origin is unchanged; this is the path and query to request.
    SameOrigin(Arc<str>),
}

impl Redirect {
    /// Returns the target fit to be shown: a path without its query, which may hold keys, and of another
    /// origin only the origin, because the rest may be anything, including a key of ours.
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

/// Returns the scheme, host and port of a URL.
fn origin(url: &str) -> Option<String> {
    let (scheme, rest) = url.split_once("://")?;
    let authority: Authority = rest.split(['/', '?', '#', '\\']).next()?.parse().ok()?;
    let port = authority.port().map(|port| format!(":{port}")).unwrap_or_default();
    Some(format!("{scheme}://{}{port}", authority.host()))
}

pub(crate) fn without_query(target: &str) -> &str {
    target.split('?').next().unwrap_or_default()
}
