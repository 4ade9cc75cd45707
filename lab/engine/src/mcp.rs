//! A correct MCP server (revisions 2025-03-26 to 2026-07-28), to which tests add rules.
//!
//! Every request is written to the log. The first rule that matches and is not used up takes it whole;
//! without one, it is treated as the specification says. This module knows nothing about sockets.

use std::fmt;
use std::future::Future;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use serde_json::Value;
use tokio::time::Instant;

use crate::issuer::{Guard, Issuer};
use crate::lock::lock;
use crate::staff::Service;
use crate::turn::Turn;

pub(crate) mod ask;
mod behaviour;
mod entry;
mod era;
mod inquiry;
mod mark;
mod mirror;
mod old;
mod results;
mod share;
pub(crate) mod sse;
mod standing;
mod state;
mod stateless;
mod subscription;
mod tape;
mod when;

pub use ask::Ask;
pub use entry::{Entry, What};
pub use era::Spoken;
pub use inquiry::Round;
pub(crate) use mark::Notes;
pub use mark::{Deed, Mark};
pub use old::OldMcp;
pub use share::Times;
pub use sse::Sse;
use state::{ActiveRule, Handler, LostSessionReply, McpState};
pub use state::{Run, Style};
pub use when::When;

/// An MCP server as a [`Service`]. Clones share one server.
///
/// ```
/// use ridethrough_lab::{Mcp, Protocol, Server, Times, When};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let mcp = Mcp::new();
/// // The first call of `deploy` is carried out, but its answer gets lost.
/// mcp.rule(When::tool("deploy"), Times::Once, |ask| async move {
///     ask.run();
///     ask.sse().await.cut().await;
/// });
/// let server = Server::new(Protocol::Http1, mcp.clone());
///
/// let client = server.connect();
/// // ... the client under test does its work ...
/// assert_eq!(mcp.executions("deploy"), 0);
/// # drop(client);
/// # }
/// ```
#[derive(Clone)]
pub struct Mcp {
    born: Instant,
    state: Arc<Mutex<McpState>>,
}

impl Mcp {
    /// Creates a server with no rules that issues sessions and answers in JSON.
    pub fn new() -> Self {
        Self::counting_from(Instant::now())
    }

    /// Creates a server like [`new`](Self::new), whose log counts times from this moment.
    pub(crate) fn counting_from(born: Instant) -> Self {
        Self { born, state: Arc::default() }
    }

    /// Lets `handler` take the requests that match, this many times.
    ///
    /// Of several rules that match, the one that was added first takes the request.
    pub fn rule<Handling>(
        &self,
        when: When,
        times: Times,
        handler: impl Fn(Ask) -> Handling + Send + Sync + 'static,
    ) where
        Handling: Future<Output = ()> + Send + 'static,
    {
        let handler = Arc::new(move |ask| -> BoxFuture<'static, ()> { Box::pin(handler(ask)) });
        self.state().rules.push(ActiveRule { when, share: times.into(), handler });
    }

    /// Removes all rules.
    pub fn clear_rules(&self) {
        self.state().rules.clear();
    }

    /// Answers requests in this style.
    pub fn answers(&self, style: Style) {
        self.state().style = style;
    }

    /// Speaks these eras from now on: an upgrade or a rollback, if it spoke others. Open streams stay open,
    /// and sessions are kept.
    pub fn speaks(&self, spoken: Spoken) {
        self.state().spoken = spoken;
    }

    /// Makes this tool ask for input in these rounds before it runs (stateless revision only).
    pub fn asks_for_input(&self, tool: &str, rounds: Vec<Round>) {
        self.state().rounds.insert(tool.to_owned(), rounds);
    }

    /// Forgets every session. Standing streams stay open, and their clients are not told.
    pub fn forget_sessions(&self) {
        self.state().sessions.clear();
    }

    /// Refuses unknown sessions with this status and body, in place of a 404 with the JSON-RPC
    /// error -32001.
    ///
    /// # Panics
    ///
    /// Panics if `status` is not between 100 and 999.
    pub fn lost_session(&self, status: u16, body: impl Into<Bytes>) {
        self.state().lost_session = LostSessionReply::new(status, body.into());
    }

    /// Issues session ids, or does without sessions. The ids are `lab-session-1` and so on.
    pub fn issue_sessions(&self, issue: bool) {
        self.state().issues_sessions = issue;
    }

    /// Answers `initialize` with this result; the negotiated `protocolVersion` is added if absent.
    pub fn initialize_result(&self, result: Value) {
        self.state().initialize_result = result;
    }

    /// Acts as this many servers behind one address that know nothing of each other's sessions. A load
    /// balancer gives each connection to the next of them.
    pub fn replicas(&self, number: u64) {
        self.state().replicas = number.max(1);
    }

    /// Refuses requests without this bearer token: 401 with `WWW-Authenticate: Bearer`.
    pub fn require_bearer(&self, token: Option<&str>) {
        self.state().bearer = token.map(str::to_owned);
    }

    /// Admits requests by tokens of an authorization server.
    pub(crate) fn guard_by(&self, guard: Guard) {
        self.state().guard = Some(guard);
    }

    /// Makes this server an authorization server, too.
    pub(crate) fn issue_tokens(&self, issuer: Issuer) {
        self.state().issuer = Some(issuer);
    }

    /// Offers these tools: the array that `tools/list` answers. Tools that are not listed can be called, too.
    pub fn tools(&self, tools: Value) {
        self.state().tools = tools;
    }

    /// Returns how many times this tool was run.
    pub fn executions(&self, tool: &str) -> u64 {
        self.state().runs.iter().filter(|run| run.tool == tool).count() as u64
    }

    /// Returns how many times this tool was run with the argument `key` of this value.
    pub fn executions_of(&self, tool: &str, key: &str) -> u64 {
        let state = self.state();
        let those = state.runs.iter().filter(|run| run.tool == tool);
        those.filter(|run| run.arguments["key"].as_str() == Some(key)).count() as u64
    }

    /// Returns every run of a tool, in order.
    pub fn runs(&self) -> Vec<Run> {
        self.state().runs.clone()
    }

    /// Returns every request, in order.
    pub fn log(&self) -> Vec<Entry> {
        self.state().log.clone()
    }

    /// Returns everything that was done about requests, in order.
    pub fn marks(&self) -> Vec<Mark> {
        self.state().marks.clone()
    }

    /// Returns how old the server was at this moment, on the clock of its log.
    pub fn age(&self, at: Instant) -> Duration {
        at.saturating_duration_since(self.born)
    }

    /// Returns how many entries of the log match.
    pub fn count(&self, when: &When) -> usize {
        self.state().log.iter().filter(|entry| when.holds(entry)).count()
    }

    /// Writes a request to the log, and returns the rule that takes it.
    fn admit(&self, turn: Turn) -> (Ask, Option<Handler>) {
        let mut state = self.state();
        let ask = Ask::new(turn, self.clone(), state.log.len(), state.spoken);
        let handler = state.handler_for(&ask.entry);
        state.log.push(ask.entry.clone());
        (ask, handler)
    }

    fn state(&self) -> std::sync::MutexGuard<'_, McpState> {
        lock(&self.state)
    }
}

impl Service for Mcp {
    fn serve(&self, turn: Turn) -> BoxFuture<'static, ()> {
        let (ask, handler) = self.admit(turn);
        match handler {
            Some(handler) => handler(ask),
            None => Box::pin(ask.pass()),
        }
    }
}

impl Default for Mcp {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Mcp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Mcp").finish_non_exhaustive()
    }
}
