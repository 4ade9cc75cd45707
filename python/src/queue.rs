//! The items that Rust has for Python, in order, and how Python learns of them.

use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderName, HeaderValue};
use tokio::sync::Notify;

use crate::platform::WakePair;

/// The items for one client's Python side.
pub(crate) struct Queue {
    waiting: Mutex<Waiting>,
    /// Wakes a thread that waits instead of an event loop.
    arrived: Condvar,
    /// Tells the porter that there is room again.
    drained: Notify,
}

#[derive(Default)]
struct Waiting {
    items: VecDeque<Item>,
    /// The sockets that wake an event loop; a thread that waits needs none.
    wake: Option<WakePair>,
    is_rung: bool,
}

/// One item for Python.
pub(crate) struct Item {
    pub(crate) kind: ItemKind,
    /// The call, question or request that it is about; 0 if it is about none.
    pub(crate) number: u64,
    pub(crate) json: Bytes,
    /// What stands before and after the JSON, if it is a part of a message. Python's copy is the only one of them all:
    /// a result may be megabytes.
    pub(crate) around: Option<(String, &'static str)>,
    /// The request, in an item of that kind.
    pub(crate) request: Option<HttpRequest>,
}

/// An HTTP request for the application's client. It is no JSON: every call has one, and both sides save the text.
pub(crate) struct HttpRequest {
    pub(crate) method: &'static str,
    /// The URL, if it is not the application's own.
    pub(crate) url: Option<String>,
    pub(crate) headers: Vec<(HeaderName, HeaderValue)>,
    /// The message of the SDK that the request is made for.
    pub(crate) tag: Option<u64>,
    pub(crate) body: Bytes,
}

/// The kinds of items. Their numbers must be those in `ridethrough/_items.py`.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum ItemKind {
    /// The result of a call.
    Result = 0,
    /// The server's error for a call.
    ServerError = 1,
    /// The reason why a call has no answer.
    Failure = 2,
    /// The progress of a call.
    Progress = 3,
    /// A notification of the server.
    Notification = 4,
    /// A question of the server.
    Question = 5,
    /// The answer to a question is no longer wanted.
    Withdrawn = 6,
    /// An event of the link.
    Event = 7,
    /// A whole JSON-RPC message for the SDK.
    Message = 8,
    /// An HTTP request for the application's client.
    HttpRequest = 9,
    /// An HTTP request is no longer wanted.
    HttpAbort = 10,
    /// A token is wanted.
    Token = 11,
    /// The client is closed; nothing follows.
    Over = 12,
}

impl Item {
    pub(crate) fn new(kind: ItemKind, number: u64, json: impl Into<Bytes>) -> Self {
        Self { kind, number, json: json.into(), around: None, request: None }
    }

    /// Returns the JSON, with what stands around it.
    pub(crate) fn text(&self) -> Vec<u8> {
        let (before, after) = self.around.as_ref().map_or(("", ""), |(it, after)| (it, after));
        [before.as_bytes(), &self.json, after.as_bytes()].concat()
    }

    /// Whether a thread that waits for this call takes the item. Any thread takes an item of no call.
    fn is_for(&self, number: u64) -> bool {
        match self.kind {
            ItemKind::Result | ItemKind::ServerError | ItemKind::Failure | ItemKind::Progress => {
                self.number == number
            }
            // Nothing follows this item, so it stays for every thread that waits.
            _ => true,
        }
    }
}

impl Queue {
    pub(crate) fn new() -> Arc<Self> {
        let (waiting, arrived, drained) = (Mutex::default(), Condvar::new(), Notify::new());
        Arc::new(Self { waiting, arrived, drained })
    }

    pub(crate) fn push(&self, item: Item) {
        let mut waiting = self.lock();
        waiting.items.push_back(item);
        waiting.ring();
        drop(waiting);
        self.arrived.notify_all();
    }

    /// Takes all items.
    pub(crate) fn drain(&self) -> VecDeque<Item> {
        let mut waiting = self.lock();
        if std::mem::take(&mut waiting.is_rung)
            && let Some(wake) = &waiting.wake
        {
            wake.hush();
        }
        let items = std::mem::take(&mut waiting.items);
        drop(waiting);
        self.drained.notify_one();
        items
    }

    /// Takes the next item for this call, or one that belongs to no call; waits for it at most so long.
    pub(crate) fn take(&self, number: u64, patience: Duration) -> Option<Item> {
        let (mut waiting, _) = self
            .arrived
            .wait_timeout_while(self.lock(), patience, |it| it.position(number).is_none())
            .unwrap_or_else(PoisonError::into_inner);
        let position = waiting.position(number)?;
        let item = waiting.items.remove(position);
        if let Some(Item { kind: ItemKind::Over, .. }) = item {
            waiting.items.push_back(Item::new(ItemKind::Over, 0, ""));
        }
        drop(waiting);
        self.drained.notify_one();
        item
    }

    /// Returns the socket that is readable while there is something to drain.
    pub(crate) fn fileno(&self) -> io::Result<i64> {
        let mut waiting = self.lock();
        if waiting.wake.is_none() {
            waiting.wake = Some(WakePair::new()?);
            if !waiting.items.is_empty() {
                waiting.ring();
            }
        }
        Ok(waiting.wake.as_ref().map_or(-1, WakePair::fileno))
    }

    /// Waits until there is room for items that no call waits for.
    pub(crate) async fn room(&self) {
        while self.lock().items.len() >= MOST_WAITING {
            self.drained.notified().await;
        }
    }

    pub(crate) fn has_room(&self) -> bool {
        self.lock().items.len() < MOST_WAITING
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Waiting {
    fn ring(&mut self) {
        if let (false, Some(wake)) = (self.is_rung, &self.wake) {
            wake.ring();
            self.is_rung = true;
        }
    }

    fn position(&self, number: u64) -> Option<usize> {
        self.items.iter().position(|item| item.is_for(number))
    }
}

/// How many items may wait before the server's own messages and events stay in the inbox, which is bounded.
const MOST_WAITING: usize = 1024;
