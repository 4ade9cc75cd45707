//! Outbound messages without an answer of their own, called notices: notifications, cancellations, answers to
//! the server's questions.
//!
//! ```text
//!   notices     each notice, from its first attempt to its single end
//!   sending     how each goes out, or what it waits for
//!   turns       the application's notifications go out a few at a time
//!   crowd       what becomes of all notices when the link, the session or the credentials change
//!   questions   the server's questions that wait for the application's answer
//! ```

mod crowd;
mod notices;
mod questions;
mod sending;
mod turns;

pub(crate) use questions::{NewQuestion, Question};

use std::collections::BTreeMap;

use crate::ids::{NoticeId, QuestionId};

use notices::Notice;
use turns::Turns;

/// The notices that are on their way to the server, and the server's open questions.
#[derive(Debug, Default)]
pub(crate) struct Outbound {
    notices: BTreeMap<NoticeId, Notice>,
    /// How many of the notices are answers to the server.
    answers: usize,
    /// The notifications that are out, and those that wait for their turn.
    turns: Turns,
    /// The questions that the application has yet to answer.
    questions: BTreeMap<QuestionId, Question>,
    last_notice: NoticeId,
    last_question: QuestionId,
}

impl Outbound {
    /// Returns a number for the server's next question.
    pub(crate) fn next_question(&mut self) -> QuestionId {
        self.last_question = self.last_question.next();
        self.last_question
    }

    fn next_notice(&mut self) -> NoticeId {
        self.last_notice = self.last_notice.next();
        self.last_notice
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.notices.is_empty()
    }

    /// Whether a notice waits for the server to be reached.
    pub(crate) fn awaits_link(&self) -> bool {
        self.notices.values().any(|it| it.waits_for_link() || it.waits_for_session())
    }

    pub(crate) fn awaits_session(&self) -> bool {
        self.notices.values().any(Notice::waits_for_session)
    }
}
