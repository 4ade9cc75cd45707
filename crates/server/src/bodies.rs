//! Reads the bodies of requests, and bounds the memory for them.
//!
//! ```text
//!   small ──▶ counts for its connection ──which holds too much──┐
//!   more than 64 KiB ───────────────────────────────────────────┴─▶ waits for room that all share
//! ```

use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::HeaderMap;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use hyper::body::{Body, Incoming};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use crate::connections::{Connection, ConnectionRoom};

/// The room for bodies.
#[derive(Debug)]
pub(crate) struct Bodies {
    /// Room that all connections share, in KiB.
    shared: Arc<Semaphore>,
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
        Self { shared: Arc::new(Semaphore::new(MOST_BODIES >> 10)) }
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
            if error.is::<LengthLimitError>() { NoBody::TooLarge } else { NoBody::Cut }
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
        let mut body = Limited::new(body, MOST_BODY);
        let (mut bytes, mut room) = (BytesMut::new(), BodyRoom::default());
        while let Some(frame) = body.frame().await {
            let Ok(data) = frame?.into_data() else { continue };
            let is_small = bytes.len() + data.len() <= SMALL;
            let has_room = room.is_shared() || is_small && room.grow(connection, data.len());
            if !has_room {
                let kibibytes = u32::try_from(size.div_ceil(1024)).unwrap_or(u32::MAX);
                room.shared = self.shared.clone().acquire_many_owned(kibibytes).await.ok();
                room.own = None;
                bytes.reserve(size.saturating_sub(bytes.len()));
            }
            bytes.extend_from_slice(&data);
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

const MOST_BODY: usize = 16 << 20;
/// The bound on all large bodies together, until their backends have them; a further one waits.
const MOST_BODIES: usize = 64 << 20;
const SMALL: usize = 64 * 1024;
const LONGEST: Duration = Duration::from_secs(60);
