//! The attempts that are out, each with its owner.

use std::collections::BTreeMap;

use ridethrough_wire::era::Carrier;
use ridethrough_wire::headers::Headers;

use crate::ids::{AttemptId, CredentialsId, ExchangeId, Generation, NoticeId};
use crate::moment::Moment;
use crate::output::{Address, Lane, Route, Verb};

/// An attempt whose news is wanted.
#[derive(Clone, Debug)]
pub(crate) struct Attempt {
    pub(crate) owner: Owner,
    pub(crate) credentials: CredentialsId,
    pub(crate) generation: Generation,
}

/// What an attempt was made for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Owner {
    /// An `initialize` that took too long. If it is answered after all, its session is deleted.
    Abandoned {
        until: Moment,
        carrier: Carrier,
    },
    /// The deletion of a session.
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

    /// Removes an attempt, whose news is ignored from then on.
    pub(crate) fn remove(&mut self, id: AttemptId) -> Option<Attempt> {
        self.out.remove(&id)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.out.is_empty()
    }

    /// Returns the id of the latest attempt.
    pub(crate) const fn last(&self) -> AttemptId {
        self.last
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Attempt> {
        self.out.values()
    }

    /// Gives an attempt another owner.
    pub(crate) fn give_to(&mut self, id: AttemptId, owner: Owner) {
        if let Some(attempt) = self.out.get_mut(&id) {
            attempt.owner = owner;
        }
    }

    /// Returns the attempts whose owner satisfies `is_meant`.
    pub(crate) fn ids_where(&self, is_meant: impl Fn(&Owner) -> bool) -> Vec<AttemptId> {
        let meant = self.out.iter().filter(|(_, each)| is_meant(&each.owner));
        meant.map(|(attempt, _)| *attempt).collect()
    }

    pub(super) fn add(&mut self, attempt: Attempt) -> AttemptId {
        self.last = self.last.next();
        self.out.insert(self.last, attempt);
        self.last
    }
}

/// A request to be made. By default it has the link's own lane, no headers and any route.
#[derive(Debug)]
pub(crate) struct NewRequest {
    pub(crate) owner: Owner,
    pub(crate) verb: Verb,
    pub(crate) to: Address,
    pub(crate) headers: Headers,
    pub(crate) lane: Lane,
    pub(crate) route: Route,
}

impl NewRequest {
    pub(crate) fn new(owner: Owner, verb: Verb, to: Address) -> Self {
        let (headers, lane, route) = (Headers::default(), Lane::Control, Route::Any);
        Self { owner, verb, to, headers, lane, route }
    }
}
