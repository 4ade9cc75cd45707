//! The application in a world: it makes calls, gives them up, and answers questions of servers.

use std::time::Duration;

use ridethrough_core::{CallOptions, ExchangeId, QuestionId, Request};
use ridethrough_wire::message::{Answer, Json};

use super::{DueHappening, MachineWorld};

impl MachineWorld {
    /// Opens the standing stream, if this application does.
    pub(crate) fn listen(&mut self) {
        if self.setting.listens {
            self.link.listen(self.now);
            self.pump();
        }
    }

    pub(super) fn begin(&mut self) {
        self.next_call += 1;
        let call = self.next_call;
        let is_safe = self.rng.below(2) == 0;
        let method = if is_safe { "resources/read" } else { "tools/call" };
        let params = Json::new(format!(r#"{{"name":"deploy","arguments":{{"call":{call}}}}}"#));
        let deadline = Duration::from_secs([5, 30, 60, 300][self.rng.below(4) as usize]);
        let options = CallOptions { deadline: Some(deadline), ..CallOptions::default() };
        let params = Some(params.expect("valid"));
        self.oracle.begun(call, is_safe, self.now, deadline);
        let id = self.link.send(self.now, Request { method: method.into(), params, options });
        self.calls.insert(id, call);
        if self.rng.below(1000) < self.server.faults.cancel {
            let at = self.now + self.rng.between(Duration::ZERO, Duration::from_secs(5));
            self.schedule(at, DueHappening::Cancel(id));
        }
        self.pump();
    }

    /// Gives a call up: its connection must be closed by then.
    pub(super) fn cancel(&mut self, id: ExchangeId) {
        let Some(call) = self.calls.get(&id).copied() else { return };
        self.oracle.cancels(call);
        self.link.cancel(self.now, id);
        self.pump();
        let is_out = self.open.values().any(|each| each.call == Some(call));
        self.oracle.cancelled(call, is_out);
    }

    /// Handles a question: most are answered, some refused, some left open.
    pub(super) fn asked(&mut self, question: QuestionId) {
        let wait = self.rng.between(Duration::ZERO, Duration::from_secs(3));
        match self.rng.below(16) {
            0 => {}
            drawn => self.schedule(self.now + wait, DueHappening::Answer(question, drawn > 1)),
        }
    }

    /// Answers, or refuses, what the server asked in a round.
    pub(super) fn answer(&mut self, question: QuestionId, is_given: bool) {
        let answer = if is_given {
            Answer::Result(Json::new(r#"{"roots":[]}"#).expect("valid"))
        } else {
            Answer::Error(Json::new(r#"{"code":-1,"message":"no"}"#).expect("valid"))
        };
        self.link.answer(self.now, question, &answer);
    }
}
