//! Questions of servers that the caller was asked and has not answered, each under a number of the
//! conversation's own: two servers may use one number.

use std::collections::BTreeMap;
use std::sync::Arc;

use ridethrough::event::QuestionId;
use ridethrough_core::message::{Answer, Json};

use crate::upstreams::Link;

/// The questions that wait for an answer.
#[derive(Default)]
pub(crate) struct Questions {
    open: BTreeMap<u64, (Arc<Link>, QuestionId)>,
    last: u64,
}

impl Questions {
    /// Gives a question its number; `None` if there are too many.
    pub(crate) fn ask(&mut self, link: Arc<Link>, question: QuestionId) -> Option<u64> {
        if self.open.len() == MOST {
            return None;
        }
        self.last += 1;
        self.open.insert(self.last, (link, question));
        Some(self.last)
    }

    /// Passes the caller's answer on. An answer to nothing is ignored.
    pub(crate) fn answer(&mut self, number: u64, answer: Answer) {
        if let Some((link, question)) = self.open.remove(&number) {
            link.answer(question, answer);
        }
    }

    /// Takes a question back. Returns its number, if the caller was asked it.
    pub(crate) fn withdraw(&mut self, link: &Arc<Link>, question: QuestionId) -> Option<u64> {
        let is_it =
            |(asker, id): &(Arc<Link>, QuestionId)| Arc::ptr_eq(asker, link) && *id == question;
        let number = self.open.iter().find(|(_, it)| is_it(it)).map(|(number, _)| *number)?;
        self.open.remove(&number);
        Some(number)
    }
}

/// Whether a client with these capabilities can be asked this.
pub(crate) fn can_be_asked(method: &str, capabilities: &Json) -> bool {
    let needed = match method {
        "elicitation/create" => "elicitation",
        "roots/list" => "roots",
        "sampling/createMessage" => "sampling",
        // `ping`, and what later revisions have.
        _ => return true,
    };
    capabilities.member(needed).is_some()
}

/// A person answers few at once.
const MOST: usize = 1000;
