//! `subscriptions/listen`, the standing stream of the stateless era, and the requests of the legacy era that
//! it replaces.
//!
//! ```text
//!   Off ──notifications are wanted──▶ asked ──acknowledged──▶ Open ──result, cancelled or cut──▶ Waiting
//! ```
//! There is no replay: after a gap, everything that may have changed meanwhile is reported as changed. When
//! the subscriptions change, a new stream is opened beside the old one, which is aborted once the new one is
//! acknowledged.

use std::collections::BTreeSet;

use bytes::Bytes;
use serde::Serialize;

use crate::answer::{Asked, PostReading, read_post};
use crate::event::Event;
use crate::exchange::{Ending, Exchange, State, Then, Waiting};
use crate::failure::Delivery;
use crate::head::AnswerHead;
use crate::ids::{AttemptId, ExchangeId, Generation};
use crate::link::attempts::{NewRequest, Owner};
use crate::link::{HANDSHAKE_LIMIT, Link};
use crate::listener;
use crate::message::code::{INVALID_PARAMS, METHOD_NOT_FOUND};
use crate::message::notification;
use crate::message::{Answer, Id, Json, Message, Params};
use crate::moment::Moment;
use crate::outcome::CallName;
use crate::output::{Address, Verb};

/// The notifications that the stream asks for, or that the server grants.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
struct ListenFilter {
    tools_list_changed: bool,
    prompts_list_changed: bool,
    resources_list_changed: bool,
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    resource_subscriptions: BTreeSet<Box<str>>,
}

/// What a message on the stream means for the stream itself.
enum StreamWord {
    Granted(ListenFilter),
    Nothing,
    Over,
    Refused(Answer),
}

impl Link {
    /// Subscribes the application to messages of the server that belong to no call.
    pub fn listen(&mut self, now: Moment) {
        self.listening.is_wanted = true;
        self.open_listener(now);
    }

    /// Whether a stateless server should be listened to; a legacy server always is.
    pub(crate) fn wants_news(&self) -> bool {
        self.listening.is_wanted
            || self.reach.keeps_connected()
            || self.session.subscribed().next().is_some()
    }

    /// Answers a request of the legacy era that a stateless server does not know. Returns whether it was one.
    pub(crate) fn stand_in(&mut self, now: Moment, id: ExchangeId) -> bool {
        let Some(exchange) = self.calls.get(id) else { return false };
        let done = || Ok(Answer::Result(Json::empty_object()));
        match &*exchange.call.method {
            "logging/setLevel" if !is_level(exchange) => {
                let answer = Answer::refusal(INVALID_PARAMS, "there is no such log level");
                self.finish(now, id, Ok(answer), None);
            }
            // Each later request carries the level.
            "logging/setLevel" => self.finish(now, id, done(), None),
            "resources/unsubscribe" => {
                self.finish(now, id, done(), None);
                self.listen_anew(now);
            }
            "resources/subscribe" => {
                self.session.remember(exchange);
                self.wait(now, id, Waiting::Acknowledgement);
                self.listen_anew(now);
            }
            _ => return false,
        }
        true
    }

    /// Requests the stream.
    pub(crate) fn send_listen(&mut self, now: Moment, to: Address) {
        let wanted = self.wanted_news();
        let asked = wanted.resource_subscriptions.clone();
        let wire_id = self.calls.next_wire_id();
        let wanted = Json::of(&wanted).expect("a filter is JSON");
        let params = Json::empty_object().with_members([("notifications".to_owned(), wanted)]);
        let body = self.session.body(to.era(), &Params::new(Some(params), false), wire_id, LISTEN);
        let headers = self.session.own_headers(LISTEN);
        let request = self.standing_request(Verb::Post { body }, to);
        let attempt = self.cx.send(NewRequest { headers, ..request });
        for id in self.calls.ids_where(waits_for_acknowledgement) {
            if let Some(exchange) = self.calls.get_mut(id) {
                exchange.counters.note(Delivery::Unknown);
                exchange.counters.attempts += 1;
            }
        }
        self.listening.listener.subscribing(attempt, wire_id, now + HANDSHAKE_LIMIT, asked);
        self.listening.set_listener_alarm(&mut self.cx);
    }

