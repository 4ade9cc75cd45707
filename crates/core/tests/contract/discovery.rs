//! L16: a link that may speak either era finds out which, and follows a server that changes.

use ridethrough_core::head::Content;
use ridethrough_core::{Era, Eras, Event, Kind, Outgoing, RetryPolicy, Version};
use ridethrough_wire::message::Answer;

use crate::rig::{Rig, method, millis, secs, session, wire_id};

#[test]
fn an_unknown_server_is_asked_for_its_era_before_anything_else() {
    let mut rig = either();
    let id = rig.call("deploy");

    let question = rig.post();
    assert_eq!(method(&question).as_deref(), Some("server/discover"));
    assert_eq!(question.to.version, Some(Version::V2026_07_28));
    rig.nothing_sent();
    modern(&mut rig, &question);

    let call = rig.post();
    assert_eq!(method(&call).as_deref(), Some("tools/call"));
    assert_eq!((call.to.version, call.to.session.clone()), (Some(Version::V2026_07_28), None));
    rig.reply(&call, "{}");
    assert_eq!(rig.result(id), "{}");
    assert_eq!((found(&rig), rig.handshakes), (vec![Era::Modern], 0));
}

#[test]
fn what_a_modern_server_says_of_itself_is_the_answer_to_a_connect() {
    let mut rig = either();
    let id = rig.link.connect(rig.now, None);
    rig.pump();

    let question = rig.post();
    modern(&mut rig, &question);

    assert!(rig.result(id).contains("supportedVersions"), "{}", rig.result(id));
}

#[test]
fn a_server_that_does_not_know_the_question_is_initialized() {
    for status in [200, 400, 404] {
        let mut rig = either();
        let id = rig.call("deploy");
        let question = rig.post();

        rig.refuse(&question, status, -32601, "Method not found");

        let call = rig.post();
        assert!(call.to.session.is_some(), "{status}");
        rig.reply(&call, "{}");
        assert_eq!(rig.result(id), "{}");
        assert_eq!((found(&rig), rig.handshakes), (vec![Era::Legacy], 1));
    }
}

#[test]
fn trouble_limits_and_silence_are_no_evidence_of_an_era() {
    let mut rig = either();
    rig.call("deploy");

    for trouble in 0..4 {
        let question = rig.post();
        assert_eq!(method(&question).as_deref(), Some("server/discover"), "{trouble}");
        match trouble {
            0 => rig.status(&question, 503),
            1 => rig.busy(&question, 429, secs(1)),
            2 => rig.status(&question, 408),
            _ => rig.reset(&question),
        }
        rig.advance_to_send();
    }

    assert_eq!((found(&rig), rig.handshakes), (vec![], 0));
}

#[test]
fn an_answer_by_our_id_that_only_an_older_server_gives_is_evidence_under_any_status() {
    for status in [200, 400, 403, 404, 500, 501, 502, 503] {
        for (code, words) in [(-32601, "Method not found"), (-32000, "Server not initialized")] {
            let mut rig = either();
            let id = rig.call("deploy");
            let question = rig.post();

            rig.refuse(&question, status, code, words);

            let call = rig.post();
            assert_eq!((session(&call), found(&rig)), (Some("s1"), vec![Era::Legacy]), "{status}");
            rig.reply(&call, "{}");
            assert_eq!(rig.result(id), "{}");
        }
    }
}

#[test]
fn useless_answers_lead_to_initialize_after_three_of_them_and_a_second_and_a_half() {
    for useless in 0..5 {
        let mut rig = either();
        let id = rig.call("deploy");
        let began = rig.now;

        let mut questions = 0;
        while rig.handshakes == 0 {
            let question = rig.post();
            questions += 1;
            match useless {
                0 => rig.status(&question, 500),
                1 => rig.answer(&question, 502, Content::Html, "<h1>Bad Gateway</h1>"),
                2 => {
                    rig.open(&question);
                    rig.end(&question);
                }
                3 => rig.reset(&question),
                _ => {}
            }
            if !rig.dials.is_empty() {
                rig.dial_succeeds();
            }
            if rig.handshakes == 0 && rig.sent.is_empty() {
                rig.advance_to_send_or_handshake();
            }
        }

        assert!(questions >= 3, "{useless}: {questions}");
        assert!(rig.now.since(began) >= millis(1500), "{useless}");
        assert!(rig.now.since(began) < secs(20), "{useless}");
        let call = rig.call_sent();
        rig.reply(&call, "{}");
        assert_eq!(rig.result(id), "{}");
        assert_eq!(found(&rig), [], "{useless}: what was guessed is told to nobody");
    }
}

