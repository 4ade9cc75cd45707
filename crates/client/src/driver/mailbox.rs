//! The queue of the server's own messages for a reader.
//!
//! The link never waits for a reader, so the queue is limited, in messages and in bytes.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::task::{Context, Poll};

use ridethrough_core::Delivered;
use tokio::sync::mpsc;

/// The driver's end of the queue.
pub(crate) struct Mailbox {
    /// Messages are boxed, because a channel makes room for 32 at once.
    sender: mpsc::Sender<Box<Delivered>>,
    tally: Arc<Tally>,
}

/// The reader's end of the queue.
pub(crate) struct Post {
    receiver: mpsc::Receiver<Box<Delivered>>,
    tally: Arc<Tally>,
}

#[derive(Default)]
struct Tally {
    bytes: AtomicUsize,
    dropped: AtomicU64,
}

/// Why a message was not accepted.
pub(crate) enum NotTaken {
    Full,
    NobodyReads,
}

pub(crate) fn mailbox() -> (Mailbox, Post) {
    let (sender, receiver) = mpsc::channel(MESSAGES);
    let tally = Arc::<Tally>::default();
    (Mailbox { sender, tally: tally.clone() }, Post { receiver, tally })
}

impl Mailbox {
    /// Whether the reader's end still exists.
    pub(crate) fn is_read(&self) -> bool {
        !self.sender.is_closed()
    }

    /// Adds a message, if there is room; `room` is in bytes.
    pub(crate) fn put(&self, delivered: Delivered, room: usize) -> Result<(), NotTaken> {
        let size = size(&delivered);
        let held = self.tally.bytes.fetch_add(size, Ordering::Relaxed) + size;
        let put = if held > room {
            Err(NotTaken::Full)
        } else {
            self.sender.try_send(Box::new(delivered)).map_err(|error| match error {
                mpsc::error::TrySendError::Closed(_) => NotTaken::NobodyReads,
                mpsc::error::TrySendError::Full(_) => NotTaken::Full,
            })
        };
        if let Err(reason) = &put {
            self.tally.bytes.fetch_sub(size, Ordering::Relaxed);
            let is_dropped = matches!(reason, NotTaken::Full);
            self.tally.dropped.fetch_add(u64::from(is_dropped), Ordering::Relaxed);
        }
        put
    }
}

impl Post {
    pub(crate) async fn next(&mut self) -> Option<Delivered> {
        std::future::poll_fn(|context| self.poll_next(context)).await
    }

    pub(crate) fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<Delivered>> {
        let delivered = std::task::ready!(self.receiver.poll_recv(context));
        if let Some(delivered) = &delivered {
            self.tally.bytes.fetch_sub(size(delivered), Ordering::Relaxed);
        }
        Poll::Ready(delivered.map(|it| *it))
    }

    /// Closes the queue and returns the messages that were not read.
    pub(crate) fn close(&mut self) -> impl Iterator<Item = Delivered> {
        self.receiver.close();
        std::iter::from_fn(|| self.receiver.try_recv().ok().map(|it| *it))
    }

    pub(crate) fn dropped(&self) -> u64 {
        self.tally.dropped.load(Ordering::Relaxed)
    }
}

fn size(delivered: &Delivered) -> usize {
    match delivered {
        Delivered::Notification { method, params, .. }
        | Delivered::Question { method, params, .. } => {
            method.len() + params.as_ref().map_or(0, |params| params.as_bytes().len())
        }
        Delivered::Withdrawn { .. } => 0,
    }
}

/// The most messages in the queue: enough for a reader that is busy for a moment; one that never reads must
/// not cost memory.
const MESSAGES: usize = 1024;

#[cfg(test)]
mod tests {
    use ridethrough_wire::message::Json;

    use super::*;

    #[tokio::test]
    async fn a_box_nobody_reads_is_full_after_so_many_bytes_and_has_room_again_when_it_is_read() {
        let (mailbox, mut post) = mailbox();

        assert!(mailbox.put(message(60), 100).is_ok());
        assert!(matches!(mailbox.put(message(60), 100), Err(NotTaken::Full)));
        post.next().await.unwrap();

        assert!(mailbox.put(message(60), 100).is_ok());
        assert_eq!(post.dropped(), 1);
    }

    #[test]
    fn a_box_nobody_reads_is_full_after_so_many_messages() {
        let (mailbox, post) = mailbox();

        let taken = (0..2 * MESSAGES).filter(|_| mailbox.put(message(2), usize::MAX).is_ok());

        assert_eq!(taken.count(), MESSAGES);
        assert_eq!(post.dropped(), MESSAGES as u64);
    }

    fn message(bytes: usize) -> Delivered {
        let params = Some(Json::new(format!("\"{}\"", "x".repeat(bytes - 2))).unwrap());
        Delivered::Notification { exchange: None, method: "x".into(), params }
    }
}
