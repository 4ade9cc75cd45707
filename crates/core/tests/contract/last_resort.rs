//! L20: a server that refuses `initialize` may be one of 2024-11-05, which speaks HTTP+SSE.

use ridethrough_core::head::Content;
use ridethrough_core::{
    CallOptions, Carrier, Delivery, Era, Eras, Event, Kind, Outgoing, ReplayRule, RetryPolicy,
    Verb, Version,
};

use crate::rig::{Rig, method, secs, session};

#[test]
fn a_server_that_refuses_initialize_is_spoken_to_by_http_sse() {
    for status in [400, 404, 405, 406, 415] {
        let mut rig = old();
        let id = rig.call("deploy");
        let initialize = rig.post();
        assert_eq!(initialize.to.carrier, Carrier::StreamableHttp);

        rig.status(&initialize, status);
        let by_stream = rig.post();
        assert_eq!(method(&by_stream).as_deref(), Some("initialize"), "{status}");
        assert_eq!((by_stream.to.carrier, session(&by_stream)), (Carrier::HttpSse, None));
        accept(&mut rig, &by_stream, "1");

        let call = rig.post();
        assert_eq!((call.to.carrier, session(&call)), (Carrier::HttpSse, Some("1")));
        rig.reply(&call, "{}");
        assert_eq!((rig.result(id), fallbacks(&rig)), ("{}", 1), "{status}");
    }
}

#[test]
fn a_link_that_asks_for_the_era_finds_an_old_server_too() {
    let mut rig = old_with(Eras::Either);
    rig.call("deploy");

    let question = rig.post();
    rig.status(&question, 405);
    let initialize = rig.post();
    rig.status(&initialize, 405);

    assert_eq!(rig.post().to.carrier, Carrier::HttpSse);
}

#[test]
fn when_the_stream_is_refused_too_the_first_refusal_counts() {
    let mut rig = old();
    let id = rig.call("deploy");
    let initialize = rig.post();
    rig.status(&initialize, 405);
    let by_stream = rig.post();
    rig.status(&by_stream, 404);

    assert_eq!(rig.kind(id), Kind::Rejected { status: 405 });
    assert_eq!((rig.error(id).delivery, fallbacks(&rig)), (Delivery::NotSent, 0));

    // Where there never was a session, a 404 is as final.
    let id = rig.call("deploy");
    let initialize = rig.post();
    rig.status(&initialize, 404);
    let by_stream = rig.post();
    rig.status(&by_stream, 405);
    assert_eq!(rig.kind(id), Kind::Rejected { status: 404 });
    rig.advance(secs(60));
    rig.nothing_sent();
}

#[test]
fn guards_limits_trouble_and_modern_words_never_lead_to_http_sse() {
    for status in [401, 403, 407, 408, 425, 429, 500, 502, 503, 504] {
        let mut rig = old();
        rig.call("deploy");
        let initialize = rig.post();
        rig.status(&initialize, status);
        rig.advance(secs(9));

        assert!(rig.sent.iter().all(|it| it.to.carrier == Carrier::StreamableHttp), "{status}");
    }
    for (status, code, words) in [
        (404, -32601, "Method not found"),
        (400, -32602, "Unsupported protocol version"),
        (400, -32020, "Mismatch"),
        (400, -32022, "Unsupported"),
        (404, -32001, "Session not found"),
        (200, -32000, "no"),
    ] {
        let mut rig = old();
        rig.call("deploy");
        let initialize = rig.post();
        rig.refuse(&initialize, status, code, words);
        rig.advance(secs(9));

        let is_old = |it: &Outgoing| it.to.carrier == Carrier::HttpSse;
        assert!(!rig.sent.iter().any(is_old), "{status} {code}");
    }
}

#[test]
fn a_link_whose_transport_cannot_carry_http_sse_does_not_try() {
    let mut rig = Rig::new();
    rig.plays_handshake = false;
    let id = rig.call("deploy");
    let initialize = rig.post();

    rig.status(&initialize, 405);

    assert_eq!(rig.kind(id), Kind::Rejected { status: 405 });
    rig.nothing_sent();
}

#[test]
fn a_link_that_is_pinned_to_the_stateless_era_never_falls_back() {
    let mut rig = old_with(Era::Modern);
    let id = rig.call("deploy");
    let call = rig.post();

    rig.status(&call, 405);

    assert_eq!(rig.kind(id), Kind::Rejected { status: 405 });
    rig.nothing_sent();
}

#[test]
fn http_sse_is_remembered_for_an_hour() {
    let mut rig = old();
    fall_back(&mut rig);

    lose_session(&mut rig);
    let again = rig.post();
    assert_eq!(again.to.carrier, Carrier::HttpSse);
    accept(&mut rig, &again, "2");
    let call = rig.post();
    rig.reply(&call, "{}");
    assert_eq!(fallbacks(&rig), 1, "it is told when it is found");

    rig.advance(secs(3601));
    lose_session(&mut rig);
    assert_eq!(rig.post().to.carrier, Carrier::StreamableHttp);
}

#[test]
fn a_server_that_refuses_the_stream_later_is_asked_as_if_it_had_never_been_met() {
    let mut rig = old();
    fall_back(&mut rig);
    lose_session(&mut rig);
    let again = rig.post();

    rig.status(&again, 405);

    let initialize = rig.post();
    assert_eq!(initialize.to.carrier, Carrier::StreamableHttp);
    rig.accept_initialize(&initialize, "s1");
    rig.pump();
    let initialized = rig.post();
    rig.status(&initialized, 202);
    assert_eq!(rig.post().to.carrier, Carrier::StreamableHttp);
}

