//! HTTP requests that are out, and for whom.

use std::collections::BTreeMap;

use crate::era::Carrier;
use crate::exchange::{Live, Phase};
use crate::headers::Headers;
use crate::ids::{AttemptId, CredentialsId, ExchangeId, Generation, NoticeId};
use crate::link::Link;
use crate::moment::Moment;
use crate::output::{Action, Address, Lane, Outgoing, Route, Verb};

/// An attempt whose news is wanted.
#[derive(Clone, Debug)]
pub(crate) struct Attempt {
    pub(crate) owner: Owner,
    pub(crate) credentials: CredentialsId,
    pub(crate) generation: Generation,
}

/// For whom an attempt was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Owner {
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

/// The attempts whose news is wanted.
#[derive(Debug, Default)]
pub(crate) struct Attempts {
    out: BTreeMap<AttemptId, Attempt>,
    last: AttemptId,
}

impl Attempts {
    pub(crate) fn get(&self, id: AttemptId) -> Option<&Attempt> {
        self.out.get(&id)
    }

    /// Takes it out, if it is there: its news is over.
    pub(crate) fn remove(&mut self, id: AttemptId) -> Option<Attempt> {
        self.out.remove(&id)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.out.is_empty()
    }

    /// The last one that was made.
    pub(crate) const fn last(&self) -> AttemptId {
        self.last
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Attempt> {
        self.out.values()
    }

    /// From now on it is out for somebody else.
    pub(crate) fn give_to(&mut self, id: AttemptId, owner: Owner) {
        if let Some(attempt) = self.out.get_mut(&id) {
            attempt.owner = owner;
        }
    }

    /// Those that are out for somebody.
    pub(crate) fn ids_where(&self, is_meant: impl Fn(&Owner) -> bool) -> Vec<AttemptId> {
        let meant = self.out.iter().filter(|(_, each)| is_meant(&each.owner));
        meant.map(|(attempt, _)| *attempt).collect()
    }

    fn add(&mut self, attempt: Attempt) -> AttemptId {
        self.last = self.last.next();
        self.out.insert(self.last, attempt);
        self.last
    }
}

impl Link {
    pub(crate) fn new_attempt(&mut self, owner: Owner, generation: Generation) -> AttemptId {
        let credentials = self.credentials.current();
        self.attempts.add(Attempt { owner, credentials, generation })
    }

    /// Makes an HTTP request for the link itself.
    pub(crate) fn request(&mut self, owner: Owner, verb: Verb, to: Address) -> AttemptId {
        self.request_with(owner, verb, to, Headers::default())
    }

    /// The same with headers.
    pub(crate) fn request_with(
        &mut self,
        owner: Owner,
        verb: Verb,
        to: Address,
        headers: Headers,
    ) -> AttemptId {
        self.request_in(Lane::Control, owner, verb, to, headers)
    }

    /// The same in this lane.
    pub(crate) fn request_in(
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
            self.session.count_handshake();
        }
        let attempt = self.new_attempt(owner, to.generation);
        let credentials = self.credentials.current();
        self.act(Action::Send(Outgoing { attempt, verb, to, credentials, headers, lane, route }));
        attempt
    }

    /// Makes an HTTP request for a call, with the call's own headers.
    pub(crate) fn request_for_call(
        &mut self,
        id: ExchangeId,
        verb: Verb,
        to: Address,
    ) -> AttemptId {
        let attempt = self.new_attempt(Owner::Exchange(id), to.generation);
        let credentials = self.credentials.current();
        let headers = self.headers_of(id);
        let exchange = self.calls.get(id);
        let route = exchange.map(|exchange| exchange.route).unwrap_or_default();
        let lane = match verb {
            _ if exchange.is_some_and(|it| !it.origin.is_application()) => Lane::Control,
            Verb::Get { .. } => Lane::Resume,
            Verb::Delete | Verb::Post { .. } => Lane::Call,
        };
        self.act(Action::Send(Outgoing { attempt, verb, to, credentials, headers, lane, route }));
        attempt
    }

    /// Stops an attempt that nobody wants to hear of any more.
    pub(crate) fn abort(&mut self, attempt: AttemptId) {
        if self.attempts.remove(attempt).is_some() {
            self.act(Action::Abort { attempt });
        }
    }

    /// The stream of an exchange that this attempt is: its own, or the one being replaced.
    pub(crate) fn stream_of(&mut self, id: ExchangeId, attempt: AttemptId) -> Option<&mut Live> {
        let mut live = self.calls.get_mut(id)?.live_mut()?;
        if live.attempt != attempt {
            live = live.replaces.as_deref_mut()?;
        }
        (live.attempt == attempt).then_some(live)
    }

    /// Whether an attempt is that of an exchange, and has no head yet.
    pub(crate) fn is_headless(&mut self, id: ExchangeId, attempt: AttemptId) -> bool {
        self.stream_of(id, attempt).is_some_and(|live| matches!(live.phase, Phase::Asked))
    }
}
