//! Where the stateless era differs: no session, no resume, and closing is the cancel.

use ridethrough_core::message::Answer;
use ridethrough_core::{Kind, Version};

use crate::rig::{Rig, method, secs, wire_id};

#[test]
fn a_modern_link_sends_its_first_call_without_a_handshake_or_a_session() {
    let mut rig = Rig::modern();

    rig.call("deploy");

    let post = rig.post();
    assert_eq!(method(&post).as_deref(), Some("tools/call"));
    assert_eq!((post.to.version, post.to.session), (Some(Version::V2026_07_28), None));
    rig.nothing_sent();
}

#[test]
fn a_modern_stream_that_broke_is_lost_whatever_ids_it_had() {
    let mut rig = Rig::modern();
    let id = rig.call("deploy");
    let post = rig.post();
    rig.open(&post);
    rig.retry(&post, "e1", secs(1));

    rig.end(&post);

    assert_eq!(rig.kind(id), Kind::Interrupted);
    rig.nothing_sent();
}

#[test]
fn a_modern_safe_call_is_sent_again_with_a_new_id_and_no_cancellation() {
    let mut rig = Rig::modern();
    let id = rig.list();
    let post = rig.post();
    rig.open(&post);

    rig.reset(&post);
    rig.advance_to_send();

    let again = rig.post();
    assert_eq!(method(&again).as_deref(), Some("tools/list"));
    assert_ne!(wire_id(&again), wire_id(&post));
    rig.reply(&again, "{}");
    assert_eq!(rig.result(id), "{}");
}

#[test]
fn a_modern_cancel_closes_the_stream_and_says_nothing() {
    let mut rig = Rig::modern();
    let id = rig.call("deploy");
    let post = rig.post();
    rig.open(&post);

    rig.cancel(id);

    assert_eq!(rig.kind(id), Kind::Cancelled);
    assert_eq!(rig.aborted, [post.attempt]);
    rig.nothing_sent();
}

#[test]
fn a_modern_silence_is_probed_by_server_discover_and_never_resumed() {
    let mut rig = Rig::modern();
    rig.call("deploy");
    let post = rig.post();
    rig.open(&post);
    rig.event_id(&post, "e1", r#"{"method":"notifications/message"}"#);

    for _ in 0..6 {
        assert_eq!(rig.advance_to_send(), secs(30));
        let probe = rig.post();
        assert_eq!(method(&probe).as_deref(), Some("server/discover"));
        rig.reply(&probe, "{}");
    }

    rig.nothing_sent();
}

#[test]
fn a_modern_404_is_no_lost_session() {
    let mut rig = Rig::modern();
    let id = rig.call("deploy");
    let post = rig.post();

    rig.status(&post, 404);

    assert_eq!(rig.kind(id), Kind::Rejected { status: 404 });
    assert_eq!(rig.handshakes, 0);
}

#[test]
fn the_words_of_a_lost_session_mean_nothing_in_an_era_without_sessions() {
    for is_stream in [false, true] {
        let mut rig = Rig::modern();
        let id = rig.call("deploy");
        let post = rig.post();

        if is_stream {
            rig.open(&post);
            let wire_id = wire_id(&post);
            let text = r#""error":{"code":1,"message":"Session expired"}"#;
            rig.event(&post, &format!(r#"{{"id":{wire_id},{text}}}"#));
        } else {
            rig.refuse(&post, 400, -32000, "Session expired");
        }

        assert!(matches!(rig.finished[&id], Ok(Answer::Error(_))));
        rig.nothing_sent();
    }
}

#[test]
fn a_modern_link_closes_without_a_delete() {
    let mut rig = Rig::modern();
    rig.call("deploy");
    rig.sent.clear();

    rig.close();

    assert!(rig.closed);
    rig.nothing_sent();
}
