//! Streams that were cut and are resumed.

use std::time::Duration;

use serde_json::json;
use tokio::time::{Instant, sleep};

use crate::rig::{Puppet, Rig, call};

#[tokio::test(start_paused = true)]
async fn a_cut_call_is_resumed_behind_what_was_seen_and_nothing_comes_twice() {
    let mut rig = Rig::new();
    let (session, mut child) = rig.begin().await;
    let mut cut = rig.post(&session, call(1)).await;
    child.hear().await;
    child.progress(1, 1).await;
    child.progress(1, 2).await;
    cut.event().await.unwrap();
    let seen = cut.event().await.unwrap();
    drop(cut);
    sleep(Duration::from_secs(1)).await;
    child.progress(1, 3).await;
    child.answer(1, json!({"done": true})).await;

    let mut resumed = rig.listen(&session, Some(&seen.id)).await;

    let rest = resumed.rest().await;
    assert_eq!(rest.len(), 2);
    assert_eq!(rest[0]["params"]["progress"], 3);
    assert_eq!(rest[1]["result"], json!({"done": true}));
}

#[tokio::test(start_paused = true)]
async fn a_call_cut_before_its_first_event_is_resumed_by_the_priming_event() {
    let mut rig = Rig::new();
    let (session, mut child) = rig.begin().await;
    let mut cut = rig.post(&session, call(1)).await;
    let priming = cut.any_event().await.unwrap();
    drop(cut);
    let mut resumed = rig.listen(&session, Some(&priming.id)).await;

    child.answer(1, json!({})).await;

    assert_eq!(resumed.rest().await.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn the_standing_stream_is_resumed_too() {
    let mut rig = Rig::new();
    let (session, mut child) = rig.begin().await;
    let mut cut = rig.listen(&session, None).await;
    child.say(json!({"jsonrpc": "2.0", "method": "a"})).await;
    let seen = cut.event().await.unwrap();
    drop(cut);
    sleep(Duration::from_secs(1)).await;
    child.say(json!({"jsonrpc": "2.0", "method": "b"})).await;

    let mut resumed = rig.listen(&session, Some(&seen.id)).await;

    assert_eq!(resumed.event().await.unwrap().json()["method"], "b");
}

#[tokio::test(start_paused = true)]
async fn who_resumes_takes_the_stream_over_from_a_connection_that_hangs() {
    let mut rig = Rig::new();
    let (session, mut child) = rig.begin().await;
    let mut hangs = rig.post(&session, call(1)).await;
    let priming = hangs.any_event().await.unwrap();

    let mut resumed = rig.listen(&session, Some(&priming.id)).await;
    child.answer(1, json!({})).await;

    assert_eq!(hangs.event().await, None);
    assert_eq!(resumed.rest().await.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn an_event_that_nobody_knows_is_400_and_the_session_goes_on() {
    let mut rig = Rig::new();
    let (session, _child) = rig.begin().await;

    for event in ["9-1", "0-7", "nope", "1-99"] {
        assert_eq!(rig.listen(&session, Some(event)).await.status, 400, "{event}");
    }
    assert_eq!(rig.listen(&session, None).await.status, 200);
}

#[tokio::test(start_paused = true)]
async fn a_stream_of_one_session_cannot_be_read_in_another() {
    let mut rig = Rig::new();
    let (one, _child) = rig.begin().await;
    let _pending = rig.post(&one, call(1)).await;
    let (two, _other) = rig.begin().await;

    // The first stream of a session is that of `initialize`, the second that of the call.
    assert_eq!(rig.listen(&one, Some("2-0")).await.status, 200);
    assert_eq!(rig.listen(&two, Some("2-0")).await.status, 400);
}

#[tokio::test(start_paused = true)]
async fn more_than_is_kept_costs_old_progress_but_never_the_answer() {
    let mut rig = Rig::new();
    let (session, mut child) = rig.begin().await;
    let mut cut = rig.post(&session, call(1)).await;
    let priming = cut.any_event().await.unwrap();
    drop(cut);
    child.hear().await;
    sleep(Duration::from_secs(1)).await;
    for step in 1..=3000 {
        child.progress(1, step).await;
    }
    child.answer(1, json!({"done": true})).await;
    sleep(Duration::from_secs(1)).await;

    let rest = rig.listen(&session, Some(&priming.id)).await.rest().await;

    assert_eq!(rest.len(), 1000);
    assert_eq!(rest[0]["params"]["progress"], 2002);
    assert_eq!(rest[999]["result"], json!({"done": true}));
}

#[tokio::test(start_paused = true)]
async fn a_reader_who_keeps_up_loses_nothing_of_a_flood() {
    let mut rig = Rig::new();
    let (session, mut child) = rig.begin().await;
    let mut standing = rig.listen(&session, None).await;

    let flood = tokio::spawn(async move {
        for number in 0..5000 {
            child.say(json!({"jsonrpc": "2.0", "method": "x", "params": {"n": number}})).await;
        }
        child
    });

    for number in 0..5000 {
        assert_eq!(standing.event().await.unwrap().json()["params"]["n"], number);
    }
    drop(flood.await.unwrap());
}

#[tokio::test(start_paused = true)]
async fn a_reader_who_takes_nothing_is_cut_off_and_the_other_calls_go_on() {
    let mut rig = Rig::new();
    let (session, mut child) = rig.begin().await;
    let stuck = rig.listen(&session, None).await;
    let mut pending = rig.post(&session, call(1)).await;
    let began = Instant::now();

    tokio::spawn(async move {
        for _ in 0..2000 {
            child.say(json!({"jsonrpc": "2.0", "method": "x", "params": "y".repeat(1000)})).await;
        }
        child.answer(1, json!({})).await;
        std::future::pending::<()>().await;
    });

    // Without the standing stream, later messages go to the call.
    let rest = pending.rest().await;
    assert!(rest.last().unwrap()["result"].is_object());
    assert_eq!(began.elapsed().as_secs(), 10);
    drop(stuck);
}

#[tokio::test(start_paused = true)]
async fn the_answer_of_initialize_can_be_resumed() {
    let mut rig = Rig::new();
    let asked = rig.begin_to_greet();
    let mut child = rig.child().await;
    let mut cut = asked.await.unwrap();
    let session = cut.header("mcp-session-id").unwrap().to_owned();
    let priming = cut.any_event().await.unwrap();
    drop(cut);
    child.greet("2025-11-25").await;

    let mut resumed = rig.listen(&session, Some(&priming.id)).await;

    assert_eq!(resumed.event().await.unwrap().json()["id"], "init");
}

/// The official clients come back for as long as they are let in: the TypeScript SDK after every error, and
/// both after a call that was cancelled. An empty stream counts as let in.
#[tokio::test(start_paused = true)]
async fn there_is_nothing_to_resume_behind_an_error_or_a_cancelled_call() {
    let mut rig = Rig::new();
    let (session, mut child) = rig.begin().await;
    let mut failed = rig.post(&session, call(1)).await;
    child.say(json!({"jsonrpc": "2.0", "id": 1, "error": {"code": 1, "message": "no"}})).await;
    let error = failed.event().await.unwrap();
    let mut cancelled = rig.post(&session, call(2)).await;
    let priming = cancelled.any_event().await.unwrap();
    let cancel =
        json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 2}});
    rig.post(&session, cancel).await;
    assert_eq!(cancelled.event().await, None);

    for event in [error, priming] {
        let mut refused = rig.listen(&session, Some(&event.id)).await;

        assert_eq!(refused.status, 400, "{event:?}");
        let message = refused.json().await["error"]["message"].to_string();
        assert!(message.contains("its stream is over"), "{message}");
    }
    assert_eq!(rig.listen(&session, None).await.status, 200);
}

#[tokio::test(start_paused = true)]
async fn there_is_nothing_to_resume_behind_the_end_of_a_session_and_404_says_why() {
    let mut rig = Rig::new();
    let (session, child) = rig.begin().await;
    let mut standing = rig.listen(&session, None).await;
    let mut pending = rig.post(&session, call(1)).await;
    let priming = standing.any_event().await.unwrap();
    child.die("exit status: 7", &["out of cheese"]);
    let error = pending.event().await.unwrap();
    assert_eq!(standing.event().await, None);

    for event in [priming.id, error.id, "nope".to_owned()] {
        let mut refused = rig.listen(&session, Some(&event)).await;

        assert_eq!(refused.status, 404, "{event}");
        let message = refused.json().await["error"]["message"].to_string();
        assert!(message.contains("its last words: out of cheese"), "{message}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_reader_who_takes_nothing_is_cut_off_also_while_another_takes_something() {
    let mut rig = Rig::new();
    let (session, mut child) = rig.begin().await;
    let stuck = rig.listen(&session, None).await;
    let mut slow = rig.post(&session, call(1)).await;
    let mut pending = rig.post(&session, call(2)).await;
    for _ in 0..12 {
        big_progress(&mut child).await;
    }
    let began = Instant::now();
    tokio::spawn(async move {
        for _ in 0..2000 {
            child.say(json!({"jsonrpc": "2.0", "method": "x", "params": "y".repeat(1000)})).await;
        }
        child.answer(2, json!({})).await;
        std::future::pending::<()>().await;
    });

    tokio::spawn(async move {
        for _ in 0..12 {
            sleep(Duration::from_secs(4)).await;
            slow.event().await.unwrap();
        }
        std::future::pending::<()>().await;
    });

    pending.rest().await;
    assert_eq!(began.elapsed().as_secs(), 10);
    drop(stuck);
}

/// Writes more than the connections between the two sides hold, so that it is accepted only when it is read.
async fn big_progress(child: &mut Puppet) {
    let params = json!({"progressToken": "token 1", "progress": 1, "message": "y".repeat(150_000)});
    child
        .say(json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": params}))
        .await;
}
