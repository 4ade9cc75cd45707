//! The exchange: one request that is sent, streamed, waited for, resumed or sent again, and ended exactly
//! once.
//!
//! ```text
//!            ┌──────────┐  may go out   ┌─────────┐ 200 stream  ┌───────────┐
//!  send ───▶ │ Waiting  │ ────────────▶ │ Posting │ ──────────▶ │ Streaming │──▶ Finish
//!            │ (for …)  │ ◀──────────── │         │             │           │
//!            └──────────┘ rows 1 2 3 5  └─────────┘             └───────────┘
//!               │    ▲       22 24        │  │ 202                │ broken    ▲
//!               │    │                    │  ▼                    ▼ row 6     │ 200
//!               │    └────────────────────┼─ Accepted ──▶ …   ┌──────────┐    │
//!               │         rows 7 8 9 12 13│                   │ Resuming │ ───┘
//!               └─────────────────────────┼─────────────────▶ └──────────┘
//!                                         └──▶ Doubted ──▶ Finish, or sent again
//! ```
//! A request of the link itself is an exchange too, with another [`Origin`]. The exchange decides its own
//! next [`Step`] from what happened to its attempt, and never acts: connections, sessions, gates and
//! credentials belong to the link, which carries the step out.

mod counters;
mod decide;
mod non_answer;
mod origin;
mod refusals;
mod resume;
mod resume_state;
mod round;
mod state;

pub(crate) use counters::Counters;
pub(crate) use decide::{Ending, Rules, Step};
pub(crate) use non_answer::{NonAnswer, NonAnswers};
pub(crate) use origin::{Origin, Purpose};
pub(crate) use refusals::{MOST_STEP_UPS, follow};
pub(crate) use resume_state::{Novelty, ResumeState};
use ridethrough_wire::era::Era;
use ridethrough_wire::headers::Headers;
use ridethrough_wire::lifetime::Lifetime;
use ridethrough_wire::message::{Answer, Json, Params};
pub(crate) use round::{Round, RoundReply, Wanted};
pub(crate) use state::{
    Awaited, EraDoubt, HeldBack, LastRefusal, Live, Phase, RefusedBy, State, Then, Via, Waiting,
};

use std::sync::Arc;
use std::time::Duration;

use crate::failure::Delivery;
use crate::ids::{AttemptId, ExchangeId, Generation};
use crate::moment::Moment;
use crate::outcome::{CallError, CallName};
use crate::output::{Address, Route};
use crate::replay::ReplayRule;

/// A request of the application or the link, on its way to its one outcome.
#[derive(Debug)]
pub(crate) struct Exchange {
    pub(crate) id: ExchangeId,
    pub(crate) origin: Origin,
    pub(crate) call: CallName,
    pub(crate) params: Params,
    pub(crate) rule: ReplayRule,
    /// The headers of each request that is made for it.
    pub(crate) headers: Headers,
    /// Whether they describe a stateless request as the caller wants it described.
    pub(crate) own_routing_headers: bool,
    /// What a stateless server is told that its client can do, if that is not what the link says.
    pub(crate) capabilities: Option<Json>,
    pub(crate) began: Moment,
    pub(crate) deadline: Deadline,
    pub(crate) state: State,
    pub(crate) counters: Counters,
    pub(crate) resume_state: ResumeState,
    /// The last send, whose id the answer must name.
    pub(crate) sent: Option<Sent>,
    /// Row 5: the generation that the session of the next send must exceed.
    pub(crate) newer_than: Option<Generation>,
    /// The path that redirects led to.
    pub(crate) target: Option<Arc<str>>,
    /// The connection that the next send goes out on.
    pub(crate) route: Route,
    /// The address, if it is not that of the session in force.
    pub(crate) to: Option<Address>,
    /// The server's last refusal.
    pub(crate) last_refusal: Option<LastRefusal>,
    /// Whether the last answer named the request by its id.
    pub(crate) is_named: bool,
    /// The answer in the last refusal, which the call ends with if the guard or limit that refused cannot be
    /// satisfied.
    pub(crate) refused_with: Option<Answer>,
    /// The input that a stateless server asks for before it can answer.
    pub(crate) round: Round,
    /// The highest progress reported; a lower one is a replay or a restart.
    progress: Option<f64>,
}

/// The moment at which a call's time is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Deadline {
    pub(crate) at: Moment,
    /// Whether the caller has set it; else it comes from the policy.
    pub(crate) is_callers: bool,
    pub(crate) extension: Option<Extension>,
}

/// An extension of a call's deadline with each progress notification, up to a cap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extension {
    /// The time from the progress to the new deadline.
    pub by: Duration,
    /// The longest time that the whole call may take.
    pub cap: Duration,
}

/// One send of the request.
#[derive(Clone, Debug)]
pub(crate) struct Sent {
    pub(crate) wire_id: u64,
    /// The size of the body.
    pub(crate) size: usize,
    pub(crate) to: Address,
}

impl Sent {
    pub(crate) const fn generation(&self) -> Generation {
        self.to.generation
    }

    /// Returns the era that it was sent in; the link may have changed to another since.
    pub(crate) fn era(&self) -> Era {
        self.to.era()
    }
}

impl Exchange {
    pub(crate) fn new(
        id: ExchangeId,
        call: CallName,
        params: Params,
        rule: ReplayRule,
        now: Moment,
        deadline: Deadline,
    ) -> Self {
        Self {
            id,
            origin: Origin::Application,
            call,
            params,
            rule,
            headers: Headers::default(),
            own_routing_headers: false,
            capabilities: None,
            began: now,
            deadline,
            state: State::Waiting(Waiting::Place),
            counters: Counters::default(),
            resume_state: ResumeState::default(),
            sent: None,
            newer_than: None,
            target: None,
            route: Route::Any,
            to: None,
            last_refusal: None,
            is_named: false,
            refused_with: None,
            round: Round::default(),
            progress: None,
        }
    }

