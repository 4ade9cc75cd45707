//! What is known of the host: which era it speaks, what it says of itself, and whether it can show a page.
//!
//! Each request of the stateless revision names its revision, so one host may speak both. One that has said
//! `initialize` keeps its session: it expects the server's questions and notifications as in a session.

use ridethrough::Era;
use ridethrough_core::Identity;
use ridethrough_upstream::Wait;
use ridethrough_wire::message::{Json, splice};
use ridethrough_wire::stateless::{Offers, Sender};

use crate::calls::Asker;
use crate::{greeting, modern};

/// A host, as far as it is known.
#[derive(Default)]
pub(crate) struct Host {
    /// The era, once it has sent a message.
    era: Option<Era>,
    has_initialized: bool,
    /// Whether it may be sent requests: it has said that it is ready.
    is_ready: bool,
    can_show_pages: bool,
    /// The last sender of a stateless request.
    met: Option<(Json, Json)>,
}

impl Host {
    pub(crate) const fn is_unknown(&self) -> bool {
        self.era.is_none()
    }

    /// Whether it is never sent a request.
    pub(crate) fn is_modern(&self) -> bool {
        self.era == Some(Era::Modern)
    }

    /// Records the era. Returns it if it is news.
    pub(crate) fn meet(&mut self, era: Era) -> Option<Era> {
        if self.era == Some(era) || self.has_initialized {
            return None;
        }
        self.era = Some(era);
        Some(era)
    }

    /// Takes in `initialize`. Returns what the host says of itself.
    pub(crate) fn initialize(&mut self, params: Option<&Json>) -> Option<Identity> {
        self.has_initialized = true;
        self.met = None;
        self.can_show_pages = params
            .and_then(|params| params.member("capabilities"))
            .is_some_and(|capabilities| Offers::of(&capabilities).urls());
        greeting::identity(params)
    }

    /// Takes in that the host is ready.
    pub(crate) const fn initialized(&mut self) {
        self.is_ready = true;
    }

    /// Takes in who sends a stateless request. Returns it if it is news.
    pub(crate) fn introduce(&mut self, sender: &Sender) -> Option<Identity> {
        let Identity { info, capabilities } = modern::identity(sender);
        let is_known = |(known, can): &(Json, Json)| *known == info && *can == capabilities;
        if self.met.as_ref().is_some_and(is_known) {
            return None;
        }
        let (info, capabilities) = (splice::copied(&info), splice::copied(&capabilities));
        self.met = Some((info.clone(), capabilities.clone()));
        Some(Identity { info, capabilities })
    }

    /// Whether it can be sent a request that shows a page.
    pub(crate) const fn shows_pages(&self) -> bool {
        self.is_ready && self.can_show_pages
    }

    /// Returns what a call waits for if its person must log in; `None` if they cannot be shown a page.
    pub(crate) fn shown(&self, asker: Option<&Asker>) -> Option<Wait> {
        match asker {
            Some(asker) if !asker.can_be_asked || !asker.offers.urls() => None,
            Some(asker) if !asker.has_visited => Some(Wait::Page),
            Some(_) => Some(Wait::Login),
            None => self.shows_pages().then_some(Wait::Login),
        }
    }
}
