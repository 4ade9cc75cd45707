//! The streams of one session, and the stream that each message of the backend goes to.
//!
//! ```text
//!                   ┌─ belongs to a call ──────────────────▶ that call's stream, which ends with the answer
//!   message ────────┼─ the standing stream is read ────────▶ there
//!                   ├─ else: a call's stream is read ──────▶ there, to the newest such call
//!                   └─ else ──────────────────────────────▶ kept for the standing stream
//! ```
//! While the standing stream is not open, messages that belong to no call go to one, so that clients that never open
//! it can answer questions, too.
//!
//! A stream outlives its connection: it collects its messages until it is over, and is then kept for a while.
//! A reader that attaches takes it over from the reader before. This module has no I/O and knows no time.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use bytes::Bytes;
use ridethrough_wire::message::Json;
use tokio::sync::Notify;

use crate::calls::{Call, Calls, NewCalls, NotTaken};
use crate::log::{Entry, Log, Said, Weight};

/// All streams of a session.
pub(crate) struct Streams {
    streams: BTreeMap<u64, Stream>,
    calls: Calls,
    /// The finished streams, the oldest first.
    finished: VecDeque<u64>,
    next: u64,
}

/// The messages that a stream can carry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Carries {
    /// Answers only: the client accepts no event stream.
    Answers,
    Everything,
}

struct Stream {
    log: Log,
    carries: Carries,
    /// How many calls are still to be answered on it.
    unanswered: usize,
    is_over: bool,
    /// The reader, by which it is woken.
    reader: Option<Ticket>,
    /// The number of the last event that was given to a reader.
    taken: u64,
}

/// The identity of a reader, compared by pointer.
pub(crate) type Ticket = Arc<Notify>;

/// The next step of a reader.
pub(crate) enum Next {
    Event(Entry),
    Over,
    Wait,
}

impl Streams {
    pub(crate) fn new() -> Self {
        let streams = BTreeMap::from([(STANDING, Stream::new(Carries::Everything, 0))]);
        Self { streams, calls: Calls::default(), finished: VecDeque::new(), next: 1 }
    }

    /// Opens a stream for these calls. Returns its number.
    pub(crate) fn open(&mut self, asked: NewCalls, carries: Carries) -> Result<u64, NotTaken> {
        let stream = self.next;
        let unanswered = asked.len();
        self.calls.add(asked, stream)?;
        self.next += 1;
        self.streams.insert(stream, Stream::new(carries, unanswered));
        Ok(stream)
    }

    /// Returns the numbers of the open calls of a stream, the oldest first.
    pub(crate) fn calls_of(&self, stream: u64) -> Vec<u64> {
        let calls = self.calls.all().iter().filter(|call| call.stream == stream);
        calls.map(|call| call.number).collect()
    }

    /// Returns the stream that a message goes to; `None` if no client can use it. `call` is the call that the message
    /// belongs to.
    pub(crate) fn target(&self, call: Option<u64>, weight: Weight) -> Option<u64> {
        match (call.and_then(|call| self.calls.get(call)), weight) {
            (Some(call), Weight::Answer) => Some(call.stream),
            (None, Weight::Answer) => None,
            (Some(call), _) => self.carries_everything(call.stream).then_some(call.stream),
            (None, _) => Some(self.elsewhere()),
        }
    }

    /// Puts a message into its stream. Returns the stream, if there is one.
    pub(crate) fn push(&mut self, call: Option<u64>, said: Said, weight: Weight) -> Option<u64> {
        let target = self.target(call, weight)?;
        self.write(target, said, weight);
        if weight == Weight::Answer {
            call.and_then(|call| self.calls.remove(call))?;
            self.settle(target);
        }
        Some(target)
    }

    /// Returns the only call whose stream is read and carries more than its answer; `None` if there are several.
    pub(crate) fn only_read_call(&self) -> Option<u64> {
        let is_read = |stream: &Stream| stream.reader.is_some();
        let mut read = self.calls.all().iter().filter(|call| {
            self.carries_everything(call.stream)
                && self.streams.get(&call.stream).is_some_and(is_read)
        });
        let only = read.next().filter(|_| read.next().is_none())?;
        Some(only.number)
    }

    /// Returns the open call of this number.
    pub(crate) fn call(&self, number: u64) -> Option<&Call> {
        self.calls.get(number)
    }

    /// Removes the call that the client means by this id: its answer is not waited for. Returns its number.
    pub(crate) fn cancel(&mut self, id: &Json) -> Option<u64> {
        let call = self.calls.cancel(id)?;
        self.settle(call.stream);
        Some(call.number)
    }

