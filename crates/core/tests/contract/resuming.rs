//! Rows 6 to 12s and 14: a stream that broke before its answer.

use ridethrough_core::head::Content;
use ridethrough_core::{
    Cause, Delivered, Delivery, ExchangeId, Failure, Kind, Outgoing, RetryPolicy,
};

use crate::rig::{Rig, head, method, millis, resumes_after, secs, session, wire_id};

const NEWS: &str = r#"{"jsonrpc":"2.0","method":"notifications/message","params":{}}"#;

#[test]
fn a_broken_stream_with_an_event_id_is_resumed_by_get_and_never_posted_again() {
    for is_clean in [true, false] {
        let mut rig = Rig::connected();
        let (id, post) = streaming(&mut rig);
        rig.event_id(&post, "e1", "");

        if is_clean {
            rig.end(&post)
        } else {
            rig.reset(&post)
        }
        let waited = rig.advance_to_send();

        assert!(waited <= millis(100));
        let get = rig.get();
        assert_eq!(resumes_after(&get), Some("e1"));
        assert_eq!(session(&get), Some("s1"));
        rig.open(&get);
        rig.event_result(&get, &post, "1");
        assert_eq!(rig.result(id), "1");
        rig.nothing_sent();
    }
}

#[test]
fn a_broken_stream_without_an_event_id_stops_an_unsafe_call() {
    let mut rig = Rig::connected();
    let (id, post) = streaming(&mut rig);
    rig.event(&post, NEWS);

    rig.reset(&post);

    assert_eq!(rig.kind(id), Kind::Interrupted);
    assert!(rig.error(id).may_have_run());
}

#[test]
fn a_broken_stream_without_an_event_id_is_sent_again_with_a_new_id_if_safe() {
    let mut rig = Rig::connected();
    let id = rig.list();
    let post = rig.post();
    rig.open(&post);

    rig.end(&post);
    let again = next_list(&mut rig);

    assert_ne!(wire_id(&again), wire_id(&post));
    rig.reply(&again, "{}");
    assert_eq!(rig.result(id), "{}");
}

#[test]
fn a_body_that_is_cut_is_a_broken_stream_without_an_event_id() {
    let mut rig = Rig::connected();
    let id = rig.call("deploy");
    let post = rig.post();
    rig.link.handle_head(rig.now, post.attempt, head(200, Content::Json));

    rig.reset(&post);

    assert_eq!(rig.kind(id), Kind::Interrupted);
}

#[test]
fn a_refusal_whose_body_is_cut_is_still_that_refusal() {
    let mut rig = Rig::connected();
    let id = rig.call("deploy");
    let post = rig.post();
    rig.link.handle_head(rig.now, post.attempt, head(413, Content::Json));

    rig.reset(&post);

    assert_eq!(rig.kind(id), Kind::Rejected { status: 413 });
}

/// The lost words may have reported a lost session, which a call must survive.
#[test]
fn a_refusal_whose_words_broke_off_is_asked_again_by_a_call_that_may_be() {
    let mut rig = Rig::connected();
    let id = rig.list();
    let post = rig.post();
    rig.link.handle_head(rig.now, post.attempt, head(400, Content::Json));

    rig.reset(&post);
    rig.advance_to_send();
    let again = next_list(&mut rig);
    rig.reply(&again, "{}");

    assert_eq!(rig.result(id), "{}");
}

#[test]
fn an_empty_id_takes_the_resume_point_back() {
    let mut rig = Rig::connected();
    let (id, post) = streaming(&mut rig);
    rig.event_id(&post, "e1", "");
    rig.event_id(&post, "", NEWS);

    rig.reset(&post);

    assert_eq!(rig.kind(id), Kind::Interrupted);
}

#[test]
fn a_transient_answer_to_a_resume_costs_one_attempt_and_nothing_else() {
    for status in [429, 500, 502, 503, 504, 408, 425, 409] {
        let mut rig = Rig::connected();
        let (id, post, get) = resuming(&mut rig);

        rig.status(&get, status);
        rig.advance_to_send();

        let get = rig.get();
        rig.open(&get);
        rig.event_result(&get, &post, "1");
        assert_eq!(rig.result(id), "1", "{status}");
        assert_eq!(rig.handshakes, 1);
    }
}

