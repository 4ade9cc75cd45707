//! The era that the server belongs to, as far as it is known, and what makes the link ask again.
//!
//! ```text
//!   unknown ──server/discover──▶ modern ──refused as by a legacy server───────▶ unknown
//!      └────────────────────────▶ legacy ──an hour; refused as by a modern one──▶ unknown
//! ```
//! A legacy server may also be one of 2024-11-05 (see `last_resort`); that is forgotten with its era.
//!
//! A server may speak both eras, so a link that prefers sessions sends `initialize` first and asks for the
//! era only if that is refused:
//!
//! ```text
//!   unknown ──initialize──▶ a session
//!      └─────refused──▶ server/discover
//! ```
//!
//! A link that is pinned to one era never asks. The era is a property of the server: a refusal that only the
//! other era gives makes the link ask, and stands if the era has not changed. If it has, a call is sent again
//! where it is proven that it was not carried out.

use std::sync::Arc;
use std::time::Duration;

use ridethrough_wire::era::{Carrier, Era, Eras};
use ridethrough_wire::message::code::{HEADER_MISMATCH, UNSUPPORTED_VERSION};

use super::Sessions;
use super::last_resort::LastResort;
use super::renewal::{Opening, Opens, Ready, Session, Stage};
use crate::answer::{PostAnswer, PostReading, is_from_the_other_era};
use crate::event::Event;
use crate::exchange::{EraDoubt, RefusedBy, Sent};
use crate::failure::Delivery;
use crate::head::AnswerHead;
use crate::ids::Generation;
use crate::link::attempts::Owner;
use crate::link::context::Context;
use crate::moment::Moment;
use crate::output::Address;

/// What is known of the server's era.
#[derive(Debug)]
pub(crate) struct KnownEra {
    allowed: Eras,
    found: Option<Found>,
    /// The era to use with a server that speaks both.
    preferred: Era,
    /// Whether the server refused a session since it last gave one.
    refuses_sessions: bool,
    /// The era that was found last, even if it is in doubt.
    last: Option<Era>,
    /// How the server refused the last question for its era that was asked in a session.
    pub(crate) refused_by: Option<RefusedBy>,
    /// What is known of HTTP+SSE at this server.
    pub(crate) last_resort: LastResort,
}

#[derive(Clone, Copy, Debug)]
struct Found {
    era: Era,
    /// Until when a legacy verdict is believed.
    until: Moment,
    /// Whether the era was assumed without evidence from the server.
    is_guess: bool,
}

impl KnownEra {
    pub(crate) const fn new(allowed: Eras) -> Self {
        Self {
            allowed,
            found: None,
            preferred: Era::Modern,
            refuses_sessions: false,
            last: None,
            refused_by: None,
            last_resort: LastResort::new(),
        }
    }

    /// Returns the state that a link begins in: ready if it is pinned to the stateless era, else without a
    /// session.
    pub(crate) fn first_session(&self) -> Session {
        match self.allowed {
            Eras::Only(era) => Session::new(era),
            Eras::Either => Session::Absent,
        }
    }

    /// Returns the first request of the next handshake.
    pub(crate) fn opens(&self, now: Moment) -> Opens {
        if self.last_resort.is_spoken(now) {
            return Opens::Initialize(Carrier::HttpSse);
        }
        match (self.allowed, self.found) {
            (Eras::Only(_), _) => Opens::Initialize(Carrier::StreamableHttp),
            (Eras::Either, Some(Found { era: Era::Legacy, until, .. })) if now < until => {
                Opens::Initialize(Carrier::StreamableHttp)
            }
            (Eras::Either, _) if self.asks_for_a_session() => {
                Opens::Initialize(Carrier::StreamableHttp)
            }
            (Eras::Either, _) => Opens::Discover,
        }
    }

    /// Whether the link asks for a session before it asks for the era.
    const fn asks_for_a_session(&self) -> bool {
        self.preferred.has_sessions() && !self.refuses_sessions
    }

    /// Notes that the server gave a session.
    pub(crate) const fn gave_a_session(&mut self) {
        self.refuses_sessions = false;
    }

    /// Forgets the era, so that the server is asked again.
    pub(crate) const fn forget(&mut self) {
        self.found = None;
        self.last_resort.forget();
    }

    /// Notes the era that a question in a session found. Returns the era found before.
    pub(crate) fn found(&mut self, now: Moment, era: Era) -> Option<Era> {
        self.last_resort.forget();
        self.found = Some(Found { era, until: now + Era::LEGACY_LASTS, is_guess: false });
        self.last.replace(era)
    }

    /// Assumes the legacy era for a minute, without evidence.
    pub(crate) fn assume_legacy(&mut self, now: Moment) {
        let until = now + GUESS_LASTS;
        self.found = Some(Found { era: Era::Legacy, until, is_guess: true });
    }

    /// Notes that the server gave no session, so that it is asked for its era next.
    pub(crate) const fn gave_no_session(&mut self) {
        self.refuses_sessions = true;
    }

