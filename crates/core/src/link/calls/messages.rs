//! Messages from the server: answers go to their calls, questions and notifications to the application.

use std::collections::BTreeSet;

use ridethrough_wire::era::Era;
use ridethrough_wire::message::code;
use ridethrough_wire::message::notification;
use ridethrough_wire::message::{Answer, Id, Json, Message, with_caller_token};

use super::Calls;
use crate::event::Event;
use crate::exchange::Exchange;
use crate::ids::QuestionId;
use crate::link::effects::MessageSource;
use crate::link::outbound::{NewQuestion, Question};
use crate::output::{Address, Delivered};

impl Calls {
    /// Answers a question of the server. An answer to a withdrawn question is ignored.
    pub(crate) fn answer(&mut self, question: QuestionId, answer: &Answer) {
        if self.answer_round(question, answer) {
            return;
        }
        if let Some(question) = self.base.outbound.take_question(question) {
            let to = self.asker_of(&question);
            self.base.outbound.send_answer(&mut self.base.cx, &question, answer, to);
        }
    }

    /// Returns the address that a question was asked from, if that session is still there.
    fn asker_of(&self, question: &Question) -> Option<Address> {
        let ready = self.base.session.ready().map(|ready| &ready.address);
        let sent =
            question.exchange.and_then(|id| self.all.get(id)?.sent.as_ref()).map(|it| &it.to);
        let mut known = ready.into_iter().chain(sent);
        known.find(|to| to.generation == question.generation).cloned()
    }

    /// Takes in one message.
    pub(crate) fn take_in(&mut self, source: MessageSource, message: Message) {
        match message {
            Message::Notification { method, params } => self.notified(source, method, params),
            Message::Request { id, method, params } => self.asked(source, id, method, params),
            Message::Response { id, answer } => {
                self.route(source, id.and_then(|id| id.number()), answer);
            }
        }
    }

    /// Row 17: gives an answer to its exchange. Any stream of a generation may carry the answer of any
    /// exchange.
    fn route(&mut self, source: MessageSource, wire_id: Option<u64>, answer: Answer) {
        let exchange = wire_id.and_then(|wire_id| self.all.of_wire(wire_id));
        let is_same_session = |exchange: &Exchange| {
            exchange.sent.as_ref().is_some_and(|sent| sent.generation() == source.generation)
        };
        match exchange.and_then(|id| self.all.get(id)).filter(|each| is_same_session(each)) {
            Some(exchange) => self.answered(exchange.id, answer, source.attempt),
            None => self.base.cx.tell(Event::StrayAnswer),
        }
    }

    fn notified(&mut self, source: MessageSource, method: Box<str>, params: Option<Json>) {
        match &*method {
            notification::PROGRESS => return self.progressed(method, params),
            notification::CANCELLED => self.base.outbound.question_cancelled(
                &mut self.base.cx,
                source.generation,
                params.as_ref(),
            ),
            notification::TOOLS_CHANGED => {
                self.tools.forget();
                self.plan_learning();
            }
            _ => {}
        }
        let exchange = source.exchange;
        self.base.cx.deliver(Delivered::Notification { exchange, method, params });
    }

    /// Gives progress to the call whose token it names, with the caller's own token in it.
    fn progressed(&mut self, method: Box<str>, params: Option<Json>) {
        let Some(params) = params else { return };
        let token = params.member("progressToken").and_then(|token| Id::new(token).number());
        let id = token.and_then(|token| self.all.of_wire(token));
        let Some(exchange) = id.and_then(|id| self.all.get_mut(id)) else { return };
        if !exchange.progress_increased(self.base.cx.now, &params) {
            return;
        }
        let id = exchange.id;
        let params = Some(with_caller_token(params, exchange.params.caller_token.as_ref()));
        self.set_alarm(id);
        self.base.cx.deliver(Delivered::Notification { exchange: Some(id), method, params });
    }

    fn asked(&mut self, source: MessageSource, id: Id, method: Box<str>, params: Option<Json>) {
        let asker = source.exchange.and_then(|id| self.all.get(id));
        if asker.map_or_else(|| self.base.session.era(), |it| it.era()) == Era::Modern {
            // The specification allows a stateless server no requests.
            return self.base.cx.tell(Event::QuestionIgnored { method: method.into() });
        }
        let exchange = source.exchange;
        let question = Question { id, generation: source.generation, exchange };
        if &*method == "ping" {
            let pong = Answer::Result(Json::empty_object());
            return self.answer_ourselves(&question, &pong);
        }
        match self.base.outbound.question_came(question.clone()) {
            NewQuestion::Asked(question) => {
                self.base.cx.deliver(Delivered::Question { question, exchange, method, params });
            }
            NewQuestion::Known => {}
            NewQuestion::TooMany => {
                let busy = Answer::refusal(code::SERVER_ERROR, "too many requests at once");
                self.answer_ourselves(&question, &busy);
            }
        }
    }

    fn answer_ourselves(&mut self, question: &Question, answer: &Answer) {
        let to = self.asker_of(question);
        self.base.outbound.send_own_answer(&mut self.base.cx, question, answer, to);
    }

    /// Learns from the result of a call. Returns a result to hand over in its place, if it must be changed.
    pub(super) fn learn_from(&mut self, exchange: &Exchange, answer: &Answer) -> Option<Answer> {
        #[derive(serde::Deserialize)]
        struct Cursor {
            #[serde(default)]
            cursor: Option<serde::de::IgnoredAny>,
        }

        let Answer::Result(result) = answer else { return None };
        if &*exchange.call.method != "tools/list" {
            self.base.session.remember(exchange);
            return None;
        }
        let cursor = exchange.params.text().and_then(|params| params.read::<Cursor>());
        let is_first = cursor.is_none_or(|Cursor { cursor }| cursor.is_none());
        let learnt = self.tools.learn(result, is_first);
        if learnt.is_changed {
            self.base.cx.tell(Event::ToolsChanged);
        }
        if exchange.era() == Era::Legacy || learnt.unfit.is_empty() {
            return None;
        }
        let names: BTreeSet<_> = learnt.unfit.iter().map(|(name, _)| name.as_str()).collect();
        let kept = without_tools(result, &names);
        for (name, why) in learnt.unfit {
            self.base.cx.tell(Event::ToolDropped { tool: name.into(), why });
        }
        Some(Answer::Result(kept))
    }
}

/// Returns a page without the tools of these names; everything else is kept as it was.
fn without_tools(page: &Json, names: &BTreeSet<&str>) -> Json {
    let name = |tool: &Json| tool.member("name").and_then(|name| name.read::<String>());
    let is_kept = |tool: &Json| name(tool).is_none_or(|name| !names.contains(name.as_str()));
    let members = page.members().into_iter().map(|(key, value)| match value.elements() {
        Some(tools) if key == "tools" => {
            let kept: Vec<_> = tools.into_iter().filter(is_kept).collect();
            (key, Json::of(&kept).expect("JSON in a list is JSON"))
        }
        _ => (key, value),
    });
    Json::empty_object().with_members(members)
}
