//! Faults between the questions about a task, and while the task is made.

use ridethrough::Error;
use ridethrough::error::{Delivery, Kind};
use serde_json::json;
use tokio::time::Instant;

use crate::rig::{Office, Told, completed, made, secs, task, working};

#[tokio::test(start_paused = true)]
async fn a_task_is_followed_through_every_passing_fault() {
    let looks = vec![
        task(json!({})),
        Told::Cut,
        Told::Status(503),
        Told::Status(502),
        Told::Refused,
        Told::Page,
        Told::Status(404),
        Told::Error(-32603, "the store is away"),
        Told::Status(429),
        task(json!({})),
        Told::Cut,
        Told::Cut,
        Told::Cut,
        Told::Cut,
        Told::Cut,
        completed(),
    ];
    let (expected, office) = (looks.len(), Office::looks(looks));

    let result = office.client().call_tool("build", ()).await.unwrap();

    assert_eq!(result.text(), "done");
    assert_eq!(office.count("tools/call"), 1, "the call itself is never repeated");
    assert_eq!(office.count("tasks/get"), expected);
    assert_eq!(office.count("tasks/cancel"), 0);
}

#[tokio::test(start_paused = true)]
async fn a_look_that_is_never_answered_is_not_the_end() {
    let office = Office::looks(vec![Told::Silence, completed()]);

    let result = office.client().call_tool("build", ()).await.unwrap();

    assert_eq!(result.text(), "done");
}

#[tokio::test(start_paused = true)]
async fn a_server_in_trouble_is_asked_less_and_less() {
    let office = Office::new(|asked, _| match &*asked.method {
        "tools/call" => Told::Result(made()),
        _ if asked.at < secs(300) => Told::Error(-32603, "the store is away"),
        _ => completed(),
    });

    office.client().call_tool("build", ()).await.unwrap();

    // A question each second for 300 s would be 300.
    let times = office.count("tasks/get");
    assert!((10..=30).contains(&times), "{times}");
}

#[tokio::test(start_paused = true)]
async fn an_outage_longer_than_any_one_calls_patience_is_ridden_through() {
    let office = outage(secs(5), secs(300));
    let began = Instant::now();

    let result = office.client().call_tool("build", ()).await.unwrap();

    assert_eq!(result.text(), "done");
    assert!(began.elapsed() > secs(300) && began.elapsed() < secs(400), "{:?}", began.elapsed());
    assert_eq!(office.count("tools/call"), 1);
}

#[tokio::test(start_paused = true)]
async fn an_outage_longer_than_the_calls_own_time_ends_it_and_says_why() {
    let office = outage(secs(5), secs(3600));
    let began = Instant::now();

    let error = office.client().call_tool("build", ()).timeout(secs(100)).await.unwrap_err();

    assert_eq!(error.kind(), Some(Kind::DeadlinePassed));
    assert_eq!(began.elapsed(), secs(100));
    assert!(error.report().contains("tools/call `build`"), "{}", error.report());
    assert!(error.report().contains("connection refused"), "{}", error.report());
}

#[tokio::test(start_paused = true)]
async fn a_task_without_a_deadline_is_given_up_when_nothing_was_heard_for_as_long_as_a_call_takes()
{
    let office = outage(secs(5), secs(36_000));
    let client = office.client();
    let began = Instant::now();

    let error = client.task("t-1".parse().unwrap()).result().await.unwrap_err();

    assert_eq!(error.kind(), Some(Kind::Unreachable));
    let (least, most) = (secs(600), secs(700));
    assert!(began.elapsed() > least && began.elapsed() < most, "{:?}", began.elapsed());
    assert_eq!(office.count("tasks/cancel"), 0, "the task may still end, and be asked for");
}

#[tokio::test(start_paused = true)]
async fn one_question_without_an_answer_does_not_end_a_task_that_is_seldom_looked_at() {
    let seldom = json!({ "pollIntervalMs": 1_200_000 });
    let away = Told::Error(-32603, "the store is away");
    let office = Office::looks(vec![task(seldom), away, completed()]);

    let result = office.client().task("t-1".parse().unwrap()).result().await.unwrap();

    assert_eq!((result.text(), office.count("tasks/get")), ("done".to_owned(), 3));
}

#[tokio::test(start_paused = true)]
async fn what_cannot_pass_ends_it_at_once() {
    let cases = [
        (Told::Status(403), Some(Kind::Rejected { status: 403 })),
        (Told::Error(-32601, "no such method"), None),
        (Told::Error(-32021, "tasks are not declared"), None),
    ];
    for (told, kind) in cases {
        let office = Office::looks(vec![task(json!({})), told, completed()]);

        let error = office.client().call_tool("build", ()).await.unwrap_err();

        assert_eq!(error.kind(), kind, "{error}");
        assert_eq!(office.count("tasks/get"), 2);
    }
}

/// A server that lives may pass on the 401 of a service behind it, once.
#[tokio::test(start_paused = true)]
async fn a_401_that_comes_twice_ends_it() {
    let refused = || Told::Status(401);
    let office = Office::looks(vec![task(json!({})), refused(), refused(), completed()]);

    let error = office.client().call_tool("build", ()).await.unwrap_err();

    assert_eq!(error.kind(), Some(Kind::Unauthorized), "{error}");
    assert_eq!(office.count("tasks/get"), 3);
}

#[tokio::test(start_paused = true)]
async fn a_404_is_waited_out_only_where_the_task_was_heard_of() {
    let office = Office::looks(vec![Told::Status(404), completed()]);
    let client = office.client();

    let error = client.task("t-1".parse().unwrap()).result().await.unwrap_err();

    assert_eq!(error.kind(), Some(Kind::Rejected { status: 404 }));
}

#[tokio::test(start_paused = true)]
async fn a_call_whose_answer_was_lost_is_in_doubt_and_its_task_an_orphan() {
    let office = Office::new(|_, _| Told::Cut);

    let error = office.client().call_tool("build", ()).await.unwrap_err();

    let Error::Call(error) = error else { panic!("{error}") };
    assert_eq!((error.kind, error.delivery), (Kind::Interrupted, Delivery::Unknown));
    assert!(error.may_have_run());
    assert_eq!(office.log().len(), 1, "it is neither sent again nor asked for by a name unknown");
}

#[tokio::test(start_paused = true)]
async fn a_call_that_may_be_repeated_gets_a_task_at_its_second_try() {
    let office = Office::new(|asked, before| match (&*asked.method, before) {
        ("tools/call", 0) => Told::Cut,
        ("tools/call", _) => Told::Result(made()),
        _ => completed(),
    });

    let result = office.client().call_tool("build", ()).idempotent().await.unwrap();

    assert_eq!((result.text(), office.count("tools/call")), ("done".to_owned(), 2));
}

/// Creates a server that accepts no connection from one moment to another; then its task has ended.
fn outage(from: std::time::Duration, until: std::time::Duration) -> Office {
    Office::new(move |asked, _| match &*asked.method {
        _ if asked.at >= from && asked.at < until => Told::Refused,
        "tools/call" => Told::Result(made()),
        "tasks/get" if asked.at < from => Told::Result(working()),
        _ => completed(),
    })
}
