//! `subscriptions/listen`: asks the upstream for the resources, then tells the host what was granted.

use std::collections::BTreeSet;

use ridethrough_wire::message::code::INVALID_PARAMS;
use ridethrough_wire::message::{Answer, Id, Json};
use ridethrough_wire::stateless::{Filter, LISTEN};

use super::Router;
use crate::listens::TooMany;
use crate::own_requests::{OwnAnswer, Subscribed};

impl Router {
    pub(super) fn listen(&mut self, id: Id, params: &Json) {
        let Some(filter) = Filter::read(Some(params)) else {
            let words = "nothing is listened for: `notifications` is missing, or is no filter";
            return self.outbox.answer(Some(id.json()), &Answer::refusal(INVALID_PARAMS, words));
        };
        self.upstream.skip_description();
        let filter = self.possible(filter);
        let uris: Vec<_> = filter.resources.iter().cloned().collect();
        match self.listens.begin(id.clone(), filter) {
            Err(TooMany) => self.outbox.answer(Some(id.json()), &too_many()),
            Ok(number) if uris.is_empty() => self.acknowledge(number, BTreeSet::new()),
            Ok(number) => self.own_requests.subscribe(self.upstream.client(), number, uris),
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

    /// Handles the answer to a request of the bridge's own.
    pub(super) fn own_request_is_answered(&mut self, answer: OwnAnswer) {
        let subscribed = self.own_requests.take_in(answer, &self.upstream);
        let Some(Subscribed { number, granted }) = subscribed else { return };
        self.acknowledge(number, granted.clone());
        // The host may have cancelled it meanwhile.
        self.let_go(granted);
    }

    fn acknowledge(&mut self, number: u64, granted: BTreeSet<Box<str>>) {
        for (method, params) in self.listens.acknowledge(number, granted) {
            self.outbox.notification(&method, Some(&params));
        }
    }

    /// Ends a `subscriptions/listen` that the host cancels, without an answer.
    pub(super) fn stop_listening(&mut self, id: &Json) {
        if let Some(unheard) = self.listens.cancel(id) {
            self.let_go(unheard);
        }
    }

    /// Unsubscribes from resources that no request listens for.
    fn let_go(&mut self, uris: impl IntoIterator<Item = Box<str>>) {
        for uri in uris {
            if !self.listens.is_wanted(&uri) {
                self.own_requests.let_go(self.upstream.client(), uri);
            }
        }
    }

    /// Ends all open requests, when the bridge ends.
    pub(super) fn end_listening(&mut self) {
        for (id, result) in self.listens.end() {
            let result = self.dressed(&result, LISTEN);
            self.outbox.answer(Some(id.json()), &Answer::Result(result));
        }
    }
}

fn too_many() -> Answer {
    let words = "nothing is listened for: there are 100 such requests already, or 1000 resources in them\n\
                 hint: cancel one that is not needed any more";
    Answer::refusal(INVALID_PARAMS, words)
}
