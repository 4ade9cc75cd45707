//! Messages from the server: answers go to their calls, questions and notifications to the application.

use std::collections::BTreeSet;

use super::Outbound;
use crate::era::Era;
use crate::event::Event;
use crate::exchange::Exchange;
use crate::ids::{AttemptId, ExchangeId, Generation, QuestionId};
use crate::link::Link;
use crate::link::attempts::Owner;
use crate::link::context::Context;
use crate::message::code;
use crate::message::notification;
use crate::message::{Answer, Id, Json, Message, with_caller_token};
use crate::moment::Moment;
use crate::output::Delivered;

/// A request of the server that waits for the application's answer.
#[derive(Clone, Debug)]
pub(crate) struct Question {
    pub(crate) id: Id,
    pub(crate) generation: Generation,
    pub(crate) exchange: Option<ExchangeId>,
}

/// Where a message came from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Source {
    pub(crate) generation: Generation,
    pub(crate) exchange: Option<ExchangeId>,
    pub(crate) attempt: Option<AttemptId>,
}

impl Outbound {
    /// Withdraws a question that the server has cancelled.
    pub(crate) fn question_cancelled(
        &mut self,
        cx: &mut Context,
        generation: Generation,
        params: Option<&Json>,
    ) {
        let Some(named) = params.and_then(|params| params.member("requestId")) else { return };
        self.withdraw_questions(cx, |question| {
            question.generation == generation && *question.id.json() == named
        });
    }

    /// Withdraws questions whose answers are no longer wanted.
    pub(crate) fn withdraw_questions(
        &mut self,
        cx: &mut Context,
        is_void: impl Fn(&Question) -> bool,
    ) {
        let void: Vec<QuestionId> =
            self.questions.iter().filter(|(_, each)| is_void(each)).map(|(id, _)| *id).collect();
        for question in void {
            self.questions.remove(&question);
            cx.deliver(Delivered::Withdrawn { question });
        }
    }
}

impl Link {
    /// Answers a question of the server. An answer to a withdrawn question is ignored.
    pub fn answer(&mut self, now: Moment, question: QuestionId, answer: &Answer) {
        if self.answer_round(now, question, answer) {
            return;
        }
        if let Some(question) = self.outbound.questions.remove(&question) {
            self.send_answer(now, &question, answer);
        }
    }

    /// Takes in messages that came beside an answer, or on a stream that belongs to no exchange.
    pub(crate) fn take_in_all(
        &mut self,
        now: Moment,
        owner: Owner,
        generation: Generation,
        messages: Vec<Message>,
    ) {
        let exchange = match owner {
            Owner::Exchange(id) => Some(id)
                .filter(|id| self.calls.get(*id).is_some_and(|it| it.origin.is_application())),
            _ => None,
        };
        for message in messages {
            self.take_in(now, Source { generation, exchange, attempt: None }, message);
        }
    }

    /// Takes in one message.
    pub(crate) fn take_in(&mut self, now: Moment, source: Source, message: Message) {
        match message {
            Message::Notification { method, params } => self.notified(now, source, method, params),
            Message::Request { id, method, params } => self.asked(now, source, id, method, params),
            Message::Response { id, answer } => {
                self.route(now, source, id.and_then(|id| id.number()), answer);
            }
        }
    }

    /// Row 17: gives an answer to its exchange. Any stream of a generation may carry the answer of any
    /// exchange.
    fn route(&mut self, now: Moment, source: Source, wire_id: Option<u64>, answer: Answer) {
        let exchange = wire_id.and_then(|wire_id| self.calls.of_wire(wire_id));
        let is_same_session = |exchange: &Exchange| {
            exchange.sent.as_ref().is_some_and(|sent| sent.generation() == source.generation)
        };
        match exchange.and_then(|id| self.calls.get(id)).filter(|each| is_same_session(each)) {
            Some(exchange) => self.answered(now, exchange.id, answer, source.attempt),
            None => self.cx.tell(Event::StrayAnswer),
        }
    }

