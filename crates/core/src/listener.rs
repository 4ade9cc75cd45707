//! The standing stream: it carries the messages of the server that belong to no call.
//!
//! ```text
//!   Off ──session ready──▶ Opening ──200──▶ Open
//!                            ▲  │             │ ended or cut
//!                 time is up │  │ refused     ▼
//!                            └── Waiting ◀────┘        405, or 404 at first: Unsupported
//! ```
//! It is optional and isolated: nothing on it may fail a call or end a session. There is never more than one.
//! The pauses between tries grow from 1 s to 5 min, and begin anew only after a stream that lasted.

use std::collections::BTreeSet;
use std::time::Duration;

use ridethrough_wire::sse::EventId;

use crate::answer::status;
use crate::backoff::Window;
use crate::head::AnswerHead;
use crate::ids::{AttemptId, ConnectionId};
use crate::moment::Moment;
use crate::rng::Rng;

/// The standing stream of the current session.
#[derive(Debug, Default)]
pub(crate) struct Listener {
    state: ListenerState,
    failures: u32,
    /// How many sessions in a row were lost, with their stream, before the stream had lasted.
    lost_with_session: u32,
    /// Whether the current request for the stream was made after a pause.
    has_waited: bool,
    last_event_id: Option<EventId>,
    retry: Option<Duration>,
    /// Whether a stream was ever open in this session: a 404 then means something else.
    was_open: bool,
    lost_at: Option<Moment>,
    credentials_renewed: bool,
    /// The request for the stream to a stateless server.
    subscription: Option<Subscription>,
    /// The head of an answer that is no stream, while its body is on its way.
    refusal: Option<Refusal>,
    /// The connection that the open stream holds.
    connection: Option<ConnectionId>,
    /// An older stream that is aborted once the new one is acknowledged.
    replaced: Option<AttemptId>,
}

/// A request for the stream of the stateless era, which is open only once it is acknowledged.
#[derive(Debug)]
struct Subscription {
    wire_id: u64,
    until: Moment,
    /// The resources that it asks for.
    asked: BTreeSet<Box<str>>,
    /// Whether the subscriptions have changed since.
    is_outdated: bool,
}

/// An answer whose body decides what it means.
#[derive(Debug)]
struct Refusal {
    head: Box<AnswerHead>,
    /// When the body must have arrived.
    until: Moment,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum ListenerState {
    /// A question about the session is out.
    Checking,
    #[default]
    Off,
    Open {
        attempt: AttemptId,
        since: Moment,
    },
    Opening {
        attempt: AttemptId,
    },
    /// The server has no standing stream.
    Unsupported,
    Waiting {
        until: Moment,
    },
}

/// What the link must do about an answer to the GET.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ListenerVerdict {
    /// Ask whether the session is alive: after a 404 or 405 on a stream that was open before, or after words
    /// of a lost session.
    CheckSession,
    /// The stream is open; `gap` is the interruption to report, if there was one.
    Opened {
        gap: Option<Duration>,
    },
    RenewCredentials,
    Unsupported,
    Wait {
        until: Moment,
    },
}

impl Listener {
    pub(crate) const fn state(&self) -> ListenerState {
        self.state
    }

    /// Returns the attempt that is out, if one is.
    pub(crate) const fn attempt(&self) -> Option<AttemptId> {
        match self.state {
            ListenerState::Open { attempt, .. } | ListenerState::Opening { attempt } => {
                Some(attempt)
            }
            _ => None,
        }
    }

    /// Returns the connection that the open stream holds.
    pub(crate) fn held_connection(&self) -> Option<ConnectionId> {
        self.connection.filter(|_| matches!(self.state, ListenerState::Open { .. }))
    }

    /// Whether the stream waits for the result of a question about its session.
    pub(crate) fn is_checking(&self) -> bool {
        self.state == ListenerState::Checking
    }

    pub(crate) const fn last_event_id(&self) -> Option<&EventId> {
        self.last_event_id.as_ref()
    }

    /// Returns the id of the request for the stream to a stateless server.
    pub(crate) fn wire_id(&self) -> Option<u64> {
        self.subscription.as_ref().map(|it| it.wire_id)
    }

    /// Returns when the server must have decided about the stream.
    pub(crate) fn decided_until(&self) -> Option<Moment> {
        let acknowledged = self.subscription.as_ref().map(|it| it.until);
        self.refusal.as_ref().map(|refusal| refusal.until).or(acknowledged)
    }

    /// Whether a stateless server was asked for this resource.
    pub(crate) fn asked_for(&self, uri: &str) -> bool {
        self.subscription.as_ref().is_some_and(|it| it.asked.contains(uri))
    }

