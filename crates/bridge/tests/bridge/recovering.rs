//! What both sides are told when the session is renewed.

use ridethrough_lab::When;
use serde_json::{Value, json};

use crate::rig::{Rig, methods, secs};

#[tokio::test(start_paused = true)]
async fn a_new_session_is_told_all_that_the_host_had_set() {
    let rig = Rig::new();
    let mut host = rig.greeted().await;
    host.asked(1, "logging/setLevel", json!({"level": "info"})).await;
    host.asked(2, "resources/subscribe", json!({"uri": "lab://note"})).await;

    rig.mcp.forget_sessions();
    host.call(3, "echo").await;
    let heard = host.hear_for(secs(10)).await;

    assert_eq!(heard.len(), 2, "{heard:?}");
    // Nobody told the host of an update while there was no session.
    let updated: Vec<_> = heard.iter().filter(|it| it["params"]["uri"] == "lab://note").collect();
    assert_eq!(updated.len(), 1, "{heard:?}");
    assert_eq!(updated[0]["method"], "notifications/resources/updated");
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
    // One more list asks whether the session is alive.
    assert_eq!(rig.count(When::method("tools/list")), 2 + 1, "the list was not looked at");
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

fn params(body: &str) -> Value {
    serde_json::from_str::<Value>(body).unwrap()["params"].clone()
}
