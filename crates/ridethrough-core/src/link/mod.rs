//! Our lasting relation with one server. A link outlives the protocol sessions inside it.
//!
//! The root machine: it owns the exchanges, the session, the connect loop, the standing stream and
//! the timers, and carries out the steps that they decide on. One idea a file:
//!
//! ```text
//!   calls      exchanges: let out and stepped         ending      ended, exactly once
//!   news       what happened, and to whom             hearing     what a call makes of it
//!   dial       what is believed about reaching it     reach       acting on that
//!   renewal    what a session is                      handshake   making one for all who wait
//!   sessions   one begins, one is lost                restore     what the next one must be told
//!   pulse      one ping for all who ask               health      what its answer means
//!   doubts     answers that speak of a lost session   own         what the link asks for itself
//!   gate       leaving the server alone when asked    flow        places in flight, gates
//!   inbox      messages from the server               owed        ours that get no answer
//!   eras       which era the server belongs to        stateless   what each request must say itself
//!   rounds     a call that needs input                mending     a call refused for its form
//!   standing       the stream nobody asked for
//!   subscriptions  the same in the stateless era
//!   last_resort    HTTP+SSE, for a server that refuses everything else
//!   attempts, credentials, closing, status, timers
//! ```

mod admission;
mod attempts;
mod calls;
mod closing;
mod credentials;
mod health;
mod listening;
mod news;
mod outbound;
mod reach;
mod request;
mod session;
mod status;
mod timers;

pub use credentials::NoCredentials;
pub use request::{CallOptions, Identity, Request};
pub use status::{Status, WaitingFor};

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use crate::answer::words;
use crate::dice::Dice;
use crate::era::{Eras, Version};
use crate::event::Event;
use crate::exchange::{Deadline, Ending, Then};
use crate::head::AnswerHead;
use crate::ids::ExchangeId;
use crate::message::Params;
use crate::moment::Moment;
use crate::outcome::{CallName, Kind, Reason};
use crate::output::{Action, Output};
use crate::policy::RecoveryPolicy;
use crate::replay::ReplayRule;
use crate::secrets::Secrets;

use admission::Admission;
use attempts::Attempts;
use calls::Calls;
use closing::Closing;
use credentials::Credentials;
use health::Health;
use listening::Listening;
use outbound::Outbound;
use reach::Reach;
use session::Sessions;
use timers::{Timer, Timers};

/// The recovery machine for one server.
///
/// Its methods are of four kinds, to be used in this order:
///
/// 1. *wishes* of the application: [`send`](Self::send), [`connect`](Self::connect),
///    [`notify`](Self::notify), [`answer`](Self::answer), [`cancel`](Self::cancel),
///    [`keep_connected`](Self::keep_connected), [`close`](Self::close);
/// 2. *news* from the world: `handle_*`;
/// 3. after any of these, [`poll_output`](Self::poll_output) until it returns `None`;
/// 4. then sleep until [`poll_timeout`](Self::poll_timeout), or the next wish or news, and call
///    [`handle_timeout`](Self::handle_timeout) when the moment has come.
///
/// Late, duplicate and foreign news are legal and change nothing.
#[derive(Debug)]
pub struct Link {
    policy: RecoveryPolicy,
    dice: Dice,

    reach: Reach,
    session: Sessions,
    health: Health,
    admission: Admission,
    calls: Calls,
    listening: Listening,
    outbound: Outbound,
    credentials: Credentials,

    attempts: Attempts,
    closing: Closing,
    timers: Timers,
    outbox: VecDeque<Output>,
}

impl Link {
    /// A link that has sent nothing yet. `seed` decides all jitter. An [`Era`](crate::Era) pins the link
    /// to it; [`Eras::Either`] lets it find out.
    pub fn new(
        now: Moment,
        eras: impl Into<Eras>,
        identity: Identity,
        policy: RecoveryPolicy,
        seed: u64,
    ) -> Self {
        Self {
            policy,
            dice: Dice::new(seed),
            reach: Reach::new(),
            session: Sessions::new(eras.into(), identity),
            health: Health::new(now),
            admission: Admission::new(now),
            calls: Calls::default(),
            listening: Listening::default(),
            outbound: Outbound::default(),
            credentials: Credentials::default(),
            attempts: Attempts::default(),
            closing: Closing::default(),
            timers: Timers::default(),
            outbox: VecDeque::new(),
        }
    }

    /// Asks the server. The exchange ends by exactly one [`Output::Finish`].
    pub fn send(&mut self, now: Moment, request: Request) -> ExchangeId {
        let params = Params::new(request.params, request.options.progress);
        let tool = (&*request.method == "tools/call").then(|| params.name()).flatten();
        let call = CallName { method: request.method, tool };
        let time = request.options.deadline.unwrap_or(match &*call.method {
            "tools/call" => self.policy.tool_deadline,
            _ => self.policy.deadline,
        });
        let is_callers = request.options.deadline.is_some();
        let deadline =
            Deadline { at: now + time, is_callers, extension: request.options.extension };
        let id = self.new_exchange(now, call, params, request.options.replay, deadline);
        if let Some(exchange) = self.calls.get_mut(id) {
            exchange.headers = request.options.headers;
            if request.options.passes_input {
                exchange.leave_rounds_to_caller();
            }
        }
        self.admission.deposit();
        if let Some(ending) = self.refusal(now) {
            self.end(now, id, ending);
        } else {
            self.let_out(now, id, Then::Send);
        }
        id
    }

