//! Worlds in which clients log in: they repeat themselves, they are hard enough, and no promise is broken.

use ridethrough_sim::SeededWorld;
use ridethrough_sim::auth::{AuthFault, AuthFaults, AuthWorld};
use ridethrough_sim::run::{Plan, live_twice, run_each, sampled};

#[test]
fn the_same_seed_lives_through_the_same_logins_byte_by_byte() {
    for seed in 1..=sampled(5, 15) {
        let world = AuthWorld::of_seed(seed, 40);
        let (once, again) = live_twice(|| world.traced());

        assert!(once.trace.lines().count() > 100, "{}", once.trace);
        assert_eq!(once, again, "seed {seed}");
    }
}

#[test]
fn where_tokens_only_end_and_are_replaced_no_promise_is_broken() {
    let mut logins = 0;
    for seed in 1..=20 {
        let lived = AuthWorld { seed, faults: AuthFaults::none(), calls: 60 }.live();

        assert_eq!(lived.violations, [], "seed {seed}");
        logins += lived.counts.get("logins").copied().unwrap_or_default();
    }
    assert!((20..=80).contains(&logins), "{logins}");
}

/// One fault at a time: each is met, and none breaks a promise. A sample goes on until it is met.
#[test]
fn every_fault_of_a_login_by_itself_breaks_no_promise_and_makes_a_difference() {
    for fault in AuthFault::ALL {
        let mut faults = 0;
        for seed in 1..=4 {
            if seed > sampled(1, 4) && faults > 0 {
                break;
            }
            let rate = if fault.is_event() { 2 } else { 300 };
            let rates = AuthFaults::none().with(*fault, rate);
            let lived = AuthWorld { seed, faults: rates, calls: 30 }.live();
            assert_eq!(lived.violations, [], "{} with seed {seed}", fault.name());
            faults += lived.faults;
        }
        assert!(faults > 0, "{} never happens", fault.name());
    }
}

#[test]
fn two_thousand_calls_of_clients_that_log_in_break_no_promise() {
    let plan = Plan { first_seed: 1, seeds: 20, calls: 100, is_over_when_broken: false };
    let summary = run_each(plan, |seed| AuthWorld::of_seed(seed, plan.calls).live(), |_, _| {});

    assert_eq!(summary.violations, []);
    assert!(summary.faults > 100, "the worlds are too kind: {summary}");
    assert!(summary.answered() > 1_000, "the worlds are too hard: {summary}");
    assert!(summary.counts["refreshes"] > 200, "{summary}");
}

#[test]
fn worlds_that_once_broke_a_promise_of_logins_keep_it_now() {
    for (seed, what) in KEPT {
        let lived = AuthWorld::of_seed(*seed, 100).live();
        assert_eq!(lived.violations, [], "seed {seed}: {what}");
    }
}

const KEPT: &[(u64, &str)] = &[
    (1, "a process waited for its person although another one had logged in"),
    (5, "after the clock was set back, a replaced refresh token was sent again"),
    (7, "a login that had ended kept the processor busy"),
    (78, "a login that was denied failed calls although another process had logged in"),
    (171, "a token whose answer was slow was refused, and its person asked to log in"),
    (30466, "by a clock that was set back, a token of another process that had ended was used"),
    (31408, "a login that was needed was not noticed by the one with a person: the oracle"),
    (31576, "a slow login for more scope hid the login of another process"),
    (31738, "a client that left waited for a refresh that was under way: the oracle"),
    (31964, "a login that was needed was not noticed by the one with a person: the oracle"),
    (32541, "a client that left waited for a refresh that was under way: the oracle"),
    (35154, "a person who pasted a stranger's callback was waited for again: the oracle"),
    (36386, "a slow login for more scope hid the login of another process"),
    (37780, "a wait that was not polled held the lock of the store for ever"),
    (101266, "a login that began before the server moved replaced one at the new issuer"),
    (103548, "a refusal of a dead refresh token was lost, and told to nobody: the oracle"),
    (105472, "a login that began before the server moved replaced one at the new issuer"),
];