    /// Keeps the head of an answer that is no stream, until its body arrives.
    pub(crate) fn refused(&mut self, now: Moment, head: &AnswerHead) {
        self.refusal = Some(Refusal { head: Box::new(head.clone()), until: now + WORDS });
    }

    /// Takes the head that the arrived body belongs to.
    pub(crate) fn take_refusal(&mut self) -> Option<AnswerHead> {
        self.refusal.take().map(|refusal| *refusal.head)
    }

    /// Whether at most one stream has failed in a row.
    pub(crate) const fn is_trusted(&self) -> bool {
        self.failures <= 1
    }

    /// Resets the stream for a new session, except for the counts of failures: a server that loses its
    /// session with each stream must not be given a new one at once for ever. Returns the attempts to abort.
    pub(crate) fn session_changed(
        &mut self,
        now: Moment,
        stable_after: Duration,
    ) -> impl Iterator<Item = AttemptId> + use<> {
        let (old, replaced) = (self.attempt(), self.replaced);
        let lost_at = self.lost_at.or(old.map(|_| now));
        self.note_lost_with_session(now, stable_after);
        let (failures, lost_with_session) = (self.failures, self.lost_with_session);
        *self = Self { lost_at, failures, lost_with_session, ..Self::default() };
        old.into_iter().chain(replaced)
    }

    /// Pauses before the first stream of a session, if the streams of the last few sessions were soon lost
    /// with them. Returns whether it does.
    pub(crate) fn rests_in_new_session(&mut self, now: Moment, rng: &mut Rng) -> bool {
        let is_tired = self.lost_with_session > QUICK_SESSIONS;
        if is_tired {
            let pause = PAUSE.half_jitter(self.lost_with_session - QUICK_SESSIONS - 1, rng);
            self.state = ListenerState::Waiting { until: now + pause };
        }
        is_tired
    }

    pub(crate) const fn opening(&mut self, attempt: AttemptId) {
        self.has_waited = matches!(self.state, ListenerState::Waiting { .. });
        self.state = ListenerState::Opening { attempt };
    }

    /// Notes that a stateless server was asked for the stream.
    pub(crate) fn subscribing(
        &mut self,
        attempt: AttemptId,
        wire_id: u64,
        until: Moment,
        asked: BTreeSet<Box<str>>,
    ) {
        self.state = ListenerState::Opening { attempt };
        self.subscription = Some(Subscription { wire_id, until, asked, is_outdated: false });
    }

    /// Prepares to replace the open stream. One that is being opened is waited for first. Returns the attempt
    /// to abort.
    pub(crate) fn replace(&mut self) -> Option<AttemptId> {
        match self.state {
            ListenerState::Open { attempt, .. } => {
                self.state = ListenerState::Off;
                self.replaced.replace(attempt)
            }
            ListenerState::Opening { .. } => {
                if let Some(subscription) = &mut self.subscription {
                    subscription.is_outdated = true;
                }
                None
            }
            _ => None,
        }
    }

    /// Whether the subscriptions have changed since they were requested.
    pub(crate) fn is_outdated(&self) -> bool {
        self.subscription.as_ref().is_some_and(|it| it.is_outdated)
    }

    /// Notes the acknowledgement of a stateless server. Returns the older stream, and the gap to report if
    /// there was one; `None` if it was acknowledged before.
    pub(crate) fn acknowledged(
        &mut self,
        now: Moment,
    ) -> Option<(Option<AttemptId>, Option<Duration>)> {
        let ListenerState::Opening { attempt } = self.state else { return None };
        self.state = ListenerState::Open { attempt, since: now };
        self.was_open = true;
        let replaced = self.replaced.take();
        let gap = self.lost_at.take().map(|lost| now.since(lost));
        Some((replaced, gap))
    }

    /// Notes the end of an attempt. Returns whether it was the stream that was being replaced.
    pub(crate) fn lost_replaced(&mut self, now: Moment, attempt: AttemptId) -> bool {
        let is_lost = self.replaced.take_if(|replaced| *replaced == attempt).is_some();
        if is_lost {
            self.lost_at = self.lost_at.or(Some(now));
        }
        is_lost
    }

    /// Notes that the server has no such stream.
    pub(crate) const fn is_unsupported(&mut self) {
        self.state = ListenerState::Unsupported;
    }