    /// Whether the era is open, because the link is not pinned to one.
    pub(crate) fn is_open(&self) -> bool {
        self.allowed == Eras::Either
    }

    /// Whether a session was asked for before anything was known of the era.
    pub(crate) const fn asked_for_a_session_first(&self) -> bool {
        self.found.is_none() && self.preferred.has_sessions()
    }

    /// Whether the legacy era was assumed without evidence.
    pub(crate) fn is_guessed(&self) -> bool {
        self.found.is_some_and(|found| found.is_guess)
    }

    const fn era(&self) -> Era {
        match (self.allowed, self.found) {
            (Eras::Only(era), _) | (Eras::Either, Some(Found { era, .. })) => era,
            (Eras::Either, None) => Era::Legacy,
        }
    }
}

impl Sessions {
    /// Whether another session can take the place of the one in force.
    pub(crate) fn can_lose_session(&self) -> bool {
        self.era.allowed == Eras::Either || self.era().has_sessions()
    }

    /// Returns the era of the session in force, or of the one that is expected.
    pub(crate) fn era(&self) -> Era {
        self.ready().map_or_else(|| self.era.era(), |ready| ready.version.era())
    }

    /// Returns the doubt about the era that a refusal raises, if only a server of the other era would give
    /// it.
    pub(crate) fn era_doubt(
        &self,
        sent: &Sent,
        head: &AnswerHead,
        answer: &PostAnswer,
    ) -> Option<EraDoubt> {
        let reading = &answer.reading;
        if !self.is_from_the_other_era(&sent.to, head, reading) {
            return None;
        }
        let refusal = RefusedBy::new(head, reading);
        // These codes refuse the form of a request, before the server looks at what it asks.
        let is_form = answer.named.is_some()
            && matches!(refusal.code, Some(HEADER_MISMATCH | UNSUPPORTED_VERSION));
        let is_proof = is_form || matches!(reading, PostReading::Rejected(_, Delivery::Refused));
        Some(EraDoubt { otherwise: reading.clone(), refusal, is_proof })
    }

    pub(crate) fn is_from_the_other_era(
        &self,
        to: &Address,
        head: &AnswerHead,
        reading: &PostReading,
    ) -> bool {
        let answer = match reading {
            PostReading::Answer(answer) => Some(answer),
            PostReading::Rejected(..) => None,
            _ => return false,
        };
        let is_pinned = self.era.allowed != Eras::Either;
        !is_pinned && is_from_the_other_era(to.era(), head.status, answer)
    }

    /// Whether an answer shows that the server has left the era that a request was sent in.
    pub(crate) fn met_the_other_era(
        &mut self,
        to: &Address,
        head: &AnswerHead,
        reading: &PostReading,
    ) -> bool {
        if !self.is_from_the_other_era(to, head, reading) {
            return false;
        }
        let is_current = self.ready().map(Ready::generation) == Some(to.generation);
        if is_current {
            self.era.forget();
        }
        true
    }

    pub(crate) fn opening_place(&mut self) -> Option<(Generation, Option<Arc<str>>)> {
        let renewal = self.renewal()?;
        match &renewal.stage {
            Stage::Opening(Opening { generation, .. }) => {
                Some((*generation, renewal.target.clone()))
            }
            _ => None,
        }
    }

    pub(crate) fn found_era(&mut self, cx: &mut Context, era: Era) {
        if let Some(renewal) = self.renewal() {
            renewal.is_discovered = true;
        }
        let before = self.era.found(cx.now, era);
        cx.tell(Event::EraFound { era });
        if (before, era) == (Some(Era::Modern), Era::Legacy) {
            cx.tell(Event::EraDowngraded);
        }
    }

    /// Sets the era to use with a server that speaks both.
    pub(crate) const fn prefer_era(&mut self, era: Era) {
        self.era.preferred = era;
    }

    /// Takes over what an earlier process found out about the server's era, `age` ago.
    pub(crate) fn remember_era(&mut self, now: Moment, era: Era, age: Duration) {
        let until = now + Era::LEGACY_LASTS.saturating_sub(age);
        self.era.last = Some(era);
        self.era.found = Some(Found { era, until, is_guess: false });
    }

    /// Returns the session in force if it was made on a guess that no longer holds and owes no call an
    /// answer.
    pub(super) fn guessed_in_vain(&self, cx: &Context) -> Option<Address> {
        let ready = self.ready().filter(|ready| ready.is_guessed)?;
        let is_call = |owner: &Owner| matches!(owner, Owner::Exchange(_));
        let mut out = cx.attempts.iter();
        let is_used =
            out.any(|attempt| attempt.generation == ready.generation() && is_call(&attempt.owner));
        (!is_used && !self.era.is_guessed()).then(|| ready.address.clone())
    }
}

/// How long a guessed era is believed.
const GUESS_LASTS: Duration = Duration::from_secs(60);
