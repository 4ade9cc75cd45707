//! Questions to a host that is never sent a request: each is the answer to the call that it belongs to.

use std::sync::Arc;
use std::time::Duration;

use ridethrough_lab::{Ask, Round, Spoken, Times, When};
use serde_json::{Value, json};

use crate::modern::{both, host, modern, patient_host};
use crate::rig::{Rig, doubt_in, secs};

#[tokio::test(start_paused = true)]
async fn what_a_call_asks_for_is_its_answer_and_the_next_request_goes_on_with_it() {
    for (rig, is_stateless) in both().into_iter().zip([false, true]) {
        asks(&rig, is_stateless);
        let mut host = host(&rig);

        let asked = host.asked(1, "tools/call", call(json!({}))).await["result"].clone();

        assert_eq!(asked["resultType"], "input_required", "{asked}");
        assert_eq!(server(&asked), "ridethrough-lab");
        let (key, question) = only(&asked["inputRequests"]);
        assert_eq!(question["method"], "elicitation/create");
        assert_eq!(question["params"]["message"], "who?");
        let given = json!({key: {"action": "accept", "content": {"name": "me"}}});
        let round = json!({"requestState": asked["requestState"], "inputResponses": given});
        let called = host.asked(2, "tools/call", call(round)).await;
        assert_eq!(called["result"]["resultType"], "complete", "{called}");
        assert_eq!(rig.mcp.executions("deploy"), 1);
        assert!(host.hear_for(secs(60)).await.is_empty(), "and nothing else");
    }
}

#[tokio::test(start_paused = true)]
async fn calls_that_are_suspended_at_once_do_not_mix() {
    let rig = Rig::new();
    rig.mcp.rule(When::tool("deploy"), Times::Always, |ask| async {
        let who = ask.arguments()["who"].clone();
        ask_and_answer(ask, &[json!({"message": who})]).await;
    });
    let mut host = host(&rig);
    let begin = |who: &str| modern(json!({"name": "deploy", "arguments": {"who": who}}));
    host.ask(1, "tools/call", begin("one")).await;
    host.ask(2, "tools/call", begin("two")).await;

    let mut rounds = [host.hear_json().await, host.hear_json().await];
    rounds.sort_by_key(|it| it["id"].as_u64());
    let shown = rounds
        .each_ref()
        .map(|it| only(&it["result"]["inputRequests"]).1["params"]["message"].clone());
    assert_eq!(shown, ["one", "two"]);
    // The second call continues first.
    for (round, who) in rounds.iter().zip(["one", "two"]).rev() {
        let (key, _) = only(&round["result"]["inputRequests"]);
        let given = json!({key: {"action": "accept", "content": {"name": who}}});
        let mut params = begin(who);
        params["requestState"] = round["result"]["requestState"].clone();
        params["inputResponses"] = given;
        let called = host.asked(3, "tools/call", params).await;
        assert_eq!(called["result"]["said"][0]["content"]["name"], who, "{called}");
    }
}

#[tokio::test(start_paused = true)]
async fn questions_that_come_at_once_are_one_answer_and_a_missing_one_is_asked_again() {
    let rig = Rig::new();
    rig.mcp.rule(When::tool("deploy"), Times::Once, |ask| async {
        ask_and_answer(ask, &[json!({"message": "a"}), json!({"message": "b"})]).await;
    });
    let mut host = host(&rig);

    let first = host.asked(1, "tools/call", call(json!({}))).await["result"].clone();
    let asked = first["inputRequests"].as_object().unwrap();
    assert_eq!(asked.len(), 2);
    let (key, _) = asked.iter().find(|(_, it)| it["params"]["message"] == "a").unwrap();
    let round = json!({"requestState": first["requestState"], "inputResponses": {key: {"action": "decline"}}});
    let second = host.asked(2, "tools/call", call(round)).await["result"].clone();

    let (key, question) = only(&second["inputRequests"]);
    assert_eq!(question["params"]["message"], "b");
    assert_ne!(first["requestState"], second["requestState"]);
    let round = json!({"requestState": second["requestState"], "inputResponses": {key: {"action": "cancel"}}});
    let called = host.asked(3, "tools/call", call(round)).await;
    let said = called["result"]["said"].as_array().unwrap();
    let mut actions: Vec<_> = said.iter().map(|it| it["action"].as_str().unwrap()).collect();
    actions.sort_unstable();
    assert_eq!(actions, ["cancel", "decline"]);
}

