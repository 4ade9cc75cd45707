//! A reader of a stream: one connection, and the events as they are written to it. A session hands one out with each
//! stream that it opens.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::time::{sleep, timeout};

use crate::log::Entry;
use crate::posted::Posted;
use crate::session::{Session, Undelivered, Visit};
use crate::streams::{Carries, Next, STANDING, Ticket};

/// Reads one stream of a session. When it is dropped, another connection can read the stream.
pub(crate) struct Reader {
    session: Arc<Session>,
    /// The visit that keeps the session in use; the server's own readers have none.
    visit: Option<Visit>,
    stream: u64,
    ticket: Ticket,
    /// The number of the last event that was read.
    cursor: u64,
    /// Whether to begin with an event without data.
    primes: bool,
    /// Whether the stream ends here, even if more events come.
    is_leaving: bool,
    /// Whether it was opened while the server was being drained, and so by a client that came again.
    is_late: bool,
}

/// One piece of a stream, as it is written.
pub(crate) enum Piece {
    Event(Entry),
    /// The end of the stream because the server ends; a client that comes again finds another server.
    Farewell,
    /// A comment, which keeps the connection alive.
    Nothing,
    /// An event with an id and without data, so that the stream can be resumed from its beginning.
    Priming,
}

impl Session {
    /// Sends a request, or the requests of a batch with the other messages in it, and opens the stream for
    /// the answers. Nothing is sent and no stream is opened if the future is dropped.
    pub(crate) async fn ask(
        self: &Arc<Self>,
        posted: Posted,
        carries: Carries,
    ) -> Result<Reader, Undelivered> {
        let place = self.place(&posted).await?;
        let Posted { parts, mut asked, client, .. } = posted;
        let held = asked.note_repeats(&parts, &self.repeats, &self.origin(client));
        let (stream, calls) = {
            let mut state = self.lock();
            if state.over.is_some() {
                return Err(Undelivered::Over);
            }
            let stream = state.streams.open(asked, carries).map_err(Undelivered::NotTaken)?;
            (stream, state.streams.calls_of(stream))
        };
        let reader = self.attach(stream, None).ok_or(Undelivered::Over)?;
        let letter = self.letter(parts, calls, &held);
        if !letter.is_empty() {
            place.send(letter);
        }
        Ok(reader)
    }

    /// Attaches a reader to a stream, which keeps the session in use.
    pub(crate) fn attach(self: &Arc<Self>, stream: u64, after: Option<u64>) -> Option<Reader> {
        let visit = self.visit();
        let mut state = self.lock();
        let (ticket, cursor) = state.streams.attach(stream, after)?;
        let primes = state.version.as_deref().is_some_and(|version| version >= PRIMING_SINCE);
        drop(state);
        Some(Reader::new(visit, stream, ticket, cursor, primes))
    }

    /// Attaches a reader of the server's own to the standing stream. It does not keep the session in use.
    pub(crate) fn attach_quietly(self: &Arc<Self>) -> Option<Reader> {
        let (ticket, cursor) = self.lock().streams.attach(STANDING, None)?;
        Some(Reader::quiet(self.clone(), STANDING, ticket, cursor))
    }
}

impl Reader {
    pub(crate) fn new(
        visit: Visit,
        stream: u64,
        ticket: Ticket,
        cursor: u64,
        primes: bool,
    ) -> Self {
        let session = visit.0.clone();
        let is_late = session.drain.has_begun();
        let visit = Some(visit);
        Self { session, visit, stream, ticket, cursor, primes, is_leaving: false, is_late }
    }

    /// Creates a reader that does not keep its session in use.
    pub(crate) const fn quiet(
        session: Arc<Session>,
        stream: u64,
        ticket: Ticket,
        cursor: u64,
    ) -> Self {
        let (visit, primes, is_leaving, is_late) = (None, false, false, false);
        Self { session, visit, stream, ticket, cursor, primes, is_leaving, is_late }
    }

    /// Releases the stream, which goes on collecting.
    pub(crate) fn pause(&self) {
        self.session.lock().streams.detach(self.stream, &self.ticket);
        // Wakes the task that waits for this reader.
        self.session.room.notify_one();
    }

    /// Takes the stream up again, after the last event that was read.
    pub(crate) fn resume(&mut self) {
        if let Some((ticket, cursor)) = self.session.lock().streams.attach(self.stream, None) {
            (self.ticket, self.cursor) = (ticket, cursor);
        }
    }

