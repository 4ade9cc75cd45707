//! Row 5, the renewal of sessions, and the ways in which servers report their loss.

use ridethrough_core::head::Content;
use ridethrough_core::{
    Cause, Delivered, Delivery, Event, Failure, Kind, Request, RetryPolicy, Verb,
};
use ridethrough_wire::message::Answer;

use crate::rig::{Rig, body, head, json, method, millis, secs, session, wire_id};

#[test]
fn a_lost_session_is_renewed_and_the_call_sent_again_once() {
    for method in [
        "tools/call",
        "resources/list",
        "resources/read",
        "prompts/list",
        "prompts/get",
        "completion/complete",
        "x/anything",
    ] {
        let mut rig = Rig::connected();
        let id = rig.request(method);
        let post = rig.post();

        rig.status(&post, 404);

        let again = rig.post();
        assert_eq!((session(&post), session(&again)), (Some("s1"), Some("s2")));
        rig.reply(&again, "{}");
        assert_eq!(rig.result(id), "{}");
        assert_eq!(rig.handshakes, 2);
    }
}

#[test]
fn one_renewal_serves_all_callers() {
    let mut rig = Rig::connected();
    rig.plays_handshake = false;
    let ids: Vec<_> = (0..100).map(|_| rig.call("deploy")).collect();
    let posts: Vec<_> = (0..100).map(|_| rig.post()).collect();

    for post in &posts {
        rig.status(post, 404);
    }

    let initialize = rig.post();
    assert!(initialize.to.session.is_none(), "a handshake names no session");
    rig.nothing_sent();
    rig.accept_initialize(&initialize, "s2");
    rig.pump();
    let initialized = rig.post();
    rig.status(&initialized, 202);
    for _ in 0..100 {
        let again = rig.post();
        assert_eq!(session(&again), Some("s2"));
        rig.reply(&again, "{}");
    }
    assert!(ids.iter().all(|id| rig.finished[id].is_ok()));
    assert_eq!(rig.handshakes, 2);
    assert_eq!(rig.credentials_asked, 0);
}

#[test]
fn lost_again_after_a_renewal_ends_the_call_and_starts_no_renewal() {
    let mut rig = Rig::connected();
    let id = rig.call("deploy");
    let post = rig.post();
    rig.status(&post, 404);
    let again = rig.post();

    rig.status(&again, 404);

    assert_eq!(rig.kind(id), Kind::SessionLost);
    assert_eq!(rig.error(id).delivery, Delivery::Refused);
    assert_eq!(rig.handshakes, 2);
    rig.call("deploy");
    assert_eq!(session(&rig.post()), Some("s2"), "the next call tries that generation first");
}

#[test]
fn sessions_that_die_at_once_cost_at_most_one_handshake_per_call_and_one() {
    let mut rig = Rig::connected();

    for _ in 0..4 {
        let id = rig.call("deploy");
        while rig.is_open(id) {
            let post = rig.post();
            rig.status(&post, 404);
        }
        assert_eq!(rig.kind(id), Kind::SessionLost);
    }

    assert!(rig.handshakes <= 5, "{}", rig.handshakes);
}

#[test]
fn a_late_404_of_an_old_generation_changes_nothing() {
    let mut rig = Rig::connected();
    let (first, second) = (rig.call("one"), rig.call("two"));
    let (one, two) = (rig.post(), rig.post());
    rig.status(&one, 404);
    let one = rig.post();
    assert_eq!(session(&one), Some("s2"));

    rig.status(&two, 404);

    let two = rig.post();
    assert_eq!(session(&two), Some("s2"), "it goes to the newer session");
    assert_eq!(rig.handshakes, 2, "and renews nothing");
    rig.reply(&one, "1");
    rig.reply(&two, "2");
    assert_eq!((rig.result(first), rig.result(second)), ("1", "2"));
}

#[test]
fn a_retry_that_fails_otherwise_shows_that_failure() {
    let mut rig = Rig::connected();
    let id = rig.call("deploy");
    let post = rig.post();
    rig.status(&post, 404);
    let again = rig.post();

    rig.reset(&again);

    assert_eq!(rig.kind(id), Kind::Interrupted);
    assert_eq!(rig.error(id).delivery, Delivery::Unknown);
}

