//! Passes messages from either side to the other.

use ridethrough::event::Delivered;
use ridethrough::{Call, Era};
use ridethrough_core::QuestionId;
use ridethrough_upstream::{Waiting, fault};
use ridethrough_wire::line_buffer::Line;
use ridethrough_wire::message::{Answer, HostMessage, Id, Json, Message, notification};
use tokio::time::Instant;

use super::Router;
use crate::calls::{Asked, Finished};
use crate::held::{self, Next};
use crate::modern;
use crate::rounds::Question;

impl Router {
    pub(super) fn take_line(&mut self, line: Line) {
        for message in HostMessage::of_line(&line) {
            match message {
                HostMessage::Unfit { id, answer } => self.outbox.answer(id.as_ref(), &answer),
                HostMessage::Fit { message, .. } => self.held.push(message),
            }
        }
        self.take_held(Some(Instant::now()));
    }

    /// Handles the messages that wait, up to a notification that must go on waiting for room; without a moment, all
    /// of them.
    pub(super) fn take_held(&mut self, now: Option<Instant>) {
        loop {
            let is_stateless = self.upstream.is_stateless();
            match self.held.next(now, |method| goes_upstream(method, is_stateless)) {
                Some(Next::Message(message)) => self.take(message),
                Some(Next::Dropped) if self.held.notices.dropped() > 1 => {}
                Some(Next::Dropped) => self.upstream.say(held::DROPPED),
                None => return,
            }
        }
    }

    fn take(&mut self, message: Message) {
        match message {
            Message::Notification { method, params } => self.notify(&method, params),
            Message::Request { id, method, params } => self.ask(id, &method, params),
            Message::Response { id: Some(id), answer }
                if self.upstream.page_answered(&id, &answer) => {}
            Message::Response { id, answer } => {
                let question = id.and_then(|id| id.number()).map(QuestionId::new);
                if let Some(question) = question.filter(|it| self.questions.remove(it)) {
                    self.inbox.answer(question, answer);
                }
            }
        }
    }

    fn notify(&mut self, method: &str, params: Option<Json>) {
        self.meet_older();
        if method == "notifications/initialized" {
            self.host.initialized();
        }
        // Without a login the upstream takes none, and the next session begins without it.
        if goes_upstream(method, self.upstream.is_stateless()) && !self.upstream.is_login_needed() {
            self.held.notices.pass_on(self.upstream.client(), method, params.as_ref());
        } else if method == notification::CANCELLED
            && let Some(id) = params.and_then(|params| params.member("requestId"))
        {
            self.take_back(&id);
        }
    }

    /// Handles a request that the host cancels.
    fn take_back(&mut self, id: &Json) {
        match self.calls.cancel(id) {
            Some(call) => {
                let unanswered = self.rounds.forget(call);
                self.refuse_all(unanswered);
            }
            None => self.stop_listening(id),
        }
    }

    /// Records the era of the host.
    pub(super) fn meet(&mut self, era: Era) {
        if let Some(era) = self.host.meet(era) {
            self.upstream.client().prefer_era(era);
        }
    }

    fn meet_older(&mut self) {
        if self.host.is_unknown() {
            self.meet(Era::Legacy);
        }
    }

    fn ask(&mut self, id: Id, method: &str, params: Option<Json>) {
        match (modern::sender(method, params.as_ref()), &params) {
            (Err(refusal), _) => return self.outbox.answer(Some(id.json()), &refusal),
            (Ok(Some(sender)), Some(params)) => {
                return self.ask_modern(id, method, params, &sender);
            }
            _ => self.meet_older(),
        }
        match method {
            "initialize" => return self.greet(id, params.as_ref()),
            // `ping` asks whether the bridge is there. The upstream may be down while calls are still worth a
            // wait.
            "ping" => {
                let empty = Answer::Result(Json::empty_object());
                return self.outbox.answer(Some(id.json()), &empty);
            }
            "tools/call" => {
                if let Some(answer) = self.upstream.answer_unsent(params.as_ref()) {
                    return self.outbox.answer(Some(id.json()), &answer);
                }
            }
            _ => {}
        }
        let call = self.upstream.client().request(method, params.clone());
        self.begin(call, Asked { id, method: method.into(), params, asker: None });
    }

