//! Servers that die: what clients are told, and when the next one is started.

use ridethrough::RetryPolicy;
use rustix::process::{Signal, kill_process};
use serde_json::json;

use crate::rig::{Rig, has_ended, pid};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_crash_is_an_error_with_the_last_words_and_the_next_call_has_a_new_server() {
    let rig = Rig::new(json!({"has_grandchild": true})).await;
    let client = rig.client();

    let error = client.call_tool("dies", json!({})).await.unwrap_err().report();
    let again = client.call_tool("echo", json!({})).await.unwrap();

    let told = "exit status: 7 | panic: out of cheese";
    assert!(error.contains(told) && error.contains("may have run"), "{error}");
    let story = "`sh` has ended, exit status: 7; its last words: panic: out of cheese";
    assert_eq!(again.text(), "did echo");
    assert_eq!((rig.entries("ran dies").len(), rig.pids("start").len()), (1, 2));
    let grandchild = rig.pids("grandchild")[0];
    rig.eventually("the grandchild is gone", || has_ended(grandchild)).await;
    rig.eventually("it is told", || rig.said().contains(story)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_dies_at_its_first_starts_is_waited_for() {
    let rig = Rig::new(json!({"dies_at_starts": 3})).await;

    let result = rig.client().call_tool("echo", json!({})).await.unwrap();

    assert_eq!(result.text(), "did echo");
    assert_eq!(rig.pids("start").len(), 4);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_keeps_dying_is_503_with_the_time_to_come_again() {
    let rig = Rig::with(json!({"dies_at_starts": 1000}), &["--no-token"], "").await;

    let first = rig.greet("host: localhost\r\n").await;
    for _ in 0..4 {
        rig.greet("host: localhost\r\n").await;
    }
    let starts = rig.pids("start").len();
    let refused = rig.greet("host: localhost\r\n").await;

    assert!(first.starts_with("HTTP/1.1 503"), "{first}");
    assert!(first.contains("exit status: 3; its last words: no \u{fffd}[31mkey"), "{first}");
    let lower = refused.to_lowercase();
    assert!(lower.starts_with("http/1.1 503") && lower.contains("\r\nretry-after: "), "{refused}");
    assert!(refused.contains("keeps dying soon after its start"), "{refused}");
    assert_eq!(rig.pids("start").len(), starts, "it was not started again");
    rig.eventually("it is told", || rig.said().contains("the next start waits for")).await;
    assert!(!rig.said().contains('\u{1b}'));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_closes_its_stdout_and_lives_on_is_ended() {
    let words = "echo $$ >&2; exec >&-; exec sleep 1000;";
    let rig = Rig::with(json!({}), &["--no-token", "--verbose"], words).await;

    let refused = rig.greet("host: localhost\r\n").await;

    assert!(refused.starts_with("HTTP/1.1 503"), "{refused}");
    assert!(refused.contains("`sh` closed its stdout and was ended"), "{refused}");
    let said = rig.said();
    let number = said.lines().find_map(|line| line.strip_prefix("| ")).unwrap();
    let server = pid(number.parse().unwrap());
    rig.eventually("it is gone", || has_ended(server)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_whose_supervisor_is_killed_is_killed_with_it() {
    let rig =
        Rig::with(json!({"has_grandchild": true, "ignores_eof": true}), &[], "trap '' TERM;").await;
    let client = rig.builder(&rig.url).retry_policy(RetryPolicy::never()).build().unwrap();
    client.call_tool("echo", json!({})).await.unwrap();
    let (child, grandchild) = (rig.pids("start")[0], rig.pids("grandchild")[0]);
    let supervisor = rig.supervisor();
    assert!(!has_ended(child) && !has_ended(grandchild));

    kill_process(supervisor, Signal::KILL).unwrap();

    rig.eventually("all are gone", || [supervisor, child, grandchild].into_iter().all(has_ended))
        .await;
    rig.eventually("it is told", || {
        rig.said().contains("`sh` has ended, its supervisor was killed by signal 9")
    })
    .await;
}
