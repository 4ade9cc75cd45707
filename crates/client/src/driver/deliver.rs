//! Delivering the server's messages: to a call, a reader of notifications, a handler, or the inbox.

use ridethrough_core::{Delivered, QuestionId};
use ridethrough_wire::message::Answer;
use ridethrough_wire::message::code;
use ridethrough_wire::message::notification;

use super::Driver;
use super::mailbox::NotTaken;
use super::questions::Taking;

impl Driver {
    /// Hands a message of the server to its reader.
    pub(super) fn deliver(&mut self, delivered: Delivered) {
        match &delivered {
            Delivered::Notification { exchange, method, params } => {
                // The cache learns of it first, because a reader may ask again at once.
                self.cache.notified(method, params.as_ref());
                match (exchange, &**method) {
                    (Some(exchange), notification::PROGRESS) => {
                        self.callers.progressed(*exchange, params.as_ref());
                    }
                    _ => self.tell_listeners(&delivered),
                }
                self.put_into_inbox(delivered);
            }
            Delivered::Question { question, method, params, .. } => {
                let question = *question;
                match self.questions.take(question, method, params.as_ref()) {
                    Taking::Begun => {}
                    Taking::NoHandler => self.put_into_inbox(delivered),
                    Taking::NoRoom => self.refuse(question, TOO_BUSY),
                }
            }
            Delivered::Withdrawn { question } => {
                if !self.questions.withdraw(*question) {
                    self.put_into_inbox(delivered);
                }
            }
        }
    }

    fn tell_listeners(&mut self, delivered: &Delivered) {
        let room = self.limits.link;
        self.listeners.retain(|listener| {
            !matches!(listener.put(delivered.clone(), room), Err(NotTaken::NobodyReads))
        });
    }

    /// Puts a message into the inbox. A question that cannot be put there is refused, because the server may
    /// wait for its answer before it answers a call.
    fn put_into_inbox(&mut self, delivered: Delivered) {
        let question = match &delivered {
            Delivered::Question { question, .. } => Some(*question),
            _ => None,
        };
        let refusal = match &self.inbox {
            None => NOBODY_ANSWERS,
            Some(inbox) => match inbox.put(delivered, self.limits.link) {
                Ok(()) => return,
                Err(NotTaken::Full) => TOO_BUSY,
                Err(NotTaken::NobodyReads) => NOBODY_ANSWERS,
            },
        };
        if let Some(question) = question {
            self.refuse(question, refusal);
        }
    }

    fn refuse(&mut self, question: QuestionId, (code, words): (i64, &str)) {
        self.link.answer(self.clock.now(), question, &Answer::refusal(code, words));
    }
}

const NOBODY_ANSWERS: (i64, &str) = (-32601, "Method not found");
const TOO_BUSY: (i64, &str) = (code::SERVER_ERROR, "too many requests at once");
