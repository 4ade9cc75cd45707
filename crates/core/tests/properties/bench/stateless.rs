//! The server of either era, as far as an answer depends on it, and the rounds of stateless calls.

use http::StatusCode;
use ridethrough_core::head::Content;
use ridethrough_core::{AttemptId, Era, ExchangeId, QuestionId};
use ridethrough_wire::message::{Answer, Json};

use super::{Bench, What, event, head, pick, result_text};

impl Bench {
    /// Makes the server name its era.
    pub(super) fn say_era(&mut self, attempt: AttemptId, wire_id: u64) {
        match self.speaks {
            Era::Legacy => self.refuse(attempt, 404, &error_text(wire_id, -32601, "")),
            Era::Modern => {
                let result = r#"{"supportedVersions":["2026-07-28"],"capabilities":{}}"#;
                self.whole(attempt, head(200, Content::Json), result_text(wire_id, result));
            }
        }
    }

    /// Makes a stateless server acknowledge the standing stream.
    pub(super) fn acknowledge(&mut self, attempt: AttemptId, wire_id: u64) {
        let text = format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{{"_meta":{{"io.modelcontextprotocol/subscriptionId":{wire_id}}},"notifications":{{"toolsListChanged":true}}}}}}"#
        );
        self.link.handle_event(self.now, attempt, &event(None, &text, None));
    }

    /// Makes a server of the other era refuse the request, without running anything.
    pub(super) fn meet_other_era(&mut self, attempt: AttemptId, era: Era, wire_id: u64) {
        let (code, data) = match era {
            Era::Legacy => (-32022, r#","data":{"supported":["2026-07-28"]}"#),
            Era::Modern => (-32000, ""),
        };
        self.refuse(attempt, 400, &error_text(wire_id, code, data));
    }

    /// Refuses the request with a code of the stateless era.
    pub(super) fn refuse_with(&mut self, attempt: AttemptId, wire_id: u64, code: i64) {
        let data = match code {
            -32022 => r#","data":{"supported":["2027-01-01","2026-07-28"]}"#,
            _ => "",
        };
        self.refuse(attempt, 400, &error_text(wire_id, code, data));
    }

    fn refuse(&mut self, attempt: AttemptId, status: u16, body: &str) {
        let mut head = head(400, Content::Json);
        head.status = StatusCode::from_u16(status).unwrap();
        self.whole(attempt, head, body.to_owned());
    }

    /// Asks for input for a stateless call; the script decides on `state` and the number of questions.
    pub(super) fn need_input(&mut self, attempt: AttemptId, state: Option<u8>, questions: u8) {
        let Some(out) = self.out.get(&attempt) else { return };
        let (What::Call(number), Era::Modern) = (out.what, out.era) else { return };
        let (wire_id, is_stream, has_head) = (out.wire_id, out.is_stream, out.has_head);
        if has_head && !is_stream {
            return;
        }
        let state = state.map(|state| format!(r#""{state}\u004a\/ \" é""#));
        let mut members = vec![r#""resultType":"input_required""#.to_owned()];
        members.extend(state.as_ref().map(|state| format!(r#""requestState":{state}"#)));
        let asked: Vec<String> =
            (0..questions).map(|each| format!(r#""q{each}":{{"method":"roots/list"}}"#)).collect();
        if !asked.is_empty() {
            members.push(format!(r#""inputRequests":{{{}}}"#, asked.join(",")));
        }
        if let Some(call) = self.calls.get_mut(&number) {
            (call.may_have_arrived, call.in_doubt) = (true, false);
            call.sends = 0;
            call.rounds += 1;
            call.state = state;
        }
        let text = result_text(wire_id, &format!("{{{}}}", members.join(",")));
        if is_stream {
            self.link.handle_event(self.now, attempt, &event(None, &text, None))
        } else {
            self.whole(attempt, head(200, Content::Json), text)
        }
    }

    /// Makes the application give the input that was asked for, or refuse to.
    pub(super) fn give_input(&mut self, which: u8, is_given: bool) {
        let open: Vec<QuestionId> = self.questions.iter().copied().collect();
        let Some(question) = pick(&open, which) else { return };
        self.questions.remove(&question);
        let answer = if is_given {
            Answer::Result(Json::empty_object())
        } else {
            Answer::Error(Json::new(r#"{"code":-1,"message":"no"}"#).unwrap())
        };
        self.link.answer(self.now, question, &answer);
    }

    /// Makes the application cancel a call: it ends, and its open requests are closed.
    pub(super) fn cancel(&mut self, id: ExchangeId) {
        let Some(number) = self.by_exchange.get(&id).copied() else { return };
        if let Some(call) = self.calls.get_mut(&number) {
            call.is_cancelled = true;
        }
        self.link.cancel(self.now, id);
        self.pump();
        let is_its = |what: What| matches!(what, What::Call(of) | What::Resume(of) if of == number);
        if self.by_exchange.contains_key(&id) || self.out.values().any(|out| is_its(out.what)) {
            self.left_open.push(format!("call {number}"));
        }
    }
}

fn error_text(wire_id: u64, code: i64, data: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{wire_id},"error":{{"code":{code},"message":"no"{data}}}}}"#)
}
