//! The upstream fails, and the host does not notice.

use ridethrough_lab::{Mood, Times, When};
use serde_json::{Value, json};

use crate::rig::{Rig, methods, secs};

#[tokio::test(start_paused = true)]
async fn eight_calls_that_find_the_session_gone_are_all_answered_over_one_new_one() {
    let rig = Rig::new();
    let mut host = rig.greeted().await;

    rig.mcp.forget_sessions();
    for id in 1..=8 {
        host.call(id, "echo").await;
    }
    let heard = host.hear_for(secs(60)).await;

    let mut ids: Vec<_> = heard.iter().map(|answer| answer["id"].as_u64().unwrap()).collect();
    ids.sort_unstable();
    assert_eq!(ids, [1, 2, 3, 4, 5, 6, 7, 8]);
    assert!(heard.iter().all(|answer| answer["result"].is_object()), "{heard:?}");
    assert_eq!(rig.count(When::method("initialize")), 2);
    assert_eq!(rig.mcp.executions("echo"), 8);
    let told = host.told();
    assert_eq!(told.len(), 2, "{told:?}");
    assert!(told[0].ends_with("; recovering") && told[1].starts_with("back after "), "{told:?}");
}

#[tokio::test(start_paused = true)]
async fn a_server_that_is_busy_is_waited_for() {
    for status in [503, 429] {
        let rig = Rig::new();
        let mut host = rig.greeted().await;
        rig.mcp.rule(When::tool("echo"), Times::Once, move |ask| async move {
            ask.status(status, &[("retry-after", "1")], "").await;
        });

        host.call(1, "echo").await;

        assert!(host.hear_json().await["result"].is_object(), "{status}");
        assert_eq!(rig.mcp.executions("echo"), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_that_comes_back_as_a_new_process_is_the_same_server_to_the_host() {
    let rig = Rig::new();
    let mut host = rig.greeted().await;
    host.asked(1, "logging/setLevel", json!({"level": "info"})).await;

    rig.server.kill().await;
    rig.mcp.forget_sessions();
    host.call(2, "echo").await;
    tokio::time::sleep(secs(8)).await;
    rig.server.restart().await.unwrap();

    assert!(host.hear_json().await["result"].is_object());
    tokio::time::sleep(secs(1)).await;
    assert_eq!(rig.count(When::method("logging/setLevel")), 2, "the level is told again");
    let told = host.told();
    assert!(told.iter().any(|line| line.starts_with("still recovering after 5 s")), "{told:?}");
    assert!(told.last().unwrap().starts_with("back after "), "{told:?}");
}

#[tokio::test(start_paused = true)]
async fn a_new_session_is_told_all_that_the_host_had_set() {
    let rig = Rig::new();
    let mut host = rig.greeted().await;
    host.asked(1, "logging/setLevel", json!({"level": "info"})).await;
    host.asked(2, "resources/subscribe", json!({"uri": "lab://note"})).await;

    rig.mcp.forget_sessions();
    host.call(3, "echo").await;
    let heard = host.hear_for(secs(10)).await;

    assert_eq!(heard.len(), 1, "{heard:?}");
    for method in ["initialize", "logging/setLevel", "resources/subscribe"] {
        let params: Vec<_> =
            rig.bodies(&When::method(method)).iter().map(|it| params(it)).collect();
        assert_eq!(params.len(), 2, "{method}");
        assert_eq!(params[0], params[1], "{method}");
    }
    let initialize = params(&rig.bodies(&When::method("initialize"))[1]);
    assert_eq!(initialize["capabilities"], json!({"sampling": {}, "roots": {"listChanged": true}}));
    assert_eq!(initialize["clientInfo"]["name"], "host");
}

#[tokio::test(start_paused = true)]
async fn a_new_session_with_the_same_lists_is_not_told() {
    let rig = Rig::new();
    let mut host = rig.greeted().await;
    for (id, method) in [(1, "tools/list"), (2, "prompts/list"), (3, "resources/list")] {
        host.asked(id, method, json!({})).await;
    }

    rig.mcp.forget_sessions();
    host.call(4, "echo").await;
    let heard = host.hear_for(secs(60)).await;

    assert_eq!(heard.len(), 1, "{heard:?}");
    assert_eq!(rig.count(When::method("tools/list")), 2, "the list was not looked at");
}

#[tokio::test(start_paused = true)]
async fn a_new_session_with_another_list_is_told_once_and_of_that_list_only() {
    let rig = Rig::new();
    let mut host = rig.greeted().await;
    host.asked(1, "tools/list", json!({})).await;
    host.asked(2, "prompts/list", json!({})).await;

    rig.mcp.tools(json!([{"name": "new", "inputSchema": {"type": "object"}}]));
    for id in 3..5 {
        rig.mcp.forget_sessions();
        host.call(id, "echo").await;
        tokio::time::sleep(secs(10)).await;
    }
    let heard = host.hear_for(secs(60)).await;

    assert_eq!(methods(&heard), ["notifications/tools/list_changed"]);
}

#[tokio::test(start_paused = true)]
async fn what_the_server_says_itself_about_its_lists_is_passed_on() {
    let rig = Rig::new();
    let mut host = rig.greeted().await;
    tokio::time::sleep(secs(1)).await;

    let message = json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"});
    rig.mcp.push(message.clone()).await;

    assert_eq!(host.hear_for(secs(10)).await, [message]);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_outlasts_patience_fails_and_says_that_it_did_not_run() {
    let rig = Rig::new();
    let mut host = rig.greeted().await;

    rig.server.kill().await;
    rig.server.set_mood(Mood::Down);
    host.call(1, "deploy").await;
    let error = host.hear_json().await["error"].clone();

    assert_eq!(error["data"]["mayHaveRun"], false, "{error}");
    assert_eq!(error["data"]["kind"], "unreachable", "{error}");
}

fn params(body: &str) -> Value {
    serde_json::from_str::<Value>(body).unwrap()["params"].clone()
}
