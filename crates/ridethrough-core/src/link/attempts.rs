//! HTTP requests that are out, and for whom.

use super::Link;
use crate::ids::{AttemptId, CredentialsId, ExchangeId, Generation, NoticeId};
use crate::outcome::CallName;
use crate::output::{Action, Address, Outgoing, Verb};

/// An attempt whose news is wanted.
#[derive(Clone, Debug)]
pub(super) struct Attempt {
    pub(super) owner: Owner,
    pub(super) credentials: CredentialsId,
    pub(super) generation: Generation,
}

/// For whom an attempt was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Owner {
    /// An `initialize` that took too long: if it is answered after all, its session is deleted.
    Abandoned,
    Delete,
    Dial,
    Exchange(ExchangeId),
    Handshake,
    Listener,
    Notice(NoticeId),
    Pulse,
    Restore {
        call: CallName,
        wire_id: u64,
    },
}

impl Link {
    pub(super) fn new_attempt(&mut self, owner: Owner, generation: Generation) -> AttemptId {
        self.ids.attempt = self.ids.attempt.next();
        let credentials = self.credentials.current();
        self.attempts.insert(self.ids.attempt, Attempt { owner, credentials, generation });
        self.ids.attempt
    }

    /// Makes an HTTP request for somebody.
    pub(super) fn request(&mut self, owner: Owner, verb: Verb, to: Address) -> AttemptId {
        let attempt = self.new_attempt(owner, to.generation);
        let credentials = self.credentials.current();
        self.act(Action::Send(Outgoing { attempt, verb, to, credentials }));
        attempt
    }

    /// Stops an attempt that nobody wants to hear of any more.
    pub(super) fn abort(&mut self, attempt: AttemptId) {
        if self.attempts.remove(&attempt).is_some() {
            self.act(Action::Abort { attempt });
        }
    }
}
