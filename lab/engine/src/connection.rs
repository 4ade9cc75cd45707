//! The server's record of one open connection, and the orders that its task carries out.
//!
//! Only the connection's own task carries out orders; all other tasks only give them. Whether a request is
//! under way is decided under the lock that takes the orders, so that an order for an idle connection never
//! hits a request.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use tokio::sync::{Notify, watch};

use crate::http2;
use crate::lock::lock;
use crate::wire::Fuse;

/// What a GOAWAY claims to have processed, and what happens to the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Processed {
    /// Graceful: every stream that was opened is finished, no new one is taken.
    All,
    /// Abrupt: the frame names the last stream seen so far and this reason, then the connection is closed,
    /// even with requests under way.
    SoFar(h2::Reason),
}

/// An order for a connection's task.
pub(crate) enum Order {
    /// HTTP/2: leave at once, because the socket is being reset. The stream that asked for it comes along,
    /// because dropping it sooner would send a frame.
    Abandon(Option<http2::Handle>),
    /// Close as the protocol prescribes.
    Close,
    /// HTTP/2: send a GOAWAY frame.
    GoAway(Processed),
    /// HTTP/2: reset a stream, after everything that was sent before.
    ResetStream(http2::Handle, h2::Reason),
    /// HTTP/1.1: write this unasked, then close.
    Say(Bytes),
}

pub(crate) struct Connection {
    /// The number of the connection, in the order of acceptance, from one.
    pub(crate) id: u64,
    fuse: Fuse,
    activity: Mutex<Activity>,
    ordered: Notify,
    hung_up: watch::Sender<bool>,
}

#[derive(Default)]
struct Activity {
    under_way: usize,
    orders: VecDeque<Order>,
}

impl Connection {
    pub(crate) fn new(id: u64, fuse: Fuse) -> Self {
        Self {
            id,
            fuse,
            activity: Mutex::default(),
            ordered: Notify::new(),
            hung_up: watch::Sender::new(false),
        }
    }

    /// Marks a request as under way, unless an order must be carried out first.
    pub(crate) fn begin(self: &Arc<Self>) -> Option<UnderWay> {
        let mut activity = lock(&self.activity);
        if !activity.orders.is_empty() {
            return None;
        }
        activity.under_way += 1;
        Some(UnderWay(self.clone()))
    }

    /// Marks a request as under way beside others, whatever orders wait.
    pub(crate) fn begin_stream(self: &Arc<Self>) -> UnderWay {
        lock(&self.activity).under_way += 1;
        UnderWay(self.clone())
    }

    pub(crate) fn order(&self, order: Order) {
        lock(&self.activity).orders.push_back(order);
        self.ordered.notify_one();
    }

    pub(crate) fn order_if_idle(&self, order: Order) {
        let mut activity = lock(&self.activity);
        if activity.under_way == 0 {
            activity.orders.push_back(order);
            self.ordered.notify_one();
        }
    }

    /// Waits for an order. Only the connection's own task may call this.
    pub(crate) async fn next_order(&self) -> Order {
        loop {
            if let Some(order) = lock(&self.activity).orders.pop_front() {
                return order;
            }
            self.ordered.notified().await;
        }
    }

    /// Resets the connection. A socket is reset when its task, or the handler that holds the pen, has dropped
    /// it.
    pub(crate) fn reset(&self, asking: Option<http2::Handle>) {
        self.fuse.blow();
        self.order(Order::Abandon(asking));
    }

    pub(crate) fn stall(&self) {
        self.fuse.stall();
    }

    /// Records that the client will send nothing more.
    pub(crate) fn note_hang_up(&self) {
        self.hung_up.send_replace(true);
    }

    pub(crate) fn is_hung_up(&self) -> bool {
        *self.hung_up.borrow()
    }

    pub(crate) async fn hung_up(&self) {
        let mut hung_up = self.hung_up.subscribe();
        // The sender cannot go away: it is a field of `self`.
        let _ = hung_up.wait_for(|&is_hung_up| is_hung_up).await;
    }

    /// Records that its task is done with it, so that dropping the stream closes it.
    pub(crate) fn end(&self) {
        self.note_hang_up();
        self.fuse.spend();
    }
}

/// Marks a request as under way until it is dropped. That happens just *before* the last bytes of the answer
/// are written: a client that has read them must find the connection idle.
pub(crate) struct UnderWay(Arc<Connection>);

impl Drop for UnderWay {
    fn drop(&mut self) {
        lock(&self.0.activity).under_way -= 1;
    }
}