    fn notified(&mut self, now: Moment, source: Source, method: Box<str>, params: Option<Json>) {
        match &*method {
            notification::PROGRESS => return self.progressed(now, method, params),
            notification::CANCELLED => {
                self.outbound.question_cancelled(&mut self.cx, source.generation, params.as_ref())
            }
            notification::TOOLS_CHANGED => self.calls.forget_tools(),
            _ => {}
        }
        let exchange = source.exchange;
        self.cx.deliver(Delivered::Notification { exchange, method, params });
    }

    /// Gives progress to the call whose token it names, with the caller's own token in it.
    fn progressed(&mut self, now: Moment, method: Box<str>, params: Option<Json>) {
        let Some(params) = params else { return };
        let token = params.member("progressToken").and_then(|token| Id::new(token).number());
        let id = token.and_then(|token| self.calls.of_wire(token));
        let Some(exchange) = id.and_then(|id| self.calls.get_mut(id)) else { return };
        if !exchange.progress_increased(now, &params) {
            return;
        }
        let id = exchange.id;
        let params = Some(with_caller_token(params, exchange.params.caller_token.as_ref()));
        self.set_alarm(id);
        self.cx.deliver(Delivered::Notification { exchange: Some(id), method, params });
    }

    fn asked(
        &mut self,
        now: Moment,
        source: Source,
        id: Id,
        method: Box<str>,
        params: Option<Json>,
    ) {
        let asker = source.exchange.and_then(|id| self.calls.get(id));
        if asker.map_or_else(|| self.session.era(), |it| it.era()) == Era::Modern {
            return self.ignore_question(method);
        }
        let question = Question { id, generation: source.generation, exchange: source.exchange };
        if &*method == "ping" {
            return self.send_own_answer(now, &question, &Answer::Result(Json::empty_object()));
        }
        let is_known =
            |known: &Question| known.id == question.id && known.generation == question.generation;
        if self.outbound.questions.values().any(is_known) {
            return;
        }
        // An answer to every question that the application gets must go out, so those on their way count too.
        if self.outbound.questions.len() + self.outbound.answers >= MOST_QUESTIONS {
            let busy = Answer::refusal(code::SERVER_ERROR, "too many requests at once");
            return self.send_own_answer(now, &question, &busy);
        }
        let number = self.outbound.next_question();
        let exchange = source.exchange;
        self.outbound.questions.insert(number, question);
        self.cx.deliver(Delivered::Question { question: number, exchange, method, params });
    }

    /// Learns from the result of a call. Returns a result to hand over in its place, if it must be changed.
    pub(crate) fn learn_from(&mut self, exchange: &Exchange, answer: &Answer) -> Option<Answer> {
        #[derive(serde::Deserialize)]
        struct Cursor {
            #[serde(default)]
            cursor: Option<serde::de::IgnoredAny>,
        }

        let Answer::Result(result) = answer else { return None };
        if &*exchange.call.method != "tools/list" {
            self.session.remember(exchange);
            return None;
        }
        let cursor = exchange.params.text().and_then(|params| params.read::<Cursor>());
        let is_first = cursor.is_none_or(|Cursor { cursor }| cursor.is_none());
        let learnt = self.calls.learn_tools(result, is_first);
        if learnt.is_changed {
            self.cx.tell(Event::ToolsChanged);
        }
        if exchange.era() == Era::Legacy || learnt.unfit.is_empty() {
            return None;
        }
        let names: BTreeSet<_> = learnt.unfit.iter().map(|(name, _)| name.as_str()).collect();
        let kept = without_tools(result, &names);
        for (name, why) in learnt.unfit {
            self.cx.tell(Event::ToolDropped { tool: name.into(), why });
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

/// The most questions that may be open at once. A server that asks more is told so.
const MOST_QUESTIONS: usize = 1000;
