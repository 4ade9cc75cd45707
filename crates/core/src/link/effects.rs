//! Effects: what one part of a link asks of another.
//!
//! ```text
//!   a part: changes its own state, writes to the outbox, asks for effects
//!      │ Context::then                             ▲
//!      ▼                                           │ one method of the part that is asked
//!   effects, the next one last ──next_effect──▶ routing.rs
//! ```
//! No part calls a part above or beside it, or the link. It asks, and the link carries out one effect after the other:
//! each with all that follows from it before the next, so that things happen in the order of the lines that
//! ask for them. After it has asked for something, a method only asks for more: what it did itself would come
//! first.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::vec;

use ridethrough_wire::era::{Era, Version};
use ridethrough_wire::message::{Answer, Json, Message};

use crate::answer::{PostAnswer, PostReading, ResumeReading, Suspicion};
use crate::event::Event;
use crate::exchange::{Awaited, Ending, LastRefusal, Purpose, RefusedBy, Step, Then};
use crate::failure::Failure;
use crate::head::{AnswerHead, Challenge};
use crate::ids::{AttemptId, ConnectionId, CredentialsId, ExchangeId, Generation, NoticeId};
use crate::moment::Moment;
use crate::outcome::CallName;
use crate::output::Address;

use super::own_request::{OwnOutcome, OwnRequest};

/// What is asked of a part, or of the link.
#[derive(Debug)]
pub(crate) enum Effect {
    Call(CallEffect),
    /// The next step of closing, if the link closes.
    Close,
    Credentials(CredentialsEffect),
    /// Read the rest of an answer, after what was asked for before it.
    Drain(AttemptId),
    Health(HealthEffect),
    Listening(ListeningEffect),
    Outbound(OutboundEffect),
    Reach(ReachEffect),
    Session(SessionEffect),
    /// An event to be told after what was asked for before it.
    Tell(Event),
    /// Hand over what came of a question of the link, which was asked in this session.
    OwnSettled(Purpose, Generation, OwnOutcome),
}

/// What is asked of the calls.
#[derive(Debug)]
pub(crate) enum CallEffect {
    /// Handle the answer that came on a stream of a call.
    Answered(ExchangeId, Box<StreamAnswer>),
    /// Send a request of the link itself.
    Ask(Box<OwnRequest>),
    /// Ask the server whether it serves again.
    AskAtGate,
    /// Ask about a session, unless another one has taken its place.
    CheckGeneration(Generation),
    /// Forget the restoring requests that are out.
    DropRestoring,
    End(ExchangeId, Ending),
    /// End all that wait for this.
    EndAll(Awaited, Ending),
    /// End those that are out of patience, after a failed connect.
    EndImpatient,
    EndImpatientCall(ExchangeId),
    /// End a call that waited for a session, and name the refusal of the handshake.
    EndSessionWaiter(ExchangeId, Ending, Option<LastRefusal>),
    EndSessionWaiters(Ending, Option<LastRefusal>),
    /// Row 19: end the silent attempts at a dead server.
    EndSilent {
        is_unreachable: bool,
    },
    EndSilentAttempt(ExchangeId),
    /// Decide about a call whose attempt failed.
    Failed(ExchangeId, Failure),
    /// Let out the call that has waited longest for a place, and then those after it.
    FillNext,
    FillPlaces,
    Finish(ExchangeId, Box<Answer>),
    /// Let out the calls that waited at a gate.
    GateOpened(Option<CallName>),
    GivePlaceBack(ExchangeId),
    LetOut(ExchangeId, Then),
    /// Let out all that wait for this.
    LetOutAll(Awaited),
    /// Let out so many that wait for a connection.
    LetOutGroup(usize),
    /// Let out a call if it still waits for this.
    LetOutIf(ExchangeId, Awaited),
    /// Learn the hints of tools, if nobody else does.
    LearnHints,
    /// Let out a call whose turn in the ramp has come.
    LetOutRamped(ExchangeId, Then),
    /// Decide about a call whose POST was answered.
    PostDecided(ExchangeId, Box<PostReading>, IsWhole),
    /// Act on the answer to the POST of a call, after the messages beside it.
    PostRead(ExchangeId, Box<PostRead>),
    /// End a subscriber with the server's refusal.
    RefuseSubscriber(ExchangeId, Answer),
    /// Hold unsafe calls, because the server keeps failing.
    HoldCalls,
    /// Let out as many calls as may go to a server that was in trouble.
    ReleaseFromProbation,
    /// Tell a call whether its credentials were refused for a harmless request, too.
    ResolveCredentials(ExchangeId, bool),
    /// Tell a call what was found out about the era.
    ResolveEra(ExchangeId, FoundEra),
    ResolveEras(FoundEra),
    /// Tell a call what was found out about its session.
    ResolveSession(ExchangeId, SessionVerdict),
    /// Decide about a call whose resume was answered.
    ResumeRead(ExchangeId, Box<ResumeReading>),
    /// Row 19: resume streams that have been silent for long at a live server.
    ResumeSilent,
    /// End a call that waits for a session in vain, or set its timer.
    ReviewSessionWaiter(ExchangeId),
    ReviewSessionWaiters,
    /// Send a refused call once more on the connection that made its session.
    SendHome(ExchangeId, ConnectionId, Arc<Suspicion>),
    /// Note that the server answered this attempt, or something that was sent after its trouble.
    ServerAnswered(Option<AttemptId>),
    /// Note that a handshake succeeded.
    SessionMade,
    SetGateAlarm,
    SetProbationAlarm,
    /// Carry out the next step of a call.
    Step(ExchangeId, Box<Step>),
    TakeIn(MessageSource, Message),
    /// Set the timers by which calls that are out notice their own silence.
    WatchLive,
}

