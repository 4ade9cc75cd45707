//! The states of an exchange: waiting, out, accepted, or with an answer that is not believed yet.

use std::sync::Arc;

use http::StatusCode;

use crate::answer::{PostReading, Suspicion};
use crate::head::AnswerHead;
use crate::ids::{AttemptId, ConnectionId, CredentialsId};
use crate::moment::Moment;

/// The state of an exchange.
#[derive(Debug)]
pub(crate) enum State {
    /// Accepted by 202: the answer must come on another stream before `until`.
    Accepted { until: Moment },
    /// Answered, but the answer is held back until the server was asked whether it means what it says.
    Doubted(Box<HeldBack>),
    /// An attempt is out.
    Live(Live),
    /// Nothing is out.
    Waiting(Waiting),
}

/// An answer that is held back, and why.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum HeldBack {
    /// It asks for better credentials than these, without a challenge.
    Credentials(CredentialsId),
    /// Only a server of the other era would refuse so: it may have changed.
    Era(EraDoubt),
    /// It speaks of a lost session, which must be confirmed.
    Session(Suspicion),
}

/// A refusal that only a server of the other era would give.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct EraDoubt {
    /// What the answer means if the server has not changed.
    pub(crate) otherwise: PostReading,
    pub(crate) refusal: RefusedBy,
    /// Whether the refusal itself proves that the request was not carried out.
    pub(crate) is_proof: bool,
}

/// An answer that refused a request, as the error of its call reports it.
#[derive(Clone, Debug)]
pub(crate) struct LastRefusal {
    pub(crate) status: StatusCode,
    /// The server's words.
    pub(crate) said: Option<Arc<str>>,
}

/// How a request was refused: the status, and the code of the error in its body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RefusedBy {
    pub(crate) status: StatusCode,
    pub(crate) code: Option<i64>,
}

/// An attempt that is out.
#[derive(Debug)]
pub(crate) struct Live {
    pub(crate) attempt: AttemptId,
    pub(crate) via: Via,
    pub(crate) phase: Phase,
    /// The credentials that it went out with.
    pub(crate) credentials: CredentialsId,
    /// The connection that carries its answer, once there is one.
    pub(crate) connection: Option<ConnectionId>,
    /// When the last byte arrived, or the attempt began.
    pub(crate) last_sign: Moment,
    /// Row 19: a silent stream that this attempt replaces once it is accepted.
    pub(crate) replaces: Option<Box<Live>>,
}

/// The kind of request that an attempt makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Via {
    Post,
    Resume,
}

/// How far an attempt has come.
#[derive(Debug)]
pub(crate) enum Phase {
    /// No head has arrived.
    Asked,
    /// The head has arrived, and the body is on its way.
    Body(AnswerHead),
    /// The answer is a stream.
    Stream {
        opened: Moment,
        /// Whether a message has arrived: only the first may be a report of a lost session.
        heard: bool,
        /// Whether one of the messages was new.
        fruitful: bool,
    },
}

/// What a waiting exchange waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Waiting {
    /// The acknowledgement of a subscription by a stateless server, which is the answer.
    Acknowledgement,
    /// Better credentials.
    Credentials(Then),
    /// A gate that the server closed; then send.
    Gate,
    /// Input that the server asked for; then send.
    Input,
    /// A connection. This uses patience.
    Link { then: Then, since: Moment },
    /// A place among the calls in flight.
    Place,
    /// More scope; then send.
    Scope,
    /// A session that is new enough; then send. This uses patience.
    Session { since: Moment },
    /// Proof that a server in trouble answers; then send. This uses patience.
    Probation { since: Moment },
    /// The result of a question about the session whose stream was lost; then send.
    SessionCheck,
    /// A new list of tools; then send.
    Tools,
    /// A moment.
    Until { at: Moment, then: Then },
}

impl Waiting {
    /// Whether this is a wait for `awaited`.
    pub(crate) const fn is_for(&self, awaited: Awaited) -> bool {
        match self {
            Self::Acknowledgement => matches!(awaited, Awaited::Acknowledgement),
            Self::Credentials(_) => matches!(awaited, Awaited::Credentials),
            Self::Gate => matches!(awaited, Awaited::Gate),
            Self::Link { .. } => matches!(awaited, Awaited::Link),
            Self::Place => matches!(awaited, Awaited::Place),
            Self::Probation { .. } => matches!(awaited, Awaited::Probation),
            Self::Scope => matches!(awaited, Awaited::Scope),
            Self::Session { .. } => matches!(awaited, Awaited::Session),
            Self::SessionCheck => matches!(awaited, Awaited::SessionCheck),
            Self::Tools => matches!(awaited, Awaited::Tools),
            Self::Input | Self::Until { .. } => false,
        }
    }

    /// Returns what follows the wait.
    pub(crate) const fn then(&self) -> Then {
        match self {
            Self::Credentials(then) | Self::Link { then, .. } | Self::Until { then, .. } => *then,
            _ => Then::Send,
        }
    }
}

/// What exchanges wait for together, and are let out or ended for together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Awaited {
    Acknowledgement,
    Credentials,
    Gate,
    Link,
    Place,
    Probation,
    Scope,
    Session,
    SessionCheck,
    Tools,
}

/// What follows a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Then {
    Resume,
    Send,
}
