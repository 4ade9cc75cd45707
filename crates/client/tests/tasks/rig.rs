//! A server in memory that answers by a script, and clients of it.

use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::future::BoxFuture;
use http::StatusCode;
use ridethrough::machine::head::{AnswerHead, Content};
use ridethrough::machine::{Cause, Failure, Verb};
use ridethrough::task::TaskCall;
use ridethrough::transport::{Body, Bytes, Reply, Transport, TransportRequest};
use ridethrough::{Client, ClientBuilder, Era};
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::time::Instant;

/// What the server does with a request.
pub(crate) enum Told {
    /// Answers with a result.
    Result(Value),
    /// Answers with an error.
    Error(i64, &'static str),
    /// Answers with a bare status.
    Status(u16),
    /// Answers 200 with something that is no JSON.
    Page,
    /// Cuts the connection after the request has arrived.
    Cut,
    /// Accepts no connection.
    Refused,
    /// Never answers.
    Silence,
    /// Answers with a stream of these messages, as they come.
    Stream(mpsc::UnboundedReceiver<Value>),
}

/// One message that the server got.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    pub(crate) at: Duration,
    pub(crate) method: String,
    pub(crate) message: Value,
    /// The header `Mcp-Name`.
    pub(crate) name: Option<String>,
    /// A header that a call may have of its own.
    pub(crate) tenant: Option<String>,
}

impl Asked {
    pub(crate) fn params(&self) -> &Value {
        &self.message["params"]
    }
}

type Script = Box<dyn FnMut(&Asked, usize) -> Told + Send>;

/// A server. Clones share its state.
#[derive(Clone)]
pub(crate) struct Office {
    born: Instant,
    log: Arc<Mutex<Vec<Asked>>>,
    script: Arc<Mutex<Script>>,
}

impl Office {
    /// Creates a server. The script gets each request, and how often its method was requested before.
    pub(crate) fn new(script: impl FnMut(&Asked, usize) -> Told + Send + 'static) -> Self {
        let script: Script = Box::new(script);
        Self { born: Instant::now(), log: Arc::default(), script: Arc::new(Mutex::new(script)) }
    }

    /// Creates a server that makes a task of each tool call and gives these answers when asked for it; the
    /// last one for ever.
    pub(crate) fn looks(mut looks: Vec<Told>) -> Self {
        looks.reverse();
        Self::new(move |asked, _| match &*asked.method {
            "tools/call" => Told::Result(made()),
            "tasks/get" if looks.len() > 1 => looks.pop().unwrap(),
            "tasks/get" => match looks.first() {
                Some(Told::Result(state)) => Told::Result(state.clone()),
                _ => looks.pop().unwrap(),
            },
            _ => Told::Result(json!({ "resultType": "complete" })),
        })
    }

    /// Returns the builder of a client of the stateless revision that follows tasks.
    pub(crate) fn builder(&self) -> ClientBuilder {
        self.bare().eras(Era::Modern).tasks()
    }

    pub(crate) fn bare(&self) -> ClientBuilder {
        Client::builder("http://in-memory/").transport(self.clone()).seed(7)
    }

    pub(crate) fn client(&self) -> Client {
        self.builder().build().unwrap()
    }

    pub(crate) fn log(&self) -> Vec<Asked> {
        self.log.lock().unwrap().clone()
    }

    /// Returns all messages with this method.
    pub(crate) fn asked(&self, method: &str) -> Vec<Asked> {
        self.log().into_iter().filter(|asked| asked.method == method).collect()
    }

    pub(crate) fn count(&self, method: &str) -> usize {
        self.asked(method).len()
    }

    /// Returns when the server was asked this.
    pub(crate) fn times(&self, method: &str) -> Vec<Duration> {
        self.asked(method).iter().map(|asked| asked.at).collect()
    }

    fn told(&self, asked: Asked) -> Told {
        let mut log = self.log.lock().unwrap();
        let before = log.iter().filter(|it| it.method == asked.method).count();
        log.push(asked.clone());
        drop(log);
        (self.script.lock().unwrap())(&asked, before)
    }
}

