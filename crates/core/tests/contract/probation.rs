//! L22: after trouble, a harmless request goes first, and unsafe calls follow in growing numbers.

use ridethrough_core::failure::Failure;
use ridethrough_core::head::Content;
use ridethrough_core::{Cause, Delivery, Event, ExchangeId, Kind, Lane, Outgoing, RetryPolicy};

use crate::rig::{Rig, head, method, millis, secs, session};

#[test]
fn after_trouble_an_unsafe_call_waits_until_a_harmless_request_is_answered() {
    for meet in TROUBLE {
        let mut rig = Rig::connected();
        rig.call("deploy");
        let post = rig.post();
        meet(&mut rig, &post);

        let id = rig.call("deploy");

        rig.nothing_sent();
        let question = question(&mut rig);
        rig.refuse(&question, 200, -32601, "Method not found");
        let post = rig.post();
        rig.reply(&post, "{}");
        assert_eq!(rig.result(id), "{}");
    }
}

/// 56 of 900 calls were sent up to 0.4 s after a 502 had come, because their connections were being made.
#[test]
fn a_call_that_waits_for_a_connection_is_taken_back_when_another_meets_trouble() {
    for meet in TROUBLE {
        let mut rig = Rig::connected();
        rig.list();
        rig.call("deploy");
        let waiting = rig.call("deploy");
        let (list, met, unsent) = (rig.post(), rig.post(), rig.post());

        meet(&mut rig, &met);

        assert!(rig.recalled.contains(&unsent.attempt));
        assert!(!rig.recalled.contains(&list.attempt), "it may be repeated");
        rig.fail(&unsent, Failure::not_sent(Cause::Withheld));
        rig.nothing_sent();
        assert!(rig.is_open(waiting));
        rig.reply(&list, "{}");
        let question = question(&mut rig);
        rig.refuse(&question, 200, -32601, "Method not found");
        let post = rig.post();
        rig.reply(&post, "{}");
        assert_eq!(rig.result(waiting), "{}");
    }
}

#[test]
fn a_call_that_was_sent_before_it_was_taken_back_ends_as_any_other() {
    let mut rig = Rig::connected();
    let (met, sent) = (rig.call("deploy"), rig.call("deploy"));
    let (first, second) = (rig.post(), rig.post());
    rig.status(&first, 502);

    rig.reply(&second, "{}");

    assert_eq!(rig.result(sent), "{}");
    assert_eq!(rig.error(met).kind, Kind::Interrupted);
}

#[test]
fn safe_calls_go_on_while_unsafe_ones_wait() {
    let mut rig = in_trouble();
    let held = rig.call("deploy");

    let id = rig.list();

    let post = rig.post();
    assert_eq!(method(&post).as_deref(), Some("tools/list"));
    rig.reply(&post, "{}");
    assert_eq!(rig.result(id), "{}");
    let post = rig.post();
    rig.reply(&post, "{}");
    assert_eq!(rig.result(held), "{}", "what was answered has found out");
}

#[test]
fn a_safe_call_that_waits_to_be_repeated_finds_out_in_place_of_a_question() {
    let mut rig = Rig::connected();
    let safe = rig.list();
    let post = rig.post();
    rig.status(&post, 502);
    let held = rig.call("deploy");

    rig.advance_to_send();

    let repeated = rig.call_sent();
    assert_eq!(method(&repeated).as_deref(), Some("tools/list"));
    assert!(!rig.sent.iter().any(|it| method(it).as_deref() == Some("ping")));
    rig.reply(&repeated, "{}");
    assert_eq!(rig.result(safe), "{}");
    let post = rig.call_sent();
    rig.reply(&post, "{}");
    assert_eq!(rig.result(held), "{}");
}

/// A list that always fails held up all unsafe calls for as long as it was repeated.
#[test]
fn a_question_follows_a_safe_call_that_failed_again() {
    let mut rig = Rig::connected();
    rig.list();
    let held = rig.call("deploy");
    let (list, call) = (rig.post(), rig.post());
    rig.reply(&call, "{}");
    rig.status(&list, 503);
    let waits = rig.call("deploy");

    let began = rig.now;
    while rig.is_open(waits) && rig.now.since(began) < secs(10) {
        match rig.sent.pop_front() {
            Some(sent) if method(&sent).as_deref() == Some("tools/list") => rig.status(&sent, 503),
            Some(sent) if !is_notice(&sent) => rig.reply(&sent, "{}"),
            Some(_) => {}
            None => rig.advance(millis(10)),
        }
    }

    assert_eq!((rig.result(held), rig.result(waits)), ("{}", "{}"));
}

