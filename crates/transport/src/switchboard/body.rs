//! Lines as the body of an answer: each is the data of one event.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::{BufMut, Bytes, BytesMut};
use ridethrough_core::Failure;
use tokio::time::{Instant, Sleep};

use super::{Awaited, Deliveries, Parcel};
use crate::transport::Body;

/// The stream of one call, or the standing stream.
pub(crate) struct LineBody {
    source: LineSource,
    /// A line that was taken from the source early, to see whether there is one.
    first: Option<Parcel>,
    heartbeat: Option<Heartbeat>,
}

/// The timer of a comment that shows that the server is alive, for a server whose end would be known.
struct Heartbeat {
    pause: Duration,
    due: Pin<Box<Sleep>>,
}

/// Where the lines come from.
pub(crate) enum LineSource {
    Call(Awaited),
    Standing(Deliveries),
}

impl LineSource {
    const fn deliveries(&mut self) -> &mut Deliveries {
        match self {
            Self::Call(awaited) => &mut awaited.deliveries,
            Self::Standing(deliveries) => deliveries,
        }
    }
}

impl LineBody {
    pub(crate) const fn new(source: LineSource, first: Option<Parcel>) -> Self {
        Self { source, first, heartbeat: None }
    }

    /// Adds a comment after each pause without a line.
    pub(crate) fn with_heartbeat(self, pause: Duration) -> Self {
        let due = Box::pin(tokio::time::sleep(pause));
        Self { heartbeat: Some(Heartbeat { pause, due }), ..self }
    }
}

impl Body for LineBody {
    fn poll_chunk(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Bytes, Failure>>> {
        let next = match self.first.take() {
            Some(first) => Poll::Ready(Some(Ok(first))),
            None => self.source.deliveries().poll_recv(context),
        };
        if let Poll::Ready(next) = next {
            self.heartbeat.iter_mut().for_each(Heartbeat::rest);
            return Poll::Ready(next.map(|it| it.map(|parcel| event(&parcel.line))));
        }
        let Some(heartbeat) = &mut self.heartbeat else { return Poll::Pending };
        match heartbeat.due.as_mut().poll(context) {
            Poll::Pending => Poll::Pending,
            Poll::Ready(()) => {
                heartbeat.rest();
                Poll::Ready(Some(Ok(comment())))
            }
        }
    }
}

impl Heartbeat {
    fn rest(&mut self) {
        self.due.as_mut().reset(Instant::now() + self.pause);
    }
}

/// Returns a line as an event, and a sign of life as a comment.
fn event(line: &[u8]) -> Bytes {
    if line.is_empty() {
        return comment();
    }
    let mut event = BytesMut::with_capacity(FRAME.len() + line.len() + 2);
    let mut frame = FRAME;
    for line in line.split(|byte| *byte == b'\n') {
        event.put_slice(if line.starts_with(b" ") { FRAME } else { frame });
        event.put_slice(line);
        frame = TIGHT_FRAME;
        event.put_slice(b"\n");
    }
    event.put_slice(b"\n");
    event.freeze()
}

/// The text before a line in its event; it counts against the message limit.
pub(crate) const FRAME: &[u8] = b"data: ";

/// The text before a later line of an event's data. With it, no line takes more bytes than it had when it
/// came.
const TIGHT_FRAME: &[u8] = b"data:";

const fn comment() -> Bytes {
    Bytes::from_static(b":\n\n")
}
