//! Rows 22 and 23, and flow control: a server that can be reached and refuses.

use ridethrough_core::head::{Challenge, Content};
use ridethrough_core::{
    CallOptions, CredentialsId, Delivery, Event, Kind, Lane, NoCredentials, ReplayRule,
};
use ridethrough_wire::message::Answer;

use crate::rig::{Rig, head, method, millis, secs, session, wire_id};

#[test]
fn a_401_renews_the_credentials_once_for_all_callers_and_never_touches_the_session() {
    let mut rig = Rig::connected();
    let ids: Vec<_> = (0..50).map(|_| rig.call("deploy")).collect();
    let posts: Vec<_> = (0..50).map(|_| rig.post()).collect();

    for post in &posts {
        rig.challenge(post);
    }
    assert_eq!(rig.credentials_asked, 1);
    assert_eq!(rig.challenged, Some(Challenge::credentials()), "the hook hears what is asked for");
    rig.bring_credentials(Ok(()));

    for _ in 0..50 {
        let again = rig.post();
        assert_eq!(session(&again), Some("s1"));
        assert!(again.credentials > posts[0].credentials);
        rig.reply(&again, "{}");
    }
    assert!(ids.iter().all(|id| rig.finished[id].is_ok()));
    assert_eq!((rig.credentials_asked, rig.handshakes), (1, 1));
}

#[test]
fn a_late_401_of_old_credentials_is_old_news() {
    let mut rig = Rig::connected();
    let (_, late) = (rig.call("one"), rig.call("two"));
    let (one, two) = (rig.post(), rig.post());
    rig.challenge(&one);
    rig.bring_credentials(Ok(()));
    rig.post();

    rig.challenge(&two);

    assert_eq!(rig.credentials_asked, 1);
    let again = rig.post();
    rig.reply(&again, "{}");
    assert_eq!(rig.result(late), "{}");
}

#[test]
fn a_401_with_renewed_credentials_ends_the_call() {
    let mut rig = Rig::connected();
    let id = rig.call("deploy");
    let post = rig.post();
    rig.challenge(&post);
    rig.bring_credentials(Ok(()));

    let again = rig.post();
    rig.challenge(&again);

    assert_eq!(rig.kind(id), Kind::Unauthorized);
    let error = rig.error(id);
    assert_eq!(
        (error.delivery, error.status.map(|it| it.as_u16())),
        (Delivery::Refused, Some(401))
    );
}

#[test]
fn credentials_that_worked_may_expire_again_under_a_long_call() {
    let mut rig = Rig::connected();
    let id = rig.call("deploy");
    let mut request = rig.post();
    rig.open(&request);
    let post = request.clone();
    for round in 1..=3 {
        rig.event_id(&request, &format!("e{round}"), "");
        rig.advance(secs(6));
        rig.end(&request);
        rig.advance_to_send();
        let refused = rig.get();
        rig.challenge(&refused);
        assert_eq!(rig.credentials_asked, round);
        rig.bring_credentials(Ok(()));
        rig.advance_to_send();
        request = rig.get();
        rig.open(&request);
    }

    rig.event_result(&request, &post, "1");

    assert_eq!(rig.result(id), "1");
}

#[test]
fn credentials_that_cannot_be_renewed_within_30_s_end_the_call() {
    let mut rig = Rig::connected();
    let (failed, timed_out) = (rig.call("one"), rig.call("two"));
    let (one, two) = (rig.post(), rig.post());
    rig.challenge(&one);
    rig.bring_credentials(Err(NoCredentials::new()));
    assert_eq!(rig.kind(failed), Kind::Unauthorized);

    rig.challenge(&two);
    rig.advance(secs(30));

    assert_eq!(rig.kind(timed_out), Kind::Unauthorized);
    assert_eq!(rig.error(timed_out).elapsed, secs(30));
}

#[test]
fn the_first_credentials_are_waited_for_before_anything_is_sent() {
    for mut rig in [Rig::new(), Rig::modern()] {
        rig.link.await_first_credentials();

        let ids = [rig.call("one"), rig.call("two")];
        rig.nothing_sent();
        rig.advance(secs(29));
        rig.bring_credentials(Ok(()));

        for id in ids {
            let post = rig.post();
            assert_eq!(post.credentials, CredentialsId::new(1));
            rig.reply(&post, "{}");
            assert_eq!(rig.result(id), "{}");
        }
        assert_eq!(rig.credentials_asked, 1);
        assert!(!rig.told.contains(&Event::CredentialsRenewed), "nothing was refused");
    }
}

