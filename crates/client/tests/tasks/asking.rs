//! Questions of a task: the client's ordinary handlers answer them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use ridethrough::error::Kind;
use ridethrough::model::{Elicited, Root};
use ridethrough::{Client, Json};
use serde_json::{Value, json};

use crate::rig::{Office, Told, completed, made, secs, task, working};

#[tokio::test(start_paused = true)]
async fn questions_of_a_task_are_answered_by_handlers_and_go_out_together() {
    let office =
        asks_until_told(json!({ "sure": form("sure?"), "where": { "method": "roots/list" } }));
    let client = office
        .builder()
        .on_form(|form| async move { Elicited::filled_in(json!({ "said": form.message })) })
        .roots([Root::new("file:///a")])
        .build()
        .unwrap();

    let result = client.call_tool("build", ()).await.unwrap();

    assert_eq!(result.text(), "done");
    let updates = office.asked("tasks/update");
    assert_eq!(updates.len(), 1);
    assert_eq!(updates[0].name.as_deref(), Some("t-1"));
    assert_eq!(updates[0].params()["taskId"], "t-1");
    assert_eq!(
        updates[0].params()["inputResponses"],
        json!({
            "sure": { "action": "accept", "content": { "said": "sure?" } },
            "where": { "roots": [{ "uri": "file:///a" }] },
        })
    );
}

