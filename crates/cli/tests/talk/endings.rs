//! Every way in which a command ends, and its exit code.

use std::future::pending;
use std::time::Duration;

use ridethrough_lab::{Mood, Times, When};
use serde_json::json;
use tokio::time::sleep;

use crate::rig::{Ran, Rig};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_that_is_answered_ends_with_0_and_gives_its_session_back() {
    let rig = Rig::new().await;

    let ran = rig.run(&["call", "SERVER", "echo", "msg=hi"]).await;

    assert_eq!((ran.code, ran.out.as_str(), ran.err.as_str()), (Some(0), "hi\n", ""));
    assert_eq!(rig.mcp.count(&When::delete()), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_tool_that_failed_ends_with_3_and_its_words_are_the_output() {
    let rig = Rig::new().await;
    let content = json!([{"type": "text", "text": "the disk is full"}]);
    rig.answer("echo", json!({"content": content, "isError": true}));

    let ran = rig.run(&["call", "SERVER", "echo"]).await;

    assert_eq!((ran.code, ran.out.as_str()), (Some(3), "the disk is full\n"));
    assert_eq!(ran.err, "error: the server says that `echo` failed\n");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_is_not_there_ends_with_4() {
    let rig = Rig::new().await;
    rig.server.set_mood(Mood::Down);

    for words in [
        &["call", "SERVER", "echo"][..],
        &["tools", "SERVER"],
        &["resources", "SERVER"],
        &["prompts", "SERVER"],
        &["read", "SERVER", "a:b"],
        &["prompt", "SERVER", "greet"],
        &["ping", "SERVER"],
        &["watch", "SERVER"],
    ] {
        let ran = rig.run(&[words, &["--policy", "never"]].concat()).await;

        assert_eq!((ran.code, ran.out.as_str()), (Some(4), ""), "{words:?} {ran:?}");
        assert_three_parts(&ran, &["could not reach the server"]);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_token_that_is_refused_ends_with_5_and_one_that_is_taken_with_0() {
    let rig = Rig::new().await;
    rig.mcp.require_bearer(Some("right"));
    let words = ["ping", "SERVER", "--bearer-env", "TOKEN"];

    let without = rig.run(&["ping", "SERVER"]).await;
    let wrong = rig.run_with(&words, &[("TOKEN", "wrong")]).await;
    let right = rig.run_with(&words, &[("TOKEN", "right")]).await;
    let header = ["ping", "SERVER", "--header", "Authorization: Bearer ${TOKEN}"];
    let by_header = rig.run_with(&header, &[("TOKEN", "right")]).await;

    assert_eq!([without.code, wrong.code], [Some(5), Some(5)], "{without:?} {wrong:?}");
    assert_three_parts(&without, &["was not authorized", "`--bearer-env VAR`"]);
    assert_eq!([right.code, by_header.code], [Some(0), Some(0)], "{right:?} {by_header:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_in_doubt_ends_with_6_and_is_sent_again_only_if_that_is_allowed() {
    let rig = Rig::new().await;
    let lose_the_answer = || {
        rig.mcp.rule(When::tool("put"), Times::Once, |ask| async move {
            ask.run();
            ask.sse().await.cut().await;
        });
    };

    lose_the_answer();
    let doubt = rig.run(&["call", "SERVER", "put"]).await;
    let runs = rig.mcp.executions("put");
    lose_the_answer();
    let repeated = rig.run(&["call", "SERVER", "put", "--repeatable", "put"]).await;

    assert_eq!((doubt.code, runs), (Some(6), 1), "{doubt:?}");
    assert_three_parts(&doubt, &["was interrupted", "check whether `put` took effect"]);
    assert_eq!((repeated.code, rig.mcp.executions("put")), (Some(0), 3), "{repeated:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_time_of_a_command_is_up_for_all_that_it_asks_together() {
    let rig = Rig::new().await;
    rig.mcp.rule(When::method("tools/list"), Times::Always, |ask| async move {
        sleep(Duration::from_millis(600)).await;
        ask.pass().await;
    });
    rig.mcp.rule(When::tool("echo"), Times::Always, |ask| async move {
        ask.run();
        pending::<()>().await;
        drop(ask);
    });

    let began = std::time::Instant::now();
    let ran = rig.run(&["call", "SERVER", "echo", "--timeout", "1.2"]).await;

    assert_eq!(ran.code, Some(7), "{ran:?}");
    assert_three_parts(&ran, &["passed its deadline", "check whether `echo` took effect"]);
    assert_eq!(rig.mcp.executions("echo"), 1);
    assert!(began.elapsed() >= Duration::from_millis(1200));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_does_not_take_a_goodbye_is_not_waited_for_when_the_time_is_up() {
    let rig = Rig::new().await;
    for silent in [When::method("ping"), When::delete()] {
        rig.mcp.rule(silent, Times::Always, |ask| async move {
            pending::<()>().await;
            drop(ask);
        });
    }
    let began = std::time::Instant::now();

    let ran = rig.run(&["ping", "SERVER", "--timeout", "1"]).await;

    assert_eq!(ran.code, Some(7), "{ran:?}");
    // The deletion of a session once took a second more; half of that leaves room for a busy machine.
    assert!(began.elapsed() < Duration::from_millis(1600), "{:?}", began.elapsed());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_error_of_the_server_ends_with_8_and_is_there_for_machines() {
    let rig = Rig::new().await;
    rig.mcp.rule(When::tool("echo"), Times::Always, |ask| async move {
        let error = ask.error(-32050, "not you\n\nhint: trust me\u{1b}[2J");
        ask.json(error).await;
    });

    let ran = rig.run(&["call", "SERVER", "echo", "--json"]).await;

    assert_eq!(ran.code, Some(8), "{ran:?}");
    assert_eq!(ran.err.lines().count(), 1, "{}", ran.err);
    let error = &ran.json()["error"];
    assert_eq!((&error["kind"], &error["exitCode"]), (&json!("protocol"), &json!(8)));
    assert_eq!(error["rpc"]["code"], -32050);
    assert_eq!(error["mayHaveRun"], true);
    assert!(error["attempts"].is_null(), "what is not known is not said: {error}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_an_error_of_the_server_says_beside_its_message_is_told() {
    let rig = Rig::new().await;
    rig.mcp.rule(When::tool("echo"), Times::Always, |ask| async move {
        let error = json!({"code": -32602, "message": "no", "data": {"field": "msg\u{1b}[2J"}});
        let body = json!({"jsonrpc": "2.0", "id": ask.id(), "error": error}).to_string();
        ask.json(body).await;
    });

    let ran = rig.run(&["call", "SERVER", "echo"]).await;

    assert_eq!(ran.code, Some(8), "{ran:?}");
    assert!(ran.err.contains("\n  data: {\"field\":\"msg\\u001b[2J\"}\n"), "{ran:?}");
}

/// The hint once named the server alone, without the query and the token that the server needs.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hint_repeats_what_was_typed_and_no_secret() {
    let rig = Rig::new().await;
    let server = format!("{}?toolset=issues&key=s3cret-query", rig.url);
    let flags = ["--bearer-env", "TOKEN", "--header", "X-Key: ${KEY}", "--header", "X-B: s3cret-b"];
    let variables = [("TOKEN", "s3cret-token"), ("KEY", "s3cret-key")];

    let ran = rig.run_with(&[&["call", &server, "deploy"], &flags[..]].concat(), &variables).await;

    let told = format!(
        "hint: `ridethrough tools '{}?toolset=issues&key=...' deploy --header 'X-Key: ${{KEY}}' \
         --header 'X-B: ...' --bearer-env TOKEN` shows what it takes",
        rig.url
    );
    assert!(ran.err.contains(&told), "{told}: {}", ran.err);
    assert!(!ran.err.contains("s3cret"), "{ran:?}");
}

/// The error once blamed the server.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_proxy_that_is_not_there_is_named() {
    let rig = Rig::new().await;
    let free = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let proxy = free.local_addr().unwrap().to_string();
    drop(free);
    let url = format!("http://{proxy}");
    let variables = [("http_proxy", url.as_str()), ("all_proxy", &url)];

    for command in ["tools", "check"] {
        let words = [command, "http://server.example/mcp", "--policy", "never"];
        let ran = rig.run_with(&words, &variables).await;

        let said =
            format!("{}{}", ran.out, ran.err).split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(ran.code, Some(4), "{ran:?}");
        assert!(
            said.contains(&format!("the proxy at `{proxy}` did not answer: connection refused")),
            "{said}"
        );
        assert!(said.contains("`no_proxy`") && !said.contains("server is running"), "{said}");
    }
}

/// The error once had only the words, for a program to take apart.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_error_for_machines_has_the_status_and_the_hint_apart() {
    let rig = Rig::new().await;
    rig.mcp.rule(When::method("initialize"), Times::Always, |ask| async move {
        ask.status(403, &[], "").await;
    });

    let refused = rig.run(&["tools", "SERVER", "--json"]).await;
    let misused = rig.run(&["call", "SERVER", "--json", "echo", "msg"]).await;

    let error = &refused.json()["error"];
    assert_eq!((refused.code, &error["status"]), (Some(5), &json!(403)), "{refused:?}");
    let hint = error["hint"].as_str().unwrap_or_default();
    assert!(hint.contains("credentials") && hint.contains("`--bearer-env VAR`"), "{hint}");
    // The hint was once in the message too, and so was what was tried.
    let message = error["message"].as_str().unwrap();
    assert!(!message.contains(hint) && !message.contains("tried"), "{error}");
    assert!(error["tried"].as_str().unwrap().contains("of the handshake"), "{error}");
    let error = &misused.json()["error"];
    assert!(error["status"].is_null(), "{error}");
    assert!(error["hint"].as_str().unwrap().contains("shows what it takes"), "{error}");
}

/// Only the words once had the status.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_status_of_every_refusal_of_credentials_is_in_the_error() {
    let scope = "Bearer error=\"insufficient_scope\", scope=\"files:write\"";
    for (status, challenge) in [(401, "Bearer"), (403, scope), (403, "")] {
        let rig = Rig::new().await;
        rig.mcp.rule(When::any(), Times::Always, move |ask| async move {
            let headers: &[_] =
                if challenge.is_empty() { &[] } else { &[("www-authenticate", challenge)] };
            ask.status(status, headers, "").await;
        });
        let token = [("TOKEN", "t0k-0123456789")];
        let list = ["tools", "SERVER", "--json", "--policy", "never"];

        let without = rig.run(&list).await;
        let with = rig.run_with(&[&list[..], &["--bearer-env", "TOKEN"]].concat(), &token).await;

        for ran in [without, with] {
            let error = &ran.json()["error"];
            assert_eq!(error["status"], status, "{challenge}: {ran:?}");
            assert_eq!(error["exitCode"], 5, "{ran:?}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_tool_that_could_not_ask_is_told_with_what_would_answer_it() {
    let rig = Rig::new().await;
    rig.mcp.rule(When::tool("echo"), Times::Always, |ask| async move {
        let error = ask.error(-32600, "Cannot send 'elicitation/create': no back-channel");
        ask.json(error).await;
    });

    let ran = rig.run(&["call", "SERVER", "echo"]).await;

    assert_eq!(ran.code, Some(8), "{ran:?}");
    assert!(
        ran.err.contains("\n\nhint: the tool asks something: answer it with `--answer"),
        "{ran:?}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn wrong_flags_are_there_for_machines_too() {
    let rig = Rig::new().await;

    let ran = rig.run(&["tools", "SERVER", "--json", "--colour"]).await;

    assert_eq!(ran.code, Some(2), "{ran:?}");
    let error = &ran.json()["error"];
    assert_eq!((&error["kind"], &error["exitCode"]), (&json!("usage"), &json!(2)));
    assert!(error["message"].as_str().unwrap().contains("--colour"), "{error}");
    let plain = rig.run(&["tools", "SERVER", "--colour"]).await;
    assert_eq!((plain.code, plain.out.as_str()), (Some(2), ""), "{plain:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_log_of_the_server_is_told_beside_the_answer() {
    let rig = Rig::new().await;
    rig.mcp.rule(When::tool("echo"), Times::Always, |ask| async move {
        let log = json!({"jsonrpc": "2.0", "method": "notifications/message",
            "params": {"level": "warning", "logger": "disk", "data": "nearly full"}});
        let mut sse = ask.sse().await;
        sse.message(None, &log).await;
        sse.answer_and_finish(json!({"content": [{"type": "text", "text": "hi"}]})).await;
    });

    let ran = rig.run(&["call", "SERVER", "echo", "--log", "info"]).await;

    assert_eq!((ran.code, ran.out.as_str()), (Some(0), "hi\n"), "{ran:?}");
    assert!(ran.err.contains("log warning (disk): nearly full\n"), "{ran:?}");
    assert_eq!(rig.mcp.count(&When::method("logging/setLevel")), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_without_a_log_is_called_all_the_same() {
    let rig = Rig::new().await;
    rig.mcp.rule(When::method("logging/setLevel"), Times::Always, |ask| async move {
        let error = ask.error(-32601, "Method not found");
        ask.json(error).await;
    });

    let ran = rig.run(&["call", "SERVER", "echo", "--log", "info"]).await;

    assert_eq!((ran.code, rig.mcp.executions("echo")), (Some(0), 1), "{ran:?}");
    assert!(ran.err.contains("does not tell its log: it said `Method not found`"), "{ran:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_no_mcp_server_ends_with_8() {
    let rig = Rig::new().await;
    rig.mcp.rule(When::any(), Times::Always, |ask| async move {
        ask.status(200, &[("content-type", "text/html")], "<html>hello</html>").await;
    });

    let ran = rig.run(&["tools", "SERVER"]).await;

    assert_eq!(ran.code, Some(8), "{ran:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_that_cannot_be_written_ends_with_1() {
    let rig = Rig::new().await;
    rig.write("taken", "a file, no folder");

    let ran = rig.run(&["call", "SERVER", "echo", "--out", "taken/inside"]).await;

    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert_eq!(rig.mcp.executions("echo"), 0, "found before the tool was called");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_interrupt_cancels_the_call_and_ends_with_130() {
    let rig = Rig::new().await;
    rig.mcp.rule(When::tool("echo"), Times::Always, |ask| async move {
        ask.run();
        pending::<()>().await;
        drop(ask);
    });
    let mut command = rig.command(&["call", "SERVER", "echo", "--json"]);
    command.stdout(std::process::Stdio::piped());
    let child = command.stderr(std::process::Stdio::piped()).spawn().unwrap();
    until("the tool runs", || rig.mcp.executions("echo") == 1).await;

    let id = child.id().unwrap().to_string();
    std::process::Command::new("kill").args(["-INT", &id]).status().unwrap();
    let ran: Ran = child.wait_with_output().await.unwrap().into();

    assert_eq!(ran.code, Some(130), "{ran:?}");
    assert!(ran.err.contains("stopped: "), "{ran:?}");
    let error = &ran.json()["error"];
    assert_eq!((&error["kind"], &error["mayHaveRun"]), (&json!("stopped"), &json!(true)));
    assert_eq!(rig.mcp.count(&When::notification("notifications/cancelled")), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_wait_is_told_after_two_seconds_and_ends_when_the_server_is_back() {
    let rig = Rig::new().await;
    rig.server.set_mood(Mood::Down);
    let waiting = rig.run(&["ping", "SERVER"]);
    let back = async {
        sleep(Duration::from_millis(3500)).await;
        rig.server.set_mood(Mood::Up);
    };

    let (ran, ()) = tokio::join!(waiting, back);

    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.err.starts_with("still trying after 2."), "{ran:?}");
    assert!(ran.err.contains("connection refused"), "{ran:?}");
}

/// Checks that an error says what happened, what was tried and what to do.
fn assert_three_parts(ran: &Ran, words: &[&str]) {
    for words in ["error: ", "\n  tried: ", "\n\nhint: "].iter().chain(words) {
        assert!(ran.err.contains(words), "{words}: {}", ran.err);
    }
}

async fn until(what: &str, holds: impl Fn() -> bool) {
    for _ in 0..1000 {
        if holds() {
            return;
        }
        sleep(Duration::from_millis(20)).await;
    }
    panic!("not within 20 s: {what}");
}
