//! The open `subscriptions/listen` requests of one conversation, and the changes that each of them is sent.
//!
//! A change that comes again before it was read is sent once, so that a slow client costs no more than its
//! filter.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ridethrough_wire::message::reserved::SUBSCRIPTION;
use ridethrough_wire::message::splice::{self, is_object, text};
use ridethrough_wire::message::{Json, is_within, notification};
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

/// The changes that a request wants to be told.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Filter {
    /// The methods of notifications.
    pub(crate) lists: BTreeSet<&'static str>,
    pub(crate) resources: BTreeSet<String>,
}

impl Filter {
    /// Reads the params of a request; `None` if they are invalid.
    pub(crate) fn read(params: Option<&Json>) -> Option<Self> {
        let wanted = params?.member("notifications").filter(is_object)?;
        let mut filter = Self::default();
        for (key, method) in LISTS {
            match wanted.member(key) {
                Some(is_wanted) if is_wanted.read::<bool>()? => {
                    filter.lists.insert(method);
                }
                _ => {}
            }
        }
        if let Some(resources) = wanted.member("resourceSubscriptions") {
            let resources = Some(resources).filter(|it| it.as_bytes().len() <= LONGEST_LIST)?;
            filter.resources = resources.read::<BTreeSet<String>>()?;
        }
        Some(filter)
    }

    /// Returns the filter in the form of the protocol.
    pub(crate) fn json(&self) -> Json {
        let lists = LISTS.iter().filter(|(_, method)| self.lists.contains(method));
        let lists = lists.map(|(key, _)| ((*key).to_owned(), Json::from(true_value())));
        let resources = (!self.resources.is_empty()).then(|| {
            let resources = Json::of(&self.resources).expect("texts are JSON");
            ("resourceSubscriptions".to_owned(), resources)
        });
        Json::empty_object().with_members(lists.chain(resources))
    }
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
        let resource = match method {
            notification::RESOURCE_UPDATED => {
                let uri = params.and_then(|params| params.member("uri")?.read::<String>());
                uri.filter(|uri| self.filter.resources.iter().any(|wanted| is_within(uri, wanted)))
            }
            _ => self.filter.lists.contains(method).then(String::new),
        };
        if let Some(resource) = resource {
            self.lock().pending.insert((method.to_owned(), resource), params.cloned());
            self.changed.notify_one();
        }
    }

    fn lock(&self) -> MutexGuard<'_, ListenState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the capability that announces changes of this list.
pub(crate) fn family(method: &str) -> &'static str {
    match method {
        notification::PROMPTS_CHANGED => "prompts",
        notification::RESOURCES_CHANGED => "resources",
        _ => "tools",
    }
}

/// Returns a notification of a subscription, which names the request that it belongs to.
pub(crate) fn tagged(method: &str, params: Option<&Json>, id: &Json) -> String {
    let params = params.cloned().unwrap_or_else(Json::empty_object);
    let meta = params.member("_meta").unwrap_or_else(Json::empty_object);
    let meta = splice::with_member(&meta, SUBSCRIPTION, id);
    let params = splice::with_member(&params, "_meta", &meta);
    let method = text(method);
    format!(r#"{{"jsonrpc":"2.0","method":{},"params":{}}}"#, method.as_str(), params.as_str())
}

const fn true_value() -> serde_json::Value {
    serde_json::Value::Bool(true)
}

pub(crate) const LISTEN: &str = "subscriptions/listen";
pub(crate) const ACKNOWLEDGED: &str = "notifications/subscriptions/acknowledged";
/// The most requests of one conversation: a client needs one for each thing that it shows.
const MOST: usize = 100;
/// The most resources of one request: each is a request to the backend.
pub(crate) const MOST_RESOURCES: usize = 1000;
/// The bytes of a list of resources, which is read before it is counted.
const LONGEST_LIST: usize = 1 << 20;
const LISTS: [(&str, &str); 3] = [
    ("promptsListChanged", notification::PROMPTS_CHANGED),
    ("resourcesListChanged", notification::RESOURCES_CHANGED),
    ("toolsListChanged", notification::TOOLS_CHANGED),
];
