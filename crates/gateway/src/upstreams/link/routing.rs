//! Which conversation a message of a server goes to.
//!
//! | message | goes to |
//! |---|---|
//! | of a call | the conversation that made the call, and no other |
//! | an update of a resource, a task or a page | those that asked for it |
//! | a log of no call | the only call under way; without one, all that use the link, if they are one principal's |
//! | a question of no call | the newest call under way, if one conversation uses the link; without a call, that conversation |
//! | any other | all that use the link, if they are one principal's |

use std::collections::BTreeSet;
use std::sync::Arc;

use ridethrough::call::ExchangeId;
use ridethrough::event::{Answer, Delivered};
use ridethrough_server::Aside;
use ridethrough_wire::message::{Json, ListKind, code, is_within, notification};

use super::{FromServer, Link, Listener, MessageSender, Users};

impl Link {
    /// Passes a message of the server on.
    pub(super) fn hear(self: &Arc<Self>, delivered: Delivered, listener: &impl Listener) {
        match &delivered {
            // It names the server's id of a question. `Withdrawn` says it by the client's id.
            Delivered::Notification { method, .. } if &**method == notification::CANCELLED => {}
            Delivered::Notification { method, .. } if is_list_change(method) => {
                let changed = ListKind::ALL.into_iter().filter(|it| it.changed() == &**method);
                changed.for_each(|kind| listener.list_changed(self, kind));
            }
            Delivered::Notification { method, params, .. }
                if &**method == notification::RESOURCE_UPDATED =>
            {
                let uri = member(params.as_ref(), "uri");
                let is_meant = |wanted: &str| is_within(&uri, wanted);
                self.to_those(&delivered, |users| concerned(&users.subscriptions, is_meant));
            }
            Delivered::Notification { method, params, .. } if &**method == TASK_STATUS => {
                let id = member(params.as_ref(), "taskId");
                self.to_those(&delivered, |users| concerned(&users.tasks, |it| it == id));
            }
            Delivered::Notification { method, params, .. }
                if &**method == notification::ELICITATION_COMPLETE =>
            {
                let id = member(params.as_ref(), "elicitationId");
                self.to_those(&delivered, |users| concerned(&users.pages, |it| it == id));
            }
            Delivered::Notification { exchange: Some(exchange), .. } => {
                let exchange = *exchange;
                self.to_caller(exchange, delivered);
            }
            Delivered::Notification { method, .. } if &**method == notification::LOG => {
                self.log(delivered);
            }
            Delivered::Notification { .. } => self.to_one_principal(&delivered),
            Delivered::Withdrawn { question } => {
                self.when_placed(*question, || {});
                self.to_all(&delivered);
            }
            Delivered::Question { question, exchange, .. } => {
                let (question, exchange) = (*question, *exchange);
                if !self.ask(exchange, delivered) {
                    let why = "nobody here can be asked that";
                    self.answer(question, Answer::refusal(code::METHOD_NOT_FOUND, why));
                }
            }
        }
    }

    /// Passes a question on. Returns whether somebody got it.
    fn ask(self: &Arc<Self>, exchange: Option<ExchangeId>, delivered: Delivered) -> bool {
        let call = {
            let users = self.users();
            let found = match exchange {
                Some(_) => users.calls.iter().find(|(_, it)| it.track.exchange() == exchange),
                // Nothing says which call it belongs to.
                None if users.conversations.len() == 1 => users.calls.last_key_value(),
                None => return false,
            };
            found.map(|(number, call)| (*number, call.conversation, call.aside.clone()))
        };
        match call {
            Some((number, conversation, aside)) => {
                self.step_aside(number, &delivered);
                self.show_page(conversation, &delivered);
                self.to_conversation(conversation, delivered, aside)
            }
            None if exchange.is_some() => false,
            None => {
                let only = self.users().conversations.first_key_value().map(|(number, _)| *number);
                only.is_some_and(|conversation| {
                    self.show_page(conversation, &delivered);
                    self.to_conversation(conversation, delivered, None)
                })
            }
        }
    }

