//! Children that die: what their clients are told, and when the next one is started.

use std::time::Duration;

use serde_json::json;
use tokio::time::{Instant, sleep};

use crate::rig::{Answer, Puppet, Rig, Stage, call, doubt_in, initialize};

#[tokio::test(start_paused = true)]
async fn a_death_answers_every_call_with_the_last_words_and_ends_the_session() {
    let mut rig = Rig::new();
    let (session, mut child) = rig.begin().await;
    let mut standing = rig.listen(&session, None).await;
    let mut one = rig.post(&session, call(1)).await;
    let mut two = rig.post(&session, call(2)).await;
    child.hear().await;
    child.hear().await;
    child.answer(2, json!({})).await;

    child.die("exit status: 7", &["panic", "out of cheese"]);

    let answer = one.event().await.unwrap().json();
    let doubt = doubt_in(&answer);
    assert_eq!((&answer["id"], &answer["result"]["isError"]), (&json!(1), &json!(true)));
    let story = "`puppet` has ended, exit status: 7; its last words: panic | out of cheese";
    assert_eq!(doubt["what"], story);
    assert_eq!(doubt["lastWords"], json!(["panic", "out of cheese"]));
    assert_eq!((&doubt["kind"], &doubt["mayHaveRun"]), (&json!("childDied"), &json!(true)));
    let words = answer["result"]["content"][0]["text"].as_str().unwrap();
    assert!(words.starts_with("The server's process ended before"), "{words}");
    assert!(!words.contains("cheese"), "{words}");
    assert_eq!(one.event().await, None);
    assert_eq!(two.rest().await, [json!({"jsonrpc": "2.0", "id": 2, "result": {}})]);
    assert_eq!(standing.event().await, None);
    let mut later = rig.post(&session, call(3)).await;
    assert_eq!(later.status, 404);
    let message = later.json().await["error"]["message"].to_string();
    assert!(message.contains("Session not found: `puppet` has ended, exit status: 7"), "{message}");
    rig.begin().await;
}

#[tokio::test(start_paused = true)]
async fn what_it_said_just_before_its_end_still_counts() {
    let mut rig = Rig::new();
    let (session, mut child) = rig.begin().await;
    let mut pending = rig.post(&session, call(1)).await;
    child.hear().await;

    child.answer(1, json!({"last": true})).await;
    child.die("exit status: 0", &[]);

    assert_eq!(pending.rest().await[0]["result"], json!({"last": true}));
}

#[tokio::test(start_paused = true)]
async fn a_call_whose_connection_was_cut_can_still_learn_of_the_death_for_a_minute() {
    let mut rig = Rig::new();
    let (session, child) = rig.begin().await;
    let mut cut = rig.post(&session, call(1)).await;
    let priming = cut.any_event().await.unwrap();
    drop(cut);
    child.die("signal: 9", &[]);
    sleep(Duration::from_secs(59)).await;

    let mut resumed = rig.listen(&session, Some(&priming.id)).await;

    let answer = resumed.event().await.unwrap().json();
    assert_eq!(doubt_in(&answer)["status"], "signal: 9");
    assert_eq!(rig.listen(&session, None).await.status, 404);
    sleep(Duration::from_secs(2)).await;
    assert_eq!(rig.listen(&session, Some(&priming.id)).await.status, 404);
}

#[tokio::test(start_paused = true)]
async fn a_child_that_dies_before_it_greets_is_503_with_its_last_words() {
    let mut rig = Rig::new();

    let (mut answer, _) = refused_by_death(&mut rig).await;

    assert_eq!((answer.status.as_u16(), answer.header("retry-after")), (503, Some("1")));
    assert_eq!(answer.header("mcp-session-id"), None);
    let said = answer.json().await;
    assert_eq!(said["id"], "init");
    let message = said["error"]["message"].as_str().unwrap();
    assert!(message.contains("exit status: 1; its last words: no key"), "{message}");
}