#[test]
fn a_stream_that_is_refused_for_want_of_a_session_is_refused() {
    let mut rig = old();
    let id = rig.call("deploy");
    let initialize = rig.post();
    rig.status(&initialize, 406);
    let by_stream = rig.post();

    rig.answer(&by_stream, 400, Content::Other, "Bad Request: Mcp-Session-Id header is required");

    assert_eq!(rig.kind(id), Kind::Rejected { status: 406 });
}

#[test]
fn trouble_on_the_stream_is_waited_out_and_a_challenge_is_answered() {
    let mut rig = old();
    rig.call("deploy");
    let initialize = rig.post();
    rig.status(&initialize, 405);

    let by_stream = rig.post();
    rig.status(&by_stream, 503);
    rig.advance_to_send();
    let by_stream = rig.post();
    assert_eq!(by_stream.to.carrier, Carrier::HttpSse);
    rig.challenge(&by_stream);
    rig.bring_credentials(Ok(()));

    assert_eq!(rig.post().to.carrier, Carrier::HttpSse);
}

#[test]
fn an_old_server_that_answers_by_an_error_is_incompatible_and_not_asked_for_ever() {
    let mut rig = old_with(Eras::Either);
    let id = rig.call("deploy");
    let question = rig.post();
    rig.status(&question, 405);
    let initialize = rig.post();
    rig.status(&initialize, 405);
    let by_stream = rig.post();

    rig.refuse(&by_stream, 200, -32601, "Method not found");

    assert_eq!((rig.kind(id), fallbacks(&rig)), (Kind::Incompatible, 0));
    rig.nothing_sent();
}

#[test]
fn a_dead_stream_is_left_for_a_new_one() {
    let mut rig = old();
    fall_back(&mut rig);
    let replay = ReplayRule::Repeatable;
    let id = rig.call_with("look", CallOptions { replay, ..CallOptions::default() });
    let call = rig.post();
    rig.open(&call);

    rig.advance(secs(135));

    assert!(rig.told.iter().any(|it| matches!(it, Event::SessionLost { .. })));
    let again = rig.sent.pop_back().unwrap();
    assert_eq!(method(&again).as_deref(), Some("initialize"));
    assert_eq!(again.to.carrier, Carrier::HttpSse);
    assert!(rig.is_open(id), "it is sent again on the new stream");
}

#[test]
fn a_late_answer_to_an_abandoned_stream_ends_that_stream() {
    let mut rig = old();
    rig.call("deploy");
    let initialize = rig.post();
    rig.status(&initialize, 405);
    let by_stream = rig.post();
    rig.advance(secs(14));
    rig.call("deploy");
    rig.advance(secs(2));
    rig.post();

    rig.accept_initialize(&by_stream, "1");
    rig.pump();

    let delete = rig.next();
    assert_eq!((&delete.verb, session(&delete)), (&Verb::Delete, Some("1")));
    assert_eq!(delete.to.carrier, Carrier::HttpSse);
}

#[test]
fn a_server_may_agree_on_2024_11_05_by_any_way() {
    let mut rig = Rig::new();
    rig.plays_handshake = false;
    let id = rig.call("deploy");
    let initialize = rig.post();

    rig.reply(&initialize, r#"{"protocolVersion":"2024-11-05"}"#);
    let initialized = rig.post();
    rig.status(&initialized, 202);

    let call = rig.post();
    assert_eq!((call.to.version, call.to.carrier), (None, Carrier::StreamableHttp));
    rig.reply(&call, "{}");
    assert_eq!(rig.result(id), "{}");
    let version = rig.told.iter().find_map(|it| match it {
        Event::SessionReady { version, .. } => Some(*version),
        _ => None,
    });
    assert_eq!(version, Some(Version::V2024_11_05));
}

/// Returns a link whose transport carries HTTP+SSE; the test answers the handshakes.
fn old() -> Rig {
    old_with(Era::Legacy)
}

fn old_with(eras: impl Into<Eras>) -> Rig {
    let mut rig = Rig::with(eras, RetryPolicy::default());
    rig.plays_handshake = false;
    rig.link.speak_http_sse();
    rig
}

/// Accepts a handshake up to its end.
fn accept(rig: &mut Rig, initialize: &Outgoing, session: &str) {
    rig.accept_initialize(initialize, session);
    rig.pump();
    let initialized = rig.post();
    assert_eq!(initialized.to.carrier, Carrier::HttpSse);
    rig.answer(&initialized, 202, Content::Nothing, "");
}

/// Makes one call over HTTP+SSE.
fn fall_back(rig: &mut Rig) {
    rig.call("deploy");
    let initialize = rig.post();
    rig.status(&initialize, 405);
    let by_stream = rig.post();
    accept(rig, &by_stream, "1");
    let call = rig.post();
    rig.reply(&call, "{}");
}

/// Makes a call and refuses its session.
fn lose_session(rig: &mut Rig) {
    rig.call("deploy");
    let call = rig.post();
    rig.status(&call, 404);
}

fn fallbacks(rig: &Rig) -> usize {
    let is_it = |it: &&Event| matches!(it, Event::FellBack { to: Carrier::HttpSse });
    rig.told.iter().filter(is_it).count()
}
