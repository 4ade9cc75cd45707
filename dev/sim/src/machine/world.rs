//! One world: a machine, a server, and time that jumps from one event to the next.

mod application;
mod happening;
mod plan;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::time::Duration;

use ridethrough_core::rng::Rng;
use ridethrough_core::{
    Action, AttemptId, Cause, Delivered, ExchangeId, Failure, Identity, Lane, Link, Moment,
    NoCredentials, Outcome, Outgoing, Output, RetryPolicy, Verb,
};
use ridethrough_wire::message::Json;

use happening::{Connection, DueHappening};

use crate::machine::eras::Setting;
use crate::machine::faults::MachineFaults;
use crate::machine::oracle::MachineOracle;
use crate::machine::script::{News, event};
use crate::machine::server::{Outage, Server};
use crate::machine::stateless::{echoed_state, wanted_state};
use crate::machine::texts::{number_after, session_number};

/// A machine, its server and its application.
pub(crate) struct MachineWorld {
    pub(crate) link: Link,
    pub(crate) now: Moment,
    pub(crate) oracle: MachineOracle,
    server: Server,
    setting: Setting,
    rng: Rng,
    /// The newest session generation of a request that was sent.
    generation: u64,
    happenings: BinaryHeap<Reverse<(Moment, u64)>>,
    pending: BTreeMap<u64, DueHappening>,
    order: u64,
    /// Connections that the server has not cut.
    open: BTreeMap<AttemptId, Connection>,
    calls: BTreeMap<ExchangeId, u64>,
    next_call: u64,
    pub(crate) outcomes: BTreeMap<u64, Outcome>,
    pub(crate) faults_met: u64,
    is_healed: bool,
    is_closed: bool,
}

