//! One session: the state that its client's requests and its conversation share. The task in `life` runs it, and
//! `hearing` is what its conversation says.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ridethrough_core::{Doubt, DoubtForm};
use ridethrough_wire::message::notification;
use ridethrough_wire::message::{Id, Message};
use tokio::sync::{Notify, mpsc, watch};
use tokio::time::{Instant, timeout};

use crate::backend::Caller;
use crate::budget::SessionBudget;
use crate::calls::{Call, NotTaken};
use crate::connections::Connections;
use crate::drain::{Drain, Switch};
use crate::fault::{self, Over};
use crate::host::{HostMessage, Letter, Presence, Sink};
use crate::log::Said;
use crate::news::SessionNews;
use crate::parts::ParsedMessage;
use crate::posted::Posted;
use crate::repeats::{CallOrigin, Repeats};
use crate::streams::Streams;

/// A session of one client.
pub(crate) struct Session {
    pub(crate) id: String,
    pub(crate) number: u64,
    /// To whom it belongs.
    pub(crate) caller: Caller,
    /// The memory that may be used for it.
    pub(crate) share: SessionBudget,
    state: Mutex<SessionState>,
    /// The channel for messages to the conversation.
    outbox: mpsc::Sender<Letter>,
    /// Counts the requests and streams that are open.
    presence: Presence,
    pub(crate) drain: Drain,
    /// How its client is told that a call of a tool may have run.
    pub(crate) doubt: DoubtForm,
    /// What clients of all sessions were told of such calls.
    pub(crate) repeats: Repeats,
    began: Instant,
    pub(crate) tell: Arc<dyn Fn(SessionNews) + Send + Sync>,
    pub(crate) connections: Arc<Connections>,
    /// Returns all sessions.
    pub(crate) all: AllSessions,
    /// Gives those who say something their turns, in order.
    pub(crate) turn: tokio::sync::Mutex<()>,
    /// Wakes the task that has the turn and waits for a reader, when one has accepted something.
    pub(crate) room: Notify,
    /// Turned when the session is over.
    pub(crate) ended: Switch,
    /// The reason why the session is asked to end.
    pub(crate) asked_to_end: watch::Sender<Option<&'static str>>,
}

pub(crate) struct SessionState {
    pub(crate) streams: Streams,
    /// The revision that was agreed on, once it is known.
    pub(crate) version: Option<String>,
    pub(crate) over: Option<Over>,
    /// What its client calls itself, once it is known.
    client: String,
    /// When the last request or stream ended, or a call was last answered.
    pub(crate) last_use: Instant,
}

/// Returns all sessions of a server.
pub(crate) type AllSessions = Arc<dyn Fn() -> Vec<Arc<Session>> + Send + Sync>;

/// What all sessions of a server share.
#[derive(Clone)]
pub(crate) struct Common {
    pub(crate) drain: Drain,
    /// How clients are told that a call of a tool may have run.
    pub(crate) doubt: DoubtForm,
    pub(crate) repeats: Repeats,
    /// Tells people of events.
    pub(crate) tell: Arc<dyn Fn(SessionNews) + Send + Sync>,
    pub(crate) connections: Arc<Connections>,
    pub(crate) all: AllSessions,
}

/// Why a message did not reach the backend.
#[derive(Debug)]
pub(crate) enum Undelivered {
    NotTaken(NotTaken),
    Over,
    /// The backend reads nothing, and the time to wait for it is over.
    TooLate,
}

