//! Invented performances, and what the judge says about them.

use futures_util::future::BoxFuture;
use serde_json::{Value, json};

use super::*;
use crate::adapter::Step;
use crate::contestant::{Contestant, Inside};
use crate::stage::StageTransport;

#[tokio::test(start_paused = true)]
async fn a_client_that_reports_what_was_expected_passes() {
    let score = score(MUSTS, vec![line(0, json!({"ok": true})), line(1, answer("a"))]).await;

    assert_eq!(score.verdict, Verdict::Pass, "{:?}", score.findings);
    assert_eq!(score.figures.deliveries, 1);
}

#[tokio::test(start_paused = true)]
async fn a_broken_must_fails_with_what_was_seen() {
    let error = json!({"ok": false, "error": "503 Service Unavailable"});

    let score = score(MUSTS, vec![line(0, json!({"ok": true})), line(1, error)]).await;

    assert_eq!(score.verdict, Verdict::Fail);
    let fault = score.faults().next().unwrap();
    assert_eq!(fault.that, "it is answered");
    assert!(fault.evidence.contains("503 Service Unavailable"), "{}", fault.evidence);
}

#[tokio::test(start_paused = true)]
async fn a_missed_ideal_is_soft() {
    let slow = json!({"ok": true, "result": {"text": "a"}, "elapsed_ms": 900});

    let score = score(MUSTS, vec![line(0, json!({"ok": true})), line(1, slow)]).await;

    assert_eq!(score.verdict, Verdict::Soft);
    assert_eq!(score.faults().next().unwrap().that, "it is quick");
}

#[tokio::test(start_paused = true)]
async fn a_step_that_is_not_reported_fails_and_is_named() {
    let score = score(MUSTS, vec![line(0, json!({"ok": true}))]).await;

    assert_eq!(score.verdict, Verdict::Fail);
    let fault = score.faults().next().unwrap();
    assert!(fault.evidence.contains("step 1 was never reported"), "{}", fault.evidence);
}

#[tokio::test(start_paused = true)]
async fn garbage_is_shown_and_fails() {
    let lines = vec![line(0, json!({"ok": true})), "Traceback\u{1b}[31m".to_owned()];

    let score = score(MUSTS, lines).await;

    assert_eq!(score.verdict, Verdict::Fail);
    let evidence = &score.faults().next().unwrap().evidence;
    assert!(evidence.contains("Traceback") && !evidence.contains('\u{1b}'), "{evidence}");
}

#[tokio::test(start_paused = true)]
async fn a_client_that_hangs_is_stopped_and_fails() {
    let client = Inside(|_, _, _| Box::pin(std::future::pending()) as BoxFuture<'static, ()>);

    let score = play(&scenario(MUSTS), &client).await;

    let faults: Vec<_> = score.faults().map(|it| it.evidence.clone()).collect();
    assert!(faults.iter().any(|it| it.contains("stopped after 20 s")), "{faults:?}");
}

#[test]
fn bounds_are_told_in_words() {
    let at_most = Bounds { at_most: Some(2), ..Bounds::default() };

    assert_eq!(beyond(&at_most, 2, "runs"), None);
    assert_eq!(beyond(&at_most, 3, "runs").unwrap(), "3 runs, not at most 2");
}

#[tokio::test(start_paused = true)]
async fn what_no_tool_ran_is_seen_to_have_run_never() {
    let must =
        r#"must = [{ that = "it runs once", runs = { tool = "echo", times = { exactly = 1 } } }]"#;
    let must = must.replace("it runs once", "it is answered");

    let score = score(&must, vec![line(0, json!({"ok": true})), line(1, answer("a"))]).await;

    assert_eq!(score.faults().next().unwrap().evidence, "0 runs, not 1");
}

#[tokio::test(start_paused = true)]
async fn calls_count_only_with_their_own_answers() {
    let must =
        r#"must = [{ that = "it is answered", calls = { step = 1, answered = { exactly = 3 } } }]"#;
    let call = |text: &str| json!({"ok": true, "result": {"text": text}, "elapsed_ms": 1});
    let many = json!({"ok": true, "result": [call("c0"), call("c2"), call("c1")]});

    let score = score(must, vec![line(0, json!({"ok": true})), line(1, many)]).await;

    let evidence = &score.faults().next().unwrap().evidence;
    assert!(evidence.starts_with("1 calls were answered, not 3; c1 ended with"), "{evidence}");
}

#[tokio::test(start_paused = true)]
async fn notifications_are_counted_over_all_lines_or_in_one() {
    let must = r#"must = [
        { that = "it is answered", told = { what = "message:n1", times = { exactly = 1 } } },
        { that = "with the call", told = { what = "message:n1", step = 1, times = { exactly = 1 } } },
    ]"#;
    let told = json!({"ok": true, "notifications": ["message:n1"]});

    let score = score(must, vec![line(0, told), line(1, answer("a"))]).await;

    let faults: Vec<_> = score.faults().map(|it| it.that.as_str()).collect();
    assert_eq!(faults, ["with the call"]);
}