#[test]
fn a_status_that_would_end_initialize_leads_to_it_at_once() {
    for status in [403, 501] {
        let mut rig = either();
        let id = rig.call("deploy");
        let (question, began) = (rig.post(), rig.now);

        rig.status(&question, status);

        assert_eq!((rig.handshakes, rig.now), (1, began), "{status}");
        assert_eq!(found(&rig), [], "{status}: what was guessed is told to nobody");
        let call = rig.call_sent();
        rig.reply(&call, "{}");
        assert_eq!(rig.result(id), "{}");
    }
}

#[test]
fn a_status_that_refuses_every_request_ends_the_handshake_at_the_second() {
    for status in [403, 501] {
        let mut rig = either();
        rig.plays_handshake = false;
        let id = rig.call("deploy");
        let began = rig.now;

        for method in ["server/discover", "initialize"] {
            let request = rig.post();
            assert_eq!(self::method(&request).as_deref(), Some(method), "{status}");
            rig.status(&request, status);
        }

        assert_eq!((rig.kind(id), rig.now), (Kind::Rejected { status }, began));
        rig.nothing_sent();
    }
}

#[test]
fn a_guess_that_is_refused_is_checked_once_and_not_for_ever() {
    let mut rig = either();
    rig.plays_handshake = false;
    let id = rig.call("deploy");
    let mut methods = Vec::new();

    while rig.is_open(id) {
        let Some(request) = rig.sent.pop_front() else {
            rig.advance(millis(50));
            continue;
        };
        methods.extend(method(&request));
        let is_question = method(&request).as_deref() == Some("server/discover");
        rig.status(&request, if is_question { 403 } else { 400 });
    }

    assert_eq!(methods, ["server/discover", "initialize", "server/discover", "initialize"]);
    assert_eq!(rig.kind(id), Kind::Rejected { status: 400 });
}

#[test]
fn who_wants_credentials_or_time_is_never_initialized_for_it() {
    for status in [401, 408, 429] {
        let mut rig = either();
        rig.call("deploy");
        let until = rig.now + secs(25);

        while rig.now < until {
            if let Some(question) = rig.sent.pop_front() {
                rig.status(&question, status);
            }
            rig.bring_credentials(Ok(()));
            rig.advance(millis(100));
        }

        assert_eq!((found(&rig), rig.handshakes), (vec![], 0), "{status}");
    }
}

#[test]
fn a_challenge_after_useless_answers_does_not_lead_to_initialize() {
    let mut rig = either();
    rig.call("deploy");
    for _ in 0..2 {
        let question = rig.post();
        rig.status(&question, 500);
        rig.advance_to_send();
    }
    let question = rig.post();
    rig.advance(millis(1500));

    rig.challenge(&question);

    assert_eq!((rig.handshakes, rig.credentials_asked), (0, 1));
}

#[test]
fn an_era_that_was_guessed_is_asked_again_after_a_minute() {
    let mut rig = either();
    let id = rig.call("deploy");
    while rig.handshakes == 0 {
        let question = rig.post();
        rig.status(&question, 500);
        rig.advance_to_send_or_handshake();
    }
    let call = rig.call_sent();
    rig.reply(&call, "{}");
    assert_eq!(rig.result(id), "{}");

    rig.advance(secs(60));
    rig.call("deploy");
    let call = rig.post();
    rig.status(&call, 404);

    assert_eq!(method(&rig.post()).as_deref(), Some("server/discover"));
}

#[test]
fn a_challenge_is_answered_before_the_era_is_asked_again() {
    let mut rig = either();
    rig.call("deploy");
    let question = rig.post();

    rig.challenge(&question);
    assert_eq!(rig.credentials_asked, 1);
    rig.bring_credentials(Ok(()));

    let again = rig.post();
    assert_eq!(method(&again).as_deref(), Some("server/discover"));
    assert_eq!(rig.handshakes, 0);
}

