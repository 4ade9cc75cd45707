//! The event store of one stream: the events that were sent on it, kept for a resume.
//!
//! It is bounded in events and bytes: the oldest go first, notifications before questions. Answers, of any
//! size, and the newest event always stay; there are no more answers than calls.

use std::collections::VecDeque;

use bytes::Bytes;
use ridethrough_wire::message::{Answer, Json, Message};

use crate::budget::Reservation;
use crate::parts::json_on_one_line;

/// The events of a stream, numbered from 1.
#[derive(Debug, Default)]
pub(crate) struct Log {
    events: VecDeque<Entry>,
    bytes: usize,
    last: u64,
}

/// One event.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) number: u64,
    pub(crate) said: Said,
    pub(crate) weight: Weight,
}

/// What is said by an event.
#[derive(Clone, Debug)]
pub(crate) enum Said {
    /// A message to the server itself, which is the client of stateless callers' session.
    Message(Message),
    /// A message as it is written to a client.
    Text(Bytes),
}

impl Said {
    /// Creates a message to the server itself, whose parts can be written on lines and in event streams.
    pub(crate) fn message(message: Message) -> Self {
        Self::Message(with_body(message, json_on_one_line))
    }

    /// Returns how many bytes are kept.
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Message(Message::Response { answer, .. }) => answer.json().as_bytes().len(),
            Self::Message(
                Message::Notification { params, .. } | Message::Request { params, .. },
            ) => params.as_ref().map_or(0, |params| params.as_bytes().len()),
            Self::Text(text) => text.len(),
        }
    }

    /// Keeps the room that it takes for as long as it is kept, in whole or in part.
    pub(crate) fn holding(self, room: Reservation) -> Self {
        match self {
            Self::Message(message) => {
                Self::Message(with_body(message, |json| json.with_owner(room)))
            }
            Self::Text(text) => Self::Text(room.hold(text)),
        }
    }

    /// Returns the text; empty for a message to the server itself, which nothing writes.
    pub(crate) fn text(&self) -> Bytes {
        match self {
            Self::Message(_) => Bytes::new(),
            Self::Text(text) => text.clone(),
        }
    }
}

/// Changes the part of a message that has no bounds.
fn with_body(message: Message, change: impl FnOnce(Json) -> Json) -> Message {
    match message {
        Message::Response { id, answer: Answer::Error(json) } => {
            Message::Response { id, answer: Answer::Error(change(json)) }
        }
        Message::Response { id, answer: Answer::Result(json) } => {
            Message::Response { id, answer: Answer::Result(change(json)) }
        }
        Message::Notification { method, params } => {
            Message::Notification { method, params: params.map(change) }
        }
        Message::Request { id, method, params } => {
            Message::Request { id, method, params: params.map(change) }
        }
    }
}

impl From<Bytes> for Said {
    fn from(text: Bytes) -> Self {
        Self::Text(text)
    }
}

/// The kind of a message, which says what losing it costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Weight {
    /// An answer: a client waits for it, and it cannot be made again.
    Answer,
    /// A notification: no client waits for it.
    Notification,
    /// A question: the backend waits for the client's answer to it.
    Question,
}

impl Log {
    /// Adds an event.
    pub(crate) fn push(&mut self, said: Said, weight: Weight) {
        self.last += 1;
        self.bytes += said.len();
        self.events.push_back(Entry { number: self.last, said, weight });
        while self.events.len() > 1 && (self.events.len() > MOST_EVENTS || self.bytes > MOST_BYTES)
        {
            let Some(dropped) = self.expendable().and_then(|at| self.events.remove(at)) else {
                return;
            };
            self.bytes -= dropped.said.len();
        }
    }

    /// Drops all notifications. Returns whether there were any.
    pub(crate) fn forget_notifications(&mut self) -> bool {
        let before = self.events.len();
        self.events.retain(|entry| entry.weight != Weight::Notification);
        self.bytes = self.events.iter().map(|entry| entry.said.len()).sum();
        self.events.len() < before
    }

