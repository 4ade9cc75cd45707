//! In-memory byte streams that can be broken in exact ways.
//!
//! A pipe behaves as a TCP connection does on a perfect network: bytes arrive in order and at once, and a
//! closed end is a FIN. Faults come only from its [`Control`]. It uses no clock and no randomness.
//!
//! ```text
//!             reset()
//! Flowing ---------------> Broken    reads and writes fail, unread bytes are lost
//!    |        stall()
//!    +-------------------> Stalled   nothing arrives any more, neither bytes nor FIN nor reset
//! ```

use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::lock::lock;

mod lane;
#[cfg(test)]
mod tests;

use lane::Lane;

/// Creates a connected pair of pipe ends with room for `capacity` unread bytes each way.
///
/// ```
/// use tokio::io::{AsyncReadExt, AsyncWriteExt};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> std::io::Result<()> {
/// let (mut here, mut there) = ridethrough_lab::pipe(1024);
/// here.write_all(b"hello").await?;
/// drop(here);
///
/// let mut heard = String::new();
/// there.read_to_string(&mut heard).await?;
/// assert_eq!(heard, "hello");
/// # Ok(())
/// # }
/// ```
pub fn pipe(capacity: usize) -> (Pipe, Pipe) {
    let line = SharedPipe { capacity, ..SharedPipe::default() };
    let line = Arc::new(Mutex::new(line));
    (Pipe { line: line.clone(), side: PipeSide::Left }, Pipe { line, side: PipeSide::Right })
}

/// One end of an in-memory connection.
///
/// Shutting it down is a FIN: the other end reads what was written, then the end of the stream.
/// Dropping it is a FIN too, after which writes of the other end fail with `BrokenPipe`.
#[derive(Debug)]
pub struct Pipe {
    line: Arc<Mutex<SharedPipe>>,
    side: PipeSide,
}

impl Pipe {
    /// Returns a view of what waits to be read on this end, as a peek at a socket would show it.
    pub fn peek(&self) -> Peek {
        Peek { line: self.line.clone(), side: self.side }
    }

    /// Returns the means to break this connection.
    pub fn control(&self) -> Control {
        Control { line: self.line.clone() }
    }
}

impl AsyncRead for Pipe {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        lock(&self.line).poll_read(self.side, context, buffer)
    }
}

impl AsyncWrite for Pipe {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        lock(&self.line).poll_write(self.side, context, bytes)
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        let mut line = lock(&self.line);
        if line.condition == Condition::Broken {
            return Poll::Ready(Err(io::ErrorKind::ConnectionReset.into()));
        }
        line.lane_to(self.side.other()).finish();
        Poll::Ready(Ok(()))
    }
}

impl Drop for Pipe {
    fn drop(&mut self) {
        let mut line = lock(&self.line);
        line.lane_to(self.side.other()).finish();
        line.lane_to(self.side).abandon();
    }
}

/// Looks at one end of a pipe without reading from it.
#[derive(Clone, Debug)]
pub struct Peek {
    line: Arc<Mutex<SharedPipe>>,
    side: PipeSide,
}

impl Peek {
    /// Whether nothing waits to be read on this end: no byte, no FIN, no reset.
    ///
    /// A stalled pipe is quiet, whatever was under way when it stalled.
    pub fn is_quiet(&self) -> bool {
        let mut line = lock(&self.line);
        match line.condition {
            Condition::Broken => false,
            Condition::Flowing => line.lane_to(self.side).is_quiet(),
            Condition::Stalled => true,
        }
    }
}

/// Breaks a pipe, from any task and at any time.
#[derive(Clone, Debug)]
pub struct Control {
    line: Arc<Mutex<SharedPipe>>,
}

impl Control {
    /// Resets the connection: unread bytes are lost, reads and writes of both ends fail with
    /// `ConnectionReset`.
    ///
    /// A stalled pipe stays stalled: a reset is lost in a black hole like everything else.
    pub fn reset(&self) {
        lock(&self.line).become_for_ever(Condition::Broken);
    }

    /// Turns the connection into a black hole: writes are swallowed, reads wait for ever.
    pub fn stall(&self) {
        lock(&self.line).become_for_ever(Condition::Stalled);
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PipeSide {
    Left,
    Right,
}

impl PipeSide {
    fn other(self) -> Self {
        match self {
            Self::Left => Self::Right,
            Self::Right => Self::Left,
        }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Condition {
    Broken,
    #[default]
    Flowing,
    Stalled,
}

/// The state that both ends share.
#[derive(Debug, Default)]
struct SharedPipe {
    condition: Condition,
    capacity: usize,
    to_left: Lane,
    to_right: Lane,
}

impl SharedPipe {
    fn lane_to(&mut self, side: PipeSide) -> &mut Lane {
        match side {
            PipeSide::Left => &mut self.to_left,
            PipeSide::Right => &mut self.to_right,
        }
    }

    fn become_for_ever(&mut self, condition: Condition) {
        if self.condition != Condition::Flowing {
            return;
        }
        self.condition = condition;
        for lane in [&mut self.to_left, &mut self.to_right] {
            lane.lose();
        }
    }

    fn poll_read(
        &mut self,
        side: PipeSide,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match self.condition {
            Condition::Broken => Poll::Ready(Err(io::ErrorKind::ConnectionReset.into())),
            // No waker is kept, because this state never ends.
            Condition::Stalled => Poll::Pending,
            Condition::Flowing => self.lane_to(side).poll_read(context, buffer),
        }
    }

    fn poll_write(
        &mut self,
        side: PipeSide,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let capacity = self.capacity;
        match self.condition {
            Condition::Broken => Poll::Ready(Err(io::ErrorKind::ConnectionReset.into())),
            Condition::Stalled => Poll::Ready(Ok(bytes.len())),
            Condition::Flowing => self.lane_to(side.other()).poll_write(context, bytes, capacity),
        }
    }
}
