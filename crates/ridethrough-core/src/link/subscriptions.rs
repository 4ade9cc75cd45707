//! `subscriptions/listen`, the standing stream of the stateless era, and the words of the older era that
//! it stands for.
//!
//! ```text
//!   Off ──somebody wants news──▶ asked ──acknowledged──▶ Open ──result, cancelled or cut──▶ Waiting
//! ```
//! There is no replay: after a gap, each thing that may have changed unseen is told as if it had. When what
//! is wanted changes, a new stream is opened beside the old one, which is let go once the new one is
//! acknowledged.

use std::collections::BTreeSet;

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use super::attempts::Owner;
use super::{Link, renewal};
use crate::era::Era;
use crate::event::Event;
use crate::exchange::{Exchange, State, Then, Waiting};
use crate::ids::{AttemptId, ExchangeId, Generation};
use crate::listener;
use crate::message::{Answer, Incoming, Json, Message, Params};
use crate::moment::Moment;
use crate::outcome::CallName;
use crate::output::{Address, Output, Verb};

/// What is listened for, as it is asked and as it is granted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct News {
    tools_list_changed: bool,
    prompts_list_changed: bool,
    resources_list_changed: bool,
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    resource_subscriptions: BTreeSet<Box<str>>,
}

/// What a message on the stream means for the stream itself.
enum Word {
    Granted(News),
    Nothing,
    Over,
    Refused { is_unknown: bool },
}

impl Link {
    /// The application wants to hear what nobody asked for.
    pub fn listen(&mut self, now: Moment) {
        self.wants_news = true;
        self.open_listener(now);
    }

    /// Whether a stateless server is to be listened to; an older one always is.
    pub(super) fn wants_news(&self) -> bool {
        self.wants_news || self.keep_connected || self.restore.subscribed().next().is_some()
    }

    /// Answers a request of the older era that a stateless server does not know. Returns whether it was one.
    pub(super) fn stand_in(&mut self, now: Moment, id: ExchangeId) -> bool {
        let Some(exchange) = self.exchanges.get(&id) else { return false };
        let done = || Ok(Answer::Result(Json::empty_object()));
        match &*exchange.call.method {
            // From now on each request says it.
            "logging/setLevel" => self.finish(now, id, done(), None),
            "resources/unsubscribe" => {
                self.finish(now, id, done(), None);
                self.listen_anew(now);
            }
            "resources/subscribe" => {
                self.note_subscription(id);
                self.wait(now, id, Waiting::Acknowledgement);
                self.listen_anew(now);
            }
            _ => return false,
        }
        true
    }

    /// Asks for the stream.
    pub(super) fn send_listen(&mut self, now: Moment, to: Address) {
        let wanted = self.wanted_news();
        let wire_id = self.next_wire_id();
        let wanted = Json::of(&wanted).expect("a filter is JSON");
        let params = Json::empty_object().with_members([("notifications".to_owned(), wanted)]);
        let body = self.body(&Params::new(Some(params), false), wire_id, LISTEN);
        let headers = self.own_headers(LISTEN);
        let attempt = self.request_with(Owner::Listener, Verb::Post { body }, to, headers);
        self.listener.subscribing(attempt, wire_id, now + renewal::LIMIT);
        self.set_listener_alarm();
    }

    fn wanted_news(&self) -> News {
        News {
            tools_list_changed: true,
            prompts_list_changed: true,
            resources_list_changed: true,
            resource_subscriptions: self.restore.subscribed().map(Into::into).collect(),
        }
    }

    /// What is wanted has changed.
    fn listen_anew(&mut self, now: Moment) {
        match self.listener.state() {
            listener::State::Unsupported => return self.refuse_subscribers(now),
            listener::State::Waiting { .. } => return,
            _ => {}
        }
        if let Some(unheard) = self.listener.replace() {
            self.abort(unheard);
        }
        self.open_listener(now);
    }

    /// A message on the stream.
    pub(super) fn subscription_event(
        &mut self,
        now: Moment,
        attempt: AttemptId,
        generation: Generation,
        messages: Vec<Message>,
    ) {
        let is_current = self.listener.attempt() == Some(attempt);
        for message in messages {
            let word = match is_current {
                true => self.subscription_word(&message),
                false => Word::Nothing,
            };
            match word {
                Word::Granted(granted) => self.acknowledged(now, &granted),
                Word::Nothing => self.take_in_all(now, Owner::Listener, generation, vec![message]),
                Word::Over => {
                    self.drain(attempt);
                    return self.listener_ended(now);
                }
                Word::Refused { is_unknown } => {
                    self.drain(attempt);
                    return self.subscription_refused(now, is_unknown);
                }
            }
        }
    }

    /// An answer that is no stream.
    pub(super) fn subscription_body(&mut self, now: Moment, body: &Bytes) {
        let messages = Incoming::parse(body).map(Incoming::into_messages).unwrap_or_default();
        let words = messages.iter().map(|message| self.subscription_word(message));
        let refused = words.into_iter().find_map(|word| match word {
            Word::Refused { is_unknown } => Some(is_unknown),
            _ => None,
        });
        self.subscription_refused(now, refused.unwrap_or_default());
    }

    fn subscription_refused(&mut self, now: Moment, is_unknown: bool) {
        if is_unknown {
            self.listener.is_unsupported();
            self.set_listener_alarm();
            self.tell(Event::ListenerUnsupported);
            return self.refuse_subscribers(now);
        }
        self.listener_ended(now);
    }

