//! The model server of the stateless era, which has no sessions, where closing is the cancel and a call may
//! need input first; and what each era answers to requests of the other.
//!
//! A server that does not understand a request never runs it, with one exception that real servers show: a
//! legacy server without sessions takes a stateless call for one of its own.

use std::time::Duration;

use ridethrough_core::{Era, Moment, Outgoing, Verb};
use ridethrough_wire::message::Json;

use crate::machine::oracle::MachineOracle;
use crate::machine::script::{News, Script, event};
use crate::machine::server::{ReceivedCall, Server};
use crate::machine::texts::{answer, number_after};

impl Server {
    /// Handles a stateless request at a server of its era.
    pub(crate) fn stateless(
        &mut self,
        now: Moment,
        request: &Outgoing,
        oracle: &mut MachineOracle,
    ) -> Script {
        let latency = self.latency();
        let Verb::Post { body } = &request.verb else { return Script::status(latency, 405) };
        let text = std::str::from_utf8(body).expect("the machine writes UTF-8");
        let Some(wire_id) = number_after(text, r#""id":"#) else { return self.control(latency) };
        if request.credentials.number() < self.required_credentials {
            return Script::challenge(latency);
        }
        if text.contains(r#""method":"server/discover""#) {
            return self.discover(latency, wire_id);
        }
        if text.contains(r#""method":"subscriptions/listen""#) {
            return self.subscribe(latency, wire_id);
        }
        let Some(number) = number_after(text, r#""call":"#) else {
            return Script::json(latency, 200, answer(wire_id, "{}"));
        };
        if self.hits(self.faults.expiry) {
            return Script::json(latency, 400, error(wire_id, -32020, "Mcp-Param-A is missing"));
        }
        let generation = request.to.generation.number();
        let era = Era::Modern;
        self.call(now, ReceivedCall { number, wire_id, session: None, generation, era }, oracle)
    }

    fn discover(&mut self, latency: Duration, wire_id: u64) -> Script {
        let faults = self.faults.clone();
        if self.hits(faults.gateway_before) {
            return Script::status(latency, self.gateway_status());
        }
        if self.hits(faults.deferral) {
            return self.defer(latency);
        }
        if self.hits(faults.broken) {
            return Script::status(latency, [403, 500][self.rng.below(2) as usize]);
        }
        if self.hits(faults.black_hole) {
            return Script::silence();
        }
        if self.hits(faults.cut_after) {
            return Script::reset(latency);
        }
        if self.hits(faults.nonsense) {
            return Script::json(latency, 200, "<html>".to_owned());
        }
        let result =
            r#"{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{}}"#;
        Script::json(latency, 200, answer(wire_id, result))
    }

    /// Handles the standing stream: acknowledged, and open until it is cut.
    fn subscribe(&mut self, latency: Duration, wire_id: u64) -> Script {
        if self.rng.below(3) == 0 {
            return Script::json(latency, 404, error(wire_id, -32601, "Method not found"));
        }
        let mut script = Script::stream(latency);
        let acknowledged = format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{{"_meta":{{"io.modelcontextprotocol/subscriptionId":{wire_id}}},"notifications":{{}}}}}}"#
        );
        script.push(latency, event(None, &acknowledged, None));
        if self.hits(self.faults.cut_stream) {
            let lasts = self.rng.between(latency, Duration::from_secs(20));
            if self.rng.below(2) == 0 {
                script.push(lasts, event(None, &answer(wire_id, "{}"), None));
            }
            script.push(lasts, News::End);
        }
        script
    }

    /// Asks for input instead of running a call.
    pub(crate) fn input_required(&mut self, latency: Duration, call: ReceivedCall) -> Script {
        self.states += 1;
        let mut members = vec![r#""resultType":"input_required""#.to_owned()];
        let questions = self.rng.below(3);
        if questions == 0 || self.rng.below(2) == 0 {
            // With escapes and numbers that a reader would write differently, so that a change is noticed.
            let state = self.states;
            members.push(match self.rng.below(3) {
                0 => format!(r#""requestState":"{state}\u004a\/ ==""#),
                1 => format!(r#""requestState":"{state} \" \\ é""#),
                _ => format!(r#""requestState":"{state}""#),
            });
        }
        let asked: Vec<String> =
            (0..questions).map(|each| format!(r#""q{each}":{{"method":"roots/list"}}"#)).collect();
        if !asked.is_empty() {
            members.push(format!(r#""inputRequests":{{{}}}"#, asked.join(",")));
        }
        let text = answer(call.wire_id, &format!("{{{}}}", members.join(",")));
        if self.rng.below(2) == 0 {
            return Script::json(latency, 200, text);
        }
        let mut script = Script::stream(latency);
        script.push(latency, event(None, &text, None));
        script
    }

    /// Handles a stateless request at a server with sessions.
    pub(crate) fn too_new(
        &mut self,
        now: Moment,
        request: &Outgoing,
        oracle: &mut MachineOracle,
    ) -> Script {
        let latency = self.latency();
        let Verb::Post { body } = &request.verb else { return Script::status(latency, 405) };
        let text = std::str::from_utf8(body).expect("the machine writes UTF-8");
        let wire_id = number_after(text, r#""id":"#).unwrap_or(0);
        if text.contains(r#""method":"server/discover""#) {
            return self.unknown_question(latency, wire_id);
        }
        if let Some(number) = number_after(text, r#""call":"#)
            && self.faults.sessionless
            && self.rng.below(2) == 0
        {
            let generation = request.to.generation.number();
            let era = Era::Legacy;
            return self.call(
                now,
                ReceivedCall { number, wire_id, session: None, generation, era },
                oracle,
            );
        }
        if let Some(call) = number_after(text, r#""call":"#) {
            oracle.misunderstood(call);
        }
        match self.manner % 5 {
            0 => Script::status(latency, self.refusal()),
            1 => Script::json(latency, 400, nameless(-32000, "Unsupported protocol version")),
            2 => Script::json(latency, 400, nameless(-32600, "Bad Request: Missing session ID")),
            3 => Script::json(latency, 404, nameless(-32001, "Session not found")),
            _ => {
                let words = "Bad Request: No valid session ID provided";
                Script::json(latency, 400, nameless(-32000, words))
            }
        }
    }

    /// Returns the status of a server that gives no other reason.
    fn refusal(&self) -> u16 {
        [400, 404, 405, 406, 415][(self.manner / 64 % 5) as usize]
    }

    /// Returns the answers of legacy servers to `server/discover`.
    fn unknown_question(&mut self, latency: Duration, wire_id: u64) -> Script {
        if self.hits(self.faults.gateway_before) {
            return Script::status(latency, 503);
        }
        match self.manner % 8 {
            0 => Script::status(latency, self.refusal()),
            1 => Script::json(latency, 400, nameless(-32000, "Unsupported protocol version")),
            2 => Script::json(latency, 400, nameless(-32600, "Bad Request: Missing session ID")),
            3 => Script::json(latency, 200, error(wire_id, -32601, "Method not found")),
            4 => Script::json(latency, 404, error(wire_id, -32601, "Method not found")),
            5 => Script::json(latency, 400, error(wire_id, -32602, "Invalid request parameters")),
            6 => Script::json(latency, 200, answer(wire_id, "{}")),
            _ => {
                let result = r#"{"supportedVersions":["2025-11-25","2025-06-18"]}"#;
                Script::json(latency, 200, answer(wire_id, result))
            }
        }
    }

    /// Handles a request of a session at a server that has none.
    pub(crate) fn too_old(&mut self, request: &Outgoing, oracle: &mut MachineOracle) -> Script {
        let latency = self.latency();
        let Verb::Post { body } = &request.verb else { return Script::status(latency, 405) };
        let text = std::str::from_utf8(body).expect("the machine writes UTF-8");
        let wire_id = number_after(text, r#""id":"#).unwrap_or(0);
        let refused = format!(
            r#"{{"jsonrpc":"2.0","id":{wire_id},"error":{{"code":-32022,"message":"Unsupported protocol version","data":{{"supported":["2026-07-28"],"requested":"2025-11-25"}}}}}}"#
        );
        if text.contains(r#""method":"initialize""#) {
            return match self.manner % 6 {
                0 => Script::json(latency, 404, error(wire_id, -32601, "Method not found")),
                1 => Script::json(latency, 400, error(wire_id, -32602, "_meta is missing")),
                2 => Script::json(latency, 400, error(wire_id, -32020, "Mcp-Method is missing")),
                3 => Script::status(latency, self.refusal()),
                _ => Script::json(latency, 400, refused),
            };
        }
        if let Some(call) = number_after(text, r#""call":"#) {
            oracle.misunderstood(call);
        }
        match self.manner % 4 {
            0 => Script::json(latency, 400, error(wire_id, -32020, "Mcp-Method is missing")),
            _ => Script::json(latency, 400, refused),
        }
    }
}

/// Returns the state that a request sends back, byte for byte.
pub(crate) fn echoed_state(text: &str) -> Option<String> {
    let body = Json::new(text.to_owned()).ok()?;
    let state = body.member("params")?.member("requestState")?;
    Some(state.as_str().to_owned())
}

/// Returns the state of an answer that asks for input; `None` if it does not ask.
pub(crate) fn wanted_state(text: &[u8]) -> Option<Option<String>> {
    let text = std::str::from_utf8(text).ok()?;
    if !text.contains(r#""resultType":"input_required""#) {
        return None;
    }
    let state = Json::new(text.to_owned()).ok()?.member("result")?.member("requestState");
    Some(state.map(|state| state.as_str().to_owned()))
}

fn error(wire_id: u64, code: i64, message: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{wire_id},"error":{{"code":{code},"message":"{message}"}}}}"#)
}

/// Returns an error without an id, of a server that did not read the request that far.
fn nameless(code: i64, message: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":null,"error":{{"code":{code},"message":"{message}"}}}}"#)
}