impl MachineWorld {
    pub(crate) fn new(seed: u64, faults: MachineFaults, setting: Setting) -> Self {
        let mut rng = Rng::new(seed);
        let identity = Identity {
            info: Json::new(r#"{"name":"sim","version":"1"}"#).expect("valid"),
            capabilities: Json::empty_object(),
        };
        let policy = RetryPolicy::default();
        let link = Link::new(Moment::START, setting.client, identity, policy, rng.next_u64());
        Self {
            link,
            now: Moment::START,
            oracle: MachineOracle::new(seed, setting.client),
            server: Server::new(faults, &setting, rng.next_u64()),
            setting,
            rng,
            generation: 0,
            happenings: BinaryHeap::new(),
            pending: BTreeMap::new(),
            order: 0,
            open: BTreeMap::new(),
            calls: BTreeMap::new(),
            next_call: 0,
            outcomes: BTreeMap::new(),
            faults_met: 0,
            is_healed: false,
            is_closed: false,
        }
    }

    /// Runs until no event is left and every call has ended.
    pub(crate) fn live(&mut self) {
        while (!self.pending.is_empty() || !self.calls.is_empty()) && self.step() {
            if self.now > HORIZON {
                return self
                    .oracle
                    .broken("every call ends", "the world never came to rest".into());
            }
        }
    }

    /// Ends all faults.
    pub(crate) fn heal(&mut self) {
        self.is_healed = true;
        let sessionless = self.server.faults.sessionless;
        self.server.faults = MachineFaults { sessionless, ..MachineFaults::none() };
        self.server.outage = None;
        self.server.rounds = 0;
        self.server.fleet = self.setting.healed(&mut self.rng);
    }

    /// Makes one call and runs until it has ended.
    pub(crate) fn call_and_wait(&mut self) -> Outcome {
        self.begin();
        let call = self.next_call;
        while !self.outcomes.contains_key(&call) && self.step() {}
        self.outcomes[&call].clone()
    }

    /// Lets time pass.
    pub(crate) fn pass(&mut self, time: Duration) {
        let end = self.now + time;
        loop {
            let next = self.happenings.peek().map(|Reverse((at, _))| *at);
            let timeout = self.link.poll_timeout().map(|(at, _)| at);
            if next.into_iter().chain(timeout).min().is_none_or(|at| at > end) {
                break;
            }
            self.step();
        }
        self.now = end;
    }

    /// Closes the link, and checks that nothing is left of it.
    pub(crate) fn close(&mut self) {
        self.link.close(self.now);
        self.pump();
        while !self.is_closed && self.step() {}
        if self.link.poll_timeout().is_some() || !self.is_closed {
            self.oracle.broken("closing ends everything", "timers are left".into());
        }
        self.oracle.closed();
    }

    /// Lets time jump to the next event. Returns false if there is none.
    fn step(&mut self) -> bool {
        let next = self.happenings.peek().map(|Reverse((at, _))| *at);
        let timeout = self.link.poll_timeout().map(|(at, _)| at);
        match (next, timeout) {
            (None, None) => return false,
            (Some(at), timeout) if timeout.is_none_or(|timeout| at <= timeout) => {
                self.now = self.now.max(at);
                if let Some(Reverse((_, order))) = self.happenings.pop()
                    && let Some(happening) = self.pending.remove(&order)
                {
                    self.happen(happening);
                }
            }
            (_, timeout) => {
                self.now = self.now.max(timeout.unwrap_or(self.now));
                self.link.handle_timeout(self.now);
            }
        }
        self.pump();
        true
    }

    fn happen(&mut self, happening: DueHappening) {
        match happening {
            DueHappening::Answer(question, is_given) => self.answer(question, is_given),
            DueHappening::Begin => self.begin(),
            DueHappening::Cancel(id) => self.cancel(id),
            DueHappening::Credentials(rejected, is_renewed) => {
                let renewed = if is_renewed { Ok(()) } else { Err(NoCredentials::new()) };
                self.link.handle_credentials(self.now, rejected, renewed);
            }
            DueHappening::Scope(is_brought) => {
                let brought = if is_brought { Ok(()) } else { Err(NoCredentials::new()) };
                self.link.handle_scope(self.now, brought);
            }
            DueHappening::Connected(attempt, is_up) => {
                let result =
                    if is_up { Ok(()) } else { Err(Failure::not_sent(Cause::ConnectRefused)) };
                self.link.handle_connect(self.now, attempt, result);
            }
            DueHappening::FleetChanges => self.change_fleet(),
            DueHappening::News(attempt, news) => self.news(attempt, news),
            DueHappening::OutageBegins(outage, lasts) => {
                self.server.outage = Some(outage);
                self.cut_all();
                self.schedule(self.now + lasts, DueHappening::OutageEnds);
            }
            DueHappening::OutageEnds => self.server.outage = None,
            DueHappening::Restart => {
                self.server.restart();
                self.cut_all();
            }
            DueHappening::Run(attempt, call) => {
                // A server whose connection is closed may stop, or notice it too late.
                if self.open.contains_key(&attempt) || self.rng.below(2) == 0 {
                    self.oracle.executed(call);
                }
            }
        }
    }

    /// Cuts the server's side of every connection.
    fn cut_all(&mut self) {
        for (attempt, connection) in std::mem::take(&mut self.open) {
            if connection.is_handshake {
                self.oracle.handshake_ended(attempt, self.now);
            }
            self.faults_met += 1;
            self.link.handle_failure(self.now, attempt, Failure::unknown(Cause::Reset));
            self.pump();
        }
    }

    fn news(&mut self, attempt: AttemptId, news: News) {
        if !self.open.contains_key(&attempt) {
            // Late news, of an attempt that was given up, is legal and must change nothing.
            if self.rng.below(2) == 0 {
                return;
            }
        }
        if let Some(state) = self.wanted(&news)
            && let Some(call) = self.open.get(&attempt).and_then(|each| each.call)
        {
            self.oracle.asked(call, state);
        }
        let is_last = matches!(news, News::Body(_) | News::End | News::Failure(_));
        if is_last
            && let Some(connection) = self.open.remove(&attempt)
            && connection.is_handshake
        {
            self.oracle.handshake_ended(attempt, self.now);
        }
        match &news {
            News::Failure(_) => self.faults_met += 1,
            News::Head(head) => {
                self.faults_met += u64::from(!head.status.is_success());
                let call = self.open.get(&attempt).and_then(|each| each.call);
                if let Some((call, hint)) = call.zip(head.retry_after) {
                    self.oracle.deferred(call, self.now + hint);
                }
            }
            _ => {}
        }
        news.report(&mut self.link, self.now, attempt);
    }

    fn pump(&mut self) {
        while let Some(output) = self.link.poll_output() {
            match output {
                Output::Act(action) => self.act(action),
                Output::Finish { exchange, outcome, .. } => self.finished(exchange, outcome),
                Output::Deliver(Delivered::Question { question, .. }) => self.asked(question),
                Output::Deliver(_)
                | Output::Noticed { .. }
                | Output::Share(_)
                | Output::Tell(_) => {}
            }
        }
    }

    fn act(&mut self, action: Action) {
        match action {
            Action::Abort { attempt } | Action::Drain { attempt, .. } => {
                if let Some(connection) = self.open.remove(&attempt)
                    && connection.is_handshake
                {
                    self.oracle.handshake_ended(attempt, self.now);
                }
            }
            Action::Closed => self.is_closed = true,
            Action::Dial { attempt } => {
                let is_up = self.server.outage.is_none();
                let slow = self.server.outage == Some(Outage::BlackHole);
                let wait = if slow { Duration::from_secs(5) } else { Duration::from_millis(2) };
                self.schedule(self.now + wait, DueHappening::Connected(attempt, is_up));
            }
            // As if all of it had been sent.
            Action::Recall { .. } => {}
            Action::RenewCredentials { rejected, .. } => {
                let works = self.rng.below(10) > 0 || self.is_healed;
                let wait = self.rng.between(Duration::ZERO, Duration::from_secs(2));
                self.schedule(self.now + wait, DueHappening::Credentials(rejected, works));
            }
            Action::RequestScope { .. } => {
                let works = self.rng.below(10) > 0 || self.is_healed;
                let wait = self.rng.between(Duration::ZERO, Duration::from_secs(2));
                self.schedule(self.now + wait, DueHappening::Scope(works));
            }
            Action::Send(request) => self.send(&request),
        }
    }

    /// Returns the state in an answer that asks for input.
    fn wanted(&self, news: &News) -> Option<Option<String>> {
        let has_rounds = self.setting.rounds > 0;
        match news {
            News::Body(body) if has_rounds => wanted_state(body),
            News::Event(event) if has_rounds => wanted_state(&event.data),
            _ => None,
        }
    }

    fn send(&mut self, request: &Outgoing) {
        let mut connection =
            Connection { call: None, is_handshake: false, asks_era_of: None, listens: None };
        let mut limit = INITIALIZE_LIMIT;
        let mut wire_id = None;
        match &request.verb {
            Verb::Post { body } => {
                let text = std::str::from_utf8(body).expect("the machine writes UTF-8");
                connection.is_handshake = self.opens(request, text);
                if text.contains(ERA_QUESTION) {
                    limit = ERA_QUESTION_LIMIT;
                    connection.asks_era_of = Some(request.to.generation.number());
                } else if request.lane == Lane::Call {
                    self.know_pings(request.to.generation.number());
                }
                connection.call = number_after(text, r#""call":"#);
                if text.contains(r#""method":"#) {
                    wire_id = number_after(text, r#""id":"#);
                }
                if let Some(call) = connection.call {
                    self.oracle.posted(call, self.now);
                    if self.setting.rounds > 0 {
                        self.oracle.echoed(call, request.to.era(), echoed_state(text));
                    }
                }
            }
            Verb::Get { last_event_id: None } => connection.listens = session_number(request),
            Verb::Get { last_event_id: Some(id) } => {
                connection.call = self.server.call_of(id.as_str());
                if let Some(call) = connection.call {
                    self.oracle.resumed(call, self.now);
                }
            }
            Verb::Delete => {}
        }
        self.oracle.sent(request, wire_id);
        if connection.is_handshake {
            self.oracle.handshake_began(request.attempt, self.now, limit);
        }
        let script = self.server.serve(self.now, request, &mut self.oracle);
        self.open.insert(request.attempt, connection);
        for (after, call) in std::mem::take(&mut self.server.runs) {
            self.schedule(self.now + after, DueHappening::Run(request.attempt, call));
        }
        for (after, news) in script.0 {
            self.schedule(self.now + after, DueHappening::News(request.attempt, news));
        }
        self.flush_elsewhere();
    }

    /// Whether a request begins a handshake; one that asks for the era does so in a generation of its own.
    fn opens(&mut self, request: &Outgoing, text: &str) -> bool {
        let generation = request.to.generation.number();
        let is_new = generation > self.generation;
        self.generation = self.generation.max(generation);
        text.contains(r#""method":"initialize""#) || (is_new && text.contains(ERA_QUESTION))
    }

    /// Notes that requests for the era in this generation are pings, because a call goes out in it, so its
    /// handshake is over.
    fn know_pings(&mut self, generation: u64) {
        for (attempt, connection) in &mut self.open {
            if connection.asks_era_of == Some(generation) && connection.is_handshake {
                connection.is_handshake = false;
                self.oracle.was_ping(*attempt);
            }
        }
    }

    /// Sends answers that were promised by a 202 on the standing stream of their session.
    fn flush_elsewhere(&mut self) {
        for (at, session, text) in std::mem::take(&mut self.server.elsewhere) {
            let listener = self.open.iter().find(|(_, each)| each.listens == Some(session));
            if let Some((attempt, _)) = listener {
                let attempt = *attempt;
                self.schedule(at, DueHappening::News(attempt, event(None, &text, None)));
            }
        }
    }

    fn finished(&mut self, exchange: ExchangeId, outcome: Outcome) {
        let Some(call) = self.calls.remove(&exchange) else {
            return self.oracle.broken("exactly one outcome", format!("{exchange} ended again"));
        };
        self.oracle.ended(call, self.now, &outcome);
        self.outcomes.insert(call, outcome);
    }

    fn schedule(&mut self, at: Moment, happening: DueHappening) {
        self.order += 1;
        self.happenings.push(Reverse((at, self.order)));
        self.pending.insert(self.order, happening);
    }
}

/// The moment at which a world must be over: one that is still busy would never end.
const HORIZON: Moment = Moment::secs(100_000);
/// The text by which a request asks for the era.
const ERA_QUESTION: &str = r#""method":"server/discover""#;
/// How long the machine waits for that answer: there is another way to find out.
const ERA_QUESTION_LIMIT: Duration = Duration::from_secs(3);
/// How long it waits for any other first request of a handshake.
const INITIALIZE_LIMIT: Duration = Duration::from_secs(15);
