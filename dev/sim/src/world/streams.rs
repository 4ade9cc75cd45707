//! Streams that can be resumed: the events of each, by event id.

use serde_json::Value;

use super::order::Order;

/// All streams of a server that have event ids.
#[derive(Debug, Default)]
pub(super) struct ServerStreams(Vec<Recorded>);

/// One stream.
#[derive(Clone, Debug)]
pub(super) struct Recorded {
    pub(super) order: Order,
    /// A priming event, progress, and the answer as the last event.
    pub(super) events: Vec<String>,
}

impl ServerStreams {
    /// Records the answer to the request with this id, and returns the stream's number.
    pub(super) fn record(&mut self, order: Order, id: &Value, progress: Vec<String>) -> usize {
        let mut events = vec![String::new()];
        events.extend(progress);
        events.push(order.response(id));
        self.0.push(Recorded { order, events });
        self.0.len() - 1
    }

    pub(super) fn get(&self, stream: usize) -> Option<&Recorded> {
        self.0.get(stream)
    }

    /// Forgets all streams, as a server that is restarted may.
    pub(super) fn forget(&mut self) {
        self.0.iter_mut().for_each(|stream| stream.events.clear());
    }
}

/// Returns the id of an event: its stream and its place there.
pub(super) fn event_id(stream: usize, place: usize) -> String {
    format!("s{stream}-{place}")
}

/// Returns the stream and the place that an event id names, if this server wrote it.
pub(super) fn read_event_id(id: &str) -> Option<(usize, usize)> {
    let (stream, place) = id.strip_prefix('s')?.split_once('-')?;
    Some((stream.parse().ok()?, place.parse().ok()?))
}
