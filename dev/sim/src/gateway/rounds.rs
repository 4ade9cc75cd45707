//! An application that goes through the rounds of a stateless call by itself, and tries what it must not do:
//! to answer twice, with an altered state, for another call, or as another principal.

use std::time::Duration;

use ridethrough::{Client, Error, Json};
use serde_json::{Value, json};

use super::plan::GatewayCall;
use super::site::call_of;
use super::told::by_gateway;
use crate::world::told::Told;

/// Makes a call whose tool asks something, until it has its outcome.
pub(super) async fn go_through(call: &GatewayCall) -> Told {
    let mut round = Round { state: None, answers: None };
    for _ in 0..MOST_ROUNDS {
        let result = match round.send(call, &call.caller.client, &call.tool.name).await {
            Ok(result) => result,
            Err(error) => return by_gateway(Err(error)),
        };
        let said: Value = serde_json::from_str(result.as_str()).unwrap_or_default();
        if said["resultType"] != "input_required" {
            return by_gateway(Ok(result));
        }
        let Some(answers) = answer(call, &said).await else {
            // A person who never answers: the application forgets the call.
            return Told::TakenBack;
        };
        round = Round {
            state: said["requestState"].as_str().map(str::to_owned),
            answers: Some(answers),
        };
        try_tricks(call, &round).await;
        if call.tricks.answers_twice {
            return twice(call, &round).await;
        }
    }
    Told::ServerError("it never stops asking".to_owned())
}

/// What is sent in one round.
#[derive(Clone)]
struct Round {
    state: Option<String>,
    answers: Option<Value>,
}

impl Round {
    async fn send(&self, call: &GatewayCall, client: &Client, name: &str) -> Result<Json, Error> {
        let params = call.order.params_of(name, "");
        let mut params: Value = serde_json::from_str(&params).expect("written as JSON");
        if let Some(state) = &self.state {
            params["requestState"] = state.as_str().into();
        }
        if let Some(answers) = &self.answers {
            params["inputResponses"] = answers.clone();
        }
        let request = client.request("tools/call", Json::from(params)).timeout(call.deadline);
        request.passing_input().await
    }
}

/// Returns the answers to all questions, when the person has given them.
async fn answer(call: &GatewayCall, said: &Value) -> Option<Value> {
    let asked = said["inputRequests"].as_object().cloned().unwrap_or_default();
    let mut answers = json!({});
    for (key, question) in asked {
        let of = question["params"]["message"].as_str().and_then(call_of);
        let person = call.record.asked(call.caller.number, of);
        tokio::time::sleep(person.takes?).await;
        answers[key] = if person.declines {
            json!({"action": "decline"})
        } else {
            json!({"action": "accept", "content": {"call": of}})
        };
    }
    Some(answers)
}

/// Tries what must be refused, and must not harm the call.
async fn try_tricks(call: &GatewayCall, round: &Round) {
    let Some(state) = round.state.clone() else { return };
    let client = &call.caller.client;
    if call.tricks.alters_state {
        let mut altered = state.clone().into_bytes();
        let at = altered.len() / 2;
        altered[at] = if altered[at] == b'0' { b'1' } else { b'0' };
        let altered = Round { state: String::from_utf8(altered).ok(), ..round.clone() };
        must_fail(call, "an altered state", altered.send(call, client, &call.tool.name).await);
    }
    if call.tricks.changes_params {
        let other = format!("{}x", call.tool.name);
        must_fail(call, "a state of another call", round.send(call, client, &other).await);
    }
    if let Some(stranger) = call.stranger.as_ref().filter(|_| call.tricks.is_foreign) {
        let sent = round.send(call, &stranger.client, &call.tool.name).await;
        must_fail(call, "a state of another principal", sent);
    }
}

fn must_fail(call: &GatewayCall, what: &str, result: Result<Json, Error>) {
    call.record.count("tricks");
    if let Ok(result) = result {
        let what = format!("call {}: {what} was answered {}", call.order.call, result.as_str());
        call.record.broken("a state is good for its own call, once", what);
    }
}

/// Sends the answers twice, one a moment after the other.
async fn twice(call: &GatewayCall, round: &Round) -> Told {
    call.record.count("tricks");
    let (client, name) = (&call.caller.client, &call.tool.name);
    let first = round.send(call, client, name);
    let second = async {
        tokio::time::sleep(Duration::from_millis(call.order.call % 50)).await;
        round.send(call, client, name).await
    };
    let (first, second) = tokio::join!(first, second);
    if let (Ok(one), Ok(other)) = (&first, &second) {
        let what = format!("call {}: {} and {}", call.order.call, one.as_str(), other.as_str());
        call.record.broken("a state is good for its own call, once", what);
    }
    // The network decides which of them is first.
    by_gateway(if first.is_ok() { first } else { second.or(first) })
}

/// More than the tools of these worlds ask for.
const MOST_ROUNDS: usize = 5;