    /// Lets others have the place of a call while its caller is asked. A question that nobody gets is answered
    /// by the gateway, which brings the call back.
    fn step_aside(&self, call: u64, delivered: &Delivered) {
        let Delivered::Question { question, .. } = delivered else { return };
        let mut users = self.users();
        let Some(place) = users.calls.get(&call).map(|it| it.place.clone()) else { return };
        users.questions.insert(*question, call);
        place.question_asked();
    }

    /// Records which page a question shows, if it shows one.
    fn show_page(&self, conversation: u64, delivered: &Delivered) {
        let Delivered::Question { params: Some(params), .. } = delivered else { return };
        if let Some(id) = params.member("elicitationId").and_then(|it| it.read::<String>()) {
            self.follow_page(conversation, &id);
        }
    }

    /// Passes a log on that names no call.
    fn log(self: &Arc<Self>, delivered: Delivered) {
        let only = {
            let users = self.users();
            let mut calls = users.calls.values();
            let only = calls.next().filter(|_| users.calls.len() == 1);
            only.map(|call| (call.conversation, call.aside.clone()))
        };
        match only {
            Some((conversation, aside)) => {
                self.to_conversation(conversation, delivered, aside);
            }
            None => self.to_one_principal(&delivered),
        }
    }

    fn to_caller(self: &Arc<Self>, exchange: ExchangeId, delivered: Delivered) {
        let found = {
            let users = self.users();
            let call = users.calls.values().find(|it| it.track.exchange() == Some(exchange));
            call.map(|call| (call.conversation, call.aside.clone()))
        };
        if let Some((conversation, aside)) = found {
            self.to_conversation(conversation, delivered, aside);
        }
    }

    fn to_conversation(
        self: &Arc<Self>,
        conversation: u64,
        delivered: Delivered,
        call: Option<Aside>,
    ) -> bool {
        let mailbox = self.users().conversations.get(&conversation).cloned();
        mailbox.is_some_and(|mailbox| self.put(&mailbox, delivered, call))
    }

    /// Passes on what may be about the call of any principal that uses the link.
    fn to_one_principal(self: &Arc<Self>, delivered: &Delivered) {
        if !self.is_for_all {
            self.to_all(delivered);
        }
    }

    fn to_all(self: &Arc<Self>, delivered: &Delivered) {
        self.to_those(delivered, |users| users.conversations.keys().copied().collect());
    }

    fn to_those(
        self: &Arc<Self>,
        delivered: &Delivered,
        those: impl FnOnce(&Users) -> BTreeSet<u64>,
    ) {
        let mailboxes: Vec<_> = {
            let users = self.users();
            let those = those(&users);
            those.iter().filter_map(|it| users.conversations.get(it).cloned()).collect()
        };
        for mailbox in mailboxes {
            self.put(&mailbox, delivered.clone(), None);
        }
    }

    /// A conversation that does not read loses what comes: the link never waits for it.
    fn put(
        self: &Arc<Self>,
        mailbox: &MessageSender,
        delivered: Delivered,
        call: Option<Aside>,
    ) -> bool {
        let message = FromServer { link: self.clone(), delivered, call };
        mailbox.try_send(Box::new(message)).is_ok()
    }
}

/// Returns the conversations that follow what is meant.
fn concerned(followed: &BTreeSet<(String, u64)>, is_meant: impl Fn(&str) -> bool) -> BTreeSet<u64> {
    followed.iter().filter(|(it, _)| is_meant(it)).map(|(_, conversation)| *conversation).collect()
}

fn member(params: Option<&Json>, name: &str) -> String {
    params.and_then(|it| it.member(name)?.read()).unwrap_or_default()
}

fn is_list_change(method: &str) -> bool {
    ListKind::ALL.into_iter().any(|kind| kind.changed() == method)
}

/// The notification of a task that has changed.
const TASK_STATUS: &str = "notifications/tasks/status";
