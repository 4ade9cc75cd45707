//! A server of 2024-11-05, which speaks HTTP+SSE: a GET opens the stream that carries every message to the
//! client, and its first event names the address for POST.
//!
//! Rules, tools, log and runs are those of the [`Mcp`] inside it; a request that no rule takes is treated as
//! this revision says. Each stream is a session, `old-session-1` and so on, and ends with it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use futures_util::future::BoxFuture;
use serde_json::Value;
use tokio::sync::mpsc;

use super::{Ask, Mcp, Sse, What, behaviour};
use crate::lock::lock;
use crate::staff::Service;
use crate::turn::Turn;

/// An HTTP+SSE server as a [`Service`]. Clones share one server.
///
/// ```
/// use ridethrough_lab::{OldMcp, Protocol, Server};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let old = OldMcp::new();
/// old.never_answers("deploy");
/// let server = Server::new(Protocol::Http1, old.clone());
///
/// // ... a client calls `deploy` ...
/// old.cut_streams();
/// assert_eq!(old.mcp().executions("deploy"), 0);
/// # drop(server);
/// # }
/// ```
#[derive(Clone)]
pub struct OldMcp {
    mcp: Mcp,
    state: Arc<Mutex<OldSession>>,
}

struct OldSession {
    endpoint: String,
    refusal: u16,
    silent: BTreeSet<String>,
    opened: u64,
    streams: BTreeMap<String, mpsc::UnboundedSender<Bytes>>,
}

impl OldMcp {
    /// Creates a server that refuses a POST to its stream's address by 405.
    pub fn new() -> Self {
        Self::around(Mcp::new())
    }

    /// Creates an HTTP+SSE server around this one, which keeps the state, runs the tools and writes the log.
    pub(crate) fn around(mcp: Mcp) -> Self {
        let mut greeting = mcp.state().initialize_result.clone();
        greeting["protocolVersion"] = "2024-11-05".into();
        mcp.initialize_result(greeting);
        let state = OldSession {
            endpoint: format!("{MESSAGES}?session_id={SESSION}"),
            refusal: 405,
            silent: BTreeSet::new(),
            opened: 0,
            streams: BTreeMap::new(),
        };
        Self { mcp, state: Arc::new(Mutex::new(state)) }
    }

    /// Returns the server inside, with its log; its rules come first.
    pub fn mcp(&self) -> &Mcp {
        &self.mcp
    }

    /// Names this address for messages; `{session}` in it becomes the session id.
    pub fn endpoint(&self, endpoint: &str) {
        lock(&self.state).endpoint = endpoint.to_owned();
    }

    /// Refuses a POST to its stream's address by this status.
    pub fn refuses_posts_by(&self, status: u16) {
        lock(&self.state).refusal = status;
    }

    /// Runs this tool and never answers.
    pub fn never_answers(&self, tool: &str) {
        lock(&self.state).silent.insert(tool.to_owned());
    }

    /// Returns how many streams are open.
    pub fn streams(&self) -> usize {
        lock(&self.state).streams.len()
    }

    /// Sends a message on every stream.
    pub fn push(&self, message: &Value) {
        self.say(&event("message", &message.to_string()));
    }

    /// Sends these bytes on every stream.
    pub fn say(&self, bytes: &[u8]) {
        for stream in lock(&self.state).streams.values() {
            // A client that is gone is noticed by its stream.
            let _ = stream.send(Bytes::copy_from_slice(bytes));
        }
    }

    /// Breaks every stream off and forgets its session.
    pub fn cut_streams(&self) {
        lock(&self.state).streams.clear();
    }

    async fn behave(self, ask: Ask) {
        if let Some(refusal) = behaviour::missing_bearer(&ask) {
            return behaviour::send_whole(ask, refusal).await;
        }
        let is_message = ask.entry.target.starts_with(MESSAGES);
        match ask.entry.what {
            What::Listen if !is_message => self.stream(ask).await,
            What::Notification { .. } | What::Request { .. } | What::Response if is_message => {
                self.take(ask).await;
            }
            _ => {
                let status = lock(&self.state).refusal;
                ask.status(status, &[], "Method Not Allowed").await;
            }
        }
    }

    /// Opens a stream and sends what is pushed to it.
    async fn stream(self, ask: Ask) {
        let (sender, mut said) = mpsc::unbounded_channel();
        let (session, endpoint) = {
            let mut state = lock(&self.state);
            state.opened += 1;
            let session = format!("old-session-{}", state.opened);
            state.streams.insert(session.clone(), sender);
            let endpoint = state.endpoint.replace(SESSION, &session);
            (session, endpoint)
        };
        let mut sse = ask.sse().await;
        if !endpoint.is_empty() {
            sse.raw(event("endpoint", &endpoint)).await;
        }
        while let Some(bytes) = next(&mut said, &mut sse).await {
            sse.raw(bytes).await;
        }
        lock(&self.state).streams.remove(&session);
        sse.cut().await;
    }

    /// Takes in a message, and answers it on its stream if it is a request.
    async fn take(self, ask: Ask) {
        let named = ask.entry.target.split_once("session_id=").map(|(_, session)| session);
        let stream = named.and_then(|session| lock(&self.state).streams.get(session).cloned());
        let Some(stream) = stream else {
            return ask.status(404, &[], "Could not find session").await;
        };
        ask.run();
        let (what, answer) = (ask.entry.what.clone(), ask.right_answer());
        ask.status(202, &[], "Accepted").await;
        let What::Request { tool, .. } = what else { return };
        let is_silent = tool.is_some_and(|tool| lock(&self.state).silent.contains(&tool));
        if !is_silent {
            // Answers for a stream that has ended are dropped.
            let _ = stream.send(event("message", &answer.to_string()).into());
        }
    }
}

/// Waits for the next bytes to send; `None` if the client has gone or the stream is cut.
async fn next(said: &mut mpsc::UnboundedReceiver<Bytes>, sse: &mut Sse) -> Option<Bytes> {
    tokio::select! {
        biased;
        bytes = said.recv() => bytes,
        () = sse.gone() => None,
    }
}

fn event(kind: &str, data: &str) -> Vec<u8> {
    format!("event: {kind}\ndata: {data}\n\n").into_bytes()
}

impl Service for OldMcp {
    fn serve(&self, turn: Turn) -> BoxFuture<'static, ()> {
        let (ask, handler) = self.mcp.admit(turn);
        match handler {
            Some(handler) => handler(ask),
            None => Box::pin(self.clone().behave(ask)),
        }
    }
}

impl Default for OldMcp {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for OldMcp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OldMcp").finish_non_exhaustive()
    }
}

const MESSAGES: &str = "/messages";
const SESSION: &str = "{session}";
