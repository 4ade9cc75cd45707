//! Restoring a new session: it is told the log level and resource subscriptions of the old one. The application is
//! told that what it watches may have changed meanwhile.
//!
//! Only a few requests are out at once, and their rate is limited, so that a server that has just come back
//! does not get all of them together. Each is repeated like a call that only reads.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use ridethrough_wire::message::{Json, Params, notification};

use super::Sessions;
use crate::event::Event;
use crate::exchange::{Exchange, Purpose};
use crate::link::context::Context;
use crate::link::effects::{CallEffect, SessionEffect};
use crate::link::own_request::OwnRequest;
use crate::link::timers::Timer;
use crate::outcome::CallName;
use crate::output::Delivered;

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
    /// The resources that the application has yet to be told of, because they may have changed.
    missed: VecDeque<Box<str>>,
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
    /// Tells the application that something could not be restored.
    pub(crate) fn restore_failed(&self, cx: &mut Context, call: CallName) {
        cx.tell(Event::RestoreFailed { call });
    }

    /// Handles the end of a restoring request. A resource that is watched again may have changed while it was not.
    pub(crate) fn restored(&self, cx: &mut Context, exchange: &Exchange, is_done: bool) {
        if !is_done {
            return self.restore_failed(cx, exchange.call.clone());
        }
        let uri = uri_of(exchange);
        if let Some(uri) = uri.filter(|uri| self.restore.subscriptions.contains_key(uri)) {
            tell_updated(cx, &uri);
        }
    }

    /// Tells the application of all resources that it watches, after a gap in which their updates were lost.
    pub(crate) fn tell_missed(&mut self, cx: &mut Context) {
        self.restore.missed = self.restore.subscriptions.keys().cloned().collect();
        cx.then(SessionEffect::RestoreMore);
    }

    /// Tells the new session what the old one was told. No call waits for it, and none fails by it.
    pub(crate) fn begin_restoring(&mut self, cx: &mut Context) {
        self.stop_restoring(cx);
        let Some(ready) = self.ready() else { return };
        if !ready.version.era().has_sessions() {
            return;
        }
        let restore = &mut self.restore;
        let level = restore.log_level.iter().map(|params| ("logging/setLevel", params));
        let subscribed = restore.subscriptions.values();
        let subscriptions = subscribed.map(|params| ("resources/subscribe", params));
        restore.pending =
            level.chain(subscriptions).map(|(method, params)| (method, params.clone())).collect();
        cx.then(SessionEffect::RestoreMore);
    }

    /// Sends the next few requests, beside the `out` that are out, and sets the timer for those after them.
    pub(crate) fn restore_more(&mut self, cx: &mut Context, out: usize) {
        let mut free = AT_ONCE.saturating_sub(out);
        while free > 0
            && let Some((method, params)) = self.restore.pending.pop_front()
        {
            let params = Params::new(Some(params), false);
            let request = OwnRequest::new(Purpose::Restore, method, LIMIT);
            cx.then(CallEffect::Ask(Box::new(OwnRequest { params, ..request })));
            free -= 1;
        }
        let missed = &mut self.restore.missed;
        missed.drain(..AT_ONCE.min(missed.len())).for_each(|uri| tell_updated(cx, &uri));
        let is_more = !self.restore.pending.is_empty() || !missed.is_empty();
        cx.timers.set(Timer::Restore, is_more.then_some(cx.now + STEP));
    }

    /// Stops restoring, because the session is gone. The next session is told from the start.
    pub(super) fn stop_restoring(&mut self, cx: &mut Context) {
        self.restore.pending.clear();
        // The next session begins with all of them.
        self.restore.missed.clear();
        cx.timers.set(Timer::Restore, None);
        cx.then(CallEffect::DropRestoring);
    }
}

/// Returns the resource that a request subscribes to.
fn uri_of(exchange: &Exchange) -> Option<Box<str>> {
    let params = exchange.params.text().filter(|_| &*exchange.call.method == "resources/subscribe");
    params?.member("uri")?.read()
}

fn tell_updated(cx: &mut Context, uri: &str) {
    let uri = Json::of(uri).expect("a string is JSON");
    let params = Json::empty_object().with_members([("uri".to_owned(), uri)]);
    let method = notification::RESOURCE_UPDATED.into();
    cx.deliver(Delivered::Notification { exchange: None, method, params: Some(params) });
}

/// How many restoring requests are out at once.
const AT_ONCE: usize = 8;
/// The pause before the next requests may follow: with eight at once, a hundred a second.
const STEP: Duration = Duration::from_millis(80);
/// How long one of them may take, with all its repetitions.
const LIMIT: Duration = Duration::from_secs(60);
const MOST_SUBSCRIPTIONS: usize = 10_000;
