//! Every scenario has a control: a client that is wrong on purpose and must fail it.
//!
//! A check that no client can break checks nothing. Each scenario is played over pipes and paused
//! time, on a runtime of its own.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use ridethrough_lab::adapter::Step;
use ridethrough_lab::contestant::{Contestant, Inside, Performance};
use ridethrough_lab::journal::Ran;
use ridethrough_lab::run::run_on;
use ridethrough_lab::scenario::{Check, Claim, ContestantKind, Scenario, Scenarios};
use ridethrough_lab::score::{Score, Verdict};
use ridethrough_lab::stage::{Stage, StageTransport};
use ridethrough_lab::wrong::{self, Dialed, Duplex, Mistake};
use serde_json::json;
use tokio::sync::mpsc::UnboundedSender;

#[test]
fn every_scenario_is_failed_by_its_control_in_the_way_it_says() {
    let scenarios = Scenarios::ours().unwrap();

    let misses: Vec<_> = scenarios.all().iter().filter_map(miss).collect();

    assert!(misses.is_empty(), "{} controls miss:\n{}", misses.len(), misses.join("\n"));
}

#[test]
fn a_naive_client_fails_at_least_half_of_all_scenarios() {
    let scenarios = Scenarios::ours().unwrap();
    let naive = *wrong::find("naive").unwrap();

    let is_failed = |it: &&Scenario| put_through(it, naive).verdict == Verdict::Fail;
    let failed = scenarios.all().iter().filter(is_failed).count();

    assert!(2 * failed >= scenarios.all().len(), "{failed} of {}", scenarios.all().len());
}

#[test]
fn a_client_that_does_nothing_fails_every_scenario() {
    let scenarios = Scenarios::ours().unwrap();
    let idle = Inside(
        |_url, script: Vec<Step>, said: UnboundedSender<String>| -> BoxFuture<'static, ()> {
            Box::pin(async move {
                for step in 0..script.len() {
                    let line = json!({"step": step, "ok": false, "result": null, "error": "not connected",
                    "elapsed_ms": 0, "notifications": []});
                    said.send(line.to_string()).unwrap();
                }
            })
        },
    );

    let is_failed = |it: &&Scenario| play(it, &idle).verdict == Verdict::Fail;
    let others: Vec<_> =
        scenarios.all().iter().filter(|it| !is_failed(it)).map(|it| &it.id).collect();

    assert!(others.is_empty(), "{others:?}");
}

/// A client that never repeats anything cannot run a call twice: a scenario that blames it for that is
/// wrong, and not the client.
#[test]
fn a_client_that_repeats_nothing_runs_no_call_twice() {
    let scenarios = Scenarios::ours().unwrap();
    let gives_up = *wrong::find("gives-up").unwrap();
    let runs_twice = |scenario: &&Scenario| {
        let score = put_through(scenario, gives_up);
        let breaks = |check: &Check| broken(&score).contains(&check.that.as_str());
        let is_run =
            |check: &Check| matches!(check.claim(), Some(Claim::Runs(runs)) if !runs.times.hold(2));
        let is_twice = |check: &Check| is_run(check) && breaks(check) && repeats(&score);
        scenario.checks().any(|(check, _)| is_twice(check))
    };

    let blamed: Vec<_> = scenarios.all().iter().filter(runs_twice).map(|it| &it.id).collect();

    assert!(blamed.is_empty(), "{blamed:?}");
}

/// Whether a tool ran twice with the same arguments.
fn repeats(score: &Score) -> bool {
    let runs = &score.journal.runs;
    let is_same =
        |one: &Ran, other: &Ran| one.tool == other.tool && one.arguments == other.arguments;
    runs.iter().any(|run| runs.iter().filter(|other| is_same(run, other)).count() > 1)
}

/// What is wrong with the control of this scenario.
fn miss(scenario: &Scenario) -> Option<String> {
    let (id, name) = (&scenario.id, &scenario.control.mistake);
    let Some(mistake) = wrong::find(name) else {
        return Some(format!("{id}: there is no mistake `{name}`"));
    };
    let asks_era = scenario.control.asks_era;
    let habits = |it: Mistake| if asks_era { it.asking_era() } else { it };
    let breaks = &scenario.control.breaks;
    let put_through = |mistake| put_through_as(scenario.control_kind(), scenario, mistake);
    let score = put_through(habits(*mistake));
    if score.verdict == Verdict::Pass || !broken(&score).contains(&breaks.as_str()) {
        return Some(format!("{id}: `{name}` does not break `{breaks}`, but {:?}", broken(&score)));
    }
    // Otherwise it would not be the mistake that breaks it.
    let plain = put_through(habits(wrong::PLAIN));
    let is_held = !broken(&plain).contains(&breaks.as_str());
    (!is_held).then(|| format!("{id}: plain habits break `{breaks}` as well as `{name}`"))
}

fn broken(score: &Score) -> Vec<&str> {
    score.faults().map(|finding| finding.that.as_str()).collect()
}

fn put_through(scenario: &Scenario, mistake: Mistake) -> Score {
    put_through_as(ContestantKind::Client, scenario, mistake)
}

fn put_through_as(kind: ContestantKind, scenario: &Scenario, mistake: Mistake) -> Score {
    on_its_own(async {
        let stage = Arc::new(Stage::open(scenario, StageTransport::Pipes).await.unwrap());
        let doors = stage.clone();
        let client = Inside(move |url, script, said| -> BoxFuture<'static, ()> {
            let doors = through(doors.clone());
            Box::pin(async move { wrong::play(&mistake, doors, url, script, said).await })
        });
        run_on(&stage, scenario, &As(kind, client)).await
    })
}

/// A client that counts as one of this kind.
struct As<C>(ContestantKind, C);

impl<C: Contestant> Contestant for As<C> {
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

/// As [`put_through`], with a client that needs no doors.
fn play(scenario: &Scenario, client: &dyn Contestant) -> Score {
    on_its_own(async {
        let stage = Stage::open(scenario, StageTransport::Pipes).await.unwrap();
        run_on(&stage, scenario, client).await
    })
}

fn on_its_own(work: impl Future<Output = Score>) -> Score {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build();
    runtime.unwrap().block_on(work)
}

/// Dials through the pipes of this stage.
fn through(stage: Arc<Stage>) -> impl Fn(String) -> BoxFuture<'static, Dialed> + Send + Sync {
    move |authority| {
        let stage = stage.clone();
        Box::pin(async move { Ok(Box::new(stage.dial(&authority).await?) as Box<dyn Duplex>) })
    }
}
