//! Whole worlds: they repeat themselves, they are hard enough, and no promise is broken in them.

use ridethrough_core::{Era, Eras};
use ridethrough_sim::machine::{
    Fleet, MachineFaults, MachinePlan, Setting, Worlds, run, run_seed, run_world, story,
};

#[test]
fn the_same_seed_lives_through_the_same_world() {
    for seed in 1..20 {
        for worlds in [Worlds::Both, Worlds::Legacy] {
            assert_eq!(run_seed(seed, worlds, 200), run_seed(seed, worlds, 200));
        }
    }
    assert_ne!(run_seed(1, Worlds::Both, 200), run_seed(2, Worlds::Both, 200));
}

#[test]
fn a_world_without_faults_answers_every_call_and_runs_it_once() {
    let summary = run_world(1, MachineFaults::none(), Setting::legacy(), 500);

    assert_eq!(summary.answered, summary.calls);
    assert_eq!(summary.executions, summary.calls);
    assert_eq!(summary.violations, []);
}

#[test]
fn a_server_that_runs_calls_and_then_loses_the_answer_never_runs_an_unsafe_one_twice() {
    let faults = MachineFaults {
        cut_after: 200,
        gateway_after: 200,
        cut_body: 200,
        cut_stream: 500,
        resume_gone: 300,
        ..MachineFaults::none()
    };

    let summary = run_world(3, faults, Setting::legacy(), 2000);

    assert_eq!(summary.violations, []);
    let interrupted = summary.endings.get("Interrupted").copied().unwrap_or_default();
    assert!(interrupted > 100, "the faults were not met: {summary}");
}

#[test]
fn a_server_that_lies_costs_at_most_one_further_run_a_lie() {
    let faults = MachineFaults { lying_deferral: 300, lying_loss: 300, ..MachineFaults::none() };

    let summary = run_world(4, faults, Setting::legacy(), 1000);

    assert_eq!(summary.violations, []);
    assert!(summary.lies > 100, "{summary}");
    assert!(summary.executions <= summary.calls + summary.lies, "{summary}");
}

#[test]
fn twenty_thousand_calls_in_random_worlds_break_no_promise() {
    let summary = run(MachinePlan { calls: 20_000, ..MachinePlan::default() }, |_| {});

    assert_eq!(summary.violations, []);
    assert!(summary.faults > 5_000, "the worlds are too kind: {summary}");
}

#[test]
fn a_server_that_switches_era_at_any_point_keeps_the_promise() {
    let plan = MachinePlan { calls: 40_000, worlds: Worlds::Both, ..MachinePlan::default() };

    let summary = run(plan, |_| {});

    assert_eq!(summary.violations, []);
    assert!(summary.faults > 10_000, "the worlds are too kind: {summary}");
    assert!(summary.answered > 20_000, "the worlds are too hard: {summary}");
}

#[test]
fn a_fleet_of_two_eras_behind_one_address_runs_every_call_that_it_answers() {
    let setting = Setting {
        client: Eras::Either,
        fleet: Fleet::Mixed(500),
        changes: 0,
        rounds: 200,
        listens: true,
    };

    let summary = run_world(5, MachineFaults::none(), setting, 2000);

    assert_eq!(summary.violations, []);
    // Half of what is sent meets the other era, and is sent again once.
    assert!(summary.executions > summary.calls / 3, "{summary}");
}

#[test]
fn a_link_that_finds_the_era_by_itself_loses_no_call_to_that() {
    for (seed, era) in [(6, Era::Legacy), (7, Era::Modern)] {
        let fleet = Fleet::All(era);
        let setting = Setting { client: Eras::Either, fleet, changes: 0, rounds: 0, listens: true };

        let summary = run_world(seed, MachineFaults::none(), setting, 500);

        assert_eq!(summary.violations, []);
        assert_eq!((summary.answered, summary.executions), (summary.calls, summary.calls));
    }
}

#[test]
fn the_story_is_told_to_its_end() {
    let mut told = Vec::new();

    story::tell(&mut told).unwrap();

    let told = String::from_utf8(told).unwrap();
    assert_eq!(told.matches("oracle").count(), 6);
    assert_eq!(told.matches("the server ran 1 of 1 calls").count(), 5);
    assert_eq!(told.matches("the server ran 3 of 3 calls").count(), 1);
    assert_eq!(told.matches("is answered").count(), 6);
    assert!(told.contains("9 attempts"), "{told}");
}
