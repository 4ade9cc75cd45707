//! What is behind the server: a source of conversations, each in the session-based form of MCP.
//!
//! ```text
//!   server ──outbox──▶ ┌──────────────┐      initialize, requests, notifications and answers,
//!   server ◀──inbox─── │ conversation │      in both directions
//!                      └──────────────┘
//! ```
//! This is the one interface between the server's side of HTTP and everything that it can serve: a local
//! process, or a gateway with many servers. Bytes pass unchanged, and a message is parsed once.

use std::convert::Infallible;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::future::BoxFuture;
use futures_util::stream::BoxStream;
use http::{HeaderMap, StatusCode};
use ridethrough_wire::message::Json;
use serde_json::Value;
use tokio::sync::{mpsc, oneshot};

use crate::page::{Page, PageRequest};
use crate::parts::ParsedMessage;

/// Opens conversations.
pub trait Backend: Send + Sync + 'static {
    /// Opens a conversation for this caller. It is empty, and begins with `initialize`.
    fn open<'a>(&'a self, caller: &'a Caller) -> BoxFuture<'a, Result<Conversation, Unavailable>>;

    /// Returns the name that callers may see.
    fn name(&self) -> &str;

    /// Whether there is something at the endpoint for this caller. By default there is nothing but `/mcp`.
    fn serves(&self, caller: &Caller) -> bool {
        caller.endpoint.is_empty()
    }

    /// Whether requests of the stateless revision are understood here. Such a request then says in its `_meta`
    /// what its client calls itself and can do, may be a later round of a call or be about a task, and may be answered by
    /// `input_required` or by a task. By default it gets the form that older revisions have.
    fn understands_stateless(&self) -> bool {
        false
    }

    /// Whether requests can be answered now, for `/readyz`.
    fn is_ready(&self) -> bool {
        true
    }

    /// Whether there is a page for people's browsers at this path. By default there is none.
    fn has_page(&self, _path: &str) -> bool {
        false
    }

    /// Answers a browser. Nobody has shown a token; whose one is that a form has, `tokens` says.
    fn page<'a>(
        &'a self,
        _request: PageRequest,
        _tokens: &'a dyn TokenOwners,
    ) -> BoxFuture<'a, Page> {
        let (status, headers) = (StatusCode::NOT_FOUND, HeaderMap::new());
        Box::pin(async move { Page { status, headers, body: String::new() } })
    }
}

/// Says whose a token is.
pub trait TokenOwners: Send + Sync {
    /// Returns the principal that is let in by this token, if one is.
    fn owner_of<'a>(&'a self, token: &'a str) -> BoxFuture<'a, Option<Principal>>;
}

/// For whom a conversation is opened.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Caller {
    /// The principal that the caller's token belongs to.
    pub principal: Principal,
    /// What it wants to talk to: what stands behind `/mcp/` in the path, or nothing for `/mcp` itself.
    pub endpoint: Arc<str>,
    /// The groups that its token puts it in, such as scopes. A session that was begun with others is not its
    /// own.
    pub groups: Arc<[Arc<str>]>,
    /// Whether its requests are of the stateless revision. Clients of one principal then share a conversation,
    /// and each request says for itself what its client can do.
    pub is_stateless: bool,
}

/// A client that is let in, under a name that is no secret. What one principal began is of no use to another.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Principal {
    /// Whether it is the owner or anybody, which no name can make it.
    is_special: bool,
    name: Arc<str>,
}

/// An open conversation.
///
/// The server ends it by dropping `open`, and then reads `inbox` to its end. The backend must end `inbox` in
/// bounded time from there on.
pub struct Conversation {
    /// The channel for messages to the backend. Those of one letter are accepted together or not at all. The
    /// capacity of the channel is the only queue there is.
    pub outbox: mpsc::Sender<Letter>,
    /// The messages of the backend, produced as fast as they are read. Dropping it ends the conversation at
    /// once.
    pub inbox: BoxStream<'static, Said>,
    /// The sender that is dropped when the conversation is asked to end.
    pub open: oneshot::Sender<Infallible>,
    /// Where the server says whether the client is there.
    pub presence: Presence,
}

/// Says whether the client of a conversation is there: a request of it is being answered, or a stream is open. A
/// client may be quiet for long and come back, so its absence is no proof that it has left.
#[derive(Clone, Debug, Default)]
pub struct Presence(Arc<AtomicUsize>);

/// Messages that a client sent together.
pub type Letter = Vec<ParsedMessage>;

/// An item that comes out of a conversation.
#[derive(Debug)]
pub enum Said {
    /// The conversation is over. Nothing but the end of the stream follows.
    Ended(Ending),
    /// A message.
    Message {
        /// The message.
        message: ParsedMessage,
        /// The id of the call that a question or a notification belongs to, where that is known. Without it,
        /// a question goes to the newest call that can take it.
        call: Option<Json>,
    },
    /// Something that is not a message.
    Unreadable {
        /// The call that it would have answered: no other answer will come.
        id: Option<Json>,
    },
}

/// The end of a conversation that ended by itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ending {
    /// What happened, in words.
    pub what: String,
    /// The `data` of the errors that calls under way are answered with.
    pub data: Value,
    /// How long to wait before another conversation is opened.
    pub retry_after: Duration,
}

/// Why there is no conversation now, and when to try again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unavailable {
    /// The reason, in words.
    pub what: String,
    /// When another attempt makes sense.
    pub retry_after: Duration,
}

impl Principal {
    /// Names a principal. It is another one than [`owner`](Self::owner), whatever its name is.
    pub fn new(name: &str) -> Self {
        Self { is_special: false, name: name.into() }
    }

    /// Returns the principal of the person whose server this is.
    pub fn owner() -> Self {
        Self { is_special: true, name: "owner".into() }
    }

    /// Returns the principal of all clients that are let in without a token.
    pub fn anybody() -> Self {
        Self { is_special: true, name: "anybody".into() }
    }

    /// Whether this is the owner, or anybody where all are let in: no name makes a principal one of them.
    pub const fn is_special(&self) -> bool {
        self.is_special
    }

    /// Returns the name.
    pub fn name(&self) -> &str {
        &self.name
    }
}

impl Caller {
    /// Creates a caller of an endpoint.
    pub fn new(principal: Principal, endpoint: &str) -> Self {
        let groups = Arc::default();
        Self { principal, endpoint: endpoint.into(), groups, is_stateless: false }
    }

    /// Makes it a caller without a session.
    #[must_use]
    pub const fn stateless(mut self) -> Self {
        self.is_stateless = true;
        self
    }

    /// Puts the caller in these groups.
    #[must_use]
    pub fn in_groups(mut self, groups: Arc<[Arc<str>]>) -> Self {
        self.groups = groups;
        self
    }
}

impl Presence {
    /// Whether the client is there.
    pub fn is_here(&self) -> bool {
        self.0.load(Ordering::Relaxed) > 0
    }

    /// Counts a request or stream that is opened.
    pub(crate) fn enter(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a request or stream that is over.
    pub(crate) fn leave(&self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl fmt::Debug for Conversation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Conversation").finish_non_exhaustive()
    }
}
