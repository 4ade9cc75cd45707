//! What an exchange remembers of its streams: where to resume, how fast, and which events were seen.

use std::collections::{BTreeSet, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::Duration;

use ridethrough_wire::sse::EventId;

/// The memory of all streams of one exchange.
#[derive(Clone, Debug, Default)]
pub(crate) struct ResumeState {
    last_event_id: Option<EventId>,
    /// The server's `retry:`, by which it declares that it polls. It belongs to the exchange and persists.
    retry: Option<Duration>,
    /// Ids of events on earlier streams; an event with one of them is a replay.
    earlier: Seen,
    /// Ids on the open stream; two events of one stream are always different events.
    current: Vec<u64>,
}

/// Whether an event is new to this exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Novelty {
    Fresh,
    Replayed,
}

impl ResumeState {
    /// Returns the event to resume after, if there is one.
    pub(crate) const fn last_event_id(&self) -> Option<&EventId> {
        self.last_event_id.as_ref()
    }

    /// Returns how long the server asks to wait between polls.
    pub(crate) const fn retry(&self) -> Option<Duration> {
        self.retry
    }

    pub(crate) const fn note_retry(&mut self, retry: Duration) {
        self.retry = Some(retry);
    }

    /// Takes in an event, after which the stream can be resumed. Returns whether it is new.
    pub(crate) fn advance(&mut self, id: Option<&EventId>) -> Novelty {
        let Some(id) = id else { return Novelty::Fresh };
        if id.is_empty() {
            self.last_event_id = None;
            return Novelty::Fresh;
        }
        self.last_event_id = Some(id.clone());
        let mut hasher = DefaultHasher::new();
        id.as_str().hash(&mut hasher);
        let mark = hasher.finish();
        if self.current.len() < MOST_SEEN {
            self.current.push(mark);
        }
        if self.earlier.contains(mark) { Novelty::Replayed } else { Novelty::Fresh }
    }

    /// Notes that the open stream is over.
    pub(crate) fn stream_ended(&mut self) {
        for mark in self.current.drain(..) {
            self.earlier.insert(mark);
        }
    }

    /// Forgets everything, because the request is sent again and its streams are new.
    pub(crate) fn start_over(&mut self) {
        *self = Self::default();
    }
}

/// A bounded set that forgets the oldest first.
#[derive(Clone, Debug, Default)]
struct Seen {
    marks: BTreeSet<u64>,
    order: VecDeque<u64>,
}

impl Seen {
    fn contains(&self, mark: u64) -> bool {
        self.marks.contains(&mark)
    }

    fn insert(&mut self, mark: u64) {
        if !self.marks.insert(mark) {
            return;
        }
        self.order.push_back(mark);
        if self.order.len() > MOST_SEEN
            && let Some(oldest) = self.order.pop_front()
        {
            self.marks.remove(&oldest);
        }
    }
}

/// The most event ids that are remembered. A server that replays more repeats some messages to the
/// application.
const MOST_SEEN: usize = 4096;
