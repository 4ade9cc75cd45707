//! How often a task is asked for.

use ridethrough::call::Extension;
use serde_json::json;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::time::Instant;

use crate::rig::{Office, Told, completed, made, secs, task};

#[tokio::test(start_paused = true)]
async fn the_servers_pace_is_kept_also_when_it_changes() {
    let pace = |millis: u64| task(json!({ "pollIntervalMs": millis }));
    let office = Office::looks(vec![pace(5000), pace(200), pace(2000), completed()]);

    office.client().call_tool("build", ()).await.unwrap();

    let times = office.times("tasks/get");
    assert_eq!(times, [1000, 6000, 6200, 8200].map(Duration::from_millis));
}

#[tokio::test(start_paused = true)]
async fn a_server_that_names_no_pace_or_an_absurd_one_is_not_asked_in_a_hot_loop() {
    let pace = |of: serde_json::Value| task(json!({ "pollIntervalMs": of }));
    let office =
        Office::looks(vec![pace(json!(null)), pace(json!(0)), pace(json!(1)), completed()]);

    office.client().call_tool("build", ()).await.unwrap();

    let times = office.times("tasks/get");
    assert_eq!(times, [1000, 2000, 3000, 3100].map(Duration::from_millis));
}

#[tokio::test(start_paused = true)]
async fn a_task_that_is_over_when_it_is_made_is_asked_for_at_once() {
    let office = Office::new(|asked, _| match &*asked.method {
        "tools/call" => {
            let Told::Result(mut made) = completed() else { panic!() };
            made["resultType"] = json!("task");
            made.as_object_mut().unwrap().remove("result");
            Told::Result(made)
        }
        _ => completed(),
    });

    office.client().call_tool("build", ()).await.unwrap();

    assert_eq!(office.times("tasks/get"), [Duration::ZERO]);
}

#[tokio::test(start_paused = true)]
async fn a_task_that_moves_gets_the_extension_of_its_call() {
    let moved = |at: u32| task(json!({ "lastUpdatedAt": at.to_string(), "pollIntervalMs": 4000 }));
    let still = || task(json!({ "lastUpdatedAt": "3", "pollIntervalMs": 4000 }));
    let looks = vec![moved(1), moved(2), moved(3), still(), still(), still(), completed()];
    let office = Office::looks(looks);
    let began = Instant::now();

    let extension = Extension { by: secs(10), cap: secs(600) };
    let call = office.client().call_tool("build", ()).timeout(secs(10));
    let error = call.extended_by_progress(extension).await.unwrap_err();

    // The last change was in the third look, at 1 s and two times 4 s; ten more seconds follow.
    assert_eq!(error.kind(), Some(ridethrough::error::Kind::DeadlinePassed));
    assert_eq!(began.elapsed(), secs(19));
}

#[tokio::test(start_paused = true)]
async fn time_that_a_call_won_by_progress_is_not_lost_when_it_becomes_a_task() {
    let (say, messages) = mpsc::unbounded_channel();
    let mut messages = Some(messages);
    let office = Office::new(move |asked, before| match (&*asked.method, before) {
        ("tools/call", _) => {
            let token = asked.params()["_meta"]["progressToken"].clone();
            let say = say.clone();
            tokio::spawn(async move {
                for step in 1..=6 {
                    tokio::time::sleep(secs(30)).await;
                    let params = json!({ "progressToken": token, "progress": step });
                    let method = "notifications/progress";
                    let step = json!({ "jsonrpc": "2.0", "method": method, "params": params });
                    say.send(step).unwrap();
                }
                say.send(json!({ "jsonrpc": "2.0", "result": made() })).unwrap();
            });
            Told::Stream(messages.take().unwrap())
        }
        ("tasks/get", 0..40) => task(json!({})),
        _ => completed(),
    });

    let extension = Extension { by: secs(60), cap: secs(3600) };
    let call = office.client().call_tool("build", ()).timeout(secs(60));
    let result = call.extended_by_progress(extension).await.unwrap();

    assert_eq!(result.text(), "done");
    assert_eq!(office.count("tasks/cancel"), 0);
}

#[tokio::test(start_paused = true)]
async fn a_task_that_has_moved_at_the_first_look_gets_the_extension() {
    let moved = json!({ "lastUpdatedAt": "later", "pollIntervalMs": 15_000 });
    let office = Office::new(move |asked, before| match (&*asked.method, before) {
        ("tools/call", _) => {
            let mut made = made();
            made["pollIntervalMs"] = json!(9000);
            Told::Result(made)
        }
        ("tasks/get", 0) => task(moved.clone()),
        _ => completed(),
    });

    let extension = Extension { by: secs(20), cap: secs(600) };
    let call = office.client().call_tool("build", ()).timeout(secs(20));
    let result = call.extended_by_progress(extension).await.unwrap();

    assert_eq!(result.text(), "done");
}
