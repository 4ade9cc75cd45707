//! Repeats of calls that may have run, by a host whose framework repeats whatever it likes.

use ridethrough_bridge::{DoubtForm, DoubtRepeat};
use ridethrough_lab::{Times, When};
use serde_json::{Value, json};

use crate::modern::modern;
use crate::rig::{Rig, doubt_in, secs};

#[tokio::test(start_paused = true)]
async fn a_write_whose_answer_is_lost_runs_once_however_often_a_host_repeats_it() {
    for is_modern in [false, true] {
        let rig = Rig::new();
        loses_the_answer(&rig, "deploy");
        let mut host = rig.host();
        if !is_modern {
            host.greet().await;
        }

        for id in 1..=4 {
            let answer = host.asked(id, "tools/call", call("deploy", id, is_modern)).await;

            assert_eq!(doubt_in(&answer)["mayHaveRun"], true, "{answer}");
            assert_eq!(is_held(&answer), id > 1, "{answer}");
            assert_eq!(answer["result"]["resultType"] == "complete", is_modern, "{answer}");
            tokio::time::sleep(secs(5)).await;
        }

        assert_eq!(rig.mcp.executions("deploy"), 1);
        let told = host.told().join("; ");
        assert!(told.contains("a repeat of a call that may have run was not sent"), "{told}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_repeat_in_the_form_of_errors_is_held_as_well() {
    let rig = Rig::new();
    loses_the_answer(&rig, "deploy");
    let mut host = rig.host_of(|bridge| bridge.doubt(DoubtForm::Error));
    host.greet().await;

    host.asked(1, "tools/call", call("deploy", 1, false)).await;
    let repeat = host.asked(2, "tools/call", call("deploy", 2, false)).await;

    assert_eq!(repeat["error"]["code"], -32050, "{repeat}");
    assert_eq!(rig.mcp.executions("deploy"), 1);
}

#[tokio::test(start_paused = true)]
async fn a_host_that_has_looked_may_call_again_at_once() {
    let rig = Rig::new();
    let mut host = rig.greeted().await;
    loses_the_answer(&rig, "deploy");
    host.asked(1, "tools/call", call("deploy", 1, false)).await;

    host.asked(2, "tools/list", json!({})).await;
    let unseen = host.asked(3, "tools/call", call("deploy", 3, false)).await;
    host.asked(4, "tools/call", call("echo", 4, false)).await;
    host.asked(5, "tools/call", call("deploy", 5, false)).await;

    assert!(is_held(&unseen), "a list shows nothing: {unseen}");
    assert_eq!(rig.mcp.executions("deploy"), 2);
}

#[tokio::test(start_paused = true)]
async fn a_repeat_is_sent_after_30_s_and_so_is_one_that_is_allowed() {
    for (repeat, pause) in [(DoubtRepeat::Hold, 30), (DoubtRepeat::Allow, 0)] {
        let rig = Rig::new();
        loses_the_answer(&rig, "deploy");
        let mut host = rig.host_of(|bridge| bridge.doubt_repeat(repeat));
        host.greet().await;
        host.asked(1, "tools/call", call("deploy", 1, false)).await;

        tokio::time::sleep(secs(pause)).await;
        host.asked(2, "tools/call", call("deploy", 2, false)).await;

        assert_eq!(rig.mcp.executions("deploy"), 2, "{repeat:?}");
    }
}

/// Each call has a progress token of its own, as those of the SDKs have.
fn call(tool: &str, token: u64, is_modern: bool) -> Value {
    let mut params = json!({"name": tool, "arguments": {"n": 1}});
    if is_modern {
        params = modern(params);
    }
    params["_meta"]["progressToken"] = json!(token);
    params
}

fn is_held(answer: &Value) -> bool {
    let text = answer["result"]["content"][0]["text"].as_str().unwrap_or_default();
    text.contains("is taken again after 30 s")
}

/// The tool runs, and its answer is lost.
fn loses_the_answer(rig: &Rig, tool: &str) {
    rig.mcp.rule(When::tool(tool), Times::Always, |ask| async {
        ask.run();
        ask.sse().await.cut().await;
    });
}
