//! Questions of the backend in the middle of a stateless call: asked, held, answered, and everything that a
//! client could do with a `requestState` that is not its own.

use std::time::Duration;

use bytes::Bytes;
use http::Request;
use http_body_util::Full;
use serde_json::{Value, json};

use crate::rig::{Puppet, Rig, able, ask, by_another, call};

#[tokio::test(start_paused = true)]
async fn a_question_is_the_answer_and_the_call_goes_on_when_the_client_is_back() {
    let mut rig = Rig::new();
    let mut puppet = rig.shared(json!({})).await;

    let asked = rig.begin_to_send(call(1));
    let heard = puppet.hear().await;
    puppet.ask("q1").await;
    puppet.ask("q2").await;
    let mut asked = asked.await.unwrap();
    assert_eq!(asked.status, 200);
    let asked = asked.json().await;
    let result = &asked["result"];
    assert_eq!((&asked["id"], &result["resultType"]), (&json!(1), &json!("input_required")));
    let question = json!({"method": "elicitation/create", "params": {"message": "who?", "requestedSchema": {"type": "object"}}});
    assert_eq!(result["inputRequests"], json!({"1": question, "2": question}));

    let answers =
        json!({"1": {"action": "accept", "content": {"n": 1}}, "2": {"action": "decline"}});
    let again = rig.begin_to_send(back(2, result["requestState"].as_str().unwrap(), answers));
    for (id, action) in [("q1", "accept"), ("q2", "decline")] {
        let told = puppet.hear().await;
        assert_eq!((&told["id"], &told["result"]["action"]), (&json!(id), &json!(action)));
    }
    puppet.answer(&heard["id"], json!({"done": true})).await;

    let done = again.await.unwrap().json().await;
    assert_eq!((&done["id"], &done["result"]["done"]), (&json!(2), &json!(true)));
    assert_eq!(puppet.hear_now().await, None, "nothing was sent twice");
}

#[tokio::test(start_paused = true)]
async fn a_second_round_and_a_question_without_an_answer_are_asked_again() {
    let mut rig = Rig::new();
    let mut puppet = rig.shared(json!({})).await;
    let (heard, state) = asked(&mut rig, &mut puppet).await;

    let again = rig.begin_to_send(back(2, &state, json!({})));
    let second = again.await.unwrap().json().await["result"].clone();
    assert_eq!(second["inputRequests"].as_object().unwrap().len(), 1);
    assert_ne!(second["requestState"], state);
    let third = second["requestState"].as_str().unwrap();
    let done = rig.begin_to_send(back(3, third, json!({"1": {"action": "accept"}})));
    assert_eq!(puppet.hear().await["id"], "q");
    puppet.ask("another").await;
    let asked = done.await.unwrap().json().await["result"].clone();
    assert_eq!(asked["inputRequests"].as_object().unwrap().keys().collect::<Vec<_>>(), ["2"]);

    puppet.answer(&heard["id"], json!({})).await;
    let last = back(4, asked["requestState"].as_str().unwrap(), json!({"2": {"action": "cancel"}}));
    assert_eq!(rig.send(last).await.json().await["result"]["resultType"], "complete");
}

#[tokio::test(start_paused = true)]
async fn a_question_after_progress_ends_the_stream_with_it() {
    let mut rig = Rig::new();
    let mut puppet = rig.shared(json!({})).await;
    let mut stream = rig.send(call(1)).await;
    puppet.hear().await;
    assert_eq!(stream.header("content-type"), Some("text/event-stream"));

    puppet.ask("q").await;

    assert_eq!(stream.last().await["result"]["resultType"], "input_required");
}

#[tokio::test(start_paused = true)]
async fn a_state_that_was_forged_or_changed_is_refused() {
    let mut rig = Rig::new();
    let mut puppet = rig.shared(json!({})).await;
    let (_, state) = asked(&mut rig, &mut puppet).await;
    let flipped = format!("{}{}", if state.starts_with('0') { "1" } else { "0" }, &state[1..]);
    for forged in ["", "1", "0123", &flipped, &state[2..], &format!("{state}00"), &"a".repeat(5000)]
    {
        refused(&rig, back(2, forged, json!({"1": {}})), "is not known here").await;
    }
    let number = able(json!({"name": "t", "arguments": {"a": 1}, "requestState": 7}));
    refused(&rig, ask(2, "tools/call", number), "is not known here").await;
    assert_eq!(puppet.hear_now().await, None, "nothing of it reached the backend");
}

