//! Requests and notifications of the client, and questions of the child: the stream that each of them goes
//! to.

use std::time::Duration;

use http::header::ACCEPT;
use serde_json::json;
use tokio::time::{Instant, sleep};

use crate::rig::{Rig, call, doubt_in, post};

#[tokio::test(start_paused = true)]
async fn a_call_is_answered_on_a_stream_that_can_be_resumed_from_its_first_byte() {
    let mut rig = Rig::new();
    let (session, mut child) = rig.begin().await;

    let mut answer = rig.post(&session, call(1)).await;
    assert_eq!(answer.header("content-type"), Some("text/event-stream"));
    let priming = answer.any_event().await.unwrap();
    assert_eq!((&*priming.data, priming.retry.as_deref()), ("", Some("500")));
    assert!(priming.id.ends_with("-0"), "{priming:?}");
    assert_eq!(child.hear().await, call(1));
    child.progress(1, 1).await;
    child.answer(1, json!({"done": true})).await;

    assert_eq!(answer.event().await.unwrap().json()["params"]["progress"], 1);
    let last = answer.event().await.unwrap();
    assert_eq!(last.json()["result"], json!({"done": true}));
    assert!(!last.id.is_empty() && last.id != priming.id);
    assert_eq!(answer.event().await, None);
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_comes_at_once_comes_alone_and_nothing_is_kept_of_it() {
    let mut rig = Rig::new();
    let (session, mut child) = rig.begin().await;

    let answer = rig.begin_to_send(post(&session, &call(1).to_string()));
    child.hear().await;
    child.answer(1, json!({"done": true})).await;

    let mut answer = answer.await.unwrap();
    assert_eq!(answer.header("content-type"), Some("application/json"));
    assert_eq!(answer.json().await["result"], json!({"done": true}));
    // The greeting has the first stream, and this call had the second.
    assert_eq!(rig.listen(&session, Some("2-0")).await.status, 400);
}

#[tokio::test(start_paused = true)]
async fn an_answer_comes_on_a_stream_if_it_is_not_alone_or_is_large_or_is_wanted_so() {
    let mut rig = Rig::new();
    let (session, mut child) = rig.begin().await;
    let large = "x".repeat(100_000);
    for (id, has_progress, text, accept) in [
        (1, true, "", "application/json, text/event-stream"),
        (2, false, &*large, "application/json, text/event-stream"),
        (3, false, "", "text/event-stream"),
    ] {
        let mut request = post(&session, &call(id).to_string());
        request.headers_mut().insert(ACCEPT, accept.parse().unwrap());

        let answer = rig.begin_to_send(request);
        child.hear().await;
        if has_progress {
            child.progress(id, 1).await;
        }
        child.answer(id, json!({"text": text})).await;

        let mut answer = answer.await.unwrap();
        assert_eq!(answer.header("content-type"), Some("text/event-stream"), "{id}");
        assert_eq!(answer.any_event().await.unwrap().data, "", "{id}: it can be resumed");
        assert_eq!(answer.rest().await.len(), 1 + usize::from(has_progress), "{id}");
    }
}

#[tokio::test(start_paused = true)]
async fn clients_of_older_revisions_get_no_event_without_data() {
    let mut rig = Rig::new();
    let (session, mut child) = rig.begin_with("2025-06-18").await;

    let mut answer = rig.post(&session, call(1)).await;
    child.answer(1, json!({})).await;

    assert!(answer.any_event().await.unwrap().data.contains("result"));
}

#[tokio::test(start_paused = true)]
async fn payloads_pass_byte_for_byte_in_both_directions() {
    let mut rig = Rig::new();
    let (session, mut child) = rig.begin().await;
    let asked = r#"{"z":1.10, "jsonrpc":"2.0","id":"\u00e9","method":"x","params":{"n":123456789012345678901234567890}}"#;
    let said = r#"{"jsonrpc":"2.0","id":"\u00e9","result":{"a":1e2,"a":2,"s":"\ud83e\udd80"}}"#;

    let mut answer = rig.send(post(&session, asked)).await;
    assert_eq!(child.line().await.unwrap(), asked);
    child.write(&format!("{said}\r\n")).await;

    assert_eq!(answer.event().await.unwrap().data, said);
}

#[tokio::test(start_paused = true)]
async fn a_message_of_many_lines_is_one_line_for_the_child() {
    let mut rig = Rig::new();
    let (session, mut child) = rig.begin().await;

    let answer =
        rig.send(post(&session, "{\n  \"jsonrpc\": \"2.0\",\r\n  \"method\": \"x\"\n}\n")).await;

    assert_eq!((answer.status.as_u16(), child.hear().await["method"].as_str()), (202, Some("x")));
}

#[tokio::test(start_paused = true)]
async fn who_takes_only_json_waits_for_the_answer_and_gets_nothing_else() {
    let mut rig = Rig::new();
    let (session, mut child) = rig.begin().await;
    let mut asks = post(&session, &call(1).to_string());
    asks.headers_mut().insert(ACCEPT, "application/json".parse().unwrap());
    let asked = rig.begin_to_send(asks);
    child.hear().await;
    child.progress(1, 1).await;
    child.answer(1, json!({"done": true})).await;

    let mut answer = asked.await.unwrap();

    assert_eq!(answer.header("content-type"), Some("application/json"));
    assert_eq!(answer.json().await["result"], json!({"done": true}));
}

#[tokio::test(start_paused = true)]
async fn a_batch_of_2025_03_26_is_answered_on_one_stream() {
    let mut rig = Rig::new();
    let (session, mut child) = rig.begin_with("2025-03-26").await;

    let mut answer =
        rig.post(&session, json!([call(1), {"jsonrpc": "2.0", "method": "x"}, call(2)])).await;
    assert_eq!(child.hear().await["id"], 1);
    assert_eq!(child.hear().await["method"], "x");
    assert_eq!(child.hear().await["id"], 2);
    child.answer(2, json!({})).await;
    child.answer(1, json!({})).await;

    let ids: Vec<_> = answer.rest().await.iter().map(|it| it["id"].clone()).collect();
    assert_eq!(ids, [2, 1]);
}

#[tokio::test(start_paused = true)]
async fn a_question_of_the_child_comes_on_the_standing_stream_and_its_answer_gets_202() {
    let mut rig = Rig::new();
    let (session, mut child) = rig.begin().await;
    let mut standing = rig.listen(&session, None).await;
    let _pending = rig.post(&session, call(1)).await;
    child.hear().await;

    child.say(json!({"jsonrpc": "2.0", "id": "q", "method": "roots/list"})).await;
    assert_eq!(standing.event().await.unwrap().json()["method"], "roots/list");
    let told =
        rig.post(&session, json!({"jsonrpc": "2.0", "id": "q", "result": {"roots": []}})).await;

    assert_eq!(told.status, 202);
    assert_eq!(child.hear().await["result"], json!({"roots": []}));
}

#[tokio::test(start_paused = true)]
async fn without_a_standing_stream_a_question_comes_on_that_of_the_newest_call() {
    let mut rig = Rig::new();
    let (session, mut child) = rig.begin().await;
    let _older = rig.post(&session, call(1)).await;
    let mut newer = rig.post(&session, call(2)).await;
    child.hear().await;
    child.hear().await;

    child.say(json!({"jsonrpc": "2.0", "id": "q", "method": "sampling/createMessage"})).await;

    assert_eq!(newer.event().await.unwrap().json()["method"], "sampling/createMessage");
}

#[tokio::test(start_paused = true)]
async fn what_comes_while_nobody_listens_is_kept_for_whoever_does() {
    let mut rig = Rig::new();
    let (session, mut child) = rig.begin().await;
    child.say(json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})).await;
    sleep(Duration::from_secs(5)).await;

    let mut standing = rig.listen(&session, None).await;

    let method = standing.event().await.unwrap().json()["method"].clone();
    assert_eq!(method, "notifications/tools/list_changed");
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_call_is_told_to_the_child_and_its_stream_ends() {
    let mut rig = Rig::new();
    let (session, mut child) = rig.begin().await;
    let mut pending = rig.post(&session, call(1)).await;
    child.hear().await;
    let cancel =
        json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}});

    assert_eq!(rig.post(&session, cancel).await.status, 202);

    assert_eq!(child.hear().await["method"], "notifications/cancelled");
    assert_eq!(pending.event().await, None);
}