/// What is asked of the credentials.
#[derive(Debug)]
pub(crate) enum CredentialsEffect {
    Renew { rejected: CredentialsId, challenge: Option<Challenge> },
    RequestScope(Challenge),
}

/// What is asked of the health.
#[derive(Debug)]
pub(crate) enum HealthEffect {
    /// End a probe for which there is no session yet, if the server asked for time.
    EndDeferredProbe,
    JudgeBreaker(PingResult),
    JudgeSilence(Liveness),
    /// Ping again later, if a call is silent still.
    PingAgainIfSilent,
    PingBrought(Generation, PingResult),
    /// End a probe of the breaker that failed before a ping could go out.
    ProbeNotSent,
    ProbeWithCredentials,
    /// Go on with a probe that waited for a session.
    SessionCame,
}

/// What is asked of the standing stream.
#[derive(Debug)]
pub(crate) enum ListeningEffect {
    /// Open the stream again, because the subscriptions have changed.
    Anew,
    CredentialsCame,
    CredentialsFailed,
    /// Drop the earlier subscriptions that the server did not grant.
    DropRefused {
        refused: Vec<Box<str>>,
        is_outdated: bool,
    },
    /// Begin a handshake, if messages are wanted between calls.
    EnsureSession,
    /// Act on the messages of an event on the stream of the stateless era.
    Heard(StreamMessages),
    /// Shorten a long pause, because the server has become reachable.
    Hurry,
    /// Refuse the subscriptions that the server did not grant.
    RefuseRest {
        granted: BTreeSet<Box<str>>,
        is_outdated: bool,
    },
    SessionBegan,
    SessionChecked,
    Stop,
}

/// What is asked of the outbound part.
#[derive(Debug)]
pub(crate) enum OutboundEffect {
    CredentialsCame,
    CredentialsFailed,
    /// Send the next notification in line, and then those after it.
    FillTurns,
    LinkCame,
    LinkFailed(Ending),
    Send(NoticeId),
    SessionCame,
    SessionFailed(Ending),
    SessionLost(Generation),
}

/// What is asked of the connect loop.
#[derive(Debug)]
pub(crate) enum ReachEffect {
    /// Dial if something waits for it, or set the timer.
    Drive,
    /// Let out the next group of the ramp.
    Due,
}

