//! HTTP by the application's own client: requests go out to Python, and their answers come back.
//!
//! Authorization, hooks, proxies and certificates stay those of the application. This module translates and
//! decides nothing; Python reports what a failure proves, because Python saw it.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue};
use ridethrough::probe::read_head;
use ridethrough::transport::{
    Body, BoxFuture, Cause, Endpoint, Failure, Outgoing, Reply, Transport, TransportRequest, Verb,
};
use serde_json::json;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::queue::{Item, ItemKind, Queue};

/// The HTTP requests that Python carries.
pub(crate) struct Carried {
    queue: Arc<Queue>,
    open: Mutex<HashMap<u64, UnboundedSender<Part>>>,
    next: AtomicU64,
}

/// A part of an answer, as Python reports it.
enum Part {
    Head(http::response::Parts),
    Chunk(Bytes),
    End,
    Failed(Failure),
}

impl Carried {
    pub(crate) fn new(queue: Arc<Queue>) -> Arc<Self> {
        Arc::new(Self { queue, open: Mutex::default(), next: AtomicU64::new(1) })
    }

    /// Takes the head of an answer. What cannot be a head is reported as a failure.
    pub(crate) fn head<T: AsRef<[u8]>>(&self, number: u64, status: u16, headers: &[(T, T)]) {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            let name = HeaderName::from_bytes(name.as_ref());
            if let (Ok(name), Ok(value)) = (name, HeaderValue::from_bytes(value.as_ref())) {
                map.append(name, value);
            }
        }
        let part = match http::Response::builder().status(status).body(()) {
            Ok(response) => {
                let mut parts = response.into_parts().0;
                parts.headers = map;
                Part::Head(parts)
            }
            Err(_) => Part::Failed(Failure::unknown(Cause::Unreadable)),
        };
        self.tell(number, part);
    }

    pub(crate) fn chunk(&self, number: u64, bytes: Bytes) {
        self.tell(number, Part::Chunk(bytes));
    }

    pub(crate) fn end(&self, number: u64) {
        self.tell(number, Part::End);
    }

    /// Takes a failure, and whether any byte of the request may have gone out.
    pub(crate) fn fail(&self, number: u64, cause: &str, is_sent: bool, detail: String) {
        let cause = match cause {
            "certificate" => Cause::BadCertificate,
            "connectTimeout" => Cause::ConnectTimedOut,
            "misconfigured" => Cause::Misconfigured,
            "name" => Cause::NameUnknown,
            "refused" => Cause::ConnectRefused,
            "reset" => Cause::Reset,
            "timeout" => Cause::TimedOut,
            "unreadable" => Cause::Unreadable,
            _ => Cause::Closed,
        };
        let failure = if is_sent { Failure::unknown(cause) } else { Failure::not_sent(cause) };
        self.tell(number, Part::Failed(failure.with_detail(detail)));
    }

    fn tell(&self, number: u64, part: Part) {
        // The request may no longer be wanted.
        if let Some(open) = self.open().get(&number) {
            let _ = open.send(part);
        }
    }

    fn open(&self) -> MutexGuard<'_, HashMap<u64, UnboundedSender<Part>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Gives a request to Python.
    fn begin(self: &Arc<Self>, head: serde_json::Value, body: Bytes) -> CarriedAnswer {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let (sender, parts) = unbounded_channel();
        self.open().insert(number, sender);
        let mut item = Item::new(ItemKind::HttpRequest, number, head.to_string());
        item.body = Some(body);
        self.queue.push(item);
        CarriedAnswer { carried: self.clone(), number, parts, has_ended: false }
    }
}

/// The transport of a client whose HTTP Python carries.
pub(crate) struct CarriedTransport {
    pub(crate) carried: Arc<Carried>,
    pub(crate) endpoint: Endpoint,
}