    fn wanted_news(&self) -> ListenFilter {
        ListenFilter {
            tools_list_changed: true,
            prompts_list_changed: true,
            resources_list_changed: true,
            resource_subscriptions: self.session.subscribed().map(Into::into).collect(),
        }
    }

    /// Opens the stream again, because the subscriptions have changed.
    fn listen_anew(&mut self, now: Moment) {
        if !self.wants_news() {
            return self.listening.stop_listener(&mut self.cx, now);
        }
        match self.listening.listener.state() {
            listener::ListenerState::Unsupported => {
                return self.refuse_subscribers(now, &no_subscriptions(), |_| true);
            }
            listener::ListenerState::Waiting { .. } => {
                // A subscriber waits for the stream, so the pause is cut short.
                self.listening.listener.link_is_back(now, &mut self.cx.rng);
                return self.listening.set_listener_alarm(&mut self.cx);
            }
            _ => {}
        }
        if let Some(unheard) = self.listening.listener.replace() {
            self.cx.abort(unheard);
        }
        self.open_listener(now);
    }

    /// Handles the messages of an event on the stream.
    pub(crate) fn subscription_event(
        &mut self,
        now: Moment,
        attempt: AttemptId,
        generation: Generation,
        messages: Vec<Message>,
    ) {
        let is_current = self.listening.listener.attempt() == Some(attempt);
        for message in messages {
            let word =
                if is_current { self.subscription_word(&message) } else { StreamWord::Nothing };
            match word {
                StreamWord::Granted(granted) => self.acknowledged(now, &granted),
                StreamWord::Nothing => {
                    self.take_in_all(now, Owner::Listener, generation, vec![message])
                }
                StreamWord::Over => {
                    self.cx.drain(attempt);
                    return self.listening.listener_ended(&mut self.cx, now);
                }
                StreamWord::Refused(answer) => {
                    self.cx.drain(attempt);
                    return self.listening_is_refused(now, &answer);
                }
            }
        }
    }

    /// Handles an answer to the request for the stream that is no stream.
    pub(crate) fn subscription_refused(&mut self, now: Moment, head: &AnswerHead, body: &Bytes) {
        let Some(wire_id) = self.listening.listener.wire_id() else { return };
        let Some(to) = self.session.ready().map(|ready| ready.address.clone()) else { return };
        let asked = Asked { wire_id, carried: to.carried(), assume_unexecuted: &[] };
        let reading = read_post(head, body, asked).reading;
        // A server that has never accepted the stream may be anything; calls will find out.
        let is_other = self.listening.listener.is_trusted()
            && self.session.met_the_other_era(&to, head, &reading);
        match reading {
            _ if is_other => {
                self.listening.listener_ended(&mut self.cx, now);
                self.lose_session(now, to.generation);
                if self.wants_news() {
                    self.ensure_session(now);
                }
            }
            PostReading::Answer(answer) => self.listening_is_refused(now, &answer),
            _ => {
                let verdict = self.listening.listener.answered(now, head, &mut self.cx.rng);
                if let listener::ListenerVerdict::Wait { until } = verdict {
                    self.cx.tell(Event::ListenerLost { retry: until });
                }
                self.listening.set_listener_alarm(&mut self.cx);
            }
        }
    }

    /// Handles a JSON-RPC error in answer to the request for the stream. Subscriptions that were new in it
    /// are dropped.
    fn listening_is_refused(&mut self, now: Moment, answer: &Answer) {
        if answer.error().is_some_and(|error| error.code == METHOD_NOT_FOUND) {
            self.listening.listener.is_unsupported();
            self.listening.set_listener_alarm(&mut self.cx);
            self.cx.tell(Event::ListenerUnsupported);
            return self.refuse_subscribers(now, &no_subscriptions(), |_| true);
        }
        self.listening.listener_ended(&mut self.cx, now);
        if answer.error().is_some() {
            let asked = |link: &Self, uri: &str| link.listening.listener.asked_for(uri);
            let meant: Vec<Box<str>> = self.subscribers_uris().collect();
            let meant: Vec<Box<str>> = meant.into_iter().filter(|it| asked(self, it)).collect();
            self.refuse_subscribers(now, answer, |uri| meant.iter().any(|it| **it == *uri));
        }
    }