#[tokio::test(start_paused = true)]
async fn a_person_is_asked_once_however_often_the_server_repeats_the_question() {
    let office = asks_until_told(json!({ "sure": form("sure?") }));
    let asked = Arc::new(AtomicUsize::new(0));
    let client = slow_person(&office, asked.clone());

    let result = client.call_tool("build", ()).await.unwrap();

    assert_eq!(result.text(), "done");
    assert_eq!(asked.load(Ordering::Relaxed), 1);
    assert_eq!(office.count("tasks/update"), 1);
    assert!(office.count("tasks/get") > 30, "it is looked at while the person thinks");
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_was_taken_is_not_sent_again_while_the_server_still_asks() {
    // The server acknowledges the inputs before the state shows them.
    let office = Office::new(|asked, before| match (&*asked.method, before) {
        ("tools/call", _) => Told::Result(made()),
        ("tasks/get", 0..5) => needs(json!({ "sure": form("sure?") })),
        ("tasks/get", _) => completed(),
        _ => Told::Result(json!({ "resultType": "complete" })),
    });
    let asked = Arc::new(AtomicUsize::new(0));
    let client = quick_person(&office, asked.clone());

    client.call_tool("build", ()).await.unwrap();

    assert_eq!((office.count("tasks/update"), asked.load(Ordering::Relaxed)), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_did_not_arrive_is_sent_again_and_nobody_asked_again() {
    let mut is_told = false;
    let office = Office::new(move |asked, before| match (&*asked.method, before) {
        ("tools/call", _) => Told::Result(made()),
        ("tasks/get", _) if is_told => completed(),
        ("tasks/get", _) => needs(json!({ "sure": form("sure?") })),
        // One call gives up after four sends.
        ("tasks/update", 0..6) => Told::Cut,
        _ => {
            is_told = true;
            Told::Result(json!({ "resultType": "complete" }))
        }
    });
    let asked = Arc::new(AtomicUsize::new(0));
    let client = quick_person(&office, asked.clone());

    let result = client.call_tool("build", ()).await.unwrap();

    assert_eq!(result.text(), "done");
    assert_eq!((office.count("tasks/update"), asked.load(Ordering::Relaxed)), (7, 1));
}

#[tokio::test(start_paused = true)]
async fn a_question_that_comes_later_is_asked_too() {
    let mut told = Vec::new();
    let office = Office::new(move |asked, _| match &*asked.method {
        "tools/call" => Told::Result(made()),
        "tasks/update" => {
            told.push(asked.params()["inputResponses"].clone());
            Told::Result(json!({ "resultType": "complete" }))
        }
        _ => match told.len() {
            0 => needs(json!({ "one": form("1?") })),
            1 => needs(json!({ "one": form("1?"), "two": form("2?") })),
            _ => completed(),
        },
    });
    let client = quick_person(&office, Arc::default());

    client.call_tool("build", ()).await.unwrap();

    let updates = office.asked("tasks/update");
    let keys = |at: usize| {
        let given = updates[at].params()["inputResponses"].as_object().unwrap();
        given.keys().cloned().collect::<Vec<_>>()
    };
    assert_eq!((keys(0), keys(1)), (vec!["one".to_owned()], vec!["two".to_owned()]));
}

#[tokio::test(start_paused = true)]
async fn input_that_nobody_gives_ends_the_call_and_cancels_its_task() {
    let office = asks_until_told(json!({ "sure": form("sure?") }));
    let client = office.client();

    let error = client.call_tool("build", ()).await.unwrap_err();
    tokio::time::sleep(secs(1)).await;

    assert_eq!(error.kind(), Some(Kind::Incompatible));
    assert!(error.report().contains("`elicitation/create`"), "{}", error.report());
    assert_eq!((office.count("tasks/update"), office.count("tasks/cancel")), (0, 1));
}

#[tokio::test(start_paused = true)]
async fn a_handler_that_refuses_ends_the_call_with_its_words() {
    let office = asks_until_told(json!({ "model": { "method": "sampling/createMessage",
        "params": { "messages": [] } } }));
    let refuses = |_| async { Err(ridethrough::event::Refusal::new("not at night")) };
    let client = office.builder().on_sampling(refuses).build().unwrap();

    let error = client.call_tool("build", ()).await.unwrap_err();

    assert_eq!(error.kind(), Some(Kind::Incompatible));
    assert!(error.report().contains("not at night"), "{}", error.report());
}

#[tokio::test(start_paused = true)]
async fn a_handler_that_panics_has_refused() {
    let office = asks_until_told(json!({ "own": { "method": "acme/own" } }));
    let panics = |_| async { panic!("a bug of the handler") };
    let client = office.builder().on_request("acme/own", panics).build().unwrap();

    let error = client.call_tool("build", ()).await.unwrap_err();

    assert_eq!(error.kind(), Some(Kind::Incompatible));
    assert!(error.report().contains("panicked"), "{}", error.report());
}

#[tokio::test(start_paused = true)]
async fn a_question_that_the_server_takes_back_is_taken_back_from_its_handler() {
    struct Dropped(Arc<AtomicBool>);
    impl Drop for Dropped {
        fn drop(&mut self) {
            self.0.store(true, Ordering::Relaxed);
        }
    }

    let office = Office::looks(vec![
        needs(json!({ "sure": form("sure?") })),
        task(json!({})),
        task(json!({})),
        completed(),
    ]);
    let is_dropped = Arc::new(AtomicBool::new(false));
    let seen = is_dropped.clone();
    let never = move |_| {
        let dropped = Dropped(seen.clone());
        async move {
            std::future::pending::<()>().await;
            drop(dropped);
            Elicited::Declined
        }
    };
    let client = office.builder().on_form(never).build().unwrap();

    let call = tokio::spawn(client.call_tool("build", ()).into_future());
    tokio::time::sleep(secs(2) + secs(1) / 2).await;

    assert!(is_dropped.load(Ordering::Relaxed), "nobody wants the answer any more");
    assert_eq!(call.await.unwrap().unwrap().text(), "done");
    assert_eq!(office.count("tasks/update"), 0);
}

#[tokio::test(start_paused = true)]
async fn a_question_that_is_gone_for_one_look_is_asked_again_when_it_is_back() {
    let mut is_told = false;
    let office = Office::new(move |asked, before| match (&*asked.method, before) {
        ("tools/call", _) => Told::Result(made()),
        ("tasks/get", _) if is_told => completed(),
        ("tasks/get", 1) => Told::Result(working()),
        ("tasks/get", _) => needs(json!({ "sure": form("sure?") })),
        _ => {
            is_told = true;
            Told::Result(json!({ "resultType": "complete" }))
        }
    });
    let asked = Arc::new(AtomicUsize::new(0));
    let client = slow_person(&office, asked.clone());

    let result = client.call_tool("build", ()).await.unwrap();

    assert_eq!(result.text(), "done");
    assert_eq!((office.count("tasks/update"), asked.load(Ordering::Relaxed)), (1, 2));
}

#[tokio::test(start_paused = true)]
async fn a_task_that_takes_its_questions_back_and_asks_again_without_end_is_stopped() {
    let office = Office::new(|asked, before| match (&*asked.method, before % 2) {
        ("tools/call", _) => Told::Result(made()),
        ("tasks/get", 0) => {
            let asked = (0..300).map(|key| (key.to_string(), form("again?")));
            needs(Value::Object(asked.collect()))
        }
        _ => Told::Result(working()),
    });
    let asked = Arc::new(AtomicUsize::new(0));
    let client = slow_person(&office, asked.clone());

    let error = client.call_tool("build", ()).await.unwrap_err();

    assert_eq!(error.kind(), Some(Kind::PeerMisbehaved));
    assert!(asked.load(Ordering::Relaxed) <= 1000);
}

#[tokio::test(start_paused = true)]
async fn a_question_that_cannot_be_read_is_refused_and_not_left_open() {
    let office = asks_until_told(json!({ "sure": form("sure?"), "what": "?" }));
    let client = quick_person(&office, Arc::default());

    let error = client.call_tool("build", ()).await.unwrap_err();
    tokio::time::sleep(secs(1)).await;

    assert_eq!(error.kind(), Some(Kind::Incompatible));
    assert!(error.report().contains("cannot be read"), "{}", error.report());
    assert_eq!((office.count("tasks/update"), office.count("tasks/cancel")), (0, 1));
}

#[tokio::test(start_paused = true)]
async fn input_that_the_server_refuses_ends_the_call_if_the_task_goes_on() {
    let office = Office::new(|asked, _| match &*asked.method {
        "tools/call" => Told::Result(made()),
        "tasks/update" => Told::Error(-32602, "no such key"),
        "tasks/get" => needs(json!({ "sure": form("sure?") })),
        _ => Told::Result(json!({ "resultType": "complete" })),
    });
    let client = quick_person(&office, Arc::default());

    let error = client.call_tool("build", ()).await.unwrap_err();

    assert_eq!(error.server().unwrap().rpc.message, "no such key");
    assert_eq!(office.count("tasks/update"), 1);
}

#[tokio::test(start_paused = true)]
async fn input_that_came_too_late_for_a_task_that_ended_does_not_matter() {
    let office = Office::new(|asked, before| match (&*asked.method, before) {
        ("tools/call", _) => Told::Result(made()),
        ("tasks/update", _) => Told::Error(-32602, "it is over"),
        ("tasks/get", 0) => needs(json!({ "sure": form("sure?") })),
        _ => completed(),
    });
    let client = quick_person(&office, Arc::default());

    let result = client.call_tool("build", ()).await.unwrap();

    assert_eq!(result.text(), "done");
}

#[tokio::test(start_paused = true)]
async fn a_task_that_never_stops_asking_is_stopped() {
    let mut key = 0;
    let office = Office::new(move |asked, _| match &*asked.method {
        "tools/call" => Told::Result(made()),
        "tasks/get" => {
            let asked: serde_json::Map<String, Value> =
                (key..key + 300).map(|key| (key.to_string(), form("again?"))).collect();
            key += 300;
            needs(Value::Object(asked))
        }
        _ => Told::Result(json!({ "resultType": "complete" })),
    });
    let asked = Arc::new(AtomicUsize::new(0));
    let client = quick_person(&office, asked.clone());

    let error = client.call_tool("build", ()).await.unwrap_err();

    assert_eq!(error.kind(), Some(Kind::PeerMisbehaved));
    assert!(asked.load(Ordering::Relaxed) <= 1000);
}

#[tokio::test(start_paused = true)]
async fn a_task_that_asks_under_an_endless_name_is_stopped() {
    let office = asks_until_told(json!({ "k".repeat(1025): form("sure?") }));
    let client = quick_person(&office, Arc::default());

    let error = client.call_tool("build", ()).await.unwrap_err();

    assert_eq!(error.kind(), Some(Kind::PeerMisbehaved));
}

/// Creates a server whose task asks for this, and ends when it has an answer.
fn asks_until_told(wanted: Value) -> Office {
    let mut is_told = false;
    Office::new(move |asked, before| match (&*asked.method, before) {
        ("tools/call", _) => Told::Result(made()),
        ("tasks/get", _) if is_told => completed(),
        ("tasks/get", 0) => Told::Result(working()),
        ("tasks/get", _) => needs(wanted.clone()),
        _ => {
            is_told = true;
            Told::Result(json!({ "resultType": "complete" }))
        }
    })
}

fn needs(wanted: Value) -> Told {
    task(json!({ "status": "input_required", "inputRequests": wanted }))
}

fn form(message: &str) -> Value {
    let schema = json!({ "type": "object", "properties": {} });
    let params = json!({ "mode": "form", "message": message, "requestedSchema": schema });
    json!({ "method": "elicitation/create", "params": params })
}

fn quick_person(office: &Office, asked: Arc<AtomicUsize>) -> Client {
    person(office, asked, std::time::Duration::ZERO)
}

fn slow_person(office: &Office, asked: Arc<AtomicUsize>) -> Client {
    person(office, asked, secs(40))
}

fn person(office: &Office, asked: Arc<AtomicUsize>, thinks: std::time::Duration) -> Client {
    let fills_in = move |_| {
        asked.fetch_add(1, Ordering::Relaxed);
        async move {
            tokio::time::sleep(thinks).await;
            Elicited::Accepted(Json::empty_object())
        }
    };
    office.builder().on_form(fills_in).build().unwrap()
}
