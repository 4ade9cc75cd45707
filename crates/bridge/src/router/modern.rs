//! A host of the stateless revision: its requests, and what it is told without being asked.
//!
//! Each request says by itself that it is of that revision, so one host may speak both. What is told unasked
//! goes to such a host through what it listens for, unless it has said `initialize`, too.

use std::collections::{BTreeMap, BTreeSet};

use futures_util::future::{BoxFuture, Shared};
use futures_util::stream::FuturesUnordered;
use ridethrough::Era;
use ridethrough_core::message::code;
use ridethrough_core::message::notification;
use ridethrough_core::message::{Answer, Id, Json};
use ridethrough_core::{ExchangeId, QuestionId};
use tokio::io::AsyncWrite;
use tokio::time::Instant;

use super::Router;
use super::greet::Form;
use crate::calls::{Asked, Asker};
use crate::listens::{Listens, UPDATED};
use crate::lists::Kind;
use crate::modern::{self, Offers, Question, Sender};
use crate::rounds::{Due, Rounds, Subject, TakenUp};
use crate::splice;

/// What is kept for a host of the stateless revision.
#[derive(Default)]
pub(super) struct Modern {
    /// The last thing it said of itself: `clientInfo` and `clientCapabilities`.
    met: Option<(Json, Json)>,
    /// From which level on it wants to hear the log, and what the upstream was told of that.
    level: Option<Json>,
    level_told: Option<Json>,
    /// Whether the upstream is being told. Another level waits: of two that are out at once, either may be kept.
    pub(super) is_telling_level: bool,
    pub(super) rounds: Rounds,
    pub(super) listens: Listens,
    /// Resources that the upstream is asked to let go, by URI.
    pub(super) leaving: BTreeMap<Box<str>, Leaving>,
    /// Requests to the upstream that the bridge makes by itself, for such a host.
    pub(super) own_requests: FuturesUnordered<BoxFuture<'static, OwnAnswer>>,
}

impl Modern {
    /// Forgets who sent the last stateless request: the client was told otherwise by `initialize`.
    pub(super) fn forget_sender(&mut self) {
        self.met = None;
    }
}

/// Requests to let go of a resource, until the last of them has its answer. A subscription to that resource
/// waits for it: of two requests that are out at once, the server may carry out either last.
pub(super) type Leaving = Shared<BoxFuture<'static, ()>>;

/// What the upstream said to the resources of one listener.
pub(super) struct Subscribed {
    pub(super) number: u64,
    pub(super) granted: BTreeSet<Box<str>>,
}

/// What a request of the bridge's own has come to.
pub(super) enum OwnAnswer {
    LetGo,
    LevelTold,
    Subscribed(Subscribed),
}

impl<W: AsyncWrite + Unpin> Router<W> {
    /// The host is of this era, as far as its message tells. One that has said `initialize` has a session.
    pub(super) fn meet(&mut self, era: Era) {
        if self.host_era != Some(era) && !self.has_initialized {
            // What a host with a session may be asked and told, it expects as in one.
            self.client.prefer_era(era);
            self.host_era = Some(era);
        }
    }

    /// A request of the stateless revision.
    pub(super) fn ask_modern(&mut self, id: Id, method: &str, params: &Json, sender: Sender) {
        self.meet(Era::Modern);
        self.take_in_sender(&sender);
        if method == modern::DISCOVER {
            return self.await_greeting(id, Form::Discover);
        }
        self.upstream.reach();
        let is_older_task = method.starts_with("tasks/") && self.has_sessions();
        if modern::is_gone(method) || is_older_task {
            return self.outbox.answer(Some(id.json()), &modern::not_found());
        }
        let params = modern::passed_on(params);
        match method {
            "subscriptions/listen" => self.listen(id, &params),
            method if modern::can_ask(method) => self.ask_in_rounds(id, method, params, &sender),
            method => self.begin_modern(id, method, params, &sender),
        }
    }

