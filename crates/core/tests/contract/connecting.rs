//! Rows 1 and 1p, and waiting for a connection.

use ridethrough_core::{CallOptions, Cause, Delivery, Event, Failure, Kind, RetryPolicy};

use crate::rig::{Rig, millis, secs, session};

#[test]
fn a_call_that_was_not_sent_waits_for_the_link_and_is_sent() {
    for cause in [Cause::ConnectRefused, Cause::ConnectTimedOut, Cause::Reset, Cause::StreamRefused]
    {
        let mut rig = Rig::connected();
        let id = rig.call("deploy");
        let post = rig.post();

        rig.fail(&post, Failure::not_sent(cause));
        rig.dial_succeeds();

        let again = rig.post();
        assert_eq!(session(&again), Some("s1"), "the session is not the connection's");
        rig.reply(&again, "{}");
        assert_eq!(rig.result(id), "{}");
        assert_eq!(rig.handshakes, 1);
    }
}

#[test]
fn a_connect_reported_as_a_failure_is_a_failed_connect() {
    let mut rig = Rig::connected();
    let id = rig.call("deploy");
    let post = rig.post();
    rig.refuse_connection(&post);

    let dial = rig.dials.pop_front().unwrap();
    rig.link.handle_failure(rig.now, dial, Failure::unknown(Cause::Unreadable));
    rig.advance(secs(1));
    rig.dial_succeeds();

    let again = rig.post();
    rig.reply(&again, "{}");
    assert_eq!(rig.result(id), "{}");
}

#[test]
fn the_first_redial_is_immediate_and_later_ones_keep_a_gap() {
    let mut rig = Rig::connected();
    rig.call("deploy");
    let post = rig.post();

    rig.refuse_connection(&post);

    assert_eq!(rig.dials.len(), 1, "no time has passed");
    rig.dial_fails();
    assert!(rig.dials.is_empty(), "the second one waits");
    let gap = rig.advance_to_dial();
    assert!(gap >= millis(50) && gap <= millis(250), "{gap:?}");
}

#[test]
fn gaps_stay_under_250_ms_for_the_first_5_s_and_then_grow_to_5_s() {
    let mut rig = Rig::with_policy(RetryPolicy::unattended());
    rig.connect();
    rig.call("deploy");
    let post = rig.post();
    rig.refuse_connection(&post);
    rig.dial_fails();

    let began = rig.now;
    let mut longest = (millis(0), millis(0));
    while rig.now.since(began) < secs(120) {
        let is_young = rig.now.since(began) < secs(5);
        let gap = rig.advance_to_dial();
        if is_young {
            longest.0 = longest.0.max(gap);
        } else {
            longest.1 = longest.1.max(gap);
        }
        rig.dial_fails();
    }

    assert!(longest.0 <= millis(250), "{longest:?}");
    assert!(longest.1 <= secs(5) && longest.1 > secs(2), "{longest:?}");
}

#[test]
fn one_connect_loop_serves_every_waiting_call() {
    let mut rig = Rig::connected();
    for _ in 0..100 {
        rig.call("deploy");
    }
    let posts: Vec<_> = (0..100).map(|_| rig.post()).collect();

    for post in &posts {
        rig.refuse_connection(post);
    }

    assert_eq!(rig.dials.len(), 1);
}

#[test]
fn success_wakes_the_waiters_in_a_ramp() {
    let mut rig = Rig::connected();
    for _ in 0..20 {
        rig.call("deploy");
    }
    let posts: Vec<_> = (0..20).map(|_| rig.post()).collect();
    for post in &posts {
        rig.refuse_connection(post);
    }

    rig.dial_succeeds();

    let mut groups = vec![rig.sent.len()];
    for _ in 0..4 {
        rig.advance(millis(50));
        groups.push(rig.sent.len());
    }
    assert_eq!(groups, [1, 3, 7, 15, 20], "1, 2, 4, 8 and the rest, a step each 50 ms");
}

#[test]
fn a_connection_that_carried_no_response_counts_as_a_failed_connect() {
    let mut rig = Rig::connected();
    rig.call("deploy");
    let post = rig.post();
    rig.refuse_connection(&post);
    rig.dial_succeeds();
    let again = rig.post();

    rig.refuse_connection(&again);

    assert!(rig.dials.is_empty(), "accepting and answering nothing is no reason to hurry");
    assert!(rig.advance_to_dial() >= millis(50));
}

