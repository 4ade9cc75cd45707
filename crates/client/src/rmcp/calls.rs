//! The calls of `rmcp` that have not ended, each under the id that `rmcp` gave it.
//!
//! A cancelled call is dropped, which is how the link learns of it. Nothing more is reported about it,
//! because `rmcp` has forgotten it too.

use std::collections::HashMap;
use std::sync::Arc;

use futures_util::StreamExt;
use futures_util::future::{AbortHandle, Abortable, BoxFuture, FutureExt};
use futures_util::stream::FuturesUnordered;
use ridethrough_core::{CallError, Outcome};
use rmcp::model::RequestId;

#[derive(Default)]
pub(super) struct Calls {
    running: FuturesUnordered<Abortable<BoxFuture<'static, CallEnd>>>,
    handles: HashMap<RequestId, AbortHandle>,
}

/// The single end of a call.
pub(super) struct CallEnd {
    pub(super) id: RequestId,
    pub(super) method: Arc<str>,
    pub(super) outcome: Outcome,
}

impl Calls {
    pub(super) fn begin(
        &mut self,
        id: RequestId,
        method: Arc<str>,
        call: impl Future<Output = Outcome> + Send + 'static,
    ) {
        let (handle, registration) = AbortHandle::new_pair();
        self.handles.insert(id.clone(), handle);
        let call = call.map(|outcome| CallEnd { id, method, outcome }).boxed();
        self.running.push(Abortable::new(call, registration));
    }

    /// Adds a call that ends before it begins.
    pub(super) fn refuse(&mut self, id: RequestId, method: Arc<str>, error: CallError) {
        self.begin(id, method, std::future::ready(Err(error)));
    }

    /// Drops a call, if it has not ended.
    pub(super) fn cancel(&mut self, id: &RequestId) {
        if let Some(handle) = self.handles.remove(id) {
            handle.abort();
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.running.is_empty()
    }

    /// Returns the next call that ends; `None` if none is under way.
    pub(super) async fn next(&mut self) -> Option<CallEnd> {
        loop {
            if let Ok(ended) = self.running.next().await? {
                self.handles.remove(&ended.id);
                return Some(ended);
            }
        }
    }
}
