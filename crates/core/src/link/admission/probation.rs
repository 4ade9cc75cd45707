//! Probation: after trouble at the server, unsafe calls wait until it has shown that it answers.
//!
//! ```text
//!   Passed ──trouble──▶ Held ──a harmless request is answered──▶ Growing ──all that waited are answered──▶ Passed
//!                       ▲  │                                       │  ▲
//!                       │  └──silence for 10 s──▶ Alone ──answered─┼──┘
//!                       └──────────── no answer ──────┴────────────┘
//! ```
//! The links of one server find out together: one asks, and what it hears is told to the others (`Trusting`).
//!
//! An unsafe call that meets an outage ends in doubt, and a harmless request that meets one costs nothing. So
//! the harmless one goes first; then unsafe calls follow in groups of 1, 2, 4, …, because a door that is open
//! is not yet a server that works. Tries to find out are paced as connects are.

use std::collections::BTreeSet;
use std::time::Duration;

use crate::backoff::gap;
use crate::ids::{AttemptId, ExchangeId};
use crate::moment::Moment;
use crate::rng::Rng;

/// Whether unsafe calls go out, and what is known of a server in trouble.
#[derive(Debug, Default)]
pub(crate) struct Probation {
    phase: ProbationPhase,
    /// Since when the server is in trouble, until an unsafe call is answered.
    since: Option<Moment>,
    /// How many tries to find out have failed.
    failures: u32,
    /// The last attempt before the trouble was met. An answer to a later one says something.
    last_attempt: AttemptId,
    /// Whether no trouble holds calls.
    is_off: bool,
}

#[derive(Debug, Default)]
enum ProbationPhase {
    /// The server accepts requests and answers none: one unsafe call is out, and the next question follows at
    /// `next`.
    Alone { id: ExchangeId, next: Moment },
    /// Unsafe calls go out in groups.
    Growing(Group),
    /// They wait. The next try to find out is due at `next`; `asked` says since when one is out.
    Held { next: Moment, asked: Option<Moment> },
    /// They go out.
    #[default]
    Passed,
    /// Another link was answered: they go out in groups from `at` on, after the first one of that link.
    Trusting { at: Moment },
}

/// The unsafe calls that may be out at once.
#[derive(Debug)]
struct Group {
    size: u32,
    /// How many of it may still go out.
    room: u32,
    out: BTreeSet<ExchangeId>,
    began: Moment,
}

impl Probation {
    /// Whether unsafe calls have to ask.
    pub(crate) const fn is_on(&self) -> bool {
        !matches!(self.phase, ProbationPhase::Passed)
    }

    /// Never holds calls from now on.
    pub(crate) const fn switch_off(&mut self) {
        self.is_off = true;
    }

    /// Whether no trouble holds calls.
    pub(crate) const fn is_off(&self) -> bool {
        self.is_off
    }

    /// Holds unsafe calls, because the server was met in trouble. A `hint` is how long it asks to be left
    /// alone. Returns whether that was not known.
    pub(crate) fn trouble(
        &mut self,
        now: Moment,
        last_attempt: AttemptId,
        hint: Option<Duration>,
        rng: &mut Rng,
    ) -> bool {
        if self.is_off {
            return false;
        }
        let known = self.next_question();
        let hinted = now + hint.unwrap_or_default().min(LONGEST_HINT);
        let since = *self.since.get_or_insert(now);
        let next = match self.phase {
            ProbationPhase::Held { next, asked: None } => next.max(hinted),
            _ if self.failures == 0 => hinted + rng.between(Duration::ZERO, FIRST_JITTER),
            _ => hinted.max(now + gap(now.since(since), self.failures, rng)),
        };
        if !matches!(self.phase, ProbationPhase::Held { asked: None, .. }) {
            self.failures = self.failures.saturating_add(1);
        }
        self.last_attempt = self.last_attempt.max(last_attempt);
        self.phase = ProbationPhase::Held { next, asked: None };
        known != Some(next)
    }

    /// Lets an unsafe call go out, if there is room for it.
    pub(crate) fn pass(&mut self, call: ExchangeId) -> bool {
        match &mut self.phase {
            ProbationPhase::Alone { id, .. } => *id == call,
            ProbationPhase::Growing(group) => group.take(call),
            ProbationPhase::Held { .. } | ProbationPhase::Trusting { .. } => false,
            ProbationPhase::Passed => true,
        }
    }

    /// Returns how many of the calls that wait may go out now.
    pub(crate) fn room(&self) -> usize {
        match &self.phase {
            ProbationPhase::Alone { .. }
            | ProbationPhase::Held { .. }
            | ProbationPhase::Trusting { .. } => 0,
            ProbationPhase::Growing(group) => group.room as usize,
            ProbationPhase::Passed => usize::MAX,
        }
    }

    /// Returns when something is to be done, if calls wait.
    pub(crate) fn due(&self) -> Option<Moment> {
        match &self.phase {
            ProbationPhase::Alone { next, .. } => Some(*next),
            ProbationPhase::Held { asked: Some(asked), .. } => Some(*asked + SILENCE),
            ProbationPhase::Held { next, asked: None } => Some(*next),
            ProbationPhase::Growing(group) => Some(group.began + STEP),
            ProbationPhase::Passed => None,
            ProbationPhase::Trusting { at } => Some(*at),
        }
    }

    /// Returns when a harmless request may go out to find out, if none is out.
    pub(crate) const fn next_question(&self) -> Option<Moment> {
        match self.phase {
            ProbationPhase::Alone { next, .. } | ProbationPhase::Held { next, asked: None } => {
                Some(next)
            }
            _ => None,
        }
    }

