//! Row 5 and L3: an answer that speaks of a lost session is checked by a question before a call is repeated.

use ridethrough_core::head::Content;
use ridethrough_core::{Cause, ExchangeId};
use ridethrough_core::{ConnectionId, Delivery, Failure, Kind, Lane, Outgoing, Route};
use ridethrough_wire::message::Answer;

use crate::rig::{Rig, head, method, secs, session, wire_id};

#[test]
fn a_call_is_sent_again_only_after_a_harmless_request_was_refused_likewise() {
    for (status, words) in [(404, ""), (410, ""), (400, "Session not found"), (503, GONE)] {
        let (mut rig, id, question) = doubted(status, words);
        assert_eq!((method(&question).as_deref(), session(&question)), (Some("ping"), Some("s1")));
        assert_eq!(question.lane, Lane::Control);
        rig.nothing_sent();

        rig.answer(&question, status, Content::Other, words);

        let again = rig.call_sent();
        assert_eq!(session(&again), Some("s2"), "{status}");
        rig.reply(&again, "{}");
        assert_eq!(rig.result(id), "{}");
    }
}

#[test]
fn a_session_that_lives_leaves_the_answer_as_it_came() {
    for status in [404, 410, 400, 409, 503] {
        let (mut rig, id, question) = doubted(status, GONE);

        rig.reply(&question, "{}");

        let error = rig.error(id);
        assert!(error.may_have_run(), "{status}");
        assert!(error.to_string().contains(GONE), "{error}");
        assert_eq!(rig.handshakes, 1);
        rig.nothing_sent();
    }
}

#[test]
fn a_question_that_decides_nothing_leaves_an_unsafe_call_in_doubt() {
    for how in 0..6 {
        let (mut rig, id, question) = doubted(404, "");

        match how {
            0 => rig.status(&question, 500),
            1 => rig.status(&question, 503),
            2 => rig.refuse(&question, 200, -32601, "Method not found"),
            3 => rig.challenge(&question),
            4 => {
                rig.reset(&question);
                for _ in 0..2 {
                    let again = rig.post();
                    rig.reset(&again);
                }
            }
            _ => rig.advance(secs(10)),
        }

        assert_eq!(rig.kind(id), Kind::Rejected { status: 404 }, "{how}");
        assert_eq!(rig.error(id).delivery, Delivery::Unknown, "{how}");
        assert_eq!(rig.handshakes, 1, "{how}");
    }
}

#[test]
fn a_refusal_that_breaks_off_is_no_evidence_of_a_lost_session() {
    for status in [404, 410] {
        let mut rig = Rig::connected();
        let id = rig.call("deploy");
        let post = rig.post();
        rig.link.handle_head(rig.now, post.attempt, head(status, Content::Json));

        rig.reset(&post);

        assert_eq!(rig.kind(id), Kind::Rejected { status });
        assert!(rig.error(id).may_have_run());
        rig.nothing_sent();
    }
}

#[test]
fn a_question_that_decides_nothing_sends_a_safe_call_out_in_a_new_session() {
    let mut rig = Rig::connected();
    rig.plays_questions = false;
    let id = rig.list();
    let post = rig.post();
    rig.status(&post, 404);
    let question = rig.post();

    rig.status(&question, 500);

    let again = rig.call_sent();
    assert_eq!(session(&again), Some("s2"));
    rig.reply(&again, "{}");
    assert_eq!(rig.result(id), "{}");
}

#[test]
fn a_question_of_which_nothing_was_sent_is_asked_again() {
    let (mut rig, id, question) = doubted(404, "");

    rig.refuse_connection(&question);
    rig.dial_succeeds();
    let question = rig.post();
    rig.status(&question, 404);

    let again = rig.call_sent();
    rig.reply(&again, "{}");
    assert_eq!(rig.result(id), "{}");
}

#[test]
fn an_error_that_named_the_call_is_confirmed_only_by_the_same_code() {
    let (mut rig, id) = refused(200, -32001, "Session not found");
    let question = rig.post();
    rig.status(&question, 404);
    assert!(matches!(rig.finished[&id], Ok(Answer::Error(_))), "a bare 404 is not likewise");

    let (mut rig, id) = refused(200, -32001, "Session not found");
    let question = rig.post();
    rig.refuse(&question, 404, -32001, "Session not found");
    let again = rig.call_sent();
    assert_eq!(session(&again), Some("s2"));
    rig.reply(&again, "{}");
    assert_eq!(rig.result(id), "{}");
}

#[test]
fn another_5xx_is_never_taken_for_a_lost_session() {
    for status in [500, 501, 502, 504, 520] {
        let mut rig = Rig::connected();
        let id = rig.call("deploy");
        let post = rig.post();

        rig.answer(&post, status, Content::Other, "Session terminated");

        assert!(rig.error(id).may_have_run(), "{status}");
        rig.nothing_sent();
    }
}

