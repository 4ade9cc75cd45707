//! What every part of a link works with: the policy, the timers, the attempts and the outbox.

use std::collections::VecDeque;
use std::time::Duration;

use ridethrough_wire::message::Message;
use ridethrough_wire::secrets::Secrets;

use crate::answer::words;
use crate::event::Event;
use crate::exchange::LastRefusal;
use crate::head::AnswerHead;
use crate::ids::{AttemptId, CredentialsId, Generation};
use crate::moment::Moment;
use crate::outcome::Reason;
use crate::output::{Action, Delivered, Outgoing, Output};
use crate::policy::RetryPolicy;
use crate::rng::Rng;

use super::attempts::{Attempt, Attempts, NewRequest, Owner};
use super::effects::{CallEffect, Effect, MessageSource};
use super::timers::Timers;

/// The policy, jitter, timers, attempts, outbox and effects that the parts of a link share.
#[derive(Debug)]
pub(crate) struct Context {
    /// The moment of the command or news that is being handled.
    pub(crate) now: Moment,
    pub(crate) policy: RetryPolicy,
    pub(crate) rng: Rng,
    pub(crate) timers: Timers,
    pub(crate) attempts: Attempts,
    /// The credentials in force.
    pub(crate) credentials: CredentialsId,
    /// The tokens and ids that must not appear where the server's words are quoted.
    pub(crate) secrets: Secrets,
    /// The last thing that went wrong, and when.
    last_failure: Option<(Moment, Reason)>,
    last_wire_id: u64,
    is_closing: bool,
    outbox: VecDeque<Output>,
    /// What parts ask of each other, the next one last.
    effects: Vec<Effect>,
    /// How many of these effects are in this order; those above were added since.
    ordered: usize,
}

impl Context {
    pub(crate) fn new(now: Moment, policy: RetryPolicy, seed: u64) -> Self {
        Self {
            now,
            policy,
            rng: Rng::new(seed),
            timers: Timers::default(),
            attempts: Attempts::default(),
            credentials: CredentialsId::default(),
            secrets: Secrets::default(),
            last_failure: None,
            last_wire_id: 0,
            is_closing: false,
            outbox: VecDeque::new(),
            effects: Vec::new(),
            ordered: 0,
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

    /// Asks a part for something. It happens when the current one is done, after what was asked before it
    /// with all that follows from that.
    pub(crate) fn then(&mut self, effect: impl Into<Effect>) {
        self.effects.push(effect.into());
    }

    /// Asks that messages be taken in, one after the other.
    pub(crate) fn take_in_all(&mut self, source: MessageSource, messages: Vec<Message>) {
        for message in messages {
            self.then(CallEffect::TakeIn(source, message));
        }
    }

    /// Whether something was asked for since the current effect began.
    pub(crate) fn has_asked(&self) -> bool {
        self.effects.len() > self.ordered
    }

    /// Returns the next effect to carry out. What an effect has asked for comes before all that was asked
    /// for earlier, as if each part had called the other.
    pub(crate) fn next_effect(&mut self) -> Option<Effect> {
        if self.effects.is_empty() {
            return None;
        }
        self.effects[self.ordered..].reverse();
        let next = self.effects.pop();
        self.ordered = self.effects.len();
        next
    }

    /// Returns a new id for a request on the wire.
    pub(crate) const fn next_wire_id(&mut self) -> u64 {
        self.last_wire_id += 1;
        self.last_wire_id
    }

    /// Notes that the link closes: nothing new is begun.
    pub(crate) const fn begin_closing(&mut self) {
        self.is_closing = true;
    }

    pub(crate) const fn is_closing(&self) -> bool {
        self.is_closing
    }

    pub(crate) fn note_failure(&mut self, reason: Reason) {
        self.last_failure = Some((self.now, reason));
    }

    pub(crate) const fn last_failure(&self) -> Option<&(Moment, Reason)> {
        self.last_failure.as_ref()
    }

    /// Keeps session ids and cookies of an answer out of quoted text.
    pub(crate) fn note_secrets(&mut self, head: &AnswerHead) {
        if let Some(session) = &head.session {
            self.secrets.keep(session.as_str());
        }
        for cookie in &head.cookies {
            self.secrets.keep(cookie);
        }
    }

    /// Returns the refusal that an answer is, if it is one: the server's words with secrets masked, fit to be
    /// shown.
    pub(crate) fn refusal_in(
        &self,
        head: &AnswerHead,
        said: Option<String>,
    ) -> Option<LastRefusal> {
        let said = said.and_then(|said| words::quoted(&self.secrets.masked(&said)));
        (!head.status.is_success()).then_some(LastRefusal { status: head.status, said })
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
