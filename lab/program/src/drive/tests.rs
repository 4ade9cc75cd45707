//! Plays scripts over pipes against a server of the lab, in paused time: checks what each line says, and what
//! the server saw.

use std::io;

use ridethrough_lab::adapter::{Answer, Outcome};
use ridethrough_lab::{Mood, Times, When};
use ridethrough_oauth::OAuth;
use serde_json::{Value, json};

use super::play_script;
use crate::login::Login;
use rig::{Rig, error, notification, outcome, secs, steps};

mod rig;

#[tokio::test(start_paused = true)]
async fn initialize_says_what_the_server_is_and_makes_a_session() {
    let rig = Rig::new();

    let lines = rig.play(json!([{"op": "initialize"}])).await;

    assert_eq!(outcome(&lines[0]).json.unwrap()["serverInfo"]["name"], "ridethrough-lab");
    assert_eq!(rig.mcp.count(&When::method("initialize")), 1);
}

#[tokio::test(start_paused = true)]
async fn we_declare_no_capability_that_a_script_did_not_ask_for() {
    let rig = Rig::new();

    rig.play(json!([{"op": "initialize"}])).await;

    let log = rig.mcp.log();
    let asked: Value = serde_json::from_slice(&log[0].body).unwrap();
    assert_eq!(asked["params"]["capabilities"], json!({}));
}

