//! Lines as the body of an answer: each is the data of one event.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::{BufMut, Bytes, BytesMut};
use ridethrough_core::Failure;
use tokio::time::{Instant, Sleep};

use super::switchboard::{Awaited, Deliveries, Parcel};
use crate::transport::Body;

/// The stream of one call, or the standing one.
pub(super) struct LineBody {
    source: Source,
    /// What was taken from the source to see whether there is any.
    first: Option<Parcel>,
    heartbeat: Pin<Box<Sleep>>,
}

/// Where the lines come from.
pub(super) enum Source {
    Call(Awaited),
    Standing(Deliveries),
}

impl Source {
    const fn deliveries(&mut self) -> &mut Deliveries {
        match self {
            Self::Call(awaited) => &mut awaited.deliveries,
            Self::Standing(deliveries) => deliveries,
        }
    }
}

impl LineBody {
    pub(super) fn new(source: Source, first: Option<Parcel>) -> Self {
        Self { source, first, heartbeat: Box::pin(tokio::time::sleep(HEARTBEAT)) }
    }
}

impl Body for LineBody {
    fn poll_chunk(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Bytes, Failure>>> {
        let next = match self.first.take() {
            Some(first) => Poll::Ready(Some(Ok(first))),
            None => self.source.deliveries().poll_recv(context),
        };
        if let Poll::Ready(next) = next {
            self.heartbeat.as_mut().reset(Instant::now() + HEARTBEAT);
            return Poll::Ready(next.map(|it| it.map(|parcel| event(&parcel.line))));
        }
        match self.heartbeat.as_mut().poll(context) {
            Poll::Pending => Poll::Pending,
            Poll::Ready(()) => {
                self.heartbeat.as_mut().reset(Instant::now() + HEARTBEAT);
                Poll::Ready(Some(Ok(Bytes::from_static(b":\n\n"))))
            }
        }
    }
}

fn event(line: &[u8]) -> Bytes {
    let mut event = BytesMut::with_capacity(FRAME.len() + line.len() + 2);
    event.put_slice(FRAME);
    event.put_slice(line);
    event.put_slice(b"\n\n");
    event.freeze()
}

/// What stands before a line in its event; it counts against the limit of a message.
pub(super) const FRAME: &[u8] = b"data: ";

/// A comment so often says that the server lives. Over a network a silent call has to ask (row 19); the
/// end of a process is known without asking, and one that is busy must not be taken for dead because it
/// reads no ping meanwhile.
const HEARTBEAT: Duration = Duration::from_secs(20);
