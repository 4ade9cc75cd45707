//! Worlds of whole clients: they repeat themselves, they are hard enough, and no promise is broken in them.

use std::time::Duration;

use ridethrough_sim::SeededWorld;
use ridethrough_sim::regression;
use ridethrough_sim::run::{Plan, live_twice, run, sampled};
use ridethrough_sim::shrink::shrink;
use ridethrough_sim::world::{Fault, Faults, Soak, World};

#[test]
fn the_same_seed_lives_through_the_same_world_byte_by_byte() {
    let mut over_http2 = 0;
    let seeds = sampled(12, 40);
    for seed in 1..=seeds {
        let world = World::of_seed(seed, 60);
        let (once, again) = live_twice(|| world.traced());

        assert!(once.trace.lines().count() > 100, "{}", once.trace);
        assert_eq!(once, again, "seed {seed}");
        over_http2 += u64::from(world.is_over_http2());
    }
    assert!((1..seeds).contains(&over_http2), "{over_http2}");
}

#[test]
fn a_world_without_faults_answers_every_call_and_runs_it_once() {
    for seed in 1..=20 {
        let lived = World { seed, faults: Faults::none(), calls: 100 }.live();

        assert_eq!(lived.violations, [], "seed {seed}");
        assert_eq!(lived.endings.get("answered"), Some(&lived.calls), "seed {seed}");
        assert_eq!(lived.executions, lived.calls, "seed {seed}");
    }
}

/// One fault at a time: each is met, and none breaks a promise. A sample goes on until it is met.
#[test]
fn every_fault_by_itself_breaks_no_promise_and_makes_a_difference() {
    // Some of them happen to streams only, and some only to those that are resumed.
    let streams = Faults::none().with(Fault::Streams, 800).with(Fault::Resumable, 900);
    let streams = streams.with(Fault::CutStream, 500);
    let live = |seed, faults: &Faults| {
        let mut lived = World { seed, faults: faults.clone(), calls: 30 }.traced();
        // A number that nothing depends on.
        lived.trace = lived.trace.lines().filter(|line| !line.contains("dial")).collect();
        lived
    };
    let calm: Vec<_> = (1..=12).map(|seed| (seed, live(seed, &streams))).collect();
    for fault in Fault::ALL {
        let rate = if fault.is_event() { 3 } else { 300 };
        let rough = streams.clone().with(*fault, rate);
        let mut differences = 0;
        for (seed, calm) in &calm {
            if *seed > sampled(3, 12) && differences > 0 {
                break;
            }
            let lived = live(*seed, &rough);
            assert_eq!(lived.violations, [], "{} with seed {seed}", fault.name());
            differences += u32::from(lived != *calm);
        }
        assert!(differences > 0, "{} changes nothing", fault.name());
    }
}

#[test]
fn ten_thousand_calls_in_random_worlds_break_no_promise() {
    let plan = Plan { first_seed: 1, seeds: 100, calls: 100, is_over_when_broken: false };
    let summary = run(plan, |_, _| {});

    assert_eq!(summary.violations, []);
    assert!(summary.calls >= 10_000, "{summary}");
    assert!(summary.faults > 1_250, "the worlds are too kind: {summary}");
    assert!(summary.answered() > 5_000, "the worlds are too hard: {summary}");
}

#[test]
fn worlds_that_once_broke_a_promise_keep_it_now() {
    for regression in regression::kept().unwrap() {
        assert_eq!(regression.world.live().violations, [], "{regression}");
    }
}

#[test]
fn a_world_that_breaks_nothing_is_not_made_smaller() {
    let world = World { seed: 1, faults: Faults::none(), calls: 10 };

    assert!(shrink(&world, |_| {}).is_none());
}

#[test]
fn sessions_live_through_hours_of_restarts_and_leave_nothing_behind() {
    let soak = Soak {
        seed: 1,
        hours: 2,
        sessions: 40,
        restart_every: Duration::from_secs(600),
        pause: Duration::from_secs(60),
    };

    let soaked = soak.live(|| 0, |_| {});

    assert_eq!(soaked.violations, []);
    assert_eq!(soaked.restarts, 12);
    let calls: u64 = soaked.endings.values().sum();
    assert!(calls > 4_000, "{calls}");
}
