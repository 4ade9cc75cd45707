//! Rows 2, 3, 4, 15 to 18, 20, 21 and 24: the answers to a POST, and the ends of a call.

use ridethrough_core::failure::Failure;
use ridethrough_core::head::{Content, Redirect};
use ridethrough_core::{
    CallOptions, Cause, Delivered, Delivery, Event, Kind, ReplayRule, RetryPolicy, TrustHints,
};
use ridethrough_wire::message::Answer;

use crate::rig::{Rig, body, head, json, method, millis, secs, wire_id};

#[test]
fn a_429_or_425_is_waited_out_and_sent_again() {
    for status in [429, 425] {
        let mut rig = Rig::connected();
        let id = rig.call("deploy");
        let post = rig.post();

        rig.busy(&post, status, secs(7));

        let waited = rig.advance_to_send();
        assert!(waited >= secs(7), "a hint is never undercut: {waited:?}");
        let again = rig.post();
        assert_ne!(wire_id(&again), wire_id(&post), "a re-send takes a new id");
        rig.reply(&again, "{}");
        assert_eq!(rig.result(id), "{}");
    }
}

#[test]
fn a_safe_call_is_repeated_for_as_long_as_the_policy_is_patient() {
    for status in [408, 502, 503, 504, 520, 521, 522, 524, 525, 527, 529, 530] {
        let mut rig = Rig::connected();
        let id = rig.list();

        while rig.is_open(id) {
            let place = rig.sent.iter().position(|it| method(it).as_deref() == Some("tools/list"));
            match place.and_then(|place| rig.sent.remove(place)) {
                Some(post) => rig.status(&post, status),
                None => rig.advance(millis(100)),
            }
        }

        let error = rig.error(id);
        assert_eq!(error.kind, Kind::Interrupted, "{status}");
        assert!((secs(20)..=secs(31)).contains(&error.elapsed), "{status}: {:?}", error.elapsed);
        assert!((6..=16).contains(&error.attempts), "{status}: {} attempts", error.attempts);
    }
}

#[test]
fn an_outage_shorter_than_the_patience_costs_no_safe_call() {
    let mut rig = Rig::connected();
    let id = rig.list();

    while rig.is_open(id) {
        let place = rig.sent.iter().position(|it| method(it).as_deref() == Some("tools/list"));
        match place.and_then(|place| rig.sent.remove(place)) {
            Some(post) if rig.now.elapsed() < secs(15) => rig.status(&post, 502),
            Some(post) => rig.reply(&post, "{}"),
            None => rig.advance(millis(100)),
        }
    }

    assert_eq!(rig.result(id), "{}");
}

#[test]
fn a_hint_longer_than_what_is_left_of_the_calls_time_ends_it_now() {
    let mut rig = Rig::connected();
    let id = rig.list();
    let post = rig.post();

    rig.busy(&post, 429, secs(61));

    assert_eq!(rig.kind(id), Kind::Rejected { status: 429 });
    assert_eq!(rig.error(id).retry_after, Some(secs(61)));
    assert_eq!(rig.error(id).delivery, Delivery::Refused);
    assert_eq!(rig.error(id).elapsed, secs(0));
}

#[test]
fn any_number_the_server_gives_is_checked_arithmetic() {
    let mut rig = Rig::connected();
    let id = rig.call("deploy");
    let post = rig.post();

    rig.busy(&post, 503, std::time::Duration::MAX);

    assert_eq!(rig.kind(id), Kind::Interrupted);
    assert_eq!(rig.error(id).retry_after, Some(std::time::Duration::MAX));
}

#[test]
fn an_unsafe_call_answered_502_504_408_or_bare_503_stops() {
    for status in [502, 504, 408, 503] {
        let mut rig = Rig::connected();
        let id = rig.call("deploy");
        let post = rig.post();

        rig.status(&post, status);

        assert_eq!(rig.kind(id), Kind::Interrupted);
        assert!(rig.error(id).may_have_run());
        rig.advance(secs(700));
        rig.nothing_sent();
    }
}

