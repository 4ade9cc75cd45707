//! Questions that the caller was asked and has not answered, each under a number of the conversation's own: two
//! servers may use one number, and the gateway asks, too.

use std::collections::BTreeMap;
use std::sync::Arc;

use ridethrough::event::QuestionId;
use ridethrough_wire::message::{Answer, Json};
use tokio::sync::oneshot;

use crate::upstreams::Link;

/// The questions that wait for an answer.
#[derive(Default)]
pub(crate) struct Questions {
    open: BTreeMap<u64, Questioner>,
    last: u64,
}

/// Whose question it is.
pub(crate) enum Questioner {
    /// The gateway's own, by its key.
    Gateway(u64, oneshot::Sender<Answer>),
    /// A server's.
    Server(Arc<Link>, QuestionId),
}

impl Questioner {
    /// Whether two questions are of one server, or both of the gateway.
    fn is_of_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Server(one, _), Self::Server(other, _)) => Arc::ptr_eq(one, other),
            (Self::Gateway(..), Self::Gateway(..)) => true,
            _ => false,
        }
    }
}

impl Questions {
    /// Gives a question its number; `None` if there are too many of the one who asks.
    pub(crate) fn ask(&mut self, questioner: Questioner) -> Option<u64> {
        if self.open.values().filter(|it| it.is_of_same(&questioner)).count() >= MOST {
            return None;
        }
        self.last += 1;
        self.open.insert(self.last, questioner);
        Some(self.last)
    }

    /// Passes the caller's answer on. An answer to nothing is ignored.
    pub(crate) fn answer(&mut self, number: u64, answer: Answer) {
        match self.open.remove(&number) {
            // Nobody may wait for it any more.
            Some(Questioner::Gateway(_, waiting)) => drop(waiting.send(answer)),
            Some(Questioner::Server(link, question)) => link.answer(question, answer),
            None => {}
        }
    }

    /// Takes a question of a server back. Returns its number, if the caller was asked it.
    pub(crate) fn withdraw(&mut self, link: &Arc<Link>, question: QuestionId) -> Option<u64> {
        self.withdraw_where(|it| match it {
            Questioner::Gateway(..) => false,
            Questioner::Server(asker, id) => Arc::ptr_eq(asker, link) && *id == question,
        })
    }

    /// Takes a question of the gateway back. Returns its number, if it is open.
    pub(crate) fn withdraw_own(&mut self, key: u64) -> Option<u64> {
        self.withdraw_where(|it| matches!(it, Questioner::Gateway(own, _) if *own == key))
    }

    fn withdraw_where(&mut self, is_it: impl Fn(&Questioner) -> bool) -> Option<u64> {
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

/// Whether a client with these capabilities can show a person a URL.
pub(crate) fn can_show_pages(capabilities: &Json) -> bool {
    capabilities.member("elicitation").is_some_and(|it| it.member("url").is_some())
}

/// The most questions of one server that are open: a person answers few at once.
const MOST: usize = 100;
