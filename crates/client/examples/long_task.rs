//! Work that outlives the program that asked for it: a call becomes a task, whose id is enough to get its
//! result.
//!
//! ```text
//! cargo run -p ridethrough --example long_task
//! ```
//!
//! It starts a small server of its own, which makes a task of `build` and drops a connection meanwhile.

use std::sync::atomic::{AtomicU32, Ordering};

use ridethrough::model::TaskId;
use ridethrough::task::Begun;
use ridethrough::{Client, Era};
use ridethrough_lab::{Ask, Mcp, Protocol, Server, Times, When};
use serde_json::{Value, json};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mcp = Mcp::new();
    mcp.rule(When::tool("build"), Times::Always, begin);
    mcp.rule(When::method("tasks/get"), Times::Always, look);
    let server = Server::new(Protocol::Http1, mcp.clone());
    let url = format!("http://{}/mcp", server.listen().await?);

    let stored = {
        let client = Client::builder(&url).eras(Era::Modern).tasks().build()?;
        match client.call_tool("build", json!({ "branch": "main" })).as_task().await? {
            Begun::Task(task) => serde_json::to_string(task.id())?,
            Begun::Answered(result) => return Err(format!("at once: {}", result.text()).into()),
        }
    };
    println!("the task has begun; this client is gone, and only a name is left");

    let client = Client::builder(&url).eras(Era::Modern).tasks().build()?;
    let id: TaskId = serde_json::from_str(&stored)?;
    let result = client.task(id).result().await?;
    println!("another client was told: {}", result.text());
    println!("the server ran it {} time", mcp.executions("build"));
    Ok(())
}

/// Makes a task of the call.
async fn begin(ask: Ask) {
    ask.run();
    let made = ask.result(task("task", "working", json!({})));
    ask.json(made).await;
}

/// Reports the state of the task; one answer gets lost.
async fn look(ask: Ask) {
    static LOOKS: AtomicU32 = AtomicU32::new(0);
    match LOOKS.fetch_add(1, Ordering::Relaxed) {
        0 => {
            let working = ask.result(task("complete", "working", json!({})));
            ask.json(working).await;
        }
        1 => ask.sse().await.cut().await,
        _ => {
            let content = json!({ "content": [{ "type": "text", "text": "built" }] });
            let done = ask.result(task("complete", "completed", json!({ "result": content })));
            ask.json(done).await;
        }
    }
}

fn task(kind: &str, status: &str, more: Value) -> Value {
    let mut task = json!({
        "resultType": kind, "taskId": "786512e2", "status": status, "ttlMs": null,
        "createdAt": "2026-11-15T10:00:00Z", "lastUpdatedAt": "2026-11-15T10:00:00Z",
        "pollIntervalMs": 200,
    });
    if let (Some(task), Value::Object(more)) = (task.as_object_mut(), more) {
        task.extend(more);
    }
    task
}
