//! Which era the server belongs to, as far as it is known, and what makes the link ask again.
//!
//! ```text
//!   unknown ──server/discover──▶ modern ──refused as by a legacy server───────▶ unknown
//!      └────────────────────────▶ legacy ──an hour; refused as by a modern one──▶ unknown
//! ```
//! A legacy server may also be one of 2024-11-05 (see `last_resort`); that is forgotten with its era.
//!
//! A link that is pinned to one era never asks. A refusal that comes from the wrong era is not a run: the
//! call goes out again, once, when the era is known anew.

use std::sync::Arc;
use std::time::Duration;

use http::StatusCode;

use super::Link;
use super::last_resort::LastResort;
use super::renewal::{Opening, Opens, Ready, Session, Stage};
use crate::discovery::{self, Verdict};
use crate::era::{Carrier, Era, Eras};
use crate::event::Event;
use crate::exchange::{Ending, PostReading, Sent};
use crate::head::AnswerHead;
use crate::ids::Generation;
use crate::message::Answer;
use crate::message::code::{
    HEADER_MISMATCH, INVALID_PARAMS, METHOD_NOT_FOUND, UNSUPPORTED_VERSION,
};
use crate::moment::Moment;
use crate::outcome::{Kind, Reason};
use crate::output::Address;

/// What is known of the server's era.
#[derive(Debug)]
pub(super) struct KnownEra {
    allowed: Eras,
    found: Option<Found>,
    /// What it was when it was last found, in doubt now or not.
    last: Option<Era>,
    /// What is known of the oldest way to speak.
    pub(super) last_resort: LastResort,
}

#[derive(Clone, Copy, Debug)]
struct Found {
    era: Era,
    /// A legacy verdict is believed until then.
    until: Moment,
}

impl KnownEra {
    pub(super) const fn new(allowed: Eras) -> Self {
        Self { allowed, found: None, last: None, last_resort: LastResort::new() }
    }

    /// The session to begin with: one era needs none, if it is the only one.
    pub(super) fn first_session(&self) -> Session {
        match self.allowed {
            Eras::Only(era) => Session::new(era),
            Eras::Either => Session::Absent,
        }
    }

    /// What the next handshake begins with.
    pub(super) fn opens(&self, now: Moment) -> Opens {
        if self.last_resort.is_spoken(now) {
            return Opens::Initialize(Carrier::HttpSse);
        }
        match (self.allowed, self.found) {
            (Eras::Only(_), _) => Opens::Initialize(Carrier::StreamableHttp),
            (Eras::Either, Some(Found { era: Era::Legacy, until })) if now < until => {
                Opens::Initialize(Carrier::StreamableHttp)
            }
            (Eras::Either, _) => Opens::Discover,
        }
    }

    /// What is known is in doubt: the server is asked again.
    pub(super) const fn forget(&mut self) {
        self.found = None;
        self.last_resort.forget();
    }

    const fn era(&self) -> Era {
        match (self.allowed, self.found) {
            (Eras::Only(era), _) | (Eras::Either, Some(Found { era, .. })) => era,
            (Eras::Either, None) => Era::Legacy,
        }
    }
}

impl Link {
    /// Takes over what was found of this server's era in an earlier life, so long ago. What turns out to
    /// be wrong is corrected like everything that a link found itself. A pinned link keeps to its era.
    pub fn remember_era(&mut self, now: Moment, era: Era, age: Duration) {
        let until = now + Era::LEGACY_LASTS.saturating_sub(age);
        self.known_era.last = Some(era);
        self.known_era.found = Some(Found { era, until });
    }

    /// The era of the session in force, or of the one that is expected.
    pub(super) fn era(&self) -> Era {
        self.session.ready().map_or_else(|| self.known_era.era(), |ready| ready.version.era())
    }

    /// Whether there may be another session than the one in force.
    pub(super) fn can_lose_session(&self) -> bool {
        self.known_era.allowed == Eras::Either || self.era().has_sessions()
    }

    /// A refusal that a server of the other era would give is read as what it is: word of a change, not
    /// of the call. Only once for a call: a server may really mean it.
    pub(super) fn read_by_era(
        &mut self,
        sent: &Sent,
        head: &AnswerHead,
        reading: PostReading,
        is_renewed: bool,
    ) -> PostReading {
        match is_renewed || !self.met_the_other_era(&sent.to, head, &reading) {
            true => reading,
            false => PostReading::SessionLost,
        }
    }

    /// Whether an answer shows that the server has left the era that a request was sent in.
    pub(super) fn met_the_other_era(
        &mut self,
        to: &Address,
        head: &AnswerHead,
        reading: &PostReading,
    ) -> bool {
        let answer = match reading {
            PostReading::Answer(answer) => Some(answer),
            PostReading::Rejected(_) => None,
            _ => return false,
        };
        let is_pinned = self.known_era.allowed != Eras::Either;
        if is_pinned || !is_from_the_other_era(to.era(), head.status, answer) {
            return false;
        }
        let is_current = self.session.ready().map(Ready::generation) == Some(to.generation);
        if is_current {
            self.known_era.forget();
        }
        true
    }

