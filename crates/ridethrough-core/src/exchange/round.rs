//! One round of a stateless call: what a result says it is, what the server asks for, and the params of
//! the next round once everything was given (multi round-trip requests, 2026-07-28).
//!
//! What the server wants to find again, its `requestState`, is sent back byte for byte and read by
//! nobody. What was given in one round is not repeated in the next.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::ids::QuestionId;
use crate::message::Json;

/// What a result of the stateless era says it is.
#[derive(Debug)]
pub(crate) enum Reply {
    /// The end of the call.
    Complete,
    /// The server needs this first.
    InputRequired(Wanted),
    /// Nothing that the revision allows.
    Invalid(&'static str),
}

/// What a server asks for.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Wanted {
    /// By keys of the server's choice.
    #[serde(default)]
    pub(crate) input_requests: BTreeMap<String, InputRequest>,
    #[serde(default)]
    pub(crate) request_state: Option<Json>,
}

/// One question, as a legacy server would have asked it.
#[derive(Debug, Deserialize)]
pub(crate) struct InputRequest {
    pub(crate) method: Box<str>,
    #[serde(default)]
    pub(crate) params: Option<Json>,
}

/// What a call is being asked for.
#[derive(Debug, Default)]
pub(crate) struct Round {
    /// Rounds so far, this one included.
    number: u32,
    /// The params before the first round.
    base: Option<Json>,
    state: Option<Json>,
    inputs: BTreeMap<String, Input>,
}

#[derive(Debug)]
enum Input {
    Asked(QuestionId),
    Given(Json),
}

impl Reply {
    /// Reads a result. Absent means complete; a type that nobody declared is invalid, and that of a task
    /// is declared by these capabilities of ours, or not.
    pub(crate) fn of(method: &str, result: &Json, capabilities: &Json) -> Self {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Kinded {
            #[serde(default)]
            result_type: Option<String>,
        }

        let kind = result.read::<Kinded>().and_then(|it| it.result_type);
        match (kind.as_deref(), method) {
            (None | Some("complete"), _) => Self::Complete,
            (Some("task"), "tools/call") if declare_tasks(capabilities) => Self::Complete,
            (Some("input_required"), "prompts/get" | "resources/read" | "tools/call") => result
                .read()
                .map_or(Self::Invalid("it asks for input in no readable way"), Self::InputRequired),
            (Some("input_required"), _) => {
                Self::Invalid("it asks for input where none can be given")
            }
            _ => Self::Invalid("the result is of a type that nobody declared"),
        }
    }
}

/// Whether these capabilities of a client say that it follows tasks.
fn declare_tasks(capabilities: &Json) -> bool {
    capabilities.member("extensions").is_some_and(|it| it.member(TASKS).is_some())
}

impl Round {
    /// The next round, unless there were too many.
    pub(crate) fn next(&self, params: Option<&Json>, state: Option<Json>) -> Option<Self> {
        let base = self.base.as_ref().or(params).cloned();
        let number = self.number + 1;
        (number <= MOST_ROUNDS).then_some(Self { number, base, state, inputs: BTreeMap::new() })
    }

    /// The call begins anew, in an era without rounds: its params are those before the first one. The
    /// rounds that it had still count.
    pub(crate) fn leave(&mut self) -> Option<Json> {
        let Self { number, base, .. } = std::mem::take(self);
        self.number = number;
        base
    }

    /// The application is asked for this.
    pub(crate) fn ask(&mut self, key: String, question: QuestionId) {
        self.inputs.insert(key, Input::Asked(question));
    }

    /// The application has answered.
    pub(crate) fn give(&mut self, question: QuestionId, answer: Json) {
        let is_meant = |input: &Input| matches!(input, Input::Asked(asked) if *asked == question);
        if let Some(input) = self.inputs.values_mut().find(|input| is_meant(input)) {
            *input = Input::Given(answer);
        }
    }

    /// Whether the call has gone through without any.
    pub(crate) const fn is_none(&self) -> bool {
        self.number == 0
    }

    /// Whether the server asks for nothing but time.
    pub(crate) fn is_pause(&self) -> bool {
        self.inputs.is_empty()
    }

    /// The params to go on with; `None` as long as something is missing.
    pub(crate) fn params(&self) -> Option<Json> {
        let mut given = Vec::new();
        for (key, input) in &self.inputs {
            let Input::Given(json) = input else { return None };
            given.push((key.clone(), json.clone()));
        }
        let responses = (!given.is_empty()).then(|| Json::empty_object().with_members(given));
        let responses = responses.map(|it| ("inputResponses".to_owned(), it));
        let state = self.state.clone().map(|it| ("requestState".to_owned(), it));
        let base = self.base.clone().unwrap_or_else(Json::empty_object);
        Some(base.with_members(responses.into_iter().chain(state)))
    }
}

/// A conversation, not a loop.
const MOST_ROUNDS: u32 = 10;
/// The extension that a client declares if it follows tasks.
const TASKS: &str = "io.modelcontextprotocol/tasks";