#[test]
fn a_guard_that_speaks_json_rpc_is_still_a_guard() {
    let mut rig = either();
    rig.plays_handshake = false;
    let id = rig.call("deploy");

    while rig.is_open(id) {
        match rig.sent.pop_front() {
            Some(question) => rig.refuse(&question, 403, -32000, "Forbidden"),
            None => rig.advance(millis(50)),
        }
    }

    // Every way to ask is tried, and a guard refuses each of them.
    assert_eq!((found(&rig), rig.handshakes), (vec![], 1));
    assert_eq!(rig.kind(id), Kind::Rejected { status: 403 });
}

#[test]
fn a_server_that_is_newer_than_we_are_is_told_and_not_initialized() {
    let mut rig = either();
    let id = rig.call("deploy");
    let question = rig.post();

    unsupported(&mut rig, &question, "2027-01-01");

    assert_eq!(rig.kind(id), Kind::Incompatible);
    assert!(rig.error(id).report().contains("2027-01-01"), "{}", rig.error(id).report());
    assert_eq!(rig.handshakes, 0);
}

#[test]
fn a_modern_server_that_refuses_the_revision_it_names_is_asked_once_more() {
    let mut rig = either();
    let id = rig.call("deploy");
    let question = rig.post();
    unsupported(&mut rig, &question, "2026-07-28");

    let again = rig.post();
    assert_eq!(method(&again).as_deref(), Some("server/discover"));
    unsupported(&mut rig, &again, "2026-07-28");

    assert_eq!(rig.kind(id), Kind::Incompatible);
    rig.nothing_sent();
}

#[test]
fn a_legacy_verdict_is_remembered_for_an_hour() {
    let mut rig = either();
    rig.call("deploy");
    let question = rig.post();
    rig.refuse(&question, 404, -32601, "Method not found");
    let mut call = rig.post();

    rig.refuse(&call, 404, -32001, "Session not found");
    call = rig.post();
    assert_eq!((method(&call).as_deref(), rig.handshakes), (Some("tools/call"), 2));
    rig.reply(&call, "{}");
    rig.advance(secs(3601));
    rig.call("deploy");
    call = rig.post();
    rig.refuse(&call, 404, -32001, "Session not found");

    assert_eq!(method(&rig.post()).as_deref(), Some("server/discover"));
}

#[test]
fn a_modern_server_that_was_rolled_back_is_followed() {
    for refusal in 0..4 {
        let mut rig = either();
        let id = rig.call("deploy");
        let question = rig.post();
        modern(&mut rig, &question);
        let call = rig.post();

        match refusal {
            0 => rig.refuse(&call, 400, -32000, "Bad Request: No valid session ID provided"),
            1 => rig.answer(&call, 404, Content::Html, "<h1>not found</h1>"),
            2 => rig.refuse(&call, 404, -32001, "Session not found"),
            _ => unsupported(&mut rig, &call, "2025-11-25"),
        }
        let question = rig.post();
        assert_eq!(method(&question).as_deref(), Some("server/discover"), "{refusal}");
        match refusal {
            0 => rig.refuse(&question, 400, -32000, "Bad Request: No valid session ID provided"),
            1 => rig.answer(&question, 404, Content::Html, "<h1>not found</h1>"),
            2 => rig.refuse(&question, 404, -32001, "Session not found"),
            _ => rig.refuse(&question, 404, -32601, "Method not found"),
        }

        let again = rig.post();
        assert!(again.to.session.is_some());
        assert_ne!(wire_id(&again), wire_id(&call));
        rig.reply(&again, "{}");
        assert_eq!(rig.result(id), "{}");
        assert_eq!(found(&rig), [Era::Modern, Era::Legacy]);
    }
}

#[test]
fn an_unsafe_call_that_a_rolled_back_server_refused_in_its_own_way_is_in_doubt() {
    let mut rig = either();
    let id = rig.call("deploy");
    let question = rig.post();
    modern(&mut rig, &question);
    let call = rig.post();

    rig.answer(&call, 400, Content::Other, "no such order");
    let question = rig.post();
    rig.refuse(&question, 404, -32601, "Method not found");

    assert_eq!(rig.kind(id), Kind::Rejected { status: 400 });
    assert!(rig.error(id).may_have_run());
    rig.call("deploy");
    assert!(rig.post().to.session.is_some(), "later calls follow the server");
}

