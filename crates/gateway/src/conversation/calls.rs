//! The caller's requests that have no answer yet, each under the id that the caller gave it.
//!
//! A request that is cancelled is dropped, which cancels it at its server, and gets no answer. Every other
//! request ends exactly once.

use std::collections::BTreeMap;

use bytes::Bytes;
use futures_util::StreamExt;
use futures_util::future::{AbortHandle, Abortable, BoxFuture, FutureExt};
use futures_util::stream::FuturesUnordered;
use ridethrough_core::message::{Answer, Id};

/// The requests that are under way.
#[derive(Default)]
pub(crate) struct Calls {
    running: FuturesUnordered<Abortable<BoxFuture<'static, (u64, Answer)>>>,
    known: BTreeMap<u64, (Id, AbortHandle)>,
    /// The number of a request by the text of its id.
    numbers: BTreeMap<Bytes, u64>,
    last: u64,
}

impl Calls {
    pub(crate) fn begin(&mut self, id: Id, call: impl Future<Output = Answer> + Send + 'static) {
        self.last += 1;
        let number = self.last;
        let (handle, registration) = AbortHandle::new_pair();
        self.numbers.insert(id.json().as_bytes().clone(), number);
        self.known.insert(number, (id, handle));
        let call = call.map(move |answer| (number, answer)).boxed();
        self.running.push(Abortable::new(call, registration));
    }

    /// Drops a request, if it has not ended.
    pub(crate) fn cancel(&mut self, id: &Bytes) {
        let Some(number) = self.numbers.remove(id) else { return };
        if let Some((_, handle)) = self.known.remove(&number) {
            handle.abort();
        }
    }

    /// Waits for the next request that ends; it never completes while none is under way.
    pub(crate) async fn next(&mut self) -> (Id, Answer) {
        loop {
            match self.running.next().await {
                None => return std::future::pending().await,
                Some(Ok((number, answer))) => {
                    if let Some((id, _)) = self.known.remove(&number) {
                        let key = id.json().as_bytes();
                        if self.numbers.get(key) == Some(&number) {
                            self.numbers.remove(key);
                        }
                        return (id, answer);
                    }
                }
                // It was cancelled.
                Some(Err(_)) => {}
            }
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.known.len()
    }
}