    fn subscription_word(&self, message: &Message) -> StreamWord {
        let ours = self.listening.listener.wire_id();
        match message {
            Message::Notification { method, params } => match &**method {
                "notifications/subscriptions/acknowledged" => {
                    let granted = params.as_ref().and_then(|it| it.member("notifications"));
                    StreamWord::Granted(
                        granted.map_or_else(|| self.wanted_news(), |it| ListenFilter::read(&it)),
                    )
                }
                notification::CANCELLED if names(params.as_ref(), ours) => StreamWord::Over,
                _ => StreamWord::Nothing,
            },
            Message::Response { id: Some(id), answer } if id.number() == ours => match answer {
                Answer::Result(_) => StreamWord::Over,
                Answer::Error(_) => StreamWord::Refused(answer.clone()),
            },
            _ => StreamWord::Nothing,
        }
    }

    /// Handles the server's acknowledgement, which names the notifications it grants.
    fn acknowledged(&mut self, now: Moment, granted: &ListenFilter) {
        let is_outdated = self.listening.listener.is_outdated();
        let Some((old, gap)) = self.listening.listener.acknowledged(now) else { return };
        if let Some(old) = old {
            self.cx.abort(old);
        }
        self.listening.set_listener_alarm(&mut self.cx);
        if let Some(gap) = gap {
            self.cx.tell(Event::ListenerBack { gap });
            self.tell_what_may_have_been_missed(now, granted);
        }
        let is_granted = |uri: &str| granted.resource_subscriptions.contains(uri);
        for id in self.calls.ids_where(waits_for_acknowledgement) {
            let uri = self.calls.get(id).and_then(subject);
            if uri.is_some_and(|uri| is_granted(&uri)) {
                self.finish(now, id, Ok(Answer::Result(Json::empty_object())), None);
            }
        }
        let asked =
            |link: &Self, uri: &str| link.listening.listener.asked_for(uri) && !is_granted(uri);
        let refused: Vec<Box<str>> =
            self.session.subscribed().filter(|uri| asked(self, uri)).map(Into::into).collect();
        self.refuse_subscribers(now, &no_subscriptions(), |uri| {
            refused.iter().any(|it| **it == *uri)
        });
        // A call that asked for one has just been refused; the others are earlier subscriptions, now lost.
        let is_remembered = |link: &Self, uri: &str| link.session.subscribed().any(|it| it == uri);
        for uri in refused.iter().filter(|uri| is_remembered(self, uri)).collect::<Vec<_>>() {
            self.session.forget_subscription(uri);
            let call = CallName { method: "resources/subscribe".into(), tool: None };
            self.session.restore_failed(&mut self.cx, call);
        }
        if is_outdated {
            self.listen_anew(now);
        }
    }

    /// Reports every list and resource that may have changed in the gap, so that the application reads it
    /// again.
    fn tell_what_may_have_been_missed(&mut self, now: Moment, granted: &ListenFilter) {
        let lists = [
            (granted.tools_list_changed, notification::TOOLS_CHANGED),
            (granted.prompts_list_changed, notification::PROMPTS_CHANGED),
            (granted.resources_list_changed, notification::RESOURCES_CHANGED),
        ];
        let lists = lists.into_iter().filter(|(is_granted, _)| *is_granted);
        let mut missed: Vec<(Box<str>, Option<Json>)> =
            lists.map(|(_, method)| (method.into(), None)).collect();
        for uri in &granted.resource_subscriptions {
            let uri = Json::of(uri).expect("a string is JSON");
            let params = Json::empty_object().with_members([("uri".to_owned(), uri)]);
            missed.push((notification::RESOURCE_UPDATED.into(), Some(params)));
        }
        let generation = self.session.ready().map(|ready| ready.generation()).unwrap_or_default();
        for (method, params) in missed {
            let message = Message::Notification { method, params };
            self.take_in_all(now, Owner::Listener, generation, vec![message]);
        }
    }

