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

impl Listening {
    /// Subscribes the application to messages of the server that belong to no call.
    pub(crate) fn listen(&mut self, base: &mut Base, calls: &mut Calls, now: Moment) {
        self.is_wanted = true;
        self.open(base, calls, now);
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
    pub(super) fn send_listen(
        &mut self,
        base: &mut Base,
        calls: &mut Calls,
        now: Moment,
        to: Address,
    ) {
        let wanted = wanted_news(base);
        let asked = wanted.resource_subscriptions.clone();
        let wire_id = base.cx.next_wire_id();
        let wanted = Json::of(&wanted).expect("a filter is JSON");
        let params = Json::empty_object().with_members([("notifications".to_owned(), wanted)]);
        let params = Params::new(Some(params), false);
        let body = base.session.body(to.era(), &params, wire_id, LISTEN, None);
        let headers = base.session.own_headers(LISTEN);
        let request = standing_request(base, Verb::Post { body }, to);
        let attempt = base.cx.send(NewRequest { headers, ..request });
        calls.subscriptions_sent();
        self.listener.subscribing(attempt, wire_id, now + HANDSHAKE_LIMIT, asked);
        self.set_alarm(&mut base.cx);
    }

    /// Opens the stream again, because the subscriptions have changed.
    pub(crate) fn listen_anew(&mut self, base: &mut Base, calls: &mut Calls, now: Moment) {
        if !self.wants_news(base) {
            return self.stop(&mut base.cx, now);
        }
        match self.listener.state() {
            listener::ListenerState::Unsupported => {
                return calls.refuse_subscribers(base, &no_subscriptions(), |_| true);
            }
            listener::ListenerState::Waiting { .. } => {
                // A subscriber waits for the stream, so the pause is cut short.
                self.listener.link_is_back(now, &mut base.cx.rng);
                return self.set_alarm(&mut base.cx);
            }
            _ => {}
        }
        if let Some(unheard) = self.listener.replace() {
            base.cx.abort(unheard);
        }
        self.open(base, calls, now);
    }

    /// Acts on the next message of an event on the stream, and then on those after it.
    pub(crate) fn heard(
        &mut self,
        base: &mut Base,
        calls: &mut Calls,
        now: Moment,
        mut heard: StreamMessages,
    ) {
        let StreamMessages { attempt, generation, is_current, .. } = heard;
        let Some(message) = heard.messages.next() else { return };
        let word = if is_current { self.word(base, &message) } else { StreamWord::Nothing };
        match word {
            StreamWord::Granted(granted) => self.acknowledged(base, calls, now, granted),
            StreamWord::Nothing => {
                calls.take_in(base, now, MessageSource::of_session(generation), message);
            }
            StreamWord::Over => {
                base.cx.drain(attempt);
                return self.ended(&mut base.cx, now);
            }
            StreamWord::Refused(answer) => {
                base.cx.drain(attempt);
                return self.refused(base, calls, now, &answer);
            }
        }
        base.cx.then(ListeningEffect::Heard(heard));
    }

    /// Handles an answer to the request for the stream that is no stream.
    pub(super) fn subscription_refused(
        &mut self,
        base: &mut Base,
        calls: &Calls,
        now: Moment,
        head: &AnswerHead,
        body: &Bytes,
    ) {
        let Some(wire_id) = self.listener.wire_id() else { return };
        let Some(to) = base.session.ready().map(|ready| ready.address.clone()) else { return };
        let asked = Asked::own(wire_id, to.carried());
        let reading = read_post(head, body, asked).reading;
        // A server that has never accepted the stream may be anything; calls will find out.
        let is_other =
            self.listener.is_trusted() && base.session.met_the_other_era(&to, head, &reading);
        match reading {
            _ if is_other => {
                self.ended(&mut base.cx, now);
                base.session.lose(&mut base.cx, to.generation);
                base.cx.then(ListeningEffect::EnsureSession);
            }
            PostReading::Answer(answer) => self.refused(base, calls, now, &answer),
            _ => {
                let verdict = self.listener.answered(now, head, &mut base.cx.rng);
                if let listener::ListenerVerdict::Wait { until } = verdict {
                    base.cx.tell(Event::ListenerLost { retry: until });
                }
                self.set_alarm(&mut base.cx);
            }
        }
    }

    /// Handles a JSON-RPC error in answer to the request for the stream. Subscriptions that were new in it
    /// are dropped.
    fn refused(&mut self, base: &mut Base, calls: &Calls, now: Moment, answer: &Answer) {
        if answer.error().is_some_and(|error| error.code == METHOD_NOT_FOUND) {
            self.listener.is_unsupported();
            self.set_alarm(&mut base.cx);
            base.cx.tell(Event::ListenerUnsupported);
            return calls.refuse_subscribers(base, &no_subscriptions(), |_| true);
        }
        self.ended(&mut base.cx, now);
        if answer.error().is_some() {
            calls.refuse_subscribers(base, answer, |uri| self.listener.asked_for(uri));
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
    fn acknowledged(
        &mut self,
        base: &mut Base,
        calls: &mut Calls,
        now: Moment,
        granted: ListenFilter,
    ) {
        let is_outdated = self.listener.is_outdated();
        let Some((old, gap)) = self.listener.acknowledged(now) else { return };
        if let Some(old) = old {
            base.cx.abort(old);
        }
        self.set_alarm(&mut base.cx);
        if let Some(gap) = gap {
            base.cx.tell(Event::ListenerBack { gap });
            tell_what_may_have_been_missed(base, calls, now, &granted);
        }
        let granted = granted.resource_subscriptions;
        for (id, uri) in calls.subscribers() {
            if uri.is_some_and(|uri| granted.contains(&uri)) {
                let done = Answer::Result(Json::empty_object());
                base.cx.then(CallEffect::Finish(id, Box::new(done)));
            }
        }
        base.cx.then(ListeningEffect::RefuseRest { granted, is_outdated });
    }

    /// Refuses the subscriptions that were asked for and not granted.
    pub(crate) fn refuse_rest(
        &self,
        base: &mut Base,
        calls: &Calls,
        granted: &BTreeSet<Box<str>>,
        is_outdated: bool,
    ) {
        let is_refused = |uri: &str| self.listener.asked_for(uri) && !granted.contains(uri);
        let subscribed = base.session.subscribed();
        let refused: Vec<Box<str>> =
            subscribed.filter(|it| is_refused(it)).map(Into::into).collect();
        calls.refuse_subscribers(base, &no_subscriptions(), |uri| {
            refused.iter().any(|it| **it == *uri)
        });
        base.cx.then(ListeningEffect::DropRefused { refused, is_outdated });
    }

    /// Drops the earlier subscriptions among those refused. A call that asked for one has just been refused.
    pub(crate) fn drop_refused(
        &mut self,
        base: &mut Base,
        calls: &mut Calls,
        now: Moment,
        refused: &[Box<str>],
        is_outdated: bool,
    ) {
        let is_remembered = |uri: &str| base.session.subscribed().any(|it| it == uri);
        let lost: Vec<_> = refused.iter().filter(|uri| is_remembered(uri)).collect();
        for uri in lost {
            base.session.forget_subscription(uri);
            let call = CallName { method: "resources/subscribe".into(), tool: None };
            base.session.restore_failed(&mut base.cx, call);
        }
        if is_outdated {
            self.listen_anew(base, calls, now);
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
fn tell_what_may_have_been_missed(
    base: &mut Base,
    calls: &mut Calls,
    now: Moment,
    granted: &ListenFilter,
) {
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
    let generation = base.session.current_generation().unwrap_or_default();
    for (method, params) in missed {
        let message = Message::Notification { method, params };
        calls.take_in(base, now, MessageSource::of_session(generation), message);
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