#[test]
fn a_page_of_html_or_a_reset_before_the_head_of_a_resume_costs_one_attempt() {
    let mut rig = Rig::connected();
    let (id, post, get) = resuming(&mut rig);

    rig.answer(&get, 200, Content::Html, "<html>");
    rig.advance_to_send();
    let get = rig.get();
    rig.reset(&get);
    rig.advance_to_send();

    let get = rig.get();
    rig.open(&get);
    rig.event_result(&get, &post, "1");
    assert_eq!(rig.result(id), "1");
}

#[test]
fn a_resume_waits_the_longer_of_hint_and_backoff() {
    let mut rig = Rig::connected();
    let (_, _, get) = resuming(&mut rig);

    rig.busy(&get, 503, secs(9));

    assert!(rig.advance_to_send() >= secs(9));
}

#[test]
fn a_resume_that_cannot_connect_waits_for_the_link_and_costs_no_attempt() {
    let mut rig = Rig::connected();
    let (id, post, mut get) = resuming(&mut rig);

    for _ in 0..20 {
        rig.refuse_connection(&get);
        rig.advance_to_dial();
        rig.dial_succeeds();
        rig.advance_to_send();
        get = rig.get();
    }

    rig.open(&get);
    rig.event_result(&get, &post, "1");
    assert_eq!(rig.result(id), "1");
}

#[test]
fn after_8_resumes_in_vain_the_call_is_exhausted() {
    let mut rig = Rig::connected();
    let (id, _, mut get) = resuming(&mut rig);

    for _ in 0..7 {
        rig.status(&get, 503);
        rig.advance_to_send();
        get = rig.get();
    }
    rig.status(&get, 503);

    assert_eq!(rig.kind(id), Kind::Exhausted);
    assert_eq!(rig.error(id).attempts, 9);
    assert!(rig.error(id).may_have_run());
    assert!(rig.error(id).elapsed < secs(30));
    let next = rig.call("deploy");
    let post = rig.post();
    rig.reply(&post, "{}");
    assert_eq!(rig.result(next), "{}", "the next call on the same link works");
}

#[test]
fn a_safe_call_whose_resumes_are_exhausted_is_sent_again() {
    let mut rig = Rig::connected();
    let id = rig.list();
    let post = rig.post();
    rig.open(&post);
    rig.event_id(&post, "e1", "");
    rig.end(&post);
    for _ in 0..8 {
        rig.advance_to_send();
        let get = rig.get();
        rig.status(&get, 503);
    }

    let again = next_list(&mut rig);

    rig.reply(&again, "{}");
    assert_eq!(rig.result(id), "{}");
}

#[test]
fn a_resume_answered_404_with_a_json_rpc_body_means_that_the_stream_is_gone() {
    let mut rig = Rig::connected();
    let (id, post, get) = resuming(&mut rig);

    rig.answer(&get, 404, Content::Json, &gone(&post));

    assert_eq!(rig.kind(id), Kind::Interrupted);
    assert!(rig.error(id).may_have_run());
}

#[test]
fn a_stream_that_is_gone_makes_the_link_look_after_the_session_for_the_others() {
    let mut rig = Rig::connected();
    let (id, post, get) = resuming(&mut rig);

    rig.answer(&get, 404, Content::Json, &gone(&post));

    assert_eq!(rig.kind(id), Kind::Interrupted);
    let ping = rig.post();
    assert_eq!(method(&ping).as_deref(), Some("ping"));
    rig.status(&ping, 404);
    rig.call("deploy");
    assert_eq!(session(&rig.post()), Some("s2"), "the next call does not have to find out");
}

#[test]
fn a_resume_answered_404_without_a_body_is_tried_once_more() {
    let mut rig = Rig::connected();
    let (id, _, get) = resuming(&mut rig);

    rig.status(&get, 404);
    let ping = rig.post();
    rig.reply(&ping, "{}");
    rig.advance_to_send();
    assert!(rig.is_open(id), "a proxy may have had a gap in its routes");
    let get = rig.get();
    rig.status(&get, 404);

    assert_eq!(rig.kind(id), Kind::Interrupted);
}

