//! One event of a stream, and the id it may carry.
//!
//! Neither type prints what it holds: data is payload, and an event id may let its holder resume the stream
//! it came from.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;

/// One block of the stream, as a blank line ended it.
///
/// The standard would not dispatch a block without data; it is still reported, because an id or a delay may
/// come alone and the caller must see it.
#[derive(Clone, PartialEq, Eq)]
pub struct SseEvent {
    /// The last `event` field, unless it was empty or `message`, which is the kind of an event without one.
    pub kind: Option<Box<str>>,
    /// The `data` lines joined by LF; always valid UTF-8, and empty if there were none.
    ///
    /// This may be a slice of the chunk it arrived in, and then keeps that whole chunk in memory.
    pub data: Bytes,
    /// The last valid `id` field of this very block; an empty one clears the last id.
    pub id: Option<EventId>,
    /// The last valid `retry` field of this very block: how long to wait before reconnecting.
    pub retry: Option<Duration>,
}

impl SseEvent {
    /// Whether this is an ordinary message: one without a kind, or of the kind `message`.
    #[must_use]
    pub fn is_message(&self) -> bool {
        self.kind.as_deref().is_none_or(|kind| kind == "message")
    }
}

impl fmt::Debug for SseEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SseEvent")
            .field("kind", &self.kind)
            .field("data", &format_args!("<{} bytes>", self.data.len()))
            .field("id", &self.id)
            .field("retry", &self.retry)
            .finish()
    }
}

/// The id that a server gave to a place in its stream; cheap to clone.
///
/// It owns its text rather than a slice of a chunk: the last id lives as long as its stream, and would keep
/// the chunk with it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EventId(Arc<str>);

impl EventId {
    /// Returns the id as the server wrote it.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether the id is empty, which clears any earlier id of the stream.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl From<&str> for EventId {
    fn from(id: &str) -> Self {
        Self(Arc::from(id))
    }
}

impl fmt::Debug for EventId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "EventId(<{} bytes>)", self.0.len())
    }
}
