//! The inputs that a task asks for while it goes on.
//!
//! A question goes to its handler once, however often the server repeats it, because its key is used once in
//! the life of a task; it goes there again only if it was withdrawn before it was answered. Answers are sent
//! together, since a server need not accept them one by one.

use std::collections::BTreeMap;

use ridethrough_wire::message::{Answer, Json};
use serde::Deserialize;
use tokio::sync::oneshot;
use tokio::task::{AbortHandle, Id, JoinSet};

use super::super::Client;
use crate::driver::DriverCommand;
use crate::model::{TaskState, TaskStatus};

/// The questions of one task. Dropping them aborts their handlers.
#[derive(Debug, Default)]
pub(super) struct Inputs {
    /// How often a handler was asked.
    times: usize,
    questions: BTreeMap<String, InputQuestion>,
    running: JoinSet<(String, Answer)>,
}

#[derive(Debug)]
enum InputQuestion {
    Asked(AbortHandle),
    Given(Json),
    /// The server has the answer.
    Over,
}

/// Why questions cannot be answered.
pub(super) enum Unanswerable {
    /// There is no handler for the question, or the handler refused.
    Refused(String),
    /// There are too many questions, or their keys are too long.
    TooMany,
}

#[derive(Deserialize)]
struct AskedInput {
    method: Box<str>,
    #[serde(default)]
    params: Option<Json>,
}

impl Inputs {
    /// Takes in the server's current questions, and withdraws those that it no longer asks.
    pub(super) async fn take(
        &mut self,
        client: &Client,
        state: &TaskState,
    ) -> Result<(), Unanswerable> {
        let asked = match state.status {
            TaskStatus::InputRequired => requests(&state.json),
            _ => BTreeMap::new(),
        };
        // A question that comes back is asked again, because it was not answered.
        self.questions.retain(|key, question| match question {
            InputQuestion::Asked(handler) if !asked.contains_key(key) => {
                handler.abort();
                false
            }
            _ => true,
        });
        for (key, asked) in asked {
            if !self.questions.contains_key(&key) {
                let unreadable = || "a request in `inputRequests` cannot be read".to_owned();
                let asked = asked.ok_or_else(|| Unanswerable::Refused(unreadable()))?;
                self.ask(client, key, asked).await?;
            }
        }
        Ok(())
    }

    async fn ask(
        &mut self,
        client: &Client,
        key: String,
        asked: AskedInput,
    ) -> Result<(), Unanswerable> {
        if self.times >= MOST || key.len() > LONGEST_KEY {
            return Err(Unanswerable::TooMany);
        }
        self.times += 1;
        let AskedInput { method, params } = asked;
        let (reply, answering) = oneshot::channel();
        let nobody = format!("nobody answers `{method}` here");
        client.command(DriverCommand::Handler { method, params, reply });
        let Some(answering) = answering.await.ok().flatten() else {
            return Err(Unanswerable::Refused(nobody));
        };
        let named = key.clone();
        let handler = self.running.spawn(async move { (named, answering.await) });
        self.questions.insert(key, InputQuestion::Asked(handler));
        Ok(())
    }

    /// Waits for the next answer of a handler; for ever, if no handler runs.
    pub(super) async fn next(&mut self) -> (String, Answer) {
        loop {
            match self.running.join_next_with_id().await {
                Some(Ok((handler, answer))) if self.waits_for(handler, &answer.0) => return answer,
                // The question was withdrawn.
                Some(_) => {}
                None => std::future::pending().await,
            }
        }
    }

    fn waits_for(&self, handler: Id, key: &str) -> bool {
        let question = self.questions.get(key);
        matches!(question, Some(InputQuestion::Asked(asked)) if asked.id() == handler)
    }

    /// Keeps an answer until it is sent.
    pub(super) fn keep(&mut self, key: &str, answer: Answer) -> Result<(), Unanswerable> {
        match (self.questions.get_mut(key), answer) {
            (Some(question @ InputQuestion::Asked(_)), Answer::Result(json)) => {
                *question = InputQuestion::Given(json);
            }
            (Some(InputQuestion::Asked(_)), refusal @ Answer::Error(_)) => {
                let words = refusal.error().unwrap_or_default().message;
                return Err(Unanswerable::Refused(words));
            }
            // The server has withdrawn the question meanwhile.
            _ => {}
        }
        Ok(())
    }

    /// Returns the inputs to send, if all questions are answered.
    pub(super) fn complete(&self) -> Option<Json> {
        let is_asked = |question: &InputQuestion| matches!(question, InputQuestion::Asked(_));
        if self.questions.values().any(is_asked) {
            return None;
        }
        let given = self.questions.iter().filter_map(|(key, question)| match question {
            InputQuestion::Given(json) => Some((key.clone(), json.clone())),
            _ => None,
        });
        let given: Vec<_> = given.collect();
        (!given.is_empty()).then(|| Json::empty_object().with_members(given))
    }

    /// Notes that the server has the inputs.
    pub(super) fn sent(&mut self) {
        for question in self.questions.values_mut() {
            if matches!(question, InputQuestion::Given(_)) {
                *question = InputQuestion::Over;
            }
        }
    }
}

/// Returns the questions by key; the value is `None` if a question cannot be read.
fn requests(state: &Json) -> BTreeMap<String, Option<AskedInput>> {
    let members = state.member("inputRequests").map(|it| it.members()).unwrap_or_default();
    members.into_iter().map(|(key, asked)| (key, asked.read())).collect()
}

/// The most questions of one task. Their keys are kept for as long as the task is followed.
const MOST: usize = 1000;
const LONGEST_KEY: usize = 1024;
