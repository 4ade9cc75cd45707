//! The session: making it, keeping it, and replacing it when it is lost.
//!
//! ```text
//!   renewal       the session's states, and the handshake under way
//!   handshake     making a session for all calls that wait
//!   initialize    the answers to its first request
//!   turnover      a session begins, is lost, or cannot be had
//!   restore       what the next session must be told again
//!   eras          which era the server belongs to
//!   discovery     the answers to `server/discover`
//!   last_resort   HTTP+SSE, for a server that refuses everything else
//!   stateless     what each request carries where there is no session
//! ```

mod discovery;
mod eras;
mod handshake;
mod initialize;
mod last_resort;
mod renewal;
mod restore;
mod stateless;
mod turnover;

pub(crate) use renewal::Ready;

use std::time::Duration;

use bytes::Bytes;
use ridethrough_wire::era::{Eras, Version};
use ridethrough_wire::headers::Headers;
use ridethrough_wire::message::Json;

use crate::exchange::{Exchange, LastRefusal, RefusedBy};
use crate::ids::{AttemptId, Generation};
use crate::moment::Moment;
use crate::outcome::Reason;
use crate::output::{Address, Verb};

use super::HANDSHAKE_LIMIT;
use super::attempts::{NewRequest, Owner};
use super::context::Context;
use super::request::Identity;
use eras::KnownEra;
use renewal::{Renewal, Session, Stage};
use restore::Restore;

/// The session in force, and what is needed to make the next one.
#[derive(Debug)]
pub(crate) struct Sessions {
    state: Session,
    era: KnownEra,
    restore: Restore,
    identity: Identity,
    /// The revision that `initialize` offers.
    offered: Version,
    /// How long `initialize` may take.
    start_limit: Duration,
    /// Whether there was a session before.
    had_session: bool,
    /// The generation of the newest session that was requested.
    generation: Generation,
    /// How many requests were made for handshakes.
    handshakes: u32,
}

impl Sessions {
    pub(crate) fn new(eras: Eras, identity: Identity) -> Self {
        let era = KnownEra::new(eras);
        Self {
            state: era.first_session(),
            era,
            restore: Restore::default(),
            identity,
            offered: Version::LATEST_LEGACY,
            start_limit: HANDSHAKE_LIMIT,
            had_session: false,
            // A link pinned to the stateless era has this generation from the start.
            generation: Generation::new(1),
            handshakes: 0,
        }
    }

    pub(crate) fn set_identity(&mut self, identity: Identity) {
        self.identity = identity;
    }

    pub(crate) const fn offer(&mut self, revision: Version) {
        self.offered = revision;
    }

    pub(crate) const fn give_time_to_start(&mut self, time: Duration) {
        self.start_limit = time;
    }

    pub(crate) const fn speak_http_sse(&mut self) {
        self.era.last_resort.allow();
    }

    pub(crate) fn next_generation(&mut self) -> Generation {
        self.generation = self.generation.next();
        self.generation
    }

    /// Returns how many requests were made for handshakes.
    pub(crate) const fn handshakes(&self) -> u32 {
        self.handshakes
    }

    /// Sends a request of a handshake.
    fn send(&mut self, cx: &mut Context, body: Bytes, to: Address, headers: Headers) -> AttemptId {
        self.handshakes = self.handshakes.saturating_add(1);
        let request = NewRequest::new(Owner::Handshake, Verb::Post { body }, to);
        cx.send(NewRequest { headers, ..request })
    }

    /// Uncounts a request of a handshake that was not sent after all.
    const fn uncount_handshake(&mut self) {
        self.handshakes = self.handshakes.saturating_sub(1);
    }

    /// Returns the capabilities that the application declares to the server.
    pub(crate) const fn capabilities(&self) -> &Json {
        &self.identity.capabilities
    }

    /// Returns the session in force.
    pub(crate) const fn ready(&self) -> Option<&Ready> {
        self.state.ready()
    }

    /// Returns the number of the session in force.
    pub(crate) fn current_generation(&self) -> Option<Generation> {
        self.ready().map(Ready::generation)
    }

    pub(crate) const fn had_session(&self) -> bool {
        self.had_session
    }

    /// Whether a handshake is under way, or credentials for it are.
    pub(crate) fn is_under_way(&self) -> bool {
        self.pending().is_some_and(Renewal::is_under_way)
    }

    /// Whether a handshake is being made and is not paused.
    pub(crate) fn is_renewing(&self) -> bool {
        self.pending().is_some_and(|it| !matches!(it.stage, Stage::Paused { .. }))
    }

    /// Whether a request of a handshake is out.
    pub(crate) fn is_asking(&self) -> bool {
        self.pending().is_some_and(|it| it.attempt().is_some())
    }

    pub(crate) fn awaits_link(&self) -> bool {
        self.pending().is_some_and(|it| matches!(it.stage, Stage::AwaitLink))
    }

    pub(crate) fn awaits_credentials(&self) -> bool {
        self.pending().is_some_and(|it| matches!(it.stage, Stage::AwaitCredentials))
    }

    /// Returns how the server refused the last failed handshake.
    pub(crate) fn refused_handshake(&self) -> Option<&LastRefusal> {
        self.pending().and_then(|it| it.last_refusal.as_ref())
    }

    /// Returns until when the server asked to be left alone and why, if no handshake is under way.
    pub(crate) fn asked_until(&self) -> Option<(Moment, &Reason)> {
        let paused = self.pending().filter(|it| !it.is_under_way());
        paused.map(|it| (it.asked_until, &it.last))
    }

    /// Whether the server asked for time before the next handshake.
    pub(crate) fn is_deferred(&self, now: Moment) -> bool {
        self.pending().is_some_and(|it| !it.is_under_way() && it.asked_until > now)
    }

    /// Returns when the next handshake follows, if none is under way.
    pub(crate) fn next_try(&self) -> Option<Moment> {
        self.pending().and_then(Renewal::next_try)
    }

    /// Returns why the last handshake failed, while the next one is being made.
    pub(crate) fn last_refusal(&self) -> Option<&Reason> {
        self.pending().map(|it| &it.last).filter(|last| **last != Reason::Nothing)
    }

    /// Returns how the server refused the last question for its era that was asked in a session.
    pub(crate) const fn refused_by(&self) -> Option<RefusedBy> {
        self.era.refused_by
    }

    pub(crate) const fn note_refused_by(&mut self, refused_by: Option<RefusedBy>) {
        self.era.refused_by = refused_by;
    }

    /// Remembers, from an answered call, what a new session must be told again.
    pub(crate) fn remember(&mut self, exchange: &Exchange) {
        self.restore.remember(exchange);
    }

    /// Returns the resources that the application has subscribed to.
    pub(crate) fn subscribed(&self) -> impl Iterator<Item = &str> {
        self.restore.subscribed()
    }

    /// Drops a subscription that the server refuses.
    pub(crate) fn forget_subscription(&mut self, uri: &str) {
        self.restore.forget(uri);
    }

    fn pending(&self) -> Option<&Renewal> {
        match &self.state {
            Session::Renewing(renewal) => Some(renewal),
            _ => None,
        }
    }

    const fn renewal(&mut self) -> Option<&mut Renewal> {
        self.state.renewal()
    }
}
