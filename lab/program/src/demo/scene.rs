//! A server that can be broken and a client that does not know of it, on a socket of this machine.

use std::time::Duration;

use anyhow::{Context, Result};
use ridethrough::Client;
use ridethrough::event::{Event, Events, Seen};
use ridethrough_lab::{Ask, Mcp, Protocol, Server, Times, When};
use serde_json::json;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, timeout};

use super::line::{Diary, Tell};
use super::record::{CallEnd, Failed, Record};
use super::words::Narrator;

/// The server and the client of one act.
pub(super) struct Scene {
    pub(super) server: Server,
    pub(super) mcp: Mcp,
    pub(super) diary: Diary,
    client: Client,
    watching: JoinHandle<Vec<Event>>,
}

impl Scene {
    /// Starts the server, makes a client with default settings and connects it, standing stream
    /// included: faults come after that.
    pub(super) async fn open(tell: Tell) -> Result<Self> {
        let mcp = Mcp::new();
        let server = Server::new(Protocol::Http1, mcp.clone());
        let address = server.listen().await.context("the system gave no port of 127.0.0.1")?;
        let client = Client::new(&format!("http://{address}/mcp"))?;
        // The time starts right after the client is made, whose events count from there.
        let diary = Diary::begin(tell);
        let watching = tokio::spawn(watch(client.events(), diary.clone()));
        client.connect().await.context("the client could not connect to the demo's own server")?;
        while mcp.standing_streams() == 0 {
            sleep(Duration::from_millis(2)).await;
        }
        Ok(Self { server, mcp, diary, client, watching })
    }

    /// Lets the server treat these requests by this rule.
    pub(super) fn rule<Handling>(
        &self,
        when: When,
        times: Times,
        handler: impl Fn(Ask, Diary) -> Handling + Send + Sync + 'static,
    ) where
        Handling: Future<Output = ()> + Send + 'static,
    {
        let diary = self.diary.clone();
        self.mcp.rule(when, times, move |ask| handler(ask, diary.clone()));
    }

    /// Calls a tool, and has the server answer with this name. It is sent at once.
    pub(super) fn call(&self, tool: &str, name: &str) -> impl Future<Output = CallEnd> + use<> {
        let (began, name) = (Instant::now(), name.to_owned());
        self.diary.caller(format!("call `{tool}`"));
        let call = self.client.call_tool(tool, json!({"msg": name})).into_future();
        async move {
            let result = call.await.map(|result| result.text()).map_err(|error| Failed {
                kind: error.kind(),
                may_have_run: error.may_have_run(),
                report: error.report(),
            });
            let took = began.elapsed();
            // So that the client's line about this outcome comes before the caller's next step.
            sleep(Duration::from_millis(1)).await;
            CallEnd { name, took, result }
        }
    }

    /// Returns the client's events from here on.
    pub(super) fn events(&self) -> Events {
        self.client.events()
    }

    /// Ends the scene: the client ends its session, then the server stops.
    pub(super) async fn close(self, ends: Vec<CallEnd>) -> Result<Record> {
        self.client.close().await;
        let events = self.watching.await.context("the client's events were not read")?;
        let seen = Record::read(&self.mcp, &self.server);
        self.server.kill().await;
        Ok(Record { ends, events, ..seen })
    }
}

/// Waits for such an event, up to `limit`. If it does not come, the act is judged as it stands.
pub(super) async fn wait_for(mut events: Events, limit: Duration, wanted: fn(&Event) -> bool) {
    let waiting = async {
        while let Some(seen) = events.next().await {
            if matches!(&seen, Seen::Event { event, .. } if wanted(event)) {
                return;
            }
        }
    };
    // The record shows whether the event came.
    let _ = timeout(limit, waiting).await;
}

/// Reports the client's events until it is closed, and keeps them.
async fn watch(mut events: Events, diary: Diary) -> Vec<Event> {
    let (mut kept, mut narrator) = (Vec::new(), Narrator::default());
    while let Some(seen) = events.next().await {
        // One act has far fewer events than are kept for a watcher, so none is missed.
        let Seen::Event { at, event } = seen else { continue };
        if let Some(words) = narrator.words(at, &event) {
            diary.client(at, words);
        }
        kept.push(event);
    }
    kept
}