    /// Whether a call that waits to be repeated finds out, and not a question. Where one method always fails, the
    /// question has its turn.
    pub(crate) const fn prefers_a_call(&self) -> bool {
        self.failures % 2 == 1
    }

    /// Notes that a harmless request is out.
    pub(crate) fn asked(&mut self, now: Moment) {
        match &mut self.phase {
            ProbationPhase::Alone { next, .. } => *next = now + SILENCE,
            ProbationPhase::Held { asked, .. } => *asked = Some(now),
            ProbationPhase::Growing(_)
            | ProbationPhase::Passed
            | ProbationPhase::Trusting { .. } => {}
        }
    }

    /// Notes that another link of this server was answered. Its first call goes before those of this link.
    pub(crate) fn peer_answered(&mut self, now: Moment, rng: &mut Rng) {
        if matches!(self.phase, ProbationPhase::Held { .. }) {
            self.phase = ProbationPhase::Trusting { at: now + rng.between(PEER_FIRST, PEER_LAST) };
        }
    }

    /// Puts the next try off, because the last one found nothing out.
    pub(crate) fn undecided(&mut self, now: Moment, rng: &mut Rng) {
        let since = self.since.unwrap_or(now);
        match &mut self.phase {
            ProbationPhase::Alone { next, .. } => *next = now + SILENCE,
            ProbationPhase::Held { next, asked } => {
                *next = (*next).max(now + gap(now.since(since), self.failures, rng));
                *asked = None;
                self.failures = self.failures.saturating_add(1);
            }
            ProbationPhase::Growing(_)
            | ProbationPhase::Passed
            | ProbationPhase::Trusting { .. } => {}
        }
    }

    /// Lets this call out alone, because the server accepts requests and answers none.
    pub(crate) fn let_one_out(&mut self, now: Moment, id: ExchangeId) {
        if matches!(self.phase, ProbationPhase::Held { .. }) {
            self.phase = ProbationPhase::Alone { id, next: now + SILENCE };
        }
    }

    /// Whether the silence after a question has lasted for too long.
    pub(crate) fn is_silent(&self, now: Moment) -> bool {
        matches!(self.phase, ProbationPhase::Held { asked: Some(asked), .. } if now >= asked + SILENCE)
    }

    /// Notes that the server answered this attempt. Returns whether calls may go out for that.
    pub(crate) fn answered(&mut self, now: Moment, attempt: Option<AttemptId>) -> bool {
        let is_later = attempt.is_none_or(|attempt| attempt > self.last_attempt);
        let is_held = matches!(
            self.phase,
            ProbationPhase::Alone { .. }
                | ProbationPhase::Held { .. }
                | ProbationPhase::Trusting { .. }
        );
        if is_later && is_held {
            self.phase = ProbationPhase::Growing(Group::new(now, 1));
        }
        is_later && is_held
    }

    /// Notes the end of a call that went out on probation; `is_answered` says whether the server answered it.
    /// Returns whether more calls may go out for that.
    pub(crate) fn ended(&mut self, now: Moment, id: ExchangeId, is_answered: bool) -> bool {
        match &mut self.phase {
            ProbationPhase::Alone { id: alone, .. } if *alone == id => {
                self.phase = if is_answered {
                    ProbationPhase::Growing(Group::new(now, 1))
                } else {
                    ProbationPhase::Held { next: now, asked: None }
                };
                true
            }
            ProbationPhase::Growing(group) if group.out.contains(&id) => {
                group.out.remove(&id);
                if is_answered {
                    (self.since, self.failures) = (None, 0);
                }
                group.out.is_empty()
            }
            _ => false,
        }
    }

    /// Whether this call went out on probation.
    pub(crate) fn is_out(&self, id: ExchangeId) -> bool {
        match &self.phase {
            ProbationPhase::Alone { id: alone, .. } => *alone == id,
            ProbationPhase::Growing(group) => group.out.contains(&id),
            ProbationPhase::Held { .. }
            | ProbationPhase::Passed
            | ProbationPhase::Trusting { .. } => false,
        }
    }

    /// Begins the next group, of which a part may be out still; without calls that wait the probation is over.
    pub(crate) fn grow(&mut self, now: Moment, has_waiters: bool) {
        if matches!(self.phase, ProbationPhase::Trusting { at } if at <= now) {
            self.phase = ProbationPhase::Growing(Group::new(now, 1));
            return;
        }
        let ProbationPhase::Growing(group) = &mut self.phase else { return };
        if !has_waiters && group.out.is_empty() {
            *self = Self::default();
        } else if group.room == 0 {
            let out = std::mem::take(&mut group.out);
            *group = Group { out, ..Group::new(now, group.size.saturating_mul(2)) };
        } else {
            group.began = now;
        }
    }
}

impl Group {
    fn new(now: Moment, size: u32) -> Self {
        Self { size, room: size, out: BTreeSet::new(), began: now }
    }

    fn take(&mut self, call: ExchangeId) -> bool {
        if self.out.contains(&call) {
            return true;
        }
        let has_room = self.room > 0;
        if has_room {
            self.room -= 1;
            self.out.insert(call);
        }
        has_room
    }
}

/// How long after the first trouble the first question follows at the latest.
const FIRST_JITTER: Duration = Duration::from_millis(50);
/// How long a server may be silent after it accepted a question.
const SILENCE: Duration = Duration::from_secs(10);
/// How long a group is waited for before the next one goes out.
const STEP: Duration = Duration::from_secs(1);
/// How long after another link was answered calls follow here.
const PEER_FIRST: Duration = Duration::from_millis(50);
const PEER_LAST: Duration = Duration::from_millis(300);
/// The longest time for which a hint is kept.
const LONGEST_HINT: Duration = Duration::from_secs(3600);
