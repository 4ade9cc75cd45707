//! Calls: their bytes, their ends, their progress, and what is refused.

use std::sync::{Arc, Mutex};

use ridethrough::error::{Delivery, Kind};
use ridethrough::{Client, Era, Error};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use crate::rig::{Behind, ERAS, WayState, names, rig_of, secs};

#[tokio::test(start_paused = true)]
async fn only_the_name_of_a_call_changes_on_the_way() {
    let a = Behind::new("a", &["echo"]);
    let rig = rig_of(&[&a]);
    let client = rig.client(Era::Legacy);
    let params =
        r#"{ "arguments":{"z":1.10,"a":123456789012345678901234567890},"name" : "a_echo" }"#;

    client.request("tools/call", ridethrough::Json::new(params).unwrap()).await.unwrap();

    let heard = a.server.heard("tools/call");
    let [heard] = &heard[..] else { panic!("{heard:?}") };
    assert!(heard.contains(&params.replace("a_echo", "echo")), "{heard}");
}

/// Only revisions without sessions give that member a meaning.
#[tokio::test(start_paused = true)]
async fn a_result_of_a_session_passes_whatever_type_it_names() {
    let a = Behind::new("a", &["typed"]);
    let rig = rig_of(&[&a]);
    let client = rig.client(Era::Legacy);

    let params = json!({"name": "a_typed", "arguments": {}});
    let result = client.request("tools/call", params).await.unwrap();

    assert_eq!(result.as_str(), r#"{"content":[],"resultType":"of their own"}"#);
}

#[tokio::test(start_paused = true)]
async fn progress_comes_to_whoever_asked_for_it() {
    let a = Behind::new("a", &["progress"]);
    let rig = rig_of(&[&a]);

    for era in ERAS {
        let steps = Arc::<Mutex<Vec<String>>>::default();
        let seen = steps.clone();
        let client = rig.client(era);
        names(&client).await;

        let call = client.call_tool("a_progress", ());
        let call = call.on_progress(move |step| seen.lock().unwrap().push(step.to_string()));
        assert_eq!(call.await.unwrap().text(), "done", "{era:?}");

        assert_eq!(steps.lock().unwrap().len(), 3, "{era:?} {steps:?}");
    }
}

/// The list that was not read may have it, so it is not said that there is none.
#[tokio::test(start_paused = true)]
async fn an_unknown_name_names_the_servers_that_could_not_be_asked() {
    let (a, b) = (Behind::new("a", &["echo"]), Behind::new("b", &["echo"]));
    let rig = rig_of(&[&a, &b]);
    b.way.set(WayState::Refuses);
    let client = rig.client(Era::Legacy);

    let refused = client.call_tool("b_echo", ()).await.unwrap_err().to_string();
    assert!(refused.contains("`b` could not be asked"), "{refused}");
    assert!(!refused.contains("all servers were compared"), "{refused}");
    b.way.set(WayState::Open);
    sleep(secs(60)).await;
    names(&client).await;

    let refused = client.call_tool("b_\u{1b}[2J", ()).await.unwrap_err().to_string();
    assert!(refused.contains("the lists of all servers were compared"), "{refused}");
    assert!(!refused.contains('\u{1b}'), "{refused}");
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_never_answered_ends_after_the_time_of_its_server() {
    let mut a = Behind::new("a", &["hang"]);
    for (timeout, expected) in [(None, secs(600)), (Some(secs(90)), secs(90))] {
        a.settings.timeout = timeout;
        let rig = rig_of(&[&a]);
        let client = rig.client(Era::Legacy);
        names(&client).await;
        let began = Instant::now();

        let call = client.call_tool("a_hang", ()).timeout(secs(3000));
        let error = call.await.unwrap_err();

        assert!(error.may_have_run(), "{error}");
        assert_eq!(error.kind(), Some(Kind::DeadlinePassed));
        let took = began.elapsed();
        assert!(took >= expected && took < expected + secs(1), "{took:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_cancelled_is_cancelled_at_its_server() {
    let a = Behind::new("a", &["hang", "echo"]);
    let rig = rig_of(&[&a]);

    for (count, era) in ERAS.into_iter().enumerate() {
        let client = rig.client(era);
        names(&client).await;
        let pending = client.request("tools/call", json!({"name": "a_hang"})).answer();
        sleep(secs(5)).await;
        assert_eq!(a.server.heard("tools/call").len(), count + 1);

        drop(pending);
        sleep(secs(5)).await;

        assert_eq!(a.server.heard("notifications/cancelled").len(), count + 1, "{era:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_client_of_ours_behind_the_gateway_has_the_facts_of_a_call_without_an_answer() {
    let a = Behind::new("a", &["hang"]);
    let rig = rig_of(&[&a]);
    let client = rig.client(Era::Legacy);
    names(&client).await;
    let hanging = client.request("tools/call", json!({"name": "a_hang"})).timeout(secs(3600));
    let hanging = tokio::spawn(hanging.answer());
    sleep(secs(1)).await;

    a.way.set(WayState::Refuses);
    a.way.cut();

    let error = hanging.await.unwrap().unwrap_err();
    assert_eq!((error.kind, error.delivery), (Kind::Unreachable, Delivery::Unknown));
    assert_eq!(error.attempts, 2, "the call, and the rest of its stream");
}

#[tokio::test(start_paused = true)]
async fn a_server_whose_places_are_taken_refuses_at_once_and_no_other_does() {
    let mut a = Behind::new("a", &["hang", "echo"]);
    (a.settings.places, a.settings.queue) = (2, 1);
    let b = Behind::new("b", &["echo"]);
    let rig = rig_of(&[&a, &b]);
    let client = rig.client(Era::Legacy);
    names(&client).await;
    let hang = |client: &Client| {
        client.request("tools/call", json!({"name": "a_hang"})).timeout(secs(3600)).answer()
    };
    let _hanging = [hang(&client), hang(&client), hang(&client)];
    sleep(secs(1)).await;

    let began = Instant::now();
    let refused = client.call_tool("a_echo", ()).await.unwrap_err();
    let other = client.call_tool("b_echo", ()).await.unwrap();

    assert!(began.elapsed() < secs(1), "{:?}", began.elapsed());
    let Error::Server(refused) = refused else { panic!("{refused}") };
    let data: Value = refused.json.member("data").unwrap().read().unwrap();
    assert_eq!((&data["kind"], &data["mayHaveRun"]), (&json!("serverFull"), &json!(false)));
    assert_eq!(other.text(), "b null");
}

#[tokio::test(start_paused = true)]
async fn what_no_server_can_be_found_for_is_refused() {
    let a = Behind::new("a", &["echo"]);
    let rig = rig_of(&[&a]);
    let client = rig.client(Era::Legacy);

    for (method, params, code) in [
        ("tools/call", json!({}), -32602),
        ("tools/call", json!({"name": "echo"}), -32602),
        ("resources/read", json!({"uri": "z:1"}), -32602),
        ("tools/list", json!({"cursor": "mine"}), -32602),
        ("logging/setLevel", json!({"level": "loud"}), -32602),
        ("acme/what", json!({}), -32601),
        ("tasks/get", json!({"taskId": "1"}), -32602),
    ] {
        let answer = client.request(method, params.clone()).answer().await.unwrap();
        assert_eq!(answer.error().map(|it| it.code), Some(code), "{method} {params}");
    }
}