#[test]
fn a_safe_call_whose_stream_is_gone_is_sent_again_once_on_a_good_session() {
    for is_lost in [false, true] {
        let mut rig = Rig::connected();
        let id = rig.list();
        let post = rig.post();
        rig.open(&post);
        rig.event_id(&post, "e1", "");
        rig.end(&post);
        rig.advance_to_send();
        let get = rig.get();

        rig.answer(&get, 404, Content::Json, &gone(&post));
        let ping = rig.post();
        assert_eq!(method(&ping).as_deref(), Some("ping"), "the session is asked first");
        if is_lost {
            rig.status(&ping, 404)
        } else {
            rig.reply(&ping, "{}")
        }

        let again = next_list(&mut rig);
        assert_eq!(session(&again), Some(if is_lost { "s2" } else { "s1" }));
        rig.reply(&again, "{}");
        assert_eq!(rig.result(id), "{}");
    }
}

#[test]
fn a_stream_that_cannot_be_resumed_ends_this_call_and_never_the_session() {
    for status in [400, 405, 406, 403] {
        let mut rig = Rig::connected();
        let (id, _, get) = resuming(&mut rig);

        rig.status(&get, status);

        assert_eq!(rig.kind(id), Kind::Interrupted, "{status}");
        rig.call("deploy");
        assert_eq!(session(&rig.post()), Some("s1"));
        assert_eq!(rig.handshakes, 1);
    }
}

