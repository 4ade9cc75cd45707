//! The callers of a world: an application with a client, or a host with a bridge.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use ridethrough::{Client, Json};
use ridethrough_bridge::Bridge;
use ridethrough_core::hints::OperatorHints;
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, WriteHalf, split};
use tokio::sync::{Mutex as AsyncMutex, oneshot};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::host::{Shared, lock};
use super::oracle::Oracle;
use super::order::{Order, SAFE_TOOL};
use super::told::Told;

/// One caller. Clones share one caller.
#[derive(Clone)]
pub(crate) enum Caller {
    /// An application that has a client.
    Direct(Client),
    /// A host that talks to a bridge in lines.
    Host(Arc<BridgeHost>),
}

impl Caller {
    /// Makes a call, and waits for its outcome.
    pub(crate) async fn call(
        &self,
        order: Order,
        deadline: Duration,
        wants_progress: bool,
    ) -> Told {
        match self {
            Self::Direct(client) => {
                let params = Json::new(order.params()).expect("written as JSON");
                let mut call = client.request("tools/call", params).timeout(deadline);
                if order.is_safe {
                    call = call.idempotent();
                }
                if wants_progress {
                    call = call.on_progress(|_| {});
                }
                Told::by_client(call.await)
            }
            Self::Host(host) => host.call(order, wants_progress).await,
        }
    }

    /// Cancels a call of a host at its bridge; a client's call is cancelled by its drop.
    pub(super) async fn take_back(&self, order: Order) {
        if let Self::Host(host) = self {
            lock(&host.waiting).remove(&order.call);
            let params = format!(r#"{{"requestId":{}}}"#, order.call);
            host.say(&format!(
                r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{params}}}"#
            ))
            .await;
        }
    }

    /// Leaves, and returns what was wrong about it.
    pub(super) async fn leave(self) -> Option<String> {
        match self {
            Self::Direct(client) => {
                let closed = timeout(Duration::from_secs(6), client.close()).await;
                closed.err().map(|_| "a client did not close within 6 s".to_owned())
            }
            Self::Host(host) => host.leave().await,
        }
    }
}

/// A host: it writes lines, and assigns answers to its calls.
pub(crate) struct BridgeHost {
    writer: AsyncMutex<Option<WriteHalf<DuplexStream>>>,
    waiting: Shared<BTreeMap<u64, oneshot::Sender<Told>>>,
    oracle: Shared<Oracle>,
    tasks: AsyncMutex<Vec<JoinHandle<()>>>,
}

impl BridgeHost {
    /// Starts a bridge in front of this client, and initializes it.
    pub(super) async fn start(client: Client, limit: Duration, oracle: Shared<Oracle>) -> Self {
        let (host, ours) = tokio::io::duplex(256 << 10);
        let mut hints = OperatorHints::default();
        hints.repeat(SAFE_TOOL);
        let bridge = Bridge::new(client).time_limit(limit).hints(hints);
        let serving = tokio::spawn(async move {
            let (reader, writer) = split(ours);
            bridge.run(reader, writer, std::future::pending()).await;
        });
        let (reader, writer) = split(host);
        let waiting: Shared<BTreeMap<u64, oneshot::Sender<Told>>> = Shared::default();
        let hearing = {
            let (waiting, oracle) = (waiting.clone(), oracle.clone());
            tokio::spawn(async move {
                let mut lines = BufReader::new(reader).lines();
                while let Ok(Some(line)) = lines.next_line().await {
                    hear(&line, &waiting, &oracle);
                }
            })
        };
        let writer = AsyncMutex::new(Some(writer));
        let this = Self { writer, waiting, oracle, tasks: AsyncMutex::new(vec![serving, hearing]) };
        this.say(HELLO).await;
        this.say(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#).await;
        this
    }

    async fn call(&self, order: Order, wants_progress: bool) -> Told {
        let told = self.ask(order.call, order, wants_progress).await;
        if !order.is_safe && order.call % 2 == 1 && told.is_doubt() {
            self.repeat(order, wants_progress).await;
        }
        told
    }

    /// Does what frameworks do to a call that may have run: makes it again, at once. It must not be sent.
    async fn repeat(&self, order: Order, wants_progress: bool) {
        let told = self.ask(order.call + REPEATS, order, wants_progress).await;
        if !told.is_doubt() && told != Told::TakenBack {
            let what = format!("the repeat of call {}: {told}", order.call);
            lock(&self.oracle).broken("a repeat of what is in doubt gets that doubt", what);
        }
    }

    /// Makes a call under this id.
    async fn ask(&self, id: u64, order: Order, wants_progress: bool) -> Told {
        let (told, hears) = oneshot::channel();
        lock(&self.waiting).insert(id, told);
        let params = order.params();
        let meta = if wants_progress {
            format!(r#","_meta":{{"progressToken":"p{id}"}}}}"#)
        } else {
            "}".to_owned()
        };
        let params = format!("{}{meta}", &params[..params.len() - 1]);
        let call =
            format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{params}}}"#);
        self.say(&call).await;
        hears.await.unwrap_or(Told::TakenBack)
    }

    async fn say(&self, line: &str) {
        if let Some(writer) = &mut *self.writer.lock().await {
            // If the bridge is gone, no answer comes, which the oracle notices.
            let _ = writer.write_all(format!("{line}\n").as_bytes()).await;
        }
    }

    async fn leave(&self) -> Option<String> {
        if let Some(mut writer) = self.writer.lock().await.take() {
            let _ = writer.shutdown().await;
        }
        let mut tasks = std::mem::take(&mut *self.tasks.lock().await);
        let serving = tasks.remove(0);
        let ended = timeout(Duration::from_secs(2), serving).await;
        tasks.iter().for_each(JoinHandle::abort);
        ended.err().map(|_| "a bridge did not end within 2 s".to_owned())
    }
}

/// Handles a line of the bridge: an answer belongs to one call, and comes once.
fn hear(
    line: &str,
    waiting: &Shared<BTreeMap<u64, oneshot::Sender<Told>>>,
    oracle: &Shared<Oracle>,
) {
    let Ok(message) = serde_json::from_str::<Value>(line) else {
        return lock(oracle).broken("a bridge speaks JSON", line.chars().take(80).collect());
    };
    let Some(id) = message["id"].as_u64().filter(|_| message["method"].is_null()) else { return };
    let told = told_by(line, &message);
    match lock(waiting).remove(&id) {
        // A caller that gave up does not listen any more.
        Some(waiter) => drop(waiter.send(told)),
        None => lock(oracle).answered_unasked(id),
    }
}

fn told_by(line: &str, message: &Value) -> Told {
    let error = &message["error"];
    // What may have run is told by a result, with the facts in its `_meta`.
    let doubt = &message["result"]["_meta"]["ridethrough/doubt"];
    let facts = if doubt.is_null() { &error["data"] } else { doubt };
    match (facts["kind"].as_str(), facts["mayHaveRun"].as_bool()) {
        (Some(kind), Some(may_have_run)) => {
            Told::Failed { kind: format!("bridge: {kind}"), may_have_run }
        }
        _ if error.is_null() => {
            let result = Json::new(line.to_owned()).ok().and_then(|it| it.member("result"));
            Told::Answered(result.map(|it| it.as_str().to_owned()).unwrap_or_default())
        }
        _ => Told::ServerError(error.to_string()),
    }
}

/// What is added to the id of a call when it is repeated.
const REPEATS: u64 = 1 << 40;
const HELLO: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"host","version":"1"}}}"#;
