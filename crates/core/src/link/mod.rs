//! The link: the lasting relation with one server, which outlives the protocol sessions inside it.
//!
//! The root state machine. Its state is that of its parts, each in a folder of its own with private fields.
//! What concerns several parts is a method of [`Link`] in the folder of the part that it is about.
//!
//! ```text
//!   news          the way in: what happened, brought to the part that it concerns
//!   reach         connecting: one loop, however many calls wait
//!   session       the handshake, its renewal, what a new session is told, the server's era
//!   health        silence, pings, the breaker, answers that are not believed yet
//!   admission     places in flight, gates, pace, budget
//!   calls         exchanges, from their first attempt to their single end
//!   listening     the standing stream, in either era
//!   outbound      our notifications and answers; messages and questions from the server
//!   credentials   renewed once for all calls whose token was refused
//!   step_up       more scope, for the calls that were refused for lack of it
//!   closing       the end of the link
//!   status        a snapshot for operators
//!   context       what every part works with: policy, timers, attempts, the outbox
//! ```

mod admission;
mod attempts;
mod calls;
mod closing;
mod context;
mod credentials;
mod health;
mod listening;
mod news;
mod outbound;
mod reach;
mod request;
mod routing_headers;
mod session;
mod status;
mod step_up;
mod timers;

pub use credentials::NoCredentials;
pub use request::{CallOptions, Identity, Request};
pub use status::{Status, WaitingFor};

use std::time::Duration;

use crate::answer::words;
use crate::era::{Eras, Version};
use crate::exchange::{Deadline, Ending, LastRefusal, Then};
use crate::head::AnswerHead;
use crate::ids::ExchangeId;
use crate::message::Params;
use crate::moment::Moment;
use crate::outcome::{CallName, Kind, Reason};
use crate::output::Output;
use crate::policy::RetryPolicy;
use crate::replay::ReplayRule;
use crate::secrets::Secrets;

use admission::Admission;
use calls::Calls;
use closing::Closing;
use context::Context;
use credentials::Credentials;
use health::Health;
use listening::Listening;
use outbound::Outbound;
use reach::Reach;
use session::Sessions;
use step_up::StepUp;

/// The recovery machine for one server.
///
/// Its methods are of four kinds, to be used in this order:
///
/// 1. *commands* of the application: [`send`](Self::send), [`connect`](Self::connect),
///    [`notify`](Self::notify), [`answer`](Self::answer), [`cancel`](Self::cancel),
///    [`keep_connected`](Self::keep_connected), [`close`](Self::close);
/// 2. *news* from the world: `handle_*`;
/// 3. after any of these, [`poll_output`](Self::poll_output) until it returns `None`;
/// 4. then sleep until [`poll_timeout`](Self::poll_timeout), or the next command or news, and call
///    [`handle_timeout`](Self::handle_timeout) when the moment has come.
///
/// Late and duplicate news, and news of unknown attempts, are legal and change nothing.
#[derive(Debug)]
pub struct Link {
    cx: Context,
    reach: Reach,
    session: Sessions,
    health: Health,
    admission: Admission,
    calls: Calls,
    listening: Listening,
    outbound: Outbound,
    credentials: Credentials,
    step_up: StepUp,

    closing: Closing,
}

impl Link {
    /// Creates a link that has sent nothing yet. `seed` decides all jitter. An [`Era`](crate::Era) pins the
    /// link to it; [`Eras::Either`] lets the link find out.
    pub fn new(
        now: Moment,
        eras: impl Into<Eras>,
        identity: Identity,
        policy: RetryPolicy,
        seed: u64,
    ) -> Self {
        Self {
            cx: Context::new(policy, seed),
            reach: Reach::new(),
            session: Sessions::new(eras.into(), identity),
            health: Health::new(now),
            admission: Admission::new(now),
            calls: Calls::default(),
            listening: Listening::default(),
            outbound: Outbound::default(),
            credentials: Credentials::default(),
            step_up: StepUp::default(),
            closing: Closing::default(),
        }
    }

