//! E3: what proves that a call did not run. What stands between client and server answers after the run, too.

use std::time::Duration;

use ridethrough_core::head::{Challenge, Content, Redirect};
use ridethrough_core::{
    AnswerHead, CallOptions, Delivery, Event, ExchangeId, Kind, NoCredentials, Outgoing, Request,
    RetryPolicy, Unexecuted,
};
use ridethrough_wire::message::Answer;

use crate::rig::{Rig, head, json, method, secs, wire_id};

#[test]
fn a_503_with_a_hint_leaves_an_unsafe_call_in_doubt_and_closes_the_gate() {
    let mut rig = Rig::connected();
    let id = rig.call("deploy");
    let post = rig.post();

    rig.busy(&post, 503, secs(7));

    assert_eq!(rig.kind(id), Kind::Interrupted);
    assert!(rig.error(id).may_have_run());
    assert_eq!(rig.error(id).retry_after, Some(secs(7)));
    rig.list();
    rig.nothing_sent();
    assert!(rig.told.iter().any(|it| matches!(it, Event::GateClosed { call: None, .. })));
}

#[test]
fn a_503_that_says_of_our_id_that_nothing_ran_is_waited_out_and_sent_again() {
    let mut rig = Rig::connected();
    let id = rig.call("deploy");
    let post = rig.post();

    rig.answer_with(
        &post,
        asking_for_time(503, secs(2)),
        &refusal(&post, r#","data":{"mayHaveRun":false}"#),
    );

    assert!(rig.advance_to_send() >= secs(2));
    let again = rig.post();
    rig.reply(&again, "{}");
    assert_eq!(rig.result(id), "{}");
}

#[test]
fn a_503_whose_error_does_not_say_that_nothing_ran_ends_an_unsafe_call_with_that_error() {
    for data in ["", r#","data":{"mayHaveRun":true}"#, r#","data":{"mayHaveRun":"no"}"#] {
        let mut rig = Rig::connected();
        let id = rig.call("deploy");
        let post = rig.post();

        rig.answer_with(&post, asking_for_time(503, secs(2)), &refusal(&post, data));

        assert!(matches!(rig.finished[&id], Ok(Answer::Error(_))), "{data}");
        rig.advance(secs(60));
        assert!(!rig.sent.iter().any(is_call), "{data}");
    }
}

#[test]
fn a_safe_call_waits_out_a_503_with_a_hint_and_is_sent_again() {
    let mut rig = Rig::connected();
    let id = rig.list();
    let post = rig.post();

    rig.busy(&post, 503, secs(7));

    let waited = rig.advance_to_send();
    assert!(waited >= secs(7), "a hint is never undercut: {waited:?}");
    let again = rig.call_sent();
    assert_ne!(wire_id(&again), wire_id(&post), "a re-send takes a new id");
    rig.reply(&again, "{}");
    assert_eq!(rig.result(id), "{}");
}

#[test]
fn what_filters_and_configured_pages_say_after_the_run_is_no_proof() {
    for status in [403, 405, 413, 428] {
        let mut rig = Rig::connected();
        let id = rig.call("deploy");
        let post = rig.post();

        rig.answer(&post, status, Content::Html, "<h1>no</h1>");

        assert_eq!(rig.kind(id), Kind::Rejected { status });
        assert!(rig.error(id).may_have_run(), "{status}");
        rig.advance(secs(700));
        rig.nothing_sent();
    }
}

#[test]
fn a_413_proves_something_of_a_large_request_only() {
    for (size, delivery) in [(1_000, Delivery::Unknown), (70_000, Delivery::Refused)] {
        let mut rig = Rig::connected();
        let params =
            format!(r#"{{"name":"deploy","arguments":{{"text":"{}"}}}}"#, "x".repeat(size));
        let id = send(&mut rig, &params);
        let post = rig.post();

        rig.status(&post, 413);

        assert_eq!(rig.error(id).delivery, delivery, "{size}");
    }
}

#[test]
fn a_redirect_whose_target_refuses_leaves_an_unsafe_call_in_doubt() {
    for refused in [
        head(405, Content::Html),
        asking_for_time(429, secs(1)),
        asking_for_time(503, secs(1)),
        challenging(401, Challenge::credentials()),
        challenging(403, Challenge::scope("admin")),
    ] {
        let mut rig = Rig::connected();
        let id = rig.call("deploy");
        let post = rig.post();
        rig.answer_with(&post, redirect(), "");
        let followed = rig.post();
        assert_eq!(followed.to.target.as_deref(), Some("/m.html"));

        let status = refused.status;
        rig.answer_with(&followed, refused, "");

        assert!(rig.error(id).may_have_run(), "{status}");
        rig.advance(secs(700));
        assert!(!rig.sent.iter().any(is_call), "{status}: it may have run before the redirect");
    }
}

#[test]
fn a_redirect_whose_target_answers_costs_nothing() {
    let mut rig = Rig::connected();
    let id = rig.call("deploy");
    let post = rig.post();
    rig.answer_with(&post, redirect(), "");

    let followed = rig.post();
    rig.reply(&followed, "{}");

    assert_eq!(rig.result(id), "{}");
    rig.nothing_sent();
}

#[test]
fn a_bare_401_is_believed_once_a_harmless_request_is_refused_likewise() {
    let mut rig = Rig::connected();
    let ids = [rig.call("one"), rig.call("two")];
    let posts = [rig.post(), rig.post()];
    posts.iter().for_each(|post| rig.status(post, 401));
    let question = rig.post();
    assert_eq!(method(&question).as_deref(), Some("ping"));
    rig.nothing_sent();

    rig.status(&question, 401);

    assert_eq!((rig.credentials_asked, rig.is_suspicion), (1, false));
    rig.bring_credentials(Ok(()));
    for id in ids {
        let again = rig.post();
        assert!(again.credentials > question.credentials);
        rig.reply(&again, "{}");
        assert_eq!(rig.result(id), "{}");
    }
}

#[test]
fn a_bare_401_of_a_server_that_answers_otherwise_leaves_an_unsafe_call_in_doubt() {
    for answers in [true, false] {
        let mut rig = Rig::connected();
        let id = rig.call("deploy");
        let post = rig.post();
        rig.status(&post, 401);
        let question = rig.post();

        if answers {
            rig.reply(&question, "{}")
        } else {
            rig.status(&question, 502)
        }

        assert_eq!(rig.kind(id), Kind::Unauthorized);
        assert!(rig.error(id).may_have_run());
        assert_eq!(rig.credentials_asked, 1, "later calls may do better");
        assert!(rig.is_suspicion, "a hook must not send a person to log in");
        rig.bring_credentials(Ok(()));
        rig.nothing_sent();
    }
}

#[test]
fn a_bare_401_of_one_call_ends_no_other_where_no_better_credentials_can_be_had() {
    let mut rig = Rig::connected();
    rig.call("deploy");
    let post = rig.post();
    rig.status(&post, 401);
    let question = rig.post();
    rig.reply(&question, "{}");
    let id = rig.call("other");

    rig.bring_credentials(Err(NoCredentials::new()));

    let post = rig.post();
    rig.reply(&post, "{}");
    assert_eq!(rig.result(id), "{}");
}

#[test]
fn a_late_bare_401_of_credentials_that_were_never_asked_about_is_in_doubt() {
    let mut rig = Rig::connected();
    let id = rig.call("late");
    let late = rig.post();
    rig.list();
    let post = rig.post();
    rig.challenge(&post);
    rig.bring_credentials(Ok(()));

    rig.status(&late, 401);

    assert_eq!(rig.kind(id), Kind::Unauthorized);
    assert!(rig.error(id).may_have_run());
}

#[test]
fn a_safe_call_that_got_a_bare_401_goes_out_again_whatever_the_question_says() {
    for brought in [Ok(()), Err(NoCredentials::new())] {
        let mut rig = Rig::connected();
        let id = rig.list();
        let post = rig.post();
        rig.status(&post, 401);
        let question = rig.post();
        rig.reply(&question, "{}");
        assert!(rig.is_suspicion, "the server lives under these credentials");

        rig.bring_credentials(brought);

        let again = rig.call_sent();
        rig.reply(&again, "{}");
        assert_eq!(rig.result(id), "{}");
    }
}

#[test]
fn a_safe_call_that_alone_gets_a_bare_401_ends_at_the_second() {
    let mut rig = Rig::connected();
    let id = rig.list();
    for _ in 0..2 {
        let post = rig.call_sent();
        rig.status(&post, 401);
        rig.sent.retain(|it| method(it).as_deref() != Some("notifications/cancelled"));
        let question = rig.post();
        rig.reply(&question, "{}");
        rig.bring_credentials(Err(NoCredentials::new()));
    }

    assert_eq!(rig.kind(id), Kind::Unauthorized);
    rig.nothing_sent();
}

#[test]
fn a_hook_that_was_asked_on_a_suspicion_is_asked_again_once_it_is_certain() {
    let mut rig = Rig::connected();
    rig.call("deploy");
    let post = rig.post();
    let late = rig.call("late");
    let sent = rig.post();
    rig.status(&post, 401);
    let question = rig.post();
    rig.reply(&question, "{}");
    assert!(rig.is_suspicion);
    rig.challenge(&sent);
    assert_eq!(rig.credentials_asked, 1, "the hook is at work");

    rig.bring_credentials(Err(NoCredentials::new()));

    assert_eq!((rig.credentials_asked, rig.is_suspicion), (2, false));
    rig.bring_credentials(Err(NoCredentials::new()));
    assert_eq!(rig.kind(late), Kind::Unauthorized);
}

#[test]
fn the_operator_may_declare_an_announced_outage_harmless() {
    let mut rig = Rig::with_policy(assuming([Unexecuted::AnnouncedOutage]));
    rig.connect();
    let id = rig.call("deploy");
    let post = rig.post();

    rig.busy(&post, 503, secs(2));

    assert!(rig.advance_to_send() >= secs(2));
    let again = rig.post();
    rig.status(&again, 503);
    assert_eq!(rig.kind(id), Kind::Interrupted, "a bare 503 was not declared");
    assert!(rig.error(id).may_have_run());
}

#[test]
fn of_a_4xx_that_the_operator_declares_harmless_only_the_words_change() {
    let mut rig = Rig::with_policy(assuming(["403".parse().unwrap()]));
    rig.connect();
    let id = rig.call("deploy");
    let post = rig.post();

    rig.status(&post, 403);

    assert_eq!(rig.error(id).delivery, Delivery::Refused);
    rig.nothing_sent();
}

fn send(rig: &mut Rig, params: &str) -> ExchangeId {
    let options = CallOptions::default();
    rig.send(Request { method: "tools/call".into(), params: Some(json(params)), options })
}

fn assuming(refusals: impl IntoIterator<Item = Unexecuted>) -> RetryPolicy {
    RetryPolicy::default().builder().assume_unexecuted(refusals).build().expect("they are allowed")
}

/// Returns the head of an answer that says when to come back.
fn asking_for_time(status: u16, hint: Duration) -> AnswerHead {
    let mut head = head(status, Content::Json);
    head.retry_after = Some(hint);
    head
}

fn challenging(status: u16, challenge: Challenge) -> AnswerHead {
    let mut head = head(status, Content::Nothing);
    head.challenge = Some(challenge);
    head
}

fn redirect() -> AnswerHead {
    let mut head = head(307, Content::Html);
    head.redirect = Some(Redirect::SameOrigin("/m.html".into()));
    head
}

/// Returns an error that names the request, with this after its message.
fn refusal(post: &Outgoing, data: &str) -> String {
    let id = wire_id(post);
    format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-32000,"message":"full"{data}}}}}"#)
}

fn is_call(request: &Outgoing) -> bool {
    method(request).as_deref() == Some("tools/call")
}
