//! A server that runs a tool and only then answers in an odd way.
//!
//! It knows requests and answers, and nothing of their transport. It answers every other request as real
//! servers do, so that a client can find out whether it is alive.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::case::{Case, Reply};

/// The server, with its record of requests.
#[derive(Debug)]
pub(crate) struct Server {
    speaks: Speaks,
    case: Case,
    then: Then,
    /// How many sessions were made; the newest one is alive unless it was lost.
    sessions: u32,
    /// The newest session.
    newest: String,
    /// The replica that made the newest session.
    home: u64,
    is_lost: bool,
    /// Whether the odd call was refused by the replica that does not know its session.
    is_odd_elsewhere: bool,
    runs: BTreeMap<String, u32>,
    refused_probes: u32,
    probes_before_second_run: u32,
    refused_discoveries: Vec<(u16, Option<i64>)>,
    /// The id of the call whose stream was cut.
    cut: Value,
    /// The answer to the odd call, if it does not come from a case.
    always: Option<Reply>,
}

/// The protocol of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Speaks {
    /// Sessions, over HTTP+SSE of 2024-11-05 only.
    HttpSse,
    /// Sessions with ids, by two servers behind a load balancer that do not share them.
    Replicas,
    Stateless,
    WithIds,
    WithoutIds,
}

/// What becomes of the server when the tool has run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Then {
    /// It speaks another protocol from then on.
    Becomes(Speaks),
    /// It lives on.
    Lives,
    /// It forgets the session, and refuses every request in it as it answered the call.
    LosesSession,
    /// It forgets the session, and refuses every request in it but a ping as it answered the call.
    LosesSessionButPings,
    /// It lives on. The stream of the call is cut after an event id; the odd answer is the one to a resume.
    ResumesOddly,
}

/// One HTTP request.
#[derive(Debug)]
pub(crate) struct Ask {
    pub(crate) verb: Verb,
    pub(crate) session: Option<String>,
    pub(crate) version: Option<String>,
    /// The number of its connection.
    pub(crate) connection: u64,
    /// Whether it came over HTTP+SSE.
    pub(crate) is_old: bool,
}

/// The three requests of Streamable HTTP.
#[derive(Debug)]
pub(crate) enum Verb {
    Delete,
    Get { is_resume: bool },
    Post(Value),
}

impl Server {
    pub(crate) fn new(speaks: Speaks, case: Case, then: Then) -> Self {
        Self {
            speaks,
            case,
            then,
            sessions: 0,
            newest: String::new(),
            home: 0,
            is_lost: false,
            is_odd_elsewhere: false,
            runs: BTreeMap::new(),
            refused_probes: 0,
            probes_before_second_run: 0,
            refused_discoveries: Vec::new(),
            cut: Value::Null,
            always: None,
        }
    }

    /// Answers the odd call with `reply` from the start.
    pub(crate) fn always(mut self, reply: Reply) -> Self {
        self.always = Some(reply);
        self
    }

    /// Answers the odd call with this case from now on.
    pub(crate) fn answers(&mut self, case: Case) {
        self.case = case;
    }

    /// Returns how often the call with this key ran.
    pub(crate) fn runs(&self, key: &str) -> u32 {
        self.runs.get(key).copied().unwrap_or(0)
    }

    pub(crate) const fn sessions(&self) -> u32 {
        self.sessions
    }

    /// Returns how many requests other than calls were refused in the lost session.
    pub(crate) const fn refused_probes(&self) -> u32 {
        self.refused_probes
    }

    /// Returns how many of these were refused before the odd call ran a second time.
    pub(crate) const fn probes_before_second_run(&self) -> u32 {
        self.probes_before_second_run
    }

    /// Returns the statuses and codes by which `server/discover` was refused since the server changed.
    pub(crate) fn refused_discoveries(&self) -> &[(u16, Option<i64>)] {
        &self.refused_discoveries
    }

    /// Whether the odd call was sent once more before it ran.
    pub(crate) const fn is_odd_elsewhere(&self) -> bool {
        self.is_odd_elsewhere
    }

    pub(crate) fn answer(&mut self, ask: &Ask) -> Reply {
        match &ask.verb {
            Verb::Delete => Reply::status(200),
            Verb::Get { is_resume: true } if self.then == Then::ResumesOddly => {
                self.case.reply(&self.cut)
            }
            Verb::Get { .. } => Reply::status(405),
            Verb::Post(message) => match self.speaks {
                Speaks::HttpSse if !ask.is_old => Reply::status(405),
                Speaks::HttpSse | Speaks::Replicas | Speaks::WithIds => {
                    self.in_session(ask, message)
                }
                Speaks::Stateless => self.stateless(ask, message),
                Speaks::WithoutIds => self.without_ids(message),
            },
        }
    }

    fn stateless(&mut self, ask: &Ask, message: &Value) -> Reply {
        if ask.version.as_deref() != Some(STATELESS) {
            let data = json!({"supported": [STATELESS], "requested": ask.version});
            let error = json!({"code": -32022, "message": "Unsupported revision", "data": data});
            return refuse(400, &message["id"], &error);
        }
        match method(message) {
            "server/discover" => {
                let capabilities = json!({"tools": {}});
                complete(
                    message,
                    json!({"supportedVersions": [STATELESS], "capabilities": capabilities}),
                )
            }
            // This revision no longer has these methods.
            "ping" | "initialize" => unknown_method(404, message),
            _ => self.serve(message),
        }
    }

