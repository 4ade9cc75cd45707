//! Reads the bodies of requests, and bounds the memory for them.
//!
//! ```text
//!   up to 64 KiB ──▶ counts for its connection ──which holds too much──┐
//!   up to 1 MiB ───────────────────────────────────────────────────────┴─▶ waits for room that all large ones share
//!   more, or it does not say ────────────────────────────────────────────▶ waits for room that all huge ones share
//! ```

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::HeaderMap;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use hyper::body::{Body, Incoming};
use ridethrough_core::Moment;
use ridethrough_core::byte_rate::ByteRate;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::error::Elapsed;
use tokio::time::{Instant, sleep, timeout, timeout_at};

use crate::aside::places;
use crate::body_size::BodySize;
use crate::connections::{Connection, ConnectionRoom};

/// The room for bodies.
#[derive(Debug)]
pub(crate) struct Bodies {
    large: SharedRoom,
    huge: SharedRoom,
}

/// Room that all connections share.
#[derive(Debug)]
struct SharedRoom {
    /// In KiB.
    free: Arc<Semaphore>,
    rate: ReadRate,
}

/// The room that a body takes, until it is dropped.
#[derive(Debug, Default)]
pub(crate) struct BodyRoom {
    own: Option<ConnectionRoom>,
    shared: Option<OwnedSemaphorePermit>,
}

/// Why there is no body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoBody {
    Cut,
    Late,
    TooLarge,
}

impl Default for Bodies {
    fn default() -> Self {
        Self { large: SharedRoom::new(MOST_LARGE), huge: SharedRoom::new(MOST_HUGE) }
    }
}

impl SharedRoom {
    fn new(bytes: usize) -> Self {
        let rate = ReadRate::new(ByteRate::new(places() * BYTES_PER_SECOND, MOST_BODY));
        Self { free: Arc::new(Semaphore::new(bytes >> 10)), rate }
    }

    /// Waits until there is so much room, and takes it. `None` never comes, as nobody closes it.
    async fn take(&self, bytes: usize) -> Option<OwnedSemaphorePermit> {
        let kibibytes = u32::try_from(bytes.div_ceil(1024)).unwrap_or(u32::MAX);
        self.free.clone().acquire_many_owned(kibibytes).await.ok()
    }
}

impl Bodies {
    /// Reads a body that came on this connection to its end.
    pub(crate) async fn read(
        &self,
        body: Incoming,
        connection: &Arc<Connection>,
    ) -> Result<(Bytes, BodyRoom), NoBody> {
        if body.size_hint().lower() > MOST_BODY as u64 {
            return Err(NoBody::TooLarge);
        }
        let read = timeout(LONGEST, self.collect(body, connection)).await;
        read.map_err(|_| NoBody::Late)?.map_err(|error| {
            if error.is::<LengthLimitError>() {
                NoBody::TooLarge
            } else if error.is::<Elapsed>() {
                NoBody::Late
            } else {
                NoBody::Cut
            }
        })
    }

    /// Reads a body, and takes room for it as it arrives. What a large one declares is taken when it has begun
    /// to be large.
    async fn collect(
        &self,
        body: Incoming,
        connection: &Arc<Connection>,
    ) -> Result<(Bytes, BodyRoom), BodyError> {
        let size = body.size_hint().exact().and_then(|size| usize::try_from(size).ok());
        let size = size.unwrap_or(MOST_BODY);
        let shared = if BodySize::of(size) == BodySize::Huge { &self.huge } else { &self.large };
        let mut body = Limited::new(body, MOST_BODY);
        let (mut bytes, mut room) = (BytesMut::new(), BodyRoom::default());
        // Whoever takes room that others wait for must send.
        let mut progress = (Instant::now(), 0);
        loop {
            let frame = if room.is_shared() {
                timeout_at(progress.0 + STALL, body.frame()).await?
            } else {
                body.frame().await
            };
            let Some(frame) = frame else { break };
            let Ok(data) = frame?.into_data() else { continue };
            let is_small = BodySize::of(bytes.len() + data.len()) == BodySize::Small;
            let has_room = room.is_shared() || is_small && room.grow(connection, data.len());
            if !has_room {
                room.shared = shared.take(size).await;
                room.own = None;
                bytes.reserve(size.saturating_sub(bytes.len()));
            }
            bytes.extend_from_slice(&data);
            if room.is_shared() {
                shared.rate.keep(data.len()).await;
                if bytes.len() >= progress.1 + STEP || !has_room {
                    progress = (Instant::now(), bytes.len());
                }
            }
        }
        Ok((bytes.freeze(), room))
    }
}

impl BodyRoom {
    /// Whether it takes room that bodies of other connections may need.
    pub(crate) const fn is_shared(&self) -> bool {
        self.shared.is_some()
    }

    /// Takes more room of the connection. Returns whether there was enough.
    fn grow(&mut self, connection: &Arc<Connection>, bytes: usize) -> bool {
        match &mut self.own {
            Some(own) => own.grow(bytes),
            None => {
                self.own = connection.hold(bytes);
                self.own.is_some()
            }
        }
    }
}

/// What the head of a request takes in memory, about.
pub(crate) fn size_of(head: &HeaderMap) -> usize {
    head.iter().map(|(name, value)| name.as_str().len() + value.len() + 32).sum()
}

type BodyError = Box<dyn std::error::Error + Send + Sync>;

/// The rate of all bodies of one size together. A client that sends bodies which are refused in the end would
/// otherwise take the cores from small requests, as fast as it can send.
#[derive(Debug)]
struct ReadRate {
    rate: Mutex<ByteRate>,
    start: Instant,
}

impl ReadRate {
    fn new(rate: ByteRate) -> Self {
        Self { rate: Mutex::new(rate), start: Instant::now() }
    }

    /// Records bytes that were read, and waits until more should be.
    async fn keep(&self, bytes: usize) {
        let now = Moment::at(self.start.elapsed());
        let wait = self.rate.lock().unwrap_or_else(PoisonError::into_inner).count(now, bytes);
        if !wait.is_zero() {
            sleep(wait).await;
        }
    }
}

const MOST_BODY: usize = 16 << 20;
/// The bounds on all large and on all huge bodies together, until their backends have them; a further one waits.
const MOST_LARGE: usize = 16 << 20;
const MOST_HUGE: usize = 48 << 20;
/// How fast bodies of one size are read, for each thread that parses them. One of five million elements takes twice
/// as long to parse as to read at this rate.
const BYTES_PER_SECOND: usize = 256 << 20;
const LONGEST: Duration = Duration::from_secs(60);
/// A body that has shared room must bring so much more in this time.
const STEP: usize = 64 << 10;
const STALL: Duration = Duration::from_secs(5);
