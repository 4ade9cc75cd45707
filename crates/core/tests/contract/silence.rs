//! Row 19: nothing arrives, for an unknown reason.

use ridethrough_core::{CallOptions, Delivery, ExchangeId, Kind, Outgoing};

use crate::rig::{Rig, method, resumes_after, secs};

#[test]
fn a_call_that_is_silent_for_30_s_asks_once_whether_the_server_lives() {
    let mut rig = Rig::connected();
    for _ in 0..3 {
        streaming(&mut rig);
    }

    rig.advance(secs(29));
    rig.nothing_sent();
    rig.advance(secs(1));

    assert_eq!(method(&rig.post()).as_deref(), Some("ping"));
    rig.nothing_sent();
}

#[test]
fn comments_count_as_bytes() {
    let mut rig = Rig::connected();
    let (_, post) = streaming(&mut rig);

    for _ in 0..20 {
        rig.advance(secs(25));
        rig.link.handle_bytes(rig.now, post.attempt);
    }

    rig.nothing_sent();
}

#[test]
fn any_http_answer_to_the_probe_means_alive_and_it_is_asked_again_30_s_later() {
    for status in [200, 401, 500, 503] {
        let mut rig = Rig::connected();
        let (id, _) = streaming(&mut rig);
        rig.advance(secs(30));
        let ping = rig.post();

        if status == 200 {
            rig.reply(&ping, "{}")
        } else {
            rig.status(&ping, status)
        }

        assert_eq!(rig.advance_to_send(), secs(30));
        assert!(rig.is_open(id));
    }
}

#[test]
fn four_probes_in_a_row_unanswered_mean_dead() {
    let mut rig = Rig::connected();
    let (id, post) = streaming(&mut rig);

    rig.advance_to_end(id);

    assert_eq!(rig.kind(id), Kind::Interrupted);
    assert!(rig.error(id).may_have_run());
    let elapsed = rig.error(id).elapsed;
    assert!(elapsed >= secs(120) && elapsed <= secs(135), "about 2 min: {elapsed:?}");
    assert_eq!(rig.sent.len(), 4);
    assert!(rig.aborted.contains(&post.attempt));
}

#[test]
fn a_call_that_spoke_between_two_probes_is_watched_again() {
    let mut rig = Rig::connected();
    let (_, post) = streaming(&mut rig);
    rig.advance(secs(40));
    rig.post();
    rig.link.handle_bytes(rig.now, post.attempt);

    rig.advance(secs(25));
    rig.nothing_sent();

    rig.advance(secs(5));
    assert_eq!(method(&rig.post()).as_deref(), Some("ping"));
}

#[test]
fn a_silent_server_that_can_be_reached_is_waited_for_until_a_deadline_of_the_callers_own() {
    let mut rig = Rig::connected();
    let options = CallOptions { deadline: Some(secs(500)), ..CallOptions::default() };
    let id = rig.call_with("deploy", options);
    rig.post();

    rig.advance(secs(499));
    assert!(rig.is_open(id));
    let asked = rig.sent.len();
    rig.advance(secs(1));

    assert_eq!(rig.kind(id), Kind::DeadlinePassed);
    assert!(asked <= 17, "a question every 30 s, not {asked} in 500 s");
}

#[test]
fn a_server_that_cannot_be_reached_is_waited_for_by_nobody() {
    let mut rig = Rig::connected();
    let options = CallOptions { deadline: Some(secs(500)), ..CallOptions::default() };
    let id = rig.call_with("deploy", options);
    rig.post();

    rig.advance(secs(30));
    let ping = rig.post();
    rig.refuse_connection(&ping);
    rig.advance_to_send();
    let ping = rig.post();
    rig.refuse_connection(&ping);

    assert_eq!(rig.kind(id), Kind::Interrupted);
}

#[test]
fn two_refused_connections_mean_dead() {
    let mut rig = Rig::connected();
    let (id, _) = streaming(&mut rig);
    rig.advance(secs(30));
    let ping = rig.post();
    rig.refuse_connection(&ping);

    rig.advance_to_send();
    let ping = rig.post();
    rig.refuse_connection(&ping);

    assert_eq!(rig.kind(id), Kind::Interrupted);
    assert_eq!(rig.error(id).delivery, Delivery::Unknown);
}