    fn take_in_sender(&mut self, sender: &Sender) {
        let (info, capabilities) = (&sender.identity.info, &sender.identity.capabilities);
        let is_known = |(known, can): &(Json, Json)| known == info && can == capabilities;
        if !self.modern.met.as_ref().is_some_and(is_known) {
            let (info, capabilities) = (splice::copied(info), splice::copied(capabilities));
            self.modern.met = Some((info.clone(), capabilities.clone()));
            self.host = info.member("name").and_then(|name| name.read());
            self.client.set_identity(ridethrough_core::Identity { info, capabilities });
        }
        if let Some(level) = sender.level.as_ref().filter(|it| it.string().is_some()) {
            self.modern.level = Some(splice::copied(level));
            self.tell_level();
        }
    }

    /// A session is told the level once. Without one, each request says it.
    pub(super) fn tell_level(&mut self) {
        let Some(level) = self.modern.level.clone() else { return };
        let can_log = self.upstream.server().is_some_and(|server| server.can("logging"));
        let is_told = self.modern.level_told.as_ref() == Some(&level);
        if !self.has_sessions() || !can_log || is_told || self.modern.is_telling_level {
            return;
        }
        self.modern.is_telling_level = true;
        self.modern.level_told = Some(level.clone());
        let params = Json::empty_object().with_members([("level".to_owned(), level)]);
        let telling = self.client.request("logging/setLevel", params).answer();
        self.modern.own_requests.push(Box::pin(async {
            // A server that does not want to know tells what it tells.
            let _ = telling.await;
            OwnAnswer::LevelTold
        }));
    }

    /// Whether the upstream is known to have sessions.
    pub(super) fn has_sessions(&self) -> bool {
        self.upstream.server().is_some() && !self.is_stateless
    }

    /// A request that may be one round of several.
    fn ask_in_rounds(&mut self, id: Id, method: &str, params: Json, sender: &Sender) {
        if method == "tools/call"
            && let Some(refusal) = self.hidden.refusal(Some(&params))
        {
            return self.outbox.answer(Some(id.json()), &refusal);
        }
        let [state, responses] = params.pick(["requestState", "inputResponses"]);
        let Some(state) = state else {
            return self.ask_after_pages(id, method, params, responses.as_ref(), sender);
        };
        let subject = || Subject::of(method, &params);
        let taken = state
            .string()
            .and_then(|state| self.modern.rounds.take_up(Instant::now(), &state, subject));
        match taken {
            Some(TakenUp::Ended(mut finished)) => {
                finished.id = Some(id);
                self.answer(*finished);
            }
            Some(TakenUp::Running { call }) => {
                let offers = Offers::of(&sender.identity.capabilities);
                self.calls.go_on(call, id, offers, sender.token.as_ref().map(splice::copied));
                for (key, given) in responses.map(|it| it.members()).unwrap_or_default() {
                    if let Some(question) = self.modern.rounds.answered(call, &key) {
                        self.inbox.answer(question, Answer::Result(given));
                    }
                }
                self.modern.rounds.went_on(call);
            }
            Some(TakenUp::OfAnother) => {
                self.outbox.answer(Some(id.json()), &modern::state_of_another());
            }
            // The upstream may know it: it is passed what it said.
            None if !self.has_sessions() => self.begin_modern(id, method, params, sender),
            None => self.outbox.answer(Some(id.json()), &modern::unknown_state()),
        }
    }

    /// A call that is no later round, or one whose server wanted pages to be visited first.
    fn ask_after_pages(
        &mut self,
        id: Id,
        method: &str,
        params: Json,
        visited: Option<&Json>,
        sender: &Sender,
    ) {
        match visited.filter(|it| modern::are_pages(it)) {
            // Answers to questions of the server's own are a later round of a call that may have run: the client
            // must see them to know.
            None => self.begin_modern(id, method, params, sender),
            Some(visited) if modern::were_visited(visited) => {
                let params = splice::without(&params, &["inputResponses"]);
                self.begin_modern(id, method, params, sender);
            }
            Some(_) => self.outbox.answer(Some(id.json()), &modern::not_visited()),
        }
    }

