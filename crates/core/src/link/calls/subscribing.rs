//! Requests of the legacy era that a stateless server does not know: the link answers them itself, and the
//! standing stream asks for the subscriptions.

use ridethrough_wire::message::code::INVALID_PARAMS;
use ridethrough_wire::message::{Answer, Json, LogLevel};

use super::Calls;
use crate::exchange::{Awaited, Exchange, Waiting};
use crate::failure::Delivery;
use crate::ids::ExchangeId;
use crate::link::base::Base;
use crate::link::effects::{CallEffect, ListeningEffect};

impl Calls {
    /// Answers a request of the legacy era that a stateless server does not know. Returns whether it was one.
    pub(super) fn stand_in(&mut self, id: ExchangeId) -> bool {
        let Some(exchange) = self.all.get(id) else { return false };
        let done = || Ok(Answer::Result(Json::empty_object()));
        match &*exchange.call.method {
            "logging/setLevel" if !is_level(exchange) => {
                let answer = Answer::refusal(INVALID_PARAMS, "there is no such log level");
                self.finish(id, Ok(answer), None);
            }
            // Each later request carries the level.
            "logging/setLevel" => self.finish(id, done(), None),
            "resources/unsubscribe" => {
                self.finish(id, done(), None);
                self.base.cx.then(ListeningEffect::Anew);
            }
            "resources/subscribe" => {
                self.base.session.remember(exchange);
                self.wait(id, Waiting::Acknowledgement);
                self.base.cx.then(ListeningEffect::Anew);
            }
            _ => return false,
        }
        true
    }

    /// Returns the calls that wait for the acknowledgement of a subscription, each with its resource.
    pub(crate) fn subscribers(&self) -> Vec<(ExchangeId, Option<Box<str>>)> {
        let waiting = self.all.iter().filter(|it| it.awaits(Awaited::Acknowledgement));
        waiting.map(|it| (it.id, subject(it))).collect()
    }

    /// Notes that the server was asked for all subscriptions that calls wait for.
    pub(crate) fn subscriptions_sent(&mut self) {
        for id in self.all.ids_where(|it| it.awaits(Awaited::Acknowledgement)) {
            if let Some(exchange) = self.all.get_mut(id) {
                exchange.counters.note(Delivery::Unknown);
                exchange.counters.attempts += 1;
            }
        }
    }

    /// Ends the subscribers to resources that satisfy `is_meant` with the server's refusal.
    pub(crate) fn refuse_subscribers(&mut self, answer: &Answer, is_meant: impl Fn(&str) -> bool) {
        for (id, uri) in self.subscribers() {
            if is_meant(&uri.unwrap_or_default()) {
                self.base.cx.then(CallEffect::RefuseSubscriber(id, answer.clone()));
            }
        }
    }

    pub(super) fn refuse_subscriber(&mut self, id: ExchangeId, answer: Answer) {
        let Some(exchange) = self.all.get(id) else { return };
        self.base.session.forget_subscription(&subject(exchange).unwrap_or_default());
        self.finish(id, Ok(answer), None);
    }
}

/// Drops a subscription whose call ended without the server's acknowledgement.
pub(super) fn forget_subscriber(base: &mut Base, exchange: &Exchange) {
    if exchange.awaits(Awaited::Acknowledgement)
        && let Some(uri) = subject(exchange)
    {
        base.session.forget_subscription(&uri);
    }
}

/// Whether a `logging/setLevel` names a level that exists: each request to a stateless server would carry it.
fn is_level(exchange: &Exchange) -> bool {
    exchange.params.text().and_then(LogLevel::of_params).is_some()
}

/// Returns the resource that a subscription is about.
fn subject(exchange: &Exchange) -> Option<Box<str>> {
    let uri = exchange.params.text()?.member("uri")?;
    uri.read::<String>().map(Into::into)
}
