//! `subscriptions/listen`: the upstream is asked for the resources, then the host is told what it will hear of.

use std::collections::BTreeSet;
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::{FutureExt, join_all};
use ridethrough_core::message::code::INVALID_PARAMS;
use ridethrough_core::message::{Answer, Id, Json};
use tokio::io::AsyncWrite;
use tokio::time::Instant;

use super::Router;
use super::greet::Greeted;
use super::modern::{OwnAnswer, Subscribed};
use crate::listens::{Filter, TooMany};

impl<W: AsyncWrite + Unpin> Router<W> {
    pub(super) fn listen(&mut self, id: Id, params: &Json) {
        let Some(filter) = Filter::read(Some(params)) else {
            let words = "nothing is listened for: `notifications` is missing, or is no filter";
            return self.outbox.answer(Some(id.json()), &Answer::refusal(INVALID_PARAMS, words));
        };
        if self.upstream.server().is_none() && self.greeted == Greeted::No {
            // A host need not ask who the upstream is; it is promised as much as one that was told the least.
            self.greeted = Greeted::Minimally;
        }
        let filter = self.possible(filter);
        let uris: Vec<_> = filter.uris.iter().cloned().collect();
        match self.modern.listens.begin(id.clone(), filter) {
            Err(TooMany) => self.outbox.answer(Some(id.json()), &too_many()),
            Ok(number) if uris.is_empty() => self.acknowledge(number, BTreeSet::new()),
            Ok(number) => self.subscribe(number, uris),
        }
    }

    /// What of it the upstream can tell; all of it, if that is not known yet.
    fn possible(&self, mut filter: Filter) -> Filter {
        let Some(server) = self.upstream.server() else { return filter };
        filter.kinds.retain(|kind| server.can(kind.capability()));
        if !server.can("resources") {
            filter.uris.clear();
        }
        filter
    }

    fn subscribe(&mut self, number: u64, uris: Vec<Box<str>>) {
        let until = Instant::now() + TIME;
        let asking = uris.into_iter().map(|uri| {
            let (client, leaving) = (self.client.clone(), self.modern.leaving.get(&uri).cloned());
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
        self.modern.own_requests.push(Box::pin(async move {
            let granted = asking.await.into_iter().flatten().collect();
            OwnAnswer::Subscribed(Subscribed { number, granted })
        }));
    }

    /// Takes in the answer to a request of the bridge's own.
    pub(super) fn own_request_is_answered(&mut self, answer: OwnAnswer) {
        match answer {
            OwnAnswer::LetGo => self.modern.leaving.retain(|_, leaving| leaving.peek().is_none()),
            OwnAnswer::LevelTold => {
                self.modern.is_telling_level = false;
                self.tell_level();
            }
            OwnAnswer::Subscribed(Subscribed { number, granted }) => {
                self.acknowledge(number, granted.clone());
                // The host may have taken it back meanwhile.
                self.let_go(granted);
            }
        }
    }

    fn acknowledge(&mut self, number: u64, granted: BTreeSet<Box<str>>) {
        for (method, params) in self.modern.listens.acknowledge(number, granted) {
            self.outbox.notification(&method, Some(&params));
        }
    }

    /// The host takes a request back; says whether it listened by it. It has no answer, as no other such
    /// request has.
    pub(super) fn stop_listening(&mut self, id: &Bytes) -> bool {
        let Some(unheard) = self.modern.listens.cancel(id) else { return false };
        self.let_go(unheard);
        true
    }

    /// Tells the upstream of resources that no request listens for.
    fn let_go(&mut self, uris: impl IntoIterator<Item = Box<str>>) {
        for uri in uris {
            if self.modern.listens.is_wanted(&uri) {
                continue;
            }
            let call = self.client.request("resources/unsubscribe", uri_params(&uri));
            let (telling, before) = (call.timeout(TIME).answer(), self.modern.leaving.remove(&uri));
            let leaving = async {
                // What it tells all the same goes nowhere.
                let _ = telling.await;
                if let Some(before) = before {
                    before.await;
                }
            };
            let leaving = leaving.boxed().shared();
            self.modern.leaving.insert(uri, leaving.clone());
            self.modern.own_requests.push(leaving.map(|()| OwnAnswer::LetGo).boxed());
        }
    }

    /// The bridge ends: so does all that is listened for.
    pub(super) fn end_listening(&mut self) {
        for (id, result) in self.modern.listens.end() {
            let result = self.dressed(&result, "subscriptions/listen");
            self.outbox.answer(Some(id.json()), &Answer::Result(result));
        }
    }
}

fn uri_params(uri: &str) -> Json {
    Json::from(serde_json::json!({ "uri": uri }))
}

fn too_many() -> Answer {
    let words = "nothing is listened for: there are 100 such requests already, or 1000 resources in them\n\
                 hint: cancel one that is not needed any more";
    Answer::refusal(INVALID_PARAMS, words)
}

/// The host waits for its word so long at most; what has no answer by then is not promised.
const TIME: Duration = Duration::from_secs(10);
