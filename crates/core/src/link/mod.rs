//! The link: the lasting relation with one server, which outlives the protocol sessions inside it.
//!
//! The root state machine. Its state is that of its parts, each in a folder of its own with private fields.
//! [`Link`] brings commands and news to the part that they concern, and what parts ask of each other to the
//! part that is asked. No part knows the link.
//!
//! ```text
//!   news          the way in: what happened, brought to the part that it concerns
//!   routing       what a part asks of another, brought to that part
//!   closing       the end of the link
//!   status        a snapshot for operators
//!
//!   listening     the standing stream, in either era
//!   calls         exchanges, from their first attempt to their single end
//!   base          the parts below, which cannot see calls and ask for what concerns them:
//!     reach         connecting: one loop, however many calls wait
//!     session       the handshake, its renewal, what a new session is told, the server's era
//!     health        silence, pings, the breaker, sessions that were called lost
//!     admission     places in flight, gates, pace, budget
//!     outbound      our notifications and answers, and the server's questions
//!     credentials   renewed once for all calls whose token was refused; more scope
//!
//!   context       what every part works with: policy, timers, attempts, the outbox, effects
//!   own_request   a request of the link's own: ping, restore, the questions about a session and the era
//! ```

mod admission;
mod attempts;
mod base;
mod calls;
mod closing;
mod context;
mod credentials;
mod effects;
mod health;
mod listening;
mod news;
mod outbound;
mod own_request;
mod reach;
mod request;
mod routing;
mod routing_headers;
mod session;
mod status;
mod timers;

pub use credentials::NoCredentials;
pub use request::{CallOptions, Identity, Request};
use ridethrough_wire::era::{Era, Eras, Version};
use ridethrough_wire::message::{Answer, Json, Params};
use ridethrough_wire::secrets::Secrets;
pub use status::{Status, WaitingFor};

use std::sync::Arc;
use std::time::Duration;

use crate::exchange::{Deadline, Ending, Then};
use crate::ids::{CredentialsId, ExchangeId, NoticeId, QuestionId};
use crate::moment::Moment;
use crate::outcome::{CallName, Kind, Reason};
use crate::output::Output;
use crate::policy::RetryPolicy;
use crate::replay::ReplayRule;

use base::Base;
use calls::Calls;
use closing::Closing;
use listening::Listening;

/// The recovery machine for one server.
///
/// Its methods, beside those that set something before or between calls, are of four kinds, to be used in this
/// order:
///
/// 1. *commands* of the application: [`send`](Self::send), [`connect`](Self::connect),
///    [`listen`](Self::listen), [`notify`](Self::notify), [`answer`](Self::answer),
///    [`cancel`](Self::cancel), [`keep_connected`](Self::keep_connected), [`close`](Self::close);
/// 2. *news* from the world: all other `handle_*`;
/// 3. after any of these, [`poll_output`](Self::poll_output) until it returns `None`;
/// 4. then sleep until [`poll_timeout`](Self::poll_timeout), or the next command or news, and call
///    [`handle_timeout`](Self::handle_timeout) when the moment has come.
///
/// Late and duplicate news, and news of unknown attempts, are legal and change nothing.
#[derive(Debug)]
pub struct Link {
    calls: Calls,
    listening: Listening,
    closing: Closing,
}

impl Link {
    /// Creates a link that has sent nothing yet. `seed` decides all jitter. An [`Era`] pins the link to it;
    /// [`Eras::Either`] lets the link find out.
    pub fn new(
        now: Moment,
        eras: impl Into<Eras>,
        identity: Identity,
        policy: RetryPolicy,
        seed: u64,
    ) -> Self {
        Self {
            calls: Calls::new(Base::new(now, eras.into(), identity, policy, seed)),
            listening: Listening::default(),
            closing: Closing::default(),
        }
    }

    /// Sends a request. The exchange ends with exactly one [`Output::Finish`].
    pub fn send(&mut self, now: Moment, request: Request) -> ExchangeId {
        self.calls.at(now);
        let params = Params::new(request.params, request.options.progress);
        let tool = (&*request.method == "tools/call").then(|| params.name()).flatten();
        let call = CallName { method: request.method, tool };
        let time = request.options.deadline.unwrap_or(match &*call.method {
            "tools/call" => self.calls.base.cx.policy.tool_deadline,
            _ => self.calls.base.cx.policy.deadline,
        });
        let is_callers = request.options.deadline.is_some();
        let deadline =
            Deadline { at: now + time, is_callers, extension: request.options.extension };
        let rule = request.options.replay;
        let id = self.calls.add(call, params, rule, deadline);
        if let Some(exchange) = self.calls.all.get_mut(id) {
            exchange.headers = request.options.headers;
            exchange.own_routing_headers = request.options.own_routing_headers;
            exchange.capabilities = request.options.capabilities;
            if request.options.passes_input {
                exchange.leave_rounds_to_caller();
            }
        }
        self.calls.base.admission.deposit();
        match self.refusal() {
            Some(ending) => self.calls.end(id, ending),
            None => self.calls.let_out(id, Then::Send),
        }
        self.run_effects();
        id
    }

    /// Makes a session without sending a call. Its answer is the server's description of itself: the result
    /// of `initialize` or of `server/discover`.
    pub fn connect(&mut self, now: Moment, deadline: Option<Duration>) -> ExchangeId {
        self.calls.at(now);
        let call = CallName { method: CONNECT.into(), tool: None };
        let at = now + deadline.unwrap_or(self.calls.base.cx.policy.deadline);
        let deadline = Deadline { at, is_callers: deadline.is_some(), extension: None };
        let (params, rule) = (Params::new(None, false), ReplayRule::Repeatable);
        let id = self.calls.add(call, params, rule, deadline);
        if self.closing.is_begun() {
            let ending = Ending::new(Kind::Closed, Reason::Nothing);
            self.calls.end(id, ending);
        } else {
            self.calls.let_out(id, Then::Send);
        }
        self.run_effects();
        id
    }