impl Session {
    /// Creates a session whose messages go to `outbox`.
    pub(crate) fn new(
        id: String,
        number: u64,
        caller: Caller,
        share: SessionBudget,
        (outbox, presence): (mpsc::Sender<Letter>, Presence),
        common: Common,
    ) -> Arc<Self> {
        let Common { drain, doubt, repeats, tell, connections, all } = common;
        let state = SessionState {
            streams: Streams::new(),
            version: None,
            over: None,
            client: String::new(),
            last_use: Instant::now(),
        };
        let session = Self {
            id,
            number,
            caller,
            share,
            state: Mutex::new(state),
            outbox,
            presence,
            drain,
            doubt,
            repeats,
            began: Instant::now(),
            tell,
            connections,
            all,
            turn: tokio::sync::Mutex::default(),
            room: Notify::new(),
            ended: Switch::default(),
            asked_to_end: watch::channel(None).0,
        };
        Arc::new(session)
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, SessionState> {
        // No code panics in the middle of a change, so a poisoned lock is still valid.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps the session in use until the guard is dropped.
    pub(crate) fn visit(self: &Arc<Self>) -> Visit {
        self.presence.enter();
        Visit(self.clone())
    }

    /// Returns when the session will have been unused for `idle`. For a session in use this is when to check
    /// again, and so it is, for a day, for a session with a call under way whose client is gone.
    pub(crate) fn idle_at(&self, now: Instant, idle: Duration) -> Instant {
        let state = self.lock();
        match (self.presence.is_here(), state.streams.is_busy()) {
            (false, false) => state.last_use + idle,
            (false, true) => (now + idle).min(state.last_use + idle.max(LONGEST_CALL)),
            _ => now + idle,
        }
    }

    /// Whether a call is under way, or one was so shortly before `now` that the next may follow.
    pub(crate) fn is_at_work(&self, now: Instant) -> bool {
        let state = self.lock();
        let is_busy = state.streams.is_busy() || now < state.last_use + BETWEEN_CALLS;
        is_busy && state.over.is_none()
    }

    /// Returns since when the session is unused; `None` if a request, a stream or a call is open, or if it is
    /// about to end.
    pub(crate) fn unused_since(&self) -> Option<Instant> {
        let state = self.lock();
        let is_used = self.presence.is_here() || state.streams.is_busy() || state.over.is_some();
        (!is_used && self.asked_to_end.borrow().is_none()).then_some(state.last_use)
    }

    /// Returns messages as the backend gets them: requests, each with where it ends. One that is held is answered.
    pub(crate) fn letter(
        self: &Arc<Self>,
        parts: Vec<ParsedMessage>,
        calls: Vec<u64>,
        held: &[(Id, Doubt)],
    ) -> Letter {
        let mut calls = calls.into_iter();
        let taken = parts.into_iter().filter_map(|part| match &part.message {
            Message::Request { id, .. } => {
                let call = calls.next()?;
                if let Some((_, doubt)) = held.iter().find(|(it, _)| it == id) {
                    self.answer_repeat(call, doubt);
                    return None;
                }
                self.note_greeting(&part.message);
                Some(HostMessage::Call(part, Sink::new(self.clone(), call)))
            }
            Message::Notification { method, params: Some(params) }
                if &**method == notification::CANCELLED =>
            {
                let id = params.member("requestId");
                let call = id.and_then(|id| self.lock().streams.cancel(&id));
                Some(match call {
                    Some(call) => HostMessage::Cancel(part, call),
                    None => HostMessage::Other(part),
                })
            }
            Message::Notification { .. } | Message::Response { .. } => {
                Some(HostMessage::Other(part))
            }
        });
        taken.collect()
    }

    /// Answers a call that is not sent, because it repeats one that may have run.
    fn answer_repeat(&self, call: u64, doubt: &Doubt) {
        let answer = doubt.answer_to_repeat(self.doubt);
        let told = |call: &Call| self.said(ParsedMessage::response(&call.id, &answer));
        self.lock().streams.fail(call, told);
        (self.tell)(SessionNews::Held { session: self.number });
    }

    /// Returns who makes calls in this session. `client` is what a stateless request calls its client.
    pub(crate) fn origin(&self, client: Option<String>) -> CallOrigin {
        let client = client.unwrap_or_else(|| self.lock().client.clone());
        self.repeats.origin(&self.caller, &client, (self.number, self.began))
    }

    /// Returns the answer to a call that may have run, and records that its client is told so.
    pub(crate) fn in_doubt(&self, call: &Call, doubt: &Doubt) -> Said {
        if let Some(repeatable) = &call.repeatable {
            self.repeats.told(repeatable, doubt);
        }
        self.said(fault::in_doubt(call, doubt, self.doubt))
    }

    /// Returns a message as the client of this session gets it. That of stateless callers is the server itself.
    pub(crate) fn said(&self, message: ParsedMessage) -> Said {
        if self.caller.is_stateless {
            Said::message(message.message)
        } else {
            Said::Text(message.text())
        }
    }

    /// Sends messages that have no answer: notifications, and answers to the backend's questions.
    pub(crate) async fn tell(self: &Arc<Self>, posted: Posted) -> Result<(), Undelivered> {
        let place = self.place(&posted).await?;
        place.send(self.letter(posted.parts, Vec::new(), &[]));
        Ok(())
    }

    /// Waits until the backend reads another message. A large message waits for a limited time only, because
    /// it takes room that others may need.
    pub(crate) async fn place(
        &self,
        posted: &Posted,
    ) -> Result<mpsc::Permit<'_, Letter>, Undelivered> {
        let place = self.outbox.reserve();
        let place = if posted.is_large() {
            timeout(LONGEST_WAIT, place).await.map_err(|_| Undelivered::TooLate)?
        } else {
            place.await
        };
        place.map_err(|_| Undelivered::Over)
    }

    /// Asks the session to end. The first reason counts.
    pub(crate) fn end(&self, why: &'static str) {
        self.asked_to_end.send_if_modified(|reason| {
            let is_first = reason.is_none();
            reason.get_or_insert(why);
            is_first
        });
    }

    /// Marks the session as over, unless it is: its calls under way are answered with the reason.
    pub(crate) fn end_with(&self, over: Over) {
        let mut state = self.lock();
        if state.over.is_some() {
            return;
        }
        let doubt = over.doubt();
        state.streams.end(|call| self.in_doubt(call, &doubt));
        state.over = Some(over);
        drop(state);
        self.ended.turn();
    }

    /// Whether a request may name this revision: any revision with sessions, or the one agreed on.
    pub(crate) fn speaks(&self, version: &str) -> bool {
        LEGACY.contains(&version) || self.lock().version.as_deref() == Some(version)
    }

    /// Takes down what a client calls itself, if this is its greeting.
    fn note_greeting(&self, message: &Message) {
        if let Message::Request { method, params: Some(params), .. } = message
            && &**method == "initialize"
        {
            let name = params.member("clientInfo").and_then(|it| it.member("name")?.read());
            self.lock().client = name.unwrap_or_default();
        }
    }
}

/// A session that its client cannot use yet. If the client never can, because it leaves for example, the
/// session is ended.
pub(crate) struct Unclaimed(Option<Arc<Session>>);

impl Unclaimed {
    pub(crate) const fn new(session: Arc<Session>) -> Self {
        Self(Some(session))
    }

    /// Hands the session over to its client.
    pub(crate) fn claim(mut self) {
        self.0 = None;
    }
}

impl Drop for Unclaimed {
    fn drop(&mut self) {
        if let Some(session) = &self.0 {
            session.end("it never began");
        }
    }
}

/// A use of the session: a request that is being answered, or an open stream.
pub(crate) struct Visit(pub(crate) Arc<Session>);

impl Drop for Visit {
    fn drop(&mut self) {
        self.0.lock().last_use = Instant::now();
        self.0.presence.leave();
    }
}

/// The time in which a client that works makes its next call.
const BETWEEN_CALLS: Duration = Duration::from_secs(1);
/// How long a large message waits for a backend that reads nothing.
const LONGEST_WAIT: Duration = Duration::from_secs(60);
/// How long a call may run without its client.
const LONGEST_CALL: Duration = Duration::from_secs(24 * 60 * 60);
const LEGACY: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];