    /// Makes the session without asking anything; its answer is what the server says of itself: the
    /// result of `initialize`, or of `server/discover`.
    pub fn connect(&mut self, now: Moment, deadline: Option<Duration>) -> ExchangeId {
        let call = CallName { method: CONNECT.into(), tool: None };
        let at = now + deadline.unwrap_or(self.policy.deadline);
        let deadline = Deadline { at, is_callers: deadline.is_some(), extension: None };
        let (params, rule) = (Params::new(None, false), ReplayRule::Repeatable);
        let id = self.new_exchange(now, call, params, rule, deadline);
        match self.closing.is_begun() {
            true => self.end(now, id, Ending::new(Kind::Closed, Reason::Nothing)),
            false => self.let_out(now, id, Then::Send),
        }
        id
    }

    /// The caller does not want the answer any more.
    pub fn cancel(&mut self, now: Moment, exchange: ExchangeId) {
        self.end(now, exchange, Ending::new(Kind::Cancelled, Reason::Nothing));
    }

    /// Stay connected though no call waits, for those who live between calls, like a bridge.
    pub fn keep_connected(&mut self, now: Moment) {
        self.reach.keep_connected();
        self.ensure_session(now);
        self.open_listener(now);
    }

    /// Says who we are from the next handshake on; to a stateless server, from the next request on.
    pub fn set_identity(&mut self, identity: Identity) {
        self.session.set_identity(identity);
    }

    /// Offers this revision from the next handshake on, instead of the newest that has one.
    pub const fn offer(&mut self, revision: Version) {
        self.session.offer(revision);
    }

    /// Gives each `initialize` this much time in place of 15 s: a server that is started for it may have to
    /// fetch itself first.
    pub const fn give_time_to_start(&mut self, time: Duration) {
        self.session.give_time_to_start(time);
    }

    /// What is kept out of the words of the server that errors quote: we are known by it, and a server may
    /// repeat it.
    pub const fn secrets(&mut self) -> &mut Secrets {
        self.credentials.secrets_mut()
    }

    /// The transport also carries HTTP+SSE of 2024-11-05: it is tried when a server refuses `initialize`.
    pub const fn speak_http_sse(&mut self) {
        self.session.speak_http_sse();
    }

    /// The next thing to carry out. Call until `None` after every wish and all news.
    pub fn poll_output(&mut self) -> Option<Output> {
        self.outbox.pop_front()
    }

    /// When to call [`handle_timeout`](Self::handle_timeout) at the latest, and what is waited for.
    pub fn poll_timeout(&self) -> Option<(Moment, WaitingFor)> {
        let (moment, timer) = self.timers.next()?;
        Some((moment, self.waiting_for(timer)))
    }

    /// Time has passed. Calling too early or too often is harmless.
    pub fn handle_timeout(&mut self, now: Moment) {
        while let Some(timer) = self.timers.pop_due(now) {
            match timer {
                Timer::Abandoned => self.forget_abandoned(now),
                Timer::Breaker => self.probe_for_breaker(now),
                Timer::Close => self.finish_closing(),
                Timer::Credentials => self.credentials_failed(now, &credentials::too_late()),
                Timer::Dial => self.dial_due(now),
                Timer::Exchange(id) => self.exchange_due(now, id),
                Timer::Gates => self.gates_due(now),
                Timer::Listener => self.listener_due(now),
                Timer::Notice(id) => self.notice_due(now, id),
                Timer::Pulse => self.pulse_due(now),
                Timer::Renewal => self.renewal_due(now),
                Timer::Restore => self.restore_more(now),
            }
        }
    }

    /// Why a new call is not even begun.
    fn refusal(&self, now: Moment) -> Option<Ending> {
        if self.closing.is_begun() {
            return Some(Ending::new(Kind::Closed, Reason::Nothing));
        }
        let wait = self.health.refuses_for(now)?;
        Some(Ending::new(Kind::BreakerOpen, Reason::Nothing).with_retry_after(wait))
    }

    /// Whatever an answer gives us to be known by is not shown.
    fn note_secrets(&mut self, head: &AnswerHead) {
        if let Some(session) = &head.session {
            self.credentials.secrets_mut().keep(session.as_str());
        }
        for cookie in &head.cookies {
            self.credentials.secrets_mut().keep(cookie);
        }
    }

    /// Words of the server as people may see them.
    fn quoted(&self, words: Option<String>) -> Option<Arc<str>> {
        words::quoted(&self.credentials.secrets().masked(&words?))
    }

    fn act(&mut self, action: Action) {
        self.outbox.push_back(Output::Act(action));
    }

    fn tell(&mut self, event: Event) {
        self.outbox.push_back(Output::Tell(event));
    }
}

/// The pseudo-call that only makes a session. An application that asks for it by this name gets
/// the same: a session is never initialized twice.
const CONNECT: &str = "initialize";
