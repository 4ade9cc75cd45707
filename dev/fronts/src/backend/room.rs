//! What the backend remembers for one sequence: who listens, what is held, what was asked.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::timeout;

use super::{Era, notification};

/// The state of one sequence.
pub(crate) struct Room {
    pub(crate) era: Era,
    /// Whether it has the tool that doors hide.
    pub(crate) has_secret: bool,
    state: Mutex<State>,
    /// What became of the call that is held.
    fate: watch::Sender<Fate>,
}

/// What became of the call that is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    Cancelled,
    Held,
    Unheard,
}

#[derive(Default)]
struct State {
    peers: HashMap<String, Peer>,
    /// Questions that wait for an answer, by their ids.
    questions: HashMap<u64, oneshot::Sender<Value>>,
    last: u64,
    has_grown: bool,
}

/// A session, or a `subscriptions/listen`.
#[derive(Default)]
struct Peer {
    out: Option<mpsc::UnboundedSender<String>>,
    uris: BTreeSet<String>,
    wants_tools: bool,
    level: Option<usize>,
    /// The id of the listening request.
    subscription: Option<Value>,
    /// The id of the call that is held in this session.
    held: Option<String>,
}

impl Room {
    pub(crate) fn new(era: Era) -> Self {
        let fate = watch::Sender::new(Fate::Unheard);
        Self { era, has_secret: true, state: Mutex::default(), fate }
    }

    /// Takes away the tool that doors hide.
    pub(crate) fn without_secret(mut self) -> Arc<Self> {
        self.has_secret = false;
        Arc::new(self)
    }

    /// Sets where messages of no call go.
    pub(crate) fn listen(&self, peer: &str, out: mpsc::UnboundedSender<String>) {
        let mut state = self.state();
        let peer = state.peers.entry(peer.to_owned()).or_default();
        peer.out = Some(out);
        peer.wants_tools = true;
    }

    /// Begins a `subscriptions/listen`, and acknowledges it.
    pub(crate) fn listen_stateless(
        &self,
        peer: &str,
        id: &str,
        wanted: &Value,
        out: mpsc::UnboundedSender<String>,
    ) {
        let uris = wanted["resourceSubscriptions"].as_array().into_iter().flatten();
        let uris = uris.filter_map(Value::as_str).map(str::to_owned).collect();
        let id: Value = serde_json::from_str(id).unwrap_or_default();
        let params = json!({"_meta": {SUBSCRIPTION: id}, "notifications": wanted});
        let first = notification("notifications/subscriptions/acknowledged", &params);
        // A listener that left is noticed where its stream ends.
        let _ = out.send(first);
        let wants_tools = wanted["toolsListChanged"] == true;
        let (out, subscription) = (Some(out), Some(id));
        let peer_state = Peer { out, uris, wants_tools, subscription, ..Peer::default() };
        self.state().peers.insert(peer.to_owned(), peer_state);
    }

    pub(crate) fn subscribe(&self, peer: &str, uri: &str) {
        self.state().peers.entry(peer.to_owned()).or_default().uris.insert(uri.to_owned());
    }

    pub(crate) fn unsubscribe(&self, peer: &str, uri: &str) {
        self.state().peers.entry(peer.to_owned()).or_default().uris.remove(uri);
    }

    pub(crate) fn set_level(&self, peer: &str, level: usize) {
        self.state().peers.entry(peer.to_owned()).or_default().level = Some(level);
    }

    /// Whether a session wants log messages of this level. A session that named none wants all.
    pub(crate) fn wants_log(&self, peer: &str, level: &str) -> bool {
        let state = self.state();
        let wanted = state.peers.get(peer).and_then(|peer| peer.level);
        wanted.is_none_or(|wanted| rank(&json!(level)).is_some_and(|rank| rank >= wanted))
    }

    /// Tells every subscriber of a resource, or of what contains it, of an update.
    pub(crate) fn touch(&self, uri: &str) {
        let concerns = |wanted: &String| uri.starts_with(&**wanted);
        let tell = |peer: &Peer| peer.uris.iter().any(concerns);
        self.tell("notifications/resources/updated", &json!({"uri": uri}), tell);
    }

