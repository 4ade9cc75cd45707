//! A comparison of invented clients, as a page and as a file.

use serde_json::{Value, json};

use super::*;
use ridethrough_lab::journal::{Journal, Ran, Which};
use ridethrough_lab::scenario::Level;
use ridethrough_lab::score::{ClientTimes, Figures, Finding};

#[test]
fn totals_count_verdicts_hangs_and_calls_that_ran_twice() {
    let (scenarios, entries) = (scenarios(), entries());
    let scenarios: Vec<_> = scenarios.iter().collect();

    let totals: Vec<_> = entries.iter().map(|entry| Totals::of(&scenarios, entry)).collect();

    assert_eq!(totals[0], Totals { pass: 2, ..Totals::default() });
    assert_eq!(totals[1], Totals { soft: 1, fail: 1, hung: 1, repeated: 1, pass: 0 });
    assert_eq!(totals[2], Totals::default());
}

#[test]
fn a_call_that_the_script_makes_twice_may_run_twice() {
    let twice = scenario("A1", 2);
    let score = score("A1", Verdict::Fail, 2);

    assert_eq!(most_runs(&twice, &score), None);
    assert_eq!(most_runs(&scenario("A1", 1), &score), Some(2));
}

#[test]
fn the_page_has_every_verdict_and_leads_to_what_was_seen() {
    let page = compared(|it| it.markdown());

    for part in [
        "Made on 2026-11-15 by `ridethrough lab compare`: 2 scenarios, each\n",
        "| **ours** | a client | 1.0 | 2 | 0 | 0 | 0 | 0 |\n",
        "| **theirs** | a client | 1.0 | 0 | 1 | 1 | 1 | 1 |\n",
        "| **absent** | a client | 1.0 | not run: npm is missing | | | | |\n",
        "| bridge | | version | pass | soft | fail | hung | ran twice |\n|---|---|---|---:|---:|---:|---:|---:|\n\
         | **pipe** | a client | 1.0 | 2 | 0 | 0 | 0 | 0 |\n",
        "## A: reconnection\n\n| | scenario | ours | theirs | pipe |\n|---|---|---|---|---|\n",
        "| A1 | a \\| b | pass | [**fail**](#theirs-a1), hung, ran 2× | pass |\n",
        "## D: session loss\n",
        "| D4 | a \\| b | pass | [soft](#theirs-d4) | pass |\n",
        "- <a id=\"theirs-a1\"></a>**A1** fail: it ends (and one more). Seen: `it was stopped after ",
    ] {
        assert!(page.contains(part), "{part}\nis not in\n{page}");
    }
    assert!(!page.contains("What was seen of ours"), "{page}");
}

#[test]
fn what_a_client_said_is_short_and_no_markup() {
    let page = compared(|it| it.markdown());

    let line = page.lines().find(|line| line.contains("**D4** soft")).unwrap();
    let seen = line.split("Seen: ").nth(1).unwrap();
    assert!(seen.starts_with("`<b> 'x' | y zzz") && seen.ends_with("zz…`"), "{seen}");
    assert_eq!(seen.chars().count(), 240 + "`…`".chars().count());
}

#[test]
fn the_file_has_the_first_reason_and_the_figures() {
    let file: Value = serde_json::from_str(&compared(|it| it.json())).unwrap();

    let theirs = &file["clients"][1];
    assert_eq!(file["scenarios"][1]["id"], "D4");
    assert_eq!(file["clients"][0]["scenarios"]["A1"]["verdict"], "pass");
    assert_eq!(file["clients"][2]["not_run"], "npm is missing");
    assert_eq!(theirs["totals"]["hung"], 1);
    assert_eq!(
        (&theirs["role"], &file["clients"][3]["role"]),
        (&json!("client"), &json!("bridge"))
    );
    let a1 = &theirs["scenarios"]["A1"];
    assert_eq!(a1["verdict"], "fail");
    assert_eq!(a1["broken"], "it ends");
    assert_eq!(a1["evidence"], "it was stopped after 20 s");
    assert_eq!(a1["most_runs"], 2);
    assert_eq!(a1["figures"]["executions"], 2);
}

