//! L16: a link that prefers sessions has one wherever the server gives it, and works without one elsewhere.

use ridethrough_core::head::Content;
use ridethrough_core::{Era, Eras, Event, Outgoing, RetryPolicy};

use crate::rig::{Rig, method, secs, session, wire_id};

#[test]
fn a_link_that_prefers_sessions_asks_for_one_before_it_asks_for_the_era() {
    let mut rig = sessions_first();
    // The era found for a server that speaks both is no reason to do without a session.
    rig.link.remember_era(rig.now, Era::Modern, secs(10));
    let id = rig.call("deploy");

    let call = rig.post();
    assert_eq!((method(&call).as_deref(), session(&call)), (Some("tools/call"), Some("s1")));
    rig.reply(&call, "1");

    assert_eq!((rig.result(id), rig.handshakes), ("1", 1));
    assert_eq!(rig.link.status(rig.now).era, Era::Legacy);
    assert!(!rig.told.contains(&Event::EraDowngraded), "it was our choice");
    assert_eq!(found(&rig), [], "and says nothing of what the server is");
}

#[test]
fn a_server_without_sessions_is_asked_for_its_era_however_it_refuses_one() {
    for refusal in 0..6 {
        let mut rig = sessions_first();
        rig.plays_handshake = false;
        let id = rig.call("deploy");
        let initialize = rig.post();
        assert_eq!(method(&initialize).as_deref(), Some("initialize"));

        match refusal {
            0 => rig.refuse(&initialize, 404, -32601, "Method not found"),
            1 => rig.refuse(&initialize, 200, -32601, "Method not found"),
            2 => unsupported(&mut rig, &initialize),
            3 => rig.refuse(&initialize, 400, -32020, "Mcp-Method is missing"),
            4 => rig.status(&initialize, 405),
            _ => rig.reply(&initialize, r#"{"protocolVersion":"2026-07-28","capabilities":{}}"#),
        }

        let question = rig.post();
        assert_eq!(method(&question).as_deref(), Some("server/discover"), "{refusal}");
        modern(&mut rig, &question);
        let call = rig.post();
        rig.reply(&call, "1");
        assert_eq!((rig.result(id), found(&rig)), ("1", vec![Era::Modern]), "{refusal}");
        // The server is not asked for a session again.
        rig.call("deploy");
        assert_eq!(method(&rig.post()).as_deref(), Some("tools/call"), "{refusal}");
    }
}

#[test]
fn a_lost_session_is_followed_by_another_where_sessions_are_preferred() {
    let mut rig = sessions_first();
    rig.call("deploy");
    let call = rig.post();

    rig.refuse(&call, 404, -32001, "Session not found");

    assert_eq!((session(&rig.post()), rig.handshakes), (Some("s2"), 2));
    assert_eq!(found(&rig), []);
}

#[test]
fn trouble_with_a_session_that_is_preferred_is_no_reason_to_do_without() {
    let mut rig = sessions_first();
    rig.plays_handshake = false;
    rig.call("deploy");

    for trouble in 0..4 {
        let initialize = rig.post();
        assert_eq!(method(&initialize).as_deref(), Some("initialize"), "{trouble}");
        match trouble {
            0 => rig.status(&initialize, 503),
            1 => rig.status(&initialize, 500),
            2 => rig.busy(&initialize, 429, secs(1)),
            _ => rig.reset(&initialize),
        }
        rig.advance_to_send();
    }

    assert_eq!(method(&rig.post()).as_deref(), Some("initialize"));
}

#[test]
fn a_server_that_has_neither_a_session_nor_an_era_is_not_asked_for_ever() {
    let mut rig = sessions_first();
    rig.plays_handshake = false;
    let id = rig.call("deploy");

    while rig.is_open(id) {
        let request = rig.post();
        rig.refuse(&request, 400, -32600, "no");
    }

    assert!(rig.requests <= 4, "{}", rig.requests);
}

#[test]
fn a_link_that_is_pinned_keeps_to_its_era_whatever_is_preferred() {
    let mut rig = Rig::with(Era::Modern, RetryPolicy::default());
    rig.link.prefer_era(Era::Legacy);

    rig.call("deploy");

    assert_eq!((method(&rig.post()).as_deref(), rig.handshakes), (Some("tools/call"), 0));
}

fn sessions_first() -> Rig {
    let mut rig = Rig::with(Eras::Either, RetryPolicy::default());
    rig.link.prefer_era(Era::Legacy);
    rig
}

fn modern(rig: &mut Rig, question: &Outgoing) {
    rig.reply(question, r#"{"resultType":"complete","supportedVersions":["2026-07-28"]}"#);
}

/// Refuses the revision, and names the stateless one.
fn unsupported(rig: &mut Rig, request: &Outgoing) {
    let id = wire_id(request);
    let body = format!(
        r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-32022,"message":"unsupported","data":{{"supported":["2026-07-28"]}}}}}}"#
    );
    rig.answer(request, 400, Content::Json, &body);
}

/// Returns the eras that were found, in order.
fn found(rig: &Rig) -> Vec<Era> {
    let era = |event: &Event| match event {
        Event::EraFound { era } => Some(*era),
        _ => None,
    };
    rig.told.iter().filter_map(era).collect()
}