impl Transport for Office {
    fn perform(&self, request: TransportRequest) -> BoxFuture<'static, Result<Reply, Failure>> {
        let TransportRequest::Request { outgoing, .. } = request else {
            return Box::pin(async { Ok(Reply::Connected) });
        };
        let Verb::Post { body } = &outgoing.verb else {
            let head = AnswerHead::new(StatusCode::METHOD_NOT_ALLOWED, Content::Nothing);
            return Box::pin(async { Ok(Reply::whole(head, "")) });
        };
        let message: Value = serde_json::from_slice(body).unwrap();
        let header = |name: &str| {
            let mut named = outgoing.headers.iter().filter(|(it, _)| it.as_str() == name);
            named.next().map(|(_, value)| value.to_str().unwrap().to_owned())
        };
        let method = message["method"].as_str().unwrap_or("answer").to_owned();
        let at = self.born.elapsed();
        let (name, tenant) = (header("mcp-name"), header("x-tenant"));
        let asked = Asked { at, method, message, name, tenant };
        let (id, told) = (asked.message["id"].clone(), self.told(asked.clone()));
        if asked.method == "answer" || id.is_null() {
            let head = AnswerHead::new(StatusCode::ACCEPTED, Content::Nothing);
            return Box::pin(async { Ok(Reply::whole(head, "")) });
        }
        Box::pin(perform(id, told))
    }
}

async fn perform(id: Value, told: Told) -> Result<Reply, Failure> {
    let ok = |content| AnswerHead::new(StatusCode::OK, content);
    let whole = |body: Value| Ok(Reply::whole(ok(Content::Json), body.to_string()));
    match told {
        Told::Result(result) => whole(json!({ "jsonrpc": "2.0", "id": id, "result": result })),
        Told::Error(code, message) => {
            let error = json!({ "code": code, "message": message });
            whole(json!({ "jsonrpc": "2.0", "id": id, "error": error }))
        }
        Told::Status(status) => {
            let status = StatusCode::from_u16(status).unwrap();
            Ok(Reply::whole(AnswerHead::new(status, Content::Nothing), ""))
        }
        Told::Page => Ok(Reply::whole(ok(Content::Other), "<html>")),
        Told::Cut => Err(Failure::unknown(Cause::Reset)),
        Told::Refused => Err(Failure::not_sent(Cause::ConnectRefused)),
        Told::Silence => std::future::pending().await,
        Told::Stream(messages) => {
            let body = Box::new(Stream { id, messages });
            Ok(Reply::Answered { head: ok(Content::EventStream), body, capacity: None })
        }
    }
}

/// A stream on which answers without an id are those to its request.
struct Stream {
    id: Value,
    messages: mpsc::UnboundedReceiver<Value>,
}

impl Body for Stream {
    fn poll_chunk(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Bytes, Failure>>> {
        self.messages.poll_recv(context).map(|message| {
            let mut message = message?;
            if message["id"].is_null() && message["method"].is_null() {
                message["id"] = self.id.clone();
            }
            Some(Ok(Bytes::from(format!("data: {message}\n\n"))))
        })
    }
}

/// Begins a call and drops it when its answer has arrived and was not polled.
pub(crate) async fn drop_unseen(office: &Office, call: TaskCall) {
    let mut call = call.into_future();
    while office.count("tools/call") == 0 {
        let polled = std::future::poll_fn(|context| Poll::Ready(call.as_mut().poll(context)));
        assert!(polled.await.is_pending());
        tokio::task::yield_now().await;
    }
    tokio::time::sleep(secs(1)).await;
    drop(call);
    tokio::time::sleep(secs(1)).await;
}

/// Returns the server's answer when it makes a task.
pub(crate) fn made() -> Value {
    let mut made = working();
    made["resultType"] = json!("task");
    made
}

/// Returns the description of a task that goes on.
pub(crate) fn working() -> Value {
    json!({
        "resultType": "complete", "taskId": "t-1", "status": "working", "ttlMs": null,
        "createdAt": "2026-11-15T10:00:00Z", "lastUpdatedAt": "2026-11-15T10:00:00Z",
        "pollIntervalMs": 1000,
    })
}

/// Returns the answer about a task that goes on, with these fields changed.
pub(crate) fn task(otherwise: Value) -> Told {
    let (mut task, Value::Object(otherwise)) = (working(), otherwise) else { panic!() };
    task.as_object_mut().unwrap().extend(otherwise);
    Told::Result(task)
}

/// Returns the answer about a task that has ended with a result.
pub(crate) fn completed() -> Told {
    task(json!({ "status": "completed", "result": text("done") }))
}

/// Returns a tool result with this text.
pub(crate) fn text(text: &str) -> Value {
    json!({ "content": [{ "type": "text", "text": text }] })
}

pub(crate) const fn secs(secs: u64) -> Duration {
    Duration::from_secs(secs)
}