fn compared(show: impl FnOnce(&Comparison<'_>) -> String) -> String {
    let scenarios = scenarios();
    let scenarios: Vec<_> = scenarios.iter().collect();
    let [made, command] = ["2026-11-15", "ridethrough lab compare"].map(str::to_owned);
    show(&Comparison { scenarios: &scenarios, made, command, entries: entries() })
}

fn scenarios() -> [Scenario; 2] {
    [scenario("A1", 1), scenario("D4", 1)]
}

/// Returns a scenario that makes one call this many times.
fn scenario(id: &str, calls: usize) -> Scenario {
    let call = r#"{ op = "call", tool = "echo", args = { msg = "a" } },"#.repeat(calls);
    let text = format!(
        "id = \"{id}\"\ntitle = \"a | b\"\nwhy = \"it matters\"\n\
         control = {{ mistake = \"hangs\", breaks = \"it ends\" }}\nclient = [{call}]\n\
         [[must]]\nthat = \"it ends\"\nstep = {{ number = 0, ok = true }}\n"
    );
    Scenario::read(&text).unwrap()
}

/// Returns a client that passes, one that fails, one that is missing, and a bridge.
fn entries() -> Vec<ScoredClient> {
    let good = [score("A1", Verdict::Pass, 1), score("D4", Verdict::Pass, 2)];
    let bad = [score("A1", Verdict::Fail, 2), score("D4", Verdict::Soft, 1)];
    let absent = ScoredOutcome::NotRun("npm is missing".to_owned());
    let piped = [score("A1", Verdict::Pass, 1), score("D4", Verdict::Pass, 1)];
    let bridge = ScoredClient { role: Role::Bridge, ..entry("pipe", ran(piped)) };
    vec![entry("ours", ran(good)), entry("theirs", ran(bad)), entry("absent", absent), bridge]
}

fn entry(name: &str, outcome: ScoredOutcome) -> ScoredClient {
    let [name, what, version] = [name, "a client", "1.0"].map(str::to_owned);
    ScoredClient { name, what, version, role: Role::Client, outcome }
}

fn ran(scores: [Score; 2]) -> ScoredOutcome {
    let [client, command] = ["it", ""].map(str::to_owned);
    ScoredOutcome::Ran(Scorecard { client, command, scores: scores.into(), elapsed_ms: 1.0 })
}

fn score(id: &str, verdict: Verdict, executions: usize) -> Score {
    let finding = |level, that: &str, evidence: &str| {
        let [that, evidence] = [that, evidence].map(str::to_owned);
        Finding { level, that, held: false, is_late: false, evidence }
    };
    let stopped = finding(Level::Must, "it ends", "it was stopped after 20 s");
    let strange = format!("<b>\n`x` | y {}", "z".repeat(300));
    let findings = match verdict {
        Verdict::Fail => vec![stopped, finding(Level::Must, "it answers", "it did not")],
        Verdict::Soft => vec![finding(Level::Ideal, "it is quick", &strange)],
        Verdict::Pass => Vec::new(),
    };
    let run =
        || Ran { server: Which::Main, tool: "echo".to_owned(), arguments: json!({"msg": "a"}) };
    let journal = Journal {
        runs: std::iter::repeat_with(run).take(executions).collect(),
        ..Journal::default()
    };
    let figures = Figures { executions, ..Figures::default() };
    let [id, title, why, stderr] = [id, "a | b", "it matters", ""].map(str::to_owned);
    let (script, lines, times) = (Vec::new(), Vec::new(), ClientTimes::default());
    Score { id, title, why, verdict, findings, figures, script, lines, times, stderr, journal }
}
