//! Hosts of the stateless revision: their requests, and what they are sent unasked.
//!
//! Such a host gets notifications through its `subscriptions/listen` requests only, unless it has said `initialize`,
//! too.

use ridethrough::Era;
use ridethrough::server::Server;
use ridethrough_core::{ExchangeId, QuestionId};
use ridethrough_wire::message::{Answer, Id, Json, ListKind, code, notification};
use ridethrough_wire::stateless::{self, DISCOVER, LISTEN, Offers, Sender};
use tokio::time::Instant;

use super::Router;
use crate::calls::{Asked, Asker};
use crate::greeting::Form;
use crate::modern;
use crate::rounds::{Due, Question, Subject, TakenUp};

impl Router {
    /// Handles a request of the stateless revision.
    pub(super) fn ask_modern(&mut self, id: Id, method: &str, params: &Json, sender: &Sender) {
        self.meet(Era::Modern);
        if let Some(identity) = self.host.introduce(sender) {
            self.upstream.introduce(identity);
        }
        if let Some(level) = &sender.level {
            self.own_requests.want_level(level, &self.upstream);
        }
        if method == DISCOVER {
            return self.await_greeting(id, Form::Discover);
        }
        self.upstream.reach();
        let is_older_task = method.starts_with("tasks/") && self.upstream.has_sessions();
        if stateless::is_gone(method) || is_older_task {
            return self.outbox.answer(Some(id.json()), &modern::not_found());
        }
        let params = stateless::passed_on(params);
        match method {
            LISTEN => self.listen(id, &params),
            method if stateless::can_ask(method) => self.ask_in_rounds(id, method, params, sender),
            method => self.begin_modern(id, method, params, sender, false),
        }
    }

    /// Handles a request that may be one round of several.
    fn ask_in_rounds(&mut self, id: Id, method: &str, params: Json, sender: &Sender) {
        if method == "tools/call"
            && let Some(answer) = self.upstream.answer_unsent(Some(&params))
        {
            return self.answer_modern(&id, method, sender, answer);
        }
        let [state, responses] = params.pick(["requestState", "inputResponses"]);
        let Some(state) = state else {
            return self.ask_after_pages(id, method, params, responses.as_ref(), sender);
        };
        let subject = || Subject::of(method, &params);
        let taken =
            state.string().and_then(|state| self.rounds.take_up(Instant::now(), &state, subject));
        match taken {
            Some(TakenUp::Ended(mut finished)) => {
                finished.id = Some(id);
                self.answer(*finished);
            }
            Some(TakenUp::Running { call }) => {
                self.calls.go_on(call, id, sender);
                for (key, given) in responses.map(|it| it.members()).unwrap_or_default() {
                    if let Some(question) = self.rounds.answered(call, &key) {
                        self.inbox.answer(question, Answer::Result(given));
                    }
                }
                self.rounds.went_on(call);
            }
            Some(TakenUp::OfAnother) => {
                self.outbox.answer(Some(id.json()), &modern::state_of_another());
            }
            // The state may be the upstream's own, so it is passed on.
            None if !self.upstream.has_sessions() => {
                self.begin_modern(id, method, params, sender, false);
            }
            None => {
                let form = self.upstream.doubt_about(method, Some(&params));
                self.answer_modern(&id, method, sender, modern::lost_round(form));
            }
        }
    }

    fn answer_modern(&mut self, id: &Id, method: &str, sender: &Sender, answer: Answer) {
        let answer = self.in_modern_words(method, Offers::of(&sender.capabilities), answer);
        self.outbox.answer(Some(id.json()), &answer);
    }

    /// Handles a call that continues no suspended one, perhaps after URLs were visited.
    fn ask_after_pages(
        &mut self,
        id: Id,
        method: &str,
        params: Json,
        visited: Option<&Json>,
        sender: &Sender,
    ) {
        match visited.filter(|it| stateless::are_pages(it)) {
            // Answers to the server's own questions belong to a later round of a call that may have run; the
            // client must see them to know that.
            None => self.begin_modern(id, method, params, sender, false),
            Some(visited) if stateless::were_visited(visited) => {
                let params = params.without(&["inputResponses"]);
                self.begin_modern(id, method, params, sender, true);
            }
            Some(_) => {
                self.upstream.page_declined();
                self.outbox.answer(Some(id.json()), &modern::not_visited());
            }
        }
    }