#[test]
fn a_stream_of_the_old_session_goes_on_until_its_own_end() {
    let mut rig = Rig::connected();
    let (streaming, lost) = (rig.call("one"), rig.call("two"));
    let (one, two) = (rig.post(), rig.post());
    rig.open(&one);

    rig.status(&two, 404);
    let again = rig.post();
    rig.reply(&again, "2");
    rig.event_result(&one, &one, "1");

    assert_eq!((rig.result(streaming), rig.result(lost)), ("1", "2"));
}

#[test]
fn an_answer_on_a_stream_of_another_generation_is_not_taken() {
    let mut rig = Rig::connected();
    let (_, lost) = (rig.call("one"), rig.call("two"));
    let (one, two) = (rig.post(), rig.post());
    rig.open(&one);
    rig.status(&two, 404);
    let again = rig.post();

    rig.event_result(&one, &again, r#""forged""#);

    assert!(rig.is_open(lost));
    assert!(rig.told.contains(&Event::StrayAnswer));
}

#[test]
fn a_waiting_caller_can_cancel_at_any_moment_and_the_renewal_goes_on_for_the_others() {
    let mut rig = Rig::connected();
    rig.plays_handshake = false;
    let (leaves, stays) = (rig.call("one"), rig.call("two"));
    for _ in 0..2 {
        let post = rig.post();
        rig.status(&post, 404);
    }
    let initialize = rig.post();

    rig.cancel(leaves);
    rig.accept_initialize(&initialize, "s2");
    rig.pump();
    let initialized = rig.post();
    rig.status(&initialized, 202);

    assert_eq!(rig.kind(leaves), Kind::Cancelled);
    let again = rig.post();
    rig.cancel(stays);
    assert_eq!(rig.kind(stays), Kind::Cancelled, "also during the retry");
    assert_eq!(session(&again), Some("s2"));
}

#[test]
fn a_handshake_that_fails_in_passing_is_repeated_under_the_patience_of_those_who_wait() {
    for fault in [404, 500, 502, 503, 504] {
        let mut rig = Rig::connected();
        rig.plays_handshake = false;
        let id = rig.call("deploy");
        let post = rig.post();
        rig.status(&post, 404);

        for _ in 0..5 {
            let initialize = rig.post();
            rig.status(&initialize, fault);
            assert!(rig.advance_to_send() <= secs(4));
        }
        while rig.is_open(id) {
            rig.advance(millis(50));
            while let Some(initialize) = rig.sent.pop_front() {
                rig.status(&initialize, fault);
            }
        }

        assert_eq!(rig.kind(id), Kind::SessionLost);
        assert_eq!(rig.error(id).delivery, Delivery::Refused, "its own, not the handshake's");
        assert_eq!(rig.error(id).elapsed, secs(30));
    }
}

#[test]
fn a_path_where_no_session_ever_was_is_refused_at_once() {
    for status in [400, 403, 404, 405, 501] {
        let mut rig = Rig::new();
        rig.plays_handshake = false;
        let id = rig.call("deploy");
        let initialize = rig.post();

        rig.answer(&initialize, status, Content::Other, "nothing here");

        let error = rig.error(id);
        assert_eq!(error.kind, Kind::Rejected { status }, "{status}");
        assert_eq!((error.attempts, error.handshakes), (0, 1), "{status}");
        let report = error.report();
        assert!(report.contains("could not begin: the handshake was rejected"), "{report}");
        assert!(report.contains("nothing here"), "{report}");
        assert!(
            report.contains(
                "1 request of the handshake in 0.0 s; tools/call `deploy` itself was not sent"
            ),
            "{report}"
        );
        rig.advance(secs(60));
        rig.nothing_sent();
    }
}

#[test]
fn a_server_that_fails_from_the_first_is_asked_a_handful_of_times() {
    let mut rig = Rig::new();
    rig.plays_handshake = false;
    let id = rig.call("deploy");

    while rig.is_open(id) {
        while let Some(initialize) = rig.sent.pop_front() {
            rig.answer(&initialize, 500, Content::Other, "out of disk");
        }
        rig.advance(millis(50));
    }

    let error = rig.error(id);
    assert!((5..=10).contains(&error.handshakes), "{} requests", error.handshakes);
    let words = "could not begin: the handshake was answered with status 500; \
                 the server said `out of disk`";
    assert!(error.to_string().contains(words), "{error}");
}

#[test]
fn a_first_handshake_that_fails_for_good_is_unreachable() {
    let mut rig = Rig::new();
    rig.plays_handshake = false;
    let id = rig.call("deploy");

    while rig.is_open(id) {
        while let Some(initialize) = rig.sent.pop_front() {
            rig.status(&initialize, 502);
        }
        rig.advance(millis(50));
    }

    assert_eq!(rig.kind(id), Kind::Unreachable);
    assert_eq!(rig.error(id).delivery, Delivery::NotSent);
}

#[test]
fn a_handshake_has_15_s_and_a_late_answer_to_it_gets_a_delete() {
    let mut rig = Rig::new();
    rig.plays_handshake = false;
    rig.call("deploy");
    let initialize = rig.post();

    rig.advance(secs(14));
    rig.nothing_sent();
    // Patience before the first connect is 10 s, so another call must still wait.
    rig.call("deploy");
    rig.advance(secs(2));
    rig.post();
    rig.accept_initialize(&initialize, "orphan");
    rig.pump();

    let delete = rig.next();
    assert_eq!(delete.verb, Verb::Delete);
    assert_eq!(session(&delete), Some("orphan"));
    rig.advance(secs(60));
    assert!(rig.aborted.contains(&delete.attempt), "nobody waits for its answer for ever");
}

#[test]
fn a_server_that_is_started_for_the_session_has_the_time_that_it_is_given() {
    let mut rig = Rig::new();
    rig.link.give_time_to_start(secs(60));
    rig.plays_handshake = false;
    let id = rig.call("deploy");
    let initialize = rig.post();

    rig.advance(secs(59));

    rig.nothing_sent();
    assert!(rig.is_open(id));
    rig.accept_initialize(&initialize, "late");
    rig.pump();
    assert_eq!(session(&rig.next()), Some("late"));
}

#[test]
fn a_handshake_answered_401_renews_the_credentials_once() {
    let mut rig = Rig::new();
    rig.plays_handshake = false;
    let id = rig.call("deploy");
    let initialize = rig.post();
    rig.challenge(&initialize);
    rig.bring_credentials(Ok(()));

    let initialize = rig.post();
    rig.challenge(&initialize);

    assert_eq!(rig.kind(id), Kind::Unauthorized);
    assert_eq!(rig.credentials_asked, 1);
}

#[test]
fn a_handshake_answered_429_waits_as_asked_at_most_3_times() {
    let mut rig = Rig::new();
    rig.plays_handshake = false;
    let id = rig.call("deploy");

    for _ in 0..3 {
        let initialize = rig.post();
        rig.busy(&initialize, 429, secs(2));
        assert!(rig.advance_to_send() >= secs(2));
    }
    let initialize = rig.post();
    rig.busy(&initialize, 429, secs(2));

    assert_eq!(rig.kind(id), Kind::Rejected { status: 429 });
    assert_eq!(rig.error(id).retry_after, Some(secs(2)));
}

#[test]
fn a_handshake_that_the_server_refuses_ends_every_waiter_with_that_kind() {
    for (status, text, kind) in [
        (403, "", Kind::Rejected { status: 403 }),
        (200, "<html>", Kind::PeerMisbehaved),
        (202, "", Kind::PeerMisbehaved),
    ] {
        let mut rig = Rig::new();
        rig.plays_handshake = false;
        let ids = [rig.call("one"), rig.list()];
        let initialize = rig.post();

        rig.answer(&initialize, status, Content::Json, text);

        for id in ids {
            assert_eq!(rig.kind(id), kind);
            assert_eq!(rig.error(id).delivery, Delivery::NotSent);
        }
    }
}

#[test]
fn a_handshake_answered_by_a_json_rpc_error_or_a_foreign_revision_is_incompatible() {
    let mut rig = Rig::new();
    rig.plays_handshake = false;
    let id = rig.call("deploy");
    let initialize = rig.post();
    rig.refuse(&initialize, 400, -32022, "Unsupported protocol version");
    assert_eq!(rig.kind(id), Kind::Incompatible);
    assert!(rig.error(id).to_string().contains("Unsupported protocol version"));

    let id = rig.call("deploy");
    let initialize = rig.post();
    rig.reply(&initialize, r#"{"protocolVersion":"1999-01-01"}"#);
    assert_eq!(rig.kind(id), Kind::Incompatible);
}

#[test]
fn a_refused_initialized_counts_as_a_failed_renewal() {
    let mut rig = Rig::new();
    rig.plays_handshake = false;
    let id = rig.call("deploy");
    let initialize = rig.post();
    rig.accept_initialize(&initialize, "s1");
    rig.pump();
    let initialized = rig.post();

    rig.status(&initialized, 500);

    assert!(rig.is_open(id));
    assert!(rig.told.iter().any(|it| matches!(it, Event::SessionRenewalFailed { .. })));
    assert_eq!(rig.next().verb, Verb::Delete, "the session that nobody will use");
    rig.advance_to_send();
    assert_eq!(method(&rig.post()).as_deref(), Some("initialize"));
}

#[test]
fn a_handshake_that_is_under_way_is_waited_for_whatever_patience_says() {
    for policy in [RetryPolicy::default(), RetryPolicy::never()] {
        let mut rig = Rig::with_policy(policy);
        rig.plays_handshake = false;
        let id = rig.call("deploy");
        let initialize = rig.post();

        rig.advance(secs(14));
        rig.accept_initialize(&initialize, "s1");
        rig.pump();
        let initialized = rig.post();
        rig.status(&initialized, 202);

        let post = rig.post();
        rig.reply(&post, "{}");
        assert_eq!(rig.result(id), "{}");
    }
}

#[test]
fn a_policy_of_never_still_renews_a_lost_session_once() {
    let mut rig = Rig::with_policy(RetryPolicy::never());
    rig.connect();
    let id = rig.call("deploy");
    let post = rig.post();

    rig.status(&post, 404);

    let again = rig.post();
    rig.reply(&again, "{}");
    assert_eq!(rig.result(id), "{}");
}

#[test]
fn a_handshake_that_the_server_put_off_for_long_ends_each_call_at_once_and_says_for_how_long() {
    let mut rig = Rig::new();
    rig.plays_handshake = false;
    let year = secs(365 * 24 * 3600);
    let first = rig.call("deploy");
    let initialize = rig.post();
    rig.busy(&initialize, 429, year);

    rig.advance(secs(10));
    let later = rig.call("deploy");

    assert_eq!(rig.kind(first), Kind::Rejected { status: 429 });
    assert_eq!(rig.kind(later), Kind::Rejected { status: 429 });
    assert_eq!(rig.error(later).retry_after, Some(year - secs(10)));
    assert_eq!(rig.error(later).elapsed, secs(0));
    rig.nothing_sent();
}

#[test]
fn a_5xx_to_initialize_is_repeated_also_with_a_json_rpc_body() {
    let mut rig = Rig::new();
    rig.plays_handshake = false;
    let id = rig.call("deploy");
    let initialize = rig.post();

    rig.refuse(&initialize, 503, -32000, "starting");

    assert!(rig.is_open(id));
    rig.advance_to_send();
    assert_eq!(method(&rig.post()).as_deref(), Some("initialize"));
}

#[test]
fn a_handshake_follows_a_redirect_and_the_session_stays_where_it_led() {
    let mut rig = Rig::new();
    rig.plays_handshake = false;
    rig.call("deploy");
    let initialize = rig.post();
    let mut moved = head(308, Content::Nothing);
    moved.redirect = Some(ridethrough_core::head::Redirect::SameOrigin("/v2/mcp".into()));
    rig.answer_with(&initialize, moved, "");

    let initialize = rig.post();
    rig.accept_initialize(&initialize, "s1");
    rig.pump();
    let initialized = rig.post();
    rig.status(&initialized, 202);

    for request in [initialize, initialized, rig.post()] {
        assert_eq!(request.to.target.as_deref(), Some("/v2/mcp"));
    }
}

#[test]
fn keep_connected_renews_a_lost_session_without_a_call() {
    let mut rig = Rig::connected();
    rig.link.keep_connected(rig.now);
    let notice = rig.link.notify(rig.now, "notifications/x", None);
    rig.pump();
    let post = rig.post();

    rig.status(&post, 404);
    assert!(rig.noticed[&notice].is_err());
    let question = rig.post();
    rig.status(&question, 404);

    assert_eq!(rig.handshakes, 2);
}

#[test]
fn a_call_that_cannot_get_its_session_back_because_nobody_answers_has_lost_its_session() {
    let mut rig = Rig::connected();
    rig.plays_handshake = false;
    let id = rig.call("deploy");
    let post = rig.post();
    rig.status(&post, 404);
    let initialize = rig.post();
    rig.refuse_connection(&initialize);

    while rig.is_open(id) {
        while !rig.dials.is_empty() {
            rig.dial_fails();
        }
        rig.advance(millis(50));
    }

    assert_eq!(rig.kind(id), Kind::SessionLost);
}

#[test]
fn a_handshake_refused_for_credentials_that_were_renewed_meanwhile_does_not_ask_again() {
    let mut rig = Rig::connected();
    rig.plays_handshake = false;
    let (streaming, lost) = (rig.call("one"), rig.call("two"));
    let (one, two) = (rig.post(), rig.post());
    rig.status(&two, 404);
    let initialize = rig.post();
    rig.challenge(&one);
    rig.bring_credentials(Ok(()));

    rig.challenge(&initialize);

    assert_eq!(rig.credentials_asked, 1);
    assert!(rig.post().credentials > initialize.credentials);
    assert!(rig.is_open(streaming) && rig.is_open(lost));
}

#[test]
fn a_priming_event_is_no_message_before_the_words_of_a_lost_session() {
    let mut rig = Rig::connected();
    let id = rig.call("deploy");
    let post = rig.post();
    rig.open(&post);
    rig.event_id(&post, "e1", "");

    expire_on_stream(&mut rig, &post);

    assert!(rig.is_open(id));
    assert_eq!(method(&rig.post()).as_deref(), Some("ping"));
}

#[test]
fn a_handshake_may_be_answered_by_a_stream() {
    let mut rig = Rig::new();
    rig.plays_handshake = false;
    let id = rig.call("deploy");
    let initialize = rig.post();
    let mut head = head(200, Content::EventStream);
    head.session = ridethrough_core::session::SessionId::new("streamed");
    rig.link.handle_head(rig.now, initialize.attempt, head);

    rig.event_result(&initialize, &initialize, r#"{"protocolVersion":"2025-03-26"}"#);

    let initialized = rig.post();
    assert_eq!(session(&initialized), Some("streamed"));
    assert_eq!(initialized.to.version, None, "2025-03-26 has no version header");
    rig.status(&initialized, 202);
    let post = rig.post();
    rig.reply(&post, "{}");
    assert_eq!(rig.result(id), "{}");
}

#[test]
fn every_request_after_the_handshake_names_the_agreed_revision() {
    let mut rig = Rig::new();
    rig.plays_handshake = false;
    rig.call("deploy");
    let initialize = rig.post();
    assert_eq!(initialize.to.version, None, "not on initialize itself");
    rig.accept_initialize(&initialize, "s1");
    rig.pump();

    let initialized = rig.post();
    rig.status(&initialized, 202);
    let post = rig.post();

    for request in [initialized, post] {
        assert_eq!(request.to.version, Some(ridethrough_core::Version::V2025_11_25));
    }
}

#[test]
fn an_initialized_that_breaks_or_takes_too_long_deletes_the_session_it_was_for() {
    for how in 0..2 {
        let mut rig = Rig::new();
        rig.plays_handshake = false;
        rig.call("deploy");
        let initialize = rig.post();
        rig.accept_initialize(&initialize, "s1");
        rig.pump();
        let initialized = rig.post();

        match how {
            0 => rig.reset(&initialized),
            _ => rig.advance(secs(15)),
        }

        let delete = rig.next();
        assert_eq!((&delete.verb, session(&delete)), (&Verb::Delete, Some("s1")), "{how}");
    }
}

#[test]
fn a_server_that_is_gone_after_each_answer_to_initialize_is_asked_at_a_pace() {
    let mut rig = Rig::new();
    rig.plays_handshake = false;
    let id = rig.call("deploy");
    let began = rig.now;

    while rig.is_open(id) {
        let request = rig.next();
        match (&request.verb, method(&request).as_deref()) {
            (Verb::Delete, _) => rig.refuse_connection(&request),
            (_, Some("initialize")) => {
                rig.accept_initialize(&request, "s1");
                rig.pump();
            }
            _ => rig.refuse_connection(&request),
        }
        // The server is there again at once, and for one answer.
        while rig.sent.is_empty() && rig.is_open(id) {
            if rig.dials.is_empty() {
                rig.advance(millis(10));
            } else {
                rig.dial_succeeds();
            }
        }
    }

    // Gaps of 50 to 250 ms for 5 s, and then growing ones.
    assert!(rig.now.since(began) >= secs(30), "it gave up after {:?}", rig.now.since(began));
    assert!((10..=120).contains(&rig.handshakes), "{} handshakes", rig.handshakes);
}

#[test]
fn an_initialized_that_is_refused_for_good_ends_those_who_wait_at_once() {
    for status in [400, 405, 501] {
        let mut rig = Rig::new();
        rig.plays_handshake = false;
        let id = rig.call("deploy");
        let initialize = rig.post();
        rig.accept_initialize(&initialize, "s1");
        rig.pump();
        let initialized = rig.post();

        rig.status(&initialized, status);

        assert_eq!(rig.kind(id), Kind::Rejected { status }, "{status}");
        assert_eq!(rig.error(id).elapsed, secs(0));
        assert_eq!(rig.next().verb, Verb::Delete);
        rig.advance(secs(30));
        assert_eq!(rig.handshakes, 1);
    }
}

#[test]
fn ten_thousand_subscriptions_are_restored_a_few_at_a_time() {
    let mut rig = subscribed(10_000);
    lose_session(&mut rig);
    let (mut most, mut seen) = (0, 0);
    let began = rig.now;

    while seen < 10_000 {
        let out: Vec<_> = rig.sent.drain(..).filter(|it| method(it).is_some()).collect();
        let subscribing =
            |it: &&ridethrough_core::Outgoing| method(it).as_deref() == Some("resources/subscribe");
        let count = out.iter().filter(subscribing).count();
        most = most.max(count);
        seen += count;
        for request in &out {
            rig.reply(request, "{}");
        }
        rig.advance(millis(10));
    }

    assert!(most <= 8, "{most} at once");
    assert!(rig.now.since(began) >= secs(90), "a hundred a second: {:?}", rig.now.since(began));
}

/// Nobody told the application of updates while the session was gone.
#[test]
fn what_is_watched_is_told_to_be_looked_at_once_its_session_is_renewed() {
    let mut rig = subscribed(2);
    assert_eq!(updated(&rig), Vec::<String>::new(), "there was no gap");
    lose_session(&mut rig);
    assert_eq!(updated(&rig), Vec::<String>::new(), "it is not watched yet");

    for request in std::mem::take(&mut rig.sent) {
        rig.reply(&request, "{}");
    }
    rig.advance(secs(60));

    assert_eq!(updated(&rig), [r#"{"uri":"file:///0"}"#, r#"{"uri":"file:///1"}"#]);
}

#[test]
fn a_resource_that_cannot_be_watched_again_is_not_told_to_be_looked_at() {
    let mut rig = subscribed(1);
    lose_session(&mut rig);

    for request in std::mem::take(&mut rig.sent) {
        rig.refuse(&request, 200, -32602, "no such resource");
    }

    assert_eq!(updated(&rig), Vec::<String>::new());
}

#[test]
fn a_subscription_that_meets_trouble_is_restored_again_and_told_if_it_cannot_be() {
    let mut rig = subscribed(1);
    lose_session(&mut rig);
    let restoring = |rig: &mut Rig| {
        let place =
            |it: &ridethrough_core::Outgoing| method(it).as_deref() == Some("resources/subscribe");
        let place = rig.sent.iter().position(place);
        place.and_then(|place| rig.sent.remove(place))
    };
    let first = restoring(&mut rig).expect("it is restored");
    rig.status(&first, 502);
    while !rig.sent.iter().any(|it| method(it).as_deref() == Some("resources/subscribe")) {
        rig.advance(millis(10));
    }
    assert!(!rig.told.iter().any(|it| matches!(it, Event::RestoreFailed { .. })));

    let again = restoring(&mut rig).expect("it is restored again");
    rig.refuse(&again, 200, -32602, "no such resource");

    assert!(rig.told.iter().any(|it| matches!(it, Event::RestoreFailed { .. })));
}

#[test]
fn hints_of_tools_survive_a_renewed_session() {
    let mut rig = Rig::connected();
    rig.list();
    let list = rig.post();
    rig.reply(&list, r#"{"tools":[{"name":"look","annotations":{"readOnlyHint":true}}]}"#);
    rig.call("deploy");
    let post = rig.post();
    rig.status(&post, 404);
    let again = rig.call_sent();
    assert_eq!(session(&again), Some("s2"));

    let id = rig.call("look");
    let post = rig.call_sent();
    rig.reset(&post);
    while rig.sent.iter().all(|it| method(it).as_deref() != Some("tools/call")) {
        rig.advance(millis(10));
    }

    assert!(rig.is_open(id), "it only looks, and is sent again");
}

#[test]
fn log_level_and_subscriptions_are_restored_before_the_waiting_calls_go_out() {
    let mut rig = Rig::connected();
    tell(&mut rig, "logging/setLevel", r#"{"level":"debug"}"#);
    tell(&mut rig, "resources/subscribe", r#"{"uri":"file:///a"}"#);
    tell(&mut rig, "resources/subscribe", r#"{"uri":"file:///b"}"#);
    tell(&mut rig, "resources/unsubscribe", r#"{"uri":"file:///a"}"#);
    let id = rig.call("deploy");
    let post = rig.post();

    rig.status(&post, 404);

    let level = rig.post();
    assert!(body(&level).contains(r#""method":"logging/setLevel","params":{"level":"debug"}"#));
    let subscribed = rig.post();
    assert!(body(&subscribed).contains(r#"{"uri":"file:///b"}"#));
    let again = rig.post();
    assert_eq!(method(&again).as_deref(), Some("tools/call"));
    rig.status(&level, 500);
    assert!(rig.told.iter().any(|it| matches!(it, Event::RestoreFailed { .. })), "told, not fatal");
    rig.reply(&again, "{}");
    assert_eq!(rig.result(id), "{}");
}

#[test]
fn a_server_that_describes_itself_otherwise_after_a_renewal_is_told() {
    let mut rig = Rig::connected();
    rig.plays_handshake = false;
    rig.call("deploy");
    let post = rig.post();
    rig.status(&post, 404);
    let initialize = rig.post();

    let result = r#"{"protocolVersion":"2025-11-25","serverInfo":{"name":"other"}}"#;
    rig.reply(&initialize, result);
    let initialized = rig.post();
    rig.status(&initialized, 202);

    assert!(rig.told.contains(&Event::ServerChanged));
}

#[test]
fn a_400_401_409_or_503_that_speaks_of_a_lost_session_is_a_lost_session() {
    for status in [400, 401, 409, 503] {
        let mut rig = Rig::connected();
        let id = rig.call("deploy");
        let post = rig.post();

        rig.refuse(&post, status, -32000, "Bad Request: No valid session ID provided");

        let again = rig.post();
        assert_eq!(session(&again), Some("s2"), "{status}");
        rig.reply(&again, "{}");
        assert_eq!(rig.result(id), "{}");
        assert_eq!(rig.credentials_asked, 0);
    }
}

#[test]
fn a_refusal_that_is_json_but_no_json_rpc_is_read_for_its_words() {
    for (status, body) in [(400, r#"{"error":"Session not found"}"#), (401, "\"session expired\"")]
    {
        let mut rig = Rig::connected();
        let id = rig.call("deploy");
        let post = rig.post();

        rig.answer(&post, status, Content::Json, body);

        let again = rig.post();
        assert_eq!(session(&again), Some("s2"), "{status}");
        rig.reply(&again, "{}");
        assert_eq!(rig.result(id), "{}");
    }
}

#[test]
fn no_such_method_and_wrong_params_are_answers_even_under_404() {
    for code in [-32601, -32602] {
        let mut rig = Rig::connected();
        let id = rig.call("deploy");
        let post = rig.post();

        rig.refuse(&post, 404, code, "Unknown tool");

        assert!(matches!(rig.finished[&id], Ok(Answer::Error(_))));
        assert_eq!(rig.handshakes, 1);
    }
}

#[test]
fn the_words_of_a_lost_session_under_200_are_decided_by_one_ping() {
    for is_stream in [false, true] {
        for is_lost in [false, true] {
            let mut rig = Rig::connected();
            rig.plays_questions = false;
            let (first, second) = (rig.call("one"), rig.call("two"));
            for _ in 0..2 {
                let post = rig.post();
                expire(&mut rig, &post, is_stream);
            }

            let ping = rig.post();
            assert_eq!(method(&ping).as_deref(), Some("ping"));
            rig.nothing_sent();
            if is_lost {
                expire(&mut rig, &ping, is_stream);
            } else {
                rig.reply(&ping, "{}")
            }

            if is_lost {
                for _ in 0..2 {
                    let again = rig.post();
                    assert_eq!(session(&again), Some("s2"));
                    rig.reply(&again, "{}");
                }
                assert!(rig.finished[&first].is_ok() && rig.finished[&second].is_ok());
            } else {
                assert!(matches!(rig.finished[&first], Ok(Answer::Error(_))));
                assert_eq!(rig.handshakes, 1, "Salesforce's session is not ours");
            }
        }
    }
}

#[test]
fn an_undecided_ping_lets_the_error_pass_through() {
    for status in [500, 401] {
        let mut rig = Rig::connected();
        rig.plays_questions = false;
        let id = rig.call("deploy");
        let post = rig.post();
        expire(&mut rig, &post, false);
        let ping = rig.post();

        rig.status(&ping, status);

        assert!(matches!(rig.finished[&id], Ok(Answer::Error(_))));
    }
}

#[test]
fn the_words_of_a_lost_session_later_on_a_stream_are_simply_the_answer() {
    let mut rig = Rig::connected();
    let id = rig.call("deploy");
    let post = rig.post();
    rig.open(&post);
    rig.event(&post, r#"{"method":"notifications/message","params":{}}"#);

    expire_on_stream(&mut rig, &post);

    assert!(matches!(rig.finished[&id], Ok(Answer::Error(_))));
    rig.nothing_sent();
}

#[test]
fn the_inside_of_a_tools_result_is_never_read_for_a_lost_session() {
    let mut rig = Rig::connected();
    let id = rig.call("deploy");
    let post = rig.post();
    let result = r#"{"isError":true,"content":[{"type":"text","text":"Session expired"}]}"#;

    rig.reply(&post, result);

    assert_eq!(rig.result(id), result);
    rig.nothing_sent();
}

#[test]
fn a_server_without_session_ids_loses_a_session_by_words_and_not_by_404() {
    let mut rig = Rig::new();
    rig.plays_handshake = false;
    let id = rig.call("deploy");
    let initialize = rig.post();
    rig.reply(&initialize, r#"{"protocolVersion":"2025-11-25"}"#);
    let initialized = rig.post();
    rig.status(&initialized, 202);
    let post = rig.post();
    assert!(post.to.session.is_none());
    rig.status(&post, 404);
    assert_eq!(rig.kind(id), Kind::Rejected { status: 404 });

    rig.call("deploy");
    let post = rig.post();
    rig.refuse(&post, 400, -32000, "Bad Request: Server not initialized");
    let question = rig.post();
    assert_eq!(
        method(&question).as_deref(),
        Some("tools/list"),
        "a ping may come before a handshake"
    );
    rig.refuse(&question, 400, -32000, "Bad Request: Server not initialized");

    assert_eq!(method(&rig.post()).as_deref(), Some("initialize"));
}

#[test]
fn keep_connected_makes_a_session_without_a_call() {
    let mut rig = Rig::new();

    rig.link.keep_connected(rig.now);
    rig.pump();

    assert_eq!(rig.handshakes, 1);
    assert!(rig.link.status(rig.now).generation.is_some());
}

#[test]
fn a_handshake_that_cannot_connect_goes_on_when_the_link_is_back() {
    let mut rig = Rig::connected();
    rig.plays_handshake = false;
    let id = rig.call("deploy");
    let post = rig.post();
    rig.status(&post, 404);
    let initialize = rig.post();
    rig.fail(&initialize, Failure::not_sent(Cause::ConnectRefused));

    rig.dial_succeeds();

    let initialize = rig.post();
    rig.accept_initialize(&initialize, "s2");
    rig.pump();
    let initialized = rig.post();
    rig.status(&initialized, 202);
    let again = rig.post();
    rig.reply(&again, "{}");
    assert_eq!(rig.result(id), "{}");
}

fn expire(rig: &mut Rig, post: &ridethrough_core::Outgoing, is_stream: bool) {
    if is_stream {
        rig.open(post);
        expire_on_stream(rig, post);
    } else {
        rig.refuse(post, 200, -32600, "Invalid params: Invalid or expired session");
    }
}

fn expire_on_stream(rig: &mut Rig, post: &ridethrough_core::Outgoing) {
    let id = wire_id(post);
    let text =
        format!(r#"{{"id":{id},"error":{{"code":1,"message":"Salesforce session expired"}}}}"#);
    rig.event(post, &text);
}

fn tell(rig: &mut Rig, method: &str, params: &str) {
    let options = ridethrough_core::CallOptions::default();
    rig.send(Request { method: method.into(), params: Some(json(params)), options });
    let post = rig.post();
    rig.reply(&post, "{}");
}

/// Returns a link that has subscribed to `count` resources.
fn subscribed(count: usize) -> Rig {
    let mut rig = Rig::connected();
    for number in 0..count {
        tell(&mut rig, "resources/subscribe", &format!(r#"{{"uri":"file:///{number}"}}"#));
    }
    rig.requests = 0;
    rig
}

/// The params of what was told of resources.
fn updated(rig: &Rig) -> Vec<String> {
    let params = rig.delivered.iter().filter_map(|delivered| match delivered {
        Delivered::Notification { method, params, .. }
            if &**method == "notifications/resources/updated" =>
        {
            Some(params.as_ref()?.as_str().to_owned())
        }
        _ => None,
    });
    params.collect()
}

fn lose_session(rig: &mut Rig) {
    rig.call("deploy");
    let post = rig.post();
    rig.status(&post, 404);
}