#[test]
fn a_dead_server_makes_a_stream_with_an_event_id_resume() {
    let mut rig = Rig::connected();
    let (id, post) = streaming(&mut rig);
    rig.event_id(&post, "e1", "");

    for _ in 0..4 {
        rig.advance_to_send();
        rig.post();
    }
    rig.advance_to_send();

    let get = rig.get();
    assert_eq!(resumes_after(&get), Some("e1"));
    rig.open(&get);
    rig.event_result(&get, &post, "1");
    assert_eq!(rig.result(id), "1");
}

#[test]
fn alive_but_silent_for_2_min_a_stream_is_resumed_beside_the_old_one() {
    let mut rig = Rig::connected();
    let (id, post) = stuck(&mut rig);

    let get = rig.get();
    assert_eq!(resumes_after(&get), Some("e1"));
    assert!(rig.aborted.is_empty(), "the old stream may still bring the answer");
    rig.open(&get);
    assert_eq!(rig.aborted, [post.attempt], "only now it is dropped");
    rig.event_result(&get, &post, "1");
    assert_eq!(rig.result(id), "1");
}

#[test]
fn the_old_stream_may_bring_the_answer_while_the_new_one_is_asked_for() {
    let mut rig = Rig::connected();
    let (id, post) = stuck(&mut rig);
    let get = rig.get();

    rig.event_result(&post, &post, "1");

    assert_eq!(rig.result(id), "1");
    assert_eq!(rig.aborted, [get.attempt]);
    assert_eq!(rig.drained, [post.attempt]);
}

#[test]
fn a_resume_beside_that_is_refused_leaves_the_old_stream_alone() {
    let mut rig = Rig::connected();
    let (id, post) = stuck(&mut rig);
    let get = rig.get();

    rig.status(&get, 409);
    rig.event_result(&post, &post, "1");

    assert_eq!(rig.result(id), "1");
}

#[test]
fn a_resume_beside_that_brings_the_answer_as_json_is_the_answer() {
    let mut rig = Rig::connected();
    let (id, post) = stuck(&mut rig);
    let get = rig.get();
    let text = format!(r#"{{"jsonrpc":"2.0","id":{},"result":7}}"#, crate::rig::wire_id(&post));

    rig.answer(&get, 200, ridethrough_core::head::Content::Json, &text);

    assert_eq!(rig.result(id), "7");
}

#[test]
fn what_the_old_stream_brought_is_not_delivered_again_by_the_new_one() {
    let mut rig = Rig::connected();
    let (_, post) = stuck(&mut rig);
    let get = rig.get();
    let news = r#"{"jsonrpc":"2.0","method":"notifications/message"}"#;
    rig.event_id(&post, "e2", news);
    rig.end(&post);
    rig.open(&get);

    rig.event_id(&get, "e2", news);

    assert_eq!(rig.delivered.len(), 1);
}

#[test]
fn pings_that_were_sent_for_other_reasons_do_not_count_as_silence() {
    let mut rig = Rig::connected();
    rig.plays_questions = false;
    for _ in 0..3 {
        rig.call("deploy");
        let post = rig.post();
        rig.refuse(&post, 200, -32000, "Session expired");
        rig.post();
        rig.advance(secs(60));
    }
    let (id, _) = streaming(&mut rig);

    rig.advance(secs(50));

    assert!(rig.is_open(id), "one unanswered ping is not four");
}

#[test]
fn when_the_old_stream_ends_the_new_one_goes_on() {
    let mut rig = Rig::connected();
    let (id, post) = stuck(&mut rig);
    let get = rig.get();

    rig.reset(&post);
    rig.open(&get);
    rig.event_result(&get, &post, "1");

    assert_eq!(rig.result(id), "1");
}

#[test]
fn a_suspended_machine_asks_at_once_and_tells_the_gap() {
    let mut rig = Rig::connected();
    streaming(&mut rig);

    rig.link.handle_resumed_from_suspend(rig.now, secs(8 * 3600));
    rig.pump();

    assert_eq!(method(&rig.post()).as_deref(), Some("ping"));
    let told = ridethrough_core::Event::Suspended { gap: secs(8 * 3600) };
    assert!(rig.told.contains(&told));
}

fn streaming(rig: &mut Rig) -> (ExchangeId, Outgoing) {
    let id = rig.call("deploy");
    let post = rig.post();
    rig.open(&post);
    (id, post)
}

/// Returns a call that has been silent for two minutes on a server that answers pings.
fn stuck(rig: &mut Rig) -> (ExchangeId, Outgoing) {
    let (id, post) = streaming(rig);
    rig.event_id(&post, "e1", "");
    for _ in 0..4 {
        rig.advance_to_send();
        let ping = rig.post();
        rig.reply(&ping, "{}");
    }
    (id, post)
}
