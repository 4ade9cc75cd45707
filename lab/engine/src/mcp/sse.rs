//! An event stream that answers a request, event by event.

use std::fmt;
use std::time::Duration;

use bytes::Bytes;
use serde_json::Value;

use super::Deed;
use super::ask::result_message;
use super::mark::StreamNotes;
use crate::turn::Stream;

/// An open `text/event-stream`. Dropping it is [`cut`](Self::cut).
///
/// Every method that sends returns false when the client has gone.
pub struct Sse {
    stream: Stream,
    /// The JSON-RPC id of the request that this stream answers.
    asked: Value,
    notes: StreamNotes,
}

impl Sse {
    pub(super) fn new(stream: Stream, asked: Value, notes: StreamNotes) -> Self {
        Self { stream, asked, notes }
    }

    /// Sends one event.
    pub async fn event(&mut self, id: Option<&str>, data: &str) -> bool {
        self.notes.sent(describe(id, data));
        self.stream.send(encode(id, data)).await
    }

    /// Sends a priming event: this id and empty data.
    pub async fn prime(&mut self, id: &str) -> bool {
        self.event(Some(id), "").await
    }

    /// Tells the client how long to wait before it resumes.
    pub async fn retry(&mut self, wait: Duration) -> bool {
        self.notes.sent("retry");
        self.stream.send(format!("retry: {}\n\n", wait.as_millis())).await
    }

    /// Sends a comment.
    pub async fn comment(&mut self, text: &str) -> bool {
        self.notes.sent("comment");
        self.stream.send(format!(": {text}\n\n")).await
    }

    /// Sends these bytes as they are: half an event, or garbage.
    pub async fn raw(&mut self, bytes: impl Into<Bytes>) -> bool {
        self.notes.sent("bytes");
        self.stream.send(bytes).await
    }

    /// Sends a JSON-RPC message.
    pub async fn message(&mut self, id: Option<&str>, message: &Value) -> bool {
        self.event(id, &message.to_string()).await
    }

    /// Sends the answer to the request that this stream belongs to.
    pub async fn answer(&mut self, id: Option<&str>, result: Value) -> bool {
        let message = result_message(self.asked.clone(), result);
        self.message(id, &message).await
    }

    /// Sends the answer and the proper end of the body in one write.
    pub async fn answer_and_finish(self, result: Value) {
        let message = result_message(self.asked.clone(), result);
        self.event_and_finish(None, &message.to_string()).await;
    }

    /// Sends an event and the proper end of the body in one write.
    pub async fn event_and_finish(mut self, id: Option<&str>, data: &str) {
        self.notes.sent(describe(id, data));
        self.notes.over(Deed::Ended);
        self.stream.finish_with(encode(id, data)).await;
    }

    /// Ends the body properly.
    pub async fn finish(mut self) {
        self.notes.over(Deed::Ended);
        self.stream.finish().await;
    }

    /// See [`Stream::reset`].
    pub fn reset(mut self) {
        self.notes.over(Deed::Reset);
        self.stream.reset();
    }

    /// See [`Stream::cut`].
    pub async fn cut(mut self) {
        self.notes.over(Deed::Cut);
        self.stream.cut().await;
    }

    /// Waits until the client has closed.
    pub async fn gone(&mut self) {
        self.stream.gone().await;
        self.notes.gone();
    }

    /// Resets the whole connection, on HTTP/2 too.
    pub fn drop_connection(mut self) {
        self.notes.over(Deed::Reset);
        self.stream.drop_connection();
    }

    /// Sends this many identical bytes, for as long as the client takes them.
    pub(crate) async fn flood(&mut self, bytes: u64) {
        self.notes.sent("a flood");
        let mut left = bytes;
        while left > 0 {
            let size = left.min(FLOOD.len() as u64);
            if !self.stream.send(Bytes::from_static(&FLOOD[..size as usize])).await {
                return;
            }
            left -= size;
        }
    }

    /// Sends bytes in pieces, under this name in the log.
    pub(crate) async fn pieces(&mut self, what: &str, bytes: &Bytes, manner: Pieces) -> bool {
        self.notes.sent(what);
        for start in (0..bytes.len()).step_by(manner.slice) {
            if start > 0 {
                tokio::time::sleep(manner.gap).await;
            }
            let end = bytes.len().min(start + manner.slice);
            if !self.stream.send(bytes.slice(start..end)).await {
                return false;
            }
        }
        true
    }
}

impl fmt::Debug for Sse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sse").field("asked", &self.asked).finish_non_exhaustive()
    }
}

/// How bytes are divided.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pieces {
    pub(crate) slice: usize,
    pub(crate) gap: Duration,
}

impl Pieces {
    /// Bytes in one piece.
    pub(crate) const WHOLE: Self = Self { slice: usize::MAX, gap: Duration::ZERO };
}

/// Describes an event in a word or two. The log must not keep megabytes of an event: that would be a leak
/// like those that tests look for in clients.
pub(crate) fn describe(id: Option<&str>, data: &str) -> String {
    let message: Value = serde_json::from_str(data).unwrap_or_default();
    let what = match message["method"].as_str() {
        Some(method) => method,
        None if message.is_object() => "answer",
        None if data.is_empty() => "nothing",
        None => "data",
    };
    let what = beginning(what);
    id.map_or_else(|| what.to_owned(), |id| format!("{what} as {}", beginning(id)))
}

fn beginning(text: &str) -> &str {
    let end = text.char_indices().nth(MOST_DESCRIBED).map_or(text.len(), |(end, _)| end);
    &text[..end]
}

const MOST_DESCRIBED: usize = 60;

pub(crate) fn encode(id: Option<&str>, data: &str) -> Bytes {
    let mut event = String::with_capacity(data.len() + 16);
    if let Some(id) = id {
        event.extend(["id: ", id, "\n"]);
    }
    for line in data.split('\n') {
        event.extend(["data: ", line, "\n"]);
    }
    event.push('\n');
    event.into()
}

static FLOOD: [u8; 64 << 10] = [b'x'; 64 << 10];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_of_the_data_is_a_field_of_its_own() {
        assert_eq!(encode(Some("7"), "a\nb"), "id: 7\ndata: a\ndata: b\n\n");
    }

    #[test]
    fn descriptions_are_short_whatever_they_describe() {
        let method = "m\u{e9}".repeat(1000);
        let message = serde_json::json!({"method": method}).to_string();

        let described = describe(Some(&"7".repeat(1000)), &message);

        assert_eq!(described.chars().count(), 60 + " as ".len() + 60);
    }

    #[test]
    fn a_priming_event_has_an_id_and_empty_data() {
        assert_eq!(encode(Some("7"), ""), "id: 7\ndata: \n\n");
    }
}