#[tokio::test(start_paused = true)]
async fn a_state_in_the_hands_of_another_principal_is_refused_and_stays_good_for_its_own() {
    let mut rig = Rig::new();
    let mut puppet = rig.shared(json!({})).await;
    let (heard, state) = asked(&mut rig, &mut puppet).await;
    let theirs = rig.begin_to_send(by_another(back(2, &state, json!({"1": {"action": "accept"}}))));
    let mut other = rig.puppet().await;
    other.greet(json!({})).await;
    let mut theirs = theirs.await.unwrap();
    assert_eq!(theirs.status, 400);
    assert!(theirs.text().await.contains("is not known here"));
    assert_eq!((puppet.hear_now().await, other.hear_now().await), (None, None));

    let ours = rig.begin_to_send(back(3, &state, json!({"1": {"action": "accept"}})));
    assert_eq!(puppet.hear().await["result"]["action"], "accept");
    puppet.answer(&heard["id"], json!({})).await;
    assert_eq!(ours.await.unwrap().status, 200);
}

#[tokio::test(start_paused = true)]
async fn a_state_is_good_for_its_own_params_alone() {
    let mut rig = Rig::new();
    let mut puppet = rig.shared(json!({})).await;
    let (_, state) = asked(&mut rig, &mut puppet).await;
    let with = |params: Value| {
        let mut params = able(params);
        params["requestState"] = state.clone().into();
        params
    };

    let other = with(json!({"name": "t", "arguments": {"a": 2}}));
    refused(&rig, ask(2, "tools/call", other), "with other params").await;
    let other = with(json!({"name": "t", "arguments": {"a": 1}}));
    refused(&rig, ask(2, "prompts/get", other), "with other params").await;
    assert_eq!(puppet.hear_now().await, None);
}

#[tokio::test(start_paused = true)]
async fn a_state_is_used_once_also_by_two_at_once() {
    let mut rig = Rig::new();
    let mut puppet = rig.shared(json!({})).await;
    let (heard, state) = asked(&mut rig, &mut puppet).await;
    let answers = json!({"1": {"action": "accept"}});

    let one = rig.begin_to_send(back(2, &state, answers.clone()));
    assert_eq!(puppet.hear().await["id"], "q");
    refused(&rig, back(3, &state, answers.clone()), "was used before").await;
    puppet.answer(&heard["id"], json!({})).await;
    assert_eq!(one.await.unwrap().status, 200);

    refused(&rig, back(4, &state, answers), "was used before").await;
    assert_eq!(puppet.hear_now().await, None);
}

#[tokio::test(start_paused = true)]
async fn a_client_that_never_comes_back_costs_a_call_for_ten_minutes() {
    let mut rig = Rig::new();
    let mut puppet = rig.shared(json!({})).await;
    let (heard, state) = asked(&mut rig, &mut puppet).await;

    tokio::time::sleep(Duration::from_secs(599)).await;
    assert_eq!(puppet.hear_now().await, None);
    let refused_question = puppet.hear().await;
    assert_eq!(
        (&refused_question["id"], &refused_question["error"]["code"]),
        (&json!("q"), &json!(-32603))
    );
    let cancelled = puppet.hear().await;
    assert_eq!(cancelled["params"]["requestId"], heard["id"]);

    refused(&rig, back(2, &state, json!({"1": {}})), "came too late").await;
}

#[tokio::test(start_paused = true)]
async fn a_client_that_leaves_after_it_was_asked_has_cancelled_nothing() {
    let mut rig = Rig::new();
    let mut puppet = rig.shared(json!({})).await;
    let (heard, state) = asked(&mut rig, &mut puppet).await;
    // An answer of the backend is kept meanwhile.
    puppet.answer(&heard["id"], json!({"n": 7})).await;
    tokio::time::sleep(Duration::from_secs(60)).await;

    let done = rig.send(back(2, &state, json!({"1": {"action": "accept"}}))).await.json().await;

    assert_eq!((&done["id"], &done["result"]["n"]), (&json!(2), &json!(7)));
}

