//! `subscriptions/listen`, the standing stream of the stateless era.
//!
//! ```text
//!   Off ──notifications are wanted──▶ asked ──acknowledged──▶ Open ──result, cancelled or cut──▶ Waiting
//! ```
//! There is no replay: after a gap, everything that may have changed meanwhile is reported as changed. When
//! the subscriptions change, a new stream is opened beside the old one, which is aborted once the new one is
//! acknowledged.

use std::collections::BTreeSet;

use bytes::Bytes;
use ridethrough_wire::message::code::METHOD_NOT_FOUND;
use ridethrough_wire::message::notification;
use ridethrough_wire::message::{Answer, Id, Json, Message, Params};
use serde::Serialize;

use super::Listening;
use super::standing::standing_request;
use crate::answer::{Asked, PostReading, read_post};
use crate::event::Event;
use crate::head::AnswerHead;
use crate::link::HANDSHAKE_LIMIT;
use crate::link::attempts::NewRequest;
use crate::link::base::Base;
use crate::link::calls::Calls;
use crate::link::effects::{
    CallEffect, ListeningEffect, MessageSource, SessionEffect, StreamMessages,
};
use crate::listener;
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

impl Listening {
    /// Subscribes the application to messages of the server that belong to no call.
    pub(crate) fn listen(&mut self, calls: &mut Calls) {
        self.is_wanted = true;
        self.open(calls);
    }

    /// Whether a stateless server should be listened to; a legacy server always is.
    pub(super) fn wants_news(&self, base: &Base) -> bool {
        self.is_wanted || base.reach.keeps_connected() || base.session.subscribed().next().is_some()
    }

    /// Begins a handshake, if messages are wanted between calls.
    pub(crate) fn ensure_session(&self, base: &mut Base) {
        if self.wants_news(base) {
            base.cx.then(SessionEffect::Ensure);
        }
    }

    /// Requests the stream.
    pub(super) fn send_listen(&mut self, calls: &mut Calls, to: Address) {
        let wanted = wanted_news(&calls.base);
        let asked = wanted.resource_subscriptions.clone();
        let wire_id = calls.base.cx.next_wire_id();
        let wanted = Json::of(&wanted).expect("a filter is JSON");
        let params = Json::empty_object().with_members([("notifications".to_owned(), wanted)]);
        let params = Params::new(Some(params), false);
        let body = calls.base.session.body(to.era(), &params, wire_id, LISTEN, None);
        let headers = calls.base.session.own_headers(LISTEN);
        let request = standing_request(&calls.base, Verb::Post { body }, to);
        let attempt = calls.base.cx.send(NewRequest { headers, ..request });
        calls.subscriptions_sent();
        self.listener.subscribing(attempt, wire_id, calls.base.cx.now + HANDSHAKE_LIMIT, asked);
        self.set_alarm(&mut calls.base.cx);
    }

    /// Opens the stream again, because the subscriptions have changed.
    pub(crate) fn listen_anew(&mut self, calls: &mut Calls) {
        if !self.wants_news(&calls.base) {
            return self.stop(&mut calls.base.cx);
        }
        match self.listener.state() {
            listener::ListenerState::Unsupported => {
                return calls.refuse_subscribers(&no_subscriptions(), |_| true);
            }
            listener::ListenerState::Waiting { .. } => {
                // A subscriber waits for the stream, so the pause is cut short.
                self.listener.link_is_back(calls.base.cx.now, &mut calls.base.cx.rng);
                return self.set_alarm(&mut calls.base.cx);
            }
            _ => {}
        }
        if let Some(unheard) = self.listener.replace() {
            calls.base.cx.abort(unheard);
        }
        self.open(calls);
    }

    /// Acts on the next message of an event on the stream, and then on those after it.
    pub(crate) fn heard(&mut self, calls: &mut Calls, mut heard: StreamMessages) {
        let StreamMessages { attempt, generation, is_current, .. } = heard;
        let Some(message) = heard.messages.next() else { return };
        let word = if is_current { self.word(&calls.base, &message) } else { StreamWord::Nothing };
        match word {
            StreamWord::Granted(granted) => self.acknowledged(calls, granted),
            StreamWord::Nothing => {
                calls.take_in(MessageSource::of_session(generation), message);
            }
            StreamWord::Over => {
                calls.base.cx.drain(attempt);
                return self.ended(&mut calls.base.cx);
            }
            StreamWord::Refused(answer) => {
                calls.base.cx.drain(attempt);
                return self.refused(calls, &answer);
            }
        }
        calls.base.cx.then(ListeningEffect::Heard(heard));
    }

