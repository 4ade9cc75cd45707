//! Attempts: errands that are out, side by side, and what they report.
//!
//! An attempt reads its answer and tells the driver, one piece of news at a time, until it is told to
//! stop or to read the rest for the connection's sake only.

use std::collections::{BTreeMap, VecDeque};
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use futures_util::future::{BoxFuture, FutureExt};
use futures_util::stream::{FuturesUnordered, StreamExt};
use ridethrough_core::head::Content;
use ridethrough_core::sse::{self, Decoder, Item};
use ridethrough_core::{AnswerHead, AttemptId, Cause, Failure};
use tokio::sync::oneshot;

use super::limits::Limits;
use super::memory::{Memory, Share};
use crate::drain::{self, Bounds};
use crate::transport::{Body, Errand, Reply, Transport};

/// Something that happened to an attempt.
#[derive(Debug)]
pub(super) enum News {
    Answered(AnswerHead, Option<usize>),
    Body(Bytes),
    Bytes,
    Connected(Result<(), Failure>),
    End,
    Event(sse::Event),
    Failed(Failure),
}

/// What the driver tells an attempt.
#[derive(Debug)]
pub(super) enum Order {
    Abort,
    Drain(Bounds),
}

/// All errands that are out.
pub(super) struct Attempts {
    running: FuturesUnordered<BoxFuture<'static, AttemptId>>,
    orders: BTreeMap<AttemptId, oneshot::Sender<Order>>,
    outlet: Outlet,
    limits: Limits,
    memory: Memory,
}

impl Attempts {
    pub(super) fn new(limits: Limits, memory: Memory) -> Self {
        let running = FuturesUnordered::new();
        Self { running, orders: BTreeMap::new(), outlet: Outlet::default(), limits, memory }
    }

    /// Begins a request.
    pub(super) fn begin(&mut self, id: AttemptId, transport: Arc<dyn Transport>, errand: Errand) {
        self.launch(id, News::Failed, |attempt| attempt.run(transport, errand));
    }

    /// Begins a connect of the link's own, which must end in time: the link makes one at a time.
    pub(super) fn begin_connect(&mut self, id: AttemptId, transport: Arc<dyn Transport>) {
        let within = self.limits.connect;
        let failed = |failure| News::Connected(Err(failure));
        self.launch(id, failed, move |attempt| attempt.connect(transport, within));
    }

    fn launch<F>(
        &mut self,
        id: AttemptId,
        failed: fn(Failure) -> News,
        work: impl FnOnce(Attempt) -> F,
    ) where
        F: Future<Output = ()> + Send + 'static,
    {
        let (sender, orders) = oneshot::channel();
        self.orders.insert(id, sender);
        let work = work(Attempt {
            id,
            orders,
            outlet: self.outlet.clone(),
            limits: self.limits,
            share: self.memory.share(),
        });
        let outlet = self.outlet.clone();
        self.running.push(Box::pin(async move {
            // A transport that panics fails its attempt; it must not take the link with it.
            if AssertUnwindSafe(work).catch_unwind().await.is_err() {
                let failure =
                    Failure::unknown(Cause::Unreadable).with_detail("the transport panicked");
                outlet.tell(id, failed(failure));
            }
            id
        }));
    }

    /// Tells an attempt what to do, if it is still out.
    pub(super) fn order(&mut self, id: AttemptId, order: Order) {
        if let Some(orders) = self.orders.remove(&id) {
            // An attempt that has just ended needs no orders.
            let _ = orders.send(order);
        }
    }

    /// Lets attempts run until there is news.
    pub(super) fn poll_news(&mut self, context: &mut Context<'_>) -> Poll<()> {
        while let Poll::Ready(Some(ended)) = self.running.poll_next_unpin(context) {
            self.orders.remove(&ended);
        }
        match self.outlet.is_empty() {
            true => Poll::Pending,
            false => Poll::Ready(()),
        }
    }

    pub(super) fn next_news(&mut self) -> Option<(AttemptId, News)> {
        self.outlet.next()
    }
}

/// Where attempts leave their news. They run inside the driver, so nobody has to be woken.
#[derive(Clone, Default)]
struct Outlet {
    news: Arc<Mutex<VecDeque<(AttemptId, News)>>>,
}

impl Outlet {
    fn tell(&self, id: AttemptId, news: News) {
        self.queue(|queue| queue.push_back((id, news)));
    }

    fn next(&self) -> Option<(AttemptId, News)> {
        self.queue(VecDeque::pop_front)
    }

    fn is_empty(&self) -> bool {
        self.queue(|queue| queue.is_empty())
    }

