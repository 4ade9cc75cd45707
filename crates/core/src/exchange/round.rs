//! One round of a stateless call: the type of a result, the input that the server asks for, and the params of
//! the next round once all input is there (multi round-trip requests, 2026-07-28).
//!
//! The server's `requestState` is sent back byte for byte and never read. Input of one round is not repeated
//! in the next.

use std::collections::BTreeMap;

use ridethrough_wire::message::Json;
use serde::Deserialize;

use super::Exchange;
use crate::failure::Delivery;
use crate::ids::QuestionId;
use crate::rule::Rule;

/// What a result of the stateless era says it is.
#[derive(Debug)]
pub(crate) enum RoundReply {
    /// The end of the call.
    Complete,
    /// The server needs this input first.
    InputRequired(Wanted),
    /// A type that the revision does not allow.
    Invalid(Rule),
    /// A type that the revision does not have. An extension of the caller may.
    Unknown,
}

/// The input that a server asks for.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Wanted {
    /// The requests, by keys that the server chose.
    #[serde(default)]
    pub(crate) input_requests: BTreeMap<String, InputRequest>,
    #[serde(default)]
    pub(crate) request_state: Option<Json>,
}

/// One question, in the form of a legacy server's request.
#[derive(Debug, Deserialize)]
pub(crate) struct InputRequest {
    pub(crate) method: Box<str>,
    #[serde(default)]
    pub(crate) params: Option<Json>,
}

/// The round that a call is in.
#[derive(Debug, Default)]
pub(crate) struct Round {
    /// The number of rounds so far, this one included.
    number: u32,
    /// The params before the first round.
    base: Option<Json>,
    state: Option<Json>,
    /// The inputs, by the question that asks the application.
    inputs: BTreeMap<QuestionId, Input>,
    /// How many inputs are missing.
    missing: usize,
    /// Whether the caller handles rounds itself, each by a call of its own.
    is_callers: bool,
}

#[derive(Debug)]
struct Input {
    key: String,
    given: Option<Json>,
}

impl RoundReply {
    /// Reads the type of a result. An absent type means complete; an undeclared one is invalid. That of a
    /// task is declared if our `capabilities` name the extension.
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
            (Some("input_required"), "prompts/get" | "resources/read" | "tools/call") => {
                match result.read::<Wanted>() {
                    None => Self::Invalid(Rule::AsksUnreadably),
                    Some(wanted) => wanted.checked(),
                }
            }
            (Some("input_required"), _) => Self::Invalid(Rule::AsksWhereNothingCanBeGiven),
            _ => Self::Unknown,
        }
    }
}

impl Wanted {
    /// Returns what the server asks for, or an error if that is nothing, or too much.
    fn checked(self) -> RoundReply {
        let bytes =
            |input: &InputRequest| input.params.as_ref().map_or(0, |it| it.as_bytes().len());
        let is_nothing = self.input_requests.is_empty() && self.request_state.is_none();
        let is_too_much = self.input_requests.len() > MOST_INPUTS
            || self.input_requests.values().map(bytes).sum::<usize>() > MOST_BYTES;
        if is_nothing {
            return RoundReply::Invalid(Rule::AsksForNothing);
        }
        if is_too_much {
            RoundReply::Invalid(Rule::AsksForTooMuch)
        } else {
            RoundReply::InputRequired(self)
        }
    }
}

/// Whether these params belong to a round.
fn has_round(params: &Json) -> bool {
    params.pick(OF_ROUND).iter().any(Option::is_some)
}

/// Returns the params before the caller's first round; `None` if this is the first.
fn without_round(params: &Json) -> Option<Json> {
    if !has_round(params) {
        return None;
    }
    let base = params.members().into_iter().filter(|(key, _)| !OF_ROUND.contains(&key.as_str()));
    Some(Json::empty_object().with_members(base))
}

/// Whether these capabilities declare that the client follows tasks.
fn declare_tasks(capabilities: &Json) -> bool {
    capabilities.member("extensions").is_some_and(|it| it.member(TASKS).is_some())
}

impl Exchange {
    /// Leaves the rounds to the caller. In a later round the server has already begun to run the call, and it
    /// is unknown how far it came.
    pub(crate) fn leave_rounds_to_caller(&mut self) {
        self.round.is_callers = true;
        if self.is_later_round() {
            self.counters.note(Delivery::Unknown);
        }
    }

    /// Whether the params are those of a round after the first.
    pub(crate) fn is_later_round(&self) -> bool {
        self.params.text().is_some_and(has_round)
    }
}

impl Round {
    /// Whether the caller handles rounds itself.
    pub(crate) const fn is_callers(&self) -> bool {
        self.is_callers
    }

    /// Returns the next round, unless there were too many.
    pub(crate) fn next(&self, params: Option<&Json>, state: Option<Json>) -> Option<Self> {
        let base = self.base.as_ref().or(params).cloned();
        let number = self.number + 1;
        let round = Self { number, base, state, ..Self::default() };
        (number <= MOST_ROUNDS).then_some(round)
    }

    /// Returns the params before the first round, for a call that begins again in an era without rounds. The
    /// rounds so far still count.
    pub(crate) fn leave(&mut self, params: Option<&Json>) -> Option<Json> {
        if self.is_callers {
            return params.and_then(without_round);
        }
        let Self { number, base, .. } = std::mem::take(self);
        self.number = number;
        base
    }

    /// Notes that the application is asked for an input.
    pub(crate) fn ask(&mut self, key: String, question: QuestionId) {
        self.inputs.insert(question, Input { key, given: None });
        self.missing += 1;
    }

    /// Notes the application's answer.
    pub(crate) fn give(&mut self, question: QuestionId, answer: Json) {
        if let Some(input) = self.inputs.get_mut(&question)
            && input.given.replace(answer).is_none()
        {
            self.missing -= 1;
        }
    }

    /// Returns the questions that the application was asked.
    pub(crate) fn questions(&self) -> impl Iterator<Item = QuestionId> {
        self.inputs.keys().copied()
    }

    /// Whether the call had no rounds.
    pub(crate) const fn is_none(&self) -> bool {
        self.number == 0
    }

    /// Whether the server asks for time and no input.
    pub(crate) fn is_pause(&self) -> bool {
        self.inputs.is_empty()
    }

    /// Returns the params of the next round; `None` while an input is missing.
    pub(crate) fn params(&self) -> Option<Json> {
        if self.missing > 0 {
            return None;
        }
        let given = self.inputs.values().filter_map(|it| Some((it.key.clone(), it.given.clone()?)));
        let given: Vec<_> = given.collect();
        let responses = (!given.is_empty()).then(|| Json::empty_object().with_members(given));
        let responses = responses.map(|it| (RESPONSES.to_owned(), it));
        let state = self.state.clone().map(|it| (STATE.to_owned(), it));
        let base = self.base.clone().unwrap_or_else(Json::empty_object);
        Some(base.with_members(responses.into_iter().chain(state)))
    }
}

/// The members that a round adds to the params of the call.
const RESPONSES: &str = "inputResponses";
const STATE: &str = "requestState";
const OF_ROUND: [&str; 2] = [RESPONSES, STATE];
/// The most rounds of one call.
const MOST_ROUNDS: u32 = 10;
/// The most inputs of one round: as many as a legacy server may have open questions.
const MOST_INPUTS: usize = 1000;
/// The most bytes in the questions of one round: a size that a person could be shown.
const MOST_BYTES: usize = 1 << 20;
/// The extension that a client declares if it follows tasks.
const TASKS: &str = "io.modelcontextprotocol/tasks";