    fn subscription_word(&self, message: &Message) -> Word {
        let ours = self.listener.wire_id();
        match message {
            Message::Notification { method, params } => match &**method {
                "notifications/subscriptions/acknowledged" => {
                    let granted = params.as_ref().and_then(|it| it.member("notifications"));
                    Word::Granted(granted.and_then(|it| it.read()).unwrap_or_default())
                }
                "notifications/cancelled" if names(params.as_ref(), ours) => Word::Over,
                _ => Word::Nothing,
            },
            Message::Response { id: Some(id), answer } if id.number() == ours => match answer {
                Answer::Result(_) => Word::Over,
                Answer::Error(_) => {
                    let code = answer.error().map(|error| error.code);
                    Word::Refused { is_unknown: code == Some(METHOD_NOT_FOUND) }
                }
            },
            _ => Word::Nothing,
        }
    }

    /// The server listens to what we listen for.
    fn acknowledged(&mut self, now: Moment, granted: &News) {
        let (old, gap) = self.listener.acknowledged(now);
        if let Some(old) = old {
            self.abort(old);
        }
        self.set_listener_alarm();
        if let Some(gap) = gap {
            self.tell(Event::ListenerBack { gap });
            self.tell_what_may_have_been_missed(now, granted);
        }
        let refused: Vec<Box<str>> = self
            .restore
            .subscribed()
            .filter(|uri| !granted.resource_subscriptions.contains(*uri))
            .map(Into::into)
            .collect();
        for id in self.ids_where(waits_for_acknowledgement) {
            let uri = self.exchanges.get(&id).and_then(subject);
            let is_refused = uri.is_none_or(|uri| refused.contains(&uri));
            self.subscriber_answered(now, id, is_refused);
        }
        for uri in refused {
            self.restore.forget(&uri);
            let call = CallName { method: "resources/subscribe".into(), tool: None };
            self.restore_failed(call);
        }
    }

    /// Nobody saw what changed in the gap: whoever cares looks again.
    fn tell_what_may_have_been_missed(&mut self, now: Moment, granted: &News) {
        let lists = [
            (granted.tools_list_changed, "notifications/tools/list_changed"),
            (granted.prompts_list_changed, "notifications/prompts/list_changed"),
            (granted.resources_list_changed, "notifications/resources/list_changed"),
        ];
        let lists = lists.into_iter().filter(|(is_granted, _)| *is_granted);
        let mut missed: Vec<(Box<str>, Option<Json>)> =
            lists.map(|(_, method)| (method.into(), None)).collect();
        for uri in &granted.resource_subscriptions {
            let uri = Json::of(uri).expect("a string is JSON");
            let params = Json::empty_object().with_members([("uri".to_owned(), uri)]);
            missed.push(("notifications/resources/updated".into(), Some(params)));
        }
        let generation = self.session.ready().map(|ready| ready.generation()).unwrap_or_default();
        for (method, params) in missed {
            let message = Message::Notification { method, params };
            self.take_in_all(now, Owner::Listener, generation, vec![message]);
        }
    }

    /// There is another session. A stateless one is listened to anew, an older one is asked as it
    /// was meant.
    pub(super) fn release_subscribers(&mut self, now: Moment) {
        if self.era() == Era::Modern {
            return;
        }
        for id in self.ids_where(waits_for_acknowledgement) {
            let is_meant = |waiting: &Waiting| matches!(waiting, Waiting::Acknowledgement);
            self.let_out_if(now, id, Then::Send, is_meant);
        }
    }

    /// This server has no such stream.
    pub(super) fn refuse_subscribers(&mut self, now: Moment) {
        for id in self.ids_where(waits_for_acknowledgement) {
            if let Some(uri) = self.exchanges.get(&id).and_then(subject) {
                self.restore.forget(&uri);
            }
            self.subscriber_answered(now, id, true);
        }
    }

    fn subscriber_answered(&mut self, now: Moment, id: ExchangeId, is_refused: bool) {
        let answer = match is_refused {
            true => {
                Answer::refusal(METHOD_NOT_FOUND, "the server does not offer this subscription")
            }
            false => Answer::Result(Json::empty_object()),
        };
        self.finish(now, id, Ok(answer), None);
    }

    fn note_subscription(&mut self, id: ExchangeId) {
        if let Some(exchange) = self.exchanges.remove(&id) {
            self.note_for_restore(&exchange);
            self.exchanges.insert(id, exchange);
        }
    }

    /// A request of a stateless server stands against its own rules: it gets no answer.
    pub(super) fn ignore_question(&mut self, method: Box<str>) {
        self.outbox.push_back(Output::Tell(Event::QuestionIgnored { method: method.into() }));
    }
}

/// Whether a `notifications/cancelled` means this request.
fn names(params: Option<&Json>, wire_id: Option<u64>) -> bool {
    let named = params.and_then(|params| params.member("requestId"));
    named.and_then(|id| id.read::<u64>()).is_some_and(|id| Some(id) == wire_id)
}

fn waits_for_acknowledgement(exchange: &Exchange) -> bool {
    matches!(exchange.state, State::Waiting(Waiting::Acknowledgement))
}

/// The resource that a subscription is about.
fn subject(exchange: &Exchange) -> Option<Box<str>> {
    let uri = exchange.params.text()?.member("uri")?;
    uri.read::<String>().map(Into::into)
}

const LISTEN: &str = "subscriptions/listen";
const METHOD_NOT_FOUND: i64 = -32601;