#[test]
fn waiting_is_bounded_by_the_patience_of_each_call() {
    let mut rig = Rig::connected();
    let first = rig.call("deploy");
    let post = rig.post();
    rig.refuse_connection(&post);
    let began = rig.now;

    keep_refusing(&mut rig, secs(20));
    let second = rig.call("deploy");
    keep_refusing(&mut rig, secs(15));

    assert_eq!(rig.kind(first), Kind::Unreachable);
    assert_eq!(rig.error(first).elapsed, secs(30));
    assert_eq!(rig.error(first).delivery, Delivery::NotSent);
    assert!(rig.is_open(second), "its own patience is not over");
    keep_refusing(&mut rig, secs(20));
    assert_eq!(rig.kind(second), Kind::Unreachable);
    assert!(rig.now.since(began) >= secs(50));
}

/// The connect loop pauses for seconds in an old outage; a call that gave up in such a pause would fail in an
/// outage that was shorter than its patience.
#[test]
fn a_call_gives_up_only_after_one_more_connect() {
    for has_session in [true, false] {
        let mut rig = if has_session { Rig::connected() } else { Rig::new() };
        rig.plays_handshake = false;
        let patience = if has_session { secs(30) } else { secs(10) };
        let id = rig.call("deploy");
        let post = rig.post();
        rig.refuse_connection(&post);
        let began = rig.now;

        rig.advance_to_dial();
        while rig.now.since(began) < patience {
            rig.dial_fails();
            rig.advance_to_dial();
        }

        let tried = rig.now.since(began);
        assert!(tried >= patience && tried <= patience + secs(1), "{tried:?}");
        assert!(rig.is_open(id), "the last connect decides");
        rig.dial_succeeds();
        rig.post();
    }
}

#[test]
fn a_call_without_patience_or_with_none_left_gets_no_further_connect() {
    let mut rig = Rig::with_policy(RetryPolicy::never());
    rig.connect();
    let id = rig.call("deploy");
    let post = rig.post();
    rig.refuse_connection(&post);
    rig.advance(millis(0));
    assert_eq!(rig.kind(id), Kind::Unreachable);

    let mut rig = Rig::connected();
    let id = rig.call("deploy");
    let post = rig.post();
    rig.refuse_connection(&post);
    let began = rig.now;
    rig.advance_to_dial();
    while rig.now.since(began) < secs(30) {
        rig.dial_fails();
        rig.advance_to_dial();
    }
    rig.dial_succeeds();
    let again = rig.post();
    rig.refuse_connection(&again);
    rig.advance(millis(0));
    assert_eq!(rig.kind(id), Kind::Unreachable);
}

#[test]
fn a_last_connect_that_takes_too_long_is_not_waited_for() {
    let mut rig = Rig::connected();
    let id = rig.call("deploy");
    let post = rig.post();
    rig.refuse_connection(&post);
    keep_refusing(&mut rig, secs(25));
    rig.advance_to_dial();

    rig.advance(secs(10));

    assert_eq!(rig.kind(id), Kind::Unreachable);
    assert_eq!(rig.error(id).elapsed, secs(32));
}

/// However many calls give up one after the other, the server gets at most one connect a second.
#[test]
fn last_connects_keep_a_second_from_each_other() {
    let mut rig = Rig::connected();
    let first = rig.call("deploy");
    let post = rig.post();
    rig.refuse_connection(&post);
    for _ in 0..100 {
        keep_refusing(&mut rig, millis(100));
        rig.call("deploy");
    }
    keep_refusing(&mut rig, secs(21));
    assert!(!rig.is_open(first));

    let mut dials = Vec::new();
    let began = rig.now;
    while rig.now.since(began) < secs(8) {
        rig.advance_to_dial();
        dials.push(rig.now);
        rig.dial_fails();
    }

    let gaps = dials.windows(2).map(|pair| pair[1].since(pair[0]));
    assert!(gaps.clone().all(|gap| gap >= secs(1)), "{:?}", gaps.collect::<Vec<_>>());
}

#[test]
fn a_deadline_that_passes_in_an_outage_says_what_the_outage_is() {
    let mut rig = Rig::connected();
    let options = CallOptions { deadline: Some(secs(3)), ..CallOptions::default() };
    let id = rig.call_with("deploy", options);
    let post = rig.post();
    rig.refuse_connection(&post);

    keep_refusing(&mut rig, secs(4));

    let error = rig.error(id);
    assert_eq!((error.kind, error.may_have_run()), (Kind::DeadlinePassed, false));
    assert!(error.to_string().ends_with("passed its deadline: connection refused"), "{error}");
}