    /// Returns the position of the event that costs least to lose.
    fn expendable(&self) -> Option<usize> {
        let oldest = |weight| {
            let mut older = self.events.iter().take(self.events.len() - 1);
            older.position(|entry| entry.weight == weight)
        };
        oldest(Weight::Notification).or_else(|| oldest(Weight::Question))
    }

    /// Returns the first event after this number that is still kept.
    pub(crate) fn after(&self, number: u64) -> Option<&Entry> {
        self.events.get(self.place_after(number))
    }

    /// Whether so many events after this number are unread that one more could push an unread one out.
    pub(crate) fn is_crowded_after(&self, number: u64) -> bool {
        let unread = self.events.range(self.place_after(number)..);
        let (mut count, mut bytes) = (0, 0);
        for entry in unread {
            count += 1;
            bytes += entry.said.len();
            if count >= MOST_EVENTS / 2 || bytes >= MOST_BYTES / 2 {
                return true;
            }
        }
        false
    }

    /// Returns the number of the newest event; 0 before the first.
    pub(crate) const fn last(&self) -> u64 {
        self.last
    }

    pub(crate) const fn bytes(&self) -> usize {
        self.bytes
    }

    fn place_after(&self, number: u64) -> usize {
        self.events.partition_point(|entry| entry.number <= number)
    }
}

const MOST_EVENTS: usize = 1000;
const MOST_BYTES: usize = 4 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_found_behind_the_number_that_was_seen_last() {
        let mut log = Log::default();
        for text in ["a", "b", "c"] {
            log.push(said(text), Weight::Notification);
        }

        let after = |number| log.after(number).map(|entry| (entry.number, entry.said.text()));

        assert_eq!(after(0), Some((1, "a".into())));
        assert_eq!(after(2), Some((3, "c".into())));
        assert_eq!((after(3), log.last()), (None, 3));
    }

    #[test]
    fn the_oldest_notifications_go_first_and_what_is_awaited_last() {
        let mut log = Log::default();
        log.push(said("q"), Weight::Question);

        for _ in 0..MOST_EVENTS + 4 {
            log.push(said("n"), Weight::Notification);
        }

        assert_eq!(log.events.len(), MOST_EVENTS);
        assert_eq!(log.after(0).unwrap().said.text(), "q");
        assert_eq!(log.after(1).unwrap().number, 7);
    }

    #[test]
    fn an_answer_stays_whatever_comes_behind_it() {
        let mut log = Log::default();
        log.push(said("a"), Weight::Answer);
        log.push(said("q"), Weight::Question);

        for _ in 0..MOST_EVENTS + 4 {
            log.push(said("a"), Weight::Answer);
        }

        assert_eq!(log.after(0).unwrap().number, 1);
        assert_eq!(log.after(1).unwrap().number, 3, "the question went");
        assert_eq!(log.events.len(), MOST_EVENTS + 5);
    }

    #[test]
    fn bytes_are_bounded_and_the_newest_stays_however_big() {
        let mut log = Log::default();
        for _ in 0..3 {
            log.push(Bytes::from(vec![b'x'; MOST_BYTES / 2]).into(), Weight::Notification);
        }
        assert_eq!((log.events.len(), log.bytes()), (2, MOST_BYTES));

        log.push(Bytes::from(vec![b'x'; 2 * MOST_BYTES]).into(), Weight::Notification);

        assert_eq!((log.after(0).unwrap().number, log.bytes()), (4, 2 * MOST_BYTES));
    }

    #[test]
    fn a_reader_who_lags_is_seen_before_anything_is_lost_to_it() {
        let mut log = Log::default();
        let mut pushed = 0;
        while !log.is_crowded_after(0) {
            log.push(said("n"), Weight::Notification);
            pushed += 1;
        }

        assert_eq!((pushed, log.after(0).unwrap().number), (MOST_EVENTS / 2, 1));
        assert!(!log.is_crowded_after(1));
    }

    fn said(text: &'static str) -> Said {
        Bytes::from(text).into()
    }
}
