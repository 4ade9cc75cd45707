//! Refusals for want of a place: each names its request, so that its client knows that it did not run.

use ridethrough_server::Settings;
use serde_json::json;

use crate::rig::{Rig, call, post, with};
use crate::serving::{begin, hello};

#[tokio::test(start_paused = true)]
async fn a_request_without_a_place_for_its_connection_is_refused_by_its_name() {
    let mut rig = Rig::with(Settings::default().connections(1));
    let mut puppet = rig.shared(json!({})).await;
    let _running = rig.begin_to_send(call(1));
    puppet.hear().await;

    refused_by_name(rig.send(call("x")).await).await;
}

#[tokio::test(start_paused = true)]
async fn a_session_without_a_place_is_refused_by_its_name() {
    let mut rig = Rig::with(Settings::default().sessions(1));
    let (session, mut puppet) = begin(&mut rig).await;
    let body = json!({"id": 5, "method": "tools/call", "params": {}}).to_string();
    let _running = rig.begin_to_send(with(post(&body), "mcp-session-id", Some(&session)));
    puppet.hear().await;
    let mut hello = hello();
    hello["id"] = "x".into();

    refused_by_name(rig.send(post(&hello.to_string())).await).await;
    refused_by_name(rig.send(call("x")).await).await;
}

async fn refused_by_name(mut refused: crate::rig::Answer) {
    assert_eq!(refused.status, 503);
    assert!(refused.header("retry-after").is_some());
    let body = refused.json().await;
    assert_eq!((&body["id"], &body["error"]["data"]["mayHaveRun"]), (&json!("x"), &json!(false)));
}
