//! Tasks that are held by their id.

use ridethrough::error::{Kind, TaskEnd};
use ridethrough::model::{TaskId, TaskStatus};
use ridethrough::task::{Begun, Task};
use ridethrough::{Client, Error, Json};
use serde_json::json;

use crate::rig::{Office, Told, completed, drop_unseen, secs, task, text, working};

#[tokio::test(start_paused = true)]
async fn a_task_tells_where_it_stands_and_then_its_result() {
    let office = Office::looks(vec![task(json!({ "statusMessage": "half" })), completed()]);
    let task = begin(&office.client()).await;

    let state = task.status().await.unwrap();
    let result = task.result().await.unwrap();

    assert_eq!((task.id().as_str(), state.status), ("t-1", TaskStatus::Working));
    assert_eq!(state.message.as_deref(), Some("half"));
    assert_eq!(result.text(), "done");
    assert_eq!(office.count("tools/call"), 1);
}

#[tokio::test(start_paused = true)]
async fn a_task_outlives_the_client_that_asked_for_it() {
    let office = Office::looks(vec![task(json!({})), Told::Cut, completed()]);
    let client = office.client();
    let stored = {
        let task = begin(&client).await;
        task.status().await.unwrap();
        serde_json::to_string(task.id()).unwrap()
    };
    drop(client);
    tokio::time::sleep(secs(3600)).await;

    let client = office.client();
    let id: TaskId = serde_json::from_str(&stored).unwrap();
    let result = client.task(id).result().await.unwrap();

    assert_eq!(result.text(), "done");
    assert_eq!(office.count("tools/call"), 1, "the work is done once");
    assert_eq!(office.count("tasks/cancel"), 0, "nobody gave it up");
}