    /// Passes a request on to the upstream.
    pub(super) fn begin(&mut self, call: Call, asked: Asked) {
        if !self.calls.has_room_for(asked.params.as_ref()) {
            let refusal = self.upstream.refusal(&fault::crowded(&asked.method));
            return self.outbox.answer(Some(asked.id.json()), &refusal);
        }
        let shown = self.host.shown(asked.asker.as_ref());
        let (method, params) = (&*asked.method, asked.params.as_ref());
        let call = self.upstream.begin(call, method, params, shown);
        self.carry_out();
        self.calls.begin(asked, call);
    }

    /// Passes a request on again when a person has logged in.
    fn begin_again(&mut self, asked: Asked, waiting: Waiting) {
        let (method, params) = (&*asked.method, asked.params.as_ref());
        let mut call = self.upstream.client().request(method, asked.params.clone());
        if asked.asker.is_some() {
            call = call.fresh().passing_input();
        }
        let call = self.upstream.begin_again(call, method, params, waiting);
        self.calls.begin(asked, call);
    }

    /// Handles the end of a host's request.
    pub(super) fn finish(&mut self, finished: Finished) {
        let shown = self.host.shown(finished.asker.as_ref());
        let (method, is_awaited) = (&finished.method, finished.id.is_some());
        let settled = self.upstream.settle(finished.ended, method, shown, is_awaited);
        self.carry_out();
        match (settled, finished.id) {
            (Ok(ended), id) => {
                let (finished, unanswered) = self.rounds.ended(Finished { id, ended, ..finished });
                self.refuse_all(unanswered);
                if let Some(finished) = finished {
                    self.answer(finished);
                }
            }
            (Err(waiting), Some(id)) => {
                let Finished { method, params, asker, .. } = finished;
                self.begin_again(Asked { id, method, params, asker }, waiting);
            }
            // Only a call that is awaited is made again.
            (Err(_), None) => {}
        }
    }

    /// Answers a request that has ended, under the id that the host waits for.
    pub(super) fn answer(&mut self, finished: Finished) {
        let Finished { id, method, params, asker, began, ended, .. } = finished;
        let answer = self.upstream.answer(ended, &method, params.as_ref(), began);
        let answer = match asker {
            Some(asker) => self.in_modern_words(&method, asker.offers, answer),
            None if self.upstream.is_stateless() => {
                modern::in_older_words(answer, &self.upstream.masker().secrets())
            }
            None => answer,
        };
        self.outbox.answer(id.as_ref().map(Id::json), &answer);
    }

    /// Handles a message of the upstream that is not an answer.
    pub(super) fn hand_over(&mut self, delivered: Delivered) {
        match delivered {
            // It names the upstream's id of a question. `Withdrawn` says it by the bridge's id.
            Delivered::Notification { method, .. } if &*method == notification::CANCELLED => {}
            Delivered::Notification { exchange, method, params } => {
                self.tell_host(exchange, &method, params);
            }
            Delivered::Question { question: id, exchange, method, params } => {
                self.ask_host(Question { id, exchange, method, params });
            }
            Delivered::Withdrawn { question } => {
                self.rounds.withdraw(question);
                if !self.questions.remove(&question) {
                    // The host was not sent this question.
                    return;
                }
                let params = Json::from(serde_json::json!({
                    "requestId": question.number(),
                    "reason": "the server does not wait for the answer any more",
                }));
                self.outbox.notification(notification::CANCELLED, Some(&params));
            }
        }
    }
}

/// Whether a notification is passed on to the upstream.
fn goes_upstream(method: &str, is_stateless: bool) -> bool {
    match method {
        // The client itself sends it, in each of its sessions.
        "notifications/initialized" => false,
        // The client knows the id of the request at the upstream, and whether it was sent.
        notification::CANCELLED => false,
        // A stateless upstream asks for roots when a call needs them.
        "notifications/roots/list_changed" => !is_stateless,
        _ => true,
    }
}
