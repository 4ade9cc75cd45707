//! HTTP requests that are out, and for whom.

use super::Link;
use crate::era::Carrier;
use crate::exchange::{Live, Phase};
use crate::headers::Headers;
use crate::ids::{AttemptId, CredentialsId, ExchangeId, Generation, NoticeId};
use crate::moment::Moment;
use crate::output::{Action, Address, Lane, Outgoing, Route, Verb};

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
    Abandoned {
        until: Moment,
        carrier: Carrier,
    },
    /// Good-bye to a session.
    Delete {
        until: Moment,
    },
    Dial,
    Exchange(ExchangeId),
    Handshake,
    Listener,
    Notice(NoticeId),
}

impl Link {
    pub(super) fn new_attempt(&mut self, owner: Owner, generation: Generation) -> AttemptId {
        self.ids.attempt = self.ids.attempt.next();
        let credentials = self.credentials.current();
        self.attempts.insert(self.ids.attempt, Attempt { owner, credentials, generation });
        self.ids.attempt
    }

    /// Makes an HTTP request for the link itself.
    pub(super) fn request(&mut self, owner: Owner, verb: Verb, to: Address) -> AttemptId {
        self.request_with(owner, verb, to, Headers::default())
    }

    /// The same with headers.
    pub(super) fn request_with(
        &mut self,
        owner: Owner,
        verb: Verb,
        to: Address,
        headers: Headers,
    ) -> AttemptId {
        self.request_in(Lane::Control, owner, verb, to, headers)
    }

    /// The same in this lane.
    pub(super) fn request_in(
        &mut self,
        lane: Lane,
        owner: Owner,
        verb: Verb,
        to: Address,
        headers: Headers,
    ) -> AttemptId {
        let route = match (&owner, self.kept_free()) {
            (Owner::Listener, Some(home)) => Route::Except(home),
            _ => Route::Any,
        };
        if matches!(owner, Owner::Handshake) {
            self.ids.handshakes = self.ids.handshakes.saturating_add(1);
        }
        let attempt = self.new_attempt(owner, to.generation);
        let credentials = self.credentials.current();
        self.act(Action::Send(Outgoing { attempt, verb, to, credentials, headers, lane, route }));
        attempt
    }

    /// Makes an HTTP request for a call, with the call's own headers.
    pub(super) fn request_for_call(
        &mut self,
        id: ExchangeId,
        verb: Verb,
        to: Address,
    ) -> AttemptId {
        let attempt = self.new_attempt(Owner::Exchange(id), to.generation);
        let credentials = self.credentials.current();
        let headers = self.headers_of(id);
        let exchange = self.exchanges.get(&id);
        let route = exchange.map(|exchange| exchange.route).unwrap_or_default();
        let lane = match verb {
            _ if exchange.is_some_and(|it| !it.origin.is_application()) => Lane::Control,
            Verb::Get { .. } => Lane::Resume,
            Verb::Delete | Verb::Post { .. } => Lane::Call,
        };
        self.act(Action::Send(Outgoing { attempt, verb, to, credentials, headers, lane, route }));
        attempt
    }

    /// The attempts that are out for somebody.
    pub(super) fn attempts_of(&self, is_meant: impl Fn(&Owner) -> bool) -> Vec<AttemptId> {
        let meant = self.attempts.iter().filter(|(_, each)| is_meant(&each.owner));
        meant.map(|(attempt, _)| *attempt).collect()
    }

    /// Stops an attempt that nobody wants to hear of any more.
    pub(super) fn abort(&mut self, attempt: AttemptId) {
        if self.attempts.remove(&attempt).is_some() {
            self.act(Action::Abort { attempt });
        }
    }

    /// The stream of an exchange that this attempt is: its own, or the one being replaced.
    pub(super) fn stream_of(&mut self, id: ExchangeId, attempt: AttemptId) -> Option<&mut Live> {
        let mut live = self.exchanges.get_mut(&id)?.live_mut()?;
        if live.attempt != attempt {
            live = live.replaces.as_deref_mut()?;
        }
        (live.attempt == attempt).then_some(live)
    }

    /// Whether an attempt is that of an exchange, and has no head yet.
    pub(super) fn is_headless(&mut self, id: ExchangeId, attempt: AttemptId) -> bool {
        self.stream_of(id, attempt).is_some_and(|live| matches!(live.phase, Phase::Asked))
    }
}
