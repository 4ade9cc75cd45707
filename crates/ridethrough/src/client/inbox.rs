//! The server's own messages, raw: for bridges and whoever answers them himself.

use ridethrough_core::message::Answer;
use ridethrough_core::{Delivered, QuestionId};
use tokio::sync::mpsc;

use crate::driver::Wish;
use crate::observe::Observers;

/// Notifications and requests of the server, as they come.
///
/// What finds the inbox full is not kept: a notification is dropped and counted, a request is
/// answered with an error. Nothing in the link waits for its reader.
pub struct Inbox {
    receiver: mpsc::Receiver<Delivered>,
    wishes: mpsc::WeakUnboundedSender<Wish>,
    observers: Observers,
}

impl Inbox {
    pub(super) fn new(
        receiver: mpsc::Receiver<Delivered>,
        wishes: &mpsc::UnboundedSender<Wish>,
        observers: Observers,
    ) -> Self {
        // An inbox alone does not keep a link alive.
        Self { receiver, wishes: wishes.downgrade(), observers }
    }

    /// The next message; `None` when the client is gone or another inbox took over.
    pub async fn next(&mut self) -> Option<Delivered> {
        self.receiver.recv().await
    }

    /// Answers a question. One that was withdrawn, or answered before, needs no answer.
    pub fn answer(&self, question: QuestionId, answer: Answer) {
        if let Some(wishes) = self.wishes.upgrade() {
            // A driver that is gone has nobody left to answer.
            let _ = wishes.send(Wish::Answer { question, answer });
        }
    }

    /// How many messages found an inbox of this client full.
    pub fn dropped(&self) -> u64 {
        self.observers.dropped()
    }
}

impl std::fmt::Debug for Inbox {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Inbox").finish_non_exhaustive()
    }
}

pub(super) const ROOM: usize = 1024;