#[tokio::test(start_paused = true)]
async fn a_client_is_not_asked_what_it_has_not_declared() {
    let mut rig = Rig::new();
    let mut puppet = rig.shared(json!({})).await;
    for (is_error, status) in [(true, 400), (false, 200)] {
        let answer = rig.begin_to_send(ask(1, "tools/call", json!({"name": "t"})));
        let heard = puppet.hear().await;
        puppet.ask("q").await;
        assert_eq!(puppet.hear().await["error"]["code"], -32601);
        if is_error {
            puppet.refuse(&heard["id"], -32603).await;
        } else {
            puppet.answer(&heard["id"], json!({"isError": true})).await;
        }

        let mut answer = answer.await.unwrap();
        assert_eq!(answer.status.as_u16(), status);
        let answer = answer.json().await;
        if is_error {
            assert_eq!(answer["error"]["code"], -32021);
            let required = &answer["error"]["data"]["requiredCapabilities"];
            assert_eq!(*required, json!({"elicitation": {"form": {}}}));
        } else {
            assert_eq!(answer["result"]["isError"], true);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn questions_that_belong_to_no_call_are_answered_at_once() {
    let mut rig = Rig::new();
    let mut puppet = rig.shared(json!({})).await;

    puppet.ask("q").await;
    assert_eq!(puppet.hear().await["error"]["code"], -32601);
    puppet.say(json!({"jsonrpc": "2.0", "id": "p", "method": "ping"})).await;
    assert_eq!(puppet.hear().await["result"], json!({}));

    // Only three methods may be answered with a question.
    let list = rig.begin_to_send(ask(1, "tools/list", able(json!({}))));
    let heard = puppet.hear().await;
    puppet.ask("q").await;
    assert_eq!(puppet.hear().await["id"], "q");
    puppet.answer(&heard["id"], json!({"tools": []})).await;
    assert_eq!(list.await.unwrap().status, 200);
}

#[tokio::test(start_paused = true)]
async fn a_question_goes_to_the_call_that_the_backend_names() {
    let mut rig = Rig::new();
    let mut puppet = rig.shared(json!({})).await;
    let one = rig.begin_to_send(call(1));
    let first = puppet.hear().await;
    let two = rig.begin_to_send(call(2));
    let second = puppet.hear().await;

    let question = json!({"jsonrpc": "2.0", "id": "q", "method": "roots/list"});
    puppet.say_about(&first["id"], question).await;

    let asked = one.await.unwrap().json().await;
    assert_eq!(asked["result"]["inputRequests"]["1"], json!({"method": "roots/list"}));
    puppet.answer(&second["id"], json!({})).await;
    assert_eq!(two.await.unwrap().json().await["result"]["resultType"], "complete");
}

#[tokio::test(start_paused = true)]
async fn a_principal_that_never_comes_back_keeps_no_other_from_being_asked() {
    let mut rig = Rig::new();
    let mut puppet = rig.shared(json!({})).await;
    for _ in 0..250 {
        asked(&mut rig, &mut puppet).await;
    }

    let too_much = rig.begin_to_send(call(1));
    let heard = puppet.hear().await;
    puppet.ask("one more").await;
    let refused = puppet.hear().await;
    puppet.answer(&heard["id"], json!({"unasked": true})).await;
    assert_eq!((&refused["id"], &refused["error"]["code"]), (&json!("one more"), &json!(-32603)));
    assert_eq!(too_much.await.unwrap().last().await["result"]["unasked"], true);

    let theirs = rig.begin_to_send(by_another(call(1)));
    let mut other = rig.puppet().await;
    other.greet(json!({})).await;
    other.hear().await;
    other.ask("q").await;
    assert_eq!(theirs.await.unwrap().json().await["result"]["resultType"], "input_required");
}

/// Makes a call that asks one question. Returns the call as the backend heard it, and its state.
pub(crate) async fn asked(rig: &mut Rig, puppet: &mut Puppet) -> (Value, String) {
    let asked = rig.begin_to_send(call(1));
    let heard = puppet.hear().await;
    puppet.ask("q").await;
    let asked = asked.await.unwrap().json().await;
    (heard, asked["result"]["requestState"].as_str().unwrap().to_owned())
}

/// Returns the call again, with answers.
pub(crate) fn back(id: u64, state: &str, responses: Value) -> Request<Full<Bytes>> {
    let params = json!({"name": "t", "arguments": {"a": 1}, "requestState": state, "inputResponses": responses});
    ask(id, "tools/call", able(params))
}

async fn refused(rig: &Rig, request: Request<Full<Bytes>>, why: &str) {
    let mut answer = rig.send(request).await;
    assert_eq!(answer.status, 400);
    let error = answer.json().await["error"].clone();
    assert_eq!(error["code"], -32602);
    assert!(error["message"].as_str().unwrap().contains(why), "{error}");
}