#[test]
fn patience_is_cumulative_per_call() {
    let mut rig = Rig::connected();
    let id = rig.call("deploy");
    let post = rig.post();
    rig.refuse_connection(&post);

    keep_refusing(&mut rig, secs(20));
    rig.advance_to_dial();
    rig.dial_succeeds();
    let again = rig.post();
    rig.advance(secs(5));
    rig.refuse_connection(&again);
    keep_refusing(&mut rig, secs(15));

    let elapsed = rig.error(id).elapsed;
    assert!(elapsed >= secs(35) && elapsed < secs(36), "20 s and 10 s of waiting: {elapsed:?}");
}

#[test]
fn patience_is_10_s_before_the_first_connect_ever_succeeded() {
    let mut rig = Rig::new();
    rig.plays_handshake = false;
    let id = rig.call("deploy");
    let initialize = rig.post();

    rig.refuse_connection(&initialize);
    keep_refusing(&mut rig, secs(12));

    assert_eq!(rig.kind(id), Kind::Unreachable);
    let elapsed = rig.error(id).elapsed;
    assert!(elapsed >= secs(10) && elapsed <= secs(11), "{elapsed:?}");
    assert_eq!(rig.error(id).attempts, 0);
}

#[test]
fn the_connect_loop_stops_when_nobody_waits_unless_told_to_keep_connected() {
    for keeps in [false, true] {
        let mut rig = Rig::connected();
        if keeps {
            rig.link.keep_connected(rig.now);
        }
        let id = rig.call("deploy");
        let post = rig.post();
        rig.refuse_connection(&post);
        rig.dial_fails();

        rig.cancel(id);
        rig.advance(secs(1));

        assert_eq!(!rig.dials.is_empty(), keeps);
    }
}

#[test]
fn what_cannot_get_better_by_waiting_ends_the_call_at_once() {
    for cause in [Cause::BadCertificate, Cause::TlsRefused, Cause::Misconfigured] {
        let mut rig = Rig::connected();
        let id = rig.call("deploy");
        let post = rig.post();

        rig.fail(&post, Failure::not_sent(cause));

        assert_eq!(rig.kind(id), Kind::Unreachable);
        assert_eq!(rig.error(id).elapsed, secs(0));
        rig.call("deploy");
        rig.post();
    }
}

#[test]
fn a_name_that_never_resolved_ends_the_call_and_one_that_did_is_waited_for() {
    let mut rig = Rig::new();
    rig.plays_handshake = false;
    let first = rig.call("deploy");
    let initialize = rig.post();

    rig.fail(&initialize, Failure::not_sent(Cause::NameUnknown));

    assert_eq!(rig.kind(first), Kind::Unreachable);

    let mut rig = Rig::connected();
    let later = rig.call("deploy");
    let post = rig.post();

    rig.fail(&post, Failure::not_sent(Cause::NameUnknown));

    assert!(rig.is_open(later));
    assert_eq!(rig.dials.len(), 1);
}

#[test]
fn a_lasting_fault_found_by_the_connect_loop_ends_every_waiter() {
    let mut rig = Rig::connected();
    let ids = [rig.call("deploy"), rig.list()];
    for _ in ids {
        let post = rig.post();
        rig.refuse_connection(&post);
    }

    rig.dial_fails_with(Cause::BadCertificate);

    for id in ids {
        assert_eq!(rig.kind(id), Kind::Unreachable);
    }
}

#[test]
fn word_of_a_connect_that_was_never_asked_for_changes_nothing() {
    let mut rig = Rig::connected();
    let id = rig.call("deploy");
    let post = rig.post();

    rig.link.handle_connect(rig.now, post.attempt, Ok(()));
    rig.reply(&post, "{}");

    assert_eq!(rig.result(id), "{}");
}

#[test]
fn the_end_of_an_outage_is_told_with_its_length() {
    let mut rig = Rig::connected();
    rig.call("deploy");
    let post = rig.post();
    rig.refuse_connection(&post);
    let began = rig.now;
    keep_refusing(&mut rig, secs(3));
    rig.advance_to_dial();
    rig.dial_succeeds();
    let again = rig.post();

    rig.reply(&again, "{}");

    let outage = rig.now.since(began);
    assert!(rig.told.contains(&Event::Connected { outage }), "{:?}", rig.told);
}

fn keep_refusing(rig: &mut Rig, time: std::time::Duration) {
    let end = rig.now + time;
    while rig.now < end {
        while !rig.dials.is_empty() {
            rig.dial_fails();
        }
        rig.advance(millis(10));
    }
}
