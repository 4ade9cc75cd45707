//! Clients that send too much, send too slowly, or do not read: what they cost, and that no other client
//! waits.

use std::time::Duration;

use http::header::ACCEPT;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};
use tokio::time::Instant;

use crate::rig::{Puppet, Rig, TOKEN, call, doubt_in, post};

#[tokio::test(start_paused = true)]
async fn a_batch_may_have_1000_messages() {
    let mut rig = Rig::new();
    let (session, mut child) = rig.begin_with("2025-03-26").await;
    let of = |count: usize| Value::from_iter((0..count).map(|id| call(id as u64)));

    let mut refused = rig.post(&session, of(1001)).await;
    assert_eq!(refused.status, 413);
    assert!(refused.text().await.contains("a batch may have 1000 messages; nothing was run"));

    assert_eq!(rig.post(&session, of(1000)).await.status, 200);
    assert_eq!(child.hear().await["id"], 0);
}

#[tokio::test(start_paused = true)]
async fn an_id_that_is_longer_than_any_that_is_kept_is_refused() {
    let mut rig = Rig::new();
    let (session, _child) = rig.begin().await;
    let long = "x".repeat(2000);

    let mut refused = rig.post(&session, json!({"id": long, "method": "m"})).await;

    assert_eq!(refused.status, 400);
    assert!(refused.text().await.contains("may have 1024 bytes"));
}

#[tokio::test(start_paused = true)]
async fn a_connection_has_10_s_for_its_first_head_and_who_is_known_may_rest_for_a_minute() {
    let rig = Rig::new();
    let ask = |token: &str| {
        format!("GET /mcp HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {token}\r\n\r\n")
    };
    for (said, seconds) in [
        (String::new(), 10),
        ("GET /mcp HTTP/1.1\r\nhost: local".to_owned(), 10),
        (ask("wrong"), 10),
        (ask(TOKEN), 60),
    ] {
        let mut socket = connect(&rig);
        let began = Instant::now();

        socket.write_all(said.as_bytes()).await.unwrap();
        let mut answer = Vec::new();
        socket.read_to_end(&mut answer).await.unwrap();

        assert_eq!(began.elapsed().as_secs(), seconds, "{said}");
    }
}

#[tokio::test(start_paused = true)]
async fn silent_connections_make_room_and_those_of_known_clients_do_not() {
    let mut rig = Rig::new();
    let (session, _child) = rig.begin().await;
    let mut standing = rig.listen(&session, None).await;
    let mut silent = Vec::new();

    for _ in 0..520 {
        silent.push(connect(&rig));
        tokio::task::yield_now().await;
    }

    assert_eq!(rig.listen("unknown", None).await.status, 404);
    let mut closed = 0;
    for socket in &mut silent[..300] {
        let mut byte = [0; 1];
        let read = tokio::time::timeout(Duration::from_millis(1), socket.read(&mut byte)).await;
        closed += usize::from(matches!(read, Ok(Ok(0))));
    }
    assert_eq!(closed, 300, "the longest silent ones");
    assert!(standing.block().await.is_some());
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_is_not_read_for_a_minute_is_closed_and_can_be_fetched_again() {
    let mut rig = Rig::new();
    let (session, mut child) = rig.begin().await;
    let mut socket = connect(&rig);
    socket.write_all(asking(&session, 1).as_bytes()).await.unwrap();
    child.hear().await;
    let began = Instant::now();

    child.answer(1, json!("x".repeat(1 << 20))).await;
    // The server reads nothing before that.
    tokio::time::sleep(Duration::from_secs(59)).await;
    assert!(began.elapsed() < Duration::from_secs(60));
    tokio::time::sleep(Duration::from_secs(2)).await;
    let mut read = Vec::new();
    let _ = socket.read_to_end(&mut read).await;

    assert!(read.len() < 1 << 20, "{}", read.len());
    let mut resumed = rig.listen(&session, Some("2-0")).await;
    let result = resumed.event().await.unwrap().json();
    assert_eq!(result["result"].as_str().map(str::len), Some(1 << 20));
}

#[tokio::test(start_paused = true)]
async fn answers_beyond_what_is_kept_wait_for_who_reads_and_none_is_lost() {
    let mut rig = Rig::new();
    let (session, mut child) = rig.begin().await;
    let mut answers = Vec::new();
    for id in 0..6 {
        answers.push(rig.post(&session, call(id)).await);
        child.hear().await;
    }

    let answering = tokio::spawn(async move {
        for id in 0..6 {
            large_answer(&mut child, id).await;
        }
        child
    });
    // This takes longer than a child waits for a client that reads nothing; these clients read something now
    // and then.
    for answer in &mut answers {
        let event = answer.event().await.unwrap().json();
        assert_eq!(event["result"].as_str().map(str::len), Some(LARGE));
        tokio::time::sleep(Duration::from_secs(5)).await;
    }

    answering.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn who_takes_only_json_gets_the_answers_of_a_batch_that_are_more_than_is_kept() {
    let mut rig = Rig::new();
    let (session, mut child) = rig.begin_with("2025-03-26").await;
    let mut request = post(&session, &json!([call(0), call(1), call(2), call(3)]).to_string());
    request.headers_mut().insert(ACCEPT, "application/json".parse().unwrap());
    let answer = rig.begin_to_send(request);
    let answering = tokio::spawn(async move {
        for id in 0..4 {
            large_answer(&mut child, id).await;
        }
        child
    });

    let answers = answer.await.unwrap().json().await;

    let ids: Vec<_> = answers.as_array().unwrap().iter().map(|it| it["id"].clone()).collect();
    assert_eq!(ids, [0, 1, 2, 3]);
    answering.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn an_answer_for_which_there_is_no_room_leaves_its_call_in_doubt() {
    let mut rig = Rig::new();
    let (session, mut child) = rig.begin_with("2025-03-26").await;
    let batch = json!([call(0), call(1), call(2), call(3)]);
    drop(rig.post(&session, batch).await);
    let answering = tokio::spawn(async move {
        for id in 0..4 {
            large_answer(&mut child, id).await;
        }
        child.say(json!({"jsonrpc": "2.0", "method": "notifications/last"})).await;
        child
    });
    answering.await.unwrap();

    let mut resumed = rig.listen(&session, Some("2-0")).await;
    let answers = resumed.rest().await;

    let kinds: Vec<_> = answers.iter().map(|it| doubt_in(it)["kind"].clone()).collect();
    assert_eq!(kinds, [json!(null), json!(null), json!("answerLost"), json!("answerLost")]);
    assert_eq!(doubt_in(&answers[3])["mayHaveRun"], true);
}

/// Sends a large answer, of which two are kept.
async fn large_answer(child: &mut Puppet, id: u64) {
    child.answer(id, json!("x".repeat(LARGE))).await;
}

fn connect(rig: &Rig) -> DuplexStream {
    let (ours, theirs) = duplex(64 * 1024);
    let exposed = rig.exposed.clone();
    tokio::spawn(async move { exposed.serve(theirs).await });
    ours
}

fn asking(session: &str, id: u64) -> String {
    let body = call(id).to_string();
    format!(
        "POST /mcp HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {TOKEN}\r\n\
         mcp-session-id: {session}\r\ncontent-type: application/json\r\n\
         content-length: {}\r\n\r\n{body}",
        body.len()
    )
}

const LARGE: usize = 15 << 20;
