//! Access: which clients are let in, what people are told, and what cannot be requested.

use serde_json::json;
use tokio::net::TcpListener;

use crate::rig::{Rig, SECRET, binary};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_the_right_name_page_and_token_are_let_in() {
    let rig = Rig::with(json!({}), &["--allow-host", "box.local"], "").await;
    let token = format!("authorization: Bearer {}\r\n", rig.token);
    for (headers, status) in [
        ("host: localhost\r\n".to_owned(), 401),
        ("host: localhost\r\nauthorization: Bearer wrong\r\n".to_owned(), 401),
        (format!("host: evil.example\r\n{token}"), 403),
        (format!("host: localhost\r\norigin: https://evil.example\r\n{token}"), 403),
    ] {
        let answer = rig.greet(&headers).await;

        assert!(answer.starts_with(&format!("HTTP/1.1 {status}")), "{headers}{answer}");
        assert!(!answer.contains(&rig.token), "{answer}");
    }
    assert!(rig.pids("start").is_empty());
    for host in ["localhost", "127.0.0.1:1", "box.local"] {
        let answer = rig.greet(&format!("host: {host}\r\n{token}")).await;

        assert!(
            answer.starts_with("HTTP/1.1 200") && answer.contains("mcp-session-id"),
            "{answer}"
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_fresh_token_is_told_once_and_never_again() {
    let rig = Rig::with(json!({}), &["--verbose"], "").await;
    assert_eq!(rig.token.len(), 64);

    let client = rig.client();
    client.call_tool("dies", json!({})).await.unwrap_err();
    client.call_tool("echo", json!({})).await.unwrap();
    rig.greet("host: localhost\r\nauthorization: Bearer wrong\r\n").await;
    rig.eventually("it is told", || rig.said().contains("session 2 began")).await;

    let said = rig.said();
    assert_eq!(said.matches(&rig.token).count(), 1, "{said}");
    assert!(said.contains("| panic: out of cheese"), "{said}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_token_of_our_own_is_never_told_and_not_given_to_the_server() {
    let flags = ["--token-env", "EXPOSED_SECRET", "--verbose"];
    let mut rig = Rig::with(json!({}), &flags, "").await;
    SECRET.clone_into(&mut rig.token);

    let result = rig.client().request("tools/call", json!({"name": "echo"})).await.unwrap();

    let result: serde_json::Value = result.read().unwrap();
    assert_eq!(result["structuredContent"]["secret"], json!(null));
    assert!(!rig.said().contains(SECRET), "{}", rig.said());
    assert!(rig.said().contains("--bearer-env EXPOSED_SECRET"), "{}", rig.said());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_cannot_work_is_wrong_usage_in_three_parts_and_nothing_is_started() {
    let taken = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let taken = taken.local_addr().unwrap().to_string();
    for (words, what) in [
        (vec!["--", "no-such-program", "--key=s3cret"], "there is no program `no-such-program`"),
        (vec!["--", "/nowhere/no-such-program", "s3cret"], "there is no program `no-such-program`"),
        (vec!["--listen", &taken, "--", "sh", "s3cret"], "cannot be listened on"),
        (vec!["--listen", "0.0.0.0:0", "--no-token", "--", "sh"], "would let every machine"),
        (
            vec!["--token-env", "UNSET_VARIABLE", "--", "sh"],
            "`UNSET_VARIABLE` of `--token-env` is not set",
        ),
        (vec!["--token-env", "SPACES", "--", "sh"], "visible ASCII"),
        (vec!["--allow-host", "box.local:8808", "--", "sh"], "no client can come by a name"),
        (vec!["--allow-origin", "app.example", "--", "sh"], "no page can come from an origin"),
    ] {
        let output =
            binary().arg("expose").args(&words).env("SPACES", "a s3cret").output().await.unwrap();

        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{words:?} {said}");
        assert!(said.starts_with("error: ") && said.contains(what), "{words:?} {said}");
        assert!(said.contains("\n  tried: ") && said.contains("\n\nhint: "), "{said}");
        assert!(output.stdout.is_empty() && !said.contains("s3cret"), "{said}");
    }
    for words in
        [&["expose"][..], &["expose", "sh"], &["expose", "--listen", "nowhere", "--", "sh"]]
    {
        let output = binary().args(words).output().await.unwrap();

        assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0), "{words:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_listens_for_other_machines_is_warned_and_still_needs_the_token() {
    let rig = Rig::with(json!({}), &["--listen", "0.0.0.0:0"], "").await;

    assert!(rig.said().contains("http://127.0.0.1:"), "{}", rig.said());
    rig.eventually("a warning", || rig.said().contains("warning: other machines reach")).await;
    assert!(rig.greet("host: localhost\r\n").await.starts_with("HTTP/1.1 401"));
}
