//! Closing, and the status that an operator can see.

use ridethrough_core::breaker::BreakerState;
use ridethrough_core::{Cause, Delivery, Era, Failure, Kind, Reason, Verb, Version, WaitingFor};

use crate::rig::{Rig, head, method, secs, session};

#[test]
fn closing_ends_every_exchange_once_and_deletes_the_session() {
    let mut rig = Rig::connected();
    let ids = [rig.call("one"), rig.list()];
    rig.sent.clear();

    rig.close();

    for id in ids {
        assert_eq!(rig.kind(id), Kind::Closed);
        assert_eq!(rig.error(id).delivery, Delivery::Unknown, "it was out");
    }
    let delete = rig.next();
    assert_eq!((&delete.verb, session(&delete)), (&Verb::Delete, Some("s1")));
    assert_eq!(delete.to.version, Some(Version::V2025_11_25));
    assert!(!rig.closed);
    rig.link.handle_head(
        rig.now,
        delete.attempt,
        head(200, ridethrough_core::head::Content::Nothing),
    );
    rig.pump();
    assert!(rig.closed);
    assert_eq!(rig.link.poll_timeout(), None);
}

#[test]
fn closing_waits_at_most_5_s_for_the_delete() {
    let mut rig = Rig::connected();

    rig.close();
    rig.advance(secs(4));
    assert!(!rig.closed);
    rig.advance(secs(1));

    assert!(rig.closed);
}

#[test]
fn closing_during_a_handshake_waits_at_most_5_s_and_deletes_what_comes_of_it() {
    let mut rig = Rig::new();
    rig.plays_handshake = false;
    let id = rig.call("deploy");
    let initialize = rig.post();

    rig.close();
    assert_eq!(rig.kind(id), Kind::Closed);
    assert!(!rig.closed);
    rig.accept_initialize(&initialize, "late");
    rig.pump();

    let delete = rig.next();
    assert_eq!((&delete.verb, session(&delete)), (&Verb::Delete, Some("late")));
    rig.advance(secs(5));
    assert!(rig.closed);
}

#[test]
fn the_server_hears_which_calls_are_not_wanted_before_its_session_is_deleted() {
    let mut rig = Rig::connected();
    let id = rig.call("slow");
    let post = rig.post();
    rig.open(&post);

    // An application that ends drops its calls and closes at once.
    rig.link.cancel(rig.now, id);
    rig.close();

    let cancelled = rig.post();
    assert_eq!(method(&cancelled).as_deref(), Some("notifications/cancelled"));
    assert!(!rig.aborted.contains(&cancelled.attempt));
    rig.nothing_sent();
    rig.status(&cancelled, 202);
    let delete = rig.next();
    assert_eq!((&delete.verb, session(&delete)), (&Verb::Delete, Some("s1")));
    rig.status(&delete, 200);
    assert!(rig.closed);
}

#[test]
fn a_server_that_does_not_care_which_calls_are_not_wanted_holds_up_the_end_for_a_moment_only() {
    let mut rig = Rig::connected();
    let ids = [rig.call("one"), rig.call("two"), rig.call("three")];
    for _ in ids {
        let post = rig.post();
        rig.open(&post);
    }
    ids.into_iter().for_each(|id| rig.link.cancel(rig.now, id));
    rig.close();
    let told = [rig.post(), rig.post(), rig.post()];

    rig.status(&told[0], 404);
    rig.reset(&told[1]);
    rig.nothing_sent();
    rig.advance(secs(1) / 4);

    assert!(rig.aborted.contains(&told[2].attempt));
    assert_eq!(rig.next().verb, Verb::Delete);
    assert!(!rig.closed && rig.handshakes == 1 && rig.dials.is_empty());
}

#[test]
fn a_loss_that_arrives_while_closing_is_closed() {
    let mut rig = Rig::connected();
    let id = rig.call("deploy");
    let post = rig.post();

    rig.close();
    rig.status(&post, 404);

    assert_eq!(rig.kind(id), Kind::Closed);
    assert_eq!(rig.handshakes, 1);
}