#[tokio::test(start_paused = true)]
async fn closing_the_stream_of_a_call_cancels_nothing() {
    let mut rig = Rig::new();
    let (session, mut child) = rig.begin().await;
    let pending = rig.post(&session, call(1)).await;
    child.hear().await;

    drop(pending);
    sleep(Duration::from_secs(5)).await;
    rig.post(&session, json!({"jsonrpc": "2.0", "method": "next"})).await;

    assert_eq!(child.hear().await["method"], "next");
}

#[tokio::test(start_paused = true)]
async fn an_id_that_is_under_way_cannot_be_used_again() {
    let mut rig = Rig::new();
    let (session, mut child) = rig.begin().await;
    let mut pending = rig.post(&session, call(1)).await;

    assert_eq!(rig.post(&session, call(1)).await.status, 400);

    child.answer(1, json!({})).await;
    assert_eq!(pending.rest().await.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_quiet_stream_says_every_15_s_that_it_is_there() {
    let mut rig = Rig::new();
    let (session, _child) = rig.begin().await;
    let mut standing = rig.listen(&session, None).await;
    standing.any_event().await.unwrap();
    let began = Instant::now();

    let (one, two) = (standing.block().await.unwrap(), standing.block().await.unwrap());

    assert!(one.starts_with(':') && two.starts_with(':'), "{one} {two}");
    assert_eq!(began.elapsed().as_secs(), 30);
}

#[tokio::test(start_paused = true)]
async fn a_line_that_is_no_message_is_skipped_and_told() {
    let mut rig = Rig::new();
    let (session, mut child) = rig.begin().await;
    let mut pending = rig.post(&session, call(1)).await;
    child.hear().await;

    child.write("Welcome!\n\n{\"half\":\n").await;
    child.answer(1, json!({})).await;

    assert_eq!(pending.rest().await.len(), 1);
    assert_eq!(rig.news()[1..], ["session 1: a line that is no message was skipped"; 2]);
}

#[tokio::test(start_paused = true)]
async fn an_id_that_comes_back_in_another_spelling_is_that_of_its_call() {
    let mut rig = Rig::new();
    let (session, mut child) = rig.begin().await;
    let asked =
        r#"{"jsonrpc":"2.0","id":"req/1","method":"x","params":{"_meta":{"progressToken":"p/1"}}}"#;
    let mut answer = rig.send(post(&session, asked)).await;
    child.hear().await;

    let method = "notifications/progress";
    child
        .write(&format!("{{\"method\":\"{method}\",\"params\":{{\"progressToken\":\"p\\/1\"}}}}\n"))
        .await;
    child.write("{\"jsonrpc\":\"2.0\",\"id\":\"req\\/1\",\"result\":{}}\n").await;

    let rest = answer.rest().await;
    assert_eq!((&rest[0]["method"], &rest[1]["result"]), (&json!(method), &json!({})));
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_is_none_leaves_its_call_in_doubt() {
    let mut rig = Rig::new();
    let (session, mut child) = rig.begin().await;
    let mut pending = rig.post(&session, call(5)).await;
    child.hear().await;

    child.say(json!({"jsonrpc": "2.0", "id": 5})).await;

    let answer = pending.event().await.unwrap().json();
    assert_eq!((&answer["id"], &doubt_in(&answer)["kind"]), (&json!(5), &json!("peerMisbehaved")));
}

#[tokio::test(start_paused = true)]
async fn who_takes_only_json_and_cancels_its_call_is_told_so_under_its_id() {
    let mut rig = Rig::new();
    let (session, mut child) = rig.begin().await;
    let mut asks = post(&session, &call(1).to_string());
    asks.headers_mut().insert(ACCEPT, "application/json".parse().unwrap());
    let asked = rig.begin_to_send(asks);
    child.hear().await;
    let cancel =
        json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}});

    rig.post(&session, cancel).await;

    let said = asked.await.unwrap().json().await;
    assert_eq!(
        (&said["id"], &said["error"]["message"]),
        (&json!(1), &json!("the call was cancelled"))
    );
}

#[tokio::test(start_paused = true)]
async fn no_more_than_1000_calls_of_a_session_may_be_under_way() {
    let mut rig = Rig::new();
    let (session, mut child) = rig.begin_with("2025-03-26").await;
    tokio::spawn(async move { while child.line().await.is_some() {} });
    let most: Vec<_> = (1..=1000).map(call).collect();
    let pending = rig.post(&session, json!(most)).await;
    assert_eq!(pending.status, 200);

    let mut refused = rig.post(&session, call(1001)).await;

    assert_eq!(refused.status, 429);
    let message = refused.json().await["error"]["message"].to_string();
    assert!(message.contains("nothing was run"), "{message}");
}
