//! Messages of the host that wait, and its notifications that the upstream has not taken yet, within a bound.
//!
//! ```text
//!   room ──▶ passed on
//!   none ──▶ the oldest waits for less than a second: the host waits with it
//!       └──▶ it waits for longer: the upstream is slow or down, and what has no room is dropped
//! ```
//! A host that sends faster than the upstream reads is thereby slowed down to the upstream's pace, and a
//! call, a cancel or an answer behind its notifications is never delayed for longer than that second.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use futures_util::stream::{FuturesUnordered, StreamExt};
use ridethrough::Client;
use ridethrough_wire::message::{Json, Message, splice};
use tokio::time::Instant;

/// Messages that wait in the order in which the host sent them.
#[derive(Default)]
pub(crate) struct Held {
    /// The first is a notification for which there is no room.
    queue: VecDeque<Message>,
    until: Option<Instant>,
    pub(crate) notices: Notices,
}

/// A message whose turn has come.
pub(crate) enum Next {
    /// It is a notification that is dropped.
    Dropped,
    /// It is to be handled.
    Message(Message),
}

/// The notifications that wait for the upstream, and how many were dropped.
#[derive(Default)]
pub(crate) struct Notices {
    underway: FuturesUnordered<BoxFuture<'static, u64>>,
    /// The notifications by number, the oldest first.
    known: BTreeMap<u64, Notice>,
    last: u64,
    bytes: usize,
    dropped: u64,
}

struct Notice {
    since: Instant,
    bytes: usize,
}

/// Whether there is room for a notification.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Room {
    /// It can be passed on at once.
    Free,
    /// There is none; wait for it until this time at most.
    Later(Instant),
    /// There is none, and the upstream is too slow to wait for.
    None,
}

impl Held {
    /// Adds a message behind the others.
    pub(crate) fn push(&mut self, message: Message) {
        self.queue.push_back(message);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// Returns until when the messages wait for room.
    pub(crate) const fn until(&self) -> Option<Instant> {
        self.until
    }

    /// Takes the next message, unless it is a notification to be passed on that must go on waiting for room. Without
    /// a moment it waits no longer.
    pub(crate) fn next(
        &mut self,
        now: Option<Instant>,
        is_passed_on: impl Fn(&str) -> bool,
    ) -> Option<Next> {
        self.until = None;
        let Some(message) = self.queue.pop_front() else {
            // A large batch is seldom followed by another.
            self.queue.shrink_to(MOST_KEPT);
            return None;
        };
        let room = match &message {
            Message::Notification { method, params } if is_passed_on(method) => {
                self.notices.room_for(now, method, params.as_ref())
            }
            _ => Room::Free,
        };
        match room {
            Room::Free => Some(Next::Message(message)),
            Room::Later(until) => {
                self.queue.push_front(message);
                self.until = Some(until);
                None
            }
            Room::None => {
                self.notices.dropped += 1;
                Some(Next::Dropped)
            }
        }
    }
}

impl Notices {
    pub(crate) fn is_empty(&self) -> bool {
        self.known.is_empty()
    }

    /// Returns how many notifications were dropped.
    pub(crate) const fn dropped(&self) -> u64 {
        self.dropped
    }

    fn room_for(&self, now: Option<Instant>, method: &str, params: Option<&Json>) -> Room {
        let Some((_, oldest)) = self.known.first_key_value() else { return Room::Free };
        let is_free = self.known.len() < MOST && self.bytes + size(method, params) <= MOST_BYTES;
        match oldest.since + HOLD {
            _ if is_free => Room::Free,
            until if now.is_some_and(|now| now < until) => Room::Later(until),
            _ => Room::None,
        }
    }

    /// Passes a notification on. If the upstream does not take it, the client reports an event; the host is
    /// not told.
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
        // The first poll sends it, before anything that the host says next.
        if telling.as_mut().now_or_never().is_none() {
            self.known.insert(number, Notice { since: Instant::now(), bytes });
            self.bytes += bytes;
            self.underway.push(telling);
        }
    }

    /// Waits until the upstream has taken a notification; `None` if none is under way. Nothing is lost if the
    /// future is dropped.
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

/// The most notifications that wait: many times what a host sends at once.
const MOST: usize = 1000;
/// The most bytes that wait: two of the largest messages.
const MOST_BYTES: usize = 32 << 20;
/// How long the host's other messages may wait behind its notifications: a person does not notice more.
const HOLD: Duration = Duration::from_secs(1);
/// What people are told of the first notification that is dropped.
pub(crate) const DROPPED: &str = "warning: the host sends notifications faster than the upstream takes them: 1000 wait, and those beyond \
     are dropped; calls, cancels and answers are not; `ridethrough status --json` counts them";
/// The capacity that the empty queue keeps.
const MOST_KEPT: usize = 64;
