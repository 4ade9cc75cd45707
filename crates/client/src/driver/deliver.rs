//! What the server says, handed to whoever is there for it: a call, a reader, a handler, the inbox.

use ridethrough_core::message::Answer;
use ridethrough_core::message::code;
use ridethrough_core::message::notification;
use ridethrough_core::{Delivered, QuestionId};

use super::Driver;
use super::mailbox::NotTaken;
use super::questions::Taking;

impl Driver {
    /// Hands something of the server's to whoever reads it.
    pub(super) fn deliver(&mut self, delivered: Delivered) {
        match &delivered {
            Delivered::Notification { exchange, method, params } => {
                // Before anybody hears of it: whoever does will ask again.
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

    /// A question never stays without an answer: the server may wait for it before it answers us.
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