    fn begin_modern(&mut self, id: Id, method: &str, params: Json, sender: &Sender) {
        // What the upstream allows to be kept the host keeps itself.
        let call = self.client.request(method, params.clone()).fresh().passing_input();
        let (call, track) = call.tracked();
        let offers = Offers::of(&sender.identity.capabilities);
        let token = sender.token.as_ref().map(splice::copied);
        let can_be_asked = modern::can_ask(method);
        let asker = Some(Asker { can_be_asked, offers, token, track });
        self.begin(call, Asked { id, method: method.into(), params: Some(params), asker });
    }

    /// The host is asked something by the upstream: a host that is never sent a request has it as the answer
    /// to the call that it is about.
    pub(super) fn ask_host(&mut self, question: Question) {
        let Question { id, exchange, method, params } = &question;
        let is_modern = self.host_era == Some(Era::Modern);
        let call = match exchange {
            Some(exchange) => self.calls.of_exchange(*exchange),
            // A server may ask beside the call that it asks for.
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
        if !self.modern.rounds.ask(Instant::now(), call, question, subject) {
            self.inbox.answer(id, Answer::refusal(code::SERVER_ERROR, "too many requests at once"));
        }
    }

    /// Questions have been gathered, or a host did not come back with its answers.
    pub(super) fn rounds_are_due(&mut self) {
        for due in self.modern.rounds.take_due(Instant::now()) {
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

    /// Refuses questions of the upstream's that have no answer: it would wait for one for ever.
    pub(super) fn refuse_all(&self, questions: Vec<QuestionId>) {
        for question in questions {
            self.inbox.answer(question, modern::too_late());
        }
    }

    /// Something that the upstream told, to whom it is of use.
    pub(super) fn tell_host(
        &mut self,
        exchange: Option<ExchangeId>,
        method: &str,
        params: Option<Json>,
    ) {
        let is_modern = self.host_era == Some(Era::Modern);
        match method {
            notification::PROGRESS => {
                let Some(params) = self.progress(exchange, params) else { return };
                self.outbox.notification(method, Some(&params));
            }
            _ if method == UPDATED || is_list_change(method) => {
                self.announce(method, params.as_ref());
            }
            notification::LOG if is_modern && self.modern.level.is_none() => {}
            // What the revision does not have, or has for those who listen only.
            notification::ELICITATION_COMPLETE
            | "notifications/tasks"
            | "notifications/tasks/status"
                if is_modern => {}
            method => self.outbox.notification(method, params.as_ref()),
        }
    }

    /// Tells of something to each request that listens for it. A host with a session always does.
    pub(super) fn announce(&mut self, method: &str, params: Option<&Json>) {
        for params in self.modern.listens.tell(method, params) {
            self.outbox.notification(method, Some(&params));
        }
        if self.host_era != Some(Era::Modern) {
            self.outbox.notification(method, params);
        }
    }

    /// Progress with the token of the request that the host waits for now; `None` if it waits for none.
    fn progress(&self, exchange: Option<ExchangeId>, params: Option<Json>) -> Option<Json> {
        let params = params?;
        let Some((call, asker)) = exchange.and_then(|it| self.calls.of_exchange(it)) else {
            return Some(params);
        };
        let token = asker.token.as_ref().filter(|_| self.calls.is_awaited(call))?;
        Some(splice::with_member(&params, "progressToken", token))
    }

    /// An answer of the upstream as a host of the stateless revision has it.
    pub(super) fn in_modern_words(&self, method: &str, offers: Offers, answer: Answer) -> Answer {
        let answer = match answer {
            Answer::Result(_) => answer,
            Answer::Error(error) => modern::error(error, method, offers),
        };
        match answer {
            Answer::Result(result) => Answer::Result(self.dressed(&result, method)),
            Answer::Error(_) => answer,
        }
    }

    /// A result with everything that one of the stateless revision must have.
    pub(super) fn dressed(&self, result: &Json, method: &str) -> Json {
        let said = self.upstream.server().map(ridethrough::server::Server::as_initialized);
        let server = said.and_then(|said| said.member("serverInfo"));
        modern::dressed(result, method, server.as_ref())
    }
}

fn is_list_change(method: &str) -> bool {
    Kind::ALL.iter().any(|kind| kind.changed() == method)
}
