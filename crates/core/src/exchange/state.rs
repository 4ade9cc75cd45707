//! Where an exchange stands: waiting, out, accepted, or with an answer that is not believed yet.

use http::StatusCode;

use crate::answer::{PostReading, Suspicion};
use crate::head::AnswerHead;
use crate::ids::{AttemptId, ConnectionId, CredentialsId};
use crate::moment::Moment;

/// Where an exchange stands.
#[derive(Debug)]
pub(crate) enum State {
    /// 202: the answer must come on another stream until then.
    Accepted { until: Moment },
    /// An answer that may mean something else than it says, held back until that was asked.
    Doubted(Box<Doubt>),
    /// An attempt is out.
    Live(Live),
    /// Nothing is out.
    Waiting(Waiting),
}

/// An answer that is held back.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Doubt {
    /// Only a server of the other era would refuse so: has it changed?
    Era(EraDoubt),
    /// It speaks of a lost session: is it lost?
    Session(Suspicion),
}

/// A refusal that only a server of the other era would give.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct EraDoubt {
    /// What the answer is if the server is what it was.
    pub(crate) otherwise: PostReading,
    pub(crate) refusal: RefusedBy,
    /// Whether the refusal itself proves that the request was not carried out.
    pub(crate) is_proof: bool,
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
    /// The credentials it went out with.
    pub(crate) credentials: CredentialsId,
    /// The connection that its answer comes on, once there is one.
    pub(crate) connection: Option<ConnectionId>,
    /// The last byte, or the start.
    pub(crate) last_sign: Moment,
    /// Row 19: a silent stream that this attempt replaces once it is accepted.
    pub(crate) replaces: Option<Box<Live>>,
}

/// How an attempt asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Via {
    Post,
    Resume,
}

/// How far an attempt is.
#[derive(Debug)]
pub(crate) enum Phase {
    /// No head yet.
    Asked,
    /// The head came; the body is on its way.
    Body(AnswerHead),
    /// The answer is a stream.
    Stream {
        opened: Moment,
        /// Whether a message has come on it: only the first may be a dialect of session loss.
        heard: bool,
        /// Whether one of them was new.
        fruitful: bool,
    },
}

/// What a waiting exchange waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Waiting {
    /// Word that a stateless server took a subscription; that is the answer.
    Acknowledgement,
    /// Better credentials, then this.
    Credentials(Then),
    /// A gate that the server closed; then send.
    Gate,
    /// Input that the server asked for; then send.
    Input,
    /// A connection, then this. Patience runs.
    Link { then: Then, since: Moment },
    /// A place among the calls in flight.
    Place,
    /// A session that will do, then send. Patience runs.
    Session { since: Moment },
    /// Word about the session that its stream was lost with, then send.
    SessionCheck,
    /// The tools as they are now, then send.
    Tools,
    /// A moment, then this.
    Until { at: Moment, then: Then },
}

/// What follows a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Then {
    Resume,
    Send,
}
