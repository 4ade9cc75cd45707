//! One attempt: a request or a connect that is out.
//!
//! It reads its answer and gives the driver one piece of news at a time, until it is told to stop or to drain
//! the rest. It decides nothing.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::Poll;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use ridethrough_core::head::Content;
use ridethrough_core::{AnswerHead, AttemptId, Cause, Failure};
use ridethrough_transport::{
    Body, Bounds, Reply, Transport, TransportRequest, drain, drain_reply, too_large,
};
use ridethrough_wire::sse;
use ridethrough_wire::sse::{Decoder, Item};
use tokio::sync::oneshot;
use tokio::time::sleep;

use super::limits::Limits;
use super::memory::Share;

/// A piece of news about an attempt.
#[derive(Debug)]
pub(super) enum AttemptNews {
    Answered(AnswerHead, Option<usize>),
    Body(Bytes),
    Bytes,
    Connected(Result<(), Failure>),
    End,
    Event(sse::SseEvent),
    Failed(Failure),
}

/// An order of the driver to an attempt.
#[derive(Debug)]
pub(super) enum Order {
    Abort,
    Drain(Bounds),
}

/// One request that is out.
pub(super) struct Attempt {
    pub(super) id: AttemptId,
    pub(super) orders: oneshot::Receiver<Order>,
    pub(super) outlet: Outlet,
    pub(super) limits: Limits,
    pub(super) share: Share,
}

impl Attempt {
    pub(super) async fn run(mut self, transport: Arc<dyn Transport>, request: TransportRequest) {
        let mut performing = transport.perform(request);
        let reply = tokio::select! {
            biased;
            order = &mut self.orders => {
                // The answer came by another stream; this one is read only so that its connection can be used
                // again.
                if let Ok(Order::Drain(bounds)) = order {
                    drain_reply(performing, bounds).await;
                }
                return;
            }
            reply = &mut performing => reply,
        };
        // A stream may stay open for days, and need not keep the future that opened it.
        drop(performing);
        match reply {
            Ok(Reply::Answered { head, body, capacity }) => self.read(head, body, capacity).await,
            Ok(Reply::Connected) => {
                let failure = Failure::unknown(Cause::Unreadable).with_detail(NO_ANSWER);
                self.tell(AttemptNews::Failed(failure));
            }
            Err(failure) => self.tell(AttemptNews::Failed(failure)),
        }
    }

    pub(super) async fn connect(mut self, transport: Arc<dyn Transport>, within: Duration) {
        let performing = transport.perform(TransportRequest::Connect);
        let connected = tokio::select! {
            biased;
            _ = &mut self.orders => return,
            connected = tokio::time::timeout(within, performing) => connected,
        };
        let timed_out = |_| Err(Failure::not_sent(Cause::ConnectTimedOut));
        let result = connected.unwrap_or_else(timed_out);
        self.tell(AttemptNews::Connected(result.map(drop)));
    }

    async fn read(mut self, head: AnswerHead, body: Box<dyn Body>, capacity: Option<usize>) {
        let is_stream = head.is_stream();
        let is_message = head.status.is_success() && head.content == Content::Json;
        self.tell(AttemptNews::Answered(head, capacity));
        match (is_stream, is_message) {
            (true, _) => self.read_stream(body).await,
            (false, true) => self.read_body(body, self.limits.message, Beyond::Fails).await,
            (false, false) => self.read_body(body, self.limits.error_body, Beyond::IsCutOff).await,
        }
    }

    async fn read_stream(&mut self, mut body: Box<dyn Body>) {
        let mut decoder = Decoder::new(self.limits.message);
        loop {
            match self.chunk(&mut *body).await {
                Read::Told(order) => return obey(order, body).await,
                Read::Failed(failure) => return self.tell(AttemptNews::Failed(failure)),
                Read::End => return self.tell(AttemptNews::End),
                Read::Chunk(chunk) => decoder.feed(chunk),
            }
            let mut said_something = false;
            while let Some(item) = decoder.next_item() {
                match item {
                    Ok(Item::Comment) => {}
                    Ok(Item::Event(event)) => {
                        said_something = true;
                        self.tell(AttemptNews::Event(event));
                        yield_once().await;
                        if let Ok(order) = self.orders.try_recv() {
                            return obey(order, body).await;
                        }
                    }
                    Err(beyond) => {
                        let failure = too_large("an event", beyond.limit);
                        return self.tell(AttemptNews::Failed(failure));
                    }
                }
            }
            // The bytes of an incomplete event count, even if events were complete before it.
            self.share.hold(decoder.held());
            if !said_something {
                self.tell(AttemptNews::Bytes);
                yield_once().await;
            }
        }
    }

