//! Row 13: a server that closes its streams on purpose and says when to resume.

use std::time::Duration;

use ridethrough_core::{ExchangeId, Kind, Outgoing, RetryPolicy};

use crate::rig::{Rig, millis, secs};

#[test]
fn a_server_that_sent_retry_is_polled_at_its_pace_and_it_costs_nothing() {
    let mut rig = Rig::connected();
    let (id, post) = polled(&mut rig, millis(200));

    for _ in 0..30 {
        let waited = rig.advance_to_send();
        assert!(waited >= millis(200) && waited <= millis(350), "{waited:?}");
        let get = rig.get();
        rig.open(&get);
        rig.end(&get);
    }

    rig.advance_to_send();
    let get = rig.get();
    rig.open(&get);
    rig.event_result(&get, &post, "1");
    assert_eq!(rig.result(id), "1");
}

#[test]
fn retry_0_for_ever_never_makes_more_than_10_requests_a_second() {
    let mut rig = Rig::connected();
    let (id, _) = polled(&mut rig, millis(0));

    while rig.is_open(id) && rig.now.elapsed() < secs(60) {
        let waited = rig.advance_to_send();
        assert!(waited >= millis(100), "{waited:?}");
        let get = rig.get();
        rig.open(&get);
        rig.retry(&get, "e1", millis(0));
        rig.end(&get);
    }
}

#[test]
fn after_60_empty_polls_in_a_row_the_gap_doubles_up_to_5_s() {
    let mut rig = Rig::connected();
    polled(&mut rig, millis(200));
    let mut waits = Vec::new();

    for _ in 0..70 {
        waits.push(rig.advance_to_send());
        let get = rig.get();
        rig.open(&get);
        rig.end(&get);
    }

    assert!(waits[60] <= millis(350), "{:?}", waits[60]);
    assert!(waits[61] >= millis(400) && waits[61] <= millis(550), "{:?}", waits[61]);
    assert!(waits[69] >= secs(5) && waits[69] <= millis(5150), "{:?}", waits[69]);
}

#[test]
fn a_retry_longer_than_5_s_is_never_undercut() {
    let mut rig = Rig::connected();
    polled(&mut rig, secs(30));

    assert!(rig.advance_to_send() >= secs(30));
}

#[test]
fn polling_ends_at_the_deadline() {
    let mut rig = Rig::connected();
    let (id, _) = polled(&mut rig, secs(4));

    while rig.is_open(id) {
        rig.advance(secs(1));
        while let Some(get) = rig.sent.pop_front() {
            rig.open(&get);
            rig.end(&get);
        }
    }

    assert_eq!(rig.kind(id), Kind::DeadlinePassed);
    let elapsed = rig.error(id).elapsed;
    assert!(elapsed > secs(590) && elapsed <= secs(600), "{elapsed:?}");
}

#[test]
fn a_retry_beyond_the_deadline_ends_the_call_now_and_says_so() {
    let mut rig = Rig::connected();
    let id = rig.call("deploy");
    let post = rig.post();
    rig.open(&post);
    let forever = Duration::from_millis(u64::MAX);
    rig.retry(&post, "e1", forever);

    rig.end(&post);

    assert_eq!(rig.kind(id), Kind::DeadlinePassed);
    assert_eq!(rig.error(id).retry_after, Some(forever));
}

#[test]
fn a_policy_of_never_still_polls_because_the_server_asked_for_it() {
    let mut rig = Rig::with_policy(RetryPolicy::never());
    rig.connect();
    let (id, post) = polled(&mut rig, millis(200));

    rig.advance_to_send();
    let get = rig.get();
    rig.open(&get);
    rig.event_result(&get, &post, "1");

    assert_eq!(rig.result(id), "1");
}

#[test]
fn a_policy_of_never_makes_one_attempt() {
    let mut rig = Rig::with_policy(RetryPolicy::never());
    rig.connect();
    let id = rig.list();
    let post = rig.post();

    rig.status(&post, 502);

    assert_eq!(rig.kind(id), Kind::Interrupted);
    let id = rig.call("deploy");
    let post = rig.post();
    rig.open(&post);
    rig.event_id(&post, "e1", "");
    rig.end(&post);
    assert_eq!(rig.kind(id), Kind::Exhausted);
}

/// Returns a call whose stream has sent `retry:` and ended.
fn polled(rig: &mut Rig, retry: Duration) -> (ExchangeId, Outgoing) {
    let id = rig.call("deploy");
    let post = rig.post();
    rig.open(&post);
    rig.retry(&post, "e1", retry);
    rig.end(&post);
    (id, post)
}