#[tokio::test(start_paused = true)]
async fn a_state_is_good_once_and_not_for_ever() {
    let rig = Rig::new();
    rig.mcp.rule(When::tool("deploy"), Times::Always, |ask| async {
        ask_and_answer(ask, &[json!({"message": "who?"})]).await;
    });
    // The call's own time must not end first.
    let mut host = patient_host(&rig);
    let asked = host.asked(1, "tools/call", call(json!({}))).await["result"].clone();
    let (key, _) = only(&asked["inputRequests"]);
    let round = json!({"requestState": asked["requestState"], "inputResponses": {key: {"action": "accept"}}});

    assert!(host.asked(2, "tools/call", call(round.clone())).await["result"].is_object());
    let again = host.asked(3, "tools/call", call(round)).await["result"].clone();
    let late = host.asked(4, "tools/call", call(json!({}))).await["result"].clone();
    tokio::time::sleep(secs(601)).await;
    let round = json!({"requestState": late["requestState"], "inputResponses": {}});
    let late = host.asked(5, "tools/call", call(round)).await["result"].clone();

    for doubt in [again, late] {
        assert_eq!(doubt["_meta"]["ridethrough/doubt"]["mayHaveRun"], true, "{doubt}");
        assert_eq!(doubt["resultType"], "complete", "{doubt}");
        let words = doubt["content"][0]["text"].as_str().unwrap();
        assert!(words.contains("its `requestState` is used up"), "{words}");
    }
    assert_eq!(rig.count(When::tool("deploy")), 2, "nothing was run for them");
    assert_eq!(
        rig.count(When::notification("notifications/cancelled")),
        1,
        "the late one was given up"
    );
}

#[tokio::test(start_paused = true)]
async fn a_call_that_ends_while_its_host_is_away_is_answered_when_it_is_back() {
    let rig = Rig::new();
    rig.mcp.rule(When::tool("deploy"), Times::Once, |ask| async {
        let mut sse = ask.sse().await;
        sse.message(None, &question(1, &json!({"message": "who?"}))).await;
        tokio::time::sleep(secs(5)).await;
        sse.answer_and_finish(json!({"content": [], "late": true})).await;
    });
    let mut host = host(&rig);
    let asked = host.asked(1, "tools/call", call(json!({}))).await["result"].clone();

    assert!(host.hear_for(secs(60)).await.is_empty(), "the host was answered");
    let round = json!({"requestState": asked["requestState"], "inputResponses": {}});
    let called = host.asked(2, "tools/call", call(round)).await;

    assert_eq!(called["result"]["late"], true, "{called}");
    assert_eq!(called["result"]["resultType"], "complete");
}

#[tokio::test(start_paused = true)]
async fn what_a_host_does_not_offer_is_refused() {
    let rig = Rig::new();
    rig.mcp.rule(When::tool("deploy"), Times::Once, |ask| async {
        let mcp = ask.mcp().clone();
        let mut sse = ask.sse().await;
        let params = json!({"messages": [], "maxTokens": 1});
        let asked = json!({"jsonrpc": "2.0", "id": "q", "method": "sampling/createMessage", "params": params});
        sse.message(None, &asked).await;
        answers(&mcp, 1).await;
        sse.answer_and_finish(json!({"content": []})).await;
    });
    let mut host = host(&rig);

    let called = host.asked(1, "tools/call", call(json!({}))).await;

    assert_eq!(called["result"]["resultType"], "complete", "{called}");
    let refused: Value = serde_json::from_str(&rig.bodies(&When::response())[0]).unwrap();
    assert_eq!(refused["error"]["code"], -32601);
}