#[test]
fn a_login_that_takes_longer_than_a_call_waits_is_not_started_again_by_the_next_one() {
    for mut rig in [Rig::new(), Rig::modern()] {
        rig.link.await_first_credentials();
        let id = rig.call("one");

        rig.advance(secs(30));

        assert_eq!(rig.kind(id), Kind::Unauthorized);
        assert_eq!(rig.error(id).delivery, Delivery::NotSent);
        assert_eq!(rig.error(id).elapsed, secs(30));
        rig.nothing_sent();
        let next = rig.call("two");
        rig.advance(secs(20));
        assert_eq!(rig.credentials_asked, 1);
        rig.bring_credentials(Ok(()));
        let post = rig.post();
        rig.reply(&post, "{}");
        assert_eq!(rig.result(next), "{}");
    }
}

#[test]
fn credentials_that_come_late_are_there_for_the_next_call() {
    let mut rig = Rig::new();
    rig.link.await_first_credentials();
    let id = rig.call("one");
    rig.advance(secs(30));
    assert_eq!(rig.kind(id), Kind::Unauthorized);

    rig.advance(secs(5));
    rig.bring_credentials(Ok(()));
    let id = rig.call("two");

    let post = rig.post();
    rig.reply(&post, "{}");
    assert_eq!(rig.result(id), "{}");
    assert_eq!(rig.credentials_asked, 1);
}

#[test]
fn a_401_without_a_challenge_and_without_words_of_a_session_is_about_credentials() {
    let mut rig = Rig::connected();
    rig.list();
    let post = rig.post();

    let nobodys = r#"{"id":null,"error":{"code":-32000,"message":"Unauthorized"}}"#;
    rig.answer(&post, 401, Content::Json, nobodys);
    let question = rig.post();
    rig.answer(&question, 401, Content::Json, nobodys);

    assert_eq!(rig.credentials_asked, 1);
}

#[test]
fn an_error_that_names_the_call_is_its_answer_under_401_without_a_challenge() {
    let mut rig = Rig::connected();
    let id = rig.call("deploy");
    let post = rig.post();

    rig.refuse(&post, 401, -32000, "Unauthorized");

    assert!(matches!(rig.finished[&id], Ok(Answer::Error(_))));
    assert_eq!(rig.credentials_asked, 0);
}

