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

mod attempts;
mod calls;
mod closing;
mod credentials;
mod dial;
mod doubts;
mod ending;
mod era_doubts;
mod eras;
mod flow;
mod gate;
mod handshake;
mod health;
mod hearing;
mod inbox;
mod last_resort;
mod mending;
mod news;
mod owed;
mod own;
mod pace;
mod pulse;
mod reach;
mod renewal;
mod request;
mod restore;
mod rounds;
mod sessions;
mod standing;
mod stateless;
mod status;
mod subscriptions;
mod timers;

pub use credentials::NoCredentials;
pub use request::{CallOptions, Identity, Request};
pub use status::{Status, WaitingFor};

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use crate::answer::words;
use crate::breaker::{self, Breaker};
use crate::budget::Budget;
use crate::dice::Dice;
use crate::era::{Eras, Version};
use crate::event::Event;
use crate::exchange::{Deadline, Ending, Exchange, Then};
use crate::head::AnswerHead;
use crate::ids::{AttemptId, ExchangeId, Generation, NoticeId, QuestionId};
use crate::listener::Listener;
use crate::message::Params;
use crate::moment::Moment;
use crate::outcome::{CallName, Kind, Reason};
use crate::output::{Action, Output};
use crate::policy::RecoveryPolicy;
use crate::replay::{KnownTools, ReplayRule};
use crate::secrets::Secrets;

use attempts::Attempt;
use closing::Closing;
use credentials::Credentials;
use dial::Dial;
use doubts::Doubts;
use eras::KnownEra;
use gate::Gates;
use inbox::Question;
use mending::Relisting;
use owed::{Owed, Turns};
use pulse::Pulse;
use renewal::Session;
use restore::Restore;
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
    known_era: KnownEra,
    policy: RecoveryPolicy,
    identity: Identity,
    /// What `initialize` offers.
    offered: Version,
    /// How long `initialize` may take.
    start_limit: Duration,
    dice: Dice,
    keep_connected: bool,
    /// What the server's words are shown without.
    secrets: Secrets,
    /// Whether the application listens to what nobody asked for.
    wants_news: bool,

    dial: Dial,
    session: Session,
    listener: Listener,
    credentials: Credentials,
    gates: Gates,
    pulse: Pulse,
    doubts: Doubts,
    breaker: Breaker,
    budget: Budget,
    tools: KnownTools,
    restore: Restore,
    closing: Closing,
    /// Tools that the link lists for itself.
    relisting: Option<Relisting>,

    /// Boxed: a map makes room for eleven at once, and most links have none.
    exchanges: BTreeMap<ExchangeId, Box<Exchange>>,
    /// Calls that the connection can carry.
    capacity: usize,
    /// Calls that hold a place in flight.
    placed: BTreeSet<ExchangeId>,
    /// Calls that wait for one, oldest first.
    queue: BTreeSet<ExchangeId>,
    /// Whether places are being given out right now.
    is_filling: bool,
    /// The request ids on the wire that an answer may name.
    wires: BTreeMap<u64, ExchangeId>,
    attempts: BTreeMap<AttemptId, Attempt>,
    owed: BTreeMap<NoticeId, Owed>,
    /// How many of them are answers to the server.
    answers_owed: usize,
    /// Which notifications are out, and which wait for that.
    turns: Turns,
    questions: BTreeMap<QuestionId, Question>,
    /// Questions of stateless servers, by the call that they were asked for.
    round_questions: BTreeMap<QuestionId, ExchangeId>,

    /// Counts transport failures between response heads, so that one outage is one strike.
    outages: u64,
    in_outage: bool,
    /// When a ping last proved the server alive.
    alive_at: Moment,
    last_failure: Option<(Moment, Reason)>,
    had_session: bool,

    timers: Timers,
    outbox: VecDeque<Output>,
    ids: Ids,
}

