//! The attempts that are out, side by side, and the news that they bring.

use std::collections::BTreeMap;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures_util::future::{BoxFuture, FutureExt};
use futures_util::stream::{FuturesUnordered, StreamExt};
use ridethrough_core::{AttemptId, Cause, Failure, Lane};
use ridethrough_transport::{Recall, RecalledAttempts, Transport, TransportRequest};
use tokio::sync::oneshot;

use super::attempt::{Attempt, AttemptNews, Order, Outlet};
use super::limits::Limits;
use super::memory::Memory;

/// All attempts that are out.
pub(super) struct Attempts {
    running: FuturesUnordered<BoxFuture<'static, AttemptId>>,
    orders: BTreeMap<AttemptId, oneshot::Sender<Order>>,
    outlet: Outlet,
    limits: Limits,
    memory: Memory,
    recalled: Arc<RecalledAttempts>,
}

impl Attempts {
    pub(super) fn new(limits: Limits, memory: Memory) -> Self {
        let running = FuturesUnordered::new();
        let (orders, outlet, recalled) = (BTreeMap::new(), Outlet::default(), Arc::default());
        Self { running, orders, outlet, limits, memory, recalled }
    }

    /// Returns what says whether this attempt is taken back.
    pub(super) fn recall_of(&self, id: AttemptId) -> Recall {
        Recall::of(id, self.recalled.clone())
    }

    /// Takes an attempt back, if nothing of it was sent.
    pub(super) fn recall(&self, id: AttemptId) {
        if self.orders.contains_key(&id) {
            self.recalled.insert(id);
        }
    }

    /// Begins a request.
    pub(super) fn begin(
        &mut self,
        id: AttemptId,
        transport: Arc<dyn Transport>,
        request: TransportRequest,
    ) {
        let lane = match &request {
            TransportRequest::Connect => Lane::Control,
            TransportRequest::Request { outgoing, .. } => outgoing.lane,
        };
        self.launch(id, lane, AttemptNews::Failed, |attempt| attempt.run(transport, request));
    }

    /// Begins a connect of the link's own. It must end in time, because the link makes one at a time.
    pub(super) fn begin_connect(&mut self, id: AttemptId, transport: Arc<dyn Transport>) {
        let within = self.limits.connect;
        let failed = |failure| AttemptNews::Connected(Err(failure));
        self.launch(id, Lane::Control, failed, move |attempt| attempt.connect(transport, within));
    }

    fn launch<F>(
        &mut self,
        id: AttemptId,
        lane: Lane,
        failed: fn(Failure) -> AttemptNews,
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
            share: self.memory.share(lane),
        });
        let outlet = self.outlet.clone();
        self.running.push(Box::pin(async move {
            // A transport that panics fails its attempt, and not the whole link.
            if AssertUnwindSafe(work).catch_unwind().await.is_err() {
                let failure =
                    Failure::unknown(Cause::Unreadable).with_detail("the transport panicked");
                outlet.tell(id, failed(failure));
            }
            id
        }));
    }

    /// Gives an attempt an order, if it is still out.
    pub(super) fn order(&mut self, id: AttemptId, order: Order) {
        if let Some(orders) = self.orders.remove(&id) {
            // An attempt that has just ended needs no orders.
            let _ = orders.send(order);
        }
    }

    /// Whether no attempt is out.
    pub(super) fn is_empty(&self) -> bool {
        self.running.is_empty()
    }

    /// Lets attempts run until there is news.
    pub(super) fn poll_news(&mut self, context: &mut Context<'_>) -> Poll<()> {
        while let Poll::Ready(Some(ended)) = self.running.poll_next_unpin(context) {
            self.orders.remove(&ended);
            self.recalled.remove(ended);
        }
        if self.outlet.is_empty() { Poll::Pending } else { Poll::Ready(()) }
    }

    pub(super) fn next_news(&mut self) -> Option<(AttemptId, AttemptNews)> {
        self.outlet.next()
    }
}
