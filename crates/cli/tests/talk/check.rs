//! `check` against many kinds of servers: what it reports of each, how it ends, and what it never does.

mod busy;
mod findings;
mod keys;
mod moved;
mod pages;
mod refusals;
mod unfinished;

use ridethrough_lab::{Ask, Style, Times, When};
use serde_json::Value;

use crate::rig::{Ran, Rig};

/// Creates a server that does everything right, on an address of this machine.
async fn healthy() -> Rig {
    let rig = Rig::new().await;
    rig.mcp.answers(Style::SseWithIds);
    let is_foreign = |it: &ridethrough_lab::Entry| {
        it.header("origin").is_some() || it.header("host") == Some("attacker.example")
    };
    rig.mcp.rule(When::matches(is_foreign), Times::Always, |ask| async move {
        ask.status(403, &[], "").await;
    });
    let is_misnamed =
        |it: &ridethrough_lab::Entry| it.header("mcp-protocol-version") == Some("1999-01-01");
    rig.mcp.rule(When::matches(is_misnamed), Times::Always, |ask| async move {
        ask.status(400, &[], "").await;
    });
    rig
}

fn answer_all<Handling>(rig: &Rig, handler: impl Fn(Ask) -> Handling + Send + Sync + 'static)
where
    Handling: Future<Output = ()> + Send + 'static,
{
    rig.mcp.rule(When::any(), Times::Always, handler);
}

/// Returns the report on a server that answers every request in this way.
async fn refused<Handling>(handler: impl Fn(Ask) -> Handling + Send + Sync + 'static) -> Ran
where
    Handling: Future<Output = ()> + Send + 'static,
{
    let rig = Rig::new().await;
    answer_all(&rig, handler);
    rig.run(&["check", "SERVER"]).await
}

/// Returns the report in JSON on a server that answers every request in this way, and the exit code.
async fn report_of<Handling>(
    handler: impl Fn(Ask) -> Handling + Send + Sync + 'static,
) -> (Value, Option<i32>)
where
    Handling: Future<Output = ()> + Send + 'static,
{
    let rig = Rig::new().await;
    answer_all(&rig, handler);
    let ran = rig.run(&["check", "SERVER", "--json"]).await;
    (ran.json(), ran.code)
}

async fn checked(rig: &Rig) -> Value {
    let ran = rig.run(&["check", "SERVER", "--json"]).await;
    assert_eq!(ran.code, Some(0), "{ran:?}");
    ran.json()
}

fn find<'a>(report: &'a Value, name: &str) -> Option<&'a Value> {
    report["findings"].as_array().unwrap().iter().find(|it| it["name"] == name)
}

fn assert_finding(report: &Value, name: &str, verdict: &str, words: &str) {
    let found = find(report, name).unwrap_or_else(|| panic!("no finding `{name}` in {report}"));
    assert_eq!(found["verdict"], verdict, "{found}");
    assert!(found["what"].as_str().unwrap().contains(words), "{words}: {found}");
}

fn assert_advice(report: &Value, words: &str) {
    let advice = report["advice"].as_array().unwrap();
    let is_given = advice.iter().any(|it| it.as_str().unwrap().contains(words));
    assert!(is_given, "{words}: {report}");
}

fn assert_never_called(rig: &Rig) {
    assert_eq!(rig.mcp.count(&When::method("tools/call")), 0);
    assert!(rig.mcp.runs().is_empty());
}
