//! A call on its way: it goes to the upstream, waits for a login first, or does without either.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use ridethrough::Call;
use ridethrough::call::Pending;
use ridethrough_core::{Kind, Outcome};
use ridethrough_wire::message::Json;
use tokio::sync::Notify;
use tokio::time::timeout;

use crate::fault;
use crate::lists::Page;
use crate::login::{Passed, Waiting};

/// How a call ended, which it does once.
#[derive(Debug)]
pub struct Ended {
    /// The page of a list that was asked for, if the call asked for one.
    pub(super) page: Option<Page>,
    pub(super) end: End,
}

#[derive(Debug)]
pub(super) enum End {
    /// A person must log in first.
    LoginNeeded,
    /// The caller must show this page first.
    LoginPage(Json),
    /// The upstream was not reached; this list takes the place of its own.
    StandIn(Json),
    /// The outcome from the client.
    Upstream(Outcome),
}

/// The way of a call that has begun.
pub(super) enum Way {
    Free(Pending),
    Over(End),
    /// There is this list to show if the upstream takes too long.
    StandIn(Pending, Json),
    Waits(Box<(Call, Waiting, Box<str>)>),
}

/// Whether the calls that are out must end. Clones share one switch, which is turned once.
///
/// It wakes those who wait in their order. A `watch` channel of tokio wakes them in a random one, and a
/// simulated world could not be repeated.
#[derive(Clone, Debug, Default)]
pub(super) struct CallsEnd(Arc<CallsEndState>);

#[derive(Debug, Default)]
struct CallsEndState {
    has_begun: AtomicBool,
    begins: Notify,
}

impl From<Outcome> for Ended {
    /// Returns the end of a call that asked for no list.
    fn from(outcome: Outcome) -> Self {
        Self { page: None, end: End::Upstream(outcome) }
    }
}

impl Ended {
    /// Whether the upstream refused the credentials.
    pub const fn is_unauthorized(&self) -> bool {
        matches!(&self.end, End::Upstream(Err(error)) if matches!(error.kind, Kind::Unauthorized))
    }

    /// Whether the call has no answer and may have run.
    pub fn may_have_run(&self) -> bool {
        matches!(&self.end, End::Upstream(Err(error)) if error.may_have_run())
    }

    /// Whether the upstream wants more scope than the credentials have.
    pub(super) fn lacks_scope(&self) -> bool {
        let End::Upstream(Err(error)) = &self.end else { return false };
        self.is_unauthorized() && error.status.is_some_and(|status| status.as_u16() == 403)
    }
}

impl Way {
    /// Goes it to the end.
    pub(super) async fn end(self, calls_end: CallsEnd, limit: Option<Duration>) -> End {
        match self {
            Self::Free(call) => End::Upstream(outcome(call, calls_end).await),
            Self::Over(end) => end,
            Self::StandIn(call, kept) => with_stand_in(outcome(call, calls_end), kept).await,
            Self::Waits(call) => Box::pin(after_login(*call, calls_end, limit)).await,
        }
    }
}

impl CallsEnd {
    pub(super) fn begin(&self) {
        self.0.has_begun.store(true, Ordering::Release);
        self.0.begins.notify_waiters();
    }

    pub(super) fn has_begun(&self) -> bool {
        self.0.has_begun.load(Ordering::Acquire)
    }

    async fn begins(&self) {
        // It is made before the check, so that a beginning in between is not missed.
        let begins = self.0.begins.notified();
        if !self.has_begun() {
            begins.await;
        }
    }
}

/// Returns the outcome of a call. When the program ends, the call is cancelled, and the outcome says what is
/// known then.
async fn outcome(mut call: Pending, calls_end: CallsEnd) -> Outcome {
    tokio::select! {
        biased;
        outcome = &mut call => return outcome,
        () = calls_end.begins() => call.cancel(),
    }
    call.await.map_err(fault::cut_short)
}

/// Waits for the upstream's list, for a limited time if there is one to show instead.
async fn with_stand_in(outcome: impl Future<Output = Outcome>, kept: Json) -> End {
    match timeout(STAND_IN_AFTER, outcome).await {
        Err(_) => End::StandIn(kept),
        // The upstream did not fail; the program ends.
        Ok(Err(error)) if error.kind == Kind::Closed => End::Upstream(Err(error)),
        Ok(Err(error)) if fault::may_pass(&error) => End::StandIn(kept),
        Ok(outcome) => End::Upstream(outcome),
    }
}

/// Makes a call when a person has logged in.
async fn after_login(
    (call, waiting, method): (Call, Waiting, Box<str>),
    calls_end: CallsEnd,
    limit: Option<Duration>,
) -> End {
    let passed = tokio::select! {
        biased;
        passed = timeout(limit.unwrap_or(FOR_EVER), waiting.passed()) => passed,
        () = calls_end.begins() => return End::Upstream(Err(fault::unsent(&method))),
    };
    match passed {
        Ok(Passed::GoOn) => End::Upstream(outcome(call.answer(), calls_end).await),
        Ok(Passed::Page(page)) => End::LoginPage(page),
        Ok(Passed::LoginNeeded) | Err(_) => End::LoginNeeded,
    }
}

/// How long the upstream is waited for if there is a list to show instead, so that hosts have an answer within 3 s.
const STAND_IN_AFTER: Duration = Duration::from_millis(2500);
/// The limit of a call that waits for a login, which has a limit of its own.
const FOR_EVER: Duration = Duration::from_secs(24 * 3600);
