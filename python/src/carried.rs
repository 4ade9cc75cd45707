//! HTTP by the application's own client: requests go out to Python, and their answers come back.
//!
//! Authorization, hooks, proxies and certificates stay those of the application. This module translates and
//! decides nothing; Python reports what a failure proves, because Python saw it.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use bytes::Bytes;
use http::{HeaderName, HeaderValue, header};
use ridethrough::probe::read_head;
use ridethrough::transport::{
    Body, BoxFuture, Cause, Endpoint, Failure, Outgoing, Reply, Transport, TransportRequest, Verb,
};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::queue::{HttpRequest, Item, ItemKind, Queue};

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
    /// The head and everything that follows it.
    Whole(http::response::Parts, Bytes),
}

impl Carried {
    pub(crate) fn new(queue: Arc<Queue>) -> Arc<Self> {
        Arc::new(Self { queue, open: Mutex::default(), next: AtomicU64::new(1) })
    }

    /// Takes the head of an answer.
    pub(crate) fn head<T: AsRef<[u8]>>(&self, number: u64, status: u16, headers: &[(T, T)]) {
        self.tell(number, read_parts(status, headers).map_or_else(Part::Failed, Part::Head));
    }

    /// Takes a whole answer. That wakes the task that waits for it once, and not for each part.
    pub(crate) fn answer<T: AsRef<[u8]>>(
        &self,
        number: u64,
        status: u16,
        headers: &[(T, T)],
        body: Bytes,
    ) {
        let part = match read_parts(status, headers) {
            Ok(head) => Part::Whole(head, body),
            Err(failure) => Part::Failed(failure),
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
    fn begin(self: &Arc<Self>, request: HttpRequest) -> CarriedAnswer {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let (sender, parts) = unbounded_channel();
        self.open().insert(number, sender);
        let mut item = Item::new(ItemKind::HttpRequest, number, "");
        item.request = Some(request);
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
            let mut answer = carried.begin(written(outgoing, &endpoint));
            let asked = path.as_deref().unwrap_or_else(|| endpoint.path());
            match answer.parts.recv().await {
                Some(Part::Head(parts)) => {
                    let head = read_head(&parts, &endpoint, asked);
                    Ok(Reply::Answered { head, body: Box::new(answer), capacity: None })
                }
                Some(Part::Whole(parts, body)) => {
                    answer.has_ended = true;
                    Ok(Reply::whole(read_head(&parts, &endpoint, asked), body))
                }
                Some(Part::Failed(failure)) => {
                    answer.has_ended = true;
                    Err(failure)
                }
                _ => Err(Failure::unknown(Cause::Closed)),
            }
        })
    }

    fn speaks_http(&self) -> bool {
        true
    }
}

/// Returns the head of an answer. What cannot be a head is a failure; a header that cannot be one is left out.
fn read_parts<T: AsRef<[u8]>>(
    status: u16,
    headers: &[(T, T)],
) -> Result<http::response::Parts, Failure> {
    let response = http::Response::builder().status(status).body(());
    let mut parts = response.map_err(|_| Failure::unknown(Cause::Unreadable))?.into_parts().0;
    for (name, value) in headers {
        let name = HeaderName::from_bytes(name.as_ref());
        if let (Ok(name), Ok(value)) = (name, HeaderValue::from_bytes(value.as_ref())) {
            parts.headers.append(name, value);
        }
    }
    Ok(parts)
}

/// Returns a request as Python makes it.
fn written(outgoing: Outgoing, endpoint: &Endpoint) -> HttpRequest {
    let to = outgoing.to;
    let (method, body, last_event_id) = match outgoing.verb {
        Verb::Delete => ("DELETE", Bytes::new(), None),
        Verb::Get { last_event_id } => ("GET", Bytes::new(), last_event_id),
        Verb::Post { body } => ("POST", body, None),
    };
    let accepted = if method == "GET" { "text/event-stream" } else { ACCEPTED };
    let mut headers = vec![(header::ACCEPT, HeaderValue::from_static(accepted))];
    if method == "POST" {
        headers.push((header::CONTENT_TYPE, HeaderValue::from_static("application/json")));
    }
    let mut add = |name, value: &str| {
        if let Ok(value) = HeaderValue::from_bytes(value.as_bytes()) {
            headers.push((HeaderName::from_static(name), value));
        }
    };
    if let Some(session) = &to.session {
        add("mcp-session-id", session.as_str());
    }
    if let Some(version) = to.version {
        add("mcp-protocol-version", version.as_str());
    }
    if let Some(id) = &last_event_id {
        add("last-event-id", id.as_str());
    }
    let mut tag = None;
    for (name, value) in outgoing.headers.iter() {
        if name == TAG {
            tag = value.to_str().ok().and_then(|tag| tag.parse().ok());
        } else {
            headers.push((name.clone(), value.clone()));
        }
    }
    // Without a redirect the application's own spelling of the URL is kept.
    let url = to.target.as_deref().map(|target| format!("{}{target}", endpoint.origin()));
    HttpRequest { method, url, headers, tag, body }
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
            Some(Part::Head(_) | Part::Whole(..)) | None => {
                Some(Err(Failure::unknown(Cause::Unreadable)))
            }
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

const ACCEPTED: &str = "application/json, text/event-stream";

/// The header by which a request is matched with the message that it is made for. It is never sent.
pub(crate) const TAG: &str = "x-ridethrough-tag";
