//! `initialize`, with the upstream or without it.
//!
//! ```text
//!   host asks ──▶ waits ──upstream is there──────▶ greeted by the upstream
//!                   │ └────refused, or no server──▶ an error; the host may ask again
//!                   │
//!               2.5 s passed, or it cannot be reached
//!                   ▼
//!            greeted from the catalogue, or with the least that can be said
//!                   │
//!           upstream is there: lists that differ from what the host was shown are announced
//! ```

use std::collections::BTreeSet;
use std::time::Duration;

use ridethrough::Error;
use ridethrough_core::Kind as Ending;
use ridethrough_core::message::{Answer, Id, Json};
use tokio::io::AsyncWrite;
use tokio::time::Instant;

use super::Router;
use crate::catalogue::Catalogue;
use crate::lists::Kind;
use crate::{fault, greeting};

/// A host that waits for the answer to its `initialize`.
pub(super) struct Greeting {
    pub(super) id: Id,
    revision: &'static str,
    by: Instant,
}

/// What the host knows of the upstream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Greeted {
    /// What the upstream said itself.
    ByUpstream,
    /// What it was when it was last there.
    FromCatalogue,
    /// That there is one.
    Minimally,
    /// Nothing yet.
    No,
}

impl Greeting {
    pub(super) const fn by(&self) -> Instant {
        self.by
    }
}

impl Greeted {
    /// Whether the host was told something that the upstream has not confirmed.
    pub(super) const fn is_provisional(self) -> bool {
        matches!(self, Self::FromCatalogue | Self::Minimally)
    }
}

impl<W: AsyncWrite + Unpin> Router<W> {
    pub(super) fn greet(&mut self, id: Id, params: Option<&Json>) {
        if let Some(identity) = greeting::identity(params) {
            self.client.set_identity(identity);
        }
        self.host = greeting::host(params);
        let revision = greeting::revision(params);
        // Two at once are no host's habit; each still has its answer.
        if self.greeting.is_some() {
            self.greet_without_upstream();
        }
        self.greeting = Some(Greeting { id, revision, by: Instant::now() + WITHIN });
        match self.upstream.server() {
            Some(_) => self.greet_from_upstream(),
            None => self.upstream.reach(),
        }
    }

    pub(super) fn upstream_is_there(&mut self) {
        let Some(server) = self.upstream.server().cloned() else { return };
        let kept = self.catalogue.as_mut().map(|it| it.keep_initialize(&server.as_initialized()));
        self.told_if_not_kept(kept);
        if self.greeting.is_some() {
            return self.greet_from_upstream();
        }
        if self.greeted == Greeted::Minimally {
            let is_news = |kind: &Kind| !self.asked.contains(kind) && server.can(kind.capability());
            let news: BTreeSet<_> =
                Kind::ALL.into_iter().filter(is_news).map(Kind::changed).collect();
            news.into_iter().for_each(|method| self.outbox.notification(method, None));
        }
        self.check_lists();
    }

    pub(super) fn upstream_failed(&mut self, error: &Error) {
        let report = fault::report(error, &self.advice, &self.voice.secrets);
        if self.refused.as_ref() != Some(&report) {
            self.voice.say(Some(&report));
            self.refused = Some(report);
        }
        let may_pass = error.call().is_some_and(greeting::may_pass);
        if may_pass || self.was_there_as_it_is(error) {
            return self.greet_without_upstream();
        }
        if let Some(Greeting { id, .. }) = self.greeting.take() {
            let refusal = greeting::refusal(error, &self.advice, &self.voice.secrets);
            self.outbox.answer(Some(id.json()), &refusal);
        }
    }

    /// Whether an upstream that is not found where it was before is worth a greeting: a request tells why.
    fn was_there_as_it_is(&self, error: &Error) -> bool {
        let is_known = self.catalogue.as_ref().is_some_and(|it| it.initialize().is_some());
        let refuses_us = matches!(
            error.kind(),
            None | Some(Ending::Config | Ending::Incompatible | Ending::Unauthorized)
        );
        is_known && !refuses_us
    }

    /// Answers a host that waits with what is known without the upstream.
    pub(super) fn greet_without_upstream(&mut self) {
        let Some(Greeting { id, revision, .. }) = self.greeting.take() else { return };
        let kept = self.catalogue.as_ref().and_then(Catalogue::initialize);
        let (result, greeted, from) = match kept {
            Some(kept) => (
                greeting::dressed(kept, revision),
                Greeted::FromCatalogue,
                "with what it was when it was last there",
            ),
            None => (
                greeting::minimal(revision),
                Greeted::Minimally,
                "with empty lists, which are announced when it is there",
            ),
        };
        self.greeted = greeted;
        self.outbox.answer(Some(id.json()), &Answer::Result(result));
        self.voice.say(Some(&format!("the upstream is not there yet: the host starts {from}")));
    }

    fn greet_from_upstream(&mut self) {
        let (Some(server), Some(Greeting { id, revision, .. })) =
            (self.upstream.server(), self.greeting.take())
        else {
            return;
        };
        let result = greeting::dressed(&server.as_initialized(), revision);
        self.greeted = Greeted::ByUpstream;
        self.outbox.answer(Some(id.json()), &Answer::Result(result));
    }
}

/// The host is to have its answer within 3 s.
pub(super) const WITHIN: Duration = Duration::from_millis(2500);