#[tokio::test(start_paused = true)]
async fn a_secret_that_is_printed_is_found_and_not_repeated() {
    let must = r#"must = [{ that = "it is answered", unsaid = "s3cret" }]"#;
    let error = json!({"ok": false, "error": "401 for s3cret"});

    let score = score(must, vec![line(0, json!({"ok": true})), line(1, error)]).await;

    let fault = score.faults().next().unwrap();
    assert!(!fault.evidence.contains("s3cret"));
}

#[tokio::test(start_paused = true)]
async fn an_error_with_words_that_it_should_lack_is_a_fault_and_no_error_is_none() {
    let must = r#"must = [{ that = "it is answered", step = { number = 1, error_lacks = ["did not run"] } }]"#;
    let denied = json!({"ok": false, "error": "404; the server Did Not Run it"});
    let told = json!({"ok": false, "error": "404; the server may have run it"});
    let faults = async |end| {
        let score = score(must, vec![line(0, json!({"ok": true})), line(1, end)]).await;
        score.faults().count()
    };

    assert_eq!([faults(denied).await, faults(told).await, faults(answer("a")).await], [1, 0, 0]);
}

#[tokio::test(start_paused = true)]
async fn an_error_with_the_right_words_is_as_good_as_the_answer() {
    let must = r#"must = [{ that = "it is answered", step = { number = 1, ok = true, or_error_has = ["gzip"] } }]"#;
    let named = json!({"ok": false, "error": "the body is coded as GZIP"});
    let other = json!({"ok": false, "error": "the answer is no JSON"});
    let faults = async |end| {
        let score = score(must, vec![line(0, json!({"ok": true})), line(1, end)]).await;
        score.faults().count()
    };

    assert_eq!([faults(named).await, faults(answer("a")).await, faults(other).await], [0, 0, 1]);
}

#[tokio::test(start_paused = true)]
async fn a_client_is_asked_only_what_its_kind_can_be_asked() {
    let must = r#"must = [
        { that = "it is answered", step = { number = 1, ok = true } },
        { that = "a library is", spares_bridges = true, step = { number = 1, ok = true } },
        { that = "a bridge is", spares_clients = true, step = { number = 1, ok = true } },
    ]"#;
    let lines = || vec![line(0, json!({"ok": true})), line(1, json!({"ok": false, "error": "no"}))];

    let mut faults = Vec::new();
    for kind in [ContestantKind::Client, ContestantKind::ClientWithSession, ContestantKind::Front] {
        let score = score_of(kind, must, lines()).await;
        faults.push(score.faults().map(|it| it.that.clone()).collect::<Vec<_>>());
    }

    assert_eq!(faults[0], ["it is answered", "a library is"]);
    assert_eq!(faults[1], ["it is answered"]);
    assert_eq!(faults[2], ["it is answered", "a bridge is"]);
}

const MUSTS: &str = r#"
must = [{ that = "it is answered", step = { number = 1, ok = true, text = "a" } }]
ideal = [{ that = "it is quick", step = { number = 1, within = 0.5 } }]
"#;

fn scenario(checks: &str) -> Scenario {
    let text = format!(
        r#"
        id = "A1"
        title = "a test"
        why = "Because."
        control = {{ mistake = "naive", breaks = "it is answered" }}
        client = [{{ op = "initialize" }}, {{ op = "call", tool = "echo", args = {{ msg = "a" }} }}]
        {checks}
        "#
    );
    Scenario::read(&text).unwrap()
}

async fn score(checks: &str, lines: Vec<String>) -> Score {
    score_of(ContestantKind::Client, checks, lines).await
}

async fn score_of(kind: ContestantKind, checks: &str, lines: Vec<String>) -> Score {
    let client = Inside(move |_, _, said: tokio::sync::mpsc::UnboundedSender<String>| {
        lines.iter().for_each(|line| said.send(line.clone()).unwrap());
        Box::pin(std::future::ready(())) as BoxFuture<'static, ()>
    });
    play(&scenario(checks), &OfKind(kind, client)).await
}

struct OfKind<C>(ContestantKind, C);

impl<C: Contestant> Contestant for OfKind<C> {
    fn perform<'a>(
        &'a self,
        url: &'a str,
        script: &'a [Step],
        limit: Duration,
    ) -> BoxFuture<'a, Performance> {
        self.1.perform(url, script, limit)
    }

    fn kind(&self) -> ContestantKind {
        self.0
    }
}

async fn play(scenario: &Scenario, client: &dyn Contestant) -> Score {
    let stage = Stage::open(scenario, StageTransport::Pipes).await.unwrap();
    crate::run::run_on(&stage, scenario, client).await
}

fn line(step: usize, rest: Value) -> String {
    let mut line = json!({"step": step, "elapsed_ms": 1});
    line.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
    line.to_string()
}

fn answer(text: &str) -> Value {
    json!({"ok": true, "result": {"text": text, "isError": false}})
}
