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
use ridethrough_core::message::Id;

use crate::lists::Page;

#[derive(Default)]
pub(crate) struct Calls {
    running: FuturesUnordered<Abortable<BoxFuture<'static, Finished>>>,
    /// By the text of the id, with the number of the call: an id that is used again while its first
    /// call runs means the later one.
    handles: BTreeMap<Bytes, (u64, AbortHandle)>,
    last: u64,
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
    StandIn(ridethrough_core::message::Json),
    /// What the client says.
    Upstream(Outcome),
}

impl Calls {
    pub(crate) fn begin(
        &mut self,
        id: Id,
        page: Option<Page>,
        call: impl Future<Output = End> + Send + 'static,
    ) {
        self.last += 1;
        let number = self.last;
        let (handle, registration) = AbortHandle::new_pair();
        self.handles.insert(id.json().as_bytes().clone(), (number, handle));
        let call = call.map(move |end| Finished { id, page, end, number }).boxed();
        self.running.push(Abortable::new(call, registration));
    }

    /// Drops a request, if it has not ended.
    pub(crate) fn cancel(&mut self, id: &Bytes) {
        if let Some((_, handle)) = self.handles.remove(id) {
            handle.abort();
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.running.is_empty()
    }

    /// The next request that ends; `None` if there is none under way.
    pub(crate) async fn next(&mut self) -> Option<Finished> {
        loop {
            if let Ok(ended) = self.running.next().await? {
                let key = ended.id.json().as_bytes();
                if self.handles.get(key).is_some_and(|(number, _)| *number == ended.number) {
                    self.handles.remove(key);
                }
                return Some(ended);
            }
        }
    }
}
