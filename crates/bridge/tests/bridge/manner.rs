//! Options for all calls of a host, set by the caller that starts the bridge.

use ridethrough_core::hints::{OperatorHints, ToolHint};
use ridethrough_lab::{Times, When};
use serde_json::json;
use tokio::time::Instant;

use crate::rig::{Rig, doubt_in, secs};

#[tokio::test(start_paused = true)]
async fn a_tool_that_may_run_twice_is_sent_again_and_no_other_tool_is() {
    let rig = Rig::new();
    let mut hints = OperatorHints::default();
    hints.repeat("dep*");
    let mut host = rig.host_of(|bridge| bridge.hints(hints));
    host.greet().await;
    for tool in ["deploy", "put"] {
        rig.mcp.rule(When::tool(tool), Times::Once, |ask| async {
            ask.run();
            ask.sse().await.cut().await;
        });
    }

    let repeated = host.asked(1, "tools/call", json!({"name": "deploy"})).await;
    let other = host.asked(2, "tools/call", json!({"name": "put"})).await;

    assert!(repeated["result"].is_object(), "{repeated}");
    assert_eq!(rig.mcp.executions("deploy"), 2);
    assert_eq!(doubt_in(&other)["kind"], "interrupted", "{other}");
    assert_eq!(rig.mcp.executions("put"), 1);
}

#[tokio::test(start_paused = true)]
async fn what_the_operator_says_of_a_tool_counts_before_what_it_says_itself() {
    let rig = Rig::new();
    let mut hints = OperatorHints::default();
    hints.hint("put", ToolHint::Read);
    hints.hint("read", ToolHint::Write);
    let mut host = rig.host_of(|bridge| bridge.hints(hints));
    host.greet().await;
    host.asked(1, "tools/list", json!({})).await;
    for tool in ["put", "read"] {
        rig.mcp.rule(When::tool(tool), Times::Once, |ask| async {
            ask.run();
            ask.sse().await.cut().await;
        });
    }

    let put = host.asked(2, "tools/call", json!({"name": "put"})).await;
    let read = host.asked(3, "tools/call", json!({"name": "read"})).await;

    assert!(put["result"].is_object(), "{put}");
    let doubt = &read["result"]["_meta"]["ridethrough/doubt"];
    assert_eq!(doubt["kind"], "interrupted", "{read}");
    assert_eq!((rig.mcp.executions("put"), rig.mcp.executions("read")), (2, 1));
}

#[tokio::test(start_paused = true)]
async fn a_call_has_the_time_that_calls_are_given() {
    let rig = Rig::new();
    let mut host = rig.host_of(|bridge| bridge.time_limit(secs(5)));
    host.greet().await;
    rig.mcp.rule(When::tool("slow"), Times::Once, |ask| async {
        ask.sse().await.gone().await;
    });

    let began = Instant::now();
    let answer = host.asked(1, "tools/call", json!({"name": "slow"})).await;

    assert_eq!(began.elapsed().as_secs(), 5);
    assert_eq!(doubt_in(&answer)["mayHaveRun"], true, "{answer}");
}

#[tokio::test(start_paused = true)]
async fn progress_that_the_host_asked_for_gives_a_call_its_time_again() {
    let rig = Rig::new();
    let mut host = rig.host_of(|bridge| bridge.time_limit(secs(5)));
    host.greet().await;
    rig.mcp.rule(When::tool("build"), Times::Once, |ask| async {
        let token = ask.params()["_meta"]["progressToken"].clone();
        let mut sse = ask.sse().await;
        for step in 1..=3 {
            tokio::time::sleep(secs(4)).await;
            let params = json!({"progressToken": token, "progress": step});
            let message =
                json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": params});
            sse.message(None, &message).await;
        }
        sse.gone().await;
    });

    let began = Instant::now();
    let params = json!({"name": "build", "_meta": {"progressToken": "mine"}});
    host.ask(1, "tools/call", params).await;
    for _ in 0..3 {
        assert_eq!(host.hear_json().await["method"], "notifications/progress");
    }
    let answer = host.hear_json().await;

    assert_eq!((began.elapsed().as_secs(), &answer["id"]), (17, &json!(1)));
    assert!(doubt_in(&answer).is_object(), "{answer}");
}
