//! Breaks each promise on purpose: the oracle must see it.

use ridethrough_core::{CallError, CallName, Reason};
use ridethrough_wire::message::Json;

use super::*;

#[test]
fn an_unsafe_call_that_runs_twice_is_noticed_and_a_lie_is_excused_once() {
    let mut oracle = watched(false);
    oracle.lied(1);
    oracle.executed(1);
    oracle.executed(1);
    assert_eq!(oracle.violations, []);

    oracle.executed(1);

    assert_eq!(promises(&oracle), ["an unsafe call runs once"]);
}

#[test]
fn a_call_that_goes_back_to_an_older_session_is_noticed() {
    let mut oracle = watched(true);

    oracle.arrived(1, 2);
    oracle.arrived(1, 1);

    assert_eq!(promises(&oracle), ["a call never goes back to an older session"]);
}

#[test]
fn a_safe_call_may_run_twice() {
    let mut oracle = watched(true);

    (0..3).for_each(|_| oracle.executed(1));

    assert_eq!(oracle.violations, []);
}

#[test]
fn an_error_that_denies_a_run_is_noticed() {
    let mut oracle = watched(false);
    oracle.executed(1);

    oracle.ended(1, Moment::secs(1), &Err(error(Delivery::Refused)));

    assert_eq!(promises(&oracle), ["an error says whether the server may have run it"]);
}

#[test]
fn a_second_outcome_a_late_one_and_a_foreign_answer_are_noticed() {
    let mut oracle = watched(false);
    let foreign = Ok(Answer::Result(Json::new(r#"{"call":2}"#).unwrap()));

    oracle.ended(1, Moment::secs(62), &foreign);
    oracle.ended(1, Moment::secs(1), &Err(error(Delivery::Unknown)));

    assert_eq!(
        promises(&oracle),
        ["never past the deadline", "answers are never mixed", "exactly one outcome"]
    );
}

#[test]
fn what_follows_the_outcome_undercuts_a_hint_or_hurries_is_noticed() {
    let mut oracle = watched(false);
    oracle.deferred(1, Moment::secs(5));

    oracle.posted(1, Moment::secs(4));
    oracle.resumed(1, Moment::secs(6));
    oracle.resumed(1, Moment::millis(6050));
    oracle.ended(1, Moment::secs(7), &Err(error(Delivery::Unknown)));
    oracle.posted(1, Moment::secs(8));

    assert_eq!(
        promises(&oracle),
        ["hints are never undercut", "no two resumes within 100 ms", "nothing follows the outcome"]
    );
}

#[test]
fn a_ping_that_was_taken_for_a_handshake_is_none() {
    let mut oracle = watched(false);
    let limit = Duration::from_secs(15);

    oracle.handshake_began(AttemptId::new(1), Moment::START, limit);
    oracle.was_ping(AttemptId::new(1));
    oracle.handshake_began(AttemptId::new(2), Moment::START, limit);

    assert_eq!(promises(&oracle), [""; 0]);
}

#[test]
fn a_call_that_never_ends_and_a_second_renewal_are_noticed() {
    let mut oracle = watched(false);

    let limit = Duration::from_secs(15);
    oracle.handshake_began(AttemptId::new(1), Moment::START, limit);
    oracle.handshake_began(AttemptId::new(2), Moment::START + limit, limit);
    assert_eq!(promises(&oracle), [""; 0], "the first was given up on");
    oracle.handshake_began(AttemptId::new(3), Moment::START + limit, limit);
    oracle.closed();

    assert_eq!(promises(&oracle), ["one renewal at a time", "every call ends"]);
}

#[test]
fn a_handshake_that_follows_another_at_once_and_again_is_noticed() {
    let mut oracle = watched(false);
    let mut shake = |millis: u64| {
        let (attempt, now) = (AttemptId::new(millis), Moment::millis(millis));
        oracle.handshake_began(attempt, now, Duration::from_secs(15));
        oracle.handshake_ended(attempt, now);
        oracle.violations.len()
    };

    assert_eq!((1..=20).map(|each| shake(each * 50)).max(), Some(0), "each waits");
    assert_eq!((1..=10).map(|each| shake(1000 + each * 20)).max(), Some(2), "none waits");
}

#[test]
fn a_state_that_is_not_sent_back_as_it_was_is_noticed() {
    let mut oracle = watched(false);
    oracle.asked(1, Some(r#""a\u004a""#.to_owned()));

    oracle.echoed(1, Era::Modern, Some(r#""a\u004a""#.to_owned()));
    assert_eq!(oracle.violations, []);
    oracle.echoed(1, Era::Modern, Some(r#""aJ""#.to_owned()));
    oracle.echoed(1, Era::Modern, None);

    assert_eq!(promises(&oracle), ["the server's state is sent back byte for byte"; 2]);
}

#[test]
fn a_cancel_that_leaves_something_out_and_one_that_nobody_wished_are_noticed() {
    let mut oracle = watched(false);
    let mut cancelled = error(Delivery::Unknown);
    cancelled.kind = Kind::Cancelled;

    oracle.ended(1, Moment::secs(1), &Err(cancelled));
    oracle.begun(2, false, Moment::START, Duration::from_secs(60));
    oracle.cancelled(1, true);
    oracle.cancelled(2, false);

    assert_eq!(
        promises(&oracle),
        ["a loss is no cancel", "a cancel closes what is out", "a cancel is the end"]
    );
}

#[test]
fn a_run_that_follows_its_denial_is_noticed() {
    let mut oracle = watched(false);
    oracle.ended(1, Moment::secs(1), &Err(error(Delivery::Refused)));

    oracle.executed(1);

    assert_eq!(promises(&oracle), [DOUBT_IS_TOLD]);
}

#[test]
fn a_call_that_meets_the_other_era_again_and_again_is_noticed() {
    let mut oracle = watched(false);

    (0..5).for_each(|_| oracle.misunderstood(1));
    assert_eq!(oracle.violations, []);
    oracle.misunderstood(1);

    assert_eq!(promises(&oracle), ["a change of era is followed once"]);
}

fn watched(is_safe: bool) -> MachineOracle {
    let mut oracle = MachineOracle::new(7, Eras::Either);
    oracle.begun(1, is_safe, Moment::START, Duration::from_secs(60));
    oracle
}

fn promises(oracle: &MachineOracle) -> Vec<&str> {
    oracle.violations.iter().map(|violation| violation.promise).collect()
}

fn error(delivery: Delivery) -> CallError {
    let call = CallName { method: "tools/call".into(), tool: None };
    let mut error = CallError::new(Kind::Interrupted, delivery, call, Reason::Nothing);
    error.attempts = 1;
    error
}
