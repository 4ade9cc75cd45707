//! One request to an MCP server, and the ways in which a rule can answer it.

use std::fmt;

use bytes::Bytes;
use http::{HeaderName, HeaderValue, Response, StatusCode};
use serde_json::{Value, json};

use super::era::{Era, Spoken};
use super::{Deed, Entry, Mcp, Notes, Run, Sse, What, behaviour, inquiry, results, stateless};
use crate::issuer::{IssuerReply, IssuerRequest};
use crate::turn::{Reply, Turn};

/// What the handler of a rule gets. Dropping it leaves the request unanswered:
/// [`Reply::close`].
pub struct Ask {
    /// The request, as it is in the log.
    pub entry: Entry,
    message: Value,
    reply: Reply,
    mcp: Mcp,
    /// Its place in the log.
    number: usize,
    /// The era in which the server reads it.
    pub(super) era: Era,
}

impl Ask {
    pub(super) fn new(turn: Turn, mcp: Mcp, number: usize, spoken: Spoken) -> Self {
        // What is not JSON stays `null`, which no rule takes for a message.
        let message = serde_json::from_slice(&turn.request.body).unwrap_or_default();
        let entry = Entry::new(turn.request, &message, mcp.born);
        let era = Era::of(spoken, &entry, &message);
        Self { entry, message, reply: turn.reply, mcp, number, era }
    }

    /// Returns the JSON-RPC id; `null` if there is none.
    pub fn id(&self) -> Value {
        self.message["id"].clone()
    }

    /// Returns the JSON-RPC parameters; `null` if there are none.
    pub fn params(&self) -> Value {
        self.message["params"].clone()
    }

    /// Returns the arguments of a tool call; `null` if there are none.
    pub fn arguments(&self) -> Value {
        self.message["params"]["arguments"].clone()
    }

    /// Returns the server that was asked.
    pub fn mcp(&self) -> &Mcp {
        &self.mcp
    }

    /// Returns the JSON-RPC response of a correct server.
    pub(crate) fn right_answer(&self) -> Value {
        let What::Request { method, .. } = &self.entry.what else { return Value::Null };
        let (params, state) = (self.params(), self.mcp.state());
        let answer = match self.era {
            Era::Legacy => results::of(method, &params, &state)
                .ok_or_else(|| json!({"code": -32601, "message": "Method not found"})),
            Era::Modern => stateless::answer(method, &params, &state),
        };
        match answer {
            Ok(result) => result_message(self.id(), result),
            Err(error) => error_message(self.id(), error),
        }
    }

    /// Returns a writer of log entries about this request.
    pub(crate) fn notes(&self) -> Notes {
        Notes::new(self.mcp.clone(), self.number, self.era)
    }

    /// Counts an execution of the tool that is called. Does nothing for other requests, and for a call that
    /// must bring more input first.
    pub fn run(&self) {
        if self.wants_input() {
            return;
        }
        if let What::Request { tool: Some(tool), .. } = &self.entry.what {
            let (tool, arguments) = (tool.clone(), self.arguments());
            self.mcp.state().runs.push(Run { request: self.number, tool, arguments });
            self.notes().note(Deed::Ran);
        }
    }

    fn wants_input(&self) -> bool {
        let (params, state) = (self.params(), self.mcp.state());
        let rounds = match &self.entry.what {
            What::Request { method, .. } if self.era == Era::Modern => {
                state.rounds_of(method, &params)
            }
            _ => None,
        };
        rounds.is_some_and(|rounds| {
            !matches!(inquiry::next(rounds, &params), inquiry::InquiryStep::Run)
        })
    }

    /// Carries out a request to the authorization server that this server also is, or for the metadata by
    /// which clients find one; `None` if it is neither.
    pub(crate) fn carry_out_login(&self) -> Option<IssuerReply> {
        let (issuer, guard) = {
            let state = self.mcp.state();
            (state.issuer.clone(), state.guard.clone())
        };
        let Entry { http, target, body, .. } = &self.entry;
        let authorization = self.entry.header("authorization");
        let request = IssuerRequest { http: http.as_str(), target, body, authorization };
        let document = || guard.and_then(|guard| guard.document(http.as_str(), target));
        issuer.and_then(|issuer| issuer.answer(&request)).or_else(document)
    }

    /// Returns a JSON-RPC response to this request, with this result.
    pub fn result(&self, result: Value) -> Bytes {
        result_message(self.id(), result).to_string().into()
    }

    /// Returns a JSON-RPC response to this request, with this error.
    pub fn error(&self, code: i64, message: &str) -> Bytes {
        error_message(self.id(), json!({"code": code, "message": message})).to_string().into()
    }

    /// Whether a correct server refuses this before it reads any further: no token, no such session, a
    /// request of another era.
    pub fn is_refused(&self) -> bool {
        behaviour::refusal(self).is_some()
    }

    /// Whether the server reads this as a request of the stateless revision.
    pub fn is_stateless(&self) -> bool {
        self.era == Era::Modern
    }

    /// Answers as if no rule had matched.
    pub async fn pass(self) {
        behaviour::behave(self).await;
    }

    /// Answers with this status, these headers and this body.
    ///
    /// # Panics
    ///
    /// Panics if the status or a header is not allowed in HTTP. For answers that are not, see [`Reply::raw`].
    pub async fn status(self, status: u16, headers: &[(&str, &str)], body: impl Into<Bytes>) {
        let mut response = Response::new(body.into());
        *response.status_mut() = StatusCode::from_u16(status).expect("a status of three digits");
        for &(name, value) in headers {
            let name: HeaderName = name.parse().expect("a header name");
            let value = HeaderValue::from_str(value).expect("a header value");
            response.headers_mut().append(name, value);
        }
        self.notes().note(Deed::Answered(status));
        self.reply.respond(response).await;
    }

    /// Answers 200 with this body as `application/json`.
    pub async fn json(self, body: impl Into<Bytes>) {
        self.status(200, &[("content-type", "application/json")], body).await;
    }

    /// Answers 200 with an event stream. The head is sent at once.
    pub async fn sse(self) -> Sse {
        self.sse_in(None).await
    }

    /// Answers like [`sse`](Self::sse), with the id of a new session in the head.
    pub(super) async fn sse_in(self, session: Option<&str>) -> Sse {
        let (id, notes) = (self.id(), self.notes().of_stream());
        let mut head = Response::new(());
        let headers = head.headers_mut();
        headers.insert("content-type", HeaderValue::from_static("text/event-stream"));
        headers.insert("cache-control", HeaderValue::from_static("no-cache"));
        if self.era == Era::Modern {
            headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
        }
        if let Some(session) = session.and_then(|session| session.parse().ok()) {
            headers.insert("mcp-session-id", session);
        }
        Sse::new(self.reply.open(head).await, id, notes)
    }

    /// Returns the means to answer at the level of HTTP.
    pub fn reply(self) -> (Entry, Reply) {
        (self.entry, self.reply)
    }
}

impl fmt::Debug for Ask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ask").field("what", &self.entry.what).finish_non_exhaustive()
    }
}

pub(crate) fn error_message(id: Value, error: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "error": error})
}

pub(crate) fn result_message(id: Value, result: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "result": result})
}
