//! Restoring a new session: it is told the log level and resource subscriptions of the old one.
//!
//! Only a few requests are out at once, and their rate is limited, so that a server that has just come back
//! does not get all of them together. Each is repeated like a call that only reads.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use super::Sessions;
use crate::event::Event;
use crate::exchange::{Exchange, Origin, Purpose};
use crate::link::Link;
use crate::link::calls::OwnRequest;
use crate::link::context::Context;
use crate::link::timers::Timer;
use crate::message::{Answer, Json, Params};
use crate::moment::Moment;
use crate::outcome::CallName;

/// What the old session was told, in the application's words.
#[derive(Debug, Default)]
pub(crate) struct Restore {
    log_level: Option<Json>,
    /// The subscriptions by URI, with the params of each.
    subscriptions: BTreeMap<Box<str>, Json>,
    /// The server's last description of itself.
    server: Option<Json>,
    /// What the session in force has yet to be told.
    pending: VecDeque<(&'static str, Json)>,
}

impl Restore {
    /// Takes in how the server describes itself, and returns whether that has changed.
    pub(crate) fn is_another_server(&mut self, server: Option<&Json>) -> bool {
        let old = std::mem::replace(&mut self.server, server.cloned());
        old.is_some() && old.as_ref() != server
    }

    /// Returns the log level that the application has set, as JSON.
    pub(crate) fn log_level(&self) -> Option<Json> {
        self.log_level.as_ref()?.member("level")
    }

    /// Returns the resources that the application has subscribed to.
    pub(crate) fn subscribed(&self) -> impl Iterator<Item = &str> {
        self.subscriptions.keys().map(|uri| &**uri)
    }

    /// Drops a subscription that the server refuses.
    pub(crate) fn forget(&mut self, uri: &str) {
        self.subscriptions.remove(uri);
    }

    /// Remembers, from an answered call, what a new session must be told again.
    pub(crate) fn remember(&mut self, exchange: &Exchange) {
        #[derive(serde::Deserialize)]
        struct Resource {
            uri: Box<str>,
        }

        let Some(params) = exchange.params.text() else { return };
        match &*exchange.call.method {
            "logging/setLevel" => self.log_level = Some(params.clone()),
            "resources/subscribe" => {
                if let Some(Resource { uri }) = params.read()
                    && self.subscriptions.len() < MOST_SUBSCRIPTIONS
                {
                    self.subscriptions.insert(uri, params.clone());
                }
            }
            "resources/unsubscribe" => {
                if let Some(Resource { uri }) = params.read() {
                    self.subscriptions.remove(&uri);
                }
            }
            _ => {}
        }
    }
}

impl Sessions {
    pub(crate) fn restore_failed(&mut self, cx: &mut Context, call: CallName) {
        cx.tell(Event::RestoreFailed { call });
    }
}

impl Link {
    /// Tells the new session what the old one was told. No call waits for it, and none fails by it.
    pub(crate) fn restore_session(&mut self, now: Moment) {
        self.stop_restoring();
        let Some(ready) = self.session.ready() else { return };
        if !ready.version.era().has_sessions() {
            return;
        }
        let level =
            self.session.restore.log_level.iter().map(|params| ("logging/setLevel", params));
        let subscriptions = self
            .session
            .restore
            .subscriptions
            .values()
            .map(|params| ("resources/subscribe", params));
        self.session.restore.pending =
            level.chain(subscriptions).map(|(method, params)| (method, params.clone())).collect();
        self.restore_more(now);
    }

    /// Sends the next few requests, and sets the timer for those after them.
    pub(crate) fn restore_more(&mut self, now: Moment) {
        let mut free = AT_ONCE.saturating_sub(self.calls.ids_where(is_restoring).len());
        while free > 0
            && let Some((method, params)) = self.session.restore.pending.pop_front()
        {
            let params = Params::new(Some(params), false);
            let request = OwnRequest::new(Purpose::Restore, method, LIMIT);
            self.ask(now, OwnRequest { params, ..request });
            free -= 1;
        }
        let is_more = !self.session.restore.pending.is_empty();
        self.cx.timers.set(Timer::Restore, is_more.then_some(now + STEP));
    }

    /// Handles the end of a restoring request.
    pub(crate) fn restored(&mut self, _: Moment, exchange: &Exchange, answer: Option<&Answer>) {
        if !matches!(answer, Some(Answer::Result(_))) {
            self.session.restore_failed(&mut self.cx, exchange.call.clone());
        }
    }

    /// Stops restoring, because the session is gone. The next session is told from the start.
    pub(crate) fn stop_restoring(&mut self) {
        self.session.restore.pending.clear();
        self.cx.timers.set(Timer::Restore, None);
        for id in self.calls.ids_where(is_restoring) {
            self.calls.drop_own(&mut self.cx, id);
        }
    }
}

fn is_restoring(exchange: &Exchange) -> bool {
    exchange.origin == Origin::Link(Purpose::Restore)
}

/// How many restoring requests are out at once.
const AT_ONCE: usize = 8;
/// The pause before the next requests may follow: with eight at once, a hundred a second.
const STEP: Duration = Duration::from_millis(80);
/// How long one of them may take, with all its repetitions.
const LIMIT: Duration = Duration::from_secs(60);
const MOST_SUBSCRIPTIONS: usize = 10_000;
