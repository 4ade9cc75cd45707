//! The standing stream: what the server says without being asked.
//!
//! ```text
//!   Off ──session ready──▶ Opening ──200──▶ Open
//!                            ▲  │             │ ended or cut
//!                 time is up │  │ refused     ▼
//!                            └── Waiting ◀────┘        405, or 404 at first: Unsupported
//! ```
//! Optional and isolated: nothing on it may fail a call or end a session. There is never more than
//! one. It backs off from 1 s to 5 min and starts over only after a stream that stayed good.

use std::collections::BTreeSet;
use std::time::Duration;

use crate::answer::status;
use crate::backoff::Window;
use crate::head::AnswerHead;
use crate::ids::{AttemptId, ConnectionId};
use crate::moment::Moment;
use crate::rng::Rng;
use crate::sse::EventId;

/// The standing stream of the current session.
#[derive(Debug, Default)]
pub(crate) struct Listener {
    state: ListenerState,
    failures: u32,
    /// Sessions in a row that took their stream with them before it had proved good.
    lost_with_session: u32,
    /// Whether what was asked for last was asked for after a pause.
    has_waited: bool,
    last_event_id: Option<EventId>,
    retry: Option<Duration>,
    /// Whether a stream was ever open in this session: a 404 means something else then.
    was_open: bool,
    lost_at: Option<Moment>,
    credentials_renewed: bool,
    /// How a stateless server was asked for it.
    subscription: Option<Subscription>,
    /// The head of an answer that is no stream, while its body is on its way.
    refusal: Option<Refusal>,
    /// The connection that the open stream holds.
    connection: Option<ConnectionId>,
    /// An older stream that is let go once the new one is acknowledged.
    replaced: Option<AttemptId>,
}

/// A request for the stream of the stateless era, which is open only when it was acknowledged.
#[derive(Debug)]
struct Subscription {
    wire_id: u64,
    until: Moment,
    /// The resources that it asks for.
    asked: BTreeSet<Box<str>>,
    /// What is wanted has changed since.
    is_outdated: bool,
}

/// An answer whose words decide what it means.
#[derive(Debug)]
struct Refusal {
    head: Box<AnswerHead>,
    /// How long its body may take.
    until: Moment,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum ListenerState {
    /// The session is being asked about.
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
    /// This server has none.
    Unsupported,
    Waiting {
        until: Moment,
    },
}

/// What the link must do about an answer to the GET.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ListenerVerdict {
    /// A 404 or 405 on a stream that was open before, or words: is the session still there?
    CheckSession,
    /// It is open; the gap to tell, if there was one.
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

    /// The attempt that is out, if one is.
    pub(crate) const fn attempt(&self) -> Option<AttemptId> {
        match self.state {
            ListenerState::Open { attempt, .. } | ListenerState::Opening { attempt } => {
                Some(attempt)
            }
            _ => None,
        }
    }

    /// Whether the stream that is open holds this connection.
    pub(crate) fn holds(&self, connection: ConnectionId) -> bool {
        matches!(self.state, ListenerState::Open { .. }) && self.connection == Some(connection)
    }

    /// Whether it waits for word about its session.
    pub(crate) fn is_checking(&self) -> bool {
        self.state == ListenerState::Checking
    }

    pub(crate) const fn last_event_id(&self) -> Option<&EventId> {
        self.last_event_id.as_ref()
    }

    /// The id of the request that asked a stateless server for it.
    pub(crate) fn wire_id(&self) -> Option<u64> {
        self.subscription.as_ref().map(|it| it.wire_id)
    }

    /// Until when a server may take to say what became of it.
    pub(crate) fn decided_until(&self) -> Option<Moment> {
        let acknowledged = self.subscription.as_ref().map(|it| it.until);
        self.refusal.as_ref().map(|refusal| refusal.until).or(acknowledged)
    }

    /// Whether a stateless server was asked for this resource.
    pub(crate) fn asked_for(&self, uri: &str) -> bool {
        self.subscription.as_ref().is_some_and(|it| it.asked.contains(uri))
    }

    /// The server answers by something that is no stream: its words will tell what it means.
    pub(crate) fn refused(&mut self, now: Moment, head: &AnswerHead) {
        self.refusal = Some(Refusal { head: Box::new(head.clone()), until: now + WORDS });
    }

    /// The words are here. Returns the head that they belong to.
    pub(crate) fn take_refusal(&mut self) -> Option<AnswerHead> {
        self.refusal.take().map(|refusal| *refusal.head)
    }

    /// Whether no more than its last stream has gone wrong.
    pub(crate) const fn is_trusted(&self) -> bool {
        self.failures <= 1
    }

    /// A new session: what belonged to the old one is forgotten, but not how often a stream failed: a
    /// server that loses its session with each stream must not be given a new one at once for ever.
    /// Returns the attempts to abort.
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

    /// Sits out a pause before the first stream of a session, if those of the last few sessions were lost with
    /// them soon. Returns whether it does.
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

    /// A stateless server was asked for it.
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

    /// Another one is wanted in place of what is open. One that is on its way is waited for first.
    /// Returns the attempt to abort.
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

    /// Whether what is wanted has changed since it was asked for.
    pub(crate) fn is_outdated(&self) -> bool {
        self.subscription.as_ref().is_some_and(|it| it.is_outdated)
    }

    /// A stateless server tells on it from now on. Returns the older stream, and the gap to tell if
    /// there was one; nothing if it has said so before.
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

    /// The stream that was being replaced is over. Returns whether it was that one.
    pub(crate) fn lost_replaced(&mut self, now: Moment, attempt: AttemptId) -> bool {
        let is_lost = self.replaced.take_if(|replaced| *replaced == attempt).is_some();
        if is_lost {
            self.lost_at = self.lost_at.or(Some(now));
        }
        is_lost
    }

    /// A stateless server does not know the question.
    pub(crate) const fn is_unsupported(&mut self) {
        self.state = ListenerState::Unsupported;
    }

    /// The server answered the GET.
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
            // Perhaps it is the event id that the server does not know any more.
            self.last_event_id = None;
        }
        ListenerVerdict::Wait { until: self.back_off(now, head.retry_after, rng) }
    }

    /// The server says that it does not know the session: is that so? A server that denies every new
    /// session is asked after a pause only.
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

    /// The stream ended, was cut, or could not be opened. Returns when to try again.
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

    /// Accepted is not good: only a stream that lasted proves that the next one may.
    fn has_lasted(&self, now: Moment, stable_after: Duration) -> bool {
        matches!(self.state, ListenerState::Open { since, .. } if now.since(since) >= stable_after)
    }

    /// The session was asked about and is there: try again later.
    pub(crate) fn session_is_alive(&mut self, now: Moment, rng: &mut Rng) -> Option<Moment> {
        (self.state == ListenerState::Checking).then(|| self.back_off(now, None, rng))
    }

    /// The server can be reached again: no need to sit out a pause that an outage made long.
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

    /// Stops for good, or until the next session. Returns the attempts to abort.
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

    /// The session goes, and its stream with it: only one that lasted starts the counts over.
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

/// Sessions in a row whose streams were lost soon after which the next one is not asked for at once.
const QUICK_SESSIONS: u32 = 3;
/// How long the words of a refusal may take.
const WORDS: Duration = Duration::from_secs(10);
const PAUSE: Window = Window { first: Duration::from_secs(1), most: Duration::from_secs(300) };