    /// Makes of an answer to `server/discover` what it means.
    pub(super) fn discovered(&mut self, now: Moment, head: &AnswerHead, reading: PostReading) {
        let answer = match &reading {
            PostReading::Answer(answer) | PostReading::Suspected(answer) => Some(answer),
            _ => None,
        };
        match (discovery::verdict(head.status, answer), answer) {
            (Verdict::Modern(version), Some(Answer::Result(server))) => {
                let server = Some(server.clone());
                self.found_era(now, Era::Modern);
                let Some((generation, target)) = self.opening_place() else { return };
                let address = Address { generation, target, ..Address::default() };
                self.become_ready(now, Ready::new(version, address, server));
            }
            (Verdict::Modern(_), _) => self.ask_once_more(now, answer.cloned()),
            (Verdict::Legacy, _) => {
                self.found_era(now, Era::Legacy);
                self.try_handshake(now);
            }
            (Verdict::Disjoint { supported }, _) => {
                self.fail_incompatible(now, supported.join(", "));
            }
            (Verdict::Refused, answer) => {
                let words = answer.and_then(Answer::error).map(|it| it.message);
                self.fail_incompatible(now, words.unwrap_or_default());
            }
            // A guard that speaks JSON-RPC is still a guard.
            (Verdict::NoEvidence, Some(_)) => {
                self.initialize_answered(now, head, PostReading::Rejected(head.status));
            }
            (Verdict::NoEvidence, None) => self.initialize_answered(now, head, reading),
        }
    }

    /// `initialize` was refused: perhaps the server has left its era. Returns whether it is asked again:
    /// not if it has just been asked.
    pub(super) fn doubts_era(&mut self, now: Moment, reading: &PostReading) -> bool {
        let Some(renewal) = self.session.renewal() else { return false };
        let is_new = renewal.is_discovered;
        let is_refused = match reading {
            PostReading::Answer(answer) => answer.error().is_some(),
            PostReading::Rejected(status) => is_refusal(*status),
            _ => false,
        };
        if is_new || !is_refused || self.known_era.allowed != Eras::Either {
            return false;
        }
        self.known_era.forget();
        self.try_handshake(now);
        true
    }

    fn found_era(&mut self, now: Moment, era: Era) {
        if let Some(renewal) = self.session.renewal() {
            renewal.is_discovered = true;
        }
        self.known_era.found = Some(Found { era, until: now + Era::LEGACY_LASTS });
        self.tell(Event::EraFound { era });
        let before = self.known_era.last.replace(era);
        if (before, era) == (Some(Era::Modern), Era::Legacy) {
            self.tell(Event::EraDowngraded);
        }
    }

    /// A modern server refused the revision that it names itself: perhaps it was in passing.
    fn ask_once_more(&mut self, now: Moment, answer: Option<Answer>) {
        let Some(renewal) = self.session.renewal() else { return };
        if std::mem::replace(&mut renewal.is_asked_again, true) {
            let words = answer.as_ref().and_then(Answer::error).map(|it| it.message);
            return self.fail_incompatible(now, words.unwrap_or_default());
        }
        self.try_handshake(now);
    }

    fn fail_incompatible(&mut self, now: Moment, words: String) {
        let ending = Ending::new(Kind::Incompatible, Reason::Said(words.into()));
        self.fail_session_waiters(now, &ending);
    }

    fn opening_place(&mut self) -> Option<(Generation, Option<Arc<str>>)> {
        let renewal = self.session.renewal()?;
        match &renewal.stage {
            Stage::Opening(Opening { generation, .. }) => {
                Some((*generation, renewal.target.clone()))
            }
            _ => None,
        }
    }
}

/// Whether a server of the other era would refuse a request of this one so, before it ran.
fn is_from_the_other_era(era: Era, status: StatusCode, answer: Option<&Answer>) -> bool {
    let code = answer.map(|answer| answer.error().map(|error| error.code));
    match (era, code) {
        // A result is a result.
        (_, Some(None)) => false,
        (Era::Legacy, Some(Some(code))) => {
            let verdict = discovery::verdict(status, answer);
            match code {
                UNSUPPORTED_VERSION => matches!(verdict, Verdict::Modern(_)),
                // It misses headers that a session does not have.
                HEADER_MISMATCH => is_refusal(status),
                _ => false,
            }
        }
        (Era::Legacy, None) => false,
        (Era::Modern, Some(Some(UNSUPPORTED_VERSION))) => {
            discovery::verdict(status, answer) == Verdict::Legacy
        }
        // It wants a session, or does not know the revision; a modern one has codes for what is wrong.
        (Era::Modern, code) => {
            let is_modern_word = matches!(
                code.flatten(),
                Some(METHOD_NOT_FOUND | INVALID_PARAMS | FIRST_MODERN..=LAST_MODERN)
            );
            is_refusal(status) && !is_modern_word
        }
    }
}

/// Whether a server says so what it thinks of a request that it did not understand.
fn is_refusal(status: StatusCode) -> bool {
    matches!(status.as_u16(), 400 | 404 | 405 | 406 | 415)
}

/// The codes that the stateless revision keeps for itself.
pub(super) const FIRST_MODERN: i64 = -32099;
pub(super) const LAST_MODERN: i64 = -32020;
