//! One open stream: the session that it is, and all that wait for its messages.
//!
//! A task reads it until it ends, breaks a rule or is closed; then all that wait are told. It is never opened
//! again: that is another stream, and another session.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use ridethrough_core::{Cause, Failure};
use ridethrough_wire::sse::{Decoder, Item, SseEvent};
use tokio::sync::{Semaphore, mpsc};
use tokio::task::AbortHandle;
use tokio::time::Instant;

use crate::size::too_large;
use crate::switchboard::{Awaited, Deliveries, Floods, Switchboard};
use crate::transport::Body;

/// An open stream. Dropping it closes it.
pub(super) struct Stream {
    pub(super) number: u64,
    /// The path and query to post to. Servers put the session's name there, so it is never shown.
    pub(super) post_to: Arc<str>,
    pub(super) message_limit: usize,
    /// Lets one large answer at a time be read from the body of a POST.
    pub(super) large: Semaphore,
    board: Arc<Switchboard>,
    /// Whether a listener has ever been attached.
    is_heard: AtomicBool,
    reader: AbortHandle,
}

impl Stream {
    /// Reads a stream from now on, of which `endpoint` was the first event.
    pub(super) fn open(
        number: u64,
        post_to: Arc<str>,
        endpoint: &SseEvent,
        bytes: EventBytes,
        message_limit: usize,
    ) -> Arc<Self> {
        let board = Switchboard::new(message_limit);
        let reader = StreamReader {
            bytes,
            endpoint: Bytes::copy_from_slice(&endpoint.data),
            board: board.clone(),
            beaten: Instant::now(),
        };
        let reader = tokio::spawn(reader.run()).abort_handle();
        let (large, is_heard) = (Semaphore::new(1), AtomicBool::new(false));
        Arc::new(Self { number, post_to, message_limit, large, board, is_heard, reader })
    }

    pub(super) fn is_open(&self) -> bool {
        self.board.failure().is_none()
    }

    pub(super) fn await_answer(&self, id: u64) -> Result<Awaited, Failure> {
        self.board.await_answer(id)
    }

    /// Takes the body of a POST as the answer to this request, if it is that and no answer came before it.
    pub(super) async fn take_answer(&self, id: u64, body: Bytes) {
        if super::answers(&body, id) {
            self.board.answer(id, body).await;
        }
    }

    /// Ends the wait for the answer to this request with a failure.
    pub(super) fn fail(&self, id: u64, failure: &Failure) {
        self.board.fail(id, failure);
    }

    /// Returns all messages that no call waits for; `None` if the stream is over. The first listener still
    /// gets a stream that ends at once: to the machine, a session that refuses the first GET has no standing
    /// stream.
    pub(super) fn listen(&self) -> Option<Deliveries> {
        let is_first = !self.is_heard.swap(true, Ordering::Relaxed);
        match self.board.listen() {
            Ok(deliveries) => Some(deliveries),
            Err(failure) => is_first.then(|| broken(failure)),
        }
    }

    /// Closes the stream, the only way to end a session in this revision.
    pub(super) fn close(&self) {
        self.board.close(&over());
        self.reader.abort();
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        self.reader.abort();
    }
}

/// The bytes of a stream, and their decoder.
pub(super) struct EventBytes {
    pub(super) body: Box<dyn Body>,
    pub(super) decoder: Decoder,
}

impl EventBytes {
    /// Returns the first event with data; `None` if the stream ends without one.
    pub(super) async fn first_event(&mut self) -> Result<Option<SseEvent>, Failure> {
        loop {
            while let Some(item) = self.decoder.next_item() {
                match item.map_err(|it| too_large("an event", it.limit))? {
                    Item::Event(event) if !event.data.is_empty() => return Ok(Some(event)),
                    Item::Comment | Item::Event(_) => {}
                }
            }
            match self.body.chunk().await {
                Some(chunk) => self.decoder.feed(chunk?),
                None => return Ok(None),
            }
        }
    }
}

/// The task that reads a stream.
struct StreamReader {
    bytes: EventBytes,
    endpoint: Bytes,
    board: Arc<Switchboard>,
    /// When the waiting calls last got a sign of life.
    beaten: Instant,
}

impl StreamReader {
    async fn run(mut self) {
        let failure = match self.read().await {
            Ok(()) => over(),
            Err(failure) => failure,
        };
        self.board.close(&failure);
    }

    /// Reads to the end.
    async fn read(&mut self) -> Result<(), Failure> {
        loop {
            while let Some(item) = self.bytes.decoder.next_item() {
                if let Item::Event(event) = item.map_err(|it| too_large("an event", it.limit))? {
                    self.take_in(event).await?;
                }
            }
            match self.bytes.body.chunk().await {
                Some(chunk) => self.bytes.decoder.feed(chunk?),
                None => return Ok(()),
            }
            if self.beaten.elapsed() >= BEAT {
                self.beaten = Instant::now();
                self.board.beat();
            }
        }
    }

    async fn take_in(&mut self, event: SseEvent) -> Result<(), Failure> {
        if is_endpoint(&event) {
            // The address is named once: another one later means that the server has lost the session.
            return if event.data == self.endpoint {
                Ok(())
            } else {
                Err(Failure::unknown(Cause::Closed).with_detail(MOVED))
            };
        }
        if !event.is_message() || event.data.is_empty() {
            return Ok(());
        }
        let routed = self.board.route(event.data).await;
        routed.map_err(|Floods| Failure::unknown(Cause::Flooded).with_detail(FLOODS))
    }
}

/// Returns a stream of messages that brings only its end.
fn broken(failure: Failure) -> Deliveries {
    let (recipient, deliveries) = mpsc::unbounded_channel();
    // The other end is held right here.
    let _ = recipient.send(Err(failure));
    deliveries
}

pub(super) fn is_endpoint(event: &SseEvent) -> bool {
    event.kind.as_deref() == Some("endpoint")
}

/// Returns the failure for a stream that has ended.
pub(super) fn over() -> Failure {
    Failure::unknown(Cause::Closed).with_detail(OVER)
}

/// How often waiting calls get a sign of life: they ask after 30 s of silence (row 19).
const BEAT: Duration = Duration::from_secs(10);
const FLOODS: &str = "the server asked too many questions before anybody listened";
const MOVED: &str = "the server named another address for messages in the middle of its stream";
const OVER: &str = "the stream that brings all answers ended";
