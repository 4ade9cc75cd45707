//! Which requests a rule takes.

use std::fmt;
use std::sync::Arc;

use super::{Entry, What};

/// Describes some of the requests that a server gets.
///
/// ```
/// use ridethrough_lab::When;
///
/// let second_session = When::session("lab-session-2");
/// let deploy_again = When::tool("deploy").and(second_session);
/// let on_another_path = When::matches(|entry| entry.target != "/mcp");
/// ```
#[derive(Clone)]
pub enum When {
    /// Every request.
    Any,
    /// Requests that both match.
    Both(Box<When>, Box<When>),
    /// The end of a session.
    Delete,
    /// The opening of a standing stream.
    Listen,
    /// Requests for which this predicate is true.
    Matches(Arc<dyn Fn(&Entry) -> bool + Send + Sync>),
    /// A JSON-RPC request of this method.
    Method(String),
    /// A JSON-RPC notification of this method.
    Notification(String),
    /// A JSON-RPC response.
    Response,
    /// The resumption of a stream.
    Resume,
    /// Requests that name this session.
    Session(String),
    /// A call of this tool.
    Tool(String),
}

impl When {
    /// Describes every request.
    pub fn any() -> Self {
        Self::Any
    }

    /// Describes the end of a session.
    pub fn delete() -> Self {
        Self::Delete
    }

    /// Describes the opening of a standing stream: a GET without `Last-Event-ID`.
    pub fn listen() -> Self {
        Self::Listen
    }

    /// Describes the requests for which this predicate is true.
    pub fn matches(predicate: impl Fn(&Entry) -> bool + Send + Sync + 'static) -> Self {
        Self::Matches(Arc::new(predicate))
    }

    /// Describes a JSON-RPC request of this method.
    pub fn method(method: impl Into<String>) -> Self {
        Self::Method(method.into())
    }

    /// Describes a JSON-RPC notification of this method.
    pub fn notification(method: impl Into<String>) -> Self {
        Self::Notification(method.into())
    }

    /// Describes a JSON-RPC response to a request of the server.
    pub fn response() -> Self {
        Self::Response
    }

    /// Describes the resumption of a stream: a GET with `Last-Event-ID`.
    pub fn resume() -> Self {
        Self::Resume
    }

    /// Describes the requests that name this session.
    pub fn session(session: impl Into<String>) -> Self {
        Self::Session(session.into())
    }

    /// Describes a call of this tool.
    pub fn tool(tool: impl Into<String>) -> Self {
        Self::Tool(tool.into())
    }

    /// Describes the requests that both match.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self::Both(Box::new(self), Box::new(other))
    }

    /// Whether it matches this request.
    pub fn holds(&self, entry: &Entry) -> bool {
        match (self, &entry.what) {
            (Self::Any, _) => true,
            (Self::Both(one, other), _) => one.holds(entry) && other.holds(entry),
            (Self::Matches(predicate), _) => predicate(entry),
            (Self::Session(session), _) => entry.session.as_ref() == Some(session),
            (Self::Delete, What::Delete)
            | (Self::Listen, What::Listen)
            | (Self::Response, What::Response)
            | (Self::Resume, What::Resume) => true,
            (Self::Method(wanted), What::Request { method, .. })
            | (Self::Notification(wanted), What::Notification { method }) => wanted == method,
            (Self::Tool(wanted), What::Request { tool, .. }) => Some(wanted) == tool.as_ref(),
            _ => false,
        }
    }
}

impl fmt::Debug for When {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Any => write!(f, "Any"),
            Self::Both(one, other) => write!(f, "{one:?} and {other:?}"),
            Self::Delete => write!(f, "Delete"),
            Self::Listen => write!(f, "Listen"),
            Self::Matches(_) => write!(f, "Matches(..)"),
            Self::Method(method) => write!(f, "Method({method})"),
            Self::Notification(method) => write!(f, "Notification({method})"),
            Self::Response => write!(f, "Response"),
            Self::Resume => write!(f, "Resume"),
            Self::Session(session) => write!(f, "Session({session})"),
            Self::Tool(tool) => write!(f, "Tool({tool})"),
        }
    }
}