    /// Answers a call in place of the backend, if it is open.
    pub(crate) fn fail(&mut self, number: u64, error: impl Fn(&Call) -> Said) {
        if let Some(said) = self.calls.get(number).map(error) {
            self.push(Some(number), said, Weight::Answer);
        }
    }

    /// Drops something that no connection reads, to make room: the oldest finished stream, or else
    /// notifications. Returns whether there was anything.
    pub(crate) fn forget_something(&mut self) -> bool {
        let unread = |number: &u64| self.streams.get(number).is_none_or(|it| it.reader.is_none());
        if let Some(at) = self.finished.iter().position(unread) {
            let gone = self.finished.remove(at).and_then(|number| self.streams.remove(&number));
            return gone.is_some_and(|stream| stream.log.bytes() > 0) || self.forget_something();
        }
        let mut unread = self.streams.values_mut().filter(|stream| stream.reader.is_none());
        unread.any(|stream| stream.log.forget_notifications())
    }

    /// Whether a stream has a reader that has not taken all of it.
    pub(crate) fn is_awaited(&self) -> bool {
        self.unread().next().is_some()
    }

    /// Returns the streams whose readers have not taken all, each with the last event that was taken.
    pub(crate) fn unread(&self) -> impl Iterator<Item = (u64, u64)> {
        let unread = self.streams.iter().filter(|(_, stream)| {
            stream.reader.is_some() && stream.log.after(stream.taken).is_some()
        });
        unread.map(|(number, stream)| (*number, stream.taken))
    }

    /// Takes the streams away from readers that have taken nothing since they were seen at these places.
    /// Returns whether there was any.
    pub(crate) fn cut_unmoved(&mut self, places: &[(u64, u64)]) -> bool {
        let unmoved: Vec<_> = self.unread().filter(|place| places.contains(place)).collect();
        unmoved.iter().for_each(|(stream, _)| self.cut(*stream));
        !unmoved.is_empty()
    }

    /// Whether a call is under way.
    pub(crate) const fn is_busy(&self) -> bool {
        !self.calls.is_empty()
    }

    /// Answers every call with the result of `error`, and ends every stream.
    pub(crate) fn end(&mut self, error: impl Fn(&Call) -> Said) {
        let open: Vec<_> = self.calls.all().iter().map(|call| call.number).collect();
        open.into_iter().for_each(|call| self.fail(call, &error));
        self.finish(STANDING);
    }

    /// Attaches a reader to a stream, after this event; without one, after the last event that was read.
    ///
    /// Returns `None` if there is no such stream, if there never was such an event, or if nothing follows it
    /// and nothing will: a client that got an empty stream would resume it for ever.
    pub(crate) fn attach(&mut self, stream: u64, after: Option<u64>) -> Option<(Ticket, u64)> {
        let stream = self.streams.get_mut(&stream)?;
        let cursor = after.unwrap_or(stream.taken);
        let is_read_out = stream.is_over && stream.log.after(cursor).is_none();
        let cannot_be_resumed = stream.carries == Carries::Answers || is_read_out;
        if cursor > stream.log.last() || after.is_some() && cannot_be_resumed {
            return None;
        }
        stream.cut();
        stream.taken = cursor;
        let ticket = Ticket::default();
        stream.reader = Some(ticket.clone());
        Some((ticket, cursor))
    }

    /// Returns what the reader gets after this event.
    pub(crate) fn next(&mut self, stream: u64, ticket: &Ticket, cursor: u64) -> Next {
        let Some(stream) = self.streams.get_mut(&stream) else { return Next::Over };
        if !stream.is_read_by(ticket) {
            return Next::Over;
        }
        match stream.log.after(cursor) {
            Some(entry) => {
                stream.taken = entry.number;
                Next::Event(entry.clone())
            }
            None if stream.is_over => Next::Over,
            None => Next::Wait,
        }
    }

    /// Takes the answer of a stream that has nothing else and will have nothing else, and forgets the stream.
    /// Nothing is lost by that, if the reader was given no event of it by which it could be resumed.
    pub(crate) fn take_alone(&mut self, number: u64, ticket: &Ticket) -> Option<Bytes> {
        let stream = self.streams.get(&number)?;
        let answer = stream.log.after(0).filter(|it| it.said.len() <= LARGEST_ALONE)?;
        let is_whole = stream.is_over && stream.is_read_by(ticket);
        if !is_whole || answer.weight != Weight::Answer {
            return None;
        }
        let text = answer.said.text();
        self.finished.retain(|it| *it != number);
        self.streams.remove(&number);
        Some(text)
    }

