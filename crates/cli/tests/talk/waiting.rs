//! A server that cannot be reached: how long commands wait for it, and that they say so.

use std::time::{Duration, Instant};

use ridethrough_lab::{Times, When};

use crate::rig::Rig;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_never_was_there_is_waited_for_10_s_and_told_in_plain_lines() {
    let rig = Rig::new().await;
    let began = Instant::now();

    let ran = rig.run(&["ping", &dead()]).await;

    assert_eq!(ran.code, Some(4), "{ran:?}");
    let took = began.elapsed().as_secs_f64();
    assert!((9.0..20.0).contains(&took), "{took} s: {ran:?}");
    assert!(ran.err.contains("still trying after 2."), "{ran:?}");
    assert_eq!(
        ran.err.matches("onnection refused").count(),
        ran.err.lines().filter(|it| it.contains("onnection refused")).count(),
        "{ran:?}"
    );
    assert!(!ran.err.contains("os error") && !ran.err.contains('\u{1b}'), "{ran:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_watch_of_a_server_that_is_not_there_ends_when_its_time_is_over() {
    let rig = Rig::new().await;
    let began = Instant::now();

    let ran = rig.run(&["watch", &dead(), "--for", "1.5"]).await;

    assert!(began.elapsed() < Duration::from_secs(8), "{ran:?}");
    assert_eq!(ran.code, Some(4), "{ran:?}");
    assert!(ran.err.contains("could not reach the server: connection refused\n"), "{ran:?}");
    assert!(ran.err.contains("hint: "), "{ran:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_watch_of_a_server_that_refuses_says_what_it_said() {
    let rig = Rig::new().await;
    rig.mcp.rule(When::any(), Times::Always, |ask| async move {
        ask.status(500, &[], "db down").await;
    });

    let ran = rig.run(&["watch", "SERVER", "--for", "1.5"]).await;

    assert!(ran.err.contains("of the handshake") && ran.err.contains("500"), "{ran:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_wait_without_trouble_is_told_where_there_is_no_terminal() {
    let rig = Rig::new().await;
    rig.mcp.rule(When::method("ping"), Times::Always, |ask| async move {
        std::future::pending::<()>().await;
        drop(ask);
    });

    let ran = rig.run(&["ping", "SERVER", "--timeout", "3"]).await;

    assert_eq!(ran.code, Some(7), "{ran:?}");
    assert!(ran.err.starts_with("waiting for the server: 2 s\n"), "{ran:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_program_that_starts_slowly_is_waited_for_with_a_word_and_one_that_ends_is_not() {
    let rig = Rig::new().await;
    let began = Instant::now();

    let slow = rig.run(&["ping", "--timeout", "3", "--", "sleep", "60"]).await;
    let ended = rig.run(&["ping", "--policy", "never", "--", "false"]).await;

    assert!(slow.err.contains("waiting for the program, which may still be starting"), "{slow:?}");
    assert_eq!(ended.code, Some(4), "{ended:?}");
    assert!(began.elapsed() < Duration::from_secs(15), "{ended:?}");
}

/// The program was once started for half a minute, dozens of times.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_program_that_ends_at_once_is_started_a_few_times_and_told_with_its_last_words() {
    let rig = Rig::new().await;
    let (began, script) = (Instant::now(), "echo x >> starts; echo no licence >&2; exit 3");

    let ran = rig.run(&["tools", "--", "sh", "-c", script]).await;

    assert_eq!(ran.code, Some(4), "{ran:?}");
    assert!(ran.err.contains("exit status: 3; its last words: no licence"), "{}", ran.err);
    assert!(ran.err.contains("`ridethrough check -- sh ...` looks closer"), "{}", ran.err);
    assert!(began.elapsed() < Duration::from_secs(15), "{:?}", began.elapsed());
    let starts = std::fs::read_to_string(rig.folder.join("starts")).unwrap().lines().count();
    // Gaps of 50 to 250 ms for half a second; for two more where the program ends before it can be written to.
    assert!((1..=40).contains(&starts), "{starts} starts");
}

/// Returns a URL where no server listens: the port was free a moment ago.
fn dead() -> String {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    format!("http://{}/mcp", listener.local_addr().unwrap())
}