#[test]
fn a_safe_call_that_was_asked_to_wait_finds_nothing_out_before() {
    let mut rig = Rig::connected();
    rig.list();
    let asked_to_wait = rig.post();
    let mut refused = head(502, Content::Nothing);
    refused.retry_after = Some(secs(50));
    rig.answer_with(&asked_to_wait, refused, "");
    rig.list();
    let post = rig.post();
    rig.reply(&post, "{}");
    rig.call("deploy");
    let post = rig.post();
    rig.status(&post, 502);
    rig.call("deploy");

    let waited = rig.advance_to_send();

    assert!(waited < secs(50), "{waited:?}");
    assert_eq!(rig.post().lane, Lane::Control, "a question of its own");
    rig.nothing_sent();
}

#[test]
fn unsafe_calls_follow_in_groups_of_1_2_4() {
    let mut rig = in_trouble();
    let ids: Vec<_> = (0..20).map(|_| rig.call("deploy")).collect();
    let question = question(&mut rig);
    rig.reply(&question, "{}");

    let mut groups = Vec::new();
    while !rig.sent.is_empty() {
        groups.push(rig.sent.len());
        let group: Vec<_> = rig.sent.drain(..).collect();
        group.iter().for_each(|post| rig.reply(post, "{}"));
    }

    assert_eq!(groups, [1, 2, 4, 8, 5]);
    assert!(ids.iter().all(|id| rig.finished[id].is_ok()));
    assert!(rig.told.contains(&Event::CallsReleased));
    rig.call("deploy");
    assert_eq!(rig.sent.len(), 1, "it goes out at once again");
}

#[test]
fn the_first_that_is_not_answered_stops_those_after_it() {
    for meet in TROUBLE.into_iter().chain([(|rig, post| rig.status(post, 500)) as Meet]) {
        let mut rig = in_trouble();
        let ids: Vec<_> = (0..10).map(|_| rig.call("deploy")).collect();
        let asked = question(&mut rig);
        rig.reply(&asked, "{}");
        let first = rig.post();

        meet(&mut rig, &first);

        assert!(rig.error(ids[0]).may_have_run());
        assert!(!rig.sent.iter().any(is_call));
        let asked = question(&mut rig);
        rig.reply(&asked, "{}");
        assert_eq!(rig.sent.len(), 1, "they begin anew with one");
    }
}

#[test]
fn a_group_that_takes_long_does_not_hold_up_the_next() {
    let mut rig = in_trouble();
    (0..4).for_each(|_| _ = rig.call("slow"));
    let question = question(&mut rig);
    rig.reply(&question, "{}");
    let slow = rig.post();
    rig.open(&slow);
    rig.nothing_sent();

    rig.advance(secs(1));

    assert_eq!(rig.sent.len(), 2);
}

#[test]
fn none_goes_out_before_a_hint_is_over() {
    // A 503 closes the gate as well, a 502 does not.
    for status in [502, 503] {
        let mut rig = Rig::connected();
        rig.call("deploy");
        let post = rig.post();
        rig.busy(&post, status, secs(7));
        rig.call("deploy");

        let waited = rig.advance_to_send();

        assert!(waited >= secs(7), "{status}: {waited:?}");
        assert_eq!(rig.post().lane, Lane::Control, "{status}: a question goes first");
        rig.nothing_sent();
    }
}

#[test]
fn the_question_is_asked_at_the_pace_of_connects() {
    let mut rig = in_trouble();
    let options = ridethrough_core::CallOptions::default();
    rig.call_with("deploy", options);
    let (began, mut asked) = (rig.now, Vec::new());

    while rig.now.since(began) < secs(25) {
        rig.advance_to_send();
        let question = rig.post();
        asked.push(rig.now.since(began));
        rig.status(&question, 502);
    }

    let young = asked.iter().filter(|at| **at < secs(5)).count();
    assert!((15..=60).contains(&young), "{young} in the first 5 s");
    let late = asked.windows(2).map(|pair| pair[1] - pair[0]);
    assert!(late.clone().all(|gap| gap <= secs(6) && gap >= millis(50)), "{asked:?}");
}

