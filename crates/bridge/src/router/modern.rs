//! Hosts of the stateless revision: their requests, and what they are sent unasked.
//!
//! Each request names its revision, so one host may speak both. Such a host gets notifications through its
//! `subscriptions/listen` requests only, unless it has said `initialize`, too.

use std::collections::{BTreeMap, BTreeSet};

use futures_util::future::{BoxFuture, Shared};
use futures_util::stream::FuturesUnordered;
use ridethrough::Era;
use ridethrough_core::{ExchangeId, Identity, QuestionId};
use ridethrough_wire::message::code;
use ridethrough_wire::message::notification;
use ridethrough_wire::message::splice;
use ridethrough_wire::message::{Answer, Id, Json, LogLevel};
use ridethrough_wire::stateless::{self, DISCOVER, LISTEN, Offers, Sender};
use tokio::io::AsyncWrite;
use tokio::time::Instant;

use super::Router;
use super::greet::Form;
use crate::calls::{Asked, Asker};
use crate::fault;
use crate::listens::Listens;
use crate::lists::Kind;
use crate::modern::{self, Question};
use crate::rounds::{Due, Rounds, Subject, TakenUp};

/// The state for a host of the stateless revision.
#[derive(Default)]
pub(super) struct Modern {
    /// The last `clientInfo` and `clientCapabilities` of the host.
    met: Option<(Json, Json)>,
    /// The level from which on the host wants the log, and the level that the upstream was told.
    level: Option<Json>,
    level_told: Option<Json>,
    /// Whether the upstream is being told a level. Another level waits, because of two requests that are out
    /// at once the server may carry out either last.
    pub(super) is_telling_level: bool,
    pub(super) rounds: Rounds,
    pub(super) listens: Listens,
    /// Resources that the upstream is being unsubscribed from, by URI.
    pub(super) leaving: BTreeMap<Box<str>, Leaving>,
    /// Requests to the upstream that the bridge itself makes for such a host.
    pub(super) own_requests: FuturesUnordered<BoxFuture<'static, OwnAnswer>>,
}

impl Modern {
    /// Forgets the sender of the last stateless request, because `initialize` has told the client otherwise.
    pub(super) fn forget_sender(&mut self) {
        self.met = None;
    }
}

/// An unsubscription that completes when its last request is answered. A new subscription to that resource
/// waits for it: of two requests that are out at once, the server may carry out either last.
pub(super) type Leaving = Shared<BoxFuture<'static, ()>>;

/// The upstream's answers about the resources of one `subscriptions/listen`.
pub(super) struct Subscribed {
    pub(super) number: u64,
    pub(super) granted: BTreeSet<Box<str>>,
}

/// The end of a request of the bridge's own.
pub(super) enum OwnAnswer {
    LetGo,
    LevelTold,
    Subscribed(Subscribed),
}

impl<W: AsyncWrite + Unpin> Router<W> {
    /// Records the era of the host. A host that has said `initialize` keeps its session.
    pub(super) fn meet(&mut self, era: Era) {
        if self.host_era != Some(era) && !self.has_initialized {
            // A host with a session expects the server's questions and notifications as in a session.
            self.client.prefer_era(era);
            self.host_era = Some(era);
        }
    }

    /// Handles a request of the stateless revision.
    pub(super) fn ask_modern(&mut self, id: Id, method: &str, params: &Json, sender: Sender) {
        self.meet(Era::Modern);
        self.take_in_sender(&sender);
        if method == DISCOVER {
            return self.await_greeting(id, Form::Discover);
        }
        self.upstream.reach();
        let is_older_task = method.starts_with("tasks/") && self.has_sessions();
        if stateless::is_gone(method) || is_older_task {
            return self.outbox.answer(Some(id.json()), &modern::not_found());
        }
        let params = stateless::passed_on(params);
        match method {
            LISTEN => self.listen(id, &params),
            method if stateless::can_ask(method) => self.ask_in_rounds(id, method, params, &sender),
            method => self.begin_modern(id, method, params, &sender),
        }
    }

    fn take_in_sender(&mut self, sender: &Sender) {
        let Identity { info, capabilities } = modern::identity(sender);
        let is_known = |(known, can): &(Json, Json)| *known == info && *can == capabilities;
        if !self.modern.met.as_ref().is_some_and(is_known) {
            let (info, capabilities) = (splice::copied(&info), splice::copied(&capabilities));
            self.modern.met = Some((info.clone(), capabilities.clone()));
            self.host = info.member("name").and_then(|name| name.read());
            self.client.set_identity(Identity { info, capabilities });
        }
        if let Some(level) = sender.level.as_ref().filter(|it| it.string().is_some()) {
            self.modern.level = Some(splice::copied(level));
            self.tell_level();
        }
    }