/// What is asked of the session.
#[derive(Debug)]
pub(crate) enum SessionEffect {
    BeginStateless(Version, Json),
    CredentialsCame,
    CredentialsFailed(Ending),
    /// Begin a handshake, unless there is a session or one is being made.
    Ensure,
    /// Begin a handshake if the link stays connected without calls.
    EnsureIfKept,
    /// Give up a handshake that cannot succeed.
    Fail(Ending),
    LeaveDeadStream,
    /// Delete a session that will not be used.
    LeaveUnused(Address),
    LinkCame,
    Lose(Generation),
    /// Act on the answer to the first request of the handshake, after the messages beside it.
    Opened(Box<OpeningAnswer>),
    Restore,
    RestoreMore,
    TryHandshake,
}

/// Where a message came from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MessageSource {
    pub(crate) generation: Generation,
    /// The call whose stream or answer brought it.
    pub(crate) exchange: Option<ExchangeId>,
    pub(crate) attempt: Option<AttemptId>,
}

impl MessageSource {
    /// Returns the source of a message that belongs to no call.
    pub(crate) const fn of_session(generation: Generation) -> Self {
        Self { generation, exchange: None, attempt: None }
    }
}

/// The answer to the first request of a handshake.
#[derive(Debug)]
pub(crate) struct OpeningAnswer {
    pub(crate) head: AnswerHead,
    pub(crate) reading: PostReading,
    /// The answer that names the request by its id.
    pub(crate) named: Option<Answer>,
}

/// The answer to the POST of a call.
#[derive(Debug)]
pub(crate) struct PostRead {
    pub(crate) head: AnswerHead,
    pub(crate) answer: PostAnswer,
    pub(crate) is_whole: IsWhole,
}

/// Whether the body of an answer arrived to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum IsWhole {
    BrokeOff,
    Whole,
}

/// The answer that came on a stream of a call.
#[derive(Debug)]
pub(crate) struct StreamAnswer {
    pub(crate) attempt: AttemptId,
    pub(crate) answer: Answer,
    /// Whether it was the first message on a stream that a POST opened.
    pub(crate) is_first: bool,
}

/// The messages of an event on the stream of the stateless era that are still to be acted on.
#[derive(Debug)]
pub(crate) struct StreamMessages {
    pub(crate) attempt: AttemptId,
    pub(crate) generation: Generation,
    /// Whether this is the stream in use, and not one that is being replaced.
    pub(crate) is_current: bool,
    pub(crate) messages: vec::IntoIter<Message>,
}

/// What a question for the era has found out.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FoundEra {
    pub(crate) era: Option<Era>,
    /// How the question was refused, if it was.
    pub(crate) refused_by: Option<RefusedBy>,
}

/// What was found out about a session in question.
#[derive(Clone, Debug)]
pub(crate) enum SessionVerdict {
    Lives,
    Refused(Arc<Suspicion>),
    Unknown,
}

/// What a ping brought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PingResult {
    /// An HTTP answer that is no JSON-RPC reply: the server is alive, and nothing more is known.
    Http,
    /// A refusal that speaks of a lost session: the server is alive.
    Lost,
    /// No connection could be made.
    NotSent,
    /// A JSON-RPC reply.
    Reply,
    /// No answer, or a connection that broke.
    Unanswered,
}

/// What row 19 concludes from pings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Liveness {
    Alive,
    /// The server cannot be reached, or answers nothing.
    Dead {
        is_unreachable: bool,
    },
    /// Undecided: the next ping follows at `again`.
    Unsure {
        again: Moment,
    },
}

/// What the calls must know of the standing stream.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StandingStream {
    /// The connection that the open stream holds.
    pub(crate) connection: Option<ConnectionId>,
    /// Whether it waits for the result of a question about its session.
    pub(crate) is_checking: bool,
}

macro_rules! asked_of {
    ($($part:ident: $effect:ident),*) => {
        $(impl From<$effect> for Effect {
            fn from(effect: $effect) -> Self {
                Self::$part(effect)
            }
        })*
    };
}

asked_of!(
    Call: CallEffect,
    Credentials: CredentialsEffect,
    Health: HealthEffect,
    Listening: ListeningEffect,
    Outbound: OutboundEffect,
    Reach: ReachEffect,
    Session: SessionEffect
);
