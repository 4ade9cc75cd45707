//! Plain habits and some mistakes, over pipes and with paused time.

use std::sync::Arc;

use super::*;
use crate::contestant::Inside;
use crate::run::run_on;
use crate::scenario::Scenario;
use crate::score::{Score, Verdict};
use crate::stage::{Stage, StageTransport};

#[tokio::test(start_paused = true)]
async fn plain_habits_have_no_trouble_without_faults() {
    for style in ["json", "sse", "sse-apart", "sse-with-ids"] {
        let score = run("plain", &format!("[server]\nanswers = '{style}'")).await;

        assert_eq!(score.verdict, Verdict::Pass, "{style}: {:?}", score.findings);
    }
}

#[tokio::test(start_paused = true)]
async fn plain_habits_ride_through_what_is_simple() {
    for fault in [
        CUT,
        r#"do = [{ status = { code = 429, headers = { retry-after = "1" } } }]"#,
        "do = ['forget-sessions', 'pass']",
        r#"do = [{ status = { code = 307, headers = { location = "{{url}}" } } }]"#,
    ] {
        let score = run("plain", &first_call(fault)).await;

        assert_eq!(score.verdict, Verdict::Pass, "{fault}: {:?}", score.findings);
    }
}

#[tokio::test(start_paused = true)]
async fn plain_habits_wait_for_a_server_that_is_late() {
    let score = run("plain", "[server]\nstarts = 'down'\nup_after = 1.5").await;

    assert_eq!(score.verdict, Verdict::Pass, "{:?}", score.findings);
}

#[tokio::test(start_paused = true)]
async fn plain_habits_take_no_refusal_for_proof_while_the_session_lives() {
    for status in [404, 410, 400, 503] {
        let fault = format!(
            "do = ['run', {{ status = {{ code = {status}, body = 'Session not found' }} }}]"
        );

        let (plain, rash) = (
            run("plain", &first_call(&fault)).await,
            run("believes-refusals", &first_call(&fault)).await,
        );

        assert_eq!(broken(&plain), ["it is answered"], "{status}");
        let is_suspicious = status != 503;
        assert_eq!(broken(&rash).contains(&"it runs once"), is_suspicious, "{status}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_names_the_call_is_its_answer_under_any_status() {
    for status in [400, 404, 410, 422, 500, 503] {
        let fault =
            format!("do = ['run', {{ status = {{ code = {status}, body = '{{{{answer}}}}' }} }}]");

        let score = run("plain", &first_call(&fault)).await;

        assert_eq!(score.verdict, Verdict::Pass, "{status}: {:?}", score.findings);
    }
}

#[tokio::test(start_paused = true)]
async fn one_that_gives_up_does_not_resume() {
    let score = run("gives-up", &first_call(CUT)).await;

    assert_eq!(broken(&score), ["it is answered"]);
}

#[tokio::test(start_paused = true)]
async fn one_that_posts_again_makes_the_tool_run_again() {
    let score = run("posts-again", &first_call(CUT)).await;

    assert_eq!(broken(&score), ["it runs once"]);
}

#[tokio::test(start_paused = true)]
async fn one_that_hangs_is_stopped() {
    let score = run("hangs", &first_call(CUT)).await;

    assert!(broken(&score).contains(&"the client ends by itself"), "{:?}", score.findings);
}

#[tokio::test(start_paused = true)]
async fn one_that_listens_twice_asks_for_two_standing_streams() {
    let score = run("standing-twice", "").await;

    let listens = score.journal.requests.iter().filter(|it| it.http == "GET").count();
    assert_eq!(listens, 2);
}

#[tokio::test(start_paused = true)]
async fn every_mistake_is_a_client_that_works_without_faults() {
    for mistake in mistakes() {
        // Some of the faults can be seen even here, but each client gets the answer.
        let score = run(mistake.name, "").await;

        let is_answered = score.lines.get(1).is_some_and(|line| line.done.ok);
        assert!(is_answered, "{}: {:?}", mistake.name, score.findings);
    }
}

#[tokio::test(start_paused = true)]
async fn every_mistake_that_asks_for_the_era_works_at_a_stateless_server_without_faults() {
    for mistake in mistakes().iter().filter(|it| it.name != "initializes-only") {
        let score = put_through(mistake.asking_era(), "[server]\nera = 'modern'").await;

        let is_answered = score.lines.get(1).is_some_and(|line| line.done.ok);
        assert!(is_answered, "{}: {:?}", mistake.name, score.findings);
        let has_asked = |method: &str| {
            let mut methods = score.journal.requests.iter().filter_map(|it| it.method.as_deref());
            methods.any(|it| it == method)
        };
        assert!(has_asked("server/discover") && !has_asked("initialize"), "{}", mistake.name);
    }
}

#[test]
fn names_are_names_of_one_mistake_only() {
    for mistake in mistakes() {
        let same = mistakes().iter().filter(|it| it.name == mistake.name).count();

        assert_eq!(same, 1, "{}", mistake.name);
    }
    assert!(find("no-such-mistake").is_none());
}

/// Puts the client through one call of `echo`.
async fn run(name: &str, server: &str) -> Score {
    put_through(*find(name).unwrap(), server).await
}

async fn put_through(mistake: Mistake, server: &str) -> Score {
    let scenario = Scenario::read(&format!("{HEAD}{server}{CHECKS}")).unwrap();
    let stage = Arc::new(Stage::open(&scenario, StageTransport::Pipes).await.unwrap());
    let doors = stage.clone();
    let client = Inside(move |url, script, said| -> BoxFuture<'static, ()> {
        let doors = doors.clone();
        let dial = move |authority: String| -> BoxFuture<'static, Dialed> {
            let doors = doors.clone();
            Box::pin(async move { Ok(Box::new(doors.dial(&authority).await?) as Box<dyn Duplex>) })
        };
        Box::pin(async move { play(&mistake, dial, url, script, said).await })
    });
    run_on(&stage, &scenario, &client).await
}

/// Returns a rule for the first call.
fn first_call(acts: &str) -> String {
    format!("[[server.rule]]\nwhen = {{ tool = 'echo' }}\ntimes = 1\n{acts}")
}

fn broken(score: &Score) -> Vec<&str> {
    score.faults().map(|finding| finding.that.as_str()).collect()
}

/// The tool runs, and the stream is cut after an event. A client that resumes gets the answer.
const CUT: &str = r#"do = ["run", "open", { event = { id = "e1" } }, "cut"]

[[server.rule]]
when = { last_event_id = "e1" }
do = ["open", { raw = "id: e2\ndata: {\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"a\"}]}}\n\n" }, "finish"]"#;

const HEAD: &str = r#"
id = "A1"
title = "a test"
why = "Because."
control = { mistake = "naive", breaks = "it is answered" }
client = [{ op = "initialize" }, { op = "call", tool = "echo", args = { msg = "a" } }, { op = "close" }]
"#;

const CHECKS: &str = r#"

[[must]]
that = "it is answered"
step = { number = 1, ok = true, text = "a" }

[[must]]
that = "it runs once"
runs = { tool = "echo", times = { exactly = 1 } }
"#;
