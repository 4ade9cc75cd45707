//! The host's requests that have no answer yet, each under the id that the host gave it.
//!
//! A request that the host takes back is dropped, which is how the link learns of it, and has no
//! answer. Every other one ends exactly once.

use std::collections::BTreeMap;

use bytes::Bytes;
use futures_util::StreamExt;
use futures_util::future::{AbortHandle, Abortable, BoxFuture, FutureExt};
use futures_util::stream::FuturesUnordered;
use ridethrough_core::Outcome;
use ridethrough_core::message::{Id, Json};
use tokio::time::Instant;

use crate::gauge::{InFlight, millis, short};
use crate::lists::Page;

#[derive(Default)]
pub(crate) struct Calls {
    running: FuturesUnordered<Abortable<BoxFuture<'static, Finished>>>,
    /// By the text of the id: an id that is used again while its first call runs means the later one.
    handles: BTreeMap<Bytes, Running>,
    last: u64,
}

/// A request as it came from the host.
pub(crate) struct Asked {
    pub(crate) id: Id,
    pub(crate) method: Box<str>,
    pub(crate) params: Option<Json>,
}

struct Running {
    number: u64,
    handle: AbortHandle,
    method: Box<str>,
    params: Option<Json>,
    began: Instant,
}

/// The one end of a request.
pub(crate) struct Finished {
    pub(crate) id: Id,
    /// The part of a list that was asked for, if it was one.
    pub(crate) page: Option<Page>,
    pub(crate) end: End,
    number: u64,
}

/// What a request came to.
#[derive(Debug)]
pub(crate) enum End {
    /// The upstream was not there: this is what stands in for its answer.
    StandIn(Json),
    /// What the client says.
    Upstream(Outcome),
}

impl Calls {
    pub(crate) fn begin(
        &mut self,
        asked: Asked,
        page: Option<Page>,
        call: impl Future<Output = End> + Send + 'static,
    ) {
        self.last += 1;
        let number = self.last;
        let Asked { id, method, params } = asked;
        let (handle, registration) = AbortHandle::new_pair();
        let running = Running { number, handle, method, params, began: Instant::now() };
        self.handles.insert(id.json().as_bytes().clone(), running);
        let call = call.map(move |end| Finished { id, page, end, number }).boxed();
        self.running.push(Abortable::new(call, registration));
    }

    /// Drops a request, if it has not ended.
    pub(crate) fn cancel(&mut self, id: &Bytes) {
        if let Some(running) = self.handles.remove(id) {
            running.handle.abort();
        }
    }

    pub(crate) fn count(&self) -> usize {
        self.handles.len()
    }

    /// Those that have waited for longest, for people.
    pub(crate) fn oldest(&self, now: Instant) -> Vec<InFlight> {
        let mut running: Vec<_> = self.handles.values().collect();
        running.sort_by_key(|it| it.number);
        let mut left = MOST_READ;
        let shown = running.into_iter().take(MOST_SHOWN).map(|it| InFlight {
            method: short(&it.method),
            tool: it.tool(&mut left).as_deref().map(short),
            elapsed_ms: millis(now - it.began),
        });
        shown.collect()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.running.is_empty()
    }

    /// The next request that ends; `None` if there is none under way.
    pub(crate) async fn next(&mut self) -> Option<Finished> {
        loop {
            if let Ok(ended) = self.running.next().await? {
                let key = ended.id.json().as_bytes();
                if self.handles.get(key).is_some_and(|running| running.number == ended.number) {
                    self.handles.remove(key);
                }
                return Some(ended);
            }
        }
    }
}

impl Running {
    /// The tool that is called. What is too large to be read in passing has none.
    fn tool(&self, left: &mut usize) -> Option<String> {
        let params = self.params.as_ref().filter(|_| &*self.method == "tools/call")?;
        *left = left.checked_sub(params.as_bytes().len())?;
        params.member("name")?.read()
    }
}

const MOST_SHOWN: usize = 50;
/// Nobody who looks may hold up the calls: so much takes a few milliseconds.
const MOST_READ: usize = 4 << 20;
