//! Questions that a host of the stateless revision is not shown, or does not answer: the server that asked
//! them does not wait for ever.

use std::time::Duration;

use ridethrough_lab::{Times, When};
use serde_json::{Value, json};

use crate::modern::{host, modern, patient_host};
use crate::modern_rounds::{answers, call, question};
use crate::rig::{Host, Rig, secs};

#[tokio::test(start_paused = true)]
async fn a_question_beside_a_call_is_refused_when_the_call_ends_without_it() {
    let rig = Rig::new();
    let mut host = calling(&rig, secs(60)).await;
    rig.mcp.push(question(1, &json!({"message": "who?"}))).await;
    let asked = host.hear_json().await["result"].clone();
    assert_eq!(asked["resultType"], "input_required", "{asked}");

    tokio::time::sleep(secs(90)).await;

    assert_eq!(refused(&rig), [1]);
    let round = call(json!({"requestState": asked["requestState"], "inputResponses": {}}));
    let called = host.asked(3, "tools/call", round).await;
    assert_eq!(called["result"]["resultType"], "complete", "{called}");
}

#[tokio::test(start_paused = true)]
async fn a_question_beside_a_call_is_refused_when_the_host_takes_the_call_back() {
    let rig = Rig::new();
    let mut host = calling(&rig, HOUR).await;
    rig.mcp.push(question(1, &json!({"message": "who?"}))).await;

    host.cancel(2).await;

    assert!(host.hear_for(secs(10)).await.is_empty());
    assert_eq!(refused(&rig), [1]);
}

#[tokio::test(start_paused = true)]
async fn a_question_beside_a_call_is_refused_when_the_host_does_not_come_back() {
    let rig = Rig::new();
    let mut host = calling(&rig, HOUR).await;
    rig.mcp.push(question(1, &json!({"message": "who?"}))).await;
    let asked = host.hear_json().await;
    assert_eq!(asked["result"]["resultType"], "input_required", "{asked}");

    tokio::time::sleep(secs(601)).await;

    assert_eq!(refused(&rig), [1]);
    assert_eq!(rig.count(When::notification("notifications/cancelled")), 1, "the call, too");
}

/// Only three methods may be answered by questions.
#[tokio::test(start_paused = true)]
async fn a_question_of_a_call_that_may_not_be_asked_is_refused() {
    let rig = Rig::new();
    rig.mcp.rule(When::method("tools/list"), Times::Once, |ask| async {
        let mcp = ask.mcp().clone();
        let mut sse = ask.sse().await;
        sse.message(None, &question(1, &json!({"message": "who?"}))).await;
        answers(&mcp, 1).await;
        sse.answer_and_finish(json!({"tools": []})).await;
    });
    let mut host = host(&rig);

    let listed = host.asked(1, "tools/list", modern(json!({}))).await;

    assert_eq!(listed["result"]["resultType"], "complete", "{listed}");
    assert_eq!(refused(&rig), [1]);
}

/// A host may send `initialize` and then requests of the stateless revision.
#[tokio::test(start_paused = true)]
async fn a_host_is_not_told_that_a_question_is_withdrawn_which_it_was_never_sent() {
    let rig = Rig::new();
    rig.mcp.rule(When::tool("deploy"), Times::Once, |ask| async {
        let mut sse = ask.sse().await;
        sse.message(None, &question(1, &json!({"message": "who?"}))).await;
        sse.gone().await;
    });
    let mut host = host(&rig);
    host.greet().await;
    host.ask(2, "tools/call", call(json!({}))).await;
    tokio::time::sleep(Duration::from_millis(10)).await;

    host.cancel(2).await;

    assert!(host.hear_for(secs(10)).await.is_empty());
    assert_eq!(rig.count(When::notification("notifications/cancelled")), 1);
}

/// Returns a host that has called `deploy`, which takes this long and asks no question itself.
async fn calling(rig: &Rig, time: Duration) -> Host {
    rig.mcp.rule(When::tool("deploy"), Times::Once, move |ask| async move {
        let mut sse = ask.sse().await;
        let is_gone = tokio::time::timeout(time, sse.gone()).await.is_ok();
        if !is_gone {
            sse.answer_and_finish(json!({"content": []})).await;
        }
    });
    let mut host = patient_host(rig);
    host.asked(1, "server/discover", modern(json!({}))).await;
    host.ask(2, "tools/call", call(json!({}))).await;
    tokio::time::sleep(secs(1)).await;
    host
}

/// Returns the server's ids of the questions that were answered by an error.
fn refused(rig: &Rig) -> Vec<Value> {
    let said = rig.bodies(&When::response());
    let said = said.iter().map(|body| serde_json::from_str::<Value>(body).unwrap());
    said.filter(|it| it["error"]["code"].is_i64()).map(|it| it["id"].clone()).collect()
}

const HOUR: Duration = secs(3600);
