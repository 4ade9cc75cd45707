//! A server in memory that answers as a test wants, and remembers what it was asked.

use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::future::BoxFuture;
use http::StatusCode;
use ridethrough::credentials::{Credentials, NoCredentials, Refused, Token};
use ridethrough::machine::head::{Challenge, Content};
use ridethrough::transport::{
    AnswerHead, Body, Bytes, Cause, Failure, Reply, Transport, TransportRequest, Verb,
};
use ridethrough::{Client, ClientBuilder, Era};
use serde_json::{Value, json};
use tokio::sync::mpsc;

/// The server, and what it has seen.
#[derive(Clone)]
pub(crate) struct Server {
    asked: Arc<Mutex<Vec<Asked>>>,
    says: Arc<Says>,
}

type Says = dyn Fn(&Asked) -> Said + Send + Sync;

/// One request.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    pub(crate) method: String,
    pub(crate) params: Value,
    /// The `Authorization` header, as it would be sent.
    pub(crate) token: Option<String>,
    pub(crate) headers: Vec<(String, String)>,
    id: Value,
    /// How many requests of this method came before it.
    pub(crate) before: usize,
}

/// The answer to a request.
pub(crate) enum Said {
    Error(i64),
    /// These notifications on a stream, then the result.
    Events(Vec<Value>, Value),
    Fails(Failure),
    Result(Value),
    Status(u16),
    /// A stream of these messages, which ends when the last sender is dropped.
    Stream(mpsc::UnboundedReceiver<Value>),
}

struct Stream(mpsc::UnboundedReceiver<Value>);

impl Body for Stream {
    fn poll_chunk(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Bytes, Failure>>> {
        let message = std::task::ready!(self.0.poll_recv(context));
        Poll::Ready(message.map(|message| Ok(format!("data: {message}\n\n").into())))
    }
}

impl Server {
    pub(crate) fn new(says: impl Fn(&Asked) -> Said + Send + Sync + 'static) -> Self {
        Self { asked: Arc::default(), says: Arc::new(says) }
    }

    /// Creates a server that answers each question, and allows the client to keep each answer for a minute.
    pub(crate) fn keeps_a_minute() -> Self {
        Self::new(|asked| Said::Result(minute(asked)))
    }

    pub(crate) fn builder(&self) -> ClientBuilder {
        Client::builder("http://in-memory/").transport(self.clone()).eras(Era::Modern).seed(7)
    }

    pub(crate) fn client(&self) -> Client {
        self.builder().build().unwrap()
    }

    pub(crate) fn asked(&self, method: &str) -> Vec<Asked> {
        let asked = self.asked.lock().unwrap();
        asked.iter().filter(|asked| asked.method == method).cloned().collect()
    }

    pub(crate) fn count(&self, method: &str) -> usize {
        self.asked(method).len()
    }

    fn take(&self, request: &TransportRequest) -> Option<Asked> {
        let TransportRequest::Request { outgoing, token, .. } = request else { return None };
        let Verb::Post { body } = &outgoing.verb else { return None };
        let message: Value = serde_json::from_slice(body).unwrap();
        let method = message["method"].as_str()?.to_owned();
        let before = self.count(&method);
        let header = token.as_ref().and_then(Token::header);
        let text = |value: &http::HeaderValue| value.to_str().unwrap().to_owned();
        let headers = outgoing.headers.iter().map(|(name, value)| (name.to_string(), text(value)));
        let (token, headers) = (header.as_ref().map(text), headers.collect());
        let (params, id) = (message["params"].clone(), message["id"].clone());
        let asked = Asked { method, params, token, headers, id, before };
        self.asked.lock().unwrap().push(asked.clone());
        Some(asked)
    }
}

impl Transport for Server {
    fn perform(&self, request: TransportRequest) -> BoxFuture<'static, Result<Reply, Failure>> {
        let reply = match (&request, self.take(&request)) {
            (TransportRequest::Connect, _) => Ok(Reply::Connected),
            (_, None) => Ok(status(405)),
            (_, Some(asked)) if asked.id.is_null() => Ok(status(202)),
            (_, Some(asked)) => reply(&asked, (self.says)(&asked)),
        };
        Box::pin(async { reply })
    }
}

