//! A server behind the gateway: the host of [`world`](crate::world), some of whose tools ask a person first.
//!
//! In a session the question is a request on the stream of the call; without one it is `input_required`, and
//! the answer comes with the call repeated.

use std::collections::BTreeMap;
use std::time::Duration;

use ridethrough_core::rng::Rng;
use ridethrough_lab::{Ask, Http2, Mcp, Server, Sse, Times, What, When};
use serde_json::{Value, json};
use tokio::sync::oneshot;

use super::record::{OpenInquiry, Record, Target};
use super::shape::ServerShape;
use crate::world::computer::Computer;
use crate::world::host::{CLIENT_HEADER, Chance, Host, Shared, lock};
use crate::world::life::AUTHORITY;
use crate::world::order::{Order, SAFE_TOOL};
use crate::world::schedule::Site;
use crate::world::vault::Vault;
use crate::world::{Fault, Faults, fitting};

/// A server of a world with a gateway. Clones share one server.
#[derive(Clone)]
pub(super) struct GatewaySite {
    pub(super) site: Site,
    pub(super) shape: ServerShape,
    place: usize,
    record: Record,
    questions: Shared<BTreeMap<String, OpenQuestion>>,
    /// Whether what a server is told always arrives.
    is_certain: bool,
}

struct OpenQuestion {
    session: Option<String>,
    /// The id of the call that asks.
    request: Value,
    tell: oneshot::Sender<Reaction>,
}

/// How a question ends.
enum Reaction {
    Answered(Value),
    /// The call is cancelled.
    Cancelled,
}

impl GatewaySite {
    pub(super) fn new(
        place: usize,
        shape: ServerShape,
        faults: &Faults,
        record: &Record,
        rng: &mut Rng,
    ) -> Self {
        let mcp = Mcp::new();
        mcp.speaks(shape.spoken);
        mcp.issue_sessions(shape.has_sessions);
        mcp.tools(tools(place));
        let server = Server::with_authority(shape.protocol, AUTHORITY.clone(), mcp.clone());
        server.http2(Http2::default());
        let vault = Vault::default();
        if shape.has_tokens {
            vault.expire(&mcp);
        }
        let faults = fitting(faults, shape.has_tokens, shape.has_sessions);
        let is_certain = !faults.has(crate::world::certain::BREAKING) && !faults.has(LOSING);
        let chance = Chance { rng: Rng::new(rng.next_u64()), faults };
        let chance = std::sync::Arc::new(std::sync::Mutex::new(chance));
        let host = Host::bare(mcp.clone(), vault, record.oracle.clone(), chance);
        let site = Site { server, host, computer: Computer::new(), spoken: shape.spoken };
        let questions = Shared::default();
        let this = Self { site, shape, place, record: record.clone(), questions, is_certain };
        let serving = this.clone();
        mcp.rule(When::any(), Times::Always, move |ask| serving.clone().serve(ask));
        this
    }

    /// Returns how many requests it got.
    pub(super) fn requests(&self) -> usize {
        self.site.host.mcp.count(&When::any())
    }

    async fn serve(self, ask: Ask) {
        self.record.note(|| {
            let (name, link) = (self.shape.name, ask.entry.header(CLIENT_HEADER));
            format!("{name} gets {:?} of link {}", ask.entry.what, link.unwrap_or_default())
        });
        match &ask.entry.what {
            What::Request { tool: Some(tool), .. } => {
                let tool = tool.clone();
                self.called(ask, tool).await;
            }
            What::Response => {
                self.hear(&ask);
                ask.pass().await;
            }
            What::Notification { method } if method == "notifications/cancelled" => {
                self.withdraw(&ask);
                ask.pass().await;
            }
            _ => self.site.host.clone().serve(ask).await,
        }
    }

    async fn called(self, ask: Ask, tool: String) {
        let Some(order) = Order::of(&ask) else { return ask.pass().await };
        let asks_first = tool == ASKING_TOOL;
        if !ask.is_refused() {
            self.record.reached(order.call, &Target { server: self.place, tool });
        }
        match asks_first && !ask.is_refused() {
            true if ask.is_stateless() => self.inquire_statelessly(ask, order).await,
            true => self.inquire(ask, order).await,
            false => self.site.host.clone().call(ask).await,
        }
    }

    /// Asks on the stream of the call, and runs it with the answer.
    async fn inquire(self, ask: Ask, order: Order) {
        let host = &self.site.host;
        host.oracle().arrived(order.call);
        let (id, session) = (ask.id(), ask.entry.session.clone());
        let question = format!("q{}-{}", order.call, host.below(1 << 32));
        let (tell, told) = oneshot::channel();
        let open = OpenQuestion { session, request: id.clone(), tell };
        lock(&self.questions).insert(question.clone(), open);
        self.record.inquired(order.call);
        // A server that is killed waits no longer.
        let waiting = self.record.opened(&question);
        let mut sse = ask.sse().await;
        let asked = json!({"jsonrpc": "2.0", "id": question, "method": "elicitation/create", "params": form(order.call)});
        sse.message(None, &asked).await;
        let reaction = self.wait(waiting, order.call, told, &mut sse).await;
        lock(&self.questions).remove(&question);
        let Some(Reaction::Answered(answer)) = reaction else { return sse.finish().await };
        let Some(content) = accepted(&answer) else {
            let error = json!({"jsonrpc": "2.0", "id": id, "error": {"code": -32000, "message": "the person declined"}});
            sse.message(None, &error).await;
            return sse.finish().await;
        };
        self.record.answered(order.call, content);
        host.oracle().executed(order.call);
        if host.happens(Fault::CutStream) {
            host.oracle().met(order.call, Fault::CutStream);
            return sse.cut().await;
        }
        sse.event_and_finish(None, &order.response(&id)).await;
    }