/// A question on the standing stream does not say which call it belongs to.
#[tokio::test(start_paused = true)]
async fn a_question_beside_a_call_is_taken_for_that_of_the_only_one_and_refused_if_there_are_two() {
    let rig = Rig::new();
    rig.mcp.rule(When::tool("deploy"), Times::Always, |ask| async {
        ask.sse().await.gone().await;
    });
    let mut host = host(&rig);
    host.asked(1, "server/discover", modern(json!({}))).await;
    tokio::time::sleep(secs(1)).await;

    rig.mcp.push(question(1, &json!({"message": "nobody?"}))).await;
    tokio::time::sleep(secs(1)).await;
    assert_eq!(rig.count(When::response()), 1, "there is no call");
    host.ask(2, "tools/call", call(json!({}))).await;
    tokio::time::sleep(secs(1)).await;
    rig.mcp.push(question(2, &json!({"message": "who?"}))).await;
    let asked = host.hear_json().await;
    assert_eq!(
        (&asked["id"], &asked["result"]["resultType"]),
        (&json!(2), &json!("input_required"))
    );
    host.ask(3, "tools/call", call(json!({}))).await;
    tokio::time::sleep(secs(1)).await;
    rig.mcp.push(question(3, &json!({"message": "which?"}))).await;
    assert!(host.hear_for(secs(10)).await.is_empty());
    assert_eq!(rig.count(When::response()), 2, "nobody knows which of the two");
}

#[tokio::test(start_paused = true)]
async fn a_host_that_leaves_is_not_kept_by_a_call_that_it_was_asked_about() {
    let rig = Rig::new();
    rig.mcp.rule(When::tool("deploy"), Times::Once, |ask| async {
        ask_and_answer(ask, &[json!({"message": "who?"})]).await;
    });
    let mut host = host(&rig);
    host.asked(1, "tools/call", call(json!({}))).await;
    let began = tokio::time::Instant::now();

    host.finish_writing().await;

    assert!(host.rest().await.is_empty());
    assert!(began.elapsed() < Duration::from_millis(400), "nobody waits for that call");
}

/// The older revision has an error for this, which the stateless one does not allow.
#[tokio::test(start_paused = true)]
async fn a_page_that_must_be_visited_first_is_asked_for_and_then_the_call_is_made_again() {
    let rig = Rig::new();
    rig.mcp.rule(When::tool("deploy"), Times::Once, |ask| async {
        let page =
            json!({"mode": "url", "elicitationId": "e", "url": "https://a.b", "message": "log in"});
        let error = json!({"code": -32042, "message": "visit", "data": {"elicitations": [page]}});
        let answer = json!({"jsonrpc": "2.0", "id": ask.id(), "error": error});
        ask.json(answer.to_string()).await;
    });
    let mut host = host(&rig);
    let call = |round| {
        let mut params = call(round);
        params["_meta"]["io.modelcontextprotocol/clientCapabilities"] =
            json!({"elicitation": {"url": {}}});
        params
    };

    let asked = host.asked(1, "tools/call", call(json!({}))).await["result"].clone();
    let (key, page) = only(&asked["inputRequests"]);
    assert_eq!(page["params"]["url"], "https://a.b", "{asked}");
    assert_eq!(server(&asked), "ridethrough-lab");
    let declined = json!({"inputResponses": {key: {"action": "decline"}}});
    let declined = host.asked(2, "tools/call", call(declined)).await;
    let visited = json!({"inputResponses": {key: {"action": "accept"}}});
    let visited = host.asked(3, "tools/call", call(visited)).await;

    assert_eq!(declined["error"]["code"], -32603, "{declined}");
    assert_eq!(visited["result"]["resultType"], "complete", "{visited}");
    assert_eq!(rig.mcp.executions("deploy"), 1);
}

/// A server that keeps no state returns none, and its host comes back with answers alone.
#[tokio::test(start_paused = true)]
async fn a_later_round_without_a_state_does_not_begin_a_call_anew_in_a_session() {
    for given in [json!({"action": "accept", "content": {}}), json!({"roots": []})] {
        let rig = Rig::new();
        rig.mcp.speaks(Spoken::Modern);
        let input = json!({"who": {"method": "elicitation/create", "params": {"message": "who?"}}});
        rig.mcp.asks_for_input("deploy", vec![Round { input: Some(input), state: None }]);
        let mut host = host(&rig);
        let asked = host.asked(1, "tools/call", call(json!({}))).await;
        rig.mcp.speaks(Spoken::Legacy);
        host.asked(2, "tools/list", modern(json!({}))).await;

        let round = json!({"inputResponses": {"who": given}});
        let ended = host.asked(3, "tools/call", call(round)).await;

        assert_eq!(asked["result"]["resultType"], "input_required", "{asked}");
        let data = doubt_in(&ended);
        assert_eq!(
            (&data["kind"], &data["mayHaveRun"]),
            (&json!("interrupted"), &json!(true)),
            "{ended}"
        );
        assert_eq!(rig.mcp.executions("deploy"), 0);
    }
}

