//! A server of the lab, a bridge to it, and a host that speaks raw lines.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::future::BoxFuture;
use ridethrough::machine::{Cause, Failure};
use ridethrough::transport::{Connection, Dial, Endpoint, Peek};
use ridethrough::{Client, ClientBuilder, Era};
use ridethrough_bridge::{Bridge, Ended};
use ridethrough_lab::{Mcp, Protocol, Server, When};
use serde_json::{Value, json};
use tokio::io::{
    AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, Lines, ReadHalf, WriteHalf,
};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::timeout;

/// A server, and the way to reach it.
pub(crate) struct Rig {
    pub(crate) server: Server,
    pub(crate) mcp: Mcp,
}

impl Rig {
    pub(crate) fn new() -> Self {
        let mcp = Mcp::new();
        Self { server: Server::new(Protocol::Http1, mcp.clone()), mcp }
    }

    pub(crate) fn builder(&self) -> ClientBuilder {
        let builder = Client::builder("http://server.test/mcp").dial(Pipes(self.server.clone()));
        builder.eras(Era::Legacy).seed(7)
    }

    /// Creates a host of a bridge with the default settings.
    pub(crate) fn host(&self) -> Host {
        self.host_of(|bridge| bridge)
    }

    pub(crate) fn host_of(&self, set_up: impl FnOnce(Bridge) -> Bridge) -> Host {
        Host::start(set_up(Bridge::new(self.builder().build().unwrap())))
    }

    /// Creates a host whose handshake is complete.
    pub(crate) async fn greeted(&self) -> Host {
        let mut host = self.host();
        host.greet().await;
        host
    }

    /// Returns how often the server was asked this.
    pub(crate) fn count(&self, when: When) -> usize {
        self.mcp.count(&when)
    }

    /// Returns the bodies of all such requests.
    pub(crate) fn bodies(&self, when: &When) -> Vec<String> {
        let log = self.mcp.log();
        let entries = log.iter().filter(|entry| when.holds(entry));
        entries.map(|entry| String::from_utf8(entry.body.to_vec()).unwrap()).collect()
    }
}

/// The host that started the bridge.
pub(crate) struct Host {
    writer: WriteHalf<DuplexStream>,
    lines: Lines<BufReader<ReadHalf<DuplexStream>>>,
    bridge: JoinHandle<Ended>,
    stop: Option<oneshot::Sender<()>>,
    told: Arc<Mutex<Vec<String>>>,
}

impl Host {
    pub(crate) fn start(bridge: Bridge) -> Self {
        let (ours, theirs) = tokio::io::duplex(64 * 1024);
        let (reader, writer) = tokio::io::split(theirs);
        let told: Arc<Mutex<Vec<String>>> = Arc::default();
        let hearing = told.clone();
        let bridge = bridge.tell(move |line| hearing.lock().unwrap().push(line.to_owned()));
        let (stop, stopped) = oneshot::channel();
        let bridge = tokio::spawn(bridge.run(reader, writer, async {
            if stopped.await.is_err() {
                std::future::pending().await
            }
        }));
        let (reader, writer) = tokio::io::split(ours);
        let lines = BufReader::new(reader).lines();
        Self { writer, lines, bridge, stop: Some(stop), told }
    }

    /// Writes one line.
    pub(crate) async fn say(&mut self, line: impl AsRef<str>) {
        let line = format!("{}\n", line.as_ref());
        self.writer.write_all(line.as_bytes()).await.unwrap();
    }

    pub(crate) async fn ask(&mut self, id: impl Into<Value>, method: &str, params: Value) {
        let (id, method) = (id.into(), json!(method));
        self.say(format!(r#"{{"jsonrpc":"2.0","id":{id},"method":{method},"params":{params}}}"#))
            .await;
    }

    pub(crate) async fn call(&mut self, id: impl Into<Value>, tool: &str) {
        self.ask(id, "tools/call", json!({"name": tool, "arguments": {"msg": tool}})).await;
    }

    /// Cancels a request.
    pub(crate) async fn cancel(&mut self, id: impl Into<Value>) {
        let params = json!({"requestId": id.into()});
        let told = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params});
        self.say(told.to_string()).await;
    }

    /// Returns the next line, as it was written; it has an hour to come.
    pub(crate) async fn hear(&mut self) -> String {
        let line = timeout(secs(3600), self.lines.next_line()).await;
        line.expect("nothing was written").unwrap().expect("the bridge has ended")
    }

