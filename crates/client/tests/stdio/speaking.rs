//! Calls, questions, notifications and progress over pipes.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::future::join_all;
use ridethrough::error::Kind;
use ridethrough::event::{Answer, Delivered, Event};
use ridethrough::server::Version;
use ridethrough::{Client, Command, Json};
use serde_json::{Value, json};

use crate::rig::{Rig, call_error, eventually, seen, tool, value};

#[tokio::test]
async fn a_local_server_is_started_with_the_first_call_and_answers() {
    let rig = Rig::new(json!({}));
    let client = rig.client();
    assert_eq!(rig.count("start"), 0);

    let answer = value(tool(&client, "echo", json!({ "a": 1 })).await);

    assert_eq!(answer, json!({ "start": 1, "arguments": { "a": 1 } }));
    assert_eq!(client.connect().await.unwrap().version, Version::LATEST_LEGACY);
    assert_eq!(rig.count("start"), 1);
}

#[tokio::test]
async fn a_hundred_calls_at_once_each_get_their_own_answer() {
    let rig = Rig::new(json!({ "ends_lines_like_windows": true }));
    let client = rig.client();
    let call = |number: usize| tool(&client, "echo", json!({ "number": number })).into_future();

    let answers = join_all((0..100).map(call)).await;

    for (number, answer) in answers.into_iter().enumerate() {
        assert_eq!(value(answer)["arguments"]["number"], number);
    }
    assert_eq!(rig.count("start"), 1);
}

#[tokio::test]
async fn params_laid_out_in_lines_arrive() {
    let rig = Rig::new(json!({}));
    let client = rig.client();
    let params =
        Json::new("{\n  \"name\": \"echo\",\r\n  \"arguments\": { \"a\": \"x\\ny\" }\n}").unwrap();

    let answer = value(client.request("tools/call", params).await);

    assert_eq!(answer["arguments"]["a"], "x\ny");
    assert_eq!(rig.count("unreadable"), 0);
}

#[tokio::test]
async fn an_answer_of_many_megabytes_arrives_whole() {
    let rig = Rig::new(json!({}));
    let client = rig.client();

    let answer = value(tool(&client, "big", json!({ "bytes": 8 << 20 })).await);

    assert_eq!(answer["content"][0]["text"].as_str().unwrap().len(), 8 << 20);
}

#[tokio::test]
async fn banners_and_rubbish_between_the_messages_are_skipped_and_told() {
    let rig = Rig::new(json!({ "banners": 3 }));
    let client = rig.client();
    let mut events = client.events();

    let answer = value(tool(&client, "rubbish", json!({})).await);

    assert_eq!(answer["content"][0]["text"], "clean");
    let mut told = 0;
    eventually("six unreadable lines", || {
        told += seen(&mut events, |event| *event == Event::UnreadableEvent);
        told == 6
    })
    .await;
}

#[tokio::test]
async fn progress_finds_its_call_complete_and_in_order() {
    let rig = Rig::new(json!({}));
    let client = rig.client();
    let steps = Arc::new(Mutex::new(Vec::new()));
    let heard = steps.clone();

    let call = tool(&client, "progresses", json!({})).on_progress(move |params| {
        let params: Value = serde_json::from_slice(params.json.as_bytes()).unwrap();
        heard.lock().unwrap().push(params["progress"].as_u64().unwrap());
    });
    let answer = value(call.await);

    assert_eq!(answer["content"][0]["text"], "done");
    assert_eq!(*steps.lock().unwrap(), (1..=20).collect::<Vec<_>>());
}

#[tokio::test]
async fn questions_of_the_server_are_answered_while_its_call_waits() {
    let rig = Rig::new(json!({}));
    let client = rig.builder().capabilities(json!({"roots": {}})).build().unwrap();
    let mut inbox = client.inbox();
    let call = tool(&client, "asks", json!({})).into_future();

    let question = inbox.next().await;

    let Some(Delivered::Question { question, method, .. }) = question else {
        panic!("no question came");
    };
    assert_eq!(&*method, "roots/list");
    inbox.answer(question, Answer::Result(Json::new(r#"{"roots":["here"]}"#).unwrap()));
    assert_eq!(value(call.await), json!({ "roots": ["here"] }));
}

#[tokio::test]
async fn notifications_come_to_the_inbox() {
    let rig = Rig::new(json!({}));
    let client = rig.client();
    let mut inbox = client.inbox();

    tool(&client, "notifies", json!({})).await.unwrap();

    let Some(Delivered::Notification { method, .. }) = inbox.next().await else {
        panic!("no notification came");
    };
    assert_eq!(&*method, "notifications/message");
}

#[tokio::test]
async fn pings_before_the_handshake_are_answered_after_it() {
    let rig = Rig::new(json!({ "asks_early": 3 }));
    let client = rig.client();

    client.connect().await.unwrap();

    eventually("three answers", || rig.count("answered \"early") == 3).await;
}

#[tokio::test]
async fn environment_and_directory_are_the_commands() {
    let rig = Rig::new(json!({}));
    let here = std::fs::canonicalize(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let command = rig.command().env("GIVEN", "yes").env_remove("HOME").current_dir(&here);
    let client = Client::spawn(command).unwrap();

    let answer = value(tool(&client, "environment", json!({})).await);

    assert_eq!(answer, json!({ "given": "yes", "here": here, "home": "" }));
}

#[tokio::test]
async fn a_call_that_is_cancelled_is_told_to_the_server() {
    let rig = Rig::new(json!({ "holding_starts": 1 }));
    let client = rig.client();
    let call = tool(&client, "holds", json!({})).answer();
    eventually("the call runs", || rig.count("ran holds") == 1).await;

    drop(call);

    eventually("the server is told", || rig.count("cancelled") == 1).await;
    assert_eq!(value(tool(&client, "echo", json!({})).await)["start"], 1);
}

#[tokio::test]
async fn a_program_that_does_not_exist_ends_the_call_at_once_and_is_named() {
    let program = "/nowhere/no-such-server";
    let client =
        Client::spawn(Command::new(program).arg("--key=s3cret").env("K", "s3cret")).unwrap();

    let error = call_error(tool(&client, "echo", json!({})).await);

    assert_eq!(error.kind, Kind::Unreachable);
    assert!(!error.may_have_run());
    assert!(error.elapsed < AT_ONCE, "it was waited for: {:?}", error.elapsed);
    let report = error.report();
    assert!(report.contains("`no-such-server` could not be started: No such file"), "{report}");
    assert!(!format!("{report}{error:?}").contains("s3cret"), "{report}");
}

#[tokio::test]
async fn a_name_that_is_no_program_is_told_with_where_it_was_looked_for() {
    let client = Client::spawn(Command::new("no-such-server")).unwrap();

    let report = call_error(tool(&client, "echo", json!({})).await).report();

    assert!(report.contains("no program `no-such-server` was found on PATH"), "{report}");
    assert!(report.contains("hint: install the program, or write the whole path"), "{report}");
}

#[tokio::test]
async fn a_program_that_may_not_be_run_ends_the_call_at_once() {
    let client = Client::spawn(Command::new(env!("CARGO_TARGET_TMPDIR"))).unwrap();

    let error = call_error(tool(&client, "echo", json!({})).await);

    assert_eq!(error.kind, Kind::Unreachable);
    assert!(error.elapsed < AT_ONCE, "it was waited for: {:?}", error.elapsed);
    assert!(error.to_string().contains("Permission denied"), "{error}");
}

/// The bound for what happens at once; the client's patience would be 10 s.
const AT_ONCE: Duration = Duration::from_secs(5);
