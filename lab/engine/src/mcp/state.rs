//! The state of an MCP server: its settings, its sessions and its log.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use http::StatusCode;
use serde::Deserialize;
use serde_json::{Value, json};

use super::share::Share;
use super::subscription::Subscriber;
use super::tape::Tapes;
use super::{Ask, Entry, Mark, Round, Spoken, When, results};
use crate::issuer::{Guard, Issuer};

/// How requests are answered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Style {
    /// `application/json`.
    #[default]
    Json,
    /// `text/event-stream`: the answer and the end of the body in one write.
    Sse,
    /// `text/event-stream`: the answer, then the end of the body in a write of its own, after other
    /// tasks have had their turn.
    SseApart,
    /// `text/event-stream`: a priming event, the answer and the end; the events have ids and are kept,
    /// so that the stream can be resumed.
    SseWithIds,
}

pub(super) struct McpState {
    pub(super) rules: Vec<ActiveRule>,
    pub(super) spoken: Spoken,
    pub(super) style: Style,
    /// Every session, and the replica that knows it.
    pub(super) sessions: BTreeMap<String, u64>,
    pub(super) replicas: u64,
    pub(super) sessions_issued: u64,
    pub(super) issues_sessions: bool,
    pub(super) lost_session: LostSessionReply,
    /// The result of `initialize`, an object to which the protocol version is added.
    pub(super) initialize_result: Value,
    pub(super) bearer: Option<String>,
    /// The guard that admits requests by tokens of an authorization server.
    pub(super) guard: Option<Guard>,
    /// The authorization server that this server also is.
    pub(super) issuer: Option<Issuer>,
    pub(super) tools: Value,
    /// The input that each tool asks for before it runs.
    pub(super) rounds: BTreeMap<String, Vec<Round>>,
    pub(super) tapes: Tapes,
    pub(super) subscribers: Vec<Subscriber>,
    pub(super) runs: Vec<Run>,
    pub(super) log: Vec<Entry>,
    pub(super) marks: Vec<Mark>,
}

impl McpState {
    /// Uses up one time of the first rule that takes this request.
    pub(super) fn handler_for(&mut self, entry: &Entry) -> Option<Handler> {
        let those = self.rules.iter_mut().filter(|rule| rule.when.holds(entry));
        let mut taking =
            those.filter_map(|rule| rule.share.takes(entry.at).then_some(&rule.handler));
        taking.next().cloned()
    }

    /// Returns the rounds of the tool that is called, if it has any.
    pub(super) fn rounds_of(&self, method: &str, params: &Value) -> Option<&[Round]> {
        let tool = params["name"].as_str().filter(|_| method == "tools/call")?;
        self.rounds.get(tool).map(Vec::as_slice)
    }

    /// Whether the replica that serves this request knows this session.
    pub(super) fn knows(&self, session: &str, entry: &Entry) -> bool {
        self.sessions.get(session) == Some(&self.replica_of(entry))
    }

    /// Returns the replica that serves a request: the load balancer deals out connections in turn, and the
    /// first is number one.
    fn replica_of(&self, entry: &Entry) -> u64 {
        entry.connection.saturating_sub(1) % self.replicas
    }

    pub(super) fn issue_session(&mut self, entry: &Entry) -> Option<String> {
        if !self.issues_sessions {
            return None;
        }
        self.sessions_issued += 1;
        let session = format!("lab-session-{}", self.sessions_issued);
        self.sessions.insert(session.clone(), self.replica_of(entry));
        Some(session)
    }
}

impl Default for McpState {
    fn default() -> Self {
        let lost = json!({
            "jsonrpc": "2.0",
            "id": null,
            "error": {"code": -32001, "message": "Session not found"},
        });
        Self {
            rules: Vec::new(),
            spoken: Spoken::default(),
            style: Style::default(),
            sessions: BTreeMap::new(),
            replicas: 1,
            sessions_issued: 0,
            issues_sessions: true,
            lost_session: LostSessionReply::new(404, lost.to_string().into()),
            initialize_result: results::initialize(),
            bearer: None,
            guard: None,
            issuer: None,
            tools: results::tools(),
            rounds: BTreeMap::new(),
            tapes: Tapes::default(),
            subscribers: Vec::new(),
            runs: Vec::new(),
            log: Vec::new(),
            marks: Vec::new(),
        }
    }
}

pub(super) type Handler = Arc<dyn Fn(Ask) -> BoxFuture<'static, ()> + Send + Sync>;

pub(super) struct ActiveRule {
    pub(super) when: When,
    /// Which of those requests it takes.
    pub(super) share: Share,
    pub(super) handler: Handler,
}

/// The answer to a request that names an unknown session.
#[derive(Clone)]
pub(super) struct LostSessionReply {
    pub(super) status: StatusCode,
    pub(super) body: Bytes,
}

impl LostSessionReply {
    pub(super) fn new(status: u16, body: Bytes) -> Self {
        let status = StatusCode::from_u16(status).expect("a status is between 100 and 999");
        Self { status, body }
    }
}

/// One run of a tool.
#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    /// The place in the log of the request that made it run.
    pub request: usize,
    /// The tool.
    pub tool: String,
    /// Its arguments; `null` if there were none.
    pub arguments: Value,
}
