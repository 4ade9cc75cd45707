//! Events for whoever watches: as data, and as `tracing` records.
//!
//! Nothing waits for a watcher. One that is too slow loses the oldest events and is told how many.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use ridethrough_core::Event;
use tokio::sync::broadcast;
use tracing::{debug, info, warn};

/// Everybody who watches one link.
#[derive(Clone)]
pub(crate) struct Observers {
    sender: broadcast::Sender<Event>,
    dropped: Arc<AtomicU64>,
    endpoint: Arc<str>,
}

impl Observers {
    pub(crate) fn new(endpoint: impl fmt::Display) -> Self {
        let (sender, _) = broadcast::channel(KEPT);
        Self { sender, dropped: Arc::default(), endpoint: endpoint.to_string().into() }
    }

    pub(crate) fn watch(&self) -> Events {
        Events { receiver: self.sender.subscribe() }
    }

    /// Messages of the server that found the inbox full.
    pub(crate) fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }

    pub(crate) fn count_dropped(&self) {
        self.dropped.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn tell(&self, event: Event) {
        self.trace(&event);
        if self.sender.receiver_count() > 0 {
            // The last watcher may have left just now.
            let _ = self.sender.send(event);
        }
    }

    /// Writes a record: ordinary ends of calls for developers, trouble for operators.
    fn trace(&self, event: &Event) {
        let endpoint = &*self.endpoint;
        match event {
            Event::CallEnded { call, kind: None, attempts, elapsed, .. } => {
                debug!(endpoint, %call, attempts, ?elapsed, "call answered");
            }
            Event::CallEnded { call, kind: Some(kind), attempts, elapsed, delivery, .. } => {
                warn!(endpoint, %call, ?kind, attempts, ?elapsed, ?delivery, "call failed");
            }
            Event::Hiccup { call, reason, remedy, .. } => {
                info!(endpoint, %call, %reason, ?remedy, "call goes on after a fault");
            }
            Event::BreakerOpened { .. }
            | Event::ConnectFailed { .. }
            | Event::CredentialsFailed
            | Event::NotificationDropped { .. }
            | Event::RestoreFailed { .. }
            | Event::ServerFloods
            | Event::SessionRenewalFailed { .. } => warn!(endpoint, ?event, "trouble"),
            Event::BreakerClosed
            | Event::Connected { .. }
            | Event::CredentialsRenewed
            | Event::GateClosed { .. }
            | Event::ListenerBack { .. }
            | Event::ServerChanged
            | Event::SessionLost { .. }
            | Event::SessionReady { .. }
            | Event::Suspended { .. }
            | Event::ToolsChanged => info!(endpoint, ?event, "link"),
            Event::GateOpened { .. }
            | Event::ListenerLost { .. }
            | Event::ListenerUnsupported
            | Event::StrayAnswer
            | Event::UnreadableEvent => debug!(endpoint, ?event, "link"),
        }
    }
}

/// The events of a link from the moment this was made.
#[derive(Debug)]
pub struct Events {
    receiver: broadcast::Receiver<Event>,
}

/// What a watcher sees.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Seen {
    /// Something happened.
    Event(Event),
    /// So many events were lost because this watcher was too slow.
    Missed(u64),
}

impl Events {
    /// The next event; `None` when the client is gone.
    pub async fn next(&mut self) -> Option<Seen> {
        match self.receiver.recv().await {
            Ok(event) => Some(Seen::Event(event)),
            Err(broadcast::error::RecvError::Lagged(missed)) => Some(Seen::Missed(missed)),
            Err(broadcast::error::RecvError::Closed) => None,
        }
    }

    /// The next event if there is one already.
    pub fn try_next(&mut self) -> Option<Seen> {
        match self.receiver.try_recv() {
            Ok(event) => Some(Seen::Event(event)),
            Err(broadcast::error::TryRecvError::Lagged(missed)) => Some(Seen::Missed(missed)),
            Err(_) => None,
        }
    }
}

/// How many events are kept for a watcher that is busy.
const KEPT: usize = 1024;
