//! What is behind the server: a source of conversations, each in the session-based form of MCP.
//!
//! ```text
//!   host ──letters──▶ ┌──────────────┐      initialize, requests, notifications and answers
//!   host ◀──sinks──── │ conversation │      the end of each call, and what is said beside it
//!   host ◀──voice──── └──────────────┘      what belongs to no call
//! ```
//! This is the one interface between the server's side of MCP and everything that it can serve: a local process,
//! or a gateway with many servers. Bytes pass unchanged, and a message is parsed once.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use http::{HeaderMap, StatusCode};

use crate::host::HostSide;
use crate::page::{Page, PageRequest};

/// Opens conversations.
pub trait Backend: Send + Sync + 'static {
    /// Opens a conversation for this caller, which begins with `initialize`.
    fn open<'a>(
        &'a self,
        caller: &'a Caller,
        host: HostSide,
    ) -> BoxFuture<'a, Result<Conversation, Unavailable>>;

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

/// An open conversation, which goes on while this is polled. It completes when nothing is left of it: in bounded
/// time once it is asked to end, or after it has said that it has ended by itself. Dropping it ends it at once.
pub type Conversation = BoxFuture<'static, ()>;

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
