//! Calls that callers repeat after they were told that they may have run.

use ridethrough::error::{CallError, Kind};
use ridethrough::{Client, Era, Json};
use ridethrough_gateway::{DoubtForm, DoubtRepeat, GatewaySettings};
use ridethrough_wire::message::Answer;
use serde_json::json;
use tokio::time::sleep;

use crate::rig::{Behind, ERAS, Rig, WayState, call, names, rig_of, secs};

#[tokio::test(start_paused = true)]
async fn a_call_whose_answer_is_lost_is_not_sent_again_by_its_caller_nor_by_one_that_came_later() {
    for era in ERAS {
        let a = Behind::new("a", &["hang", "echo"]);
        let rig = rig_of(&[&a]);
        let client = rig.client(era);
        loses_an_answer(&a, &client).await;

        let again = hang(&client).await.unwrap_err();
        let later = rig.client(era);
        names(&later).await;
        let later = hang(&later).await.unwrap_err();

        assert!(again.may_have_run() && later.may_have_run(), "{era:?}");
        assert_eq!(calls(&a), 1, "{era:?}");
        let told = "`a` was not sent a repeat of a call that may have run";
        assert_eq!(rig.told().iter().filter(|it| *it == told).count(), 2, "{era:?}");
        assert_eq!(rig.gateway.status().await[0].held_repeats, 2);
    }
}

#[tokio::test(start_paused = true)]
async fn neither_another_principal_nor_a_session_that_was_open_before_is_held() {
    let a = Behind::new("a", &["hang", "echo"]);
    let rig = rig_of(&[&a]);
    let (before, client, bob) =
        (rig.client(Era::Legacy), rig.client(Era::Legacy), rig.bob(Era::Legacy));
    names(&before).await;
    names(&bob).await;
    sleep(secs(1)).await;
    loses_an_answer(&a, &client).await;

    for other in [&before, &bob] {
        let sent = other.request("tools/call", params()).timeout(secs(5)).answer().await;
        assert!(sent.is_err());
    }

    assert_eq!(calls(&a), 3);
}

#[tokio::test(start_paused = true)]
async fn who_has_looked_at_that_server_may_call_again_and_a_look_at_another_does_not_count() {
    let a = Behind::new("a", &["hang", "echo"]);
    let b = Behind::new("b", &["echo"]);
    let rig = rig_of(&[&a, &b]);
    let client = rig.client(Era::Legacy);
    loses_an_answer(&a, &client).await;

    call(&client, "b_echo").await;
    names(&client).await;
    hang(&client).await.unwrap_err();
    assert_eq!(calls(&a), 1, "it was sent before a look");
    call(&client, "a_echo").await;
    let sent = client.request("tools/call", params()).timeout(secs(5)).answer().await;

    assert!(sent.is_err());
    assert_eq!(calls(&a), 3);
}

#[tokio::test(start_paused = true)]
async fn a_gateway_that_is_told_so_tells_errors_and_sends_every_repeat() {
    let a = Behind::new("a", &["hang", "echo"]);
    let mut settings = GatewaySettings::default();
    (settings.doubt, settings.doubt_repeat) = (DoubtForm::Error, DoubtRepeat::Allow);
    let rig = Rig::with(vec![a.settings.clone()], settings);
    let client = rig.client(Era::Legacy);
    names(&client).await;
    for count in 1..=2 {
        let Answer::Error(error) = lost(&a, &client).await.unwrap() else { panic!("a result") };
        let said: serde_json::Value = error.read().unwrap();
        assert_eq!((&said["code"], &said["data"]["server"]), (&json!(-32050), &json!("a")));
        assert_eq!(calls(&a), count);
    }
}

/// Calls a tool that runs, and loses the answer; the gateway says so.
async fn loses_an_answer(a: &Behind, client: &Client) {
    names(client).await;
    let error = lost(a, client).await.unwrap_err();
    assert_eq!((error.kind, error.may_have_run()), (Kind::Unreachable, true));
}

/// Returns the end of a call whose server goes away while it runs, and comes back later.
async fn lost(a: &Behind, client: &Client) -> Result<Answer, CallError> {
    let pending = tokio::spawn(client.request("tools/call", params()).answer());
    sleep(secs(1)).await;
    a.way.set(WayState::Refuses);
    a.way.cut();
    let end = pending.await.unwrap();
    a.way.set(WayState::Open);
    // The link comes back by itself, before the guard lets a repeat pass.
    sleep(secs(10)).await;
    end
}

async fn hang(client: &Client) -> Result<Answer, CallError> {
    client.request("tools/call", params()).timeout(secs(5)).answer().await
}

fn params() -> Json {
    Json::from(json!({"name": "a_hang", "arguments": {"n": 1}}))
}

fn calls(behind: &Behind) -> usize {
    behind.server.heard("tools/call").len()
}
