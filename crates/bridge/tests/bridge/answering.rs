//! Every request of the host has exactly one answer, however odd its form is.

use ridethrough_lab::{Times, When};
use serde_json::{Value, json};

use crate::rig::{Host, Rig, secs};

/// MCP 2025-11-25, base protocol: the id of a request is a string or a number, and never null.
#[tokio::test(start_paused = true)]
async fn an_id_that_is_neither_text_nor_number_is_refused_and_nothing_is_sent() {
    let rig = Rig::new();
    let mut host = rig.greeted().await;

    for id in ["null", "[1]", "{}", "true", "false"] {
        host.say(format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"deploy"}}}}"#
        ))
        .await;
        let answer = host.hear_json().await;

        assert_eq!(answer["id"], Value::Null, "{answer}");
        assert_eq!(answer["error"]["code"], -32600, "{answer}");
    }
    assert!(host.hear_for(secs(10)).await.is_empty());
    assert_eq!(rig.count(When::notification("tools/call")), 0);
    assert_eq!(rig.mcp.executions("deploy"), 0);
}

#[tokio::test(start_paused = true)]
async fn each_member_of_a_batch_is_taken_by_itself() {
    let rig = Rig::new();
    let mut host = rig.greeted().await;

    host.say(
        r#"[{"id":1,"method":"ping"},{"id":null,"method":"ping"},7,{"method":"own/word"},
            [{"id":2,"method":"ping"}],{"id":"3"},{"id":4,"method":"tools/call","params":{"name":"echo"}}]"#
            .replace('\n', " "),
    )
    .await;
    host.say("[]").await;
    let mut heard: Vec<_> = host.hear_for(secs(10)).await.iter().map(outline).collect();

    heard.sort();
    let refused = "null -32600".to_owned();
    assert_eq!(
        heard,
        [
            r#""3" -32600"#.to_owned(),
            "1 ok".to_owned(),
            "4 ok".to_owned(),
            refused.clone(),
            refused.clone(),
            refused.clone(),
            refused
        ]
    );
    assert_eq!(rig.count(When::notification("own/word")), 1);
}

#[tokio::test(start_paused = true)]
async fn an_id_that_is_used_twice_at_once_has_two_answers() {
    let rig = Rig::new();
    let mut host = rig.greeted().await;
    rig.mcp.rule(When::tool("slow"), Times::Once, |ask| async {
        tokio::time::sleep(secs(5)).await;
        ask.pass().await;
    });

    host.call(1, "slow").await;
    host.call(1, "echo").await;
    let heard = host.hear_for(secs(60)).await;

    assert_eq!(heard.iter().map(outline).collect::<Vec<_>>(), ["1 ok", "1 ok"]);
}

#[tokio::test(start_paused = true)]
async fn a_cancel_that_crosses_the_answer_changes_nothing() {
    let rig = Rig::new();
    let mut host = rig.greeted().await;

    host.call(1, "echo").await;
    assert_eq!(outline(&host.hear_json().await), "1 ok");
    cancel(&mut host, "1").await;
    cancel(&mut host, "1").await;
    cancel(&mut host, r#""never asked""#).await;

    assert!(host.hear_for(secs(60)).await.is_empty());
    assert_eq!(rig.count(When::notification("notifications/cancelled")), 0);
    host.call(1, "echo").await;
    assert_eq!(outline(&host.hear_json().await), "1 ok", "the id may be used again");
}

#[tokio::test(start_paused = true)]
async fn a_server_that_answers_after_the_cancel_is_not_heard() {
    let rig = Rig::new();
    let mut host = rig.greeted().await;
    rig.mcp.rule(When::tool("slow"), Times::Once, |ask| async {
        let mcp = ask.mcp().clone();
        let sse = ask.sse().await;
        while mcp.count(&When::notification("notifications/cancelled")) == 0 {
            tokio::time::sleep(secs(1)).await;
        }
        sse.answer_and_finish(json!({})).await;
    });

    host.call(1, "slow").await;
    tokio::time::sleep(secs(1)).await;
    cancel(&mut host, "1").await;

    assert!(host.hear_for(secs(60)).await.is_empty());
    host.call(2, "echo").await;
    assert_eq!(outline(&host.hear_json().await), "2 ok");
}

#[tokio::test(start_paused = true)]
async fn what_stands_before_the_end_of_stdin_is_a_line_and_half_of_one_is_refused() {
    for (last, expected) in [
        (r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo"}}"#, "1 ok"),
        (r#"{"jsonrpc":"2.0","id":1,"method":"tools/ca"#, "null -32700"),
    ] {
        let rig = Rig::new();
        let mut host = rig.greeted().await;

        host.say_bytes(last.as_bytes()).await;
        host.finish_writing().await;
        let rest = host.rest().await;

        assert_eq!(rest.iter().map(|it| of_line(it)).collect::<Vec<_>>(), [expected], "{last}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_line_that_is_no_text_is_refused_and_the_next_one_is_not() {
    let rig = Rig::new();
    let mut host = rig.greeted().await;

    host.say_bytes(b"{\"id\":1,\"method\":\"ping\",\"x\":\"\xff\xfe\"}\n").await;
    assert_eq!(outline(&host.hear_json().await), "null -32700");

    assert!(host.asked(2, "ping", json!({})).await["result"].is_object());
}

#[tokio::test(start_paused = true)]
async fn a_line_of_twenty_megabytes_is_refused_under_its_id() {
    let rig = Rig::new();
    let mut host = rig.greeted().await;
    let large = "x".repeat(20 << 20);

    host.say(format!(r#"{{"id":"big","method":"tools/call","params":{{"name":"{large}"}}}}"#))
        .await;
    assert_eq!(outline(&host.hear_json().await), r#""big" -32600"#);
    host.say(format!(r#"{{"id":null,"method":"{large}"}}"#)).await;
    assert_eq!(outline(&host.hear_json().await), "null -32600");

    assert!(host.asked(2, "ping", json!({})).await["result"].is_object());
}

/// The bridge cannot know which request it was, but must report that one was lost.
#[tokio::test(start_paused = true)]
async fn a_line_that_is_too_long_to_be_held_and_never_ends_is_refused() {
    let rig = Rig::new();
    let mut host = rig.greeted().await;
    let part = vec![b'x'; 1 << 20];

    for _ in 0..66 {
        host.say_bytes(&part).await;
    }
    host.finish_writing().await;
    let rest = host.rest().await;

    assert_eq!(rest.iter().map(|it| of_line(it)).collect::<Vec<_>>(), ["null -32600"]);
}

async fn cancel(host: &mut Host, id: &str) {
    host.say(format!(
        r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{id}}}}}"#
    ))
    .await;
}

fn of_line(line: &str) -> String {
    outline(&serde_json::from_str(line).unwrap())
}

/// Returns the id of an answer, and its code if it is an error.
fn outline(answer: &Value) -> String {
    match answer["error"]["code"].as_i64() {
        Some(code) => format!("{} {code}", answer["id"]),
        None => format!("{} ok", answer["id"]),
    }
}