    /// Reads a whole body, up to a limit.
    async fn read_body(&mut self, mut body: Box<dyn Body>, limit: usize, beyond: Beyond) {
        let (mut whole, mut chunks) = (Collected::default(), 0);
        loop {
            match self.chunk(&mut *body).await {
                Read::Told(order) => return obey(order, body).await,
                Read::Failed(failure) => return self.tell(AttemptNews::Failed(failure)),
                Read::End => return self.tell(AttemptNews::Body(whole.into_bytes())),
                Read::Chunk(chunk) => {
                    let is_within = whole.len() + chunk.len() <= limit;
                    if !is_within && beyond == Beyond::IsCutOff {
                        whole.push(chunk.slice(..limit - whole.len()));
                        return self.tell(AttemptNews::Body(whole.into_bytes()));
                    }
                    if !is_within {
                        return self.tell(AttemptNews::Failed(too_large("a body", limit)));
                    }
                    whole.push(chunk);
                    self.share.hold(whole.len());
                    self.tell(AttemptNews::Bytes);
                    chunks += 1;
                    if chunks % CHUNKS_AT_ONCE == 0 {
                        yield_once().await;
                    }
                }
            }
        }
    }

    /// Returns the next piece of the body, as soon as there is memory for it. While it waits for memory it
    /// gives signs of life, so that the machine does not take the server for silent.
    async fn chunk(&mut self, body: &mut dyn Body) -> Read {
        loop {
            let (share, mut wait) = (&self.share, None);
            let reading = poll_fn(|context| {
                if share.poll_room(context).is_pending() {
                    let wait = wait.get_or_insert_with(|| Box::pin(sleep(DEAF_FOR)));
                    return wait.as_mut().poll(context).map(|()| None);
                }
                let chunk = body.poll_chunk(context);
                if chunk.is_pending() {
                    share.pass();
                }
                chunk.map(Some)
            });
            tokio::select! {
                biased;
                order = &mut self.orders => return Read::Told(order.unwrap_or(Order::Abort)),
                chunk = reading => match chunk {
                    None => self.tell(AttemptNews::Bytes),
                    Some(None) => return Read::End,
                    Some(Some(Ok(chunk))) => return Read::Chunk(chunk),
                    Some(Some(Err(failure))) => return Read::Failed(failure),
                },
            }
        }
    }

    fn tell(&self, news: AttemptNews) {
        self.outlet.tell(self.id, news);
    }
}

/// The result of reading on.
enum Read {
    Chunk(Bytes),
    End,
    Failed(Failure),
    Told(Order),
}

/// What happens to a body beyond its limit.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Beyond {
    Fails,
    IsCutOff,
}

async fn obey(order: Order, body: Box<dyn Body>) {
    if let Order::Drain(bounds) = order {
        drain(body, bounds).await;
    }
}

/// Lets the driver act on the news before more is read.
async fn yield_once() {
    let mut has_yielded = false;
    poll_fn(|context| {
        if std::mem::replace(&mut has_yielded, true) {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

/// The queue of news from attempts. Attempts run inside the driver's task, so no waker is needed.
#[derive(Clone, Default)]
pub(super) struct Outlet {
    news: Arc<Mutex<VecDeque<(AttemptId, AttemptNews)>>>,
}

impl Outlet {
    pub(super) fn tell(&self, id: AttemptId, news: AttemptNews) {
        self.queue(|queue| queue.push_back((id, news)));
    }

    pub(super) fn next(&self) -> Option<(AttemptId, AttemptNews)> {
        self.queue(VecDeque::pop_front)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.queue(|queue| queue.is_empty())
    }

    fn queue<T>(&self, work: impl FnOnce(&mut VecDeque<(AttemptId, AttemptNews)>) -> T) -> T {
        work(&mut self.news.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

const NO_ANSWER: &str = "the transport made a connection where a request was asked for";
/// How often signs of life are given while memory is short: calls ask after 30 s of silence (row 19).
const DEAF_FOR: Duration = Duration::from_secs(10);
/// How many pieces of a body are read before the driver gets a turn. A body in tiny pieces must not fill its
/// queue with signs of life.
const CHUNKS_AT_ONCE: usize = 16;

/// A body that is being collected; one that arrives in one piece is not copied.
#[derive(Default)]
struct Collected {
    first: Bytes,
    rest: BytesMut,
}

impl Collected {
    fn len(&self) -> usize {
        self.first.len() + self.rest.len()
    }

    fn push(&mut self, chunk: Bytes) {
        if self.len() == 0 {
            self.first = chunk;
            return;
        }
        if !self.first.is_empty() {
            self.rest.reserve(self.first.len() + chunk.len());
            self.rest.extend_from_slice(&std::mem::take(&mut self.first));
        }
        self.rest.extend_from_slice(&chunk);
    }

    fn into_bytes(self) -> Bytes {
        if self.rest.is_empty() { self.first } else { self.rest.freeze() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_piece_is_not_copied_and_several_are_joined() {
        let piece = Bytes::from_static(b"one");
        let (mut single, mut joined) = (Collected::default(), Collected::default());

        single.push(piece.clone());
        for part in ["a", "", "bc", "d"] {
            joined.push(Bytes::from_static(part.as_bytes()));
        }

        assert_eq!(single.into_bytes().as_ptr(), piece.as_ptr());
        assert_eq!(joined.len(), 4);
        assert_eq!(joined.into_bytes(), "abcd");
    }
}
