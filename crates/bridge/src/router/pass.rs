//! Passes messages from either side to the other.

use std::time::Duration;

use ridethrough::event::Delivered;
use ridethrough::{Call, Era};
use ridethrough_core::{CallError, Kind as Ending, Outcome, QuestionId};
use ridethrough_wire::line_buffer::Line;
use ridethrough_wire::message::{
    Answer, HostMessage, Id, Json, Message, notification, reserved, splice,
};
use tokio::io::AsyncWrite;
use tokio::sync::watch;
use tokio::time::{Instant, timeout};

use super::Router;
use super::ending::outcome;
use super::greet::WITHIN;
use super::log_in::Entry;
use crate::calls::{Asked, End, Finished};
use crate::lists::{Kind, Page};
use crate::login::{self, Gate, Passed, Wait};
use crate::modern::{self, Question};
use crate::notices::Room;
use crate::{fault, greeting};

impl<W: AsyncWrite + Unpin> Router<W> {
    pub(super) fn take_line(&mut self, line: Line) {
        for message in HostMessage::of_line(&line) {
            match message {
                HostMessage::Unfit { id, answer } => self.outbox.answer(id.as_ref(), &answer),
                HostMessage::Fit { message, .. } => self.held.push_back(message),
            }
        }
        self.take_held();
    }

    /// Handles the messages that wait, up to a notification that must go on waiting for room.
    pub(super) fn take_held(&mut self) {
        self.hold_until = None;
        while let Some(message) = self.held.pop_front() {
            match self.room_for(&message) {
                Room::Free => self.take(message),
                Room::Later(until) => {
                    self.held.push_front(message);
                    self.hold_until = Some(until);
                    return;
                }
                Room::None => self.drop_notification(),
            }
        }
        // A large batch is seldom followed by another.
        self.held.shrink_to(MOST_KEPT);
    }

    /// Handles all messages that wait, without waiting for room any longer.
    pub(super) fn take_all_held(&mut self) {
        self.hold_until = None;
        while let Some(message) = self.held.pop_front() {
            match self.room_for(&message) {
                Room::Free => self.take(message),
                Room::Later(_) | Room::None => self.drop_notification(),
            }
        }
    }

    fn room_for(&self, message: &Message) -> Room {
        match message {
            Message::Notification { method, params } if self.goes_upstream(method) => {
                self.notices.room_for(Instant::now(), method, params.as_ref())
            }
            _ => Room::Free,
        }
    }

    fn drop_notification(&mut self) {
        let words = self.notices.drop_one();
        self.voice.say(words);
    }

    fn take(&mut self, message: Message) {
        match message {
            Message::Notification { method, params } => self.notify(&method, params),
            Message::Request { id, method, params } => self.ask(id, &method, params),
            Message::Response { id: Some(id), answer } if self.page_answered(&id, &answer) => {}
            Message::Response { id, answer } => {
                let question = id.and_then(|id| id.number()).map(QuestionId::new);
                if let Some(question) = question.filter(|it| self.questions.remove(it)) {
                    self.inbox.answer(question, answer);
                }
            }
        }
    }

    fn notify(&mut self, method: &str, params: Option<Json>) {
        if self.host_era.is_none() {
            self.meet(Era::Legacy);
        }
        if method == "notifications/initialized" {
            self.is_ready = true;
        }
        // Without a login the upstream takes none, and the next session begins without it.
        if self.goes_upstream(method) && !self.is_login_needed() {
            self.notices.pass_on(&self.client, method, params.as_ref());
        } else if method == notification::CANCELLED
            && let Some(id) = params.and_then(|params| params.member("requestId"))
        {
            self.take_back(&id);
        }
    }

    /// Handles a request that the host cancels.
    fn take_back(&mut self, id: &Json) {
        if let Some(call) = self.calls.cancel(id) {
            let unanswered = self.modern.rounds.forget(call);
            return self.refuse_all(unanswered);
        }
        self.stop_listening(id);
    }

    /// Whether a notification is passed on to the upstream.
    fn goes_upstream(&self, method: &str) -> bool {
        match method {
            // The client itself sends it, in each of its sessions.
            "notifications/initialized" => false,
            // The client knows the id of the request at the upstream, and whether it was sent.
            notification::CANCELLED => false,
            // A stateless upstream asks for roots when a call needs them.
            "notifications/roots/list_changed" => !self.is_stateless,
            _ => true,
        }
    }