    /// Cancels a call whose answer the caller does not want any more.
    pub fn cancel(&mut self, now: Moment, exchange: ExchangeId) {
        self.calls.at(now);
        let ending = Ending::new(Kind::Cancelled, Reason::Nothing);
        self.calls.end(exchange, ending);
        self.run_effects();
    }

    /// Sends a notification. It ends with exactly one [`Output::Noticed`].
    pub fn notify(
        &mut self,
        now: Moment,
        method: impl Into<Arc<str>>,
        params: Option<&Json>,
    ) -> NoticeId {
        self.calls.at(now);
        let call = CallName { method: method.into(), tool: None };
        let id = self.calls.base.outbound.notify(&mut self.calls.base.cx, call, params.cloned());
        self.run_effects();
        id
    }

    /// Answers a question of the server. An answer to a withdrawn question is ignored.
    pub fn answer(&mut self, now: Moment, question: QuestionId, answer: &Answer) {
        self.calls.at(now);
        self.calls.answer(question, answer);
        self.run_effects();
    }

    /// Subscribes the application to messages of the server that belong to no call.
    pub fn listen(&mut self, now: Moment) {
        self.calls.at(now);
        self.listening.listen(&mut self.calls);
        self.run_effects();
    }

    /// Keeps the link connected while no call waits, for applications that need messages between calls, like
    /// a bridge.
    pub fn keep_connected(&mut self, now: Moment) {
        self.calls.at(now);
        self.calls.base.reach.keep_connected();
        self.calls.base.session.ensure(&mut self.calls.base.cx);
        self.run_effects();
        self.listening.open(&mut self.calls);
        self.run_effects();
    }

    /// Replaces the identity that the next handshake names; a stateless server sees it with the next request.
    pub fn set_identity(&mut self, identity: Identity) {
        self.calls.base.session.set_identity(identity);
    }

    /// Offers this revision from the next handshake on, instead of the newest legacy revision.
    pub const fn offer(&mut self, revision: Version) {
        self.calls.base.session.offer(revision);
    }

    /// Gives each `initialize` this much time instead of 15 s. A local server that is started for it may
    /// first have to download its own program.
    pub const fn give_time_to_start(&mut self, time: Duration) {
        self.calls.base.session.give_time_to_start(time);
    }

    /// Never holds unsafe calls back after trouble: a local server that died under one is started anew for the
    /// next.
    pub const fn hold_no_calls(&mut self) {
        self.calls.base.admission.probation.switch_off();
    }

    /// Returns the secrets that are masked where errors quote the server, which may repeat what it was sent.
    pub const fn secrets(&mut self) -> &mut Secrets {
        &mut self.calls.base.cx.secrets
    }

    /// Allows HTTP+SSE of 2024-11-05, which the link tries when a server refuses `initialize`. The transport
    /// must be able to carry it.
    pub const fn speak_http_sse(&mut self) {
        self.calls.base.session.speak_http_sse();
    }

    /// Sets the era to use with a server that speaks both, from the next handshake on; the default is
    /// [`Era::Modern`]. A server that speaks only one era is spoken to in that one. A pinned link keeps to
    /// its era.
    pub const fn prefer_era(&mut self, era: Era) {
        self.calls.base.session.prefer_era(era);
    }

    /// Takes over what an earlier process found out about the server's era, `age` ago. If it is wrong, it is
    /// corrected like everything that the link finds out itself. A pinned link keeps to its era.
    pub fn remember_era(&mut self, now: Moment, era: Era, age: Duration) {
        self.calls.base.session.remember_era(now, era, age);
    }

    /// Makes the link ask its credentials hook before it sends anything. The hook's first reply, even "none
    /// yet", comes in through [`handle_credentials`](Self::handle_credentials).
    pub const fn await_first_credentials(&mut self) {
        self.calls.base.credentials.await_first();
    }

    /// Returns the id of the credentials in force, so that better ones can be brought unasked.
    pub const fn credentials(&self) -> CredentialsId {
        self.calls.base.cx.credentials
    }

    /// Returns the next thing to carry out. Call this until `None` after every command and all news.
    pub fn poll_output(&mut self) -> Option<Output> {
        self.calls.base.cx.next_output()
    }

    /// Returns when to call [`handle_timeout`](Self::handle_timeout) at the latest, and what the link waits
    /// for.
    pub fn poll_timeout(&self) -> Option<(Moment, WaitingFor)> {
        let (moment, timer) = self.calls.base.cx.timers.next()?;
        Some((moment, self.waiting_for(timer)))
    }

    /// Returns why a new call is refused at once, if it is.
    fn refusal(&self) -> Option<Ending> {
        if self.closing.is_begun() {
            return Some(Ending::new(Kind::Closed, Reason::Nothing));
        }
        let wait = self.calls.base.health.refuses_for(self.calls.base.cx.now)?;
        let has_patience = !self.calls.base.reach.patience(&self.calls.base.cx.policy).is_zero();
        if has_patience && !self.calls.base.admission.probation.is_off() {
            // It waits until the server answers.
            return None;
        }
        Some(Ending::new(Kind::BreakerOpen, Reason::Nothing).with_retry_after(wait))
    }
}

/// The method of the call that only makes a session. An application that sends it by this name gets the
/// session in force: a session is never initialized twice.
const CONNECT: &str = "initialize";
/// How long one message of a handshake may take, and one request of the link that finds out about a stateless
/// server.
const HANDSHAKE_LIMIT: Duration = Duration::from_secs(15);
