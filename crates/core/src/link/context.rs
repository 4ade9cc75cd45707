//! What every part of a link works with: the policy, the timers, the attempts and the outbox.

use std::collections::VecDeque;
use std::time::Duration;

use crate::event::Event;
use crate::ids::{AttemptId, CredentialsId, Generation};
use crate::output::{Action, Delivered, Outgoing, Output};
use crate::policy::RetryPolicy;
use crate::rng::Rng;

use super::attempts::{Attempt, Attempts, NewRequest, Owner};
use super::timers::Timers;

/// The policy, jitter, timers, attempts and outbox that the parts of a link share.
#[derive(Debug)]
pub(crate) struct Context {
    pub(crate) policy: RetryPolicy,
    pub(crate) rng: Rng,
    pub(crate) timers: Timers,
    pub(crate) attempts: Attempts,
    /// The credentials in force.
    pub(crate) credentials: CredentialsId,
    outbox: VecDeque<Output>,
}

impl Context {
    pub(crate) fn new(policy: RetryPolicy, seed: u64) -> Self {
        Self {
            policy,
            rng: Rng::new(seed),
            timers: Timers::default(),
            attempts: Attempts::default(),
            credentials: CredentialsId::default(),
            outbox: VecDeque::new(),
        }
    }

    pub(crate) fn put(&mut self, output: Output) {
        self.outbox.push_back(output);
    }

    /// Tells the driver to do something.
    pub(crate) fn act(&mut self, action: Action) {
        self.put(Output::Act(action));
    }

    /// Reports an event to the application's observer.
    pub(crate) fn tell(&mut self, event: Event) {
        self.put(Output::Tell(event));
    }

    /// Hands something to the application.
    pub(crate) fn deliver(&mut self, delivered: Delivered) {
        self.put(Output::Deliver(delivered));
    }

    pub(crate) fn next_output(&mut self) -> Option<Output> {
        self.outbox.pop_front()
    }

    /// Makes a request, with the credentials in force.
    pub(crate) fn send(&mut self, request: NewRequest) -> AttemptId {
        let NewRequest { owner, verb, to, headers, lane, route } = request;
        let attempt = self.new_attempt(owner, to.generation);
        let credentials = self.credentials;
        self.act(Action::Send(Outgoing { attempt, verb, to, credentials, headers, lane, route }));
        attempt
    }

    /// Makes a connection.
    pub(crate) fn dial(&mut self) -> AttemptId {
        let attempt = self.new_attempt(Owner::Dial, Generation::default());
        self.act(Action::Dial { attempt });
        attempt
    }

    fn new_attempt(&mut self, owner: Owner, generation: Generation) -> AttemptId {
        let credentials = self.credentials;
        self.attempts.add(Attempt { owner, credentials, generation })
    }

    /// Stops an attempt whose news is no longer wanted.
    pub(crate) fn abort(&mut self, attempt: AttemptId) {
        if self.attempts.remove(attempt).is_some() {
            self.act(Action::Abort { attempt });
        }
    }

    /// Reads the rest of an answer, so that its connection can be used again.
    pub(crate) fn drain(&mut self, attempt: AttemptId) {
        if self.attempts.remove(attempt).is_some() {
            self.act(Action::Drain { attempt, within: DRAIN_TIME, bytes: DRAIN_BYTES });
        }
    }
}

/// Row 15: how long a stream is read after its answer.
const DRAIN_TIME: Duration = Duration::from_secs(2);
/// Row 15: how many bytes of a stream are read after its answer.
const DRAIN_BYTES: usize = 64 * 1024;