    /// Waits for an answer. A server of this era goes on when the stream of the call breaks.
    async fn wait(
        &self,
        waiting: OpenInquiry,
        call: u64,
        mut told: oneshot::Receiver<Reaction>,
        sse: &mut Sse,
    ) -> Option<Reaction> {
        let reaction = tokio::select! {
            biased;
            reaction = &mut told => Some(reaction.ok()),
            () = sse.gone() => None,
            () = tokio::time::sleep(PATIENCE) => Some(None),
        };
        self.waited(&waiting, call);
        drop(waiting);
        match reaction {
            Some(reaction) => reaction,
            None => tokio::time::timeout(A_WHILE, told).await.ok()?.ok(),
        }
    }

    fn waited(&self, waiting: &OpenInquiry, call: u64) {
        let waited = waiting.since.elapsed();
        self.record.note(|| format!("the question of call {call} is over after {waited:?}"));
        if waited > LONGEST_HOLD && self.is_certain {
            let what = format!("call {call} waited for an answer for {waited:?}");
            self.record.broken("nothing is held beyond its time", what);
        }
        let since = self.record.since_cancelled(call).unwrap_or_default();
        if since > Duration::from_secs(30) && self.is_certain {
            let what = format!("call {call} waited for an answer {since:?} after its cancel");
            self.record.broken("a cancel reaches the server", what);
        }
    }

    /// Asks by the answer to the call, and runs the call that brings what was asked for.
    async fn inquire_statelessly(self, ask: Ask, order: Order) {
        let params = ask.params();
        let state = format!("state of call {}", order.call);
        let given = &params["inputResponses"]["who"];
        if given.is_null() {
            self.site.host.oracle().arrived(order.call);
            self.record.inquired(order.call);
            let asked = json!({"method": "elicitation/create", "params": form(order.call)});
            let result = json!({"resultType": "input_required", "inputRequests": {"who": asked}, "requestState": state});
            let body = ask.result(result);
            return ask.json(body).await;
        }
        if params["requestState"] != state.as_str() {
            let what = format!("call {} came back with {}", order.call, params["requestState"]);
            self.record.broken("a server gets its own state back", what);
        }
        match accepted(given) {
            Some(content) => {
                self.record.answered(order.call, content);
                self.site.host.clone().call(ask).await;
            }
            None => {
                let body = ask.error(-32000, "the person declined");
                ask.json(body).await;
            }
        }
    }

    /// Takes an answer of a client to a question.
    fn hear(&self, ask: &Ask) {
        let message: Value = serde_json::from_slice(&ask.entry.body).unwrap_or_default();
        let Some(id) = message["id"].as_str() else { return };
        let Some(open) = lock(&self.questions).remove(id) else { return };
        if open.session != ask.entry.session {
            let what = format!("{id}: {:?} answers for {:?}", ask.entry.session, open.session);
            self.record.broken("an answer comes from the session that was asked", what);
        }
        // The tool may have given up.
        let _ = open.tell.send(Reaction::Answered(message["result"].clone()));
    }

    fn withdraw(&self, ask: &Ask) {
        let request = &ask.params()["requestId"];
        let mut questions = lock(&self.questions);
        let of_it =
            |open: &OpenQuestion| open.request == *request && open.session == ask.entry.session;
        let found = questions.iter().find(|(_, open)| of_it(open)).map(|(id, _)| id.clone());
        if let Some(open) = found.and_then(|id| questions.remove(&id)) {
            let _ = open.tell.send(Reaction::Cancelled);
        }
    }
}

/// Returns the content of an accepted form.
fn accepted(answer: &Value) -> Option<&Value> {
    (answer["action"] == "accept").then(|| &answer["content"])
}

fn form(call: u64) -> Value {
    json!({"message": format!("call {call}"), "requestedSchema": {"type": "object", "properties": {"call": {"type": "integer"}}}})
}

/// Returns the call that a question names.
pub(super) fn call_of(message: &str) -> Option<u64> {
    message.strip_prefix("call ")?.parse().ok()
}

/// Returns the tools of the server at this place, as it lists them.
fn tools(place: usize) -> Value {
    let listed = tools_of(place).into_iter().map(|tool| {
        let description = format!("{place} {tool}");
        json!({"name": tool, "description": description, "inputSchema": {"type": "object"}})
    });
    Value::Array(listed.collect())
}

/// Returns the names of the tools of the server at this place.
pub(super) fn tools_of(place: usize) -> Vec<&'static str> {
    let mut tools = vec![SAFE_TOOL, "write", ASKING_TOOL];
    if place == 0 {
        // With the prefix of this server it has the name of a tool of the next one.
        tools.push("b_read");
    }
    tools
}

/// The tool that asks a person before it runs.
pub(super) const ASKING_TOOL: &str = "form";
/// How long a server waits for an answer.
const PATIENCE: Duration = Duration::from_secs(3600);
/// How long a server waits for an answer whose call has no stream any more.
const A_WHILE: Duration = Duration::from_secs(60);
/// How long a gateway holds a call at most, and a minute for its clients to notice.
const LONGEST_HOLD: Duration = Duration::from_secs(660);
/// Faults after which a server may not hear of a cancellation.
const LOSING: &[Fault] = &[
    Fault::Expiry,
    Fault::Amnesia,
    Fault::EraChanges,
    Fault::Unauthorized,
    Fault::Hangs,
    Fault::Refused,
    Fault::Outages,
];