#[tokio::test(start_paused = true)]
async fn a_call_is_answered_by_the_text_of_its_tool() {
    let rig = Rig::new();
    let call = json!({"op": "call", "tool": "echo", "args": {"msg": "hi"}});

    let lines = rig.play(json!([{"op": "initialize"}, call])).await;

    let text = Some("hi".to_owned());
    let expected = Outcome { text, is_error: Some(false), json: None };
    assert_eq!(outcome(&lines[1]), expected);
    assert!(lines[1].done.ok && lines[1].done.error.is_none());
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_failed_gave_an_answer() {
    let rig = Rig::new();
    rig.mcp.rule(When::tool("add"), Times::Once, |ask| async move {
        let content = json!([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]);
        let result = ask.result(json!({"content": content, "isError": true}));
        ask.json(result).await;
    });

    let lines = rig.play(json!([{"op": "initialize"}, {"op": "call", "tool": "add"}])).await;

    assert!(lines[1].done.ok);
    let expected = Outcome { text: Some("a\nb".to_owned()), is_error: Some(true), json: None };
    assert_eq!(outcome(&lines[1]), expected);
}

#[tokio::test(start_paused = true)]
async fn a_doubt_that_a_front_of_ours_tells_is_a_failure_with_the_words_of_the_server() {
    let rig = Rig::new();
    rig.mcp.rule(When::tool("add"), Times::Once, |ask| async move {
        let doubt = json!({"kind": "interrupted", "mayHaveRun": true, "said": "Bad Gateway"});
        let content = json!([{"type": "text", "text": "The tool may have run."}]);
        let meta = json!({"ridethrough/doubt": doubt});
        let result = ask.result(json!({"content": content, "isError": true, "_meta": meta}));
        ask.json(result).await;
    });

    let lines = rig.play(json!([{"op": "initialize"}, {"op": "call", "tool": "add"}])).await;

    let error = error(&lines[1]);
    assert!(error.contains("may have run") && error.contains("Bad Gateway"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn a_json_rpc_error_is_a_failure_with_its_code_and_the_next_step_is_tried() {
    let rig = Rig::new();
    let unknown = json!({"op": "request", "method": "no/such"});

    let lines =
        rig.play(json!([{"op": "initialize"}, unknown, {"op": "call", "tool": "echo"}])).await;

    let error = error(&lines[1]);
    assert!(error.contains("-32601") && error.contains("Method not found"), "{error}");
    assert!(lines[2].done.ok);
}

#[tokio::test(start_paused = true)]
async fn a_request_brings_its_whole_result_and_carries_its_params() {
    let rig = Rig::new();
    let read = json!({"op": "request", "method": "resources/read", "params": {"uri": "lab://x"}});

    let lines = rig.play(json!([{"op": "initialize"}, read])).await;

    let json = outcome(&lines[1]).json.unwrap();
    assert_eq!(json["contents"][0]["uri"], "lab://x");
}

#[tokio::test(start_paused = true)]
async fn calls_at_once_have_their_own_ends_and_the_step_says_how_many_failed() {
    let rig = Rig::new();
    let is_second =
        |entry: &ridethrough_lab::Entry| entry.body.windows(4).any(|it| it == b"\"c1\"");
    rig.mcp.rule(When::matches(is_second), Times::Always, |ask| async move {
        let refused = ask.error(-32050, "not you");
        ask.json(refused).await;
    });
    let calls = json!({"op": "call", "tool": "echo", "args": {"key": "k"}, "concurrency": 3});

    let lines = rig.play(json!([{"op": "initialize"}, calls])).await;

    let Some(Answer::Many(ends)) = &lines[1].done.result else { panic!("a list: {lines:?}") };
    let texts: Vec<_> =
        ends.iter().map(|end| end.result.as_ref().and_then(|it| it.text.as_deref())).collect();
    assert_eq!(texts, [Some("c0"), None, Some("c2")]);
    assert!(rig.mcp.runs().iter().all(|run| run.arguments["key"] == "k"));
    assert!(ends[1].error.as_ref().unwrap().contains("-32050"));
    assert_eq!((lines[1].done.ok, error(&lines[1])), (false, "1 of 3 failed"));
}

#[tokio::test(start_paused = true)]
async fn one_call_at_once_is_a_list_too() {
    let rig = Rig::new();
    let calls = json!({"op": "call", "tool": "echo", "concurrency": 1});

    let lines = rig.play(json!([{"op": "initialize"}, calls])).await;

    assert!(matches!(&lines[1].done.result, Some(Answer::Many(ends)) if ends.len() == 1));
}

#[tokio::test(start_paused = true)]
async fn a_call_ends_with_its_timeout_and_says_that_it_may_have_run() {
    let rig = Rig::new();
    rig.hold("deploy");
    let call = json!({"op": "call", "tool": "deploy", "timeout_s": 2.5});

    let lines = rig.play(json!([{"op": "initialize"}, call])).await;

    let error = error(&lines[1]);
    assert!(error.contains("passed its deadline"), "{error}");
    assert!(error.contains("; the server may have run it"), "{error}");
    assert_eq!(lines[1].done.elapsed_ms.round(), 2500.0);
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_call_ends_when_its_caller_wanted_and_the_server_is_told() {
    let rig = Rig::new();
    rig.hold("deploy");
    let call = json!({"op": "call", "tool": "deploy", "cancel_after_s": 0.5});

    let lines = rig.play(json!([{"op": "initialize"}, call, {"op": "sleep", "s": 1}])).await;

    let error = error(&lines[1]);
    assert!(error.contains("was cancelled by its caller after 0.5 s"), "{error}");
    assert_eq!(lines[1].done.elapsed_ms.round(), 500.0);
    assert_eq!(rig.mcp.count(&When::notification("notifications/cancelled")), 1);
}

#[tokio::test(start_paused = true)]
async fn a_call_in_doubt_is_not_repeated_and_says_so() {
    let rig = Rig::new();
    rig.mcp.rule(When::tool("deploy"), Times::Always, |ask| async move {
        ask.run();
        ask.sse().await.cut().await;
    });

    let lines = rig.play(json!([{"op": "initialize"}, {"op": "call", "tool": "deploy"}])).await;

    let error = error(&lines[1]);
    assert!(error.contains("; the server may have run it"), "{error}");
    assert_eq!(rig.mcp.executions("deploy"), 1);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_cannot_be_reached_is_a_failed_step_and_the_client_finds_it_later() {
    let rig = Rig::new();
    rig.server.set_mood(Mood::Down);
    let server = rig.server.clone();
    let script = json!([{"op": "initialize"}, {"op": "call", "tool": "echo"}]);
    let mut lines = Vec::new();

    let played = play_script(
        |access| access.on(rig.builder()),
        Login(OAuth::new("nobody")),
        steps(script),
        |line| {
            server.set_mood(Mood::Up);
            lines.push(line);
            Ok(())
        },
    );
    played.await.unwrap();

    let error = error(&lines[0]);
    assert!(error.contains("`initialize` could not reach the server"), "{error}");
    assert!(error.contains("nothing was sent"), "{error}");
    assert!(lines[1].done.ok, "{lines:?}");
}

#[tokio::test(start_paused = true)]
async fn a_step_that_needs_a_client_fails_without_one_and_a_sleep_needs_none() {
    let rig = Rig::new();
    let call = json!({"op": "call", "tool": "echo"});
    let calls = json!({"op": "call", "tool": "echo", "concurrency": 2});
    let request = json!({"op": "request", "method": "ping"});

    let lines =
        rig.play(json!([call, calls, request, {"op": "close"}, {"op": "sleep", "s": 0.4}])).await;

    for line in &lines[..4] {
        assert!(error(line).starts_with("not connected"), "{line:?}");
    }
    assert!(lines[4].done.ok);
    assert_eq!(lines[4].done.elapsed_ms.round(), 400.0);
    assert_eq!(lines.iter().map(|line| line.step).collect::<Vec<_>>(), [0, 1, 2, 3, 4]);
}

#[tokio::test(start_paused = true)]
async fn close_gives_the_session_back_and_lets_go_of_the_client() {
    let rig = Rig::new();
    let call = json!({"op": "call", "tool": "echo"});

    let lines = rig.play(json!([{"op": "initialize"}, {"op": "close"}, call])).await;

    assert!(lines[1].done.ok && lines[1].done.result.is_none());
    assert_eq!(rig.mcp.count(&When::delete()), 1);
    assert!(error(&lines[2]).starts_with("not connected"));
}

#[tokio::test(start_paused = true)]
async fn the_end_of_a_script_without_close_lets_go_without_a_word() {
    let rig = Rig::new();

    rig.play(json!([{"op": "initialize"}])).await;
    tokio::time::sleep(secs(1.0)).await;

    assert_eq!((rig.mcp.count(&When::delete()), rig.server.open_connections()), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn a_second_initialize_makes_a_new_client_and_lets_go_of_the_old_one() {
    let rig = Rig::new();
    let call = json!({"op": "call", "tool": "echo"});
    let init = json!({"op": "initialize"});

    rig.play_until_before_the_end(json!([init, init, call, {"op": "sleep", "s": 1}])).await;

    let calls = rig.mcp.count(&When::tool("echo").and(When::session("lab-session-2")));
    assert_eq!(calls, 1);
    assert_eq!(rig.mcp.standing_streams(), 1);
}

#[tokio::test(start_paused = true)]
async fn the_token_of_an_initialize_is_shown_to_the_server_and_never_told() {
    let rig = Rig::new();
    rig.mcp.require_bearer(Some("s3cret"));
    let with = |token: &str| json!({"op": "initialize", "bearer": token});

    let lines = rig
        .play(json!([{"op": "initialize"}, with("s3cret-but-wrong"), with("s3cret no token"), with("s3cret")]))
        .await;

    assert_eq!(
        lines.iter().map(|line| line.done.ok).collect::<Vec<_>>(),
        [false, false, false, true]
    );
    assert!(error(&lines[1]).contains("was not authorized"), "{lines:?}");
    assert!(error(&lines[2]).contains("`bearer` is no token"), "{lines:?}");
    assert!(!serde_json::to_string(&lines).unwrap().contains("s3cret"));
}

#[tokio::test(start_paused = true)]
async fn what_the_server_tells_is_on_the_line_of_the_step_in_which_it_came() {
    let rig = Rig::new();
    let told = [
        ("message", json!({"level": "info", "data": "n1"})),
        ("message", json!({"level": "info", "data": {"a": 1}})),
        ("message", json!({"level": "no such level", "data": "odd"})),
        ("tools/list_changed", json!({})),
        ("prompts/list_changed", json!({})),
        ("resources/list_changed", json!({})),
        ("resources/updated", json!({"uri": "lab://note"})),
        ("elicitation/complete", json!({"elicitationId": "e"})),
        ("own", json!({"data": "kept to itself"})),
    ];
    let telling = rig.push_after(0.5, told);
    let sleep = json!({"op": "sleep", "s": 1});

    let script = json!([{"op": "initialize"}, sleep, sleep]);
    let (lines, ()) = tokio::join!(rig.play(script), telling);

    let (quiet, none) = (&lines[2].notifications, &lines[0].notifications);
    assert!(quiet.is_empty() && none.is_empty(), "{lines:?}");
    assert_eq!(
        lines[1].notifications,
        [
            "message:n1",
            r#"message:{"a":1}"#,
            "message:odd",
            "tools/list_changed",
            "prompts/list_changed",
            "resources/list_changed",
            "resources/updated",
            "elicitation/complete",
            "own",
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn what_comes_before_an_answer_is_on_the_line_of_its_call() {
    let rig = Rig::new();
    rig.mcp.rule(When::tool("echo"), Times::Once, |ask| async move {
        let mut sse = ask.sse().await;
        for _ in 0..500 {
            sse.message(None, &notification("message", json!({"level": "info", "data": "n"})))
                .await;
        }
        sse.answer_and_finish(json!({"content": []})).await;
    });

    let lines = rig.play(json!([{"op": "initialize"}, {"op": "call", "tool": "echo"}])).await;

    assert_eq!(lines[1].notifications, vec!["message:n"; 500]);
}

#[tokio::test(start_paused = true)]
async fn the_playing_ends_when_nobody_takes_the_lines() {
    let rig = Rig::new();
    let script = steps(json!([{"op": "sleep", "s": 1}, {"op": "initialize"}]));

    let gone = || Err(io::ErrorKind::BrokenPipe.into());
    let played = play_script(
        |access| access.on(rig.builder()),
        Login(OAuth::new("nobody")),
        script,
        |_| gone(),
    )
    .await;

    assert_eq!(played.unwrap_err().kind(), io::ErrorKind::BrokenPipe);
    assert!(rig.mcp.log().is_empty());
}
