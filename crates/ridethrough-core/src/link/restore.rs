//! What a new session is told again: log level and resource subscriptions.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::Link;
use super::attempts::Owner;
use super::renewal;
use super::timers::Timer;
use crate::event::Event;
use crate::exchange::Exchange;
use crate::ids::AttemptId;
use crate::message::{Answer, Json, Message, Params};
use crate::moment::Moment;
use crate::outcome::CallName;
use crate::output::Verb;

/// What the old session knew, as the application said it.
#[derive(Debug, Default)]
pub(super) struct Restore {
    log_level: Option<Json>,
    /// By URI, with the params that subscribed to it.
    subscriptions: BTreeMap<Box<str>, Json>,
    /// The last description of the server.
    server: Option<Json>,
}

impl Restore {
    /// Takes in how the server describes itself; says whether that differs from before.
    pub(super) fn is_another_server(&mut self, server: Option<&Json>) -> bool {
        let old = std::mem::replace(&mut self.server, server.cloned());
        old.is_some() && old.as_ref() != server
    }

    /// The log level that the application wants, as JSON.
    pub(super) fn log_level(&self) -> Option<Json> {
        self.log_level.as_ref()?.member("level")
    }

    /// The resources that the application wants to hear of.
    pub(super) fn subscribed(&self) -> impl Iterator<Item = &str> {
        self.subscriptions.keys().map(|uri| &**uri)
    }

    /// The server does not want to tell of this one.
    pub(super) fn forget(&mut self, uri: &str) {
        self.subscriptions.remove(uri);
    }
}

impl Link {
    /// Remembers what a new session would have to be told again.
    pub(super) fn note_for_restore(&mut self, exchange: &Exchange) {
        #[derive(serde::Deserialize)]
        struct Resource {
            uri: Box<str>,
        }

        let Some(params) = exchange.params.text() else { return };
        match &*exchange.call.method {
            "logging/setLevel" => self.restore.log_level = Some(params.clone()),
            "resources/subscribe" => {
                if let Some(Resource { uri }) = params.read()
                    && self.restore.subscriptions.len() < MOST_SUBSCRIPTIONS
                {
                    self.restore.subscriptions.insert(uri, params.clone());
                }
            }
            "resources/unsubscribe" => {
                if let Some(Resource { uri }) = params.read() {
                    self.restore.subscriptions.remove(&uri);
                }
            }
            _ => {}
        }
    }

    /// Tells the new session what the old one knew. Nobody waits for it and nothing fails by it.
    pub(super) fn restore_session(&mut self, now: Moment) {
        let Some(ready) = self.session.ready().cloned() else { return };
        if !ready.version.era().has_sessions() {
            return;
        }
        let level = self.restore.log_level.iter().map(|params| ("logging/setLevel", params));
        let subscriptions =
            self.restore.subscriptions.values().map(|params| ("resources/subscribe", params));
        let all: Vec<(&str, Json)> =
            level.chain(subscriptions).map(|(method, params)| (method, params.clone())).collect();
        for (method, params) in &all {
            let wire_id = self.next_wire_id();
            let body = Params::new(Some(params.clone()), false).request_body(wire_id, method);
            let call = CallName { method: Arc::from(*method), tool: None };
            let to = ready.address.clone();
            self.request(Owner::Restore { call, wire_id }, Verb::Post { body }, to);
        }
        if !all.is_empty() {
            self.timers.set(Timer::Restore, Some(now + renewal::LIMIT));
        }
    }

    /// A message on the stream that answers a restore. Returns whether it was the answer.
    pub(super) fn restore_heard(
        &mut self,
        attempt: AttemptId,
        call: &CallName,
        wire_id: u64,
        message: &Message,
    ) -> bool {
        let Message::Response { id: Some(id), answer } = message else { return false };
        if id.number() != Some(wire_id) {
            return false;
        }
        self.drain(attempt);
        if matches!(answer, Answer::Error(_)) {
            self.restore_failed(call.clone());
        }
        true
    }

    pub(super) fn restore_failed(&mut self, call: CallName) {
        self.tell(Event::RestoreFailed { call });
    }

    /// What has not been restored by now is told and left alone.
    pub(super) fn give_up_restoring(&mut self) {
        let late: Vec<_> = self
            .attempts
            .iter()
            .filter_map(|(attempt, each)| match &each.owner {
                Owner::Restore { call, .. } => Some((*attempt, call.clone())),
                _ => None,
            })
            .collect();
        for (attempt, call) in late {
            self.abort(attempt);
            self.restore_failed(call);
        }
    }
}

const MOST_SUBSCRIPTIONS: usize = 10_000;
