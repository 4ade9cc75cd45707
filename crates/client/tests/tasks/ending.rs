//! The ends of a call that became a task.

use ridethrough::Error;
use ridethrough::error::{Kind, TaskEnd};
use serde_json::json;

use crate::rig::{Office, Told, completed, made, secs, task, text, working};

#[tokio::test(start_paused = true)]
async fn a_call_that_becomes_a_task_ends_with_the_result_of_its_tool() {
    let office = Office::looks(vec![task(json!({})), completed()]);
    let client = office.client();

    let result = client.call_tool("build", json!({ "x": 1 })).await.unwrap();

    assert_eq!(result.text(), "done");
    assert_eq!((office.count("tools/call"), office.count("tasks/get")), (1, 2));
    assert_eq!(office.count("tasks/cancel"), 0, "it has ended");
    for asked in office.log() {
        let ours = &asked.params()["_meta"]["io.modelcontextprotocol/clientCapabilities"];
        assert_eq!(ours["extensions"], json!({ "io.modelcontextprotocol/tasks": {} }));
    }
    let look = &office.asked("tasks/get")[0];
    assert_eq!(look.params()["taskId"], "t-1");
    assert_eq!(look.name.as_deref(), Some("t-1"));
}

#[tokio::test(start_paused = true)]
async fn a_server_that_was_told_of_tasks_may_answer_at_once() {
    let office = Office::new(|_, _| Told::Result(text("at once")));

    let result = office.client().call_tool("echo", ()).await.unwrap();

    assert_eq!((result.text(), office.log().len()), ("at once".to_owned(), 1));
}