impl Transport for CarriedTransport {
    fn perform(&self, request: TransportRequest) -> BoxFuture<'static, Result<Reply, Failure>> {
        let TransportRequest::Request { outgoing, .. } = request else {
            // The application's client makes its connections itself.
            return Box::pin(async { Ok(Reply::Connected) });
        };
        let (carried, endpoint) = (self.carried.clone(), self.endpoint.clone());
        Box::pin(async move {
            let path = outgoing.to.target.clone();
            let (head, body) = written(outgoing, &endpoint);
            let mut answer = carried.begin(head, body);
            match answer.parts.recv().await {
                Some(Part::Head(parts)) => {
                    let asked = path.as_deref().unwrap_or_else(|| endpoint.path());
                    let head = read_head(&parts, &endpoint, asked);
                    Ok(Reply::Answered { head, body: Box::new(answer), capacity: None })
                }
                Some(Part::Failed(failure)) => {
                    answer.has_ended = true;
                    Err(failure)
                }
                _ => Err(Failure::unknown(Cause::Closed)),
            }
        })
    }
}

/// Returns a request as Python reads it, and its body.
fn written(outgoing: Outgoing, endpoint: &Endpoint) -> (serde_json::Value, Bytes) {
    let to = outgoing.to;
    let (method, body, last_event_id) = match outgoing.verb {
        Verb::Delete => ("DELETE", Bytes::new(), None),
        Verb::Get { last_event_id } => ("GET", Bytes::new(), last_event_id),
        Verb::Post { body } => ("POST", body, None),
    };
    let mut headers: Vec<(String, String)> = Vec::new();
    let mut tag = None;
    for (name, value) in outgoing.headers.iter() {
        let Ok(value) = value.to_str() else { continue };
        if name == TAG {
            tag = value.parse::<u64>().ok();
        } else {
            headers.push((name.as_str().to_owned(), value.to_owned()));
        }
    }
    let mut add = |name: &str, value: &str| headers.push((name.to_owned(), value.to_owned()));
    match method {
        "GET" => add("accept", "text/event-stream"),
        _ => add("accept", "application/json, text/event-stream"),
    }
    if method == "POST" {
        add("content-type", "application/json");
    }
    if let Some(session) = &to.session {
        add("mcp-session-id", session.as_str());
    }
    if let Some(version) = to.version {
        add("mcp-protocol-version", version.as_str());
    }
    if let Some(id) = &last_event_id {
        add("last-event-id", id.as_str());
    }
    // Without a redirect the application's own spelling of the URL is kept.
    let url = to.target.as_deref().map(|target| format!("{}{target}", endpoint.origin()));
    (json!({ "method": method, "url": url, "headers": headers, "tag": tag }), body)
}

/// The answer to a request that Python carries.
struct CarriedAnswer {
    carried: Arc<Carried>,
    number: u64,
    parts: UnboundedReceiver<Part>,
    has_ended: bool,
}

impl Body for CarriedAnswer {
    fn poll_chunk(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Bytes, Failure>>> {
        let part = std::task::ready!(self.parts.poll_recv(context));
        Poll::Ready(match part {
            Some(Part::Chunk(bytes)) => Some(Ok(bytes)),
            Some(Part::End) => {
                self.has_ended = true;
                None
            }
            Some(Part::Failed(failure)) => {
                self.has_ended = true;
                Some(Err(failure))
            }
            Some(Part::Head(_)) | None => Some(Err(Failure::unknown(Cause::Unreadable))),
        })
    }
}

impl Drop for CarriedAnswer {
    /// Tells Python that the rest of the answer is not wanted, unless it has ended.
    fn drop(&mut self) {
        self.carried.open().remove(&self.number);
        if !self.has_ended {
            self.carried.queue.push(Item::new(ItemKind::HttpAbort, self.number, ""));
        }
    }
}

/// The header by which a request is matched with the message that it is made for. It is never sent.
pub(crate) const TAG: &str = "x-ridethrough-tag";
