//! One world: a machine, a server, and time that jumps from one happening to the next.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::time::Duration;

use ridethrough_core::dice::Dice;
use ridethrough_core::message::Json;
use ridethrough_core::{
    Action, AttemptId, CallOptions, Cause, CredentialsId, Era, ExchangeId, Failure, Identity, Link,
    Moment, NoCredentials, Outcome, Outgoing, Output, RecoveryPolicy, Request, Verb,
};

use crate::faults::Faults;
use crate::oracle::Oracle;
use crate::script::{News, event};
use crate::server::{Outage, Server, number_after, session_number};

/// A machine and everything around it.
pub(crate) struct World {
    pub(crate) link: Link,
    pub(crate) now: Moment,
    pub(crate) oracle: Oracle,
    server: Server,
    dice: Dice,
    happenings: BinaryHeap<Reverse<(Moment, u64)>>,
    pending: BTreeMap<u64, Happening>,
    order: u64,
    /// Connections that the server has not cut.
    open: BTreeMap<AttemptId, Connection>,
    calls: BTreeMap<ExchangeId, u64>,
    next_call: u64,
    pub(crate) outcomes: BTreeMap<u64, Outcome>,
    pub(crate) faults_met: u64,
    is_closed: bool,
}

#[derive(Debug)]
enum Happening {
    Begin,
    Cancel(ExchangeId),
    Credentials(CredentialsId, bool),
    Connected(AttemptId, bool),
    News(AttemptId, News),
    OutageBegins(Outage, Duration),
    OutageEnds,
    Restart,
}

/// A request that is out.
#[derive(Debug)]
struct Connection {
    call: Option<u64>,
    is_handshake: bool,
    listens: Option<u64>,
}