#[tokio::test(start_paused = true)]
async fn children_that_die_young_make_the_next_start_wait_longer_and_longer() {
    let mut rig = Rig::new();
    let began = Instant::now();
    for _ in 0..4 {
        assert_eq!(refused_by_death(&mut rig).await.0.status, 503);
    }
    // The server waited out 250, 500 and 1000 ms; it leaves a wait of two seconds to the client.
    assert_eq!(began.elapsed().as_millis(), 1750);

    let mut refused = rig.post("", initialize("2025-11-25")).await;

    assert_eq!((refused.status.as_u16(), refused.header("retry-after")), (503, Some("2")));
    let message = refused.json().await["error"]["message"].to_string();
    assert!(
        message.contains("`puppet` keeps dying soon after its start; nothing was run"),
        "{message}"
    );
    assert_eq!(rig.starts(), 4);
    assert!(rig.news().contains(&"the next start waits for 2.00 s".to_owned()), "{:?}", rig.news());
    sleep(Duration::from_secs(2)).await;
    rig.begin().await;
}

#[tokio::test(start_paused = true)]
async fn a_child_that_lived_long_makes_nobody_wait() {
    let mut rig = Rig::new();
    for _ in 0..4 {
        refused_by_death(&mut rig).await;
    }
    sleep(Duration::from_secs(2)).await;
    let (_, child) = rig.begin().await;
    sleep(Duration::from_secs(10)).await;

    child.die("exit status: 1", &[]);
    sleep(Duration::from_millis(1)).await;

    let began = Instant::now();
    rig.begin().await;
    assert_eq!(began.elapsed().as_millis(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_program_that_cannot_be_started_is_503_and_paces_itself() {
    let rig = Rig::with(ridethrough_expose::Settings::default(), Stage::empty());

    let mut answer = rig.post("", initialize("2025-11-25")).await;

    assert_eq!((answer.status.as_u16(), answer.header("retry-after")), (503, Some("1")));
    let message = answer.json().await["error"]["message"].to_string();
    assert!(message.contains("`puppet` could not be started: no such file"), "{message}");
    let began = Instant::now();
    rig.post("", initialize("2025-11-25")).await;
    assert_eq!(began.elapsed().as_millis(), 250);
}

#[tokio::test(start_paused = true)]
async fn a_child_that_closes_its_stdout_is_of_no_use_and_is_ended() {
    let mut rig = Rig::new();
    let (session, child) = rig.begin().await;
    let mut pending = rig.post(&session, call(1)).await;

    let mut mute = child.close_stdout();

    let answer = pending.event().await.unwrap().json();
    assert_eq!(doubt_in(&answer)["kind"], "childDied");
    assert_eq!(doubt_in(&answer)["what"], "`puppet` closed its stdout and was ended");
    mute.killed().await;
}

#[tokio::test(start_paused = true)]
async fn a_child_that_takes_no_messages_any_more_is_ended() {
    let mut rig = Rig::new();
    let (session, child) = rig.begin().await;
    let mut deaf = child.close_stdin();

    let mut pending = rig.post(&session, call(1)).await;

    let answer = pending.event().await.unwrap().json();
    assert_eq!(doubt_in(&answer)["what"], "`puppet` closed its stdin and was ended");
    deaf.killed().await;
}

#[tokio::test(start_paused = true)]
async fn a_line_without_end_is_not_taken_and_its_child_is_ended() {
    let mut rig = Rig::new();
    let (session, mut child) = rig.begin().await;
    let mut pending = rig.post(&session, call(1)).await;

    let flood = tokio::spawn(async move {
        let much = "x".repeat(1 << 20);
        for _ in 0..66 {
            child.write_if_heard(&much).await;
        }
        child
    });

    let answer = pending.event().await.unwrap().json();
    let what = doubt_in(&answer)["what"].as_str().unwrap();
    assert!(what.starts_with("`puppet` wrote a line of more than 64 MiB"), "{what}");
    flood.await.unwrap().killed().await;
}

/// Asks for a session whose child dies at once.
async fn refused_by_death(rig: &mut Rig) -> (Answer, Duration) {
    let began = Instant::now();
    let asked = rig.begin_to_greet();
    let child: Puppet = rig.child().await;
    let waited = began.elapsed();
    child.die("exit status: 1", &["no key"]);
    (asked.await.unwrap(), waited)
}

#[tokio::test(start_paused = true)]
async fn a_child_of_whose_end_nothing_is_known_is_buried_like_any_other() {
    let mut rig = Rig::new();
    let (session, child) = rig.begin().await;

    drop(child);
    sleep(Duration::from_secs(61)).await;

    let mut later = rig.post(&session, call(1)).await;
    let message = later.json().await["error"]["message"].to_string();
    assert!(message.contains("Session not found;"), "it is not forgotten: {message}");
}
