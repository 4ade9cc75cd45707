//! The model server: sessions, executions, and the fate of every request.
//!
//! It decides the fate of a request when the request is sent, and returns all that the network will ever say
//! about it. It tells the oracle the truth, also when it lies to the client.

use std::collections::BTreeSet;
use std::time::Duration;

use bytes::Bytes;
use ridethrough_core::head::Content;
use ridethrough_core::rng::Rng;
use ridethrough_core::session::SessionId;
use ridethrough_core::{Cause, Era, Moment, Outgoing, Verb};

use crate::machine::eras::{Fleet, Setting};
use crate::machine::faults::MachineFaults;
use crate::machine::oracle::MachineOracle;
use crate::machine::script::{News, Script, head};
use crate::machine::streams::Streams;
use crate::machine::texts::{ERROR_PAGE, answer, number_after, session_number};

/// A server behind a network, both with faults.
#[derive(Debug)]
pub(crate) struct Server {
    pub(crate) faults: MachineFaults,
    pub(crate) rng: Rng,
    pub(crate) outage: Option<Outage>,
    sessions: BTreeSet<u64>,
    next_session: u64,
    /// Credentials below this number are refused.
    pub(crate) required_credentials: u64,
    streams: Streams,
    /// Answers that were promised by a 202 and wait for the standing stream.
    pub(crate) elsewhere: Vec<(Moment, u64, String)>,
    pub(crate) fleet: Fleet,
    /// Out of a thousand stateless calls: how many need input first.
    pub(crate) rounds: u64,
    /// How it refuses requests that it does not understand.
    pub(crate) manner: u64,
    /// The number of states that were given out.
    pub(crate) states: u64,
    /// Stateless calls that will run, unless their connection is closed before.
    pub(crate) runs: Vec<(Duration, u64)>,
}

/// What a client meets while the server is down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outage {
    BlackHole,
    Refusal,
    Status(u16),
}

/// A request of the application, as the server reads it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReceivedCall {
    pub(crate) number: u64,
    pub(crate) wire_id: u64,
    pub(crate) session: Option<u64>,
    pub(crate) generation: u64,
    /// The era of the server that took it in.
    pub(crate) era: Era,
}

impl Server {
    pub(crate) fn new(faults: MachineFaults, setting: &Setting, seed: u64) -> Self {
        Self {
            faults,
            rng: Rng::new(seed),
            outage: None,
            sessions: BTreeSet::new(),
            next_session: 0,
            required_credentials: 0,
            streams: Streams::default(),
            elsewhere: Vec::new(),
            fleet: setting.fleet,
            rounds: setting.rounds,
            manner: Rng::new(!seed).next_u64(),
            states: 0,
            runs: Vec::new(),
        }
    }

    /// Restarts the process: what was in memory is gone.
    pub(crate) fn restart(&mut self) {
        self.sessions.clear();
        self.streams.forget();
        self.elsewhere.clear();
    }

    /// Returns the call whose stream an event id belongs to.
    pub(crate) fn call_of(&self, event_id: &str) -> Option<u64> {
        self.streams.find(event_id).map(|(stream, _)| stream.call)
    }

    /// Decides the fate of a request.
    pub(crate) fn serve(
        &mut self,
        now: Moment,
        request: &Outgoing,
        oracle: &mut MachineOracle,
    ) -> Script {
        let latency = self.latency();
        if request.to.target.as_deref() == Some(ERROR_PAGE) {
            return Script::status(latency, 405);
        }
        match self.outage {
            Some(Outage::BlackHole) => {
                return Script::not_sent(Duration::from_secs(5), Cause::ConnectTimedOut);
            }
            Some(Outage::Refusal) => return Script::not_sent(latency, Cause::ConnectRefused),
            Some(Outage::Status(status)) => return Script::status(latency, status),
            None => {}
        }
        if self.hits(self.faults.unsent) {
            return Script::not_sent(latency, Cause::StreamRefused);
        }
        if self.hits(self.faults.unauthorized) {
            self.required_credentials = request.credentials.number() + 1;
        }
        let asked = request.to.era();
        match (asked, self.fleet.meets(asked, &mut self.rng)) {
            (Era::Legacy, Era::Legacy) => self.in_session(now, latency, request, oracle),
            (Era::Legacy, Era::Modern) => self.too_old(request, oracle),
            (Era::Modern, Era::Legacy) => self.too_new(now, request, oracle),
            (Era::Modern, Era::Modern) => self.stateless(now, request, oracle),
        }
    }