#[tokio::test(start_paused = true)]
async fn a_state_is_good_for_no_other_call_than_its_own() {
    let rig = Rig::new();
    rig.mcp.rule(When::tool("deploy"), Times::Once, |ask| async {
        ask_and_answer(ask, &[json!({"message": "who?"})]).await;
    });
    let mut host = host(&rig);
    let begin = json!({"arguments": {"to": "production", "n": 1}});
    let asked = host.asked(1, "tools/call", call(begin)).await["result"].clone();
    let (key, _) = only(&asked["inputRequests"]);
    let round = |method: &str, params: Value| {
        let mut params = modern(params);
        params["requestState"] = asked["requestState"].clone();
        params["inputResponses"] = json!({key: {"action": "accept"}});
        params["_meta"]["progressToken"] = json!(method);
        params
    };

    let other = json!({"name": "deploy", "arguments": {"to": "staging", "n": 1}});
    let params = host.asked(2, "tools/call", round("tools/call", other)).await;
    let same = json!({"arguments": {"to": "production", "n": 1}, "name": "deploy"});
    let method = host.asked(3, "prompts/get", round("prompts/get", same.clone())).await;
    let own = host.asked(4, "tools/call", round("tools/call", same)).await;

    for refused in [params, method] {
        assert_eq!(refused["error"]["code"], -32602, "{refused}");
        let words = refused["error"]["message"].as_str().unwrap();
        assert!(words.contains("another call") && words.contains("hint: "), "{words}");
    }
    assert_eq!(own["result"]["resultType"], "complete", "{own}");
    assert_eq!((rig.count(When::tool("deploy")), rig.count(When::method("prompts/get"))), (1, 0));
}

/// Makes `deploy` ask who, once, in the form of its era.
fn asks(rig: &Rig, is_stateless: bool) {
    if is_stateless {
        let input = json!({"who": {"method": "elicitation/create", "params": {"message": "who?"}}});
        let round = Round { input: Some(input), state: Some("s".into()) };
        return rig.mcp.asks_for_input("deploy", vec![round]);
    }
    rig.mcp.rule(When::tool("deploy"), Times::Once, |ask| async {
        ask.run();
        ask_and_answer(ask, &[json!({"message": "who?"})]).await;
    });
}

/// Asks these questions in a call, all at once, and ends it with their answers.
async fn ask_and_answer(ask: Ask, questions: &[Value]) {
    let mcp = ask.mcp().clone();
    let tag = ask.id().to_string();
    let mut sse = ask.sse().await;
    for (number, params) in questions.iter().enumerate() {
        let mut asked = question(0, params);
        asked["id"] = json!(format!("{tag}-{number}"));
        sse.message(None, &asked).await;
    }
    let mine = Arc::new(move |said: &Value| {
        said["id"].as_str().is_some_and(|id| id.starts_with(&format!("{tag}-")))
    });
    let said = loop {
        let bodies = mcp.log().iter().map(|entry| entry.body.to_vec()).collect::<Vec<_>>();
        let said = bodies.iter().filter_map(|body| serde_json::from_slice::<Value>(body).ok());
        let said: Vec<_> = said.filter(|it| mine(it) && it["method"].is_null()).collect();
        if said.len() == questions.len() {
            break said;
        }
        tokio::time::sleep(secs(1)).await;
    };
    let said: Vec<_> = said.iter().map(|it| it["result"].clone()).collect();
    sse.answer_and_finish(json!({"content": [], "said": said})).await;
}

pub(crate) async fn answers(mcp: &ridethrough_lab::Mcp, count: usize) {
    while mcp.count(&When::response()) < count {
        tokio::time::sleep(secs(1)).await;
    }
}

pub(crate) fn question(number: u64, params: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": number, "method": "elicitation/create", "params": params})
}

pub(crate) fn call(mut round: Value) -> Value {
    round["name"] = json!("deploy");
    modern(round)
}

/// Returns the name of the server in a result.
fn server(result: &Value) -> &Value {
    &result["_meta"]["io.modelcontextprotocol/serverInfo"]["name"]
}

fn only(asked: &Value) -> (&str, &Value) {
    let asked = asked.as_object().expect("something is asked");
    assert_eq!(asked.len(), 1, "{asked:?}");
    let (key, question) = asked.iter().next().unwrap();
    (key, question)
}