#[test]
fn calls_that_wait_in_line_are_not_sent_by_closing() {
    let policy = ridethrough_core::RetryPolicy::default().builder().in_flight(1).build().unwrap();
    let mut rig = Rig::with_policy(policy);
    rig.connect();
    let ids: Vec<_> = (0..5).map(|_| rig.call("deploy")).collect();
    rig.sent.clear();

    rig.close();

    assert!(ids.iter().all(|id| rig.kind(*id) == Kind::Closed));
    assert!(rig.sent.iter().all(|it| it.verb == Verb::Delete), "{:?}", rig.sent);
}

#[test]
fn nothing_is_dialed_after_closing() {
    let mut rig = Rig::connected();
    rig.link.keep_connected(rig.now);
    rig.close();
    let delete = rig.next();

    rig.refuse_connection(&delete);

    assert!(rig.dials.is_empty());
    assert!(rig.closed);
}

#[test]
fn a_closed_link_refuses_everything_at_once() {
    let mut rig = Rig::connected();
    rig.close();
    rig.advance(secs(5));
    rig.sent.clear();

    let call = rig.call("deploy");
    let connect = rig.link.connect(rig.now, None);
    let notice = rig.link.notify(rig.now, "notifications/x", None);
    rig.pump();

    assert_eq!((rig.kind(call), rig.kind(connect)), (Kind::Closed, Kind::Closed));
    assert!(rig.noticed[&notice].is_err());
    rig.nothing_sent();
}

#[test]
fn status_tells_where_the_link_stands_and_what_it_waits_for() {
    let mut rig = Rig::new();
    assert_eq!(rig.link.status(rig.now).generation, None);
    rig.connect();
    let id = rig.call("deploy");
    let post = rig.post();
    rig.open(&post);
    rig.event_id(&post, "e1", "");
    rig.reset(&post);

    let status = rig.link.status(rig.now);

    assert!(status.generation.is_some());
    assert_eq!((status.era, status.version), (Era::Legacy, Some(Version::V2025_11_25)));
    assert_eq!((status.breaker, status.in_flight, status.calls), (BreakerState::Closed, 1, 1));
    assert!(matches!(status.last_failure, Some((at, Reason::Transport(_))) if at == rig.now));
    assert!(matches!(status.waiting, Some((_, WaitingFor::Backoff(waits))) if waits == id));
}

#[test]
fn status_tells_since_when_there_is_a_session_and_when_the_next_attempt_is_due() {
    let mut rig = Rig::new();
    rig.advance(secs(3));
    rig.connect();
    let began = rig.now;
    rig.advance(secs(2));
    let healthy = rig.link.status(rig.now);
    assert_eq!(healthy.session_since, Some(began));
    assert_eq!((healthy.outage_since, healthy.next_attempt), (None, None));

    rig.call("deploy");
    let post = rig.post();
    let out = rig.link.status(rig.now);
    assert_eq!((out.calls, out.calls_waiting), (1, 0));
    rig.refuse_connection(&post);
    let dial = rig.dials.pop_front().unwrap();
    let lost = rig.now;
    rig.advance(secs(1));
    let failure = Failure::not_sent(Cause::ConnectRefused);
    rig.link.handle_connect(rig.now, dial, Err(failure));
    rig.pump();

    let down = rig.link.status(rig.now);
    assert_eq!((down.outage_since, down.session_since), (Some(lost), Some(began)));
    assert_eq!((down.calls, down.calls_waiting), (1, 1));
    let next = down.next_attempt.unwrap();
    assert!(next > rig.now);
    rig.advance(next.since(rig.now));
    assert_eq!(rig.dials.len(), 1, "it is when it was said to be");
}

#[test]
fn status_tells_when_a_handshake_is_tried_again() {
    let mut rig = Rig::new();
    rig.plays_handshake = false;
    rig.call("deploy");
    let initialize = rig.post();

    rig.status(&initialize, 503);

    let next = rig.link.status(rig.now).next_attempt.unwrap();
    rig.nothing_sent();
    rig.advance(next.since(rig.now));
    rig.post();
}

#[test]
fn connect_answers_with_the_whole_result_of_initialize() {
    let mut rig = Rig::new();

    let id = rig.link.connect(rig.now, None);
    rig.pump();

    assert!(rig.result(id).contains(r#""serverInfo":{"name":"model""#));
}