#[test]
fn an_error_that_names_the_call_is_its_answer_if_better_credentials_cannot_be_had() {
    let mut rig = Rig::connected();
    let id = rig.call("deploy");
    let post = rig.post();
    let mut head = head(401, Content::Json);
    head.challenge = Some(Challenge::credentials());
    let body = format!(r#"{{"id":{},"error":{{"code":-32001,"message":"who?"}}}}"#, wire_id(&post));
    rig.answer_with(&post, head, &body);

    rig.bring_credentials(Err(NoCredentials::new()));

    assert!(matches!(rig.finished[&id], Ok(Answer::Error(_))));
}

#[test]
fn a_403_for_scope_is_stepped_up_at_most_twice() {
    let mut rig = Rig::connected();
    let id = rig.call("deploy");

    for _ in 0..2 {
        let post = rig.post();
        rig.answer_with(&post, scope_head(), "");
        rig.bring_scope(Ok(()));
    }
    let post = rig.post();
    rig.answer_with(&post, scope_head(), "");

    assert_eq!(rig.kind(id), Kind::Unauthorized);
    assert_eq!(rig.error(id).status.map(|it| it.as_u16()), Some(403));
    assert_eq!((rig.scope_asked, rig.credentials_asked), (2, 0));
}

#[test]
fn while_a_call_waits_for_more_scope_the_others_go_on() {
    let policy = ridethrough_core::RetryPolicy::default().builder().in_flight(1).build().unwrap();
    let mut rig = Rig::with_policy(policy);
    rig.connect();
    let refused = rig.call("deploy");
    let in_line = rig.call("in line");
    let post = rig.post();
    rig.answer_with(&post, scope_head(), "");

    for id in [in_line, rig.call("later")] {
        let post = rig.post();
        rig.reply(&post, "{}");
        assert_eq!(rig.result(id), "{}");
    }

    assert!(rig.is_open(refused));
    rig.bring_scope(Ok(()));
    let post = rig.post();
    assert_eq!(post.credentials, CredentialsId::new(1));
    rig.reply(&post, "{}");
    assert_eq!(rig.result(refused), "{}");
}

#[test]
fn a_token_that_ends_while_more_scope_is_waited_for_is_renewed() {
    let mut rig = Rig::connected();
    let refused = rig.call("deploy");
    let post = rig.post();
    rig.answer_with(&post, scope_head(), "");
    let other = rig.call("other");
    let post = rig.post();
    rig.challenge(&post);

    rig.bring_credentials(Ok(()));

    let post = rig.post();
    rig.reply(&post, "{}");
    assert_eq!(rig.result(other), "{}");
    // A renewed token has no more scope than the old one.
    rig.nothing_sent();
    assert!(rig.is_open(refused));
    rig.bring_scope(Ok(()));
    let post = rig.post();
    rig.reply(&post, "{}");
    assert_eq!(rig.result(refused), "{}");
}

#[test]
fn more_scope_that_cannot_be_had_ends_only_the_calls_that_need_it() {
    let mut rig = Rig::connected();
    let (refused, renewing) = (rig.call("deploy"), rig.call("other"));
    let (one, two) = (rig.post(), rig.post());
    rig.answer_with(&one, scope_head(), "");
    rig.challenge(&two);

    rig.bring_scope(Err(NoCredentials::because("the person said no")));

    assert_eq!(rig.kind(refused), Kind::Unauthorized);
    assert!(rig.error(refused).to_string().contains("the person said no"));
    assert!(rig.is_open(renewing));
}

#[test]
fn more_scope_is_waited_for_30_s_and_serves_later_calls_if_it_comes_late() {
    let mut rig = Rig::connected();
    let slow = rig.call("deploy");
    let post = rig.post();
    rig.answer_with(&post, scope_head(), "");

    rig.advance(secs(30));

    assert_eq!(rig.kind(slow), Kind::Unauthorized);
    assert_eq!(rig.error(slow).elapsed, secs(30));
    let next = rig.call("deploy");
    let post = rig.post();
    rig.answer_with(&post, scope_head(), "");
    assert_eq!(rig.scope_asked, 1, "the person is still being asked");
    rig.bring_scope(Ok(()));
    let post = rig.post();
    rig.reply(&post, "{}");
    assert_eq!(rig.result(next), "{}");
}

#[test]
fn a_refusal_of_a_token_from_before_more_scope_came_asks_for_none() {
    let mut rig = Rig::connected();
    let (first, late) = (rig.call("deploy"), rig.call("deploy"));
    let (one, two) = (rig.post(), rig.post());
    rig.answer_with(&one, scope_head(), "");
    rig.bring_scope(Ok(()));

    rig.answer_with(&two, scope_head(), "");

    for id in [first, late] {
        let post = rig.post();
        rig.reply(&post, "{}");
        assert_eq!(rig.result(id), "{}");
    }
    assert_eq!(rig.scope_asked, 1);
}

#[test]
fn a_renewal_that_fails_after_more_scope_came_is_asked_for_again_if_that_token_is_refused() {
    let mut rig = Rig::connected();
    rig.call("deploy");
    let renewing = rig.call("other");
    let (one, two) = (rig.post(), rig.post());
    rig.answer_with(&one, scope_head(), "");
    rig.challenge(&two);
    rig.bring_scope(Ok(()));
    rig.post();
    rig.post();
    let id = rig.call("third");
    let post = rig.post();
    rig.challenge(&post);
    assert_eq!(rig.credentials_asked, 1, "one question at a time");

    rig.bring_credentials(Err(NoCredentials::new()));

    assert!(rig.is_open(id) && rig.is_open(renewing));
    assert_eq!(rig.credentials_asked, 2);
    rig.bring_credentials(Ok(()));
    let post = rig.post();
    rig.reply(&post, "{}");
    assert_eq!(rig.result(id), "{}");
}

#[test]
fn a_handshake_is_stepped_up_at_most_twice_too() {
    let mut rig = Rig::new();
    rig.plays_handshake = false;
    let id = rig.call("deploy");

    for _ in 0..2 {
        let initialize = rig.post();
        rig.answer_with(&initialize, scope_head(), "");
        rig.bring_credentials(Ok(()));
    }
    let initialize = rig.post();
    rig.answer_with(&initialize, scope_head(), "");

    assert_eq!(rig.kind(id), Kind::Unauthorized);
    assert_eq!(rig.error(id).status.map(|it| it.as_u16()), Some(403));
    assert_eq!(rig.credentials_asked, 2);
}

#[test]
fn any_other_403_is_a_rejection() {
    let mut rig = Rig::connected();
    let id = rig.call("deploy");
    let post = rig.post();

    rig.status(&post, 403);

    assert_eq!(rig.kind(id), Kind::Rejected { status: 403 });
    assert_eq!(rig.credentials_asked, 0);
}

#[test]
fn a_429_closes_the_gate_of_its_method_and_tool_and_no_other() {
    let mut rig = Rig::connected();
    rig.call("busy");
    let post = rig.post();
    rig.busy(&post, 429, secs(5));

    rig.call("busy");
    rig.nothing_sent();
    rig.call("other");

    assert_eq!(rig.sent.len(), 1, "only the other tool's call goes out");
}

#[test]
fn a_503_with_retry_after_closes_the_gate_of_the_server() {
    let mut rig = Rig::connected();
    rig.call("busy");
    let post = rig.post();
    rig.busy(&post, 503, secs(5));

    rig.call("other");
    rig.list();

    rig.nothing_sent();
}

#[test]
fn the_oldest_waiter_is_the_canary_and_its_outcome_opens_the_gate() {
    let mut rig = Rig::connected();
    let oldest = rig.call("busy");
    let post = rig.post();
    rig.busy(&post, 429, secs(5));
    for _ in 0..10 {
        rig.call("busy");
    }

    rig.advance(secs(5));
    let canary = rig.post();
    rig.nothing_sent();
    rig.reply(&canary, "{}");

    assert_eq!(rig.result(oldest), "{}");
    assert_eq!(rig.sent.len(), 4, "a few to begin with");
    assert!(rig.told.iter().any(|it| matches!(it, Event::GateOpened { .. })));
}

#[test]
fn callers_beyond_a_servers_limit_go_out_at_the_pace_that_it_takes() {
    let mut rig = Rig::connected();
    let ids: Vec<_> = (0..200).map(|_| rig.call("busy")).collect();
    let (mut seen, mut second, mut taken) = (0, rig.now, 0);

    while !ids.iter().all(|id| rig.finished.contains_key(id)) {
        while let Some(post) = rig.sent.pop_front() {
            if rig.now.since(second) >= secs(1) {
                (second, taken) = (rig.now, 0);
            }
            seen += 1;
            taken += 1;
            if taken <= 20 { rig.reply(&post, "{}") } else { rig.busy(&post, 429, secs(1)) }
        }
        rig.advance(millis(20));
    }

    assert!(ids.iter().all(|id| rig.finished[id].is_ok()), "none is lost");
    assert!(rig.now.elapsed() < secs(30), "{:?}", rig.now.elapsed());
    // The first 180 refusals come before anything is known.
    assert!(seen <= 200 + 180 + 40, "{seen}");
}

#[test]
fn a_call_that_runs_out_of_time_at_a_gate_names_the_limit_and_the_hint() {
    let mut rig = Rig::connected();
    let mut calls = Vec::new();
    let options = CallOptions { deadline: Some(secs(12)), ..CallOptions::default() };
    for _ in 0..40 {
        calls.push(rig.call_with("busy", options.clone()));
    }
    let first = rig.post();
    for _ in 0..39 {
        let post = rig.post();
        rig.busy(&post, 429, secs(5));
    }
    rig.reply(&first, "{}");

    while !calls.iter().all(|id| rig.finished.contains_key(id)) {
        while let Some(post) = rig.sent.pop_front().filter(|it| it.lane == Lane::Call) {
            rig.reply(&post, "{}");
        }
        rig.advance(secs(1));
    }

    let last = rig.error(*calls.last().unwrap());
    assert!(last.to_string().contains("429"), "{last}");
    assert!(last.retry_after.is_some());
}

#[test]
fn behind_a_503_the_link_asks_for_itself_and_a_good_answer_opens_the_gate() {
    let mut rig = Rig::connected();
    let busy = rig.call("busy");
    let post = rig.post();
    rig.busy(&post, 503, secs(100_000));
    assert!(!rig.is_open(busy), "it cannot wait for so long");
    let hurried = rig.call("hurried");
    assert_eq!(rig.error(hurried).delivery, Delivery::NotSent);

    assert_eq!(rig.advance_to_send(), secs(60));
    let question = rig.post();
    assert_eq!((method(&question).as_deref(), question.lane), (Some("ping"), Lane::Control));
    rig.busy(&question, 503, secs(100_000));
    assert_eq!(rig.advance_to_send(), secs(120));
    let question = rig.post();
    rig.reply(&question, "{}");

    let id = rig.call("served");
    let post = rig.post();
    rig.reply(&post, "{}");
    assert_eq!(rig.result(id), "{}");
}

#[test]
fn a_refusal_of_any_status_keeps_the_time_that_it_names() {
    for status in [400, 403, 413, 500, 501] {
        let mut rig = Rig::connected();
        let id = rig.call("deploy");
        let post = rig.post();
        let mut refused = head(status, Content::Nothing);
        refused.retry_after = Some(secs(7));

        rig.answer_with(&post, refused, "");

        assert_eq!(rig.error(id).retry_after, Some(secs(7)), "{status}");
    }
}

#[test]
fn the_links_own_question_does_not_undercut_a_hint_that_came_later() {
    let mut rig = Rig::connected();
    let options = CallOptions {
        deadline: Some(secs(1000)),
        replay: ReplayRule::Repeatable,
        ..CallOptions::default()
    };
    rig.call_with("busy", options);
    for _ in 0..3 {
        let post = rig.call_sent();
        assert_eq!(method(&post).as_deref(), Some("tools/call"));

        rig.sent.clear();
        rig.busy(&post, 503, secs(25));

        assert!(rig.advance_to_send() >= secs(25));
    }
}

#[test]
fn a_canary_that_is_deferred_again_closes_the_gate_again() {
    let mut rig = Rig::connected();
    rig.call("busy");
    let post = rig.post();
    rig.busy(&post, 429, secs(5));
    rig.call("busy");
    rig.advance(secs(5));
    let canary = rig.post();

    rig.busy(&canary, 429, secs(5));
    rig.advance(millis(4900));

    rig.nothing_sent();
    rig.advance(millis(200));
    assert_eq!(rig.sent.len(), 1);
}

#[test]
fn a_canary_without_an_outcome_for_1_s_opens_the_gate() {
    let mut rig = Rig::connected();
    rig.call("busy");
    let post = rig.post();
    rig.busy(&post, 429, secs(5));
    rig.call("busy");
    rig.advance(secs(5));
    rig.post();

    rig.advance(millis(900));
    rig.nothing_sent();
    rig.advance(millis(100));

    assert_eq!(rig.sent.len(), 1);
}

#[test]
fn a_canary_that_is_cancelled_lets_the_next_one_go() {
    let mut rig = Rig::connected();
    let first = rig.call("busy");
    let post = rig.post();
    rig.busy(&post, 429, secs(5));
    rig.call("busy");
    rig.advance(secs(4));

    rig.cancel(first);
    rig.advance(secs(1));

    assert_eq!(rig.sent.len(), 1);
}

#[test]
fn a_canary_that_ends_by_a_deferral_keeps_the_gate_closed() {
    let mut rig = Rig::connected();
    let canary = rig.call("busy");
    for _ in 0..3 {
        let post = rig.post();
        rig.busy(&post, 429, secs(1));
        rig.advance_to_send();
    }
    rig.call("busy");
    let post = rig.post();

    rig.busy(&post, 429, secs(60));

    assert_eq!(rig.kind(canary), Kind::Rejected { status: 429 });
    rig.advance(secs(59));
    rig.nothing_sent();
}

#[test]
fn a_425_closes_the_gate_of_its_method_and_tool() {
    let mut rig = Rig::connected();
    rig.call("busy");
    let post = rig.post();
    rig.busy(&post, 425, secs(5));

    rig.call("busy");

    rig.nothing_sent();
}

#[test]
fn calls_that_wait_at_a_gate_leave_their_places_to_others() {
    let policy = ridethrough_core::RetryPolicy::default().builder().in_flight(2).build().unwrap();
    let mut rig = Rig::with_policy(policy);
    rig.connect();
    for _ in 0..2 {
        rig.call("busy");
    }
    for _ in 0..2 {
        let post = rig.post();
        rig.busy(&post, 429, secs(30));
    }

    let other = rig.call("other");

    let post = rig.post();
    rig.reply(&post, "{}");
    assert_eq!(rig.result(other), "{}");
}

#[test]
fn late_word_of_a_hook_that_took_too_long_is_not_the_answer_to_the_next_question() {
    let mut rig = Rig::connected();
    rig.call("one");
    let post = rig.post();
    rig.challenge(&post);
    rig.bring_credentials(Ok(()));
    rig.post();
    let id = rig.call("two");
    let post = rig.post();
    rig.challenge(&post);

    let old = CredentialsId::new(0);
    rig.link.handle_credentials(rig.now, old, Err(NoCredentials::new()));
    rig.pump();

    assert!(rig.is_open(id));
}

#[test]
fn a_hint_beyond_a_waiters_own_time_ends_it_now_unsent() {
    let mut rig = Rig::connected();
    rig.call("busy");
    let post = rig.post();
    rig.busy(&post, 503, secs(120));

    let id = rig.list();

    assert_eq!(rig.kind(id), Kind::Rejected { status: 503 });
    assert_eq!(rig.error(id).delivery, Delivery::NotSent);
    assert_eq!(rig.error(id).retry_after, Some(secs(120)));
}

#[test]
fn an_absurd_hint_holds_later_calls_for_an_hour_and_no_longer() {
    let mut rig = Rig::connected();
    rig.call("busy");
    let post = rig.post();
    rig.busy(&post, 503, secs(u64::MAX));

    rig.advance(secs(2000));
    let early = rig.call("early");
    rig.advance(secs(1601));
    rig.sent.clear();
    let late = rig.call("late");

    assert_eq!(rig.error(early).delivery, Delivery::NotSent);
    assert!(rig.is_open(late), "it is sent, once the server has answered");
    rig.advance_to_send();
    let question = rig.post();
    rig.reply(&question, "{}");
    let post = rig.call_sent();
    rig.reply(&post, "{}");
    assert_eq!(rig.result(late), "{}");
}

#[test]
fn a_long_line_of_calls_that_a_hint_ends_at_once_does_not_exhaust_the_stack() {
    let policy = ridethrough_core::RetryPolicy::default().builder().in_flight(1).build().unwrap();
    let mut rig = Rig::with_policy(policy);
    rig.connect();
    rig.call("busy");
    let post = rig.post();
    let waiting: Vec<_> = (0..100_000).map(|_| rig.list()).collect();
    rig.busy(&post, 503, secs(120));

    rig.cancel(ridethrough_core::ExchangeId::new(2));

    assert!(waiting.iter().all(|id| rig.kind(*id) == Kind::Rejected { status: 503 }));
}

#[test]
fn resumes_cancels_probes_and_renewal_are_never_gated() {
    let mut rig = Rig::connected();
    let streaming = rig.call("stream");
    let stream = rig.post();
    rig.open(&stream);
    rig.event_id(&stream, "e1", "");
    rig.call("busy");
    let post = rig.post();
    rig.busy(&post, 503, secs(60));

    rig.end(&stream);
    rig.advance(millis(200));

    rig.get();
    rig.cancel(streaming);
    assert_eq!(method(&rig.post()).as_deref(), Some("notifications/cancelled"));
}

#[test]
fn what_we_are_known_by_is_masked_in_the_words_of_the_server() {
    let mut rig = Rig::connected();
    rig.link.secrets().keep("tok-4711");
    let id = rig.call("deploy");
    let post = rig.post();

    rig.answer(&post, 400, Content::Other, "bearer tok-4711 may not deploy");

    let told = rig.error(id).to_string();
    assert!(told.contains("bearer ... may not deploy"), "{told}");
}

fn scope_head() -> ridethrough_core::AnswerHead {
    let mut head = head(403, Content::Nothing);
    head.challenge = Some(Challenge::scope("admin"));
    head
}