    /// Handles the answer to the GET.
    pub(crate) fn answered(
        &mut self,
        now: Moment,
        head: &AnswerHead,
        rng: &mut Rng,
    ) -> ListenerVerdict {
        if head.is_stream()
            && let Some(attempt) = self.attempt()
        {
            self.state = ListenerState::Open { attempt, since: now };
            self.was_open = true;
            self.connection = head.connection;
            let gap = self.lost_at.take().map(|lost| now.since(lost));
            return ListenerVerdict::Opened { gap };
        }
        if status::is_no_stream_here(head.status) && self.subscription.is_none() {
            return if self.was_open { self.check_session() } else { self.unsupported() };
        }
        if status::is_unauthorized(head.status) && !self.credentials_renewed {
            self.credentials_renewed = true;
            self.state = ListenerState::Off;
            return ListenerVerdict::RenewCredentials;
        }
        if !status::is_passing_for_the_listener(head.status) {
            // The server may have forgotten this event id.
            self.last_event_id = None;
        }
        ListenerVerdict::Wait { until: self.back_off(now, head.retry_after, rng) }
    }

    /// Handles an answer that says that the session is unknown. If the server says so of every new session,
    /// it is asked only after a pause.
    pub(crate) fn session_denied(&mut self, now: Moment, rng: &mut Rng) -> ListenerVerdict {
        if self.failures > 0 && !self.has_waited {
            return ListenerVerdict::Wait { until: self.back_off(now, None, rng) };
        }
        self.failures = self.failures.saturating_add(1);
        self.refusal = None;
        self.check_session()
    }

    const fn check_session(&mut self) -> ListenerVerdict {
        self.state = ListenerState::Checking;
        ListenerVerdict::CheckSession
    }

    /// Notes that the stream ended, was cut, or could not be opened. Returns when to try again.
    pub(crate) fn ended(&mut self, now: Moment, stable_after: Duration, rng: &mut Rng) -> Moment {
        if let ListenerState::Open { .. } = self.state {
            self.lost_at = Some(now);
            if self.has_lasted(now, stable_after) {
                self.failures = 0;
                self.credentials_renewed = false;
            }
        }
        self.back_off(now, None, rng)
    }

    /// Whether the open stream has lasted. Acceptance alone does not show that the next one will.
    fn has_lasted(&self, now: Moment, stable_after: Duration) -> bool {
        matches!(self.state, ListenerState::Open { since, .. } if now.since(since) >= stable_after)
    }

    /// Schedules another try after a question that found the session alive.
    pub(crate) fn session_is_alive(&mut self, now: Moment, rng: &mut Rng) -> Option<Moment> {
        (self.state == ListenerState::Checking).then(|| self.back_off(now, None, rng))
    }

    /// Shortens a pause that an outage made long, because the server can be reached again.
    pub(crate) fn link_is_back(&mut self, now: Moment, rng: &mut Rng) {
        if let ListenerState::Waiting { until } = self.state {
            let soon = now + PAUSE.half_jitter(0, rng);
            self.state = ListenerState::Waiting { until: until.min(soon) };
        }
    }

    pub(crate) fn note_event(&mut self, id: Option<&EventId>, retry: Option<Duration>) {
        if let Some(id) = id {
            self.last_event_id = (!id.is_empty()).then(|| id.clone());
        }
        self.retry = retry.or(self.retry);
    }

    /// Stops the stream for good, or until the next session. Returns the attempts to abort.
    pub(crate) fn stop(
        &mut self,
        now: Moment,
        stable_after: Duration,
    ) -> impl Iterator<Item = AttemptId> + use<> {
        let attempt = self.attempt();
        if let ListenerState::Open { .. } = self.state {
            self.lost_at = Some(now);
        }
        self.note_lost_with_session(now, stable_after);
        self.state = ListenerState::Off;
        attempt.into_iter().chain(self.replaced.take())
    }

    /// Counts a stream that is lost with its session; only one that lasted resets the counts.
    fn note_lost_with_session(&mut self, now: Moment, stable_after: Duration) {
        if self.has_lasted(now, stable_after) {
            (self.failures, self.lost_with_session) = (0, 0);
        } else if self.attempt().is_some() {
            self.lost_with_session = self.lost_with_session.saturating_add(1);
        }
    }

    fn unsupported(&mut self) -> ListenerVerdict {
        self.state = ListenerState::Unsupported;
        ListenerVerdict::Unsupported
    }

    fn back_off(&mut self, now: Moment, hint: Option<Duration>, rng: &mut Rng) -> Moment {
        let pause = PAUSE.half_jitter(self.failures, rng);
        let hint = hint.max(self.retry).unwrap_or_default();
        self.failures = self.failures.saturating_add(1);
        self.lost_at = self.lost_at.or(Some(now));
        self.refusal = None;
        let until = now + pause.max(hint);
        self.state = ListenerState::Waiting { until };
        until
    }
}

/// How many sessions in a row may be lost soon with their streams before the next stream is delayed.
const QUICK_SESSIONS: u32 = 3;
/// How long the body of a refusal may take.
const WORDS: Duration = Duration::from_secs(10);
const PAUSE: Window = Window { first: Duration::from_secs(1), most: Duration::from_secs(300) };