    /// Waits for the next piece; `None` at the end of the stream, or when another reader has taken it over.
    /// Nothing is lost if the future is dropped.
    pub(crate) async fn next(&mut self) -> Option<Piece> {
        if std::mem::take(&mut self.primes) {
            return Some(Piece::Priming);
        }
        loop {
            let session = &self.session;
            let next = session.lock().streams.next(self.stream, &self.ticket, self.cursor);
            match next {
                Next::Event(entry) => {
                    self.cursor = entry.number;
                    session.room.notify_one();
                    return Some(Piece::Event(entry));
                }
                Next::Over => return None,
                Next::Wait => {}
            }
            if self.is_leaving {
                return None;
            }
            tokio::select! {
                biased;
                () = self.ticket.notified() => {}
                () = self.is_sent_away(), if self.stream == STANDING && self.visit.is_some() => {
                    self.is_leaving = true;
                    return Some(Piece::Farewell);
                }
                () = sleep(SILENCE) => return Some(Piece::Nothing),
            }
        }
    }

    /// Waits until the client is to open the stream elsewhere. One that comes back here keeps it for as long as
    /// its session is served.
    async fn is_sent_away(&self) {
        if self.is_late {
            self.session.drain.leaves().await;
        } else {
            self.session.drain.begins().await;
        }
    }

    /// Waits a moment for an answer that comes alone, and takes it. If it takes longer or is large, or if anything
    /// else comes, nothing is taken, and the stream is there to be read.
    pub(crate) async fn answer_alone(&self) -> Option<Bytes> {
        timeout(MOMENT, self.ticket.notified()).await.ok()?;
        self.session.lock().streams.take_alone(self.stream, &self.ticket)
    }

    /// Waits for the text of the next event; `None` at the end of the stream, or when another reader has
    /// taken it over.
    pub(crate) async fn next_event(&mut self) -> Option<Bytes> {
        loop {
            if let Piece::Event(entry) = self.next().await? {
                return Some(entry.said.text());
            }
        }
    }

    /// Returns the piece as it is written on the wire. A large text is not copied: it is in memory once,
    /// however slowly it is read.
    pub(crate) fn write(&self, piece: &Piece) -> Vec<Bytes> {
        let stream = self.stream;
        match piece {
            Piece::Event(Entry { number, said, .. }) => {
                let text = said.text();
                let head = format!("id: {stream}-{number}\ndata: ");
                if text.len() <= SMALL {
                    vec![[head.as_bytes(), &text, b"\n\n"].concat().into()]
                } else {
                    vec![head.into(), text, Bytes::from_static(b"\n\n")]
                }
            }
            Piece::Farewell => {
                vec![format!("retry: {}\n\n", COME_AGAIN.as_millis()).into()]
            }
            Piece::Nothing => vec![Bytes::from_static(b": still here\n\n")],
            Piece::Priming => {
                let retry = RETRY.as_millis();
                vec![format!("id: {stream}-{}\nretry: {retry}\ndata: \n\n", self.cursor).into()]
            }
        }
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        self.pause();
    }
}

/// Returns the stream and the event of an id that `Reader::write` wrote.
pub(crate) fn place_of(event_id: &str) -> Option<(u64, u64)> {
    let (stream, event) = event_id.split_once('-')?;
    let number = |text: &str| text.bytes().all(|it| it.is_ascii_digit()).then(|| text.parse().ok());
    Some((number(stream)??, number(event)??))
}

/// The time without an event after which a comment is sent: it reveals a dead connection, and keeps proxies
/// from closing a quiet one.
const SILENCE: Duration = Duration::from_secs(15);
/// The size below which a copy is cheaper than a write in pieces.
const SMALL: usize = 16 * 1024;
/// The first revision with events that have an id and no data; clients of earlier ones cannot read them.
const PRIMING_SINCE: &str = "2025-11-25";
/// How long an answer is waited for before its stream is opened. A client whose connection breaks within this time
/// cannot resume, because it knows no event; so it is short, and covers what answers from its memory.
const MOMENT: Duration = Duration::from_millis(10);
/// How soon a client is asked to resume after its connection broke.
const RETRY: Duration = Duration::from_millis(500);
/// How soon a client is asked to come again when the server is being replaced.
const COME_AGAIN: Duration = Duration::from_secs(1);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_of_events_are_read_back() {
        assert_eq!(place_of("3-17"), Some((3, 17)));
        for id in ["", "3", "3-", "-17", "3-+1", "x-1", "3-1-1", "99999999999999999999-1"] {
            assert_eq!(place_of(id), None, "{id}");
        }
    }
}