#[test]
fn a_resume_answered_by_json_with_our_id_is_the_answer() {
    let mut rig = Rig::connected();
    let (id, post, get) = resuming(&mut rig);
    let text = format!(r#"{{"jsonrpc":"2.0","id":{},"result":7}}"#, wire_id(&post));

    rig.answer(&get, 200, Content::Json, &text);

    assert_eq!(rig.result(id), "7");
}

#[test]
fn a_resume_answered_401_renews_the_credentials_and_resumes() {
    let mut rig = Rig::connected();
    let (id, post, get) = resuming(&mut rig);

    rig.challenge(&get);
    assert_eq!(rig.credentials_asked, 1);
    rig.bring_credentials(Ok(()));
    rig.advance_to_send();

    let get = rig.get();
    assert_eq!(resumes_after(&get), Some("e1"));
    rig.open(&get);
    rig.event_result(&get, &post, "1");
    assert_eq!(rig.result(id), "1");
}

#[test]
fn resumes_that_are_accepted_and_dropped_cost_attempts_and_end_in_under_30_s() {
    // This is the server of the first report: it accepts, primes with an id and closes, for ever.
    for new_ids in [false, true] {
        let mut rig = Rig::connected();
        let (id, _, mut get) = resuming(&mut rig);

        for n in 0..8 {
            rig.open(&get);
            rig.event_id(&get, &if new_ids { format!("e{n}") } else { "e1".to_owned() }, "");
            rig.end(&get);
            if n < 7 {
                rig.advance_to_send();
                get = rig.get();
            }
        }

        assert_eq!(rig.kind(id), Kind::Exhausted, "attempts are counted by progress");
        assert_eq!(rig.error(id).attempts, 9);
        assert!(rig.error(id).elapsed < secs(30));
        let report = rig.error(id).report();
        assert!(report.contains("9 attempts"), "{report}");
    }
}

#[test]
fn a_stream_that_stayed_open_for_stable_after_costs_nothing() {
    let mut rig = Rig::connected();
    let (id, _, mut get) = resuming(&mut rig);

    for _ in 0..30 {
        rig.open(&get);
        rig.advance(secs(6));
        rig.end(&get);
        rig.advance_to_send();
        get = rig.get();
    }

    assert!(rig.is_open(id), "an intermediary's time limit is no fault of the server");
}

#[test]
fn an_unseen_message_is_progress_and_gives_the_attempts_back() {
    let mut rig = Rig::connected();
    let (id, post, mut get) = resuming(&mut rig);

    for n in 0..20 {
        rig.open(&get);
        rig.event_id(&get, &format!("n{n}"), NEWS);
        rig.end(&get);
        rig.advance_to_send();
        get = rig.get();
    }

    rig.open(&get);
    rig.event_result(&get, &post, "1");
    assert_eq!(rig.result(id), "1");
    assert_eq!(rig.delivered.len(), 20, "each delivered once");
}

#[test]
fn a_replayed_event_is_no_progress_and_is_not_delivered_again() {
    let mut rig = Rig::connected();
    let (id, _, mut get) = resuming(&mut rig);

    for n in 0..9 {
        rig.open(&get);
        rig.event_id(&get, "same", NEWS);
        rig.end(&get);
        if n < 8 {
            rig.advance_to_send();
            get = rig.get();
        }
    }

    assert_eq!(rig.kind(id), Kind::Exhausted);
    assert_eq!(rig.delivered.len(), 1);
}

#[test]
fn two_events_of_one_stream_are_never_taken_for_a_replay() {
    let mut rig = Rig::connected();
    let (_, post) = streaming(&mut rig);

    rig.event_id(&post, "same", NEWS);
    rig.event_id(&post, "same", NEWS);

    assert_eq!(rig.delivered.len(), 2);
}

#[test]
fn a_replay_never_swallows_the_final_answer() {
    let mut rig = Rig::connected();
    let (id, post) = streaming(&mut rig);
    rig.event_id(&post, "e1", NEWS);
    rig.end(&post);
    rig.advance_to_send();
    let get = rig.get();
    rig.open(&get);

    let answer = format!(r#"{{"jsonrpc":"2.0","id":{},"result":1}}"#, wire_id(&post));
    rig.event_id(&get, "e1", &answer);

    assert_eq!(rig.result(id), "1");
}

#[test]
fn a_replayed_server_request_is_asked_once() {
    let mut rig = Rig::connected();
    let (_, post) = streaming(&mut rig);
    let question = r#"{"jsonrpc":"2.0","id":"q","method":"roots/list"}"#;
    rig.event_id(&post, "e1", question);
    rig.end(&post);
    rig.advance_to_send();
    let get = rig.get();
    rig.open(&get);

    rig.event_id(&get, "e1", question);
    rig.event_id(&get, "e2", question);

    let asked = rig.delivered.iter().filter(|it| matches!(it, Delivered::Question { .. })).count();
    assert_eq!(asked, 1);
}

#[test]
fn no_exchange_resumes_more_than_1000_times_nor_twice_within_100_ms() {
    let policy = RetryPolicy::default().builder().tool_deadline(secs(100_000)).build().unwrap();
    let mut rig = Rig::with_policy(policy);
    rig.connect();
    let (id, _, mut get) = resuming(&mut rig);
    let mut resumes = 1;
    let mut shortest = secs(60);

    while rig.is_open(id) {
        rig.open(&get);
        rig.event_id(&get, &format!("n{resumes}"), NEWS);
        rig.end(&get);
        if rig.is_open(id) {
            shortest = shortest.min(rig.advance_to_send());
            get = rig.get();
            resumes += 1;
        }
    }

    assert_eq!(rig.kind(id), Kind::Exhausted);
    assert_eq!(resumes, 1000);
    assert!(shortest >= millis(100), "{shortest:?}");
}

#[test]
fn a_resume_that_waited_for_the_link_still_keeps_100_ms_from_the_last_one() {
    // Found by the simulator, seed 57: the first redial is immediate, the resume must not be.
    let mut rig = Rig::connected();
    let (_, _, get) = resuming(&mut rig);

    rig.refuse_connection(&get);
    rig.dial_succeeds();

    rig.nothing_sent();
    assert_eq!(rig.advance_to_send(), millis(100));
}

#[test]
fn a_resume_that_arrived_late_is_not_followed_within_100_ms_either() {
    // Found by the simulator, seeds 106149 and 239701: the resume had waited in line for a connection.
    let ends: [fn(&mut Rig, &Outgoing); 3] = [
        |rig, get| {
            rig.open(get);
            rig.event_id(get, "n1", NEWS);
            rig.end(get);
        },
        |rig, get| rig.status(get, 503),
        |rig, get| rig.reset(get),
    ];
    for end in ends {
        let mut rig = Rig::connected();
        let (_, _, get) = resuming(&mut rig);
        rig.advance(secs(1));

        end(&mut rig, &get);

        assert!(rig.advance_to_send() >= millis(100));
    }
}

#[test]
fn a_redirected_resume_stays_a_resume() {
    let mut rig = Rig::connected();
    let (id, post, get) = resuming(&mut rig);
    let mut moved = head(307, Content::Nothing);
    moved.redirect = Some(ridethrough_core::head::Redirect::SameOrigin("/elsewhere".into()));

    rig.answer_with(&get, moved, "");
    rig.advance_to_send();

    let get = rig.get();
    assert_eq!((resumes_after(&get), get.to.target.as_deref()), (Some("e1"), Some("/elsewhere")));
    assert_eq!(get.to.generation, post.to.generation, "it belongs to the session of the POST");
    rig.open(&get);
    rig.event_result(&get, &post, "1");
    assert_eq!(rig.result(id), "1");
}

#[test]
fn a_safe_call_whose_stream_is_gone_twice_is_not_sent_a_third_time() {
    let mut rig = Rig::connected();
    let id = rig.list();
    let mut post = rig.post();
    for round in 0..2 {
        rig.open(&post);
        rig.event_id(&post, &format!("e{round}"), "");
        rig.end(&post);
        rig.advance_to_send();
        let get = rig.get();
        rig.answer(&get, 404, Content::Json, &gone(&post));
        let ping = rig.post();
        rig.reply(&ping, "{}");
        if round == 0 {
            post = next_list(&mut rig);
        }
    }

    assert_eq!(rig.kind(id), Kind::Interrupted);
}

#[test]
fn a_404_with_any_json_rpc_body_means_that_the_stream_is_gone() {
    let mut rig = Rig::connected();
    let (id, _, get) = resuming(&mut rig);
    let foreign = r#"{"jsonrpc":"2.0","id":"x","error":{"code":-1,"message":"gone"}}"#;

    rig.answer(&get, 404, Content::Json, foreign);

    assert_eq!(rig.kind(id), Kind::Interrupted);
}

#[test]
fn answers_that_nobody_waits_for_are_no_progress() {
    let mut rig = Rig::connected();
    let (id, _, mut get) = resuming(&mut rig);

    for n in 0..8 {
        rig.open(&get);
        rig.event_id(&get, &format!("n{n}"), r#"{"jsonrpc":"2.0","id":4242,"result":{}}"#);
        rig.end(&get);
        if n < 7 {
            rig.advance_to_send();
            get = rig.get();
        }
    }

    assert_eq!(rig.kind(id), Kind::Exhausted);
}

#[test]
fn a_hint_on_a_resume_beyond_the_calls_time_ends_it_now() {
    let mut rig = Rig::connected();
    let (id, _, get) = resuming(&mut rig);

    rig.busy(&get, 503, secs(3600));

    assert_eq!(rig.kind(id), Kind::Exhausted);
    assert_eq!(rig.error(id).retry_after, Some(secs(3600)));
}

#[test]
fn doubt_is_sticky_after_a_refused_resume() {
    let mut rig = Rig::connected();
    let (id, _, get) = resuming(&mut rig);

    rig.fail(&get, Failure::not_sent(Cause::BadCertificate));

    assert_eq!(rig.kind(id), Kind::Unreachable);
    assert_eq!(rig.error(id).delivery, Delivery::Unknown, "the POST had arrived");
}

#[test]
fn late_news_of_an_older_attempt_changes_nothing() {
    let mut rig = Rig::connected();
    let (id, post, get) = resuming(&mut rig);

    rig.event_result(&post, &post, "1");
    rig.end(&post);
    rig.reset(&post);
    rig.open(&get);
    rig.event_result(&get, &post, "2");

    assert_eq!(rig.result(id), "2");
}

/// Returns a call whose answer is a stream.
fn streaming(rig: &mut Rig) -> (ExchangeId, Outgoing) {
    let id = rig.call("deploy");
    let post = rig.post();
    rig.open(&post);
    (id, post)
}

/// Returns a call whose stream broke after event `e1` and whose first resume is out.
fn resuming(rig: &mut Rig) -> (ExchangeId, Outgoing, Outgoing) {
    let (id, post) = streaming(rig);
    rig.event_id(&post, "e1", "");
    rig.end(&post);
    rig.advance_to_send();
    let get = rig.get();
    (id, post, get)
}

/// Returns the request that follows the cancellation of the one it replaces.
fn next_list(rig: &mut Rig) -> Outgoing {
    loop {
        rig.advance_to_send();
        let next = rig.next();
        if method(&next).as_deref() == Some("tools/list") {
            return next;
        }
    }
}

fn gone(post: &Outgoing) -> String {
    let id = wire_id(post);
    format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-32001,"message":"no such stream"}}}}"#)
}
