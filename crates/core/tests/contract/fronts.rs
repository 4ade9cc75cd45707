//! A server that is itself a front: its result tells that the call may have run.

use ridethrough_core::{Delivery, Event, Kind};

use crate::rig::{Rig, json, secs};

#[test]
fn a_doubt_that_the_server_tells_as_a_result_ends_the_call_in_doubt_with_its_facts() {
    for mut rig in [Rig::connected(), Rig::modern()] {
        let id = rig.call("pay");
        let post = rig.post();

        rig.reply(&post, DOUBT);

        let error = rig.error(id);
        assert_eq!((error.kind, error.delivery), (Kind::Interrupted, Delivery::Unknown));
        assert_eq!((error.attempts, error.elapsed, error.retry_after), (3, secs(2), Some(secs(7))));
        assert_eq!((error.status.unwrap().as_u16(), error.said.as_deref()), (502, Some("no way")));
        assert!(!error.is_repeatable);
        let ended = rig.told.iter().rev().find_map(|event| match event {
            Event::CallEnded { kind, delivery, .. } => Some((*kind, *delivery)),
            _ => None,
        });
        assert_eq!(ended, Some((Some(Kind::Interrupted), Delivery::Unknown)));
        rig.nothing_sent();
    }
}

/// The server has answered: whatever is wrong is behind it.
#[test]
fn doubts_that_the_server_tells_never_open_the_breaker() {
    let mut rig = Rig::connected();
    for _ in 0..20 {
        let id = rig.call("pay");
        let post = rig.post();
        rig.reply(&post, DOUBT);
        assert_eq!(rig.kind(id), Kind::Interrupted);
    }

    let id = rig.call("pay");

    let post = rig.post();
    rig.reply(&post, "{}");
    assert_eq!(rig.result(id), "{}");
}

#[test]
fn the_key_of_a_doubt_means_nothing_in_the_result_of_another_method() {
    let mut rig = Rig::connected();
    let id = rig.request("prompts/get");
    let post = rig.post();

    rig.reply(&post, DOUBT);

    assert_eq!(json(rig.result(id)), json(DOUBT));
}

const DOUBT: &str = r#"{"content":[{"type":"text","text":"?"}],"isError":true,"_meta":{"ridethrough/doubt":{
    "kind":"interrupted","status":502,"mayHaveRun":true,"attempts":3,"handshakes":0,"elapsedMs":2000,
    "retryAfterMs":7000,"said":"no way"}}}"#;