    /// Returns the era of the last send.
    pub(crate) fn era(&self) -> Era {
        self.sent.as_ref().map_or(Era::Legacy, Sent::era)
    }

    /// Returns how long this result may be kept. One that depends on input is not kept, because it belongs to
    /// the person who gave the input.
    pub(crate) fn lifetime(&self, result: &Json) -> Option<Lifetime> {
        let is_plain = self.era() == Era::Modern && self.round.is_none();
        is_plain.then(|| Lifetime::of(&self.call.method, result)).flatten()
    }

    /// Returns the attempt that is out, if one is.
    pub(crate) const fn live(&self) -> Option<&Live> {
        match &self.state {
            State::Live(live) => Some(live),
            _ => None,
        }
    }

    pub(crate) const fn live_mut(&mut self) -> Option<&mut Live> {
        match &mut self.state {
            State::Live(live) => Some(live),
            _ => None,
        }
    }

    /// Whether the exchange waits for `awaited`.
    pub(crate) const fn awaits(&self, awaited: Awaited) -> bool {
        matches!(&self.state, State::Waiting(waiting) if waiting.is_for(awaited))
    }

    /// Whether the server may have the request, counting the attempt that is out.
    pub(crate) fn may_have_arrived(&self) -> bool {
        let is_posted = self.live().is_some_and(|live| live.via == Via::Post)
            || matches!(self.state, State::Accepted { .. } | State::Doubted(_));
        is_posted || self.counters.delivery() == Delivery::Unknown
    }

    /// Whether the caller asks for a task (2025-11-25). Such a request is never cancelled by a notification;
    /// only its task is.
    pub(crate) fn asks_for_task(&self) -> bool {
        let asks = |params: &Json| params.member("task").is_some();
        self.call.tool.is_some() && self.params.text().is_some_and(asks)
    }

    /// Notes that the attempt that is out is abandoned: the server may have the request.
    pub(crate) fn gave_up(&mut self) {
        if self.may_have_arrived() {
            self.counters.note(Delivery::Unknown);
        }
    }

    /// Returns the patience used so far by waits for a connection, a session or an answer of the server.
    pub(crate) fn waited(&self, now: Moment) -> Duration {
        let current = match self.state {
            State::Waiting(
                Waiting::Link { since, .. }
                | Waiting::Probation { since }
                | Waiting::Session { since },
            ) => now.since(since),
            _ => Duration::ZERO,
        };
        self.counters.waited.saturating_add(current)
    }

    /// Moves to another state, and adds up the patience that a wait has used.
    pub(crate) fn enter(&mut self, now: Moment, state: State) {
        self.counters.waited = self.waited(now);
        self.state = state;
    }

    /// Notes a message on one of the exchange's streams; a new one is progress by row 14. Returns whether it
    /// was the first on a stream that a POST opened.
    pub(crate) fn heard(&mut self, attempt: AttemptId, novelty: Novelty, is_news: bool) -> bool {
        let is_progress = is_news && novelty == Novelty::Fresh;
        if is_progress {
            self.counters.progressed();
        }
        let State::Live(live) = &mut self.state else { return false };
        let is_own = live.attempt == attempt;
        let Phase::Stream { heard, fruitful, .. } = &mut live.phase else { return false };
        *fruitful |= is_progress;
        let is_first = !std::mem::replace(heard, true);
        is_first && is_own && live.via == Via::Post
    }

    /// Row 19: handles the end of one of two streams of the exchange. Returns false if there is no other
    /// stream to go on with.
    pub(crate) fn lose_side_stream(&mut self, now: Moment, attempt: AttemptId) -> bool {
        let State::Live(live) = &mut self.state else { return false };
        let Some(mut old) = live.replaces.take() else { return false };
        if live.attempt != attempt {
            // Messages of the old stream may be replayed on the new one.
            self.resume_state.stream_ended();
        } else {
            // The resume was refused: the old stream is checked again later.
            old.last_sign = now;
            self.state = State::Live(*old);
        }
        true
    }

    /// Takes in a progress value. Returns whether it is higher than all before.
    pub(crate) fn progress_increased(&mut self, now: Moment, params: &Json) -> bool {
        #[derive(serde::Deserialize)]
        struct Progress {
            progress: f64,
        }

        let Some(Progress { progress }) = params.read() else { return false };
        if self.progress.is_some_and(|highest| progress <= highest) {
            return false;
        }
        self.progress = Some(progress);
        if let Some(extension) = self.deadline.extension {
            let extended = (now + extension.by).min(self.began + extension.cap);
            self.deadline.at = self.deadline.at.max(extended);
        }
        true
    }

    /// Returns the time that the server asked for in the answer that is being read.
    fn hinted(&self) -> Option<Duration> {
        match &self.live()?.phase {
            Phase::Body(head) => head.retry_after,
            Phase::Asked | Phase::Stream { .. } => None,
        }
    }

    /// Returns the error that reports how this exchange ended.
    pub(crate) fn error(&self, now: Moment, ending: Ending, is_repeatable: bool) -> CallError {
        CallError {
            kind: ending.kind,
            delivery: self.counters.delivery(),
            call: self.call.clone(),
            attempts: self.counters.attempts,
            handshakes: 0,
            elapsed: now.since(self.began),
            retry_after: ending.retry_after.or_else(|| self.hinted()),
            reason: ending.reason,
            status: self.last_refusal.as_ref().map(|it| it.status),
            said: self.last_refusal.as_ref().and_then(|it| it.said.clone()),
            is_repeatable,
        }
    }
}