impl World {
    pub(crate) fn new(seed: u64, faults: Faults) -> Self {
        let mut dice = Dice::new(seed);
        let identity = Identity {
            info: Json::new(r#"{"name":"sim","version":"1"}"#).expect("valid"),
            capabilities: Json::empty_object(),
        };
        let policy = RecoveryPolicy::default();
        let link = Link::new(Moment::START, Era::Legacy, identity, policy, dice.roll());
        Self {
            link,
            now: Moment::START,
            oracle: Oracle::new(seed),
            server: Server::new(faults, dice.roll()),
            dice,
            happenings: BinaryHeap::new(),
            pending: BTreeMap::new(),
            order: 0,
            open: BTreeMap::new(),
            calls: BTreeMap::new(),
            next_call: 0,
            outcomes: BTreeMap::new(),
            faults_met: 0,
            is_closed: false,
        }
    }

    /// Spreads calls, outages and restarts over the chaos to come.
    pub(crate) fn plan(&mut self, calls: u64) {
        let length = Duration::from_millis(calls * 150);
        for _ in 0..calls {
            let at = self.now + self.dice.between(Duration::ZERO, length);
            self.schedule(at, Happening::Begin);
        }
        let (outages, restarts) = (self.server.faults.outages, self.server.faults.restarts);
        for _ in 0..outages * calls / 100 {
            let at = self.now + self.dice.between(Duration::ZERO, length);
            let lasts = self.dice.between(Duration::from_millis(50), Duration::from_secs(20));
            let statuses = [502, 503];
            let outage = match self.dice.below(4) {
                0 => Outage::BlackHole,
                1 => Outage::Status(statuses[self.dice.below(2) as usize]),
                _ => Outage::Refusal,
            };
            self.schedule(at, Happening::OutageBegins(outage, lasts));
        }
        for _ in 0..restarts * calls / 100 {
            let at = self.now + self.dice.between(Duration::ZERO, length);
            self.schedule(at, Happening::Restart);
        }
    }

    /// Lives until nothing is left to happen and every call has ended.
    pub(crate) fn live(&mut self) {
        while (!self.pending.is_empty() || !self.calls.is_empty()) && self.step() {
            if self.now > HORIZON {
                return self
                    .oracle
                    .broken("every call ends", "the world never came to rest".into());
            }
        }
    }

    /// From now on nothing goes wrong.
    pub(crate) fn heal(&mut self) {
        let sessionless = self.server.faults.sessionless;
        self.server.faults = Faults { sessionless, ..Faults::none() };
        self.server.outage = None;
    }

    /// Makes one call and lives until it has ended.
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

    /// Closes the link; nothing may be left of it.
    pub(crate) fn close(&mut self) {
        self.link.close(self.now);
        self.pump();
        while !self.is_closed && self.step() {}
        if self.link.poll_timeout().is_some() || !self.is_closed {
            self.oracle.broken("closing ends everything", "timers are left".into());
        }
        self.oracle.closed();
    }

    /// Lets time jump to the next happening. Returns false if there is none.
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

    fn happen(&mut self, happening: Happening) {
        match happening {
            Happening::Begin => self.begin(),
            Happening::Cancel(id) => self.link.cancel(self.now, id),
            Happening::Credentials(rejected, is_renewed) => {
                let renewed = if is_renewed { Ok(()) } else { Err(NoCredentials::new()) };
                self.link.handle_credentials(self.now, rejected, renewed);
            }
            Happening::Connected(attempt, is_up) => {
                let result = match is_up {
                    true => Ok(()),
                    false => Err(Failure::not_sent(Cause::ConnectRefused)),
                };
                self.link.handle_connect(self.now, attempt, result);
            }
            Happening::News(attempt, news) => self.news(attempt, news),
            Happening::OutageBegins(outage, lasts) => {
                self.server.outage = Some(outage);
                self.cut_all();
                self.schedule(self.now + lasts, Happening::OutageEnds);
            }
            Happening::OutageEnds => self.server.outage = None,
            Happening::Restart => {
                self.server.restart();
                self.cut_all();
            }
        }
    }

    fn begin(&mut self) {
        self.next_call += 1;
        let call = self.next_call;
        let is_safe = self.dice.below(2) == 0;
        let method = if is_safe { "resources/read" } else { "tools/call" };
        let params = Json::new(format!(r#"{{"name":"deploy","arguments":{{"call":{call}}}}}"#));
        let deadline = Duration::from_secs([5, 30, 60, 300][self.dice.below(4) as usize]);
        let options = CallOptions { deadline: Some(deadline), ..CallOptions::default() };
        let params = Some(params.expect("valid"));
        self.oracle.begun(call, is_safe, self.now, deadline);
        let id = self.link.send(self.now, Request { method: method.into(), params, options });
        self.calls.insert(id, call);
        if self.dice.below(1000) < self.server.faults.cancel {
            let at = self.now + self.dice.between(Duration::ZERO, Duration::from_secs(5));
            self.schedule(at, Happening::Cancel(id));
        }
        self.pump();
    }

    /// The server's side of every connection is gone.
    fn cut_all(&mut self) {
        for (attempt, connection) in std::mem::take(&mut self.open) {
            if connection.is_handshake {
                self.oracle.handshake_ended();
            }
            self.faults_met += 1;
            self.link.handle_failure(self.now, attempt, Failure::unknown(Cause::Reset));
            self.pump();
        }
    }

    fn news(&mut self, attempt: AttemptId, news: News) {
        if !self.open.contains_key(&attempt) {
            // Late news, of an attempt that was given up: legal, and must change nothing.
            if self.dice.below(2) == 0 {
                return;
            }
        }
        let is_last = matches!(news, News::Body(_) | News::End | News::Failure(_));
        if is_last
            && let Some(connection) = self.open.remove(&attempt)
            && connection.is_handshake
        {
            self.oracle.handshake_ended();
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
                Output::Deliver(_) | Output::Noticed { .. } | Output::Tell(_) => {}
            }
        }
    }

    fn act(&mut self, action: Action) {
        match action {
            Action::Abort { attempt } | Action::Drain { attempt, .. } => {
                if let Some(connection) = self.open.remove(&attempt)
                    && connection.is_handshake
                {
                    self.oracle.handshake_ended();
                }
            }
            Action::Closed => self.is_closed = true,
            Action::Dial { attempt } => {
                let is_up = self.server.outage.is_none();
                let slow = self.server.outage == Some(Outage::BlackHole);
                let wait = if slow { Duration::from_secs(5) } else { Duration::from_millis(2) };
                self.schedule(self.now + wait, Happening::Connected(attempt, is_up));
            }
            Action::RenewCredentials { rejected, .. } => {
                let works = self.dice.below(10) > 0;
                let wait = self.dice.between(Duration::ZERO, Duration::from_secs(2));
                self.schedule(self.now + wait, Happening::Credentials(rejected, works));
            }
            Action::Send(request) => self.send(&request),
        }
    }

    fn send(&mut self, request: &Outgoing) {
        let mut connection = Connection { call: None, is_handshake: false, listens: None };
        match &request.verb {
            Verb::Post { body } => {
                let text = std::str::from_utf8(body).expect("the machine writes UTF-8");
                connection.is_handshake = text.contains(r#""method":"initialize""#);
                connection.call = number_after(text, r#""call":"#);
                if let Some(call) = connection.call {
                    self.oracle.posted(call, self.now);
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
        if connection.is_handshake {
            self.oracle.handshake_began();
        }
        let script = self.server.serve(self.now, request, &mut self.oracle);
        self.open.insert(request.attempt, connection);
        for (after, news) in script.0 {
            self.schedule(self.now + after, Happening::News(request.attempt, news));
        }
        self.flush_elsewhere();
    }

    /// Answers that were promised by a 202 come on the standing stream of their session.
    fn flush_elsewhere(&mut self) {
        for (at, session, text) in std::mem::take(&mut self.server.elsewhere) {
            let listener = self.open.iter().find(|(_, each)| each.listens == Some(session));
            if let Some((attempt, _)) = listener {
                let attempt = *attempt;
                self.schedule(at, Happening::News(attempt, event(None, &text, None)));
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

    fn schedule(&mut self, at: Moment, happening: Happening) {
        self.order += 1;
        self.happenings.push(Reverse((at, self.order)));
        self.pending.insert(self.order, happening);
    }
}

/// A world that is still busy then will never rest.
const HORIZON: Moment = Moment::secs(100_000);
