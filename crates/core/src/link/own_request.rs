//! The words for requests that the link makes for itself, and for what comes of them.

use std::sync::Arc;
use std::time::Duration;

use ridethrough_wire::message::{Answer, Params};

use crate::answer::PostReading;
use crate::exchange::Purpose;
use crate::failure::Failure;
use crate::head::AnswerHead;
use crate::ids::{ConnectionId, CredentialsId};
use crate::output::{Address, Route};

/// A request that the link makes for itself.
#[derive(Debug)]
pub(crate) struct OwnRequest {
    pub(crate) purpose: Purpose,
    pub(crate) method: Arc<str>,
    pub(crate) params: Params,
    /// The address, if it is not that of the session in force.
    pub(crate) to: Option<Address>,
    pub(crate) route: Route,
    pub(crate) within: Duration,
}

impl OwnRequest {
    /// Returns a request without params to the session in force.
    pub(crate) fn new(purpose: Purpose, method: impl Into<Arc<str>>, within: Duration) -> Self {
        let (method, params) = (method.into(), Params::new(None, false));
        Self { purpose, method, params, to: None, route: Route::Any, within }
    }
}

/// What came of a question of the link.
#[derive(Debug)]
pub(crate) enum OwnOutcome {
    Answered(Box<OwnReply>),
    /// No reply, and why.
    Nothing(Failure),
}

/// The reply to a question of the link.
#[derive(Debug)]
pub(crate) struct OwnReply {
    pub(crate) head: AnswerHead,
    pub(crate) reading: PostReading,
    /// The answer in the body that names this request by its id.
    pub(crate) named: Option<Answer>,
    /// Where the question was sent.
    pub(crate) to: Address,
    /// The credentials that the question was sent with.
    pub(crate) credentials: CredentialsId,
}

impl OwnReply {
    /// Returns the connection that carried the reply.
    pub(crate) const fn connection(&self) -> Option<ConnectionId> {
        self.head.connection
    }

    /// Whether the server answered by a result.
    pub(crate) const fn is_result(&self) -> bool {
        matches!(self.reading, PostReading::Answer(Answer::Result(_)))
    }
}
