//! `initialize` and `server/discover`, with the upstream or without it.
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

use std::time::Duration;

use ridethrough::{Era, Error};
use ridethrough_core::Kind as Ending;
use ridethrough_wire::message::{Answer, Id, Json};
use ridethrough_wire::stateless::{DISCOVER, Offers};
use tokio::io::AsyncWrite;
use tokio::time::Instant;

use super::Router;
use crate::catalogue::Catalogue;
use crate::lists::Kind;
use crate::{fault, greeting, modern};

/// A host that waits for the answer to `initialize` or `server/discover`.
pub(super) struct Greeting {
    pub(super) id: Id,
    pub(super) form: Form,
    by: Instant,
}

/// The request by which the host asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// `server/discover`.
    Discover,
    /// `initialize`, in this revision.
    Initialize(&'static str),
}

/// What the host was told of the upstream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Greeted {
    /// What the upstream itself said.
    ByUpstream,
    /// What the catalogue holds.
    FromCatalogue,
    /// Only that there is an upstream.
    Minimally,
    /// Nothing yet.
    No,
}

impl Greeting {
    pub(super) const fn by(&self) -> Instant {
        self.by
    }
}

impl Form {
    pub(super) const fn method(self) -> &'static str {
        match self {
            Self::Discover => DISCOVER,
            Self::Initialize(_) => "initialize",
        }
    }

    /// Returns the upstream's answer to `initialize` in the form that the host asked in.
    fn dressed(self, initialized: &Json) -> Json {
        match self {
            Self::Discover => modern::discovered(initialized),
            Self::Initialize(revision) => greeting::dressed(initialized, revision),
        }
    }

    /// Returns the greeting for an upstream that was never reached.
    fn minimal(self) -> Json {
        match self {
            Self::Discover => modern::discovered(&greeting::minimal("")),
            Self::Initialize(revision) => greeting::minimal(revision),
        }
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
        self.meet(Era::Legacy);
        self.has_initialized = true;
        self.modern.forget_sender();
        if let Some(identity) = greeting::identity(params) {
            self.client.set_identity(identity);
        }
        self.host = greeting::host(params);
        self.can_show_pages = params
            .and_then(|params| params.member("capabilities"))
            .is_some_and(|capabilities| Offers::of(&capabilities).urls());
        self.await_greeting(id, Form::Initialize(greeting::revision(params)));
    }

    /// Answers the host when the upstream is reached, or when the time is over.
    pub(super) fn await_greeting(&mut self, id: Id, form: Form) {
        // Hosts do not ask twice at once, but if one does, each request is answered.
        if self.greeting.is_some() {
            self.greet_without_upstream();
        }
        self.greeting = Some(Greeting { id, form, by: Instant::now() + WITHIN });
        match self.upstream.server() {
            Some(_) => self.greet_from_upstream(),
            // Some hosts restart a server that shows no tools. This answer costs the upstream no request.
            None if self.is_login_needed() => self.greet_without_upstream(),
            None => self.upstream.reach(),
        }
    }

    pub(super) fn upstream_is_there(&mut self) {
        let Some(server) = self.upstream.server().cloned() else { return };
        let kept = self.catalogue.as_mut().map(|it| it.keep_initialize(&server.as_initialized()));
        self.told_if_not_kept(kept);
        self.is_stateless = !server.version.era().has_sessions();
        self.tell_level();
        if self.greeting.is_some() {
            return self.greet_from_upstream();
        }
        let mut news = std::mem::take(&mut self.refused_lists);
        if self.greeted == Greeted::Minimally {
            let is_news = |kind: &Kind| !self.asked.contains(kind) && server.can(kind.capability());
            news.extend(Kind::ALL.into_iter().filter(is_news));
        }
        self.announce_lists(news);
        self.check_lists();
    }

    pub(super) fn upstream_failed(&mut self, error: &Error) {
        if error.kind() == Some(Ending::Unauthorized) && self.is_login_needed() {
            // `login_changed` tells people, once. The host is greeted whatever the upstream wants: most hosts
            // drop a server that does not answer `initialize`, and do not ask it again.
            self.login_changed();
            self.leave_upstream_alone();
            return self.greet_without_upstream();
        }
        let report = fault::report(error, &self.advice, &self.voice.masker.secrets());
        if self.refused.as_ref() != Some(&report) {
            self.voice.say(Some(&report));
            self.refused = Some(report);
        }
        let may_pass = error.call().is_some_and(greeting::may_pass);
        if may_pass || self.was_there_as_it_is(error) {
            return self.greet_without_upstream();
        }
        if let Some(Greeting { id, .. }) = self.greeting.take() {
            let refusal = greeting::refusal(error, &self.advice, &self.voice.masker.secrets());
            self.outbox.answer(Some(id.json()), &refusal);
        }
    }

    /// Whether to greet the host although the upstream is not found at its address, because it was reached
    /// there before: the next request gets the error.
    fn was_there_as_it_is(&self, error: &Error) -> bool {
        let is_known = self.catalogue.as_ref().is_some_and(|it| it.initialize().is_some());
        let refuses_us = matches!(
            error.kind(),
            None | Some(Ending::Config | Ending::Incompatible | Ending::Unauthorized)
        );
        is_known && !refuses_us
    }

    /// Answers a host that waits from the catalogue, or with a minimal greeting.
    pub(super) fn greet_without_upstream(&mut self) {
        let Some(Greeting { id, form, .. }) = self.greeting.take() else { return };
        let kept = self.catalogue.as_ref().and_then(Catalogue::initialize);
        let (result, greeted, from) = match kept {
            Some(kept) => (
                form.dressed(kept),
                Greeted::FromCatalogue,
                "with what it was when it was last there",
            ),
            None => (
                form.minimal(),
                Greeted::Minimally,
                "without lists: asked for one, it gets an error until the upstream is there, and is told then",
            ),
        };
        self.greeted = greeted;
        self.outbox.answer(Some(id.json()), &Answer::Result(result));
        self.voice.say(Some(&format!("the upstream is not there yet: the host starts {from}")));
    }

    fn greet_from_upstream(&mut self) {
        let (Some(server), Some(Greeting { id, form, .. })) =
            (self.upstream.server(), self.greeting.take())
        else {
            return;
        };
        let result = form.dressed(&server.as_initialized());
        self.greeted = Greeted::ByUpstream;
        self.outbox.answer(Some(id.json()), &Answer::Result(result));
    }
}

/// How long the upstream is waited for, so that the host has its answer within 3 s.
pub(super) const WITHIN: Duration = Duration::from_millis(2500);
