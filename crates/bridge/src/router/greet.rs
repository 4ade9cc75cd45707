//! `initialize` and `server/discover`, and what the upstream wants the host to be told.
//!
//! ```text
//!   host asks ──▶ waits ──upstream is there──────▶ greeted by the upstream
//!                   │ └────refused, or no server──▶ an error; the host may ask again
//!                   │
//!               2.5 s passed, or it cannot be reached
//!                   ▼
//!            greeted from the catalogue, or with the least that can be said
//!                   │
//!           upstream is there: lists that differ from what the host was shown are announced
//! ```

use ridethrough::Era;
use ridethrough_upstream::{Closing, Effect};
use ridethrough_wire::message::{Answer, Id, Json, notification};

use super::Router;
use crate::greeting::{self, Form, Greeting};

impl Router {
    pub(super) fn greet(&mut self, id: Id, params: Option<&Json>) {
        self.meet(Era::Legacy);
        if let Some(identity) = self.host.initialize(params) {
            self.upstream.introduce(identity);
        }
        self.await_greeting(id, Form::Initialize(greeting::revision(params)));
    }

    /// Answers the host when the upstream is reached, or when the time is over.
    pub(super) fn await_greeting(&mut self, id: Id, form: Form) {
        // Hosts do not ask twice at once, but if one does, each request is answered.
        if self.greeting.is_some() {
            self.greet_without_upstream();
        }
        self.greeting = Some(Greeting::new(id, form));
        if self.upstream.server().is_some() {
            self.greet_from_upstream();
        } else if self.upstream.is_login_needed() {
            // Some hosts restart a server that shows no tools. This answer costs the upstream no request.
            self.greet_without_upstream();
        } else {
            self.upstream.reach();
        }
    }

    /// Does what the upstream asks for.
    pub(super) fn carry_out(&mut self) {
        while let Some(effect) = self.upstream.next_effect() {
            match effect {
                Effect::Absent => self.greet_without_upstream(),
                Effect::ListChanged(method) => self.announce(method, None),
                Effect::PageOver(closing) => self.close_page(closing),
                Effect::Reached => {
                    self.own_requests.tell_level(&self.upstream);
                    if self.greeting.is_some() {
                        self.greet_from_upstream();
                    } else {
                        self.upstream.catch_up();
                    }
                }
                Effect::Refused(refusal) => {
                    if let Some(Greeting { id, .. }) = self.greeting.take() {
                        self.outbox.answer(Some(id.json()), &refusal);
                    }
                }
                Effect::ShowPage { purpose, id, page } if self.host.shows_pages() => {
                    self.upstream.page_sent(purpose);
                    self.outbox.own_request(&id, "elicitation/create", &page);
                }
                // Such a host has the page in the answers to its calls.
                Effect::ShowPage { .. } => {}
            }
        }
    }

    /// Answers a host that waits from the catalogue, or with a minimal greeting.
    pub(super) fn greet_without_upstream(&mut self) {
        let Some(Greeting { id, form, .. }) = self.greeting.take() else { return };
        let kept = self.upstream.describe_without();
        let result = kept.map_or_else(|| form.minimal(), |kept| form.dressed(&kept));
        self.outbox.answer(Some(id.json()), &Answer::Result(result));
    }

    fn greet_from_upstream(&mut self) {
        let Some(said) = self.upstream.describe() else { return };
        let Some(Greeting { id, form, .. }) = self.greeting.take() else { return };
        self.outbox.answer(Some(id.json()), &Answer::Result(form.dressed(&said)));
    }

    /// Tells the host that a page is over.
    fn close_page(&mut self, closing: Closing) {
        if let Some(id) = closing.withdrawn {
            let params = Json::from(serde_json::json!({
                "requestId": id, "reason": "the login is over",
            }));
            self.outbox.notification(notification::CANCELLED, Some(&params));
        }
        if let Some(id) = closing.completed {
            let params = Json::from(serde_json::json!({ "elicitationId": id }));
            self.outbox.notification(notification::ELICITATION_COMPLETE, Some(&params));
        }
    }
}