#[tokio::test(start_paused = true)]
async fn a_task_is_no_answer_to_a_client_that_did_not_declare_them() {
    let office = Office::new(|_, _| Told::Result(made()));
    let client = office.bare().eras(ridethrough::Era::Modern).build().unwrap();

    let error = client.call_tool("build", ()).await.unwrap_err();

    assert_eq!(error.kind(), Some(Kind::PeerMisbehaved));
    let log = office.log();
    let ours = &log[0].params()["_meta"]["io.modelcontextprotocol/clientCapabilities"];
    assert_eq!(ours, &json!({}));
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_says_it_failed_is_a_result() {
    let mut failed = text("no disk");
    failed["isError"] = json!(true);
    let office = Office::looks(vec![task(json!({ "status": "completed", "result": failed }))]);

    let result = office.client().call_tool("build", ()).await.unwrap();

    assert!(result.is_error && result.text() == "no disk");
}

#[tokio::test(start_paused = true)]
async fn a_task_that_failed_ends_with_its_error() {
    let error = json!({ "code": -32050, "message": "no quota", "data": 7 });
    let office = Office::looks(vec![task(json!({ "status": "failed", "error": error }))]);

    let error = office.client().call_tool("build", ()).await.unwrap_err();

    let error = error.server().unwrap();
    assert_eq!((error.rpc.code, &*error.rpc.message), (-32050, "no quota"));
    assert_eq!(error.json.member("data").unwrap().as_str(), "7");
    assert_eq!(office.count("tasks/cancel"), 0);
}

#[tokio::test(start_paused = true)]
async fn a_task_that_failed_without_an_error_still_says_so() {
    let office = Office::looks(vec![task(json!({ "status": "failed", "statusMessage": "why" }))]);

    let error = office.client().call_tool("build", ()).await.unwrap_err();

    assert!(matches!(&error, Error::Task(task) if task.end == TaskEnd::Failed), "{error:?}");
    assert!(error.report().contains("`why`"), "{}", error.report());
}

#[tokio::test(start_paused = true)]
async fn a_task_that_was_cancelled_says_so() {
    let cancelled = json!({ "status": "cancelled", "statusMessage": "by the operator" });
    let office = Office::looks(vec![task(cancelled)]);

    let error = office.client().call_tool("build", ()).await.unwrap_err();

    assert!(matches!(&error, Error::Task(task) if task.end == TaskEnd::Cancelled), "{error:?}");
    assert!(error.may_have_run());
    assert!(error.to_string().contains("by the operator"), "{error}");
    assert_eq!(office.count("tasks/cancel"), 0, "it is cancelled already");
}

#[tokio::test(start_paused = true)]
async fn a_task_that_the_server_does_not_know_any_more_ends_at_once() {
    let gone = Told::Error(-32602, "Task has expired");
    let office = Office::looks(vec![task(json!({})), gone, completed()]);

    let error = office.client().call_tool("build", ()).await.unwrap_err();

    assert!(matches!(&error, Error::Task(task) if task.end == TaskEnd::Unknown), "{error:?}");
    assert!(error.report().contains("Task has expired"), "{}", error.report());
    assert_eq!((office.count("tasks/get"), office.count("tasks/cancel")), (2, 0));
}

#[tokio::test(start_paused = true)]
async fn a_task_that_outlives_what_it_is_kept_for_is_given_up_and_told() {
    let old = || task(json!({ "ttlMs": 5000 }));
    let office = Office::looks(vec![old(), old(), old(), old(), old(), old(), completed()]);

    let error = office.client().call_tool("build", ()).await.unwrap_err();
    tokio::time::sleep(secs(1)).await;

    assert!(matches!(&error, Error::Task(task) if task.end == TaskEnd::Expired), "{error:?}");
    assert_eq!(office.count("tasks/get"), 5, "asked each second, and given up after five");
    assert_eq!(office.count("tasks/cancel"), 1);
}

#[tokio::test(start_paused = true)]
async fn a_task_that_is_kept_for_longer_than_was_said_first_is_not_given_up() {
    let (short, long) = (json!({ "ttlMs": 3000 }), json!({ "ttlMs": 9000 }));
    let looks = vec![task(short), task(long.clone()), task(long.clone()), task(long), completed()];
    let office = Office::looks(looks);

    let result = office.client().call_tool("build", ()).await.unwrap();

    assert_eq!(result.text(), "done");
}

#[tokio::test(start_paused = true)]
async fn a_task_that_does_not_end_is_cancelled_at_the_deadline_of_its_call() {
    let office = Office::looks(vec![Told::Result(working())]);
    let client = office.client();
    let began = tokio::time::Instant::now();

    let error = client.call_tool("build", ()).timeout(secs(30)).await.unwrap_err();

    assert_eq!(error.kind(), Some(Kind::DeadlinePassed));
    assert_eq!(began.elapsed(), secs(30));
    assert!(error.may_have_run());
    assert!(error.report().contains("its task has not ended"), "{}", error.report());
    tokio::time::sleep(secs(1)).await;
    assert_eq!(office.asked("tasks/cancel")[0].params()["taskId"], "t-1");
    assert_eq!(office.count("tasks/cancel"), 1);
    assert_eq!(office.count("notifications/cancelled"), 0);
}

#[tokio::test(start_paused = true)]
async fn a_call_without_a_deadline_has_that_of_tools() {
    let office = Office::looks(vec![Told::Result(working())]);
    let began = tokio::time::Instant::now();

    let error = office.client().call_tool("build", ()).await.unwrap_err();

    assert_eq!(error.kind(), Some(Kind::DeadlinePassed));
    assert_eq!(began.elapsed(), secs(600));
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_dropped_cancels_its_task_once() {
    let office = Office::looks(vec![Told::Result(working())]);
    let client = office.client();
    let call = client.call_tool("build", ()).into_future();

    let _ = tokio::time::timeout(secs(10), call).await.unwrap_err();
    tokio::time::sleep(secs(60)).await;

    assert_eq!(office.count("tasks/cancel"), 1);
    assert_eq!(office.count("notifications/cancelled"), 0);
    assert!(office.times("tasks/get").iter().all(|at| *at <= secs(10)), "nobody asks any more");
    drop(client);
}

#[tokio::test(start_paused = true)]
async fn a_client_that_is_closed_ends_a_call_whose_task_it_would_look_at_much_later() {
    let seldom = json!({ "pollIntervalMs": 500_000 });
    let office = Office::looks(vec![task(seldom.clone()), task(seldom)]);
    let client = office.client();
    let call = tokio::spawn(client.call_tool("build", ()).into_future());
    tokio::time::sleep(secs(5)).await;
    let began = tokio::time::Instant::now();

    client.close().await;
    let error = call.await.unwrap().unwrap_err();

    assert_eq!(error.kind(), Some(Kind::Closed));
    assert!(began.elapsed() <= secs(5), "{:?}", began.elapsed());
    assert_eq!(office.count("tasks/get"), 1);
}

#[tokio::test(start_paused = true)]
async fn a_task_that_cannot_be_read_is_shown_as_it_came() {
    let office = Office::new(|_, _| Told::Result(json!({ "resultType": "task", "status": "x" })));

    let error = office.client().call_tool("build", ()).await.unwrap_err();

    assert!(matches!(error, Error::Answer { .. }), "{error:?}");
    assert!(error.report().contains("taskId"), "{}", error.report());
}

#[tokio::test(start_paused = true)]
async fn a_server_that_says_times_in_the_words_of_both_revisions_is_understood() {
    let both = || json!({ "ttlMs": 60_000, "ttl": 60_000, "pollInterval": 1000 });
    let office = Office::new(move |asked, _| match &*asked.method {
        "tools/call" => {
            let Told::Result(mut made) = task(both()) else { panic!() };
            made["resultType"] = json!("task");
            Told::Result(made)
        }
        _ => {
            let mut ended = both();
            ended["status"] = json!("completed");
            ended["result"] = text("done");
            task(ended)
        }
    });

    let result = office.client().call_tool("build", ()).await.unwrap();

    assert_eq!(result.text(), "done");
    assert_eq!((office.count("tasks/result"), office.count("tasks/cancel")), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn the_headers_of_a_call_go_with_every_question_about_its_task() {
    let office = Office::looks(vec![task(json!({})), completed()]);

    office.client().call_tool("build", ()).header("x-tenant", "blue").await.unwrap();

    assert!(office.log().iter().all(|asked| asked.tenant.as_deref() == Some("blue")));
}

#[tokio::test(start_paused = true)]
async fn the_headers_of_a_call_go_with_the_cancellation_of_its_task() {
    let office = Office::looks(vec![Told::Result(working())]);
    let client = office.client();

    let call = client.call_tool("build", ()).header("x-tenant", "blue").timeout(secs(5));
    call.await.unwrap_err();
    tokio::time::sleep(secs(1)).await;

    // Without this header, a server that separates tenants does not know the task.
    assert_eq!(office.asked("tasks/cancel")[0].tenant.as_deref(), Some("blue"));
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_dropped_when_its_task_was_made_but_not_yet_seen_cancels_it() {
    let office = Office::looks(vec![Told::Result(working())]);
    let client = office.client();
    let call = client.call_tool("build", ()).into_future();
    // The answer has arrived, and has not been polled.
    tokio::time::sleep(secs(1)).await;

    drop(call);
    tokio::time::sleep(secs(1)).await;

    assert_eq!(office.asked("tasks/cancel")[0].params()["taskId"], "t-1");
    assert_eq!((office.count("tasks/cancel"), office.count("tasks/get")), (1, 0));
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_dropped_when_its_answer_was_no_task_cancels_nothing() {
    let office = Office::new(|_, _| Told::Result(text("at once")));
    let client = office.client();
    let call = client.call_tool("build", ()).into_future();
    tokio::time::sleep(secs(1)).await;

    drop(call);
    tokio::time::sleep(secs(1)).await;

    assert_eq!(office.log().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn the_raw_answer_is_the_task_itself() {
    let office = Office::looks(vec![completed()]);

    let answer = office.client().call_tool("build", ()).answer().await.unwrap();

    let ridethrough::event::Answer::Result(json) = answer else { panic!("{answer:?}") };
    assert_eq!(json.member("taskId").unwrap().as_str(), r#""t-1""#);
    assert_eq!(office.count("tasks/get"), 0);
}
