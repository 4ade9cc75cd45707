//! One fault, one exit code, whichever command meets it: the table of docs/reference/errors.md.

use std::future::pending;

use futures_util::future::join_all;
use ridethrough_lab::{Ask, Certificate, Mood, Times, When};
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};

use crate::rig::Rig;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_cannot_be_reached_ends_every_command_with_4() {
    let rig = Rig::new().await;
    let plain = rig.url.replace("http://", "https://");
    all_end_with(&rig, &plain, 4, "https on a plain port").await;
    rig.server.set_mood(Mood::Down);
    all_end_with(&rig, &rig.url, 4, "refused").await;
    all_end_with(&rig, "http://nowhere.invalid/mcp", 4, "an unknown name").await;

    let rig = Rig::over_tls().await;
    rig.server.set_certificate(Certificate::SelfSigned);
    all_end_with(&rig, &rig.url, 4, "a certificate that nobody trusts").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_status_ends_every_command_alike() {
    for (status, code) in
        [(401, 5), (403, 5), (404, 8), (408, 4), (425, 4), (429, 4), (500, 4), (503, 4)]
    {
        let rig = answering(move |ask| async move { ask.status(status, &[], "no").await }).await;

        all_end_with(&rig, &rig.url, code, &status.to_string()).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_no_mcp_server_ends_every_command_with_8() {
    let html = [("content-type", "text/html")];
    let rig = answering(move |ask| async move { ask.status(200, &html, "<html>").await }).await;

    all_end_with(&rig, &rig.url, 8, "a web page").await;
    let rig = Rig::over_tls().await;
    let clear = rig.url.replace("https://", "http://");
    all_end_with(&rig, &clear, 8, "plain http on a port of TLS").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_says_nothing_ends_every_command_with_7_when_the_time_is_over() {
    let rig = answering(|ask| async move {
        pending::<()>().await;
        drop(ask);
    })
    .await;

    for words in COMMANDS {
        let ran = rig.run(&[words, &["--timeout", "1"]].concat()).await;

        assert_eq!(ran.code, Some(7), "{words:?} {ran:?}");
    }
}

/// The command once ended with 7, and advised to call again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_closed_port_ends_with_4_also_when_the_time_is_short() {
    let rig = Rig::new().await;
    rig.server.set_mood(Mood::Down);
    let words: Vec<_> =
        COMMANDS.iter().map(|words| [*words, &["--timeout", "1"]].concat()).collect();

    let ended = join_all(words.iter().map(|words| rig.run(words))).await;

    for (words, ran) in words.iter().zip(ended) {
        assert_eq!(ran.code, Some(4), "{words:?} {ran:?}");
        let is_advised = ran.err.contains("check the address and that the server is running");
        assert!(is_advised || words[0] == "check", "{words:?} {ran:?}");
    }
}

/// `check` once ended with 7, as if its own time had been over.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_says_nothing_ends_every_command_with_4_when_nobody_set_a_time() {
    let rig = answering(|ask| async move {
        pending::<()>().await;
        drop(ask);
    })
    .await;
    let words: Vec<_> =
        COMMANDS.iter().map(|words| [*words, &["--policy", "never"]].concat()).collect();

    let ended = join_all(words.iter().map(|words| rig.run(words))).await;

    for (words, ran) in words.iter().zip(ended) {
        assert_eq!(ran.code, Some(4), "{words:?} {ran:?}");
    }
}

/// `check`, which detects TLS, once ended with 8.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_port_of_tls_that_hangs_up_on_plain_http_ends_every_command_with_4() {
    let rig = Rig::over_tls().await;
    let behind = rig.url.trim_start_matches("https://").trim_end_matches("/mcp").to_owned();
    let before = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", before.local_addr().unwrap());
    tokio::spawn(async move {
        while let Ok((mut client, _)) = before.accept().await {
            let behind = behind.clone();
            tokio::spawn(async move {
                let mut first = [0];
                // A TLS handshake begins with 22.
                if client.peek(&mut first).await.is_ok() && first == [22] {
                    let mut server = TcpStream::connect(behind).await.unwrap();
                    let _ = copy_bidirectional(&mut client, &mut server).await;
                }
            });
        }
    });

    all_end_with(&rig, &url, 4, "a port of TLS that hangs up").await;
}

async fn all_end_with(rig: &Rig, server: &str, code: i32, fault: &str) {
    for words in COMMANDS {
        let words: Vec<_> = words.iter().map(|it| it.replace("SERVER", server)).collect();
        let words: Vec<_> = words.iter().map(String::as_str).collect();
        let ran = rig.run(&[&words[..], &["--policy", "never"]].concat()).await;

        assert_eq!(ran.code, Some(code), "{fault}: {words:?} {ran:?}");
    }
}

async fn answering<Handling>(handler: impl Fn(Ask) -> Handling + Send + Sync + 'static) -> Rig
where
    Handling: Future<Output = ()> + Send + 'static,
{
    let rig = Rig::new().await;
    rig.mcp.rule(When::any(), Times::Always, handler);
    rig
}

/// Every command that talks to a server and ends by itself.
const COMMANDS: [&[&str]; 10] = [
    &["call", "SERVER", "echo"],
    &["check", "SERVER"],
    &["ping", "SERVER"],
    &["prompt", "SERVER", "greet"],
    &["prompts", "SERVER"],
    &["read", "SERVER", "a:b"],
    &["resources", "SERVER"],
    &["task", "list", "SERVER"],
    &["tools", "SERVER"],
    &["watch", "SERVER"],
];
