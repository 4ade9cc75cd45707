//! The stage of an exchange: a server, a client, and the application's calls with how each ended.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ridethrough::error::Kind;
use ridethrough::{Call, Client, Error};
use ridethrough_lab::{Mcp, Server};
use serde_json::{Value, json};
use tokio::time::{Instant, timeout};

/// One run of an exchange, as its script sees it.
pub(super) struct Stage {
    /// The client under torture.
    pub(super) client: Client,
    /// The server behind it.
    pub(super) mcp: Mcp,
    /// The server's connections and life.
    pub(super) server: Server,
    /// The deadline of a call.
    deadline: Duration,
    ended: Mutex<Vec<Ended>>,
    is_closed: Mutex<bool>,
}

/// A call of the application, and how it ended.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Ended {
    /// Its name in the script.
    pub(super) name: String,
    /// What must hold for it.
    pub(super) nature: Nature,
    /// How it ended.
    pub(super) ending: Ending,
    /// When it ended, from its beginning.
    pub(super) took: Duration,
}

/// What must hold for a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Nature {
    /// A tool that acts once for each key; the caller drops the call.
    Dropped {
        /// The key.
        key: String,
    },
    /// Notifications that the server pushed, in the order in which they came.
    News,
    /// A notification of the client.
    Notice,
    /// It may be sent twice, so it must succeed.
    Safe,
    /// It must not run twice.
    Unsafe {
        /// The tool that it runs.
        tool: &'static str,
        /// The key by which its runs are found.
        key: String,
    },
}

/// How a call ended.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Ending {
    /// With this result, or this JSON-RPC error.
    Answer(String),
    /// With an error instead of an answer.
    Error {
        /// The kind of the error.
        kind: Option<Kind>,
        /// Whether the server may have run it.
        may_have_run: bool,
        /// The message.
        words: String,
    },
    /// It did not end within a second after its deadline.
    Hung,
    /// The caller did not wait for it.
    Unheard,
}

impl Nature {
    /// Returns a call of `deploy` with this key.
    pub(super) fn deploy(key: &str) -> Self {
        Self::Unsafe { tool: "deploy", key: key.to_owned() }
    }
}

impl Stage {
    pub(super) fn new(client: Client, mcp: Mcp, server: Server, deadline: Duration) -> Self {
        let (ended, is_closed) = (Mutex::default(), Mutex::default());
        Self { client, mcp, server, deadline, ended, is_closed }
    }

    /// Calls the tool `read`, which may be sent twice.
    pub(super) async fn read(&self, key: &str) {
        let call = self.client.request("tools/call", tool("read", key)).idempotent();
        self.until(&format!("read {key}"), Nature::Safe, call).await;
    }

    /// Calls the tool `deploy`, which must not run twice.
    pub(super) async fn deploy(&self, key: &str) {
        let call = self.client.request("tools/call", tool("deploy", key));
        self.until(&format!("deploy {key}"), Nature::deploy(key), call).await;
    }

    /// Makes a request of a method that only reads.
    pub(super) async fn ask(&self, method: &str, params: Value) {
        let call = self.client.request(method, params).fresh();
        self.until(method, Nature::Safe, call).await;
    }

    /// Makes a call of any kind.
    pub(super) async fn until(&self, name: &str, nature: Nature, call: Call) {
        let (began, deadline) = (Instant::now(), self.deadline);
        let outcome = timeout(deadline + GRACE, call.timeout(deadline).into_future()).await;
        let ending = match outcome {
            Err(_) => Ending::Hung,
            Ok(Ok(result)) => Ending::Answer(result.as_str().to_owned()),
            Ok(Err(Error::Server(error))) => Ending::Answer(error.json.as_str().to_owned()),
            Ok(Err(error)) => Ending::Error {
                kind: error.kind(),
                may_have_run: error.may_have_run(),
                words: error.report().replace('\n', "; "),
            },
        };
        self.record(name, nature, ending, began);
    }

    /// Begins `deploy` and drops it after this time.
    pub(super) async fn drop_after(&self, key: &str, time: Duration) {
        let began = Instant::now();
        let call = self.client.request("tools/call", tool("deploy", key)).answer();
        // Whichever comes first, the outcome is not used.
        let _ = timeout(time, call).await;
        let nature = Nature::Dropped { key: key.to_owned() };
        self.record(&format!("drop {key}"), nature, Ending::Unheard, began);
    }

    /// Sends the server a notification.
    pub(super) async fn tell(&self, method: &str, params: Value) {
        let began = Instant::now();
        let ending = match timeout(PATIENCE + GRACE, self.client.notify(method, params)).await {
            Err(_) => Ending::Hung,
            Ok(Ok(())) => Ending::Answer(String::new()),
            Ok(Err(error)) => Ending::Error {
                kind: Some(error.kind),
                may_have_run: error.may_have_run(),
                words: error.to_string(),
            },
        };
        self.record(method, Nature::Notice, ending, began);
    }

    /// Closes the link; no request can be made after that.
    pub(super) async fn close(&self) {
        let began = Instant::now();
        let ending = match timeout(CLOSE + GRACE, self.client.close()).await {
            Err(_) => Ending::Hung,
            Ok(()) => Ending::Answer(String::new()),
        };
        *lock(&self.is_closed) = true;
        self.record("close", Nature::Notice, ending, began);
    }

    /// Records the notifications that came.
    pub(super) fn heard(&self, news: &[u64]) {
        let ending = Ending::Answer(json!(news).to_string());
        self.record("news", Nature::News, ending, Instant::now());
    }

    /// Whether the script closed the link.
    pub(super) fn is_closed(&self) -> bool {
        *lock(&self.is_closed)
    }

    /// Takes what was recorded.
    pub(super) fn ended(&self) -> Vec<Ended> {
        std::mem::take(&mut lock(&self.ended))
    }

    fn record(&self, name: &str, nature: Nature, ending: Ending, began: Instant) {
        let took = began.elapsed();
        lock(&self.ended).push(Ended { name: name.to_owned(), nature, ending, took });
    }
}

/// Returns the params of a tool call with a key.
pub(super) fn tool(name: &str, key: &str) -> Value {
    json!({ "name": name, "arguments": { "key": key } })
}

/// Returns the answer of a lab's tool to these arguments in the era of sessions.
pub(super) fn text_of(arguments: &Value) -> Value {
    json!({ "content": [{ "type": "text", "text": arguments.to_string() }] })
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// How late an outcome may be.
const GRACE: Duration = Duration::from_secs(1);
/// How long the default policy tries to send a notification.
const PATIENCE: Duration = Duration::from_secs(30);
/// How long a close takes at most.
const CLOSE: Duration = Duration::from_secs(5);
