//! What the gateway itself asks a caller, or tells it, in the middle of a call.

use std::sync::atomic::{AtomicU64, Ordering};

use ridethrough_server::Aside;
use ridethrough_wire::message::{Answer, Json};
use tokio::sync::{mpsc, oneshot};

/// Something for the caller, of the gateway's own.
pub(crate) enum OwnWord {
    Ask {
        /// What the gateway knows the question by.
        key: u64,
        method: &'static str,
        params: Json,
        /// The call that it belongs to.
        call: Option<Aside>,
        answer: oneshot::Sender<Answer>,
    },
    Tell {
        method: &'static str,
        params: Json,
        call: Option<Aside>,
    },
    /// Nobody waits for the answer to this question any more.
    Withdraw(u64),
}

/// Says things to the caller.
pub(crate) struct OwnWords {
    words: mpsc::UnboundedSender<OwnWord>,
    next: AtomicU64,
}

/// A question that was asked. It is withdrawn when this is dropped without an answer.
pub(crate) struct OwnQuestion {
    key: u64,
    answer: oneshot::Receiver<Answer>,
    words: mpsc::UnboundedSender<OwnWord>,
}

impl OwnWords {
    pub(crate) fn new() -> (Self, mpsc::UnboundedReceiver<OwnWord>) {
        let (words, spoken) = mpsc::unbounded_channel();
        (Self { words, next: AtomicU64::new(0) }, spoken)
    }

    pub(crate) fn ask(
        &self,
        method: &'static str,
        params: Json,
        call: Option<Aside>,
    ) -> OwnQuestion {
        let key = self.next.fetch_add(1, Ordering::Relaxed);
        let (answer, answered) = oneshot::channel();
        // If the conversation is over, the answer never comes, which is noticed.
        let _ = self.words.send(OwnWord::Ask { key, method, params, call, answer });
        OwnQuestion { key, answer: answered, words: self.words.clone() }
    }

    pub(crate) fn tell(&self, method: &'static str, params: Json, call: Option<Aside>) {
        // A caller who has left hears nothing.
        let _ = self.words.send(OwnWord::Tell { method, params, call });
    }
}

impl OwnQuestion {
    /// Waits for the answer; `None` if the caller has left.
    pub(crate) async fn answer(&mut self) -> Option<Answer> {
        (&mut self.answer).await.ok()
    }
}

impl Drop for OwnQuestion {
    fn drop(&mut self) {
        // One that was answered is not known any more, so that nothing is said.
        let _ = self.words.send(OwnWord::Withdraw(self.key));
    }
}