    /// Tells a session the log level, once. Without a session, each request carries it.
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
            // A server that refuses the level sends what it sends by default.
            let _ = telling.await;
            OwnAnswer::LevelTold
        }));
    }

    /// Whether the upstream is known to have sessions.
    pub(super) fn has_sessions(&self) -> bool {
        self.upstream.server().is_some() && !self.is_stateless
    }

    /// Handles a request that may be one round of several.
    fn ask_in_rounds(&mut self, id: Id, method: &str, params: Json, sender: &Sender) {
        if method == "tools/call" {
            if let Some(refusal) = self.hidden.refusal(Some(&params)) {
                return self.outbox.answer(Some(id.json()), &refusal);
            }
            if let Some(doubt) = self.held_repeat(Some(&params)) {
                let offers = Offers::of(&sender.capabilities);
                let doubt = self.in_modern_words(method, offers, doubt);
                return self.outbox.answer(Some(id.json()), &doubt);
            }
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
                let offers = Offers::of(&sender.capabilities);
                let level = sender.level.as_ref().and_then(LogLevel::read);
                let token = sender.token.clone();
                self.calls.go_on(call, id, (offers, level), token);
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
            // The state may be the upstream's own, so it is passed on.
            None if !self.has_sessions() => self.begin_modern(id, method, params, sender),
            None => {
                let lost = fault::lost_round(self.manner.doubt_about(method, Some(&params)));
                let offers = Offers::of(&sender.capabilities);
                let lost = self.in_modern_words(method, offers, lost);
                self.outbox.answer(Some(id.json()), &lost);
            }
        }
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
            None => self.begin_modern(id, method, params, sender),
            Some(visited) if stateless::were_visited(visited) => {
                let params = params.without(&["inputResponses"]);
                self.begin_visited(id, method, params, sender, true);
            }
            Some(_) => {
                self.login_declined();
                self.outbox.answer(Some(id.json()), &modern::not_visited());
            }
        }
    }

    fn begin_modern(&mut self, id: Id, method: &str, params: Json, sender: &Sender) {
        self.begin_visited(id, method, params, sender, false);
    }

    fn begin_visited(
        &mut self,
        id: Id,
        method: &str,
        params: Json,
        sender: &Sender,
        has_visited: bool,
    ) {
        // The host keeps what the upstream allows to be kept, so the client's cache is not used.
        let call = self.client.request(method, params.clone()).fresh().passing_input();
        let (call, track) = call.tracked();
        let offers = Offers::of(&sender.capabilities);
        let token = sender.token.clone();
        let can_be_asked = stateless::can_ask(method);
        let level = sender.level.as_ref().and_then(LogLevel::read);
        let asker = Some(Asker { can_be_asked, has_visited, offers, level, token, track });
        self.begin(call, Asked { id, method: method.into(), params: Some(params), asker });
    }

    /// Passes a question of the upstream on to the host. A host that is never sent a request gets it as the
    /// answer to the call that it belongs to.
    pub(super) fn ask_host(&mut self, question: Question) {
        let Question { id, exchange, method, params } = &question;
        let is_modern = self.host_era == Some(Era::Modern);
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
        if !self.modern.rounds.ask(Instant::now(), call, question, subject) {
            self.inbox.answer(id, Answer::refusal(code::SERVER_ERROR, "too many requests at once"));
        }
    }

    /// Shows the host the questions that were gathered, and gives up calls whose host did not come back.
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
        let is_modern = self.host_era == Some(Era::Modern);
        let params = stateless::untagged(params);
        match method {
            notification::PROGRESS => {
                let Some(params) = self.progress(exchange, params) else { return };
                self.outbox.notification(method, Some(&params));
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
        for params in self.modern.listens.tell(method, params) {
            self.outbox.notification(method, Some(&params));
        }
        if self.host_era != Some(Era::Modern) {
            self.outbox.notification(method, params);
        }
    }

    /// Returns progress with the token of the request that the host waits for now; `None` if it waits for
    /// none.
    fn progress(&self, exchange: Option<ExchangeId>, params: Option<Json>) -> Option<Json> {
        let params = params?;
        let Some((call, asker)) = exchange.and_then(|it| self.calls.of_exchange(it)) else {
            return Some(params);
        };
        let token = asker.token.as_ref().filter(|_| self.calls.is_awaited(call))?;
        Some(splice::with_member(&params, "progressToken", token))
    }

    /// Translates an answer of the upstream for a host of the stateless revision.
    pub(super) fn in_modern_words(&self, method: &str, offers: Offers, answer: Answer) -> Answer {
        match stateless::translated(answer, method, offers, self.is_stateless) {
            Answer::Result(result) => Answer::Result(self.dressed(&result, method)),
            error @ Answer::Error(_) => error,
        }
    }

    /// Returns a result with every member that the stateless revision demands.
    pub(super) fn dressed(&self, result: &Json, method: &str) -> Json {
        let said = self.upstream.server().map(ridethrough::server::Server::as_initialized);
        let server = said.and_then(|said| said.member("serverInfo"));
        stateless::dressed(result, method, server.as_ref())
    }
}

fn is_list_change(method: &str) -> bool {
    Kind::ALL.iter().any(|kind| kind.changed() == method)
}