    /// Handles an answer to the request for the stream that is no stream.
    pub(super) fn subscription_refused(
        &mut self,
        calls: &mut Calls,
        head: &AnswerHead,
        body: &Bytes,
    ) {
        let Some(wire_id) = self.listener.wire_id() else { return };
        let Some(to) = calls.base.session.ready().map(|ready| ready.address.clone()) else {
            return;
        };
        let asked = Asked::own(wire_id, to.carried());
        let reading = read_post(head, body, asked).reading;
        // A server that has never accepted the stream may be anything; calls will find out.
        let is_other =
            self.listener.is_trusted() && calls.base.session.met_the_other_era(&to, head, &reading);
        match reading {
            _ if is_other => {
                self.ended(&mut calls.base.cx);
                calls.base.session.lose(&mut calls.base.cx, to.generation);
                calls.base.cx.then(ListeningEffect::EnsureSession);
            }
            PostReading::Answer(answer) => self.refused(calls, &answer),
            _ => {
                let verdict =
                    self.listener.answered(calls.base.cx.now, head, &mut calls.base.cx.rng);
                if let listener::ListenerVerdict::Wait { until } = verdict {
                    calls.base.cx.tell(Event::ListenerLost { retry: until });
                }
                self.set_alarm(&mut calls.base.cx);
            }
        }
    }

    /// Handles a JSON-RPC error in answer to the request for the stream. Subscriptions that were new in it
    /// are dropped.
    fn refused(&mut self, calls: &mut Calls, answer: &Answer) {
        if answer.error().is_some_and(|error| error.code == METHOD_NOT_FOUND) {
            self.listener.is_unsupported();
            self.set_alarm(&mut calls.base.cx);
            calls.base.cx.tell(Event::ListenerUnsupported);
            return calls.refuse_subscribers(&no_subscriptions(), |_| true);
        }
        self.ended(&mut calls.base.cx);
        if answer.error().is_some() {
            calls.refuse_subscribers(answer, |uri| self.listener.asked_for(uri));
        }
    }

    fn word(&self, base: &Base, message: &Message) -> StreamWord {
        let ours = self.listener.wire_id();
        match message {
            Message::Notification { method, params } => match &**method {
                "notifications/subscriptions/acknowledged" => {
                    let granted = params.as_ref().and_then(|it| it.member("notifications"));
                    StreamWord::Granted(
                        granted.map_or_else(|| wanted_news(base), |it| ListenFilter::read(&it)),
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
    fn acknowledged(&mut self, calls: &mut Calls, granted: ListenFilter) {
        let is_outdated = self.listener.is_outdated();
        let Some((old, gap)) = self.listener.acknowledged(calls.base.cx.now) else { return };
        if let Some(old) = old {
            calls.base.cx.abort(old);
        }
        self.set_alarm(&mut calls.base.cx);
        if let Some(gap) = gap {
            calls.base.cx.tell(Event::ListenerBack { gap });
            tell_what_may_have_been_missed(calls, &granted);
        }
        let granted = granted.resource_subscriptions;
        for (id, uri) in calls.subscribers() {
            if uri.is_some_and(|uri| granted.contains(&uri)) {
                let done = Answer::Result(Json::empty_object());
                calls.base.cx.then(CallEffect::Finish(id, Box::new(done)));
            }
        }
        calls.base.cx.then(ListeningEffect::RefuseRest { granted, is_outdated });
    }

    /// Refuses the subscriptions that were asked for and not granted.
    pub(crate) fn refuse_rest(
        &self,
        calls: &mut Calls,
        granted: &BTreeSet<Box<str>>,
        is_outdated: bool,
    ) {
        let is_refused = |uri: &str| self.listener.asked_for(uri) && !granted.contains(uri);
        let subscribed = calls.base.session.subscribed();
        let refused: Vec<Box<str>> =
            subscribed.filter(|it| is_refused(it)).map(Into::into).collect();
        calls.refuse_subscribers(&no_subscriptions(), |uri| refused.iter().any(|it| **it == *uri));
        calls.base.cx.then(ListeningEffect::DropRefused { refused, is_outdated });
    }

    /// Drops the earlier subscriptions among those refused. A call that asked for one has just been refused.
    pub(crate) fn drop_refused(
        &mut self,
        calls: &mut Calls,
        refused: &[Box<str>],
        is_outdated: bool,
    ) {
        let is_remembered = |uri: &str| calls.base.session.subscribed().any(|it| it == uri);
        let lost: Vec<_> = refused.iter().filter(|uri| is_remembered(uri)).collect();
        for uri in lost {
            calls.base.session.forget_subscription(uri);
            let call = CallName { method: "resources/subscribe".into(), tool: None };
            calls.base.session.restore_failed(&mut calls.base.cx, call);
        }
        if is_outdated {
            self.listen_anew(calls);
        }
    }
}

fn wanted_news(base: &Base) -> ListenFilter {
    ListenFilter {
        tools_list_changed: true,
        prompts_list_changed: true,
        resources_list_changed: true,
        resource_subscriptions: base.session.subscribed().map(Into::into).collect(),
    }
}

/// Reports every list and resource that may have changed in the gap, so that the application reads it again.
fn tell_what_may_have_been_missed(calls: &mut Calls, granted: &ListenFilter) {
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
    let generation = calls.base.session.current_generation().unwrap_or_default();
    for (method, params) in missed {
        let message = Message::Notification { method, params };
        calls.take_in(MessageSource::of_session(generation), message);
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

/// Whether a `notifications/cancelled` names this request.
fn names(params: Option<&Json>, wire_id: Option<u64>) -> bool {
    let named = params.and_then(|params| params.member("requestId"));
    named.and_then(|id| Id::new(id).number()).is_some_and(|id| Some(id) == wire_id)
}

const LISTEN: &str = "subscriptions/listen";