#[test]
fn a_question_for_the_era_that_is_refused_for_its_credentials_renews_them_for_later_calls() {
    let mut rig = either();
    rig.call("deploy");
    let question = rig.post();
    rig.refuse(&question, 404, -32601, "Method not found");
    let call = rig.post();
    unsupported(&mut rig, &call, "2026-07-28");
    let question = rig.post();

    rig.challenge(&question);
    assert_eq!(rig.credentials_asked, 1);
    rig.bring_credentials(Ok(()));

    let id = rig.call("deploy");
    let call = rig.call_sent();
    unsupported(&mut rig, &call, "2026-07-28");
    let question = rig.post();
    modern(&mut rig, &question);
    let again = rig.post();
    rig.reply(&again, "{}");
    assert_eq!(rig.result(id), "{}");
}

#[test]
fn a_safe_call_that_a_rolled_back_server_refused_goes_out_again_whatever_the_refusal() {
    let mut rig = either();
    let id = rig.list();
    let question = rig.post();
    modern(&mut rig, &question);
    let call = rig.post();

    rig.answer(&call, 400, Content::Other, "no such order");
    let question = rig.post();
    rig.refuse(&question, 404, -32601, "Method not found");

    let again = rig.post();
    rig.reply(&again, "{}");
    assert_eq!(rig.result(id), "{}");
}

#[test]
fn a_call_that_a_changed_server_refused_by_a_status_that_says_so_goes_out_again() {
    let mut rig = either();
    let id = rig.call("deploy");
    let question = rig.post();
    modern(&mut rig, &question);
    let call = rig.post();

    rig.status(&call, 415);
    let question = rig.post();
    rig.refuse(&question, 404, -32601, "Method not found");

    let again = rig.post();
    rig.reply(&again, "{}");
    assert_eq!(rig.result(id), "{}");
}

#[test]
fn a_legacy_server_that_was_upgraded_is_followed() {
    let mut rig = either();
    let id = rig.call("deploy");
    let question = rig.post();
    rig.refuse(&question, 404, -32601, "Method not found");
    let call = rig.post();

    unsupported(&mut rig, &call, "2026-07-28");
    let question = rig.post();
    modern(&mut rig, &question);

    let again = rig.post();
    assert_eq!((again.to.version, again.to.session.clone()), (Some(Version::V2026_07_28), None));
    rig.reply(&again, "{}");
    assert_eq!(rig.result(id), "{}");
    assert_eq!(found(&rig), [Era::Legacy, Era::Modern]);
}

#[test]
fn a_server_that_was_upgraded_between_two_sessions_is_asked_again_whatever_it_says() {
    for refusal in 0..7 {
        let mut rig = either();
        rig.call("deploy");
        let question = rig.post();
        rig.refuse(&question, 404, -32601, "Method not found");
        let call = rig.post();
        rig.plays_handshake = false;

        rig.refuse(&call, 404, -32001, "Session not found");
        let initialize = rig.post();
        assert_eq!(method(&initialize).as_deref(), Some("initialize"));
        match refusal {
            0 => rig.refuse(&initialize, 404, -32601, "Method not found"),
            1 => rig.refuse(&initialize, 400, -32602, "_meta is missing"),
            2 => rig.refuse(&initialize, 400, -32020, "Mcp-Method is missing"),
            3 => unsupported(&mut rig, &initialize, "2026-07-28"),
            4 => rig.status(&initialize, 400),
            5 => rig.status(&initialize, 404),
            _ => rig.status(&initialize, 405),
        }

        assert_eq!(method(&rig.post()).as_deref(), Some("server/discover"), "{refusal}");
    }
}

#[test]
fn an_initialize_that_stays_refused_after_the_era_was_asked_is_refused() {
    for (code, kind) in [(None, Kind::Rejected { status: 400 }), (Some(-32602), Kind::Incompatible)]
    {
        let mut rig = either();
        rig.plays_handshake = false;
        let id = rig.call("deploy");
        let question = rig.post();
        rig.refuse(&question, 404, -32601, "Method not found");

        let initialize = rig.post();
        match code {
            None => rig.status(&initialize, 400),
            Some(code) => rig.refuse(&initialize, 400, code, "no"),
        }

        assert_eq!(rig.kind(id), kind);
        rig.nothing_sent();
    }
}