    /// Returns the next line; `None` at the end of the bridge.
    pub(crate) async fn next_line(&mut self) -> Option<String> {
        self.lines.next_line().await.unwrap()
    }

    /// Writes these bytes unchanged.
    pub(crate) async fn say_bytes(&mut self, bytes: &[u8]) {
        self.writer.write_all(bytes).await.unwrap();
    }

    pub(crate) async fn hear_json(&mut self) -> Value {
        serde_json::from_str(&self.hear().await).unwrap()
    }

    /// Returns the messages that are written within this time.
    pub(crate) async fn hear_for(&mut self, time: Duration) -> Vec<Value> {
        let mut heard = Vec::new();
        let listening = async {
            loop {
                heard.push(
                    serde_json::from_str(&self.lines.next_line().await.unwrap().unwrap()).unwrap(),
                );
            }
        };
        let _: Result<(), _> = timeout(time, listening).await;
        heard
    }

    /// Sends a request, and returns the next line as its answer.
    pub(crate) async fn asked(&mut self, id: u64, method: &str, params: Value) -> Value {
        self.ask(id, method, params).await;
        let answer = self.hear_json().await;
        assert_eq!(answer["id"], id, "{answer}");
        answer
    }

    pub(crate) async fn greet(&mut self) -> Value {
        let params = json!({
            "protocolVersion": "2025-06-18",
            "capabilities": {"sampling": {}, "roots": {"listChanged": true}},
            "clientInfo": {"name": "host", "version": "1.10"},
        });
        let answer = self.asked(0, "initialize", params).await;
        self.say(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#).await;
        answer
    }

    /// Closes the host's own end, and goes on reading.
    pub(crate) async fn finish_writing(&mut self) {
        self.writer.shutdown().await.unwrap();
    }

    /// Reads to the end of the bridge.
    pub(crate) async fn rest(&mut self) -> Vec<String> {
        let mut rest = Vec::new();
        while let Some(line) = self.lines.next_line().await.unwrap() {
            rest.push(line);
        }
        rest
    }

    pub(crate) fn stop(&mut self) {
        self.stop.take().unwrap().send(()).unwrap();
    }

    /// Returns how the bridge ended. The host reads no more.
    pub(crate) async fn left(self) -> Ended {
        let Self { writer, lines, bridge, stop, .. } = self;
        drop((writer, lines));
        let ended = bridge.await.unwrap();
        drop(stop);
        ended
    }

    pub(crate) async fn ended(&mut self) -> Ended {
        (&mut self.bridge).await.unwrap()
    }

    /// Returns the messages that were shown to people.
    pub(crate) fn told(&self) -> Vec<String> {
        self.told.lock().unwrap().clone()
    }
}

/// A folder of a test's own.
pub(crate) struct Scratch(pub(crate) PathBuf);

impl Scratch {
    pub(crate) fn new() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("ridethrough-bridge-{}-{number}", std::process::id());
        Self(std::env::temp_dir().join(name))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // A folder that stays behind does no harm.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

pub(crate) const fn secs(secs: u64) -> Duration {
    Duration::from_secs(secs)
}

/// Returns the facts of a call that may have run, as a result tells them; null if it does not.
pub(crate) fn doubt_in(answer: &Value) -> &Value {
    &answer["result"]["_meta"]["ridethrough/doubt"]
}

/// Returns the methods of notifications among these messages.
pub(crate) fn methods(messages: &[Value]) -> Vec<&str> {
    messages.iter().filter_map(|message| message["method"].as_str()).collect()
}

/// Dials the server's own pipes.
pub(crate) struct Pipes(pub(crate) Server);

impl Dial for Pipes {
    fn dial<'a>(&'a self, _: &'a Endpoint) -> BoxFuture<'a, Result<Connection, Failure>> {
        Box::pin(async {
            let pipe = self.0.dial().await.map_err(|error| {
                Failure::not_sent(Cause::ConnectRefused).with_detail(error.to_string())
            })?;
            let peek = Look(pipe.peek());
            Ok(Connection::new(pipe, peek))
        })
    }
}

struct Look(ridethrough_lab::Peek);

impl Peek for Look {
    fn is_quiet(&self) -> bool {
        self.0.is_quiet()
    }
}
