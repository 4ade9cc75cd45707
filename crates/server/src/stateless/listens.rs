//! The open `subscriptions/listen` requests of one conversation, and the changes that each of them is sent.
//!
//! A change that comes again before it was read is sent once, so that a slow client costs no more than its
//! filter.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ridethrough_wire::message::Json;
use ridethrough_wire::stateless::Filter;
use tokio::sync::Notify;

/// All open requests of a conversation.
#[derive(Debug, Default)]
pub(crate) struct Listens {
    open: Mutex<Vec<Arc<Listen>>>,
    /// How many requests want each resource. The lock is held while the backend is told.
    pub(crate) resources: tokio::sync::Mutex<BTreeMap<String, usize>>,
}

/// One open request.
#[derive(Debug)]
pub(crate) struct Listen {
    pub(crate) filter: Filter,
    state: Mutex<ListenState>,
    changed: Notify,
}

#[derive(Debug, Default)]
struct ListenState {
    /// The changes that were not sent yet: by method and resource, the newest params.
    pending: BTreeMap<(String, String), Option<Json>>,
    is_over: bool,
}

impl Listens {
    /// Opens a request; `None` if there are too many.
    pub(crate) fn open(&self, filter: Filter) -> Option<Arc<Listen>> {
        let mut open = self.lock();
        if open.len() >= MOST {
            return None;
        }
        let listen = Arc::new(Listen { filter, state: Mutex::default(), changed: Notify::new() });
        open.push(listen.clone());
        Some(listen)
    }

    /// Closes a request.
    pub(crate) fn close(&self, listen: &Arc<Listen>) {
        self.lock().retain(|it| !Arc::ptr_eq(it, listen));
    }

    /// Reports a change to all requests that want it.
    pub(crate) fn tell(&self, method: &str, params: Option<&Json>) {
        for listen in &*self.lock() {
            listen.hear(method, params);
        }
    }

    /// Ends all requests, because the conversation is over.
    pub(crate) fn end(&self) {
        for listen in std::mem::take(&mut *self.lock()) {
            listen.lock().is_over = true;
            listen.changed.notify_one();
        }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Arc<Listen>>> {
        // No code panics in the middle of a change, so a poisoned lock is still valid.
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Listen {
    /// Waits for a change; `None` when the conversation is over. Nothing is lost if the future is dropped.
    pub(crate) async fn next(&self) -> Option<(String, Option<Json>)> {
        loop {
            {
                let mut state = self.lock();
                if let Some(((method, _), params)) = state.pending.pop_first() {
                    return Some((method, params));
                }
                if state.is_over {
                    return None;
                }
            }
            self.changed.notified().await;
        }
    }

    fn hear(&self, method: &str, params: Option<&Json>) {
        if self.filter.wants(method, params) {
            let uri = params.and_then(|params| params.member("uri")?.read());
            let change = (method.to_owned(), uri.unwrap_or_default());
            self.lock().pending.insert(change, params.cloned());
            self.changed.notify_one();
        }
    }

    fn lock(&self) -> MutexGuard<'_, ListenState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The most requests of one conversation: a client needs one for each thing that it shows.
const MOST: usize = 100;
/// The most resources of one request: each is a request to the backend.
pub(crate) const MOST_RESOURCES: usize = 1000;
/// The bytes of what is listened for, which is read before it is counted.
pub(crate) const LONGEST_LIST: usize = 1 << 20;
