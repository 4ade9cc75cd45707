//! Notices: answers to the server, cancellations, notifications of the application.

use ridethrough_core::{
    Cause, Delivered, Delivery, ExchangeId, Failure, Kind, NoticeId, Outgoing, QuestionId,
};
use ridethrough_wire::message::Answer;

use crate::rig::{Rig, body, json, method, secs, session};

#[test]
fn a_question_is_answered_to_the_session_that_asked() {
    let (mut rig, _, _, question) = asked();

    rig.link.answer(rig.now, question, &Answer::Result(json(r#"{"roots":[]}"#)));
    rig.pump();

    let answer = rig.post();
    assert_eq!(body(&answer), r#"{"jsonrpc":"2.0","id":"q","result":{"roots":[]}}"#);
    assert_eq!(session(&answer), Some("s1"));
}

#[test]
fn an_answer_is_repeated_until_the_server_takes_it() {
    let (mut rig, _, _, question) = asked();
    rig.link.answer(rig.now, question, &Answer::Result(json("1")));
    rig.pump();

    for status in [503, 502, 429] {
        let answer = rig.post();
        rig.status(&answer, status);
        rig.advance_to_send();
    }
    let answer = rig.post();
    rig.reset(&answer);
    rig.advance_to_send();
    let answer = rig.post();
    rig.status(&answer, 202);
    rig.advance(secs(20));

    rig.nothing_sent();
}

#[test]
fn an_answer_that_is_refused_for_its_credentials_is_repeated_with_better_ones() {
    let (mut rig, _, _, question) = asked();
    rig.link.answer(rig.now, question, &Answer::Result(json("1")));
    rig.pump();
    let answer = rig.post();

    rig.challenge(&answer);
    rig.advance(secs(20));
    rig.nothing_sent();
    rig.bring_credentials(Ok(()));

    assert!(rig.post().credentials > answer.credentials);
}

#[test]
fn an_answer_is_dropped_and_its_handler_stopped_when_the_exchange_ends() {
    let (mut rig, _, post, question) = asked();
    rig.event_result(&post, &post, "1");
    assert!(rig.delivered.contains(&Delivered::Withdrawn { question }));

    rig.link.answer(rig.now, question, &Answer::Result(json("1")));
    rig.pump();

    rig.nothing_sent();

    let (mut rig, _, post, question) = asked();
    rig.link.answer(rig.now, question, &Answer::Result(json("1")));
    rig.pump();
    let answer = rig.post();
    rig.status(&answer, 503);
    rig.event_result(&post, &post, "1");
    rig.advance(secs(25));
    rig.nothing_sent();
}

#[test]
fn an_answer_that_meets_a_fault_that_lasts_ends_and_leaves_nothing_behind() {
    let mut rig = Rig::connected();
    rig.call("deploy");
    let post = rig.post();
    rig.open(&post);
    rig.event(&post, r#"{"id":"q","method":"ping"}"#);
    let answer = rig.post();

    rig.fail(&answer, Failure::not_sent(Cause::BadCertificate));
    rig.advance(secs(60));

    assert!(rig.sent.iter().all(|it| !body(it).contains(r#""id":"q""#)), "it is not sent for ever");
}

#[test]
fn an_answer_is_dropped_when_its_generation_ends() {
    let (mut rig, _, _, question) = asked();
    let other = rig.call("other");
    let post = rig.post();
    rig.status(&post, 404);
    let again = rig.post();
    rig.reply(&again, "{}");
    assert_eq!(rig.result(other), "{}");

    rig.link.answer(rig.now, question, &Answer::Result(json("1")));
    rig.pump();

    rig.nothing_sent();
}

#[test]
fn a_late_404_of_a_notification_changes_nothing_in_a_newer_session() {
    let mut rig = Rig::connected();
    rig.link.notify(rig.now, "notifications/x", None);
    rig.call("deploy");
    rig.pump();
    let (notice, post) = (rig.post(), rig.post());
    rig.status(&post, 404);
    rig.post();

    rig.status(&notice, 404);

    assert_eq!(rig.handshakes, 2);
    rig.call("deploy");
    assert_eq!(session(&rig.post()), Some("s2"));
}

#[test]
fn a_notification_ends_with_its_patience_however_often_it_could_not_be_sent() {
    let mut rig = Rig::connected();
    let notice = rig.link.notify(rig.now, "notifications/x", None);
    rig.pump();

    while !rig.noticed.contains_key(&notice) {
        assert!(rig.now.elapsed() < secs(60), "its patience starts anew with each send");
        while let Some(post) = rig.sent.pop_front() {
            rig.refuse_connection(&post);
        }
        while !rig.dials.is_empty() {
            rig.dial_succeeds();
        }
        rig.advance(crate::rig::millis(50));
    }

    assert_eq!(rig.noticed[&notice].as_ref().unwrap_err().kind, Kind::Unreachable);
}

#[test]
fn a_hint_beyond_the_patience_of_a_notification_ends_it_now() {
    let mut rig = Rig::connected();
    let notice = rig.link.notify(rig.now, "notifications/x", None);
    rig.pump();
    let post = rig.post();

    rig.busy(&post, 429, secs(3600));

    let error = rig.noticed[&notice].as_ref().unwrap_err();
    assert_eq!((error.kind, error.retry_after), (Kind::Rejected { status: 429 }, Some(secs(3600))));
}

#[test]
fn a_notification_without_a_session_keeps_the_connect_loop_going() {
    let mut rig = Rig::new();
    rig.plays_handshake = false;
    rig.link.notify(rig.now, "notifications/x", None);
    rig.pump();
    let initialize = rig.post();

    rig.refuse_connection(&initialize);

    assert_eq!(rig.dials.len(), 1);
}

#[test]
fn a_server_that_asks_without_end_is_answered_within_bounds() {
    let (mut rig, _, post, _) = asked();

    for n in 0..3000 {
        rig.event(&post, &format!(r#"{{"jsonrpc":"2.0","id":{n},"method":"ping"}}"#));
        rig.event(&post, &format!(r#"{{"jsonrpc":"2.0","id":"q{n}","method":"roots/list"}}"#));
    }

    assert_eq!(rig.sent.len(), 1000);
    let questions = rig.delivered.iter().filter(|it| matches!(it, Delivered::Question { .. }));
    assert_eq!(questions.count(), 500, "with one for each ping that is owed they are 1,000");
    assert!(rig.told.contains(&ridethrough_core::Event::ServerFloods));
}

#[test]
fn every_question_that_was_passed_on_has_its_answer_sent_however_many_there_are() {
    // Answers that waited for the server once counted against a bound of their own, and those beyond it were
    // dropped without a report.
    let (mut rig, _, post, _) = asked();
    for n in 0..3000 {
        rig.event(&post, &format!(r#"{{"jsonrpc":"2.0","id":"q{n}","method":"roots/list"}}"#));
        let asked = rig.delivered.iter().filter_map(|it| match it {
            Delivered::Question { question, .. } => Some(*question),
            _ => None,
        });
        let last = asked.last();
        if let Some(question) = last {
            rig.link.answer(rig.now, question, &Answer::Result(json(r#"{"roots":[]}"#)));
            rig.pump();
        }
    }

    let asked = rig.delivered.iter().filter(|it| matches!(it, Delivered::Question { .. })).count();
    let answers = rig.sent.iter().filter(|it| body(it).contains("\"roots\"")).count();
    assert_eq!(answers, asked - 1, "all but the first, which nobody answered");
    assert!(asked <= 1000, "{asked}");
}

#[test]
fn a_ping_of_the_server_is_answered_by_the_machine() {
    let (mut rig, _, post, _) = asked();

    rig.event(&post, r#"{"jsonrpc":"2.0","id":5,"method":"ping"}"#);

    assert_eq!(body(&rig.post()), r#"{"jsonrpc":"2.0","id":5,"result":{}}"#);
}

#[test]
fn a_question_that_the_server_takes_back_is_withdrawn() {
    let (mut rig, _, post, question) = asked();

    let cancelled = r#"{"method":"notifications/cancelled","params":{"requestId":"q"}}"#;
    rig.event(&post, cancelled);

    assert!(rig.delivered.contains(&Delivered::Withdrawn { question }));
}

#[test]
fn a_cancellation_is_sent_once_and_its_fate_ignored() {
    for is_answered in [false, true] {
        let mut rig = Rig::connected();
        let id = rig.call("deploy");
        rig.post();
        rig.cancel(id);
        let cancelled = rig.post();

        if is_answered {
            rig.status(&cancelled, 503);
        } else {
            rig.advance(secs(5));
            assert!(rig.aborted.contains(&cancelled.attempt), "it has 5 s");
        }
        rig.advance(secs(60));

        rig.nothing_sent();
    }
}

#[test]
fn a_cancellation_goes_to_the_generation_of_its_request() {
    let mut rig = Rig::connected();
    let (streaming, _) = (rig.call("one"), rig.call("two"));
    let (one, two) = (rig.post(), rig.post());
    rig.open(&one);
    rig.status(&two, 404);
    rig.post();

    rig.cancel(streaming);

    assert_eq!(session(&rig.post()), Some("s1"));
}

#[test]
fn a_notification_waits_for_the_link_and_for_a_busy_server_and_for_nothing_else() {
    let mut rig = Rig::connected();
    let notice = rig.link.notify(rig.now, "notifications/roots/list_changed", None);
    rig.pump();
    let post = rig.post();
    rig.refuse_connection(&post);
    rig.dial_succeeds();
    let post = rig.post();
    rig.busy(&post, 429, secs(3));
    assert!(rig.advance_to_send() >= secs(3));
    let post = rig.post();
    rig.status(&post, 202);
    assert_eq!(rig.noticed[&notice], Ok(()));

    let notice = rig.link.notify(rig.now, "notifications/roots/list_changed", None);
    rig.pump();
    let post = rig.post();
    rig.status(&post, 502);
    let error = rig.noticed[&notice].as_ref().unwrap_err();
    assert_eq!((error.kind, error.delivery), (Kind::Interrupted, Delivery::Unknown));
}

#[test]
fn a_notification_makes_a_session_if_there_is_none() {
    let mut rig = Rig::new();

    rig.link.notify(rig.now, "notifications/roots/list_changed", None);
    rig.pump();

    let post = rig.post();
    assert_eq!(method(&post).as_deref(), Some("notifications/roots/list_changed"));
    assert_eq!(session(&post), Some("s1"));
}

#[test]
fn a_notification_that_cannot_be_sent_ends_with_its_patience() {
    let mut rig = Rig::connected();
    let notice = rig.link.notify(rig.now, "notifications/roots/list_changed", None);
    rig.pump();
    let post = rig.post();
    rig.refuse_connection(&post);

    while !rig.noticed.contains_key(&notice) {
        while !rig.dials.is_empty() {
            rig.dial_fails();
        }
        rig.advance(crate::rig::millis(50));
    }

    let error = rig.noticed[&notice].as_ref().unwrap_err();
    assert_eq!((error.kind, error.elapsed), (Kind::Unreachable, secs(30)));
}

#[test]
fn notifications_go_out_eight_at_a_time_in_the_order_of_their_wishes() {
    let mut rig = Rig::connected();
    let notices = tell(&mut rig, 20);
    assert_eq!(rig.sent.len(), 8);

    let mut order = Vec::new();
    while let Some(post) = rig.sent.pop_front() {
        order.push(body(&post).to_owned());
        rig.status(&post, 202);
    }

    let expected: Vec<_> = (0..20).map(|n| format!(r#""params":{{"n":{n}}}"#)).collect();
    assert!(order.iter().zip(&expected).all(|(sent, part)| sent.contains(part)), "{order:?}");
    assert!(order.len() == 20 && notices.iter().all(|notice| rig.noticed[notice] == Ok(())));
}

#[test]
fn calls_cancels_and_answers_never_wait_for_notifications() {
    let (mut rig, streaming, _, question) = asked();
    tell(&mut rig, 5000);
    rig.sent.clear();

    rig.link.answer(rig.now, question, &Answer::Result(json("1")));
    rig.pump();
    assert_eq!(body(&rig.post()), r#"{"jsonrpc":"2.0","id":"q","result":1}"#);
    rig.call("other");
    assert_eq!(method(&rig.post()).as_deref(), Some("tools/call"));
    rig.cancel(streaming);

    assert_eq!(method(&rig.post()).as_deref(), Some("notifications/cancelled"));
}

#[test]
fn a_notification_that_waits_for_its_turn_ends_with_its_patience_and_leaves_it_to_the_next() {
    let mut rig = Rig::connected();
    let notices = tell(&mut rig, 17);
    rig.advance(secs(10));
    for post in std::mem::take(&mut rig.sent) {
        rig.status(&post, 202);
    }
    assert_eq!(rig.sent.len(), 8, "the second eight");

    rig.advance(secs(20));

    let error = rig.noticed[&notices[16]].as_ref().unwrap_err();
    assert_eq!((error.kind, error.delivery), (Kind::DeadlinePassed, Delivery::NotSent));
    let next = tell(&mut rig, 1)[0];
    let post = rig.post();
    rig.status(&post, 202);
    assert_eq!((rig.sent.len(), rig.noticed.contains_key(&next)), (8, false));
    assert!(body(&rig.sent[7]).contains(r#""n":0}"#), "its turn has come");
}

#[test]
fn notifications_that_wait_for_their_turn_outlive_a_lost_connection_in_their_order() {
    let mut rig = Rig::connected();
    tell(&mut rig, 12);
    for post in std::mem::take(&mut rig.sent) {
        rig.refuse_connection(&post);
    }
    rig.nothing_sent();

    rig.dial_succeeds();

    assert_eq!(rig.sent.len(), 8);
    let mut order = Vec::new();
    while let Some(post) = rig.sent.pop_front() {
        order.push(body(&post).to_owned());
        rig.status(&post, 202);
    }
    assert_eq!(order.len(), 12);
    let last = order.iter().rposition(|sent| sent.contains(r#""n":0}"#));
    assert_eq!(last, Some(0), "{order:?}");
    assert!(order[11].contains(r#""n":11}"#), "{order:?}");
}

#[test]
fn a_connection_that_carries_few_calls_carries_fewer_notifications() {
    let mut rig = Rig::connected();
    rig.link.handle_capacity(rig.now, 4);

    tell(&mut rig, 20);

    assert_eq!(rig.sent.len(), 2);
}

/// Sends this many notifications.
fn tell(rig: &mut Rig, number: usize) -> Vec<NoticeId> {
    let notices = (0..number).map(|n| {
        let params = json(&format!(r#"{{"n":{n}}}"#));
        let notice = rig.link.notify(rig.now, "notifications/x", Some(&params));
        rig.pump();
        notice
    });
    notices.collect()
}

/// Returns a call on whose stream the server has asked a question.
fn asked() -> (Rig, ExchangeId, Outgoing, QuestionId) {
    let mut rig = Rig::connected();
    let id = rig.call("deploy");
    let post = rig.post();
    rig.open(&post);
    rig.event(&post, r#"{"jsonrpc":"2.0","id":"q","method":"roots/list"}"#);
    let Some(Delivered::Question { question, .. }) = rig.delivered.last() else {
        panic!("not asked");
    };
    let question = *question;
    (rig, id, post, question)
}