    fn begin_modern(
        &mut self,
        id: Id,
        method: &str,
        params: Json,
        sender: &Sender,
        has_visited: bool,
    ) {
        // The host keeps what the upstream allows to be kept, so the client's cache is not used.
        let call = self.upstream.client().request(method, params.clone());
        let (call, track) = call.fresh().passing_input().tracked();
        let asker = Some(Asker::new(method, sender, has_visited, track));
        self.begin(call, Asked { id, method: method.into(), params: Some(params), asker });
    }

    /// Passes a question of the upstream on to the host. A host that is never sent a request gets it as the
    /// answer to the call that it belongs to.
    pub(super) fn ask_host(&mut self, question: Question) {
        let Question { id, exchange, method, params } = &question;
        let is_modern = self.host.is_modern();
        let call = match exchange {
            Some(exchange) => self.calls.of_exchange(*exchange),
            // A server may ask on the standing stream what a call needs.
            None if is_modern => self.calls.only_one_to_ask(),
            None => None,
        };
        let Some((call, asker)) = call else {
            if is_modern {
                return self.inbox.answer(*id, modern::not_found());
            }
            self.questions.insert(*id);
            return self.outbox.request(id.number(), method, params.as_ref());
        };
        if !asker.can_be_asked || !asker.offers.allow(method, params.as_ref()) {
            return self.inbox.answer(*id, modern::not_found());
        }
        let id = *id;
        let subject = || {
            let (method, params) = self.calls.request(call).expect("the call was just found");
            Subject::of(method, params)
        };
        if !self.rounds.ask(Instant::now(), call, question, subject) {
            self.inbox.answer(id, Answer::refusal(code::SERVER_ERROR, "too many requests at once"));
        }
    }

    /// Shows the host the questions that were gathered, and gives up calls whose host did not come back.
    pub(super) fn rounds_are_due(&mut self) {
        for due in self.rounds.take_due(Instant::now()) {
            match due {
                Due::GiveUp { call, unanswered } => {
                    self.calls.drop_call(call);
                    self.refuse_all(unanswered);
                }
                Due::Ask { call, result } => {
                    if let Some((id, method)) = self.calls.suspend(call) {
                        let result = self.dressed(&result, &method);
                        self.outbox.answer(Some(id.json()), &Answer::Result(result));
                    }
                }
            }
        }
    }

    /// Refuses questions of the upstream that get no answer, so that the upstream does not wait for ever.
    pub(super) fn refuse_all(&self, questions: Vec<QuestionId>) {
        for question in questions {
            self.inbox.answer(question, modern::too_late());
        }
    }

    /// Passes a notification of the upstream on to the host that it concerns.
    pub(super) fn tell_host(
        &mut self,
        exchange: Option<ExchangeId>,
        method: &str,
        params: Option<Json>,
    ) {
        let is_modern = self.host.is_modern();
        let params = stateless::untagged(params);
        match method {
            notification::PROGRESS => {
                let params = params.and_then(|params| self.calls.progress(exchange, params));
                if let Some(params) = params {
                    self.outbox.notification(method, Some(&params));
                }
            }
            notification::RESOURCE_UPDATED => {
                self.announce(method, params.as_ref());
            }
            _ if is_list_change(method) => {
                self.announce(method, params.as_ref());
            }
            notification::LOG if is_modern && !self.calls.wants_log(exchange, params.as_ref()) => {}
            // The revision does not have these, or has them on `subscriptions/listen` only.
            notification::ELICITATION_COMPLETE
            | "notifications/tasks"
            | "notifications/tasks/status"
                if is_modern => {}
            method => self.outbox.notification(method, params.as_ref()),
        }
    }

    /// Sends a notification to each request that listens for it, and to a host with a session.
    pub(super) fn announce(&mut self, method: &str, params: Option<&Json>) {
        for params in self.listens.tell(method, params) {
            self.outbox.notification(method, Some(&params));
        }
        if !self.host.is_modern() {
            self.outbox.notification(method, params);
        }
    }

    /// Translates an answer of the upstream for a host of the stateless revision.
    pub(super) fn in_modern_words(&self, method: &str, offers: Offers, answer: Answer) -> Answer {
        match stateless::translated(answer, method, offers, self.upstream.is_stateless()) {
            Answer::Result(result) => Answer::Result(self.dressed(&result, method)),
            error @ Answer::Error(_) => error,
        }
    }

    /// Returns a result with every member that the stateless revision demands.
    pub(super) fn dressed(&self, result: &Json, method: &str) -> Json {
        let said = self.upstream.server().map(Server::as_initialized);
        let server = said.and_then(|said| said.member("serverInfo"));
        stateless::dressed(result, method, server.as_ref())
    }
}

fn is_list_change(method: &str) -> bool {
    ListKind::ALL.iter().any(|kind| kind.changed() == method)
}
