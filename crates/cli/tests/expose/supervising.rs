//! The supervisor by itself: how it ends, and what it leaves.

use std::process::{ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Signal, kill_process};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::Child;
use tokio::time::timeout;

use crate::rig::{PATIENCE, binary, has_ended, pid};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn it_ends_as_its_server_did() {
    for (words, code) in [("exit 0", 0), ("exit 5", 5), ("kill -9 $$", 137), ("kill -15 $$", 143)] {
        let mut supervisor = supervise(words);

        let status = ended(&mut supervisor).await;

        assert_eq!(status.code(), Some(code), "{words}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_end_of_its_stdin_is_that_of_its_servers_behind_all_that_was_written() {
    let mut supervisor = supervise("wc -c");
    let mut stdin = supervisor.stdin.take().unwrap();

    stdin.write_all(&vec![b'x'; 3_000_000]).await.unwrap();
    drop(stdin);

    let mut counted = String::new();
    supervisor.stdout.take().unwrap().read_to_string(&mut counted).await.unwrap();
    assert_eq!(counted.trim(), "3000000");
    assert!(ended(&mut supervisor).await.success());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_ignores_the_end_of_its_stdin_gets_sigterm_after_2_s() {
    let mut supervisor = supervise("trap 'exit 9' TERM; while :; do sleep 0.05; done");
    let began = Instant::now();

    drop(supervisor.stdin.take());
    let status = ended(&mut supervisor).await;

    assert_eq!(status.code(), Some(9));
    assert!(began.elapsed() >= Duration::from_secs(2), "{:?}", began.elapsed());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_signal_ends_its_servers_stdin_too() {
    let mut supervisor = supervise("echo ready; cat >/dev/null; exit 4");
    let mut ready = [0; 5];
    supervisor.stdout.as_mut().unwrap().read_exact(&mut ready).await.unwrap();

    kill_process(pid(supervisor.id().unwrap()), Signal::TERM).unwrap();

    assert_eq!(ended(&mut supervisor).await.code(), Some(4));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_server_leaves_behind_is_killed_and_its_code_is_still_told() {
    let words = "sleep 1000 & echo $!; setsid sleep 1000 >/dev/null & echo $!; exit 5";
    let mut supervisor = supervise(words);
    let mut told = String::new();

    let status = ended(&mut supervisor).await;
    supervisor.stdout.take().unwrap().read_to_string(&mut told).await.unwrap();

    assert_eq!(status.code(), Some(5));
    let left: Vec<_> = told.lines().map(|line| pid(line.parse().unwrap())).collect();
    assert_eq!(left.len(), 2);
    assert!(left.into_iter().all(has_ended), "{told}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_program_that_cannot_be_started_is_told() {
    let output = binary().args(["supervise", "--", "/no/such/program"]).output().await.unwrap();

    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("the server could not be started"), "{said}");
}

fn supervise(words: &str) -> Child {
    let mut command = binary();
    command.args(["supervise", "--", "sh", "-c", words]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap()
}

async fn ended(supervisor: &mut Child) -> ExitStatus {
    // Waiting closes stdin, which is itself a reason to end.
    let stdin = supervisor.stdin.take();
    let status = timeout(PATIENCE, supervisor.wait()).await.expect("it ends").unwrap();
    drop(stdin);
    status
}