#[test]
fn a_server_that_accepts_the_question_and_is_silent_gets_the_oldest_call_alone() {
    let mut rig = in_trouble();
    let ids = [rig.call("busy"), rig.call("busy")];
    question(&mut rig);

    rig.advance(secs(10));

    let alone = rig.call_sent();
    rig.sent.clear();
    rig.reply(&alone, "{}");
    assert_eq!(rig.result(ids[0]), "{}");
    let next = rig.call_sent();
    rig.reply(&next, "{}");
    assert_eq!(rig.result(ids[1]), "{}");
}

/// Found by the simulator: the question beside the call that is out alone was due for ever.
#[test]
fn a_server_that_cannot_be_reached_is_asked_nothing_while_one_call_is_out_alone() {
    let mut rig = in_trouble();
    (0..2).for_each(|_| _ = rig.call("busy"));
    question(&mut rig);
    rig.advance(secs(10));
    rig.call_sent();
    rig.sent.clear();
    let safe = rig.list();
    let post = rig.post();
    rig.refuse_connection(&post);

    rig.advance(secs(15));

    assert!(rig.is_open(safe));
}

#[test]
fn a_question_that_is_refused_by_a_4xx_holds_no_call_for_ever() {
    for status in [401, 404, 405] {
        let mut rig = Rig::modern();
        rig.call("deploy");
        let post = rig.post();
        rig.status(&post, 502);
        let id = rig.call("deploy");
        let asked = question(&mut rig);

        rig.answer(&asked, status, Content::Html, "<h1>no</h1>");

        let post = rig.call_sent();
        rig.reply(&post, "{}");
        assert_eq!(rig.result(id), "{}", "{status}");
    }
}

#[test]
fn a_session_that_is_lost_in_the_trouble_is_renewed_and_that_finds_out() {
    let mut rig = in_trouble();
    let id = rig.call("deploy");
    let asked = question(&mut rig);

    rig.status(&asked, 404);

    let post = rig.call_sent();
    assert_eq!(session(&post), Some("s2"));
    rig.reply(&post, "{}");
    assert_eq!(rig.result(id), "{}");
}

#[test]
fn a_call_waits_within_its_patience_and_ends_unsent() {
    let mut rig = in_trouble();
    let id = rig.call("deploy");

    while rig.is_open(id) {
        match rig.sent.pop_front() {
            Some(question) => rig.status(&question, 502),
            None => rig.advance(millis(100)),
        }
    }

    let error = rig.error(id);
    assert_eq!((error.kind, error.delivery), (Kind::BreakerOpen, Delivery::NotSent));
    assert!((secs(30)..=secs(31)).contains(&error.elapsed), "{:?}", error.elapsed);
    assert!(error.to_string().contains("502"), "{error}");
}

#[test]
fn an_open_breaker_holds_calls_that_have_patience() {
    let mut rig = Rig::connected();
    for _ in 0..5 {
        rig.call("deploy");
        if rig.sent.is_empty() {
            let asked = question(&mut rig);
            rig.reply(&asked, "{}");
        }
        let post = rig.call_sent();
        rig.status(&post, 502);
    }
    assert!(rig.told.iter().any(|it| matches!(it, Event::BreakerOpened { .. })));

    let ids = [rig.list(), rig.call("deploy")];

    assert!(ids.iter().all(|id| rig.is_open(*id)));
    rig.nothing_sent();
    let asked = question(&mut rig);
    rig.reply(&asked, "{}");
    assert!(rig.told.contains(&Event::BreakerClosed));
    for id in ids {
        let post = rig.call_sent();
        rig.reply(&post, "{}");
        assert_eq!(rig.result(id), "{}");
    }
}

#[test]
fn a_late_answer_to_a_call_from_before_the_trouble_finds_nothing_out() {
    let mut rig = Rig::connected();
    let slow = rig.call("slow");
    let before = rig.post();
    rig.call("deploy");
    let post = rig.post();
    rig.status(&post, 502);
    let held = rig.call("deploy");

    rig.reply(&before, "{}");

    assert_eq!(rig.result(slow), "{}");
    assert!(rig.is_open(held));
    rig.nothing_sent();
}