    fn ask(&mut self, id: Id, method: &str, params: Option<Json>) {
        match (modern::sender(method, params.as_ref()), &params) {
            (Err(refusal), _) => return self.outbox.answer(Some(id.json()), &refusal),
            (Ok(Some(sender)), Some(params)) => {
                return self.ask_modern(id, method, params, sender);
            }
            _ if self.host_era.is_none() => self.meet(Era::Legacy),
            _ => {}
        }
        match method {
            "initialize" => return self.greet(id, params.as_ref()),
            // `ping` asks whether the bridge is there. The upstream may be down while calls are still worth a
            // wait.
            "ping" => return self.outbox.answer(Some(id.json()), &empty()),
            "tools/call" => {
                if let Some(refusal) = self.hidden.refusal(params.as_ref()) {
                    return self.outbox.answer(Some(id.json()), &refusal);
                }
                if let Some(doubt) = self.held_repeat(params.as_ref()) {
                    return self.outbox.answer(Some(id.json()), &doubt);
                }
            }
            _ => {}
        }
        let call = self.client.request(method, params.clone());
        self.begin(call, Asked { id, method: method.into(), params, asker: None });
    }

    /// Passes a request on to the upstream.
    pub(super) fn begin(&mut self, call: Call, asked: Asked) {
        if !self.calls.has_room_for(asked.params.as_ref()) {
            let refusal = fault::answer(&fault::crowded(&asked.method), &self.advice);
            return self.outbox.answer(Some(asked.id.json()), &refusal);
        }
        let page = Page::asked(&asked.method, asked.params.as_ref());
        let mut call = self.manner.apply(call, &asked.method, asked.params.as_ref());
        match self.entry(&asked.method, asked.asker.as_ref()) {
            Entry::Free => {}
            Entry::Refused => {
                let end = self.without_login(page);
                return self.calls.begin(asked, page, async { end });
            }
            Entry::Waits(gate, wait) => return self.begin_waiting(call, asked, (gate, wait)),
        }
        let was_never_there = self.upstream.server().is_none() && self.greeted.is_provisional();
        let kept = page.filter(|page| page.is_first && was_never_there).map(|page| {
            self.catalogue.as_ref().and_then(|it| it.list(page.kind.method())).cloned()
        });
        if kept == Some(None) {
            call = call.timeout(FIRST_LIST.min(self.manner.limit.unwrap_or(FIRST_LIST)));
        }
        let outcome = outcome(call.answer(), self.ending.clone());
        let Some(page) = page else {
            return self.calls.begin(asked, None, async { End::Upstream(outcome.await) });
        };
        self.asked.insert(page.kind);
        if let Some(kept) = kept.flatten() {
            return self.calls.begin(asked, Some(page), with_stand_in(outcome, kept));
        }
        self.calls.begin(asked, Some(page), async { End::Upstream(outcome.await) });
    }

    /// Passes a request on to the upstream when a person has logged in.
    pub(super) fn begin_waiting(
        &mut self,
        call: Call,
        asked: Asked,
        (gate, wait): (watch::Receiver<Gate>, Wait),
    ) {
        let limit = self.manner.limit.unwrap_or(FOR_EVER);
        let (ending, method) = (self.ending.clone(), asked.method.clone());
        self.calls.begin(asked, None, async move {
            let passed = tokio::select! {
                biased;
                passed = timeout(limit, login::pass(gate, wait)) => passed,
                () = ending.begins() => {
                    return End::Upstream(Err(fault::unsent(&method)));
                }
            };
            match passed {
                Ok(Passed::GoOn) => End::Upstream(outcome(call.answer(), ending).await),
                Ok(Passed::Page(page)) => End::LoginPage(page),
                Ok(Passed::LoginNeeded) | Err(_) => End::LoginNeeded,
            }
        });
    }

    /// Handles the end of a host's request.
    pub(super) fn finish(&mut self, finished: Finished) {
        let Some(finished) = self.retried_after_login(finished) else { return };
        let (finished, unanswered) = self.modern.rounds.ended(finished);
        self.refuse_all(unanswered);
        if let Some(finished) = finished {
            self.answer(finished);
        }
    }