#[test]
fn a_server_that_is_upgraded_while_a_handshake_pauses_is_asked_again() {
    // Found by the simulator, seed 100356 of both eras: a renewal that had asked for the era once went on
    // with `initialize` for as long as a call waited.
    let mut rig = either();
    rig.plays_handshake = false;
    let id = rig.call("deploy");
    let question = rig.post();
    rig.refuse(&question, 404, -32601, "Method not found");
    let initialize = rig.post();

    rig.status(&initialize, 404);
    rig.advance_to_send();
    let question = rig.post();
    assert_eq!(method(&question).as_deref(), Some("server/discover"));
    modern(&mut rig, &question);

    let call = rig.post();
    rig.reply(&call, "{}");
    assert_eq!(rig.result(id), "{}");
}

#[test]
fn a_session_that_a_modern_server_refuses_for_its_form_is_left() {
    let mut rig = either();
    let id = rig.call("deploy");
    let question = rig.post();
    rig.refuse(&question, 404, -32601, "Method not found");
    let call = rig.post();

    rig.refuse(&call, 400, -32020, "Mcp-Method is missing");
    let question = rig.post();
    modern(&mut rig, &question);

    let again = rig.post();
    assert_eq!(again.to.version, Some(Version::V2026_07_28));
    rig.reply(&again, "{}");
    assert_eq!(rig.result(id), "{}");
}

