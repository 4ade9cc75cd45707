//! Rule E5's guess: a session that was made without evidence, and turns out to be unwanted.

use ridethrough_core::head::Content;
use ridethrough_core::session::SessionId;
use ridethrough_core::{Era, Eras, Kind, Outgoing, RetryPolicy, Verb};

use crate::rig::{Rig, head, method, secs, session, wire_id};

#[test]
fn a_session_that_was_guessed_is_deleted_once_the_server_is_known_to_be_stateless() {
    let mut rig = guessed();
    let id = rig.call("deploy");
    let call = rig.post();
    assert_eq!(session(&call), Some("s1"));

    of_the_other_era(&mut rig, &call);
    let question = rig.post();
    rig.reply(&question, r#"{"resultType":"complete","supportedVersions":["2026-07-28"]}"#);

    let delete = rig.next();
    assert_eq!((&delete.verb, session(&delete)), (&Verb::Delete, Some("s1")));
    let again = rig.post();
    assert_eq!(session(&again), None);
    rig.reply(&again, "{}");
    assert_eq!(rig.result(id), "{}");
    assert_eq!(rig.link.status(rig.now).era, Era::Modern);
}

#[test]
fn a_guessed_session_is_deleted_however_long_ago_it_was_guessed() {
    let mut rig = guessed();
    rig.advance(secs(600));
    rig.call("deploy");
    let call = rig.post();

    of_the_other_era(&mut rig, &call);
    let question = rig.post();
    rig.reply(&question, r#"{"resultType":"complete","supportedVersions":["2026-07-28"]}"#);

    let delete = rig.next();
    assert_eq!((&delete.verb, session(&delete)), (&Verb::Delete, Some("s1")));
}

/// A server that was found to have sessions and was upgraded since has no session left to delete.
#[test]
fn a_session_that_was_made_on_evidence_is_left_to_a_server_that_was_upgraded() {
    let mut rig = Rig::with(Eras::Either, RetryPolicy::default());
    rig.call("deploy");
    let question = rig.post();
    rig.refuse(&question, 404, -32601, "Method not found");
    let call = rig.post();

    of_the_other_era(&mut rig, &call);
    let question = rig.post();
    rig.reply(&question, r#"{"resultType":"complete","supportedVersions":["2026-07-28"]}"#);

    rig.post();
    rig.nothing_sent();
}

/// The server has said that it does not know the session: there is nothing to delete.
#[test]
fn a_guessed_session_that_the_server_lost_is_not_deleted() {
    let mut rig = guessed();
    let id = rig.call("deploy");
    let call = rig.post();

    rig.status(&call, 404);

    let again = rig.post();
    assert_eq!((method(&again).as_deref(), session(&again)), (Some("tools/call"), Some("s2")));
    rig.nothing_sent();
    rig.reply(&again, "{}");
    assert_eq!(rig.result(id), "{}");
}

/// The server would end the call together with the session.
#[test]
fn a_guessed_session_that_owes_a_call_its_answer_is_left_alone() {
    let mut rig = guessed();
    let running = rig.call("build");
    let build = rig.post();
    rig.open(&build);
    rig.call("deploy");
    let call = rig.post();

    of_the_other_era(&mut rig, &call);
    let question = rig.post();
    rig.reply(&question, r#"{"resultType":"complete","supportedVersions":["2026-07-28"]}"#);

    rig.post();
    rig.nothing_sent();
    rig.event_result(&build, &build, "{}");
    assert_eq!(rig.result(running), "{}");
}

#[test]
fn a_session_in_a_revision_that_nobody_here_speaks_is_deleted() {
    for eras in [Eras::Only(Era::Legacy), Eras::Either] {
        let mut rig = Rig::with(eras, RetryPolicy::default());
        rig.plays_handshake = false;
        let id = rig.call("deploy");
        if eras == Eras::Either {
            let question = rig.post();
            rig.refuse(&question, 404, -32601, "Method not found");
        }
        let initialize = rig.post();

        let mut answer = head(200, Content::Json);
        answer.session = SessionId::new("s1");
        let wire_id = wire_id(&initialize);
        let body = format!(
            r#"{{"jsonrpc":"2.0","id":{wire_id},"result":{{"protocolVersion":"2031-01-01"}}}}"#
        );
        rig.answer_with(&initialize, answer, &body);

        assert_eq!(rig.kind(id), Kind::Incompatible, "{eras:?}");
        let delete = rig.next();
        assert_eq!((&delete.verb, session(&delete)), (&Verb::Delete, Some("s1")), "{eras:?}");
    }
}

/// Returns a link that got useless answers, and has made a session without knowing the era.
fn guessed() -> Rig {
    let mut rig = Rig::with(Eras::Either, RetryPolicy::default());
    let id = rig.call("deploy");
    while rig.handshakes == 0 {
        let question = rig.post();
        rig.status(&question, 500);
        rig.advance_to_send_or_handshake();
    }
    let call = rig.call_sent();
    rig.reply(&call, "{}");
    assert_eq!(rig.result(id), "{}");
    rig.nothing_sent();
    rig
}

/// Refuses a request of a session as only a stateless server does.
fn of_the_other_era(rig: &mut Rig, request: &Outgoing) {
    let wire_id = wire_id(request);
    let body = format!(
        r#"{{"jsonrpc":"2.0","id":{wire_id},"error":{{"code":-32022,"message":"unsupported","data":{{"supported":["2026-07-28"]}}}}}}"#
    );
    rig.answer(request, 400, Content::Json, &body);
}