    fn in_session(
        &mut self,
        now: Moment,
        latency: Duration,
        request: &Outgoing,
        oracle: &mut MachineOracle,
    ) -> Script {
        match &request.verb {
            Verb::Delete => Script::status(latency, 200),
            Verb::Get { last_event_id: None } => self.listen(latency),
            Verb::Get { last_event_id: Some(id) } => self.resume(now, request, id.as_str()),
            Verb::Post { body } => self.post(now, request, body, oracle),
        }
    }

    fn post(
        &mut self,
        now: Moment,
        request: &Outgoing,
        body: &Bytes,
        oracle: &mut MachineOracle,
    ) -> Script {
        let latency = self.latency();
        let text = std::str::from_utf8(body).expect("the machine writes UTF-8");
        let wire_id = number_after(text, r#""id":"#).unwrap_or(0);
        if text.contains(r#""method":"initialize""#) {
            return self.initialize(latency, wire_id);
        }
        if text.contains(r#""method":"notifications/"#) || text.contains(r#""result":"#) {
            return self.control(latency);
        }
        if request.credentials.number() < self.required_credentials {
            return Script::challenge(latency);
        }
        let session = session_number(request);
        if session.is_some() && self.hits(self.faults.expiry) {
            self.sessions.clear();
        }
        let is_known = session.is_some_and(|session| self.sessions.contains(&session));
        if !self.faults.sessionless && !is_known {
            return self.lost(latency, wire_id);
        }
        match number_after(text, r#""call":"#) {
            Some(number) => {
                let generation = request.to.generation.number();
                let era = Era::Legacy;
                self.call(now, ReceivedCall { number, wire_id, session, generation, era }, oracle)
            }
            None => Script::json(latency, 200, answer(wire_id, "{}")),
        }
    }

    fn initialize(&mut self, latency: Duration, wire_id: u64) -> Script {
        if self.hits(self.faults.gateway_before) {
            return Script::status(latency, 503);
        }
        if self.hits(self.faults.cut_after) {
            return Script::reset(latency);
        }
        self.next_session += 1;
        self.sessions.insert(self.next_session);
        let mut head = head(200, Content::Json);
        if !self.faults.sessionless {
            head.session = SessionId::new(&format!("s{}", self.next_session));
        }
        let result = r#"{"protocolVersion":"2025-11-25","capabilities":{}}"#;
        Script::answer(latency, head, answer(wire_id, result).into())
    }

    /// Takes in a notification or an answer, or loses it on the way.
    pub(crate) fn control(&mut self, latency: Duration) -> Script {
        if self.hits(self.faults.gateway_before) {
            return Script::status(latency, 502);
        }
        if self.hits(self.faults.cut_before) {
            return Script::reset(latency);
        }
        Script::status(latency, 202)
    }

    /// Says in one of the known dialects that the session is gone.
    fn lost(&mut self, latency: Duration, wire_id: u64) -> Script {
        let error = |message: &str| {
            format!(
                r#"{{"jsonrpc":"2.0","id":{wire_id},"error":{{"code":-32000,"message":"{message}"}}}}"#
            )
        };
        match self.rng.below(6) {
            0 => Script::status(latency, 410),
            1 => Script::json(latency, 400, error("Bad Request: No valid session ID provided")),
            2 => Script::json(latency, 401, error("Session expired")),
            3 => Script::json(latency, 200, error("Invalid or expired session")),
            4 => Script::json(latency, 404, error("Session not found")),
            _ => Script::status(latency, 404),
        }
    }

    /// Decides the fate of a call of the application.
    pub(crate) fn call(
        &mut self,
        now: Moment,
        call: ReceivedCall,
        oracle: &mut MachineOracle,
    ) -> Script {
        let latency = self.latency();
        let faults = self.faults.clone();
        if self.hits(faults.cut_before) {
            return Script::reset(latency);
        }
        oracle.arrived(call.number, call.generation);
        if self.hits(faults.deferral) {
            return self.defer(latency);
        }
        if self.hits(faults.gateway_before) {
            return Script::status(latency, self.gateway_status());
        }
        if self.hits(faults.black_hole) {
            if self.rng.below(2) == 0 {
                self.run(call, latency, oracle);
            }
            return Script::silence();
        }
        if self.hits(faults.lying_deferral) {
            oracle.lied(call.number);
            oracle.executed(call.number);
            let status = [429, 425][self.rng.below(2) as usize];
            return Script::busy(latency, status, self.hint());
        }
        if call.session.is_some() && self.hits(faults.lying_loss) {
            oracle.lied(call.number);
            oracle.executed(call.number);
            self.sessions.clear();
            return Script::status(latency, 404);
        }
        if call.era == Era::Modern && self.hits(self.rounds) {
            return self.input_required(latency, call);
        }
        let work = self.work();
        self.run(call, latency + work / 2, oracle);
        self.answer_call(now, (latency, work), call)
    }

    /// Runs a call: at once, or, where closing is the cancel, if the connection is not closed before.
    fn run(&mut self, call: ReceivedCall, after: Duration, oracle: &mut MachineOracle) {
        match call.era {
            Era::Legacy => oracle.executed(call.number),
            Era::Modern => self.runs.push((after, call.number)),
        }
    }

    /// Answers a call that was run; the answer may be lost.
    fn answer_call(
        &mut self,
        now: Moment,
        (latency, work): (Duration, Duration),
        call: ReceivedCall,
    ) -> Script {
        let after = latency + work;
        let faults = self.faults.clone();
        let text = answer(call.wire_id, &format!(r#"{{"call":{}}}"#, call.number));
        if self.hits(faults.cut_after) {
            return Script::reset(after);
        }
        if self.hits(faults.gateway_after) {
            return Script::status(after, self.gateway_status());
        }
        if self.hits(faults.door) {
            return self.at_the_door(after);
        }
        if self.hits(faults.broken) {
            return Script::status(after, 500);
        }
        if self.hits(faults.nonsense) {
            return Script::json(after, 200, "<html>".to_owned());
        }
        if self.hits(faults.cut_body) {
            let mut script = Script::default();
            script.push(after, News::Head(head(200, Content::Json)));
            script.0.extend(Script::reset(after).0);
            return script;
        }
        if self.hits(faults.accepted) {
            if let Some(session) = call.session.filter(|_| self.rng.below(2) == 0) {
                self.elsewhere.push((now + after, session, text));
            }
            return Script::status(latency, 202);
        }
        if !self.hits(faults.streams) {
            return Script::json(after, 200, text);
        }
        let times = (now, now + after);
        let drawn = (&faults, &mut self.rng);
        let number = self.streams.plan(call.number, call.session, times, text, drawn);
        let stream = self.streams.get(number).expect("just planned");
        stream.play(now, 0, &faults, &mut self.rng)
    }

    fn resume(&mut self, now: Moment, request: &Outgoing, event_id: &str) -> Script {
        let latency = self.latency();
        let faults = self.faults.clone();
        if request.credentials.number() < self.required_credentials {
            return Script::challenge(latency);
        }
        if self.hits(faults.cut_before) {
            return Script::reset(latency);
        }
        if self.hits(faults.resume_busy) {
            let status = [408, 409, 425, 429, 500, 502, 503, 504][self.rng.below(8) as usize];
            return Script::status(latency, status);
        }
        if self.hits(faults.resume_refused) {
            return Script::status(latency, [400, 405, 406][self.rng.below(3) as usize]);
        }
        let is_gone = self.hits(faults.resume_gone);
        let is_dropped = self.hits(faults.cut_stream);
        match self.streams.find(event_id).filter(|_| !is_gone) {
            Some((stream, place)) if stream.session == session_number(request) => {
                if is_dropped {
                    self.drop_resume(latency)
                } else {
                    stream.play(now, place, &faults, &mut self.rng)
                }
            }
            _ if self.rng.below(2) == 0 => Script::status(latency, 404),
            _ => self.lost(latency, 0),
        }
    }

    /// Accepts the resume and drops it, as the server of the first bug report did.
    fn drop_resume(&mut self, latency: Duration) -> Script {
        let mut script = Script::stream(latency);
        let lasts = self.rng.between(Duration::ZERO, Duration::from_secs(8));
        script.push(latency + lasts, News::End);
        script
    }

    fn listen(&mut self, latency: Duration) -> Script {
        match self.rng.below(4) {
            0 => Script::status(latency, 405),
            1 => Script::status(latency, 503),
            _ => Script::stream(latency),
        }
    }

    pub(crate) fn gateway_status(&mut self) -> u16 {
        [502, 503, 504, 408][self.rng.below(4) as usize]
    }

    pub(crate) fn latency(&mut self) -> Duration {
        self.rng.between(Duration::from_micros(200), Duration::from_millis(30))
    }

    fn work(&mut self) -> Duration {
        let most = if self.hits(self.faults.slow) { 200_000 } else { 800 };
        self.rng.between(Duration::ZERO, Duration::from_millis(most))
    }

    pub(crate) fn hits(&mut self, rate: u64) -> bool {
        rate > 0 && self.rng.below(1000) < rate
    }
}