#[test]
fn the_rest_of_a_stream_is_asked_for_in_the_era_that_it_began_in() {
    let mut rig = either();
    rig.call("deploy");
    let question = rig.post();
    rig.refuse(&question, 404, -32601, "Method not found");
    let streaming = rig.post();
    rig.open(&streaming);
    rig.event_id(&streaming, "e1", r#"{"method":"notifications/message"}"#);
    rig.call("deploy");
    let upgraded = rig.post();
    unsupported(&mut rig, &upgraded, "2026-07-28");
    let question = rig.post();
    modern(&mut rig, &question);
    rig.post();

    rig.reset(&streaming);
    rig.advance_to_send();

    let rest = rig.get();
    assert_eq!(rest.to.session, streaming.to.session);
    assert!(rest.headers.is_empty(), "{:?}", rest.headers);
}

#[test]
fn a_refusal_that_stays_after_the_era_was_asked_again_is_the_calls_own() {
    let mut rig = either();
    let id = rig.call("deploy");
    let question = rig.post();
    modern(&mut rig, &question);
    let call = rig.post();
    rig.refuse(&call, 400, -32000, "no");
    let question = rig.post();
    modern(&mut rig, &question);

    assert!(matches!(rig.finished[&id], Ok(Answer::Error(_))));
    rig.nothing_sent();
}

#[test]
fn a_call_follows_its_server_into_another_era_once() {
    let mut rig = either();
    let id = rig.call("deploy");
    let question = rig.post();
    modern(&mut rig, &question);
    let call = rig.post();
    rig.refuse(&call, 400, -32000, "no session");
    let question = rig.post();
    rig.refuse(&question, 400, -32000, "no session");
    let again = rig.post();
    assert!(again.to.session.is_some());

    rig.refuse(&again, 400, -32020, "no headers");

    assert!(matches!(rig.finished[&id], Ok(Answer::Error(_))));
    rig.nothing_sent();
}

#[test]
fn what_a_modern_server_says_in_its_own_words_is_an_answer() {
    for (status, code) in [(404, -32601), (400, -32602), (400, -32021), (200, -32000)] {
        let mut rig = either();
        let id = rig.call("deploy");
        let question = rig.post();
        modern(&mut rig, &question);
        let call = rig.post();

        rig.refuse(&call, status, code, "no");

        assert!(matches!(rig.finished[&id], Ok(Answer::Error(_))), "{status} {code}");
        rig.nothing_sent();
    }
}

#[test]
fn a_late_refusal_of_the_old_era_does_not_ask_a_third_time() {
    let mut rig = either();
    let (one, two) = (rig.call("deploy"), rig.call("deploy"));
    let question = rig.post();
    modern(&mut rig, &question);
    let (first, second) = (rig.post(), rig.post());
    rig.refuse(&first, 400, -32000, "no session");
    let question = rig.post();
    rig.refuse(&question, 400, -32000, "no session");
    let again = rig.post();

    rig.refuse(&second, 400, -32000, "no session");

    let also = rig.post();
    assert_eq!((method(&also).as_deref(), rig.handshakes), (Some("tools/call"), 1));
    rig.reply(&again, "1");
    rig.reply(&also, "2");
    assert_eq!((rig.result(one), rig.result(two)), ("1", "2"));
    assert_eq!(found(&rig), [Era::Modern, Era::Legacy]);
    // What the link knows of the new era stays known.
    rig.call("deploy");
    let call = rig.post();
    rig.refuse(&call, 404, -32001, "Session not found");
    assert_eq!((method(&rig.post()).as_deref(), rig.handshakes), (Some("tools/call"), 2));
}

#[test]
fn an_era_that_was_found_in_an_earlier_life_is_believed_for_what_is_left_of_its_hour() {
    let mut rig = either();
    rig.link.remember_era(rig.now, Era::Legacy, secs(3000));

    let id = rig.call("deploy");
    let call = rig.post();
    assert_eq!((method(&call).as_deref(), rig.handshakes), (Some("tools/call"), 1));
    rig.reply(&call, "1");
    assert_eq!((rig.result(id), found(&rig)), ("1", vec![]));

    rig.advance(secs(600));
    rig.call("deploy");
    let call = rig.post();
    rig.refuse(&call, 404, -32001, "Session not found");
    assert_eq!(method(&rig.post()).as_deref(), Some("server/discover"));
}

#[test]
fn an_era_that_is_remembered_wrongly_is_corrected() {
    let mut rig = either();
    rig.plays_handshake = false;
    rig.link.remember_era(rig.now, Era::Legacy, secs(0));
    let id = rig.call("deploy");
    let initialize = rig.post();
    assert_eq!(method(&initialize).as_deref(), Some("initialize"));

    rig.refuse(&initialize, 404, -32601, "Method not found");
    let question = rig.post();
    modern(&mut rig, &question);
    let call = rig.post();
    rig.reply(&call, "1");

    assert_eq!((rig.result(id), found(&rig)), ("1", vec![Era::Modern]));
}

#[test]
fn a_server_that_was_stateless_and_wants_sessions_is_told() {
    let is_told = |rig: &Rig| rig.told.contains(&Event::EraDowngraded);
    // The era was found by an earlier process, or by this one.
    let mut remembered = either();
    remembered.link.remember_era(remembered.now, Era::Modern, secs(0));
    remembered.call("deploy");
    let mut rolled_back = either();
    rolled_back.call("deploy");
    let question = rolled_back.post();
    modern(&mut rolled_back, &question);
    let call = rolled_back.post();
    rolled_back.refuse(&call, 400, -32000, "no session");

    for rig in [&mut remembered, &mut rolled_back] {
        assert!(!is_told(rig));
        let question = rig.post();
        rig.refuse(&question, 404, -32601, "Method not found");
        assert!(is_told(rig));
    }
    let mut always = either();
    always.call("deploy");
    let question = always.post();
    always.refuse(&question, 404, -32601, "Method not found");
    assert!(!is_told(&always));
}

#[test]
fn a_link_that_is_pinned_keeps_to_its_era_whatever_is_remembered() {
    let mut rig = Rig::with(Eras::Only(Era::Legacy), RetryPolicy::default());
    rig.link.remember_era(rig.now, Era::Modern, secs(0));

    rig.call("deploy");
    let call = rig.post();

    assert_eq!((method(&call).as_deref(), rig.handshakes), (Some("tools/call"), 1));
    assert_eq!(rig.link.status(rig.now).era, Era::Legacy);
}

fn either() -> Rig {
    Rig::with(Eras::Either, RetryPolicy::default())
}

fn modern(rig: &mut Rig, question: &Outgoing) {
    rig.reply(question, r#"{"resultType":"complete","supportedVersions":["2026-07-28"]}"#);
}

/// Refuses the revision, and names another one.
fn unsupported(rig: &mut Rig, request: &Outgoing, supported: &str) {
    let id = wire_id(request);
    let body = format!(
        r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-32022,"message":"unsupported","data":{{"supported":["{supported}"]}}}}}}"#
    );
    rig.answer(request, 400, Content::Json, &body);
}

/// Returns the eras that were found, in order.
fn found(rig: &Rig) -> Vec<Era> {
    let era = |event: &Event| match event {
        Event::EraFound { era } => Some(*era),
        _ => None,
    };
    rig.told.iter().filter_map(era).collect()
}
