//! `subscriptions/listen`: asks the upstream for the resources, then tells the host what was granted.

use std::collections::BTreeSet;
use std::time::Duration;

use futures_util::future::{FutureExt, join_all};
use ridethrough_wire::message::code::INVALID_PARAMS;
use ridethrough_wire::message::{Answer, Id, Json};
use ridethrough_wire::stateless::{Filter, LISTEN};
use tokio::io::AsyncWrite;
use tokio::time::Instant;

use super::Router;
use super::greet::Greeted;
use super::modern::{OwnAnswer, Subscribed};
use crate::listens::TooMany;

impl<W: AsyncWrite + Unpin> Router<W> {
    pub(super) fn listen(&mut self, id: Id, params: &Json) {
        let Some(filter) = Filter::read(Some(params)) else {
            let words = "nothing is listened for: `notifications` is missing, or is no filter";
            return self.outbox.answer(Some(id.json()), &Answer::refusal(INVALID_PARAMS, words));
        };
        if self.upstream.server().is_none() && self.greeted == Greeted::No {
            // A host need not ask what the upstream is. It then counts as greeted minimally, so that lists
            // are announced to it.
            self.greeted = Greeted::Minimally;
        }
        let filter = self.possible(filter);
        let uris: Vec<_> = filter.resources.iter().cloned().collect();
        match self.modern.listens.begin(id.clone(), filter) {
            Err(TooMany) => self.outbox.answer(Some(id.json()), &too_many()),
            Ok(number) if uris.is_empty() => self.acknowledge(number, BTreeSet::new()),
            Ok(number) => self.subscribe(number, uris),
        }
    }

    /// Returns the part of the filter that the upstream can serve; all of it if the upstream is not known
    /// yet.
    fn possible(&self, mut filter: Filter) -> Filter {
        let Some(server) = self.upstream.server() else { return filter };
        filter.kinds.retain(|kind| server.can(kind.capability()));
        if !server.can("resources") {
            filter.resources.clear();
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

    /// Handles the answer to a request of the bridge's own.
    pub(super) fn own_request_is_answered(&mut self, answer: OwnAnswer) {
        match answer {
            OwnAnswer::LetGo => self.modern.leaving.retain(|_, leaving| leaving.peek().is_none()),
            OwnAnswer::LevelTold => {
                self.modern.is_telling_level = false;
                self.tell_level();
            }
            OwnAnswer::Subscribed(Subscribed { number, granted }) => {
                self.acknowledge(number, granted.clone());
                // The host may have cancelled it meanwhile.
                self.let_go(granted);
            }
        }
    }

    fn acknowledge(&mut self, number: u64, granted: BTreeSet<Box<str>>) {
        for (method, params) in self.modern.listens.acknowledge(number, granted) {
            self.outbox.notification(&method, Some(&params));
        }
    }

    /// Ends a `subscriptions/listen` that the host cancels, without an answer. Returns whether there was one
    /// under this id.
    pub(super) fn stop_listening(&mut self, id: &Json) -> bool {
        let Some(unheard) = self.modern.listens.cancel(id) else { return false };
        self.let_go(unheard);
        true
    }

    /// Unsubscribes from resources that no request listens for.
    fn let_go(&mut self, uris: impl IntoIterator<Item = Box<str>>) {
        for uri in uris {
            if self.modern.listens.is_wanted(&uri) {
                continue;
            }
            let call = self.client.request("resources/unsubscribe", uri_params(&uri));
            let (telling, before) = (call.timeout(TIME).answer(), self.modern.leaving.remove(&uri));
            let leaving = async {
                // If it fails, updates still come, and are not passed on.
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

    /// Ends all open requests, when the bridge ends.
    pub(super) fn end_listening(&mut self) {
        for (id, result) in self.modern.listens.end() {
            let result = self.dressed(&result, LISTEN);
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

/// How long the host waits for the acknowledgement; a resource without an answer by then is not granted.
const TIME: Duration = Duration::from_secs(10);
