//! Rows 4, 16 and 18 for calls that do no harm twice: what comes in place of an answer is ridden through.

use ridethrough_core::failure::Failure;
use ridethrough_core::head::Content;
use ridethrough_core::{Cause, Era, ExchangeId, Kind, Outgoing, RetryPolicy};
use ridethrough_wire::message::Answer;

use crate::rig::{Rig, head, method, millis, secs};

#[test]
fn a_safe_call_rides_through_anything_that_is_no_answer() {
    for (number, come) in IN_PLACE.iter().enumerate() {
        let mut rig = Rig::connected();
        let id = rig.list();
        let post = rig.post();

        come(&mut rig, &post);

        assert!(rig.is_open(id), "number {number}");
        let again = next_list(&mut rig, id).unwrap();
        rig.reply(&again, "{}");
        assert_eq!(rig.result(id), "{}", "number {number}");
    }
}

#[test]
fn an_unsafe_call_stops_at_anything_that_is_no_answer() {
    for (number, come) in IN_PLACE.iter().enumerate() {
        let mut rig = Rig::connected();
        let id = rig.call("deploy");
        let post = rig.post();

        come(&mut rig, &post);
        rig.advance(secs(20));

        assert!(rig.error(id).may_have_run(), "number {number}");
        assert_eq!(rig.error(id).attempts, 1, "number {number}");
    }
}

#[test]
fn the_same_three_times_over_three_seconds_ends_a_safe_call_early() {
    let mut rig = Rig::connected();
    let id = rig.list();

    while let Some(post) = next_list(&mut rig, id) {
        rig.answer(&post, 500, Content::Html, "<h1>oops</h1>");
    }

    let error = rig.error(id);
    assert_eq!(error.kind, Kind::Rejected { status: 500 });
    assert!((secs(3)..secs(10)).contains(&error.elapsed), "{:?}", error.elapsed);
    assert!((3..=12).contains(&error.attempts), "{}", error.attempts);
}

#[test]
fn trouble_of_changing_kinds_is_ridden_through_for_as_long_as_the_policy_is_patient() {
    let mut rig = Rig::connected();
    let id = rig.list();
    let contents = [Content::Html, Content::Other].into_iter().cycle();

    let mut contents = contents;
    while let Some(post) = next_list(&mut rig, id) {
        rig.answer(&post, 500, contents.next().unwrap(), "oops");
    }

    assert!(rig.error(id).elapsed >= secs(20), "{:?}", rig.error(id).elapsed);
}

#[test]
fn what_will_not_change_ends_a_safe_call_at_once() {
    for status in [501, 505, 511] {
        let mut rig = Rig::connected();
        let id = rig.list();
        let post = rig.post();

        rig.status(&post, status);

        assert_eq!(rig.kind(id), Kind::Rejected { status });
    }
}

#[test]
fn an_answer_over_the_limit_ends_a_safe_call_and_a_head_over_the_limit_does_not() {
    let too_large = || Failure::unknown(Cause::TooLarge);
    let mut rig = Rig::connected();
    let (by_body, by_head) = (rig.list(), rig.list());
    let (body, broken) = (rig.post(), rig.post());
    rig.link.handle_head(rig.now, body.attempt, head(200, Content::Json));

    rig.fail(&body, too_large());
    rig.fail(&broken, too_large());

    assert_eq!(rig.kind(by_body), Kind::TooLarge);
    assert!(rig.is_open(by_head));
}

#[test]
fn a_web_page_in_place_of_an_answer_ends_a_safe_call_at_the_second() {
    let mut rig = Rig::connected();
    let id = rig.list();

    while let Some(post) = next_list(&mut rig, id) {
        rig.answer(&post, 200, Content::Html, "<h1>log in</h1>");
    }

    assert_eq!(rig.kind(id), Kind::PeerMisbehaved);
    assert_eq!(rig.error(id).attempts, 2);
}

#[test]
fn a_safe_call_that_was_accepted_and_never_answered_is_sent_again() {
    for era in [Era::Legacy, Era::Modern] {
        let mut rig = if era == Era::Legacy { Rig::connected() } else { Rig::modern() };
        let id = rig.list();
        let post = rig.call_sent();

        rig.answer(&post, 202, Content::Nothing, "");

        let again = next_list(&mut rig, id).unwrap();
        rig.reply(&again, "{}");
        assert!(matches!(rig.finished[&id], Ok(Answer::Result(_))), "{era:?}");
    }
}

#[test]
fn a_policy_of_never_repeats_no_page_of_an_error() {
    let mut rig = Rig::with_policy(RetryPolicy::never());
    rig.connect();
    let id = rig.list();
    let post = rig.post();

    rig.status(&post, 500);

    assert_eq!(rig.kind(id), Kind::Rejected { status: 500 });
}

#[test]
fn an_error_under_a_5xx_that_names_nobody_is_the_answer_only_if_it_stays() {
    let nameless = r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32603,"message":"oops"}}"#;
    for stays in [false, true] {
        let mut rig = Rig::connected();
        let id = rig.list();
        let post = rig.post();
        rig.answer(&post, 500, Content::Json, nameless);
        assert!(rig.is_open(id));

        while let Some(post) = next_list(&mut rig, id) {
            if stays {
                rig.answer(&post, 500, Content::Json, nameless);
            } else {
                rig.reply(&post, "{}");
            }
        }

        assert_eq!(matches!(rig.finished[&id], Ok(Answer::Error(_))), stays);
        assert_eq!(matches!(rig.finished[&id], Ok(Answer::Result(_))), !stays);
    }
    let mut rig = Rig::connected();
    let id = rig.call("deploy");
    let post = rig.post();
    rig.answer(&post, 500, Content::Json, nameless);
    assert!(matches!(rig.finished[&id], Ok(Answer::Error(_))), "an unsafe call ends with it");
}

type Come = fn(&mut Rig, &Outgoing);

/// What may come in place of an answer.
const IN_PLACE: [Come; 8] = [
    |rig, post| rig.status(post, 500),
    |rig, post| rig.answer(post, 500, Content::Html, "<h1>oops</h1>"),
    |rig, post| rig.status(post, 507),
    |rig, post| rig.answer(post, 200, Content::Html, "<h1>wait</h1>"),
    |rig, post| rig.answer(post, 200, Content::Json, "{"),
    |rig, post| rig.answer(post, 200, Content::Other, "hello"),
    |rig, post| rig.fail(post, Failure::unknown(Cause::Unreadable)),
    |rig, post| rig.fail(post, Failure::unknown(Cause::TooLarge)),
];

/// Returns the next send of the list, and lets time pass until then; `None` if the call ends first.
fn next_list(rig: &mut Rig, id: ExchangeId) -> Option<Outgoing> {
    while rig.is_open(id) {
        let place = rig.sent.iter().position(|it| method(it).as_deref() == Some("tools/list"));
        match place.and_then(|place| rig.sent.remove(place)) {
            Some(post) => return Some(post),
            None => rig.advance(millis(50)),
        }
    }
    None
}