#[tokio::test(start_paused = true)]
async fn a_task_is_updated_and_cancelled_by_hand() {
    let office = Office::looks(vec![task(json!({ "status": "cancelled" }))]);
    let task = begin(&office.client()).await;

    task.update([("key", Json::new(r#"{"n":1.10}"#).unwrap())]).await.unwrap();
    task.cancel().await.unwrap();
    let error = task.result().await.unwrap_err();

    assert!(matches!(&error, Error::Task(task) if task.end == TaskEnd::Cancelled), "{error:?}");
    let update = &office.asked("tasks/update")[0];
    assert_eq!(update.params()["inputResponses"]["key"]["n"], json!(1.10));
    let cancel = &office.asked("tasks/cancel")[0];
    assert_eq!((cancel.name.as_deref(), &cancel.params()["taskId"]), (Some("t-1"), &json!("t-1")));
}

#[tokio::test(start_paused = true)]
async fn a_cancel_or_an_update_whose_answer_is_lost_is_sent_again() {
    let office = Office::new(|asked, before| match (&*asked.method, before) {
        ("tools/call", _) => Told::Result(crate::rig::made()),
        (_, 0) => Told::Cut,
        _ => Told::Result(json!({ "resultType": "complete" })),
    });
    let task = begin(&office.client()).await;

    task.cancel().await.unwrap();
    task.update([("key", Json::empty_object())]).await.unwrap();

    assert_eq!((office.count("tasks/cancel"), office.count("tasks/update")), (2, 2));
}

#[tokio::test(start_paused = true)]
async fn a_wait_that_is_dropped_or_over_leaves_the_task_alone() {
    let office = Office::looks(vec![Told::Result(working())]);
    let client = office.client();
    let task = begin(&client).await;

    let late = task.result().timeout(secs(5)).await.unwrap_err();
    let _ = tokio::time::timeout(secs(5), task.result()).await.unwrap_err();
    drop(task);
    tokio::time::sleep(secs(60)).await;

    assert_eq!(late.kind(), Some(Kind::DeadlinePassed));
    assert_eq!(office.count("tasks/cancel"), 0);
    assert!(office.times("tasks/get").iter().all(|at| *at <= secs(10)), "nobody asks any more");
    drop(client);
}

#[tokio::test(start_paused = true)]
async fn a_task_without_a_deadline_is_waited_for_as_long_as_the_server_works_on_it() {
    let office = Office::new(|asked, _| match &*asked.method {
        "tools/call" => Told::Result(crate::rig::made()),
        _ if asked.at < secs(24 * 3600) => task(json!({ "pollIntervalMs": 60_000 })),
        _ => completed(),
    });

    let result = begin(&office.client()).await.result().await.unwrap();

    assert_eq!(result.text(), "done");
}

#[tokio::test(start_paused = true)]
async fn a_task_that_was_made_for_somebody_who_is_gone_is_cancelled() {
    let office = Office::looks(vec![Told::Result(working())]);
    let client = office.client();

    drop_unseen(&office, client.call_tool("build", ()).as_task()).await;

    assert_eq!(office.asked("tasks/cancel")[0].params()["taskId"], "t-1");
    assert_eq!(office.count("tasks/cancel"), 1);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_answered_at_once_is_no_task() {
    let office = Office::new(|_, _| Told::Result(text("at once")));

    let begun = office.client().call_tool("build", ()).as_task().await.unwrap();

    assert!(matches!(&begun, Begun::Answered(result) if result.text() == "at once"));
    assert_eq!(begun.result().await.unwrap().text(), "at once");
}

#[tokio::test(start_paused = true)]
async fn a_client_that_does_not_know_the_era_yet_finds_out_before_it_asks_for_a_task() {
    let office = Office::new(|asked, _| match &*asked.method {
        "server/discover" => Told::Result(json!({
            "resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": {},
            "ttlMs": 0, "cacheScope": "private",
        })),
        "tools/call" => Told::Result(crate::rig::made()),
        _ => completed(),
    });
    let client = office.bare().eras(ridethrough::server::Eras::Either).tasks().build().unwrap();

    let result = begin(&client).await.result().await.unwrap();

    assert_eq!(result.text(), "done");
    let methods: Vec<String> = office.log().into_iter().map(|asked| asked.method).collect();
    assert_eq!(methods, ["server/discover", "tools/call", "tasks/get"]);
    assert!(office.asked("tools/call")[0].params()["task"].is_null(), "the server decides");
}

#[tokio::test(start_paused = true)]
async fn an_unknown_task_says_so() {
    let office = Office::looks(vec![Told::Error(-32602, "no such task")]);

    let task = office.client().task("other".parse().unwrap());
    let error = task.result().await.unwrap_err();

    assert!(matches!(&error, Error::Task(task) if task.end == TaskEnd::Unknown), "{error:?}");
    assert!(!format!("{error:?} {error} {task:?}").contains("other"), "names of tasks are secrets");
}

#[tokio::test(start_paused = true)]
async fn a_client_that_did_not_declare_tasks_cannot_ask_for_one() {
    let office = Office::new(|_, _| Told::Result(json!({})));
    let client = office.bare().eras(ridethrough::Era::Modern).build().unwrap();
    let task = client.task("t-1".parse().unwrap());

    let errors = [
        client.call_tool("build", ()).as_task().await.unwrap_err(),
        task.result().await.unwrap_err(),
        task.status().await.unwrap_err(),
        task.cancel().await.unwrap_err(),
    ];

    for error in errors {
        assert_eq!(error.kind(), Some(Kind::Config));
        assert!(error.report().contains("ClientBuilder::tasks"), "{}", error.report());
    }
    assert!(office.log().is_empty());
}

#[tokio::test(start_paused = true)]
async fn only_calls_of_tools_can_be_tasks() {
    let office = Office::new(|_, _| Told::Result(json!({})));

    let error = office.client().ping().as_task().await.unwrap_err();

    assert_eq!(error.kind(), Some(Kind::Config));
    assert!(office.log().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_call_that_cannot_be_sent_as_a_task_asks_nobody_anything() {
    let office = Office::new(|_, _| Told::Result(json!({})));
    let client = office.bare().eras(ridethrough::server::Eras::Either).tasks().build().unwrap();

    let call = client.call_tool("build", ()).header("no header", "x");
    let error = call.as_task().await.unwrap_err();

    assert_eq!(error.kind(), Some(Kind::Config));
    assert!(office.log().is_empty(), "{:?}", office.log());
}

#[tokio::test(start_paused = true)]
async fn a_result_is_read_as_a_type_of_the_callers_own() {
    #[derive(Debug, serde::Deserialize)]
    struct Own {
        content: Vec<serde_json::Value>,
    }
    let office = Office::looks(vec![completed()]);
    let client = office.client();

    let begun = client.call_tool("build", ()).typed::<Own>().as_task().await.unwrap();
    let own = begun.result().await.unwrap();
    let again = client.task("t-1".parse().unwrap()).typed::<Own>().result().await.unwrap();

    assert_eq!((own.content.len(), again.content.len()), (1, 1));
}

/// Calls a tool, of which the server makes a task.
async fn begin(client: &Client) -> Task {
    match client.call_tool("build", ()).as_task().await.unwrap() {
        Begun::Task(task) => task,
        Begun::Answered(result) => panic!("{result:?}"),
    }
}
