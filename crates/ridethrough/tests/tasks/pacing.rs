//! How often a task is asked for.

use ridethrough::Extension;
use serde_json::json;
use std::time::Duration;
use tokio::time::Instant;

use crate::rig::{Office, Told, completed, secs, task};

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
    let call = office.client().call_tool("build", ()).deadline(secs(10));
    let error = call.extended_by_progress(extension).await.unwrap_err();

    // It moved last in the third look, at 1 s and two times 4 s; ten more seconds follow.
    assert_eq!(error.kind(), Some(ridethrough::Kind::DeadlinePassed));
    assert_eq!(began.elapsed(), secs(19));
}