    /// Detaches the reader, if it still has the stream.
    pub(crate) fn detach(&mut self, stream: u64, ticket: &Ticket) {
        if let Some(stream) = self.streams.get_mut(&stream)
            && stream.is_read_by(ticket)
        {
            stream.reader = None;
        }
    }

    /// Returns the last event that the reader of this stream took, if it lags so far behind that it would
    /// lose one.
    pub(crate) fn lags_at(&self, stream: u64) -> Option<u64> {
        let stream = self.streams.get(&stream)?;
        let lags = stream.reader.is_some() && stream.log.is_crowded_after(stream.taken);
        lags.then_some(stream.taken)
    }

    /// Takes a stream away from its reader, which can resume it.
    pub(crate) fn cut(&mut self, stream: u64) {
        if let Some(stream) = self.streams.get_mut(&stream) {
            stream.cut();
        }
    }

    fn elsewhere(&self) -> u64 {
        let is_read = |stream: &u64| self.streams.get(stream).is_some_and(|it| it.reader.is_some());
        if is_read(&STANDING) {
            return STANDING;
        }
        self.calls
            .streams()
            .filter(|stream| self.carries_everything(*stream))
            .find(is_read)
            .unwrap_or(STANDING)
    }

    fn carries_everything(&self, stream: u64) -> bool {
        self.streams.get(&stream).is_some_and(|it| it.carries == Carries::Everything)
    }

    fn write(&mut self, stream: u64, said: Said, weight: Weight) {
        if let Some(stream) = self.streams.get_mut(&stream) {
            stream.log.push(said, weight);
            stream.wake();
        }
    }

    /// Counts one call of this stream as answered or cancelled.
    fn settle(&mut self, number: u64) {
        let Some(stream) = self.streams.get_mut(&number) else { return };
        stream.unanswered = stream.unanswered.saturating_sub(1);
        if stream.unanswered == 0 {
            self.finish(number);
        }
    }

    fn finish(&mut self, number: u64) {
        if let Some(stream) = self.streams.get_mut(&number) {
            stream.is_over = true;
            stream.wake();
        }
        self.finished.push_back(number);
        self.forget_old_ones();
    }

    /// Drops the oldest finished streams beyond the limits. The newest always stays.
    fn forget_old_ones(&mut self) {
        let bytes_of = |number: &u64| self.streams.get(number).map_or(0, |it| it.log.bytes());
        let mut bytes: usize = self.finished.iter().map(bytes_of).sum();
        while self.finished.len() > 1
            && (self.finished.len() > MOST_FINISHED || bytes > MOST_FINISHED_BYTES)
        {
            // A stream that is still being read is dropped later.
            let is_unread = |number: &u64| {
                self.streams.get(number).is_none_or(|stream| stream.reader.is_none())
            };
            let older = self.finished.iter().take(self.finished.len() - 1);
            let Some(at) = older.clone().position(is_unread) else { return };
            if let Some(gone) = self.finished.remove(at).and_then(|it| self.streams.remove(&it)) {
                bytes -= gone.log.bytes();
            }
        }
    }
}

impl Stream {
    fn new(carries: Carries, unanswered: usize) -> Self {
        let log = Log::default();
        Self { log, carries, unanswered, is_over: false, reader: None, taken: 0 }
    }

    fn is_read_by(&self, ticket: &Ticket) -> bool {
        self.reader.as_ref().is_some_and(|reader| Arc::ptr_eq(reader, ticket))
    }

    fn wake(&self) {
        if let Some(reader) = &self.reader {
            reader.notify_one();
        }
    }

    fn cut(&mut self) {
        if let Some(reader) = self.reader.take() {
            reader.notify_one();
        }
    }
}

/// The number of the standing stream, which a GET opens.
pub(crate) const STANDING: u64 = 0;
/// The number of the first stream: a session begins with `initialize`.
pub(crate) const GREETING: u64 = 1;
/// How many streams are kept after their end, for clients whose connection broke just then.
const MOST_FINISHED: usize = 64;
const MOST_FINISHED_BYTES: usize = 16 << 20;
/// The size of an answer that may be sent without a stream. A connection that breaks within a larger one is
/// worth resuming.
const LARGEST_ALONE: usize = 64 << 10;

#[cfg(test)]
mod tests;
