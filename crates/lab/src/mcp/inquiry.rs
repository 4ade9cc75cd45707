//! Tools that need input before they run: round after round, each a request of its own.
//!
//! ```text
//!   call ──▶ input_required, state 1 ──call with state 1 and what was asked──▶ ... ──▶ runs
//! ```
//! The server remembers nothing between the rounds: how far a call is, is read from the state that the
//! client brings back.

use serde::Deserialize;
use serde_json::{Value, json};

/// What a tool asks for in one round.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Round {
    /// The requests to the client, by key; without any the client only comes back.
    pub input: Option<Value>,
    /// What the client has to bring back as it is.
    pub state: Option<String>,
}

/// What becomes of a call.
pub(super) enum InquiryStep {
    /// This is its result: more is needed.
    Ask(Value),
    /// Nothing is missing.
    Run,
    /// What it brought is not what was asked for.
    Wrong(&'static str),
}

/// What a call with these parameters leads to.
pub(super) fn next(rounds: &[Round], params: &Value) -> InquiryStep {
    let Some(done) = rounds_done(rounds, params) else {
        return InquiryStep::Wrong("Unknown requestState, or inputResponses that do not fit it");
    };
    match rounds.get(done) {
        Some(round) => InquiryStep::Ask(asked(round)),
        None => InquiryStep::Run,
    }
}

/// The first capability that the coming round needs and the client has not.
pub(super) fn missing<'a>(
    rounds: &'a [Round],
    params: &Value,
    capabilities: &Value,
) -> Option<&'a str> {
    let round = rounds.get(rounds_done(rounds, params)?)?;
    let requests = round.input.as_ref()?.as_object()?;
    let needed =
        requests.values().filter_map(|request| request["method"].as_str()?.split('/').next());
    let mut missing = needed.filter(|capability| capabilities[*capability].is_null());
    missing.next()
}

/// How many rounds are behind a call; `None` if it brings what nobody asked for.
fn rounds_done(rounds: &[Round], params: &Value) -> Option<usize> {
    let (state, responses) = (params["requestState"].as_str(), &params["inputResponses"]);
    if state.is_none() && responses.is_null() {
        return Some(0);
    }
    let is_answered = |round: &Round| {
        let keys = round.input.iter().filter_map(Value::as_object).flat_map(|it| it.keys());
        keys.into_iter().all(|key| responses.get(key).is_some())
    };
    let is_it = |round: &Round| round.state.as_deref() == state && is_answered(round);
    rounds.iter().position(is_it).map(|place| place + 1)
}

fn asked(round: &Round) -> Value {
    let mut result = json!({"resultType": "input_required"});
    if let Some(input) = &round.input {
        result["inputRequests"] = input.clone();
    }
    if let Some(state) = &round.state {
        result["requestState"] = state.as_str().into();
    }
    result
}