#[test]
fn one_question_serves_all_suspects() {
    let mut rig = Rig::connected();
    rig.plays_questions = false;
    let ids: Vec<_> = (0..10).map(|_| rig.call("deploy")).collect();
    let posts: Vec<_> = ids.iter().map(|_| rig.post()).collect();
    for post in &posts {
        rig.status(post, 404);
    }

    let question = rig.post();
    rig.nothing_sent();
    rig.status(&question, 404);

    for _ in &ids {
        let again = rig.call_sent();
        rig.reply(&again, "{}");
    }
    assert!(ids.iter().all(|id| rig.finished[id].is_ok()));
    assert_eq!(rig.handshakes, 2);
}

#[test]
fn the_third_false_alarm_in_a_row_renews_for_later_calls_and_repeats_nothing() {
    let mut rig = Rig::connected();
    rig.plays_questions = false;

    for alarm in 1..=3 {
        let id = rig.call("deploy");
        let post = rig.post();
        assert_eq!(session(&post), Some("s1"), "{alarm}");
        rig.status(&post, 404);
        let question = rig.post();
        rig.reply(&question, "{}");
        assert_eq!(rig.kind(id), Kind::Rejected { status: 404 }, "{alarm}");
        rig.nothing_sent();
    }

    let id = rig.call("deploy");
    let post = rig.call_sent();
    assert_eq!(session(&post), Some("s2"));
    rig.reply(&post, "{}");
    assert_eq!(rig.result(id), "{}");
}

#[test]
fn a_success_between_two_false_alarms_begins_their_count_anew() {
    let mut rig = Rig::connected();
    rig.plays_questions = false;

    for alarm in 0..9 {
        let _ = rig.call("deploy");
        let post = rig.post();
        match alarm % 3 {
            2 => rig.reply(&post, "{}"),
            _ => {
                rig.status(&post, 404);
                let question = rig.post();
                rig.reply(&question, "{}");
            }
        }
    }

    assert_eq!(rig.handshakes, 1);
}

#[test]
fn the_question_is_one_that_the_server_has_answered_before() {
    let mut rig = Rig::connected();
    rig.plays_questions = false;
    let id = rig.request("prompts/list");
    let post = rig.post();
    rig.reply(&post, "{}");
    assert_eq!(rig.result(id), "{}");

    rig.call("deploy");
    let post = rig.post();
    rig.status(&post, 404);
    let question = rig.post();
    assert_eq!(method(&question).as_deref(), Some("prompts/list"));
    rig.reply(&question, "{}");

    let id = rig.request("ping");
    let post = rig.post();
    rig.reply(&post, "{}");
    assert_eq!(rig.result(id), "{}");
    rig.call("deploy");
    let post = rig.post();
    rig.status(&post, 404);
    assert_eq!(method(&rig.post()).as_deref(), Some("ping"));
}

#[test]
fn the_question_goes_out_on_the_connection_that_carried_the_refusal() {
    let mut rig = Rig::connected();
    rig.plays_questions = false;
    rig.call("deploy");
    let post = rig.post();

    lose(&mut rig, &post, ConnectionId::new(7));

    assert_eq!(rig.post().route, Route::Prefer(ConnectionId::new(7)));
}

#[test]
fn a_question_that_meets_silence_is_asked_once_more_on_another_connection() {
    let mut rig = Rig::connected();
    rig.plays_questions = false;
    let id = rig.call("deploy");
    let post = rig.post();
    lose(&mut rig, &post, ConnectionId::new(7));
    rig.post();

    rig.advance(secs(3));

    let again = rig.post();
    let asked = (method(&again), session(&again), again.route);
    let route = Route::Instead(ConnectionId::new(7));
    assert_eq!(asked, (Some("ping".to_owned()), Some("s1"), route));
    rig.advance(secs(7));
    assert_eq!(rig.kind(id), Kind::Rejected { status: 404 });
    rig.nothing_sent();
}

#[test]
fn a_session_that_lives_where_it_was_made_gets_the_call_there_once_more() {
    let (mut rig, id, at_home) = asked_at_home();

    rig.reply(&at_home, "{}");

    let again = rig.call_sent();
    assert_eq!((session(&again), again.route), (Some("s1"), Route::Prefer(HOME)));
    rig.reply(&again, "{}");
    assert_eq!(rig.result(id), "{}");
    assert_eq!(rig.handshakes, 1, "the session was never lost");
}

#[test]
fn a_session_that_is_lost_where_it_was_made_too_is_renewed() {
    for how in 0..3 {
        let (mut rig, id, at_home) = asked_at_home();
        rig.plays_handshake = true;

        match how {
            0 => rig.status(&at_home, 404),
            1 => rig.fail(&at_home, Failure::not_sent(Cause::ConnectionGone)),
            _ => rig.advance(secs(10)),
        }

        let again = rig.call_sent();
        assert_eq!(session(&again), Some("s2"), "{how}");
        rig.reply(&again, "{}");
        assert_eq!(rig.result(id), "{}");
    }
}

