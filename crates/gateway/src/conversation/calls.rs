//! The caller's requests that have no answer yet, each under the id that the caller gave it.
//!
//! A request that is cancelled is dropped, which cancels it at its server, and gets no answer. Every other
//! request ends exactly once.

use std::collections::BTreeMap;

use futures_util::StreamExt;
use futures_util::future::{AbortHandle, Abortable, BoxFuture, FutureExt};
use futures_util::stream::FuturesUnordered;
use ridethrough_wire::message::{Answer, ByKey, Id, Json, Key};

/// The requests that are under way.
#[derive(Default)]
pub(crate) struct Calls {
    running: FuturesUnordered<Abortable<BoxFuture<'static, (u64, Answer)>>>,
    known: BTreeMap<u64, (Id, AbortHandle)>,
    /// The number of a request by its id.
    numbers: ByKey<u64>,
    last: u64,
}

impl Calls {
    pub(crate) fn begin(&mut self, id: Id, call: impl Future<Output = Answer> + Send + 'static) {
        self.last += 1;
        let number = self.last;
        let (handle, registration) = AbortHandle::new_pair();
        self.numbers.insert(Key::of(id.json()), number);
        self.known.insert(number, (id, handle));
        let call = call.map(move |answer| (number, answer)).boxed();
        self.running.push(Abortable::new(call, registration));
    }

    /// Drops a request, if it has not ended.
    pub(crate) fn cancel(&mut self, id: &Json) {
        let Some(number) = self.numbers.remove(&Key::of(id)) else { return };
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
                        let key = Key::of(id.json());
                        if self.numbers.get(&key) == Some(&number) {
                            self.numbers.remove(&key);
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

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use ridethrough_wire::message::{Incoming, Message};

    use super::*;

    #[tokio::test]
    async fn a_request_is_cancelled_however_its_id_is_spelled() {
        for (id, spelled, is_cancelled) in [
            (r#""a/b""#, r#""a\/b""#, true),
            (r#""\u0061""#, r#""a""#, true),
            ("7", "7", true),
            ("7", "7.0", true),
            ("7", r#""7""#, false),
        ] {
            let mut calls = Calls::default();
            let request = Bytes::from(format!(r#"{{"id":{id},"method":"m"}}"#));
            let Ok(Incoming::One(Message::Request { id, .. })) = Incoming::parse(&request) else {
                panic!("{request:?}")
            };
            calls.begin(id, async { Answer::Result(Json::empty_object()) });

            calls.cancel(&json(spelled));

            assert_eq!(calls.next().now_or_never().is_none(), is_cancelled, "{spelled}");
        }
    }

    fn json(text: &str) -> Json {
        Json::new(text.to_owned()).unwrap()
    }
}