    fn in_session(&mut self, ask: &Ask, message: &Value) -> Reply {
        if method(message) == "initialize" {
            let mut reply = self.initialize(message);
            self.home = ask.replica();
            // A stream of HTTP+SSE is a session before the first message on it.
            self.newest = ask.session.clone().unwrap_or_else(|| format!("s{}", self.sessions));
            reply.headers.push(("mcp-session-id", self.newest.clone()));
            return reply;
        }
        let Some(session) = &ask.session else {
            let words = "Bad Request: No valid session ID provided";
            let error = json!({"code": -32000, "message": words});
            self.note_discovery(message, 400, Some(-32000));
            return refuse(400, &Value::Null, &error);
        };
        if self.speaks == Speaks::Replicas && ask.replica() != self.home {
            // This replica does not know the session, and has not run anything.
            self.is_odd_elsewhere |= key(message) == ODD;
            let error = json!({"code": -32001, "message": "Session not found"});
            return refuse(404, &Value::Null, &error);
        }
        let is_newest = *session == self.newest;
        match (is_newest, self.is_lost) {
            (true, false) => self.serve(message),
            (true, true) if self.answers_pings(message) => complete(message, json!({})),
            // The session was lost, whether or not there is a newer one.
            (true, true) | (false, _) => self.refuse_lost(message),
        }
    }

    fn without_ids(&mut self, message: &Value) -> Reply {
        match method(message) {
            "initialize" => self.initialize(message),
            "server/discover" => {
                self.note_discovery(message, 200, Some(-32601));
                unknown_method(200, message)
            }
            // A ping is allowed before `initialize`, so its answer says nothing about what the server
            // remembers.
            "ping" => complete(message, json!({})),
            _ if self.is_lost => self.refuse_lost(message),
            _ => self.serve(message),
        }
    }

    fn answers_pings(&self, message: &Value) -> bool {
        self.then == Then::LosesSessionButPings && method(message) == "ping"
    }

    fn initialize(&mut self, message: &Value) -> Reply {
        self.sessions += 1;
        self.is_lost = false;
        let version = if self.speaks == Speaks::HttpSse { "2024-11-05" } else { "2025-11-25" };
        let result = json!({
            "protocolVersion": version,
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "odd", "version": "1"},
        });
        complete(message, result)
    }

    /// Refuses any request whose session is gone.
    fn refuse_lost(&mut self, message: &Value) -> Reply {
        let is_request = !message["id"].is_null();
        if is_request && method(message) != "tools/call" {
            self.refused_probes += 1;
        }
        self.case.reply(&message["id"])
    }

    fn note_discovery(&mut self, message: &Value, status: u16, code: Option<i64>) {
        let has_run = self.runs.contains_key(ODD);
        if method(message) == "server/discover" && has_run {
            self.refused_discoveries.push((status, code));
        }
    }

    fn serve(&mut self, message: &Value) -> Reply {
        if message["id"].is_null() {
            return Reply::status(202);
        }
        match method(message) {
            "ping" => complete(message, json!({})),
            "tools/list" => {
                let tool = json!({"name": TOOL, "inputSchema": {"type": "object"}});
                complete(message, json!({"tools": [tool]}))
            }
            "tools/call" => self.run(message),
            _ => unknown_method(200, message),
        }
    }

    /// Runs the tool before it answers.
    fn run(&mut self, message: &Value) -> Reply {
        let key = key(message).to_owned();
        let is_odd = key == ODD;
        let runs = self.runs.entry(key.clone()).or_default();
        *runs += 1;
        let is_first = *runs == 1;
        if is_odd && *runs == 2 {
            self.probes_before_second_run = self.refused_probes;
        }
        let ran = json!({"content": [{"type": "text", "text": format!("ran {key}")}]});
        match self.then {
            _ if !is_odd => return complete(message, ran),
            Then::Lives => {
                if let Some(reply) = &self.always {
                    return reply.clone();
                }
            }
            Then::ResumesOddly => {
                self.cut = message["id"].clone();
                let cut = Reply::status(200);
                let body = "id: e1\ndata:\n\n".to_owned();
                return Reply {
                    content_type: Some("text/event-stream"),
                    body,
                    is_cut: true,
                    ..cut
                };
            }
            _ if !is_first => return complete(message, ran),
            Then::LosesSession | Then::LosesSessionButPings => self.is_lost = true,
            Then::Becomes(other) => {
                self.speaks = other;
                self.sessions = 0;
                self.newest.clear();
            }
        }
        self.case.reply(&message["id"])
    }
}

impl Ask {
    /// Returns the replica that the load balancer gave the connection to.
    const fn replica(&self) -> u64 {
        self.connection % 2
    }

    /// Whether the request asks for the tools, or for one of them.
    pub(crate) fn is_for_tools(&self) -> bool {
        matches!(&self.verb, Verb::Post(message) if method(message).starts_with("tools/"))
    }
}

/// Returns the argument that tells calls of the tool apart.
fn key(message: &Value) -> &str {
    message["params"]["arguments"]["key"].as_str().unwrap_or_default()
}

fn method(message: &Value) -> &str {
    message["method"].as_str().unwrap_or_default()
}

fn complete(message: &Value, result: Value) -> Reply {
    let mut result = result;
    result["resultType"] = "complete".into();
    Reply::json(200, &json!({"jsonrpc": "2.0", "id": message["id"], "result": result}))
}

fn refuse(status: u16, id: &Value, error: &Value) -> Reply {
    Reply::json(status, &json!({"jsonrpc": "2.0", "id": id, "error": error}))
}

fn unknown_method(status: u16, message: &Value) -> Reply {
    refuse(status, &message["id"], &json!({"code": -32601, "message": "Method not found"}))
}

/// The tool that is called. No annotation says that it may run twice.
pub(crate) const TOOL: &str = "deploy";
/// The key of the call that is answered oddly.
pub(crate) const ODD: &str = "odd";
const STATELESS: &str = "2026-07-28";