    /// Lets subscribers that waited for the lost session wait for the next one.
    pub(crate) fn release_subscribers(&mut self, now: Moment) {
        for id in self.calls.ids_where(waits_for_acknowledgement) {
            let is_meant = |waiting: &Waiting| matches!(waiting, Waiting::Acknowledgement);
            self.let_out_if(now, id, Then::Send, is_meant);
        }
    }

    /// Ends the subscribers that satisfy `is_meant` with the server's refusal.
    fn refuse_subscribers(
        &mut self,
        now: Moment,
        answer: &Answer,
        is_meant: impl Fn(&str) -> bool,
    ) {
        for id in self.calls.ids_where(waits_for_acknowledgement) {
            let Some(uri) = self.calls.get(id).map(|it| subject(it).unwrap_or_default()) else {
                continue;
            };
            if is_meant(&uri) {
                self.session.forget_subscription(&uri);
                self.finish(now, id, Ok(answer.clone()), None);
            }
        }
    }

    /// Drops a subscription whose call ended without the server's acknowledgement.
    pub(crate) fn forget_subscriber(&mut self, exchange: &Exchange) {
        if waits_for_acknowledgement(exchange)
            && let Some(uri) = subject(exchange)
        {
            self.session.forget_subscription(&uri);
        }
    }

    /// Ends the calls that wait for an acknowledgement, because there are no credentials to open the stream
    /// with.
    pub(crate) fn end_subscribers(&mut self, now: Moment, ending: &Ending) {
        for id in self.calls.ids_where(waits_for_acknowledgement) {
            self.end(now, id, ending.clone());
        }
    }

    fn subscribers_uris(&self) -> impl Iterator<Item = Box<str>> {
        let waiting = self.calls.iter().filter(|it| waits_for_acknowledgement(it));
        waiting.filter_map(subject)
    }

    /// Ignores a request of a stateless server: the specification allows it none.
    pub(crate) fn ignore_question(&mut self, method: Box<str>) {
        self.cx.tell(Event::QuestionIgnored { method: method.into() });
    }
}

impl ListenFilter {
    /// Reads what the server grants; what cannot be read is not granted.
    fn read(granted: &Json) -> Self {
        let is_granted = |name: &str| granted.member(name).and_then(|it| it.read::<bool>());
        let list = |name: &str| is_granted(name).unwrap_or_default();
        let uris = granted.member("resourceSubscriptions").and_then(|it| it.read());
        Self {
            tools_list_changed: list("toolsListChanged"),
            prompts_list_changed: list("promptsListChanged"),
            resources_list_changed: list("resourcesListChanged"),
            resource_subscriptions: uris.unwrap_or_default(),
        }
    }
}

fn no_subscriptions() -> Answer {
    Answer::refusal(METHOD_NOT_FOUND, "the server does not offer this subscription")
}

/// Whether a `logging/setLevel` names a level that exists: each request to a stateless server would carry it.
fn is_level(exchange: &Exchange) -> bool {
    let level = exchange.params.text().and_then(|params| params.member("level"));
    let level = level.and_then(|level| level.read::<String>());
    level.is_some_and(|level| LEVELS.contains(&level.as_str()))
}

/// Whether a `notifications/cancelled` names this request.
fn names(params: Option<&Json>, wire_id: Option<u64>) -> bool {
    let named = params.and_then(|params| params.member("requestId"));
    named.and_then(|id| Id::new(id).number()).is_some_and(|id| Some(id) == wire_id)
}

fn waits_for_acknowledgement(exchange: &Exchange) -> bool {
    matches!(exchange.state, State::Waiting(Waiting::Acknowledgement))
}

/// Returns the resource that a subscription is about.
fn subject(exchange: &Exchange) -> Option<Box<str>> {
    let uri = exchange.params.text()?.member("uri")?;
    uri.read::<String>().map(Into::into)
}

const LISTEN: &str = "subscriptions/listen";
const LEVELS: [&str; 8] =
    ["alert", "critical", "debug", "emergency", "error", "info", "notice", "warning"];