#[test]
fn a_call_without_patience_and_a_link_over_stdio_are_never_held() {
    let mut rig = Rig::with_policy(RetryPolicy::never());
    rig.connect();
    rig.call("deploy");
    let post = rig.post();
    rig.status(&post, 502);
    rig.call("deploy");
    assert_eq!(rig.sent.len(), 1);

    let mut rig = Rig::new();
    rig.link.hold_no_calls();
    rig.connect();
    rig.call("deploy");
    let post = rig.post();
    rig.reset(&post);
    rig.call("deploy");
    assert_eq!(rig.sent.len(), 1);
}

#[test]
fn limits_and_refusals_hold_no_call() {
    for (status, hint) in [(429, Some(secs(1))), (403, None), (500, None), (404, None)] {
        let mut rig = Rig::modern();
        rig.call("busy");
        let post = rig.post();
        let mut refused = head(status, Content::Nothing);
        refused.retry_after = hint;
        rig.answer_with(&post, refused, "");

        rig.call("other");

        assert!(rig.sent.iter().any(is_call), "{status}");
    }
}

type Meet = fn(&mut Rig, &Outgoing);

/// How a POST ends by row 3.
const TROUBLE: [Meet; 6] = [
    |rig, post| rig.status(post, 502),
    |rig, post| rig.status(post, 503),
    |rig, post| rig.busy(post, 503, secs(1)),
    |rig, post| rig.status(post, 408),
    |rig, post| rig.status(post, 522),
    |rig, post| rig.fail(post, Failure::unknown(Cause::Reset)),
];

/// Returns a rig whose server has just answered a call by 502.
fn in_trouble() -> Rig {
    let mut rig = Rig::connected();
    let id: ExchangeId = rig.call("deploy");
    let post = rig.post();
    rig.status(&post, 502);
    assert!(rig.error(id).may_have_run());
    rig
}

/// Lets time pass until the link asks whether the server answers.
fn question(rig: &mut Rig) -> Outgoing {
    let until = rig.now + secs(30);
    while rig.now < until {
        let place = rig.sent.iter().position(|it| it.lane == Lane::Control && !is_notice(it));
        match place.and_then(|place| rig.sent.remove(place)) {
            Some(question) => return question,
            None => rig.advance(millis(10)),
        }
    }
    panic!("a question should have been sent");
}

fn is_call(request: &Outgoing) -> bool {
    method(request).as_deref() == Some("tools/call")
}

fn is_notice(request: &Outgoing) -> bool {
    method(request).is_some_and(|method| method.starts_with("notifications/"))
}

#[test]
fn the_links_of_a_server_find_out_together() {
    let (mut one, mut other) = (in_trouble(), Rig::connected());
    hear(&mut other, &mut one);
    let (first, second) = (one.call("deploy"), other.call("deploy"));

    let asked = question(&mut one);
    hear(&mut other, &mut one);
    other.advance(secs(2));
    other.nothing_sent();
    one.reply(&asked, "{}");
    hear(&mut other, &mut one);

    let post = one.post();
    other.nothing_sent();
    one.reply(&post, "{}");
    assert!(
        other.advance_to_send() >= millis(50),
        "the first call of the one that asked goes first"
    );
    let post = other.post();
    assert!(is_call(&post), "nothing is asked twice");
    other.reply(&post, "{}");
    assert_eq!((one.result(first), other.result(second)), ("{}", "{}"));
}

#[test]
fn a_link_asks_for_itself_if_another_found_nothing_out() {
    let (mut one, mut other) = (in_trouble(), Rig::connected());
    hear(&mut other, &mut one);
    one.call("deploy");
    other.call("deploy");
    let asked = question(&mut one);
    hear(&mut other, &mut one);

    one.status(&asked, 502);
    hear(&mut other, &mut one);

    assert_eq!(other.advance_to_send().max(secs(1)), secs(1));
    assert_eq!(other.post().lane, Lane::Control);
}

/// Lets a link hear what another one has shared.
fn hear(rig: &mut Rig, other: &mut Rig) {
    for news in other.shared.drain(..) {
        rig.link.handle_peer(rig.now, news);
        rig.pump();
    }
}
