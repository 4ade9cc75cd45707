//! The caller's requests that have no answer yet.
//!
//! A request that is cancelled is dropped, which cancels it at its server, and gets no answer. Every other
//! request ends exactly once.

use std::collections::BTreeMap;

use futures_util::StreamExt;
use futures_util::future::{AbortHandle, Abortable, BoxFuture, FutureExt};
use futures_util::stream::FuturesUnordered;
use ridethrough_server::Sink;
use ridethrough_wire::message::Answer;

/// The requests that are under way.
#[derive(Default)]
pub(crate) struct Calls {
    running: FuturesUnordered<Abortable<BoxFuture<'static, (u64, Answer)>>>,
    /// Where each ends, by its number.
    known: BTreeMap<u64, (Sink, AbortHandle)>,
}

impl Calls {
    pub(crate) fn begin(
        &mut self,
        sink: Sink,
        call: impl Future<Output = Answer> + Send + 'static,
    ) {
        let number = sink.number();
        let (handle, registration) = AbortHandle::new_pair();
        self.known.insert(number, (sink, handle));
        let call = call.map(move |answer| (number, answer)).boxed();
        self.running.push(Abortable::new(call, registration));
    }

    /// Drops a request, if it has not ended.
    pub(crate) fn cancel(&mut self, number: u64) {
        if let Some((_, handle)) = self.known.remove(&number) {
            handle.abort();
        }
    }

    /// Waits for the next request that ends; it never completes while none is under way.
    pub(crate) async fn next(&mut self) -> (Sink, Answer) {
        loop {
            match self.running.next().await {
                None => return std::future::pending().await,
                Some(Ok((number, answer))) => {
                    if let Some((sink, _)) = self.known.remove(&number) {
                        return (sink, answer);
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
