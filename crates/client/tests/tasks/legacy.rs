//! The tasks of 2025-11-25: the client asks for them, and fetches their result by a request of its own.

use ridethrough::error::{Kind, TaskEnd};
use ridethrough::model::{Elicited, TaskStatus};
use ridethrough::task::Begun;
use ridethrough::{Client, Era, Error, Json};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use crate::rig::{Office, Told, drop_unseen, secs, text};

#[tokio::test(start_paused = true)]
async fn a_task_is_asked_for_only_where_server_and_tool_can() {
    let yes = json!({ "requests": { "tools": { "call": {} } } });
    for (tasks, support, is_task) in [
        (yes.clone(), json!({ "taskSupport": "optional" }), true),
        (yes.clone(), json!({ "taskSupport": "required" }), true),
        (yes.clone(), json!({ "taskSupport": "forbidden" }), false),
        (yes, json!(null), false),
        (json!({ "requests": {} }), json!({ "taskSupport": "optional" }), false),
    ] {
        let said = (tasks.clone(), support.clone());
        let office = server(tasks, support, vec![state("completed")]);

        let begun = client(&office).call_tool("build", ()).as_task().kept_for(secs(60)).await;

        assert_eq!(matches!(begun.unwrap(), Begun::Task(_)), is_task, "{said:?}");
        let asked = office.asked("tools/call")[0].params()["task"].clone();
        let expected = if is_task { json!({ "ttl": 60_000 }) } else { Value::Null };
        assert_eq!(asked, expected, "{said:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_client_that_does_not_know_the_era_yet_finds_out_and_then_asks_for_a_task() {
    let mut looks = vec![state("completed")];
    let office = Office::new(move |asked, _| match &*asked.method {
        "server/discover" => Told::Error(-32601, "Method not found"),
        "tasks/get" => looks.pop().unwrap(),
        "tasks/result" => Told::Result(text("fetched")),
        _ => usual(asked, &can_do(), &json!({ "taskSupport": "optional" })),
    });
    let client = office.bare().eras(ridethrough::server::Eras::Either).tasks().build().unwrap();

    let begun = client.call_tool("build", ()).as_task().await.unwrap();

    assert!(matches!(begun, Begun::Task(_)), "{begun:?}");
    assert_eq!(begun.result().await.unwrap().text(), "fetched");
}

#[tokio::test(start_paused = true)]
async fn it_is_looked_at_and_its_result_is_fetched_through_faults() {
    let looks = vec![state("working"), Told::Cut, state("working"), state("completed")];
    let office = capable(looks);
    let begun = client(&office).call_tool("build", ()).as_task().await.unwrap();

    let result = begun.result().await.unwrap();

    assert_eq!(result.text(), "fetched");
    assert_eq!((office.count("tools/call"), office.count("tasks/get")), (1, 4));
    // The script cuts the request once.
    assert_eq!(office.count("tasks/result"), 2);
    assert_eq!(office.asked("tasks/result")[0].params()["taskId"], "t-1");
}

#[tokio::test(start_paused = true)]
async fn a_task_that_failed_or_was_cancelled_says_how() {
    let failed = capable(vec![state("failed")]);
    let begun = client(&failed).call_tool("build", ()).as_task().await.unwrap();
    assert_eq!(begun.result().await.unwrap().text(), "fetched", "what the call would have said");

    let cancelled = capable(vec![state("cancelled")]);
    let begun = client(&cancelled).call_tool("build", ()).as_task().await.unwrap();
    let error = begun.result().await.unwrap_err();
    assert!(matches!(&error, Error::Task(task) if task.end == TaskEnd::Cancelled), "{error:?}");
}

#[tokio::test(start_paused = true)]
async fn its_questions_come_while_its_result_is_asked_for() {
    let (say, messages) = mpsc::unbounded_channel();
    let mut messages = Some(messages);
    let question = json!({
        "jsonrpc": "2.0", "id": "q", "method": "elicitation/create",
        "params": { "message": "sure?", "requestedSchema": { "type": "object", "properties": {} },
            "_meta": { "io.modelcontextprotocol/related-task": { "taskId": "t-1" } } },
    });
    let office = Office::new(move |asked, _| match &*asked.method {
        "tasks/get" => state("input_required"),
        "tasks/result" => {
            say.send(question.clone()).unwrap();
            Told::Stream(messages.take().unwrap())
        }
        "answer" => {
            assert_eq!(asked.message["result"]["action"], "accept");
            say.send(json!({ "jsonrpc": "2.0", "result": text("answered") })).unwrap();
            Told::Silence
        }
        _ => usual(asked, &can_do(), &json!({ "taskSupport": "required" })),
    });
    let thinks = |_| async {
        // Longer than any other request may take.
        tokio::time::sleep(secs(300)).await;
        Elicited::Accepted(Json::empty_object())
    };
    let client = office.bare().eras(Era::Legacy).tasks().on_form(thinks).build().unwrap();

    let begun = client.call_tool("build", ()).as_task().await.unwrap();
    let result = begun.result().await.unwrap();

    assert_eq!(result.text(), "answered");
    assert_eq!(office.count("tasks/result"), 1);
}

#[tokio::test(start_paused = true)]
async fn a_result_that_is_held_back_for_long_is_not_the_end_of_a_task_that_goes_on() {
    let office = Office::new(|asked, before| match (&*asked.method, before) {
        ("tasks/get", 0..2) => state("input_required"),
        ("tasks/get", _) => state("completed"),
        ("tasks/result", 0..2) => Told::Silence,
        ("tasks/result", _) => Told::Result(text("fetched")),
        _ => usual(asked, &can_do(), &json!({ "taskSupport": "optional" })),
    });
    let begun = client(&office).call_tool("build", ()).as_task().await.unwrap();

    let result = begun.result().await.unwrap();

    assert_eq!(result.text(), "fetched");
    assert_eq!((office.count("tasks/get"), office.count("tasks/result")), (3, 3));
}

#[tokio::test(start_paused = true)]
async fn a_result_that_never_comes_though_the_task_has_ended_is_given_up() {
    let office = Office::new(|asked, _| match &*asked.method {
        "tasks/get" => state("completed"),
        "tasks/result" => Told::Error(-32603, "the store is away"),
        _ => usual(asked, &can_do(), &json!({ "taskSupport": "optional" })),
    });
    let begun = client(&office).call_tool("build", ()).as_task().await.unwrap();
    let began = tokio::time::Instant::now();

    let error = begun.result().await.unwrap_err();

    assert_eq!(error.server().unwrap().rpc.code, -32603);
    assert!(began.elapsed() >= secs(600) && began.elapsed() < secs(700), "{:?}", began.elapsed());
}

#[tokio::test(start_paused = true)]
async fn tasks_are_listed_cancelled_and_taken_up_by_another_client() {
    let office = capable(vec![state("working"), state("completed")]);
    let first = client(&office);
    let Begun::Task(task) = first.call_tool("build", ()).as_task().await.unwrap() else { panic!() };
    task.cancel().await.unwrap();
    drop((task, first));

    let second = client(&office);
    let listed = second.tasks().await.unwrap();
    let task = second.task(listed[0].id.clone());
    let result = task.result().await.unwrap();

    assert_eq!((listed.len(), listed[0].status), (1, TaskStatus::Working));
    assert_eq!(listed[0].kept_for, Some(secs(3600)));
    assert_eq!(result.text(), "fetched");
    assert_eq!(office.count("tasks/cancel"), 1);
}

#[tokio::test(start_paused = true)]
async fn a_task_that_was_asked_for_by_somebody_who_is_gone_is_cancelled() {
    let office = capable(vec![]);
    let client = client(&office);

    drop_unseen(&office, client.call_tool("build", ()).as_task()).await;

    assert_eq!(office.asked("tasks/cancel")[0].params()["taskId"], "t-1");
}

#[tokio::test(start_paused = true)]
async fn what_is_said_instead_of_a_result_is_the_error_of_the_call() {
    // These codes would mean something else where a task is asked for.
    for code in [-32602, -32603] {
        let office = Office::new(move |asked, _| match &*asked.method {
            "tasks/get" => state("failed"),
            "tasks/result" => Told::Error(code, "no such branch"),
            _ => usual(asked, &can_do(), &json!({ "taskSupport": "optional" })),
        });
        let begun = client(&office).call_tool("build", ()).as_task().await.unwrap();

        let error = begun.result().await.unwrap_err();

        assert_eq!(error.server().unwrap().rpc.message, "no such branch");
        assert_eq!(office.count("tasks/result"), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn an_error_instead_of_the_result_of_a_task_that_did_not_fail_is_asked_about_again() {
    for status in ["completed", "input_required"] {
        let office = Office::new(move |asked, before| match (&*asked.method, before) {
            ("tasks/get", _) => state(status),
            ("tasks/result", 0) => Told::Error(-32603, "the store is away"),
            ("tasks/result", _) => Told::Result(text("fetched")),
            _ => usual(asked, &can_do(), &json!({ "taskSupport": "optional" })),
        });
        let begun = client(&office).call_tool("build", ()).as_task().await.unwrap();

        let result = begun.result().await.unwrap();

        assert_eq!(result.text(), "fetched", "{status}");
        assert_eq!((office.count("tasks/get"), office.count("tasks/result")), (2, 2));
    }
}

#[tokio::test(start_paused = true)]
async fn a_task_that_is_forgotten_before_its_result_was_fetched_is_unknown() {
    let office = Office::new(|asked, before| match (&*asked.method, before) {
        ("tasks/get", 0) => state("completed"),
        ("tasks/get" | "tasks/result", _) => Told::Error(-32602, "no such task"),
        _ => usual(asked, &can_do(), &json!({ "taskSupport": "optional" })),
    });
    let begun = client(&office).call_tool("build", ()).as_task().await.unwrap();

    let error = begun.result().await.unwrap_err();

    assert!(matches!(&error, Error::Task(task) if task.end == TaskEnd::Unknown), "{error:?}");
}

#[tokio::test(start_paused = true)]
async fn a_task_that_fails_while_its_result_is_held_back_ends_with_its_own_error() {
    let office = Office::new(|asked, before| match (&*asked.method, before) {
        ("tasks/get", 0) => state("input_required"),
        ("tasks/get", _) => state("failed"),
        ("tasks/result", _) => Told::Error(-32602, "no such branch"),
        _ => usual(asked, &can_do(), &json!({ "taskSupport": "optional" })),
    });
    let begun = client(&office).call_tool("build", ()).as_task().await.unwrap();

    let error = begun.result().await.unwrap_err();

    assert_eq!(error.server().unwrap().rpc.message, "no such branch");
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_can_only_be_a_task_is_called_as_one_without_being_told() {
    for code in [-32601, -32600] {
        let office = refuses_plain_calls(code, "required");

        let result = client(&office).call_tool("build", json!({ "x": 1 })).await.unwrap();

        assert_eq!(result.text(), "fetched");
        let calls = office.asked("tools/call");
        assert_eq!(calls.len(), 2);
        assert_eq!(calls[1].params()["arguments"], json!({ "x": 1 }));
        assert_eq!(calls[1].params()["task"], json!({}));
    }
}

#[tokio::test(start_paused = true)]
async fn a_refusal_that_has_nothing_to_do_with_tasks_is_the_answer() {
    let office = refuses_plain_calls(-32601, "optional");

    let error = client(&office).call_tool("build", ()).await.unwrap_err();

    assert_eq!(error.server().unwrap().rpc.code, -32601);
    assert_eq!(office.count("tools/call"), 1);
}

#[tokio::test(start_paused = true)]
async fn a_refusal_stays_the_answer_where_nothing_more_can_be_found_out() {
    let office = Office::new(|asked, _| match &*asked.method {
        "tools/call" => Told::Error(-32601, "no such tool"),
        "tools/list" => Told::Error(-32603, "not today"),
        _ => usual(asked, &can_do(), &json!({ "taskSupport": "required" })),
    });

    let error = client(&office).call_tool("build", ()).await.unwrap_err();

    assert_eq!(error.server().unwrap().rpc.message, "no such tool");
}

#[tokio::test(start_paused = true)]
async fn finding_out_whether_there_are_tasks_takes_no_longer_than_the_call_may() {
    for silent in ["initialize", "tools/list"] {
        let office = silent_at(silent);
        let began = tokio::time::Instant::now();

        let call = client(&office).call_tool("build", ()).timeout(secs(7));
        let error = call.as_task().await.unwrap_err();

        assert_eq!(error.kind(), Some(Kind::DeadlinePassed), "{silent}");
        assert!(!error.may_have_run(), "{silent}");
        assert_eq!(began.elapsed(), secs(7), "{silent}");
        assert_eq!(office.count("tools/call"), 0, "{silent}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_refusal_is_the_answer_when_the_time_of_the_call_is_over() {
    let office = silent_at("tools/list");
    let began = tokio::time::Instant::now();

    let call = client(&office).call_tool("build", ()).timeout(secs(7));
    let error = call.await.unwrap_err();

    assert_eq!(error.server().unwrap().rpc.message, "as a task only");
    assert_eq!(began.elapsed(), secs(7));
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_is_refused_as_a_task_too_is_not_called_again_and_again() {
    let office = Office::new(|asked, _| match &*asked.method {
        "tools/call" => Told::Error(-32601, "never"),
        _ => usual(asked, &can_do(), &json!({ "taskSupport": "required" })),
    });

    let error = client(&office).call_tool("build", ()).timeout(secs(7)).await.unwrap_err();

    assert_eq!(error.server().unwrap().rpc.message, "never");
    assert_eq!(office.count("tools/call"), 2);
}

#[tokio::test(start_paused = true)]
async fn a_plain_call_of_a_legacy_server_is_a_plain_call() {
    let office = capable(vec![]);

    let result = client(&office).call_tool("build", ()).await.unwrap();

    assert_eq!(result.text(), "plain");
    assert_eq!(office.count("tools/list"), 0, "nothing is asked for the sake of tasks");
}

fn client(office: &Office) -> Client {
    office.bare().eras(Era::Legacy).tasks().build().unwrap()
}

fn capable(looks: Vec<Told>) -> Office {
    server(can_do(), json!({ "taskSupport": "optional" }), looks)
}

fn can_do() -> Value {
    json!({ "list": {}, "cancel": {}, "requests": { "tools": { "call": {} } } })
}

/// Creates a server with these capabilities for tasks, whose one tool declares this support.
fn server(tasks: Value, support: Value, mut looks: Vec<Told>) -> Office {
    looks.reverse();
    Office::new(move |asked, before| match (&*asked.method, before) {
        ("tasks/get", _) => looks.pop().unwrap(),
        ("tasks/result", 0) => Told::Cut,
        ("tasks/result", _) => Told::Result(text("fetched")),
        _ => usual(asked, &tasks, &support),
    })
}

fn refuses_plain_calls(code: i64, support: &'static str) -> Office {
    Office::new(move |asked, _| match &*asked.method {
        "tools/call" if asked.params()["task"].is_null() => Told::Error(code, "as a task only"),
        "tasks/get" => state("completed"),
        "tasks/result" => Told::Result(text("fetched")),
        _ => usual(asked, &can_do(), &json!({ "taskSupport": support })),
    })
}

/// Creates a server that wants tasks, and never answers this method.
fn silent_at(method: &'static str) -> Office {
    Office::new(move |asked, _| match &*asked.method {
        asked if asked == method => Told::Silence,
        "tools/call" => Told::Error(-32601, "as a task only"),
        _ => usual(asked, &can_do(), &json!({ "taskSupport": "required" })),
    })
}

fn usual(asked: &crate::rig::Asked, tasks: &Value, support: &Value) -> Told {
    let working = || match state("working") {
        Told::Result(state) => state,
        _ => panic!(),
    };
    Told::Result(match &*asked.method {
        "initialize" => json!({
            "protocolVersion": "2025-11-25", "capabilities": { "tools": {}, "tasks": tasks },
            "serverInfo": { "name": "office", "version": "1" },
        }),
        "tools/list" => json!({
            "tools": [{ "name": "build", "inputSchema": { "type": "object" }, "execution": support }],
        }),
        "tools/call" if asked.params()["task"].is_object() => json!({ "task": working() }),
        "tools/call" => text("plain"),
        "tasks/list" => json!({ "tasks": [working()] }),
        "tasks/cancel" => working(),
        _ => json!({}),
    })
}

fn state(status: &str) -> Told {
    Told::Result(json!({
        "taskId": "t-1", "status": status, "ttl": 3_600_000, "pollInterval": 1000,
        "createdAt": "2026-11-15T10:00:00Z", "lastUpdatedAt": "2026-11-15T10:00:00Z",
    }))
}
