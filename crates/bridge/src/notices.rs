//! Notifications of the host that the upstream has not taken yet, within a bound.
//!
//! ```text
//!   room ──▶ passed on
//!   none ──▶ the oldest waits for less than a second: the host waits with it
//!       └──▶ it waits for longer: the upstream is slow or down, and what has no room is dropped
//! ```
//! So a host that talks faster than the upstream listens is slowed down to its pace, and a call, a cancel or an
//! answer behind its notifications is never held up for longer than that second.

use std::collections::BTreeMap;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use futures_util::stream::{FuturesUnordered, StreamExt};
use ridethrough::Client;
use ridethrough_core::message::Json;
use tokio::time::Instant;

use crate::splice;

/// What waits for the upstream, and what did not fit.
#[derive(Default)]
pub(crate) struct Notices {
    underway: FuturesUnordered<BoxFuture<'static, u64>>,
    /// By number, the oldest first.
    known: BTreeMap<u64, Notice>,
    last: u64,
    bytes: usize,
    dropped: u64,
}

struct Notice {
    since: Instant,
    bytes: usize,
}

/// Whether a notification can be passed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Room {
    /// At once.
    Free,
    /// Perhaps until then.
    Later(Instant),
    /// There is none, and the upstream is too slow to wait for.
    None,
}

impl Notices {
    pub(crate) fn is_empty(&self) -> bool {
        self.known.is_empty()
    }

    /// How many were dropped.
    pub(crate) const fn dropped(&self) -> u64 {
        self.dropped
    }

    pub(crate) fn room_for(&self, now: Instant, method: &str, params: Option<&Json>) -> Room {
        let Some((_, oldest)) = self.known.first_key_value() else { return Room::Free };
        let is_free = self.known.len() < MOST && self.bytes + size(method, params) <= MOST_BYTES;
        match oldest.since + HOLD {
            _ if is_free => Room::Free,
            until if now < until => Room::Later(until),
            _ => Room::None,
        }
    }

    /// Passes a notification on. That the upstream did not take one is an event of the client's, and nothing
    /// that the host could be told.
    pub(crate) fn pass_on(&mut self, client: &Client, method: &str, params: Option<&Json>) {
        let bytes = size(method, params);
        let params = params.map(splice::copied);
        let (client, method) = (client.clone(), method.to_owned());
        self.last += 1;
        let number = self.last;
        let mut telling = async move {
            let _ = client.notify(method, params).await;
            number
        }
        .boxed();
        // With the first look at it, it is on its way: before whatever the host says next.
        if telling.as_mut().now_or_never().is_none() {
            self.known.insert(number, Notice { since: Instant::now(), bytes });
            self.bytes += bytes;
            self.underway.push(telling);
        }
    }

    /// Counts one that is dropped. Returns what people are told, the first time.
    pub(crate) fn drop_one(&mut self) -> Option<&'static str> {
        self.dropped += 1;
        (self.dropped == 1).then_some(TOLD)
    }

    /// The end of the next one; `None` if none is under way. Nothing is lost if the future is dropped.
    pub(crate) async fn next(&mut self) -> Option<()> {
        let number = self.underway.next().await?;
        if let Some(notice) = self.known.remove(&number) {
            self.bytes -= notice.bytes;
        }
        Some(())
    }
}

fn size(method: &str, params: Option<&Json>) -> usize {
    method.len() + params.map_or(0, |params| params.as_bytes().len())
}

/// Many times what a host has to say at once.
const MOST: usize = 1000;
/// Two of the largest messages.
const MOST_BYTES: usize = 32 << 20;
/// How long the host may be held up for the sake of its notifications: a person notices no more.
const HOLD: Duration = Duration::from_secs(1);
const TOLD: &str = "warning: the host sends notifications faster than the upstream takes them: 1000 wait, and those beyond \
     are dropped; calls, cancels and answers are not; `ridethrough status --json` counts them";