    /// Sends a request. The exchange ends with exactly one [`Output::Finish`].
    pub fn send(&mut self, now: Moment, request: Request) -> ExchangeId {
        let params = Params::new(request.params, request.options.progress);
        let tool = (&*request.method == "tools/call").then(|| params.name()).flatten();
        let call = CallName { method: request.method, tool };
        let time = request.options.deadline.unwrap_or(match &*call.method {
            "tools/call" => self.cx.policy.tool_deadline,
            _ => self.cx.policy.deadline,
        });
        let is_callers = request.options.deadline.is_some();
        let deadline =
            Deadline { at: now + time, is_callers, extension: request.options.extension };
        let id = self.new_exchange(now, call, params, request.options.replay, deadline);
        if let Some(exchange) = self.calls.get_mut(id) {
            exchange.headers = request.options.headers;
            exchange.own_routing_headers = request.options.own_routing_headers;
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

    /// Makes a session without sending a call. Its answer is the server's description of itself: the result
    /// of `initialize` or of `server/discover`.
    pub fn connect(&mut self, now: Moment, deadline: Option<Duration>) -> ExchangeId {
        let call = CallName { method: CONNECT.into(), tool: None };
        let at = now + deadline.unwrap_or(self.cx.policy.deadline);
        let deadline = Deadline { at, is_callers: deadline.is_some(), extension: None };
        let (params, rule) = (Params::new(None, false), ReplayRule::Repeatable);
        let id = self.new_exchange(now, call, params, rule, deadline);
        if self.closing.is_begun() {
            self.end(now, id, Ending::new(Kind::Closed, Reason::Nothing))
        } else {
            self.let_out(now, id, Then::Send)
        }
        id
    }

    /// Cancels a call whose answer the caller does not want any more.
    pub fn cancel(&mut self, now: Moment, exchange: ExchangeId) {
        self.end(now, exchange, Ending::new(Kind::Cancelled, Reason::Nothing));
    }

    /// Keeps the link connected while no call waits, for applications that need messages between calls, like
    /// a bridge.
    pub fn keep_connected(&mut self, now: Moment) {
        self.reach.keep_connected();
        self.ensure_session(now);
        self.open_listener(now);
    }

    /// Replaces the identity that the next handshake names; a stateless server sees it with the next request.
    pub fn set_identity(&mut self, identity: Identity) {
        self.session.set_identity(identity);
    }

    /// Offers this revision from the next handshake on, instead of the newest legacy revision.
    pub const fn offer(&mut self, revision: Version) {
        self.session.offer(revision);
    }

    /// Gives each `initialize` this much time instead of 15 s. A local server that is started for it may
    /// first have to download its own program.
    pub const fn give_time_to_start(&mut self, time: Duration) {
        self.session.give_time_to_start(time);
    }

    /// Returns the secrets that are masked where errors quote the server, which may repeat what it was sent.
    pub const fn secrets(&mut self) -> &mut Secrets {
        self.credentials.secrets_mut()
    }

    /// Allows HTTP+SSE of 2024-11-05, which the link tries when a server refuses `initialize`. The transport
    /// must be able to carry it.
    pub const fn speak_http_sse(&mut self) {
        self.session.speak_http_sse();
    }

    /// Returns the next thing to carry out. Call this until `None` after every command and all news.
    pub fn poll_output(&mut self) -> Option<Output> {
        self.cx.next_output()
    }

    /// Returns when to call [`handle_timeout`](Self::handle_timeout) at the latest, and what the link waits
    /// for.
    pub fn poll_timeout(&self) -> Option<(Moment, WaitingFor)> {
        let (moment, timer) = self.cx.timers.next()?;
        Some((moment, self.waiting_for(timer)))
    }

    /// Returns why a new call is refused at once, if it is.
    fn refusal(&self, now: Moment) -> Option<Ending> {
        if self.closing.is_begun() {
            return Some(Ending::new(Kind::Closed, Reason::Nothing));
        }
        let wait = self.health.refuses_for(now)?;
        Some(Ending::new(Kind::BreakerOpen, Reason::Nothing).with_retry_after(wait))
    }

    /// Keeps session ids and cookies of an answer out of quoted text.
    fn note_secrets(&mut self, head: &AnswerHead) {
        if let Some(session) = &head.session {
            self.credentials.secrets_mut().keep(session.as_str());
        }
        for cookie in &head.cookies {
            self.credentials.secrets_mut().keep(cookie);
        }
    }

    /// Returns the refusal that an answer is, if it is one: the server's words with secrets masked, fit to be
    /// shown.
    fn refusal_in(&self, head: &AnswerHead, words: Option<String>) -> Option<LastRefusal> {
        let said =
            words.and_then(|words| words::quoted(&self.credentials.secrets().masked(&words)));
        (!head.status.is_success()).then_some(LastRefusal { status: head.status, said })
    }
}

/// The method of the call that only makes a session. An application that sends it by this name gets the
/// session in force: a session is never initialized twice.
const CONNECT: &str = "initialize";
/// How long one message of a handshake may take, and one request of the link that finds out about a stateless
/// server.
const HANDSHAKE_LIMIT: Duration = Duration::from_secs(15);