    fn queue<T>(&self, work: impl FnOnce(&mut VecDeque<(AttemptId, News)>) -> T) -> T {
        work(&mut self.news.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// One errand that is out.
struct Attempt {
    id: AttemptId,
    orders: oneshot::Receiver<Order>,
    outlet: Outlet,
    limits: Limits,
    share: Share,
}

impl Attempt {
    async fn run(mut self, transport: Arc<dyn Transport>, errand: Errand) {
        let mut performing = transport.perform(errand);
        let reply = tokio::select! {
            biased;
            order = &mut self.orders => {
                // The answer came by another way; this one is read for its connection's sake.
                if let Ok(Order::Drain(bounds)) = order {
                    drain::drain_reply(performing, bounds).await;
                }
                return;
            }
            reply = &mut performing => reply,
        };
        match reply {
            Ok(Reply::Answered { head, body, capacity }) => self.read(head, body, capacity).await,
            Ok(Reply::Connected) => {
                let failure = Failure::unknown(Cause::Unreadable).with_detail(NO_ANSWER);
                self.tell(News::Failed(failure));
            }
            Err(failure) => self.tell(News::Failed(failure)),
        }
    }

    async fn connect(mut self, transport: Arc<dyn Transport>, within: Duration) {
        let performing = transport.perform(Errand::Connect);
        let connected = tokio::select! {
            biased;
            _ = &mut self.orders => return,
            connected = tokio::time::timeout(within, performing) => connected,
        };
        let timed_out = |_| Err(Failure::not_sent(Cause::ConnectTimedOut));
        let result = connected.unwrap_or_else(timed_out);
        self.tell(News::Connected(result.map(drop)));
    }

    async fn read(mut self, head: AnswerHead, body: Box<dyn Body>, capacity: Option<usize>) {
        let is_stream = head.is_stream();
        let is_message = head.status.is_success() && head.content == Content::Json;
        self.tell(News::Answered(head, capacity));
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
                Read::Failed(failure) => return self.tell(News::Failed(failure)),
                Read::End => return self.tell(News::End),
                Read::Chunk(chunk) => {
                    if !self.share.take(chunk.len()) {
                        return self.tell(News::Failed(too_large("all answers together")));
                    }
                    decoder.feed(chunk);
                }
            }
            let mut said_something = false;
            while let Some(item) = decoder.next_item() {
                match item {
                    Ok(Item::Comment) => self.share.release(),
                    Ok(Item::Event(event)) => {
                        self.share.release();
                        said_something = true;
                        self.tell(News::Event(event));
                        yield_once().await;
                        if let Ok(order) = self.orders.try_recv() {
                            return obey(order, body).await;
                        }
                    }
                    Err(_) => return self.tell(News::Failed(too_large("an event"))),
                }
            }
            if !said_something {
                self.tell(News::Bytes);
                yield_once().await;
            }
        }
    }

    /// Reads a body whole, up to a limit.
    async fn read_body(&mut self, mut body: Box<dyn Body>, limit: usize, beyond: Beyond) {
        let mut whole = Collected::default();
        loop {
            match self.chunk(&mut *body).await {
                Read::Told(order) => return obey(order, body).await,
                Read::Failed(failure) => return self.tell(News::Failed(failure)),
                Read::End => return self.tell(News::Body(whole.into_bytes())),
                Read::Chunk(chunk) => {
                    let is_within = whole.len() + chunk.len() <= limit;
                    if !is_within && beyond == Beyond::IsCutOff {
                        whole.push(chunk.slice(..limit - whole.len()));
                        return self.tell(News::Body(whole.into_bytes()));
                    }
                    if !is_within {
                        return self.tell(News::Failed(too_large("a body")));
                    }
                    if !self.share.take(chunk.len()) {
                        return self.tell(News::Failed(too_large("all answers together")));
                    }
                    whole.push(chunk);
                    self.tell(News::Bytes);
                }
            }
        }
    }

    async fn chunk(&mut self, body: &mut dyn Body) -> Read {
        tokio::select! {
            biased;
            order = &mut self.orders => Read::Told(order.unwrap_or(Order::Abort)),
            chunk = std::future::poll_fn(|context| body.poll_chunk(context)) => match chunk {
                None => Read::End,
                Some(Ok(chunk)) => Read::Chunk(chunk),
                Some(Err(failure)) => Read::Failed(failure),
            },
        }
    }

    fn tell(&self, news: News) {
        self.outlet.tell(self.id, news);
    }
}

/// What came of reading on.
enum Read {
    Chunk(Bytes),
    End,
    Failed(Failure),
    Told(Order),
}

/// What is done about a body beyond its limit.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Beyond {
    Fails,
    IsCutOff,
}

/// A body in the making; one that comes in one piece is not copied.
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
        match self.rest.is_empty() {
            true => self.first,
            false => self.rest.freeze(),
        }
    }
}

async fn obey(order: Order, body: Box<dyn Body>) {
    if let Order::Drain(bounds) = order {
        drain::drain(body, bounds).await;
    }
}

/// Lets the driver act on the news before more is read.
async fn yield_once() {
    let mut has_yielded = false;
    std::future::poll_fn(|context| {
        if std::mem::replace(&mut has_yielded, true) {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

fn too_large(what: &str) -> Failure {
    Failure::unknown(Cause::TooLarge).with_detail(format!("{what} beyond the limit"))
}

const NO_ANSWER: &str = "the transport made a connection where a request was asked for";