    /// Adds a tool, and tells of it.
    pub(crate) fn grow(&self) {
        self.state().has_grown = true;
        self.tell("notifications/tools/list_changed", &json!({}), |peer| peer.wants_tools);
    }

    pub(crate) fn has_grown(&self) -> bool {
        self.state().has_grown
    }

    fn tell(&self, method: &str, params: &Value, is_meant: impl Fn(&Peer) -> bool) {
        let state = self.state();
        for peer in state.peers.values().filter(|peer| is_meant(peer)) {
            let mut params = params.clone();
            if let Some(id) = &peer.subscription {
                params["_meta"] = json!({SUBSCRIPTION: id});
            }
            let Some(out) = &peer.out else { continue };
            // A listener that left hears nothing.
            let _ = out.send(notification(method, &params));
        }
    }

    /// Asks the client a question, and waits for its answer.
    pub(crate) async fn ask(
        &self,
        out: &mpsc::UnboundedSender<String>,
        method: &str,
        params: &Value,
    ) -> Value {
        let (answer, answered) = oneshot::channel();
        let id = {
            let mut state = self.state();
            state.last += 1;
            let id = state.last;
            state.questions.insert(id, answer);
            id
        };
        let question = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        // Without a reader there is no answer, and the wait has an end.
        let _ = out.send(question.to_string());
        match timeout(LONGEST_QUESTION, answered).await {
            Ok(Ok(answer)) => answer,
            Ok(Err(_)) | Err(_) => json!("no answer"),
        }
    }

    /// Brings an answer to its question.
    pub(crate) fn answered(&self, id: &str, answer: Value) {
        let number = id.trim_matches('"').parse().ok();
        let question = number.and_then(|number: u64| self.state().questions.remove(&number));
        if let Some(question) = question {
            // Its call may have been cancelled meanwhile.
            let _ = question.send(answer);
        }
    }

    /// Holds a call until it is cancelled; `false` if that takes too long.
    pub(crate) async fn hold(&self, peer: &str, id: &str) -> bool {
        self.state().peers.entry(peer.to_owned()).or_default().held = Some(id.to_owned());
        self.fate.send_replace(Fate::Held);
        let mut fate = self.fate.subscribe();
        let cancelled = fate.wait_for(|fate| *fate == Fate::Cancelled);
        timeout(LONGEST_HOLD, cancelled).await.is_ok()
    }

    /// Takes a call back that is held in a session.
    pub(crate) fn cancel(&self, peer: &str, id: &str) {
        let is_held = self
            .state()
            .peers
            .get(peer)
            .is_some_and(|it| it.held.as_ref().is_some_and(|held| is_same(held, id)));
        if is_held {
            self.fate.send_replace(Fate::Cancelled);
        }
    }

    /// Takes the call back whose connection was closed.
    pub(crate) fn abandon(&self) {
        self.fate.send_replace(Fate::Cancelled);
    }

    /// Waits for what becomes of the call that is held.
    pub(crate) async fn fate(&self) -> Fate {
        let mut fate = self.fate.subscribe();
        let cancelled = fate.wait_for(|fate| *fate == Fate::Cancelled);
        // A fate that is not known in time is the one of that moment.
        let _ = timeout(LONGEST_FATE, cancelled).await;
        *self.fate.borrow()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether two ids mean one thing, as a server sees it that reads them as JSON.
fn is_same(one: &str, other: &str) -> bool {
    let read = |id| serde_json::from_str::<Value>(id).ok();
    let number = |id: &Option<Value>| id.as_ref().and_then(Value::as_f64);
    let (one, other) = (read(one), read(other));
    one == other || number(&one).is_some_and(|it| number(&other) == Some(it))
}

/// The place of a level among all, the least important first.
pub(crate) fn rank(level: &Value) -> Option<usize> {
    LEVELS.iter().position(|it| level == it)
}

const LEVELS: [&str; 8] =
    ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"];
const SUBSCRIPTION: &str = "io.modelcontextprotocol/subscriptionId";
const LONGEST_FATE: Duration = Duration::from_millis(1500);
const LONGEST_HOLD: Duration = Duration::from_secs(30);
const LONGEST_QUESTION: Duration = Duration::from_secs(10);