fn reply(asked: &Asked, said: Said) -> Result<Reply, Failure> {
    let answer = |key: &str, value: Value| json!({"jsonrpc": "2.0", "id": asked.id, key: value});
    let whole =
        |content, body: String| Reply::whole(AnswerHead::new(StatusCode::OK, content), body);
    match said {
        Said::Error(code) => {
            let error = answer("error", json!({"code": code, "message": "no"}));
            Ok(whole(Content::Json, error.to_string()))
        }
        Said::Events(events, result) => {
            let events = events.into_iter().chain([answer("result", result)]);
            let stream = events.map(|event| format!("data: {event}\n\n")).collect();
            Ok(whole(Content::EventStream, stream))
        }
        Said::Fails(failure) => Err(failure),
        Said::Result(result) => Ok(whole(Content::Json, answer("result", result).to_string())),
        Said::Status(code) => Ok(status(code)),
        Said::Stream(messages) => {
            let head = AnswerHead::new(StatusCode::OK, Content::EventStream);
            Ok(Reply::Answered { head, body: Box::new(Stream(messages)), capacity: None })
        }
    }
}

/// Returns a refusal by this status; a 401 says what it wants.
fn status(code: u16) -> Reply {
    let mut head = AnswerHead::new(StatusCode::from_u16(code).unwrap(), Content::Nothing);
    head.challenge = (code == 401).then(Challenge::credentials);
    Reply::whole(head, "")
}

/// Returns the answer of a server without faults.
pub(crate) fn result(asked: &Asked) -> Value {
    let mut result = match asked.method.as_str() {
        "initialize" => json!({"protocolVersion": "2025-11-25", "capabilities": {}}),
        "prompts/list" => json!({"prompts": []}),
        "resources/list" => json!({"resources": []}),
        "resources/read" => json!({"contents": [{"uri": asked.params["uri"], "text": "a"}]}),
        "resources/templates/list" => json!({"resourceTemplates": []}),
        "server/discover" => json!({"supportedVersions": ["2026-07-28"], "capabilities": {}}),
        "tools/call" => json!({"content": []}),
        "tools/list" => json!({"tools": [{"name": format!("tool-{}", asked.before)}]}),
        _ => json!({}),
    };
    result["resultType"] = json!("complete");
    result
}

/// Returns the answer of [`result`], to be kept for a minute.
pub(crate) fn minute(asked: &Asked) -> Value {
    kept(result(asked), 60_000, "private")
}

pub(crate) fn kept(mut result: Value, ttl: u64, scope: &str) -> Value {
    result["ttlMs"] = json!(ttl);
    result["cacheScope"] = json!(scope);
    result
}

/// Returns the answer of a server that cannot be reached.
pub(crate) fn down() -> Said {
    Said::Fails(Failure::not_sent(Cause::ConnectRefused))
}

pub(crate) fn notification(method: &str, params: &Value) -> Value {
    json!({"jsonrpc": "2.0", "method": method, "params": params})
}

pub(crate) const fn secs(secs: u64) -> Duration {
    Duration::from_secs(secs)
}

/// Tokens one after the other, each better than the one before.
pub(crate) struct Tokens(pub(crate) Mutex<Vec<&'static str>>);

impl Tokens {
    pub(crate) fn new(tokens: &[&'static str]) -> Self {
        Self(Mutex::new(tokens.iter().rev().copied().collect()))
    }
}

impl Credentials for Tokens {
    fn token<'a>(
        &'a self,
        _: Option<Refused<'a>>,
    ) -> BoxFuture<'a, Result<Option<Token>, NoCredentials>> {
        let next = self.0.lock().unwrap().pop();
        let token = next.map(|text| Token::bearer(text).unwrap());
        Box::pin(async { token.map(Some).ok_or_else(NoCredentials::new) })
    }
}