/// The last numbers given out.
#[derive(Debug, Default)]
struct Ids {
    exchange: ExchangeId,
    attempt: AttemptId,
    generation: Generation,
    /// Requests that were made for the sake of a session.
    handshakes: u32,
    notice: NoticeId,
    question: QuestionId,
    wire: u64,
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
        let known_era = KnownEra::new(eras.into());
        Self {
            session: known_era.first_session(),
            known_era,
            policy,
            identity,
            offered: Version::LATEST_LEGACY,
            start_limit: renewal::LIMIT,
            dice: Dice::new(seed),
            keep_connected: false,
            secrets: Secrets::default(),
            wants_news: false,
            dial: Dial::new(),
            listener: Listener::default(),
            credentials: Credentials::default(),
            gates: Gates::default(),
            pulse: Pulse::default(),
            doubts: Doubts::default(),
            breaker: Breaker::new(),
            budget: Budget::new(now),
            tools: KnownTools::default(),
            restore: Restore::default(),
            closing: Closing::default(),
            relisting: None,
            exchanges: BTreeMap::new(),
            capacity: usize::MAX,
            placed: BTreeSet::new(),
            queue: BTreeSet::new(),
            is_filling: false,
            wires: BTreeMap::new(),
            attempts: BTreeMap::new(),
            owed: BTreeMap::new(),
            answers_owed: 0,
            turns: Turns::default(),
            questions: BTreeMap::new(),
            round_questions: BTreeMap::new(),
            outages: 0,
            in_outage: false,
            alive_at: now,
            last_failure: None,
            had_session: false,
            timers: Timers::default(),
            outbox: VecDeque::new(),
            // The stateless era is born with its only generation.
            ids: Ids { generation: Generation::new(1), ..Ids::default() },
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
        if let Some(exchange) = self.exchanges.get_mut(&id) {
            exchange.headers = request.options.headers;
            if request.options.passes_input {
                exchange.leave_rounds_to_caller();
            }
        }
        self.budget.deposit();
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
        self.keep_connected = true;
        self.ensure_session(now);
        self.open_listener(now);
    }

    /// Says who we are from the next handshake on; to a stateless server, from the next request on.
    pub fn set_identity(&mut self, identity: Identity) {
        self.identity = identity;
    }

    /// Offers this revision from the next handshake on, instead of the newest that has one.
    pub const fn offer(&mut self, revision: Version) {
        self.offered = revision;
    }

    /// What is kept out of the words of the server that errors quote: we are known by it, and a server may
    /// repeat it.
    pub const fn secrets(&mut self) -> &mut Secrets {
        &mut self.secrets
    }

    /// The transport also carries HTTP+SSE of 2024-11-05: it is tried when a server refuses `initialize`.
    pub const fn speak_http_sse(&mut self) {
        self.known_era.last_resort.allow();
    }

    /// How many calls the connection can carry at once, if that is less than the policy allows.
    pub fn handle_capacity(&mut self, now: Moment, calls: usize) {
        self.capacity = calls.max(1);
        self.fill_places(now);
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

    fn new_exchange(
        &mut self,
        now: Moment,
        call: CallName,
        params: Params,
        rule: ReplayRule,
        deadline: Deadline,
    ) -> ExchangeId {
        self.ids.exchange = self.ids.exchange.next();
        let id = self.ids.exchange;
        let is_one_out = matches!(&self.session, Session::Renewing(it) if it.attempt().is_some());
        let mut exchange = Box::new(Exchange::new(id, call, params, rule, now, deadline));
        exchange.ledger.handshakes_before =
            self.ids.handshakes.saturating_sub(u32::from(is_one_out));
        self.exchanges.insert(id, exchange);
        id
    }

    /// Why a new call is not even begun.
    fn refusal(&self, now: Moment) -> Option<Ending> {
        if self.closing.is_begun() {
            return Some(Ending::new(Kind::Closed, Reason::Nothing));
        }
        let wait = match self.breaker.state() {
            breaker::State::Closed => return None,
            breaker::State::Open { until } => until.since(now),
            breaker::State::Probing => pulse::LIMIT,
        };
        Some(Ending::new(Kind::BreakerOpen, Reason::Nothing).with_retry_after(wait))
    }

    /// Whatever an answer gives us to be known by is not shown.
    fn note_secrets(&mut self, head: &AnswerHead) {
        if let Some(session) = &head.session {
            self.secrets.keep(session.as_str());
        }
        for cookie in &head.cookies {
            self.secrets.keep(cookie);
        }
    }

    /// Words of the server as people may see them.
    fn quoted(&self, words: Option<String>) -> Option<Arc<str>> {
        words::quoted(&self.secrets.masked(&words?))
    }

    fn act(&mut self, action: Action) {
        self.outbox.push_back(Output::Act(action));
    }

    fn tell(&mut self, event: Event) {
        self.outbox.push_back(Output::Tell(event));
    }

    fn next_wire_id(&mut self) -> u64 {
        self.ids.wire += 1;
        self.ids.wire
    }
}

/// The pseudo-call that only makes a session. An application that asks for it by this name gets
/// the same: a session is never initialized twice.
const CONNECT: &str = "initialize";
