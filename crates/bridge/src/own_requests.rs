//! Requests that the bridge itself makes of the upstream for a host of the stateless revision: subscriptions to
//! resources, and the log level of a session.
//!
//! Of two requests that are out at once the server may carry out either last. So a new subscription to a resource
//! waits for an unsubscription from it, and a level for the one before.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use futures_util::future::{BoxFuture, FutureExt, Shared, join_all};
use futures_util::stream::{FuturesUnordered, StreamExt};
use ridethrough::Client;
use ridethrough_upstream::Upstream;
use ridethrough_wire::message::{Answer, Json, splice};
use tokio::time::Instant;

/// The requests that are out.
#[derive(Default)]
pub(crate) struct OwnRequests {
    running: FuturesUnordered<BoxFuture<'static, OwnAnswer>>,
    /// Resources that the upstream is being unsubscribed from, by URI.
    leaving: BTreeMap<Box<str>, Leaving>,
    /// The level from which on the host wants the log, and the level that the upstream was told.
    level: Option<Json>,
    level_told: Option<Json>,
    is_telling_level: bool,
}

/// An unsubscription that completes when its last request is answered.
type Leaving = Shared<BoxFuture<'static, ()>>;

/// The end of a request.
pub(crate) enum OwnAnswer {
    LetGo,
    LevelTold,
    Subscribed(Subscribed),
}

/// The upstream's answers about the resources of one `subscriptions/listen`.
pub(crate) struct Subscribed {
    pub(crate) number: u64,
    pub(crate) granted: BTreeSet<Box<str>>,
}

impl OwnRequests {
    /// Waits for the next answer; `None` if no request is out. Nothing is lost if the future is dropped.
    pub(crate) async fn next(&mut self) -> Option<OwnAnswer> {
        self.running.next().await
    }

    /// Takes in an answer. Returns the resources that may be acknowledged.
    pub(crate) fn take_in(&mut self, answer: OwnAnswer, upstream: &Upstream) -> Option<Subscribed> {
        match answer {
            OwnAnswer::LetGo => self.leaving.retain(|_, leaving| leaving.peek().is_none()),
            OwnAnswer::LevelTold => {
                self.is_telling_level = false;
                self.tell_level(upstream);
            }
            OwnAnswer::Subscribed(subscribed) => return Some(subscribed),
        }
        None
    }

    /// Takes in the level from which on the host wants the log.
    pub(crate) fn want_level(&mut self, level: &Json, upstream: &Upstream) {
        if level.string().is_some() {
            self.level = Some(splice::copied(level));
            self.tell_level(upstream);
        }
    }

    /// Tells a session the log level, once. Without a session, each request carries it.
    pub(crate) fn tell_level(&mut self, upstream: &Upstream) {
        let Some(level) = self.level.clone() else { return };
        let can_log = upstream.server().is_some_and(|server| server.can("logging"));
        let is_told = self.level_told.as_ref() == Some(&level);
        if !upstream.has_sessions() || !can_log || is_told || self.is_telling_level {
            return;
        }
        self.is_telling_level = true;
        self.level_told = Some(level.clone());
        let params = Json::empty_object().with_members([("level".to_owned(), level)]);
        let telling = upstream.client().request("logging/setLevel", params).answer();
        self.push(async {
            // A server that refuses the level sends what it sends by default.
            let _ = telling.await;
            OwnAnswer::LevelTold
        });
    }

    /// Subscribes to resources, for the `subscriptions/listen` of this number.
    pub(crate) fn subscribe(&mut self, client: &Client, number: u64, uris: Vec<Box<str>>) {
        let until = Instant::now() + TIME;
        let asking = uris.into_iter().map(|uri| {
            let (client, leaving) = (client.clone(), self.leaving.get(&uri).cloned());
            async move {
                if let Some(leaving) = leaving {
                    leaving.await;
                }
                let left = until.saturating_duration_since(Instant::now());
                let call = client.request("resources/subscribe", uri_params(&uri)).timeout(left);
                let is_granted = matches!(call.answer().await, Ok(Answer::Result(_)));
                is_granted.then_some(uri)
            }
        });
        let asking = join_all(asking.collect::<Vec<_>>());
        self.push(async move {
            let granted = asking.await.into_iter().flatten().collect();
            OwnAnswer::Subscribed(Subscribed { number, granted })
        });
    }

    /// Unsubscribes from a resource.
    pub(crate) fn let_go(&mut self, client: &Client, uri: Box<str>) {
        let call = client.request("resources/unsubscribe", uri_params(&uri));
        let (telling, before) = (call.timeout(TIME).answer(), self.leaving.remove(&uri));
        let leaving = async {
            // If it fails, updates still come, and are not passed on.
            let _ = telling.await;
            if let Some(before) = before {
                before.await;
            }
        };
        let leaving = leaving.boxed().shared();
        self.leaving.insert(uri, leaving.clone());
        self.push(leaving.map(|()| OwnAnswer::LetGo));
    }

    pub(crate) fn push(&self, request: impl Future<Output = OwnAnswer> + Send + 'static) {
        self.running.push(request.boxed());
    }
}

fn uri_params(uri: &str) -> Json {
    Json::from(serde_json::json!({ "uri": uri }))
}

/// How long the host waits for the acknowledgement; a resource without an answer by then is not granted.
const TIME: Duration = Duration::from_secs(10);