    /// Answers a request that has ended, under the id that the host waits for.
    pub(super) fn answer(&mut self, finished: Finished) {
        let Finished { id, method, page, params, began, end, asker, .. } = finished;
        let offers = asker.map(|asker| asker.offers);
        let is_stand_in = matches!(end, End::StandIn(_));
        if let End::Upstream(Ok(answer)) = &end {
            self.note_look(&method, answer, began);
        }
        let answer = match (end, page) {
            (End::StandIn(result) | End::Upstream(Ok(Answer::Result(result))), Some(page)) => {
                Answer::Result(self.show(page, result, is_stand_in))
            }
            (End::StandIn(result), None) => Answer::Result(result),
            (End::LoginNeeded, page) => {
                if let Some(page) = page {
                    // The host has no list yet; it is told when there is one.
                    self.asked.remove(&page.kind);
                }
                self.login_needed()
            }
            (End::LoginPage(page), _) => login::page_required(page),
            (End::Upstream(Ok(answer)), _) if self.is_stateless && offers.is_none() => {
                fault::translated(answer, &self.voice.masker.secrets())
            }
            (End::Upstream(Ok(answer)), _) => answer,
            (End::Upstream(Err(error)), page) => {
                if let Some(page) = page.filter(|_| self.greeted.is_provisional()) {
                    // The host has no list yet; it is told when there is one.
                    self.asked.remove(&page.kind);
                }
                self.unanswered(&error, params.as_ref(), began)
            }
        };
        let answer = match offers {
            Some(offers) => self.in_modern_words(&method, offers, answer),
            None => answer,
        };
        self.outbox.answer(id.as_ref().map(Id::json), &answer);
        if is_stand_in && self.upstream.server().is_some() {
            // The upstream was reached while the host was given a stand-in.
            self.check_lists();
        }
    }

    /// Returns what the host is told of a call that got no answer.
    fn unanswered(&mut self, error: &CallError, params: Option<&Json>, began: Instant) -> Answer {
        let Some(doubt) = fault::doubt(error) else { return fault::answer(error, &self.advice) };
        self.note_doubt(error, params, began, &doubt);
        let told = doubt.answer(self.manner.doubt.of_call(error, params));
        // The outbox masks no results.
        fault::masked(told, &self.voice.masker.secrets())
    }

    /// Returns the list as the host sees it.
    fn show(&mut self, page: Page, result: Json, is_stand_in: bool) -> Json {
        let whole = self.lists.saw(page, &result);
        if let (Some(whole), Some(catalogue), false) = (whole, &mut self.catalogue, is_stand_in) {
            let kept = catalogue.keep_list(page.kind.method(), &whole);
            self.told_if_not_kept(Some(kept));
        }
        let shown = match page.kind {
            Kind::Tools => self.hidden.filter(result),
            _ => result,
        };
        if is_stand_in { marked(&shown) } else { shown }
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
                self.modern.rounds.withdraw(question);
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

/// Waits for the upstream's list, for a limited time if there is one to show instead.
async fn with_stand_in(outcome: impl Future<Output = Outcome>, kept: Json) -> End {
    match timeout(WITHIN, outcome).await {
        Err(_) => End::StandIn(kept),
        // The upstream did not fail; the bridge ends.
        Ok(Err(error)) if error.kind == Ending::Closed => End::Upstream(Err(error)),
        Ok(Err(error)) if greeting::may_pass(&error) => End::StandIn(kept),
        Ok(outcome) => End::Upstream(outcome),
    }
}

/// Marks a list as what was last known. Its elements stay as they were: hosts compare definitions with those that a
/// person has seen.
fn marked(list: &Json) -> Json {
    let yes = Json::of(&true).expect("a bool is JSON");
    let meta = Json::empty_object().with_members([(reserved::LAST_KNOWN.to_owned(), yes)]);
    splice::with_member(list, "_meta", &meta)
}

fn empty() -> Answer {
    Answer::Result(Json::empty_object())
}

/// How long a host waits for a list of a server that was never reached: hosts begin with the lists of all
/// their servers, and some show nothing until they have them.
const FIRST_LIST: Duration = Duration::from_secs(10);
/// The limit of a call that waits for a login, which has a limit of its own.
const FOR_EVER: Duration = Duration::from_secs(24 * 3600);
/// The capacity that the empty queue keeps.
const MOST_KEPT: usize = 64;
