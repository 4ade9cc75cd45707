//! Tools that need input before they run, in rounds that are each a request of their own.
//!
//! ```text
//!   call ──▶ input_required, state 1 ──call with state 1 and what was asked──▶ ... ──▶ runs
//! ```
//! The server remembers nothing between the rounds: it reads how far a call is from the state that the client
//! sends back.

use serde::Deserialize;
use serde_json::{Value, json};

/// What a tool asks for in one round.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Round {
    /// The requests to the client, by key; without any, the client only sends the state back.
    pub input: Option<Value>,
    /// The state that the client must send back unchanged.
    pub state: Option<String>,
}

/// What happens next to a call.
pub(super) enum InquiryStep {
    /// It is answered with this request for input.
    Ask(Value),
    /// It has all its input and runs.
    Run,
    /// It brought something that was not asked for.
    Wrong(&'static str),
}

/// Returns the next step of a call with these parameters.
pub(super) fn next(rounds: &[Round], params: &Value) -> InquiryStep {
    let Some(done) = rounds_done(rounds, params) else {
        return InquiryStep::Wrong("Unknown requestState, or inputResponses that do not fit it");
    };
    match rounds.get(done) {
        Some(round) => InquiryStep::Ask(asked(round)),
        None => InquiryStep::Run,
    }
}

/// Returns the first capability that the next round needs and the client does not have.
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

/// Returns how many rounds a call has completed; `None` if it brings something that was not asked for.
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
