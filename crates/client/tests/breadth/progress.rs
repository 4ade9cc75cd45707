//! Progress: as a callback, as a stream, and as a reason for more time.

use std::sync::{Arc, Mutex};

use ridethrough::Client;
use ridethrough::call::Extension;
use ridethrough::error::Kind;
use ridethrough_lab::{Protocol, Times, When};
use serde_json::json;

use crate::rig::{Rig, secs, text};

#[tokio::test(start_paused = true)]
async fn progress_comes_as_a_stream_that_ends_with_the_call() {
    let (_rig, client) = working(3);

    let (call, mut progress) = client.call_tool("build", ()).with_progress();
    let watching = async {
        let mut steps = Vec::new();
        while let Some(step) = progress.next().await {
            steps.push(step.to_string());
        }
        steps
    };
    let (result, steps) = tokio::join!(call.into_future(), watching);

    assert_eq!(result.unwrap().text(), "built");
    assert_eq!(steps, ["1/3 step 1", "2/3 step 2", "3/3 step 3"]);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_dropped_ends_its_stream_of_progress() {
    let (_rig, client) = working(3);

    let (unsent, mut no_progress) = client.call_tool("build", ()).with_progress();
    drop(unsent);
    let (call, mut progress) = client.call_tool("build", ()).with_progress();
    let call = tokio::time::timeout(secs(15), call.into_future()).await;

    assert!(call.is_err());
    assert!(no_progress.next().await.is_none());
    assert_eq!(progress.next().await.unwrap().progress, 1.0);
    assert!(progress.next().await.is_none());
}

#[tokio::test(start_paused = true)]
async fn progress_goes_to_the_listener_of_its_own_call() {
    let (_rig, client) = working(2);
    let seen = Arc::new(Mutex::new(Vec::new()));
    let listener = |name: &'static str| {
        let seen = seen.clone();
        move |step: ridethrough::model::Progress| {
            seen.lock().unwrap().push((name, step.progress, step.total, step.message));
        }
    };

    let one = client.call_tool("build", ()).on_progress(listener("one")).into_future();
    let two = client.call_tool("build", ()).on_progress(listener("two")).into_future();
    let (one, two) = tokio::join!(one, two);

    assert!(one.is_ok() && two.is_ok());
    let mut seen = seen.lock().unwrap().clone();
    seen.sort_by(|a, b| a.partial_cmp(b).unwrap());
    let step = |name, n: f64| (name, n, Some(2.0), Some(format!("step {n}")));
    assert_eq!(seen, [step("one", 1.0), step("one", 2.0), step("two", 1.0), step("two", 2.0)]);
}

#[tokio::test(start_paused = true)]
async fn each_progress_gives_a_call_more_time() {
    let (_rig, client) = working(5);
    let extension = Extension { by: secs(15), cap: secs(600) };

    let call = client.call_tool("build", ()).timeout(secs(15)).extended_by_progress(extension);

    // The tool takes 50 s, with progress every 10 s.
    assert_eq!(call.await.unwrap().text(), "built");
}

#[tokio::test(start_paused = true)]
async fn progress_gives_no_more_time_than_the_cap() {
    let (_rig, client) = working(5);
    let extension = Extension { by: secs(15), cap: secs(25) };
    let began = tokio::time::Instant::now();

    let call = client.call_tool("build", ()).timeout(secs(15)).extended_by_progress(extension);
    let error = call.await.unwrap_err();

    assert_eq!(error.call().unwrap().kind, Kind::DeadlinePassed);
    assert!(began.elapsed() >= secs(25) && began.elapsed() < secs(26), "{:?}", began.elapsed());
}

#[tokio::test(start_paused = true)]
async fn without_a_wish_for_progress_no_token_is_sent() {
    let (rig, client) = working(0);

    client.call_tool("build", ()).await.unwrap();

    let log = rig.mcp.log();
    let call = log.iter().find(|entry| When::method("tools/call").holds(entry)).unwrap();
    assert!(!String::from_utf8_lossy(&call.body).contains("progressToken"));
}

/// Returns a server with a tool that takes so many steps of 10 s, and reports each if it was asked to.
fn working(steps: u32) -> (Rig, Client) {
    let rig = Rig::over(Protocol::Http1);
    rig.mcp.rule(When::tool("build"), Times::Always, move |ask| async move {
        let token = ask.params()["_meta"]["progressToken"].clone();
        let mut sse = ask.sse().await;
        for step in 1..=steps {
            tokio::time::sleep(secs(10)).await;
            let params = json!({
                "progressToken": token, "progress": step, "total": steps,
                "message": format!("step {step}"),
            });
            let message = json!({
                "jsonrpc": "2.0", "method": "notifications/progress", "params": params,
            });
            sse.message(None, &message).await;
        }
        sse.answer_and_finish(text("built")).await;
    });
    let client = rig.client();
    (rig, client)
}