#[test]
fn an_unsafe_call_whose_connection_broke_before_the_head_stops() {
    for cause in [Cause::Reset, Cause::Closed] {
        let mut rig = Rig::connected();
        let id = rig.call("deploy");
        let post = rig.post();

        rig.fail(&post, Failure::unknown(cause));

        assert_eq!(rig.kind(id), Kind::Interrupted);
        assert!(rig.error(id).may_have_run());
        assert_eq!(rig.error(id).attempts, 1);
    }
}

#[test]
fn a_safe_call_that_may_have_arrived_is_sent_again() {
    let mut rig = Rig::connected();
    let id = rig.list();
    let post = rig.post();

    rig.reset(&post);
    rig.advance_to_send();

    let cancelled = rig.post();
    assert_eq!(method(&cancelled).as_deref(), Some("notifications/cancelled"));
    assert!(body(&cancelled).contains(&format!(r#""requestId":{}"#, wire_id(&post))));
    let again = rig.post();
    assert_ne!(wire_id(&again), wire_id(&post));
    rig.reply(&again, r#"{"tools":[]}"#);
    assert_eq!(rig.result(id), r#"{"tools":[]}"#);
}

#[test]
fn the_operator_may_declare_statuses_that_never_ran() {
    let policy = RetryPolicy::default()
        .builder()
        .assume_unexecuted([http::StatusCode::BAD_GATEWAY])
        .build()
        .unwrap();
    let mut rig = Rig::with_policy(policy);
    rig.connect();
    let id = rig.call("deploy");
    let post = rig.post();

    rig.status(&post, 502);
    rig.advance_to_send();
    let again = rig.post();
    rig.reply(&again, "{}");

    assert_eq!(rig.result(id), "{}");
}

#[test]
fn a_tool_that_calls_itself_read_only_is_sent_again_and_an_idempotent_one_only_if_trusted() {
    for (trust, tool, repeats) in [
        (TrustHints::ReadOnly, "look", true),
        (TrustHints::ReadOnly, "put", false),
        (TrustHints::All, "put", true),
        (TrustHints::None, "look", false),
    ] {
        let policy = RetryPolicy::default().builder().trust_hints(trust).build().unwrap();
        let mut rig = Rig::with_policy(policy);
        rig.connect();
        learn_tools(&mut rig);
        let id = rig.call(tool);
        let post = rig.post();

        rig.status(&post, 502);

        assert_eq!(rig.is_open(id), repeats, "{trust:?} {tool}");
    }
}

#[test]
fn annotations_are_learnt_again_after_the_list_changed() {
    let mut rig = Rig::connected();
    rig.refuses_listener = false;
    learn_tools(&mut rig);
    let carrier = rig.call("deploy");
    let stream = rig.post();
    rig.open(&stream);
    rig.event(&stream, r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#);

    let id = rig.call("look");
    let post = rig.post();
    rig.status(&post, 502);

    assert_eq!(rig.kind(id), Kind::Interrupted, "what it said of itself is void");
    learn_tools(&mut rig);
    let id = rig.call("look");
    let post = rig.post();
    rig.status(&post, 502);
    assert!(rig.is_open(id), "learnt again");
    assert!(rig.is_open(carrier));
}

#[test]
fn a_call_that_the_caller_marked_repeatable_is_sent_again() {
    let mut rig = Rig::connected();
    let options = CallOptions { replay: ReplayRule::Repeatable, ..CallOptions::default() };
    let id = rig.call_with("deploy", options);
    let post = rig.post();

    rig.status(&post, 502);

    assert!(rig.is_open(id));
}

#[test]
fn any_other_status_stops_and_leaves_doubt_unless_it_means_not_carried_out() {
    for (status, delivery) in [
        (400, Delivery::Unknown),
        (402, Delivery::Unknown),
        (403, Delivery::Unknown),
        (405, Delivery::Unknown),
        (406, Delivery::Unknown),
        (407, Delivery::Refused),
        (409, Delivery::Unknown),
        (413, Delivery::Unknown),
        (415, Delivery::Refused),
        (421, Delivery::Refused),
        (422, Delivery::Unknown),
        (428, Delivery::Unknown),
        (431, Delivery::Refused),
        (501, Delivery::Unknown),
    ] {
        let mut rig = Rig::connected();
        let id = rig.list();
        let post = rig.post();

        rig.status(&post, status);

        assert_eq!(rig.kind(id), Kind::Rejected { status });
        assert_eq!(rig.error(id).delivery, delivery);
    }
}

#[test]
fn a_json_rpc_error_in_the_body_is_the_answer_and_passes_through() {
    for status in [400, 403, 500, 502] {
        let mut rig = Rig::connected();
        let id = rig.call("deploy");
        let post = rig.post();

        rig.refuse(&post, status, -32000, "no");

        assert!(matches!(rig.finished[&id], Ok(Answer::Error(_))), "{status}");
    }
}

#[test]
fn an_error_with_a_null_or_missing_id_is_the_answer_to_the_request_it_answers() {
    for text in [
        r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"bad"}}"#,
        r#"{"jsonrpc":"2.0","error":{"code":-32600,"message":"bad"}}"#,
    ] {
        let mut rig = Rig::connected();
        let id = rig.call("deploy");
        let post = rig.post();

        rig.answer(&post, 400, Content::Json, text);

        assert!(matches!(rig.finished[&id], Ok(Answer::Error(_))));
    }
}

#[test]
fn the_answer_is_handed_over_at_once_and_the_stream_is_drained_behind_it() {
    let mut rig = Rig::connected();
    let id = rig.call("deploy");
    let post = rig.post();
    rig.open(&post);

    rig.event_result(&post, &post, r#"{"ok":true}"#);

    assert_eq!(rig.result(id), r#"{"ok":true}"#);
    assert_eq!(rig.drained, [post.attempt]);
    assert!(rig.aborted.is_empty());
}

#[test]
fn an_error_is_as_final_as_a_result() {
    let mut rig = Rig::connected();
    let id = rig.call("deploy");
    let post = rig.post();
    rig.open(&post);
    rig.event_id(&post, "1", "");

    rig.event(
        &post,
        &format!(r#"{{"id":{},"error":{{"code":-1,"message":"failed"}}}}"#, wire_id(&post)),
    );
    rig.reset(&post);
    rig.advance(secs(700));

    assert!(matches!(rig.finished[&id], Ok(Answer::Error(_))));
    rig.nothing_sent();
}

#[test]
fn nothing_happens_for_an_exchange_after_its_final_answer() {
    let mut rig = Rig::connected();
    let id = rig.call("deploy");
    let post = rig.post();
    rig.open(&post);
    rig.retry(&post, "1", millis(0));
    rig.event_result(&post, &post, "1");

    rig.event_result(&post, &post, "2");
    rig.event(&post, r#"{"method":"notifications/message","params":{}}"#);
    rig.reset(&post);
    rig.advance(secs(700));

    assert_eq!(rig.result(id), "1");
    assert!(rig.delivered.is_empty());
    rig.nothing_sent();
}

#[test]
fn an_event_that_is_no_json_rpc_is_skipped_and_not_resumed_past() {
    let mut rig = Rig::connected();
    let id = rig.call("deploy");
    let post = rig.post();
    rig.open(&post);
    rig.event_id(&post, "good", "");

    rig.event_id(&post, "bad", "what?");

    assert!(rig.told.contains(&Event::UnreadableEvent));
    rig.reset(&post);
    rig.advance_to_send();
    let resume = rig.get();
    assert_eq!(crate::rig::resumes_after(&resume), Some("good"));
    assert!(rig.is_open(id));
}

#[test]
fn a_body_that_is_no_json_rpc_stops_the_call() {
    for text in ["what?", "{}", "[1]"] {
        let mut rig = Rig::connected();
        let id = rig.call("deploy");
        let post = rig.post();

        rig.answer(&post, 200, Content::Json, text);

        assert_eq!(rig.kind(id), Kind::PeerMisbehaved);
        assert!(rig.error(id).may_have_run());
    }
}

#[test]
fn any_stream_of_a_generation_may_carry_any_calls_answer() {
    let mut rig = Rig::connected();
    let (first, second) = (rig.call("one"), rig.call("two"));
    let (one, two) = (rig.post(), rig.post());
    rig.open(&one);
    rig.open(&two);

    rig.event_result(&one, &two, "2");
    rig.event_result(&two, &one, "1");
    rig.event_result(&one, &one, "1");

    assert_eq!((rig.result(first), rig.result(second)), ("1", "2"));
}

#[test]
fn the_first_of_two_answers_to_one_request_counts() {
    for in_stream in [true, false] {
        let mut rig = Rig::connected();
        let id = rig.call("deploy");
        let post = rig.post();
        let wire_id = wire_id(&post);
        let answer = |n: u8| format!(r#"{{"jsonrpc":"2.0","id":{wire_id},"result":{{"n":{n}}}}}"#);
        let batch = format!("[{},{}]", answer(1), answer(2));

        if in_stream {
            rig.open(&post);
            rig.event(&post, &batch);
        } else {
            rig.answer(&post, 200, Content::Json, &batch)
        }

        assert_eq!(rig.result(id), r#"{"n":1}"#, "{in_stream}");
    }
}

#[test]
fn a_batch_of_2025_03_26_brings_the_answer_and_all_that_came_with_it() {
    for is_stream in [false, true] {
        let mut rig = Rig::connected();
        let (first, second) = (rig.call("one"), rig.call("two"));
        let (one, two) = (rig.post(), rig.post());
        let batch = format!(
            r#"[{{"id":{},"result":1}},{{"method":"notifications/message"}},{{"id":{},"result":2}}]"#,
            wire_id(&one),
            wire_id(&two)
        );

        if is_stream {
            rig.open(&one);
            rig.event(&one, &batch);
        } else {
            rig.answer(&one, 200, Content::Json, &batch);
        }

        assert_eq!((rig.result(first), rig.result(second)), ("1", "2"));
        assert_eq!(rig.delivered.len(), 1);
    }
}

#[test]
fn an_answer_to_an_unknown_id_is_ignored_and_told() {
    let mut rig = Rig::connected();
    let id = rig.call("deploy");
    let post = rig.post();
    rig.open(&post);

    rig.event(&post, r#"{"jsonrpc":"2.0","id":999999,"result":{}}"#);

    assert!(rig.is_open(id));
    assert!(rig.told.contains(&Event::StrayAnswer));
}

#[test]
fn a_request_that_is_only_accepted_is_given_10_s_for_its_answer_to_come_elsewhere() {
    let mut rig = Rig::connected();
    let (waiting, carrier) = (rig.call("one"), rig.call("two"));
    let (one, two) = (rig.post(), rig.post());
    rig.open(&two);
    rig.status(&one, 202);
    rig.advance(secs(9));
    rig.event_result(&two, &one, "1");
    assert_eq!(rig.result(waiting), "1");

    let never = rig.call("three");
    let three = rig.post();
    rig.status(&three, 202);
    rig.advance(secs(10));

    assert_eq!(rig.kind(never), Kind::PeerMisbehaved);
    assert!(rig.error(never).may_have_run());
    assert!(rig.is_open(carrier));
}

#[test]
fn a_wrong_content_type_or_an_answer_over_the_limit_stops_the_call() {
    let mut rig = Rig::connected();
    let html = rig.call("deploy");
    let post = rig.post();
    rig.answer(&post, 200, Content::Html, "<html>");
    assert_eq!(rig.kind(html), Kind::PeerMisbehaved);

    let large = rig.list();
    let post = rig.post();
    rig.open(&post);
    rig.fail(&post, Failure::unknown(Cause::TooLarge));
    assert_eq!(rig.kind(large), Kind::TooLarge);
    assert!(rig.error(large).may_have_run());
}

#[test]
fn the_deadline_ends_a_call_and_the_server_is_told() {
    let mut rig = Rig::connected();
    let id = rig.list();
    let post = rig.post();
    rig.open(&post);
    while rig.is_open(id) {
        rig.advance(secs(10));
        rig.link.handle_bytes(rig.now, post.attempt);
    }

    assert_eq!(rig.kind(id), Kind::DeadlinePassed);
    assert_eq!(rig.error(id).elapsed, secs(60));
    assert!(rig.error(id).may_have_run());
    let cancelled = rig.post();
    assert_eq!(method(&cancelled).as_deref(), Some("notifications/cancelled"));
    assert_eq!(rig.aborted, [post.attempt]);
}

#[test]
fn no_wait_makes_a_call_outlive_its_deadline() {
    let options = CallOptions { deadline: Some(secs(3)), ..CallOptions::default() };
    let mut rig = Rig::connected();
    let accepted = rig.call_with("one", options.clone());
    let post = rig.post();
    rig.status(&post, 202);
    let silent = rig.call_with("two", options.clone());
    let stream = rig.post();
    rig.open(&stream);
    let unsent = rig.call_with("three", options);
    let post = rig.post();
    rig.refuse_connection(&post);

    rig.advance(secs(60));

    for id in [accepted, silent, unsent] {
        assert_eq!(rig.kind(id), Kind::DeadlinePassed);
        assert_eq!(rig.error(id).elapsed, secs(3));
    }
}

#[test]
fn a_tool_call_has_10_minutes_and_every_other_method_60_s() {
    let mut rig = Rig::connected();
    let (tool, other) = (rig.call("deploy"), rig.list());
    for _ in 0..2 {
        let post = rig.post();
        rig.open(&post);
    }

    rig.sent.clear();
    keep_alive_for(&mut rig, 700);

    assert_eq!(rig.error(other).elapsed, secs(60));
    assert_eq!(rig.error(tool).elapsed, secs(600));
}

#[test]
fn progress_extends_the_deadline_under_an_absolute_cap() {
    let mut rig = Rig::connected();
    let extension = ridethrough_core::Extension { by: secs(50), cap: secs(100) };
    let options = CallOptions {
        deadline: Some(secs(50)),
        extension: Some(extension),
        progress: true,
        ..CallOptions::default()
    };
    let id = rig.call_with("deploy", options);
    let post = rig.post();
    rig.open(&post);

    for step in 1..=3 {
        rig.advance(secs(40));
        let token = wire_id(&post);
        rig.event(
            &post,
            &format!(
                r#"{{"method":"notifications/progress","params":{{"progressToken":{token},"progress":{step}}}}}"#
            ),
        );
    }

    assert_eq!(rig.kind(id), Kind::DeadlinePassed);
    assert_eq!(rig.error(id).elapsed, secs(100));
}

#[test]
fn a_cancelled_call_ends_at_once_and_the_server_is_told_if_it_may_have_the_request() {
    let mut rig = Rig::connected();
    let id = rig.call("deploy");
    let post = rig.post();

    rig.cancel(id);

    assert_eq!(rig.kind(id), Kind::Cancelled);
    assert!(rig.error(id).may_have_run());
    let cancelled = rig.post();
    assert!(body(&cancelled).contains(&format!(r#"{{"requestId":{}}}"#, wire_id(&post))));
    assert_eq!(rig.aborted, [post.attempt]);
}

#[test]
fn a_call_that_was_cancelled_before_it_was_sent_is_not_mentioned_to_the_server() {
    let mut rig = Rig::new();
    rig.plays_handshake = false;
    let id = rig.call("deploy");
    rig.post();

    rig.cancel(id);

    assert_eq!(rig.kind(id), Kind::Cancelled);
    assert_eq!(rig.error(id).delivery, Delivery::NotSent);
    rig.nothing_sent();
}

#[test]
fn a_cancel_wins_over_any_word_of_an_expired_session() {
    let mut rig = Rig::connected();
    let id = rig.call("deploy");
    let post = rig.post();
    rig.cancel(id);

    rig.refuse(&post, 404, -32001, "session expired");
    rig.advance(secs(60));

    assert_eq!(rig.kind(id), Kind::Cancelled);
    assert_eq!(rig.handshakes, 1);
}

#[test]
fn a_redirect_to_the_same_origin_is_followed_by_307_and_308_at_most_5_times() {
    let mut rig = Rig::connected();
    let id = rig.call("deploy");
    for n in 0..5 {
        let post = rig.post();
        let mut head = head(if n % 2 == 0 { 307 } else { 308 }, Content::Nothing);
        head.redirect = Some(Redirect::SameOrigin(format!("/hop{n}").into()));
        rig.answer_with(&post, head, "");
    }

    let post = rig.post();
    assert_eq!(post.to.target.as_deref(), Some("/hop4"));
    let mut head = head(307, Content::Nothing);
    head.redirect = Some(Redirect::SameOrigin("/hop5".into()));
    rig.answer_with(&post, head, "");

    assert_eq!(rig.kind(id), Kind::Rejected { status: 307 });
}

#[test]
fn a_redirect_to_another_origin_or_by_another_status_stops_naming_the_target() {
    let other = |url: &str| Redirect::OtherOrigin(url.into());
    for (status, redirect, shown) in [
        (307, other("https://elsewhere.example/s3cret"), "https://elsewhere.example"),
        (308, other("http://s3cret:s3cret@a.example:81?s3cret"), "http://a.example:81"),
        (307, other("https://[::1]:8443\\s3cret"), "https://[::1]:8443"),
        (307, other("mailto:s3cret"), "another origin"),
        (307, other("https://a b/s3cret"), "another origin"),
        (302, Redirect::SameOrigin("/login?s3cret".into()), "/login"),
    ] {
        let mut rig = Rig::connected();
        let id = rig.call("deploy");
        let post = rig.post();
        let mut head = head(status, Content::Nothing);
        head.redirect = Some(redirect.clone());

        rig.answer_with(&post, head, "");

        assert_eq!(rig.kind(id), Kind::Rejected { status });
        let said = format!("{} {redirect:?}", rig.error(id));
        assert_eq!(said.matches(shown).count(), 2, "{said}");
        assert!(!said.contains("s3cret") && !said.contains('@'), "{said}");
        rig.nothing_sent();
    }
}

#[test]
fn a_hint_beside_a_502_or_on_a_broken_stream_is_waited_out_before_a_safe_call_is_repeated() {
    let mut rig = Rig::connected();
    rig.list();
    let post = rig.post();
    rig.busy(&post, 504, secs(20));
    assert!(rig.advance_to_send() >= secs(20));

    let mut rig = Rig::connected();
    rig.list();
    let post = rig.post();
    rig.open(&post);
    let retry = ridethrough_wire::sse::SseEvent {
        kind: None,
        data: bytes::Bytes::new(),
        id: None,
        retry: Some(secs(10)),
    };
    rig.raw_event(&post, &retry);
    rig.end(&post);
    assert!(rig.advance_to_send() >= secs(10));
}

#[test]
fn a_303_leaves_doubt_because_it_follows_a_request_that_was_processed() {
    let mut rig = Rig::connected();
    let id = rig.call("deploy");
    let post = rig.post();

    rig.status(&post, 303);

    assert_eq!(rig.kind(id), Kind::Rejected { status: 303 });
    assert_eq!(rig.error(id).delivery, Delivery::Unknown);
}

#[test]
fn progress_that_does_not_increase_is_dropped_and_carries_the_callers_token() {
    let mut rig = Rig::connected();
    let params = json(r#"{"name":"deploy","_meta":{"progressToken":"mine"}}"#);
    let request = ridethrough_core::Request {
        method: "tools/call".into(),
        params: Some(params),
        options: CallOptions::default(),
    };
    rig.send(request);
    let post = rig.post();
    rig.open(&post);

    for (progress, form) in [("1", ""), ("1", ""), ("0.5", ""), ("2", "\"")] {
        // Servers echo the token as a number or as a text.
        let token = format!("{form}{}{form}", wire_id(&post));
        rig.event(
            &post,
            &format!(
                r#"{{"method":"notifications/progress","params":{{"progressToken":{token},"progress":{progress}}}}}"#
            ),
        );
    }

    let told: Vec<_> = rig
        .delivered
        .iter()
        .filter_map(|each| match each {
            Delivered::Notification { params, .. } => params.as_ref().map(|it| it.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(
        told,
        [r#"{"progressToken":"mine","progress":1}"#, r#"{"progressToken":"mine","progress":2}"#]
    );
}

#[test]
fn the_retry_budget_limits_how_fast_calls_are_repeated_and_not_how_long_they_hope() {
    let mut rig = Rig::connected();
    // Each of these takes a token; the burst is 100, and ten come in a second.
    let ids: Vec<_> = (0..150).map(|_| rig.list()).collect();
    let posts: Vec<_> = (0..150).map(|_| rig.post()).collect();
    for post in &posts {
        rig.status(post, 502);
    }

    let is_list = |it: &&ridethrough_core::Outgoing| method(it).as_deref() == Some("tools/list");
    rig.advance(millis(150));
    assert!(rig.sent.iter().filter(is_list).count() <= 102);
    rig.advance(secs(6));

    assert_eq!(rig.sent.iter().filter(is_list).count(), 150);
    assert!(ids.iter().all(|id| rig.is_open(*id)));
}

#[test]
fn a_budget_that_fills_too_late_for_a_call_ends_it_and_counts_no_strike() {
    let policy = RetryPolicy::default().builder().in_flight(1000).build().unwrap();
    let mut rig = Rig::with_policy(policy);
    rig.connect();
    // The budget holds 100 tokens, and gets 300 more within the half minute that a call waits.
    let ids: Vec<_> = (0..450).map(|_| rig.list()).collect();
    let posts: Vec<_> = (0..450).map(|_| rig.post()).collect();
    for post in &posts {
        rig.status(post, 502);
    }

    let exhausted: Vec<_> = ids.iter().filter(|id| !rig.is_open(**id)).collect();

    assert_eq!(exhausted.len(), 50);
    let last = **exhausted.last().unwrap();
    assert_eq!(rig.kind(last), Kind::Exhausted);
    assert!(rig.error(last).to_string().contains("budget"));
    assert_eq!(rig.link.status(rig.now).breaker, ridethrough_core::breaker::BreakerState::Closed);
}

#[test]
fn calls_beyond_the_limit_in_flight_wait_in_order() {
    let policy = RetryPolicy::default().builder().in_flight(2).build().unwrap();
    let mut rig = Rig::with_policy(policy);
    rig.connect();
    let ids: Vec<_> = (0..4).map(|_| rig.call("deploy")).collect();
    let (one, two) = (rig.post(), rig.post());
    rig.nothing_sent();

    rig.reply(&two, "2");
    let three = rig.post();
    rig.reply(&three, "3");
    let four = rig.post();
    rig.reply(&four, "4");
    rig.reply(&one, "1");

    let results: Vec<_> = ids.iter().map(|id| rig.result(*id)).collect();
    assert_eq!(results, ["1", "2", "3", "4"]);
}

#[test]
fn the_connections_own_capacity_limits_calls_in_flight_but_never_raises_the_limit() {
    let policy = RetryPolicy::default().builder().in_flight(2).build().unwrap();
    let mut rig = Rig::with_policy(policy);
    rig.connect();
    rig.link.handle_capacity(rig.now, 1);
    for _ in 0..4 {
        rig.call("deploy");
    }
    assert_eq!(rig.sent.len(), 1);

    rig.link.handle_capacity(rig.now, 100);
    rig.pump();

    assert_eq!(rig.sent.len(), 2);
}

#[test]
fn control_messages_bypass_the_limit_in_flight() {
    let policy = RetryPolicy::default().builder().in_flight(1).build().unwrap();
    let mut rig = Rig::with_policy(policy);
    rig.connect();
    rig.call("deploy");
    rig.post();
    let queued = rig.call("deploy");
    rig.nothing_sent();

    rig.link.notify(rig.now, "notifications/roots/list_changed", None);
    rig.pump();

    assert_eq!(method(&rig.post()).as_deref(), Some("notifications/roots/list_changed"));
    assert!(rig.is_open(queued));
}

fn learn_tools(rig: &mut Rig) {
    rig.list();
    let post = rig.post();
    rig.reply(
        &post,
        r#"{"tools":[{"name":"look","annotations":{"readOnlyHint":true}},
                     {"name":"put","annotations":{"idempotentHint":true}},{"name":"deploy"}]}"#,
    );
}

fn keep_alive_for(rig: &mut Rig, secs: u64) {
    for _ in 0..secs / 10 {
        rig.advance(self::secs(10));
        // Every request is answered, so that only the deadline can end a call.
        while let Some(request) = rig.sent.pop_front() {
            if method(&request).as_deref() == Some("ping") {
                rig.reply(&request, "{}");
            }
        }
    }
}
