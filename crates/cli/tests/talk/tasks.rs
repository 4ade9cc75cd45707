//! Tools that their servers continue as tasks.

use ridethrough_lab::{Spoken, Times, When};
use serde_json::{Value, json};

use crate::rig::Rig;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_tool_that_can_be_a_task_only_is_called_as_one_and_its_result_is_printed() {
    let rig = Rig::new().await;
    offers_task(&rig, "completed");

    let ran = rig.run(&["call", "SERVER", "build"]).await;

    assert_eq!((ran.code, ran.out.as_str()), (Some(0), "built\n"), "{ran:?}");
    let asked = body(&rig, &When::tool("build"));
    assert_eq!(asked["params"]["task"], json!({}), "{asked}");
    assert_eq!(rig.mcp.count(&When::method("tasks/cancel")), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_task_that_is_out_of_time_is_cancelled_with_its_call() {
    let rig = Rig::new().await;
    offers_task(&rig, "working");

    let ran = rig.run(&["call", "SERVER", "build", "--timeout", "1.5"]).await;

    assert_eq!(ran.code, Some(7), "{ran:?}");
    assert_eq!(body(&rig, &When::method("tasks/cancel"))["params"]["taskId"], "t-1");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_person_sees_where_the_task_stands_and_ctrl_c_cancels_it() {
    let rig = Rig::new().await;
    offers_task(&rig, "working");
    let mut person = crate::pty::Person::at(&rig, &["call", "SERVER", "build"]);

    person.sees("task: compil\\u{1b}[2Jing").await;
    person.interrupts();
    let (code, _, seen) = person.leaves().await;

    assert_eq!(code, Some(130), "{seen:?}");
    assert_eq!(body(&rig, &When::method("tasks/cancel"))["params"]["taskId"], "t-1");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_task_of_a_stateless_server_is_followed() {
    let rig = Rig::new().await;
    rig.mcp.speaks(Spoken::Modern);
    let mut made = state("working");
    made["resultType"] = "task".into();
    rig.rule(When::tool("echo"), made);
    let mut ended = state("completed");
    ended["result"] = built();
    rig.rule(When::method("tasks/get"), ended);

    let ran = rig.run(&["call", "SERVER", "echo", "--era", "modern"]).await;

    assert_eq!((ran.code, ran.out.as_str()), (Some(0), "built\n"), "{ran:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_detached_call_prints_its_task_which_other_commands_follow() {
    let rig = Rig::new().await;
    offers_task(&rig, "completed");
    rig.rule(When::method("tasks/list"), json!({ "tasks": [state("working")] }));

    let begun = rig.run(&["call", "SERVER", "build", "--detach"]).await;
    let as_json = rig.run(&["call", "SERVER", "build", "--detach", "--json"]).await;
    let listed = rig.run(&["task", "list", "SERVER"]).await;
    let status = rig.run(&["task", "status", "SERVER", "t-1"]).await;
    let result = rig.run(&["task", "result", "SERVER", "t-1"]).await;
    let cancelled = rig.run(&["task", "cancel", "SERVER", "t-1"]).await;

    assert_eq!((begun.code, begun.out.as_str()), (Some(0), "t-1\n"), "{begun:?}");
    assert_eq!(as_json.json(), json!({"taskId": "t-1"}));
    assert_eq!(listed.out, "t-1  working: compil\\u{1b}[2Jing\n", "{listed:?}");
    assert_eq!(status.out, "completed: compil\\u{1b}[2Jing\n", "{status:?}");
    assert_eq!((result.code, result.out.as_str()), (Some(0), "built\n"), "{result:?}");
    assert_eq!(cancelled.code, Some(0), "{cancelled:?}");
    assert_eq!(rig.mcp.count(&When::method("tasks/cancel")), 1, "only when asked for");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_without_tasks_is_said_to_have_none() {
    let rig = Rig::new().await;

    let listed = rig.run(&["task", "list", "SERVER"]).await;
    let detached = rig.run(&["call", "SERVER", "echo", "msg=hi", "--detach"]).await;

    assert_eq!(listed.code, Some(2), "{listed:?}");
    assert!(listed.err.contains("error: the server has no tasks\n"), "{}", listed.err);
    // A script would take the result for the id of a task.
    assert_eq!((detached.code, detached.out.as_str()), (Some(2), ""), "{detached:?}");
    assert!(detached.err.contains("call its tools without `--detach`"), "{}", detached.err);
    assert_eq!(rig.mcp.executions("echo"), 0);
}

/// Makes the server one of 2025-11-25 with a tool that can only be a task, which has this status.
fn offers_task(rig: &Rig, status: &str) {
    rig.mcp.initialize_result(json!({
        "capabilities": {"tools": {}, "tasks": {"cancel": {}, "list": {}, "requests": {"tools": {"call": {}}}}},
        "serverInfo": {"name": "lab", "version": "1"},
    }));
    rig.mcp.tools(json!([{"name": "build", "inputSchema": {"type": "object"},
        "execution": {"taskSupport": "required"}}]));
    let made = json!({ "task": state("working") });
    // The everything server does so: it answers a plain call, and not with an error.
    rig.mcp.rule(When::tool("build"), Times::Always, move |ask| {
        let is_task = !ask.params()["task"].is_null();
        let refused =
            json!({"isError": true, "content": [{"type": "text", "text": "a task only"}]});
        let result = ask.result(if is_task { made.clone() } else { refused });
        async move { ask.json(result).await }
    });
    rig.rule(When::method("tasks/get"), state(status));
    rig.rule(When::method("tasks/result"), built());
    rig.rule(When::method("tasks/cancel"), state("cancelled"));
}

fn state(status: &str) -> Value {
    json!({"taskId": "t-1", "status": status, "statusMessage": "compil\u{1b}[2Jing", "ttl": null,
        "createdAt": "2026-11-15T10:00:00Z", "lastUpdatedAt": "2026-11-15T10:00:00Z", "pollInterval": 200})
}

fn built() -> Value {
    json!({"content": [{"type": "text", "text": "built"}]})
}

/// Returns the body of the first request of this kind.
fn body(rig: &Rig, when: &When) -> Value {
    let log = rig.mcp.log();
    let entry = log.iter().find(|it| when.holds(it));
    serde_json::from_slice(&entry.unwrap_or_else(|| panic!("never asked: {log:#?}")).body).unwrap()
}
