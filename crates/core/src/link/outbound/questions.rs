//! Questions: requests of the server that wait for the application's answer.

use ridethrough_wire::message::{Id, Json};

use super::Outbound;
use crate::ids::{ExchangeId, Generation, QuestionId};
use crate::link::context::Context;
use crate::output::Delivered;

/// A request of the server that waits for the application's answer.
#[derive(Clone, Debug)]
pub(crate) struct Question {
    pub(crate) id: Id,
    pub(crate) generation: Generation,
    pub(crate) exchange: Option<ExchangeId>,
}

/// What becomes of a new question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NewQuestion {
    /// The application gets it, under this number.
    Asked(QuestionId),
    /// It is open already.
    Known,
    /// Too many are open.
    TooMany,
}

impl Outbound {
    /// Withdraws a question that the server has cancelled.
    pub(crate) fn question_cancelled(
        &mut self,
        cx: &mut Context,
        generation: Generation,
        params: Option<&Json>,
    ) {
        let Some(named) = params.and_then(|params| params.member("requestId")) else { return };
        self.withdraw_questions(cx, |question| {
            question.generation == generation && *question.id.json() == named
        });
    }

    /// Withdraws questions whose answers are no longer wanted.
    pub(crate) fn withdraw_questions(
        &mut self,
        cx: &mut Context,
        is_void: impl Fn(&Question) -> bool,
    ) {
        let void: Vec<QuestionId> =
            self.questions.iter().filter(|(_, each)| is_void(each)).map(|(id, _)| *id).collect();
        for question in void {
            self.questions.remove(&question);
            cx.deliver(Delivered::Withdrawn { question });
        }
    }

    /// Takes in a question of the server.
    pub(crate) fn question_came(&mut self, question: Question) -> NewQuestion {
        let is_known =
            |known: &Question| known.id == question.id && known.generation == question.generation;
        if self.questions.values().any(is_known) {
            return NewQuestion::Known;
        }
        // An answer to every question that the application gets must go out, so those on their way count too.
        if self.questions.len() + self.answers >= MOST_QUESTIONS {
            return NewQuestion::TooMany;
        }
        let number = self.next_question();
        self.questions.insert(number, question);
        NewQuestion::Asked(number)
    }

    /// Takes a question that the application has answered.
    pub(crate) fn take_question(&mut self, question: QuestionId) -> Option<Question> {
        self.questions.remove(&question)
    }
}

/// The most questions that may be open at once. A server that asks more is told so.
const MOST_QUESTIONS: usize = 1000;