/// Worlds of 800 calls found this: the answer about the old session took the refusal of the new one. The new
/// one's own answer then had no effect, and every later call waited for news of a session until its deadline.
#[test]
fn a_session_that_is_left_while_its_maker_is_asked_does_not_silence_the_next_one() {
    let mut rig = Rig::new();
    (rig.plays_handshake, rig.plays_questions) = (false, false);
    rig.call("listen");
    greet(&mut rig, "s1");
    let silent = rig.call_sent();
    rig.open(&silent);
    rig.advance(secs(30));
    let ping = rig.post();
    rig.call("deploy");
    let asked_of_s1 = refused_elsewhere(&mut rig);
    rig.status(&ping, 404);
    rig.call("report");
    greet(&mut rig, "s2");
    let asked_of_s2 = refused_elsewhere(&mut rig);

    rig.status(&asked_of_s1, 404);
    rig.call_sent();
    rig.status(&asked_of_s2, 404);

    greet(&mut rig, "s3");
    assert_eq!(session(&rig.call_sent()), Some("s3"));
}

#[test]
fn a_resume_that_is_refused_is_no_word_about_the_call() {
    let mut rig = Rig::connected();
    let id = rig.call("deploy");
    let post = rig.post();
    rig.open(&post);
    rig.event_id(&post, "e1", "");
    rig.reset(&post);
    rig.advance_to_send();
    let get = rig.get();

    rig.answer(
        &get,
        404,
        Content::Json,
        r#"{"id":null,"error":{"code":-32001,"message":"Session not found"}}"#,
    );

    assert_eq!(rig.kind(id), Kind::Interrupted);
    assert!(rig.error(id).may_have_run());
}

#[test]
fn a_caller_who_gives_up_while_the_session_is_asked_about_is_left_in_doubt() {
    let (mut rig, id, question) = doubted(404, "");

    rig.cancel(id);
    rig.status(&question, 404);

    assert_eq!(rig.kind(id), Kind::Cancelled);
    assert!(rig.error(id).may_have_run());
}

/// Returns a call that was refused in this way, and the question that follows.
fn doubted(status: u16, words: &str) -> (Rig, ExchangeId, Outgoing) {
    let mut rig = Rig::connected();
    rig.plays_questions = false;
    let id = rig.call("deploy");
    let post = rig.post();
    rig.answer(&post, status, Content::Other, words);
    let question = rig.post();
    (rig, id, question)
}

fn refused(status: u16, code: i64, words: &str) -> (Rig, ExchangeId) {
    let mut rig = Rig::connected();
    rig.plays_questions = false;
    let id = rig.call("deploy");
    let post = rig.post();
    rig.refuse(&post, status, code, words);
    (rig, id)
}

/// Returns a call that one replica refused, and the question to the connection that made the session.
fn asked_at_home() -> (Rig, ExchangeId, Outgoing) {
    let mut rig = Rig::new();
    (rig.plays_handshake, rig.plays_questions) = (false, false);
    let id = rig.call("deploy");
    greet(&mut rig, "s1");
    let at_home = refused_elsewhere(&mut rig);
    (rig, id, at_home)
}

/// Makes a session, on the connection that is its home.
fn greet(rig: &mut Rig, session: &str) {
    let initialize = rig.post();
    let mut greeting = head(200, Content::Json);
    greeting.session = ridethrough_core::session::SessionId::new(session);
    greeting.connection = Some(HOME);
    let body =
        format!(r#"{{"id":{},"result":{{"protocolVersion":"2025-11-25"}}}}"#, wire_id(&initialize));
    rig.answer_with(&initialize, greeting, &body);
    let initialized = rig.post();
    rig.status(&initialized, 202);
}

/// Lets another replica refuse the next call and the question after it. Returns the question to the
/// connection that made the session.
fn refused_elsewhere(rig: &mut Rig) -> Outgoing {
    let post = rig.call_sent();
    lose(rig, &post, ELSEWHERE);
    let question = rig.post();
    lose(rig, &question, ELSEWHERE);
    let at_home = rig.post();
    assert_eq!(at_home.route, Route::Only(HOME));
    at_home
}

fn lose(rig: &mut Rig, request: &Outgoing, connection: ConnectionId) {
    let mut head = head(404, Content::Nothing);
    head.connection = Some(connection);
    rig.answer_with(request, head, "");
}

const GONE: &str = "session not found";
const HOME: ConnectionId = ConnectionId::new(1);
const ELSEWHERE: ConnectionId = ConnectionId::new(2);
