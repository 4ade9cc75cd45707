//! What a caller is told of the upstream, with it or without it.
//!
//! ```text
//!   reached ──▶ described by itself
//!   cannot be waited for ──▶ from the catalogue, or with the least that can be said
//!                               └──reached──▶ lists that the caller does not know are announced
//! ```

use std::collections::BTreeSet;

use ridethrough::Error;
use ridethrough_core::Kind as Ending;
use ridethrough_wire::message::{Json, ListKind as Kind};

use super::{Effect, Upstream};
use crate::catalogue::Catalogue;
use crate::fault;

/// What the caller was told of the upstream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Described {
    /// What the upstream itself said.
    ByItself,
    /// What the catalogue holds.
    FromCatalogue,
    /// Only that there is an upstream.
    Minimally,
    /// Nothing yet.
    No,
}

impl Described {
    /// Whether the caller was told something that the upstream has not confirmed.
    pub(super) const fn is_provisional(self) -> bool {
        matches!(self, Self::FromCatalogue | Self::Minimally)
    }
}

impl Upstream {
    /// Returns what the upstream said to `initialize`, for a caller that asks; `None` before it was reached.
    pub fn describe(&mut self) -> Option<Json> {
        let said = self.first_connect.server()?.as_initialized();
        self.described = Described::ByItself;
        Some(said)
    }

    /// Returns what the upstream was when it was last there, for a caller that cannot wait; `None` if nothing was
    /// kept, and the caller is told only that there may be lists later.
    pub fn describe_without(&mut self) -> Option<Json> {
        let kept = self.kept.as_ref().and_then(Catalogue::initialize).cloned();
        let (described, from) = match &kept {
            Some(_) => (Described::FromCatalogue, "with what it was when it was last there"),
            None => (
                Described::Minimally,
                "without lists: asked for one, it gets an error until the upstream is there, and is told then",
            ),
        };
        self.described = described;
        self.voice.say(&format!("the upstream is not there yet: the host starts {from}"));
        kept
    }

    /// Counts a caller that never asks what the upstream is as one that was told the least, so that lists are
    /// announced to it.
    pub fn skip_description(&mut self) {
        if self.server().is_none() && self.described == Described::No {
            self.described = Described::Minimally;
        }
    }

    /// Tells a caller that began without the upstream what there is.
    pub fn catch_up(&mut self) {
        let Some(server) = self.first_connect.server() else { return };
        let mut news = self.lists.take_refused();
        if self.described == Described::Minimally {
            news.extend(self.lists.unasked(server));
        }
        self.announce(news);
        self.check_lists();
    }

    pub(super) fn is_reached(&mut self) {
        let Some(server) = self.first_connect.server() else { return };
        self.is_stateless = !server.version.era().has_sessions();
        let said = server.as_initialized();
        self.keep(|it| it.keep_initialize(&said));
        self.effects.push_back(Effect::Reached);
    }

    pub(super) fn is_not_reached(&mut self, error: &Error) {
        if error.kind() == Some(Ending::Unauthorized) && self.is_login_needed() {
            // `login_changed` tells people, once. The caller is told what there is whatever the upstream wants:
            // most hosts drop a server that does not answer `initialize`, and do not ask it again.
            self.login_changed();
            self.leave_alone();
            return self.effects.push_back(Effect::Absent);
        }
        let secrets = self.voice.masker().secrets().into_owned();
        self.voice.say_refusal(fault::report(error, &self.advice, &secrets));
        let may_pass = error.call().is_some_and(fault::may_pass);
        self.effects.push_back(if may_pass || self.was_there_as_it_is(error) {
            Effect::Absent
        } else {
            Effect::Refused(fault::refusal(error, &self.advice, &secrets))
        });
    }

    /// Whether the upstream is not found at its address, and was reached there before: the next request gets the
    /// error.
    fn was_there_as_it_is(&self, error: &Error) -> bool {
        let refuses_us = matches!(
            error.kind(),
            None | Some(Ending::Config | Ending::Incompatible | Ending::Unauthorized)
        );
        self.kept.as_ref().and_then(Catalogue::initialize).is_some() && !refuses_us
    }

    /// Tells the caller to ask for these lists again.
    pub(super) fn announce(&mut self, kinds: BTreeSet<Kind>) {
        let changed: BTreeSet<_> = kinds.into_iter().map(Kind::changed).collect();
        self.effects.extend(changed.into_iter().map(Effect::ListChanged));
    }
}
