//! The differences of the stateless era: no session, no resume, and a call is cancelled by closing its
//! stream.

use ridethrough_core::{CallOptions, Event, Kind, Request, Version};
use ridethrough_wire::message::Answer;

use crate::rig::{Rig, header, json, method, params, secs, wire_id};

#[test]
fn a_modern_link_sends_its_first_call_without_a_handshake_or_a_session() {
    let mut rig = Rig::modern();

    rig.call("deploy");

    let post = rig.post();
    assert_eq!(method(&post).as_deref(), Some("tools/call"));
    assert_eq!((post.to.version, post.to.session), (Some(Version::V2026_07_28), None));
    rig.nothing_sent();
}

#[test]
fn a_modern_link_that_is_asked_to_connect_asks_the_server_who_it_is() {
    let mut rig = Rig::modern();
    let id = rig.link.connect(rig.now, None);
    rig.pump();
    let lost = rig.post();
    assert_eq!(method(&lost).as_deref(), Some("server/discover"));
    assert_eq!(header(&lost, "mcp-method"), method(&lost));
    rig.reset(&lost);
    rig.advance_to_send();
    let discover = rig.post();
    rig.reply(&discover, r#"{"supportedVersions":["2026-07-28"]}"#);
    assert_eq!(rig.result(id), r#"{"supportedVersions":["2026-07-28"]}"#);

    let again = rig.link.connect(rig.now, None);
    rig.pump();

    rig.nothing_sent();
    assert_eq!(rig.result(again), rig.result(id));
}

#[test]
fn every_modern_request_says_who_asks_and_what_it_is_about() {
    let mut rig = Rig::modern();
    rig.call("deploy");
    let call = rig.post();
    rig.open(&call);
    rig.advance_to_send();
    let probe = rig.post();

    for request in [&call, &probe] {
        let meta = params(request).member("_meta").unwrap();
        let said = |key: &str| meta.member(&format!("io.modelcontextprotocol/{key}")).unwrap();
        assert_eq!(said("protocolVersion").as_str(), r#""2026-07-28""#);
        assert_eq!(said("clientCapabilities").as_str(), "{}");
        assert_eq!(said("clientInfo").as_str(), r#"{"name":"rig","version":"1"}"#);
        assert_eq!(header(request, "mcp-method"), method(request));
    }
    assert_eq!(header(&call, "mcp-name").as_deref(), Some("deploy"));
    assert_eq!(header(&probe, "mcp-name"), None);
}

#[test]
fn a_notification_to_a_stateless_server_says_so_too() {
    let mut rig = Rig::modern();
    let about = json(r#"{"_meta":{"traceparent":"00-1-2-01"},"n":1}"#);

    rig.link.notify(rig.now, "notifications/example", Some(&about));
    rig.pump();

    let notice = rig.post();
    let meta = params(&notice).member("_meta").unwrap();
    let version = meta.member("io.modelcontextprotocol/protocolVersion").unwrap();
    assert_eq!(version.as_str(), r#""2026-07-28""#);
    assert_eq!(meta.member("traceparent").unwrap().as_str(), r#""00-1-2-01""#);
    assert_eq!(params(&notice).member("n").unwrap().as_str(), "1");
    assert_eq!(header(&notice, "mcp-method").as_deref(), Some("notifications/example"));
    assert_eq!(notice.to.version, Some(Version::V2026_07_28));
}

#[test]
fn a_legacy_request_says_nothing_of_the_kind() {
    let mut rig = Rig::new();
    rig.call("deploy");

    let call = rig.post();

    assert_eq!(params(&call).as_str(), r#"{"name":"deploy"}"#);
    assert_eq!((header(&call, "mcp-method"), header(&call, "mcp-name")), (None, None));
}

#[test]
fn arguments_that_a_tool_marks_are_repeated_in_headers_once_it_is_known() {
    let mut rig = Rig::modern();
    let deploy = || Request {
        method: "tools/call".into(),
        params: Some(json(r#"{"name":"deploy","arguments":{"region":"eu","note":"x"}}"#)),
        options: CallOptions::default(),
    };
    rig.send(deploy());
    let unknown = rig.post();

    rig.list();
    let list = rig.post();
    rig.reply(
        &list,
        r#"{"tools":[{"name":"deploy","inputSchema":{"type":"object","properties":{
            "region":{"type":"string","x-mcp-header":"Region"},"note":{"type":"string"}}}}]}"#,
    );
    rig.send(deploy());
    let known = rig.post();

    assert_eq!(header(&unknown, "mcp-param-region"), None);
    assert_eq!(header(&known, "mcp-param-region").as_deref(), Some("eu"));
    assert_eq!(known.headers.iter().count(), 3, "{:?}", known.headers);
}

#[test]
fn a_tool_that_marks_arguments_wrongly_is_taken_out_of_the_list_and_told() {
    let tools = r#"{"nextCursor":"2","tools":[{"name":"good","n":1.10},{"name":"bad",
        "inputSchema":{"properties":{"a":{"type":"number","x-mcp-header":"A"}}}}],"x":{}}"#;
    let (mut modern, mut legacy) = (Rig::modern(), Rig::new());
    let (in_modern, in_legacy) = (modern.list(), legacy.list());

    let asked = modern.post();
    modern.reply(&asked, tools);
    let asked = legacy.post();
    legacy.reply(&asked, tools);

    let kept = r#"{"nextCursor":"2","tools":[{"name":"good","n":1.10}],"x":{}}"#;
    assert_eq!(modern.result(in_modern), kept);
    assert_eq!(legacy.result(in_legacy), tools, "that era knows no marks");
    let is_told =
        |event: &Event| matches!(event, Event::ToolDropped { tool, .. } if &**tool == "bad");
    assert_eq!(modern.told.iter().filter(|event| is_told(event)).count(), 1);
    assert!(!legacy.told.iter().any(is_told));
}

#[test]
fn a_modern_stream_that_broke_is_lost_whatever_ids_it_had() {
    let mut rig = Rig::modern();
    let id = rig.call("deploy");
    let post = rig.post();
    rig.open(&post);
    rig.retry(&post, "e1", secs(1));

    rig.end(&post);

    assert_eq!(rig.kind(id), Kind::Interrupted);
    rig.nothing_sent();
}

#[test]
fn a_modern_safe_call_is_sent_again_with_a_new_id_and_no_cancellation() {
    let mut rig = Rig::modern();
    let id = rig.list();
    let post = rig.post();
    rig.open(&post);

    rig.reset(&post);
    rig.advance_to_send();

    let again = rig.post();
    assert_eq!(method(&again).as_deref(), Some("tools/list"));
    assert_ne!(wire_id(&again), wire_id(&post));
    rig.reply(&again, "{}");
    assert_eq!(rig.result(id), "{}");
}

#[test]
fn a_modern_cancel_closes_the_stream_and_says_nothing() {
    let mut rig = Rig::modern();
    let id = rig.call("deploy");
    let post = rig.post();
    rig.open(&post);

    rig.cancel(id);

    assert_eq!(rig.kind(id), Kind::Cancelled);
    assert_eq!(rig.aborted, [post.attempt]);
    rig.nothing_sent();
}

#[test]
fn a_modern_silence_is_probed_by_server_discover_and_never_resumed() {
    let mut rig = Rig::modern();
    rig.call("deploy");
    let post = rig.post();
    rig.open(&post);
    rig.event_id(&post, "e1", r#"{"method":"notifications/message"}"#);

    for _ in 0..6 {
        assert_eq!(rig.advance_to_send(), secs(30));
        let probe = rig.post();
        assert_eq!(method(&probe).as_deref(), Some("server/discover"));
        rig.reply(&probe, "{}");
    }

    rig.nothing_sent();
}

#[test]
fn a_modern_deadline_closes_the_stream_and_says_nothing() {
    let mut rig = Rig::modern();
    let id = rig.call("deploy");
    let post = rig.post();
    rig.open(&post);

    while rig.is_open(id) {
        rig.advance(secs(10));
        if let Some(probe) = rig.sent.pop_front() {
            assert_eq!(method(&probe).as_deref(), Some("server/discover"));
            rig.reply(&probe, "{}");
        }
    }

    assert_eq!(rig.kind(id), Kind::DeadlinePassed);
    assert!(rig.error(id).may_have_run());
    assert_eq!(rig.aborted, [post.attempt]);
    rig.nothing_sent();
}

#[test]
fn a_modern_loss_is_never_told_as_a_cancel_nor_a_cancel_as_a_loss() {
    for is_open in [false, true] {
        let mut rig = Rig::modern();
        let lost = rig.call("deploy");
        let cancelled = rig.call("deploy");
        let (first, second) = (rig.post(), rig.post());
        if is_open {
            rig.open(&first);
            rig.open(&second);
        }

        rig.reset(&first);
        rig.cancel(cancelled);
        rig.reset(&second);
        rig.advance(secs(60));

        assert_eq!(rig.kind(lost), Kind::Interrupted);
        assert_eq!(rig.kind(cancelled), Kind::Cancelled);
        assert_eq!(rig.aborted, [second.attempt]);
        rig.nothing_sent();
    }
}

#[test]
fn a_modern_request_that_is_accepted_and_not_answered_ends_at_once() {
    let mut rig = Rig::modern();
    let id = rig.call("deploy");
    let post = rig.post();

    rig.status(&post, 202);

    assert_eq!(rig.kind(id), Kind::PeerMisbehaved);
    assert!(rig.error(id).may_have_run());
}

#[test]
fn a_modern_404_is_no_lost_session() {
    let mut rig = Rig::modern();
    let id = rig.call("deploy");
    let post = rig.post();

    rig.status(&post, 404);

    assert_eq!(rig.kind(id), Kind::Rejected { status: 404 });
    assert_eq!(rig.handshakes, 0);
}

#[test]
fn the_words_of_a_lost_session_mean_nothing_in_an_era_without_sessions() {
    for is_stream in [false, true] {
        let mut rig = Rig::modern();
        let id = rig.call("deploy");
        let post = rig.post();

        if is_stream {
            rig.open(&post);
            let wire_id = wire_id(&post);
            let text = r#""error":{"code":1,"message":"Session expired"}"#;
            rig.event(&post, &format!(r#"{{"id":{wire_id},{text}}}"#));
        } else {
            rig.refuse(&post, 400, -32000, "Session expired");
        }

        assert!(matches!(rig.finished[&id], Ok(Answer::Error(_))));
        rig.nothing_sent();
    }
}

#[test]
fn a_modern_link_closes_without_a_delete() {
    let mut rig = Rig::modern();
    rig.call("deploy");
    rig.sent.clear();

    rig.close();

    assert!(rig.closed);
    rig.nothing_sent();
}
