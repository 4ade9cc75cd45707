//! A stateless request that was refused for its form is mended once, never twice.

use ridethrough_core::{
    CallOptions, Cause, Delivery, ExchangeId, Failure, Headers, Kind, Outgoing, Request,
};
use ridethrough_wire::message::Answer;

use crate::rig::{Rig, header, json, method, secs, wire_id};

const OURS: &str = r#"{"supported":["2026-07-28"],"requested":"2026-07-28"}"#;

#[test]
fn a_revision_that_was_refused_and_named_is_offered_once_more() {
    for is_stream in [false, true] {
        let mut rig = Rig::modern();
        let id = rig.call("deploy");
        let first = rig.post();

        refuse_version(&mut rig, &first, is_stream);
        let second = rig.post();
        rig.reply(&second, "{}");

        assert_eq!(rig.result(id), "{}");
        assert_ne!(wire_id(&first), wire_id(&second), "a repeat is a new request");
        rig.nothing_sent();
    }
}

#[test]
fn a_revision_that_is_refused_again_is_the_servers_answer() {
    let mut rig = Rig::modern();
    let id = rig.call("deploy");
    let first = rig.post();
    refuse_version(&mut rig, &first, false);
    let second = rig.post();

    refuse_version(&mut rig, &second, false);

    assert!(matches!(rig.finished[&id], Ok(Answer::Error(_))));
    rig.nothing_sent();
}

#[test]
fn a_tool_whose_headers_are_refused_is_listed_anew_and_called_once_more() {
    let (mut rig, id, first) = called();

    rig.refuse(&first, 400, -32020, "Header mismatch");
    let list = rig.post();
    assert_eq!(method(&list).as_deref(), Some("tools/list"));
    assert_eq!(header(&list, "mcp-method").as_deref(), Some("tools/list"));
    rig.reply(&list, r#"{"tools":[],"nextCursor":"two"}"#);
    let page = rig.post();
    rig.reply(&page, REGION);
    let second = rig.post();
    rig.reply(&second, r#"{"done":true}"#);

    assert_eq!(header(&first, "mcp-param-region"), None);
    assert_eq!(header(&second, "mcp-param-region").as_deref(), Some("eu"));
    assert_eq!(rig.result(id), r#"{"done":true}"#);
    rig.nothing_sent();
}

#[test]
fn headers_that_the_caller_writes_are_sent_alone_and_their_refusal_is_the_answer() {
    let (mut rig, _, first) = called();
    rig.refuse(&first, 400, -32020, "Header mismatch");
    let list = rig.post();
    rig.reply(&list, REGION);
    let _second = rig.post();
    let mut map = http::HeaderMap::new();
    map.insert("mcp-name", http::HeaderValue::from_static("of the caller"));
    let headers = Headers::from(map);
    let options = CallOptions { headers, own_routing_headers: true, ..CallOptions::default() };
    let params = Some(json(r#"{"name":"deploy","arguments":{"region":"eu"}}"#));

    let id = rig.send(Request { method: "tools/call".into(), params, options });
    let post = rig.post();
    rig.refuse(&post, 400, -32020, "Header mismatch");

    assert_eq!(header(&post, "mcp-method").as_deref(), Some("tools/call"));
    assert_eq!(header(&post, "mcp-name").as_deref(), Some("of the caller"));
    assert_eq!(header(&post, "mcp-param-region"), None);
    assert!(matches!(rig.finished[&id], Ok(Answer::Error(_))));
    rig.nothing_sent();
}

#[test]
fn headers_that_are_refused_again_are_the_servers_answer() {
    let (mut rig, id, first) = called();
    rig.refuse(&first, 400, -32020, "Header mismatch");
    let list = rig.post();
    rig.reply(&list, REGION);
    let second = rig.post();

    rig.refuse(&second, 400, -32020, "Header mismatch");

    assert!(matches!(rig.finished[&id], Ok(Answer::Error(_))));
    rig.nothing_sent();
}

#[test]
fn calls_that_are_refused_together_share_one_list() {
    let mut rig = Rig::modern();
    let ids = [deploy(&mut rig), deploy(&mut rig)];
    let posts = [rig.post(), rig.post()];
    for post in &posts {
        rig.refuse(post, 400, -32020, "Header mismatch");
    }

    let list = rig.post();
    rig.nothing_sent();
    rig.reply(&list, REGION);
    for _ in ids {
        let again = rig.post();
        rig.reply(&again, "{}");
    }

    assert!(ids.iter().all(|id| rig.result(*id) == "{}"));
}

#[test]
fn a_list_that_cannot_be_had_holds_up_no_call() {
    for how in ["cut", "refused", "silent"] {
        let (mut rig, id, first) = called();
        rig.refuse(&first, 400, -32020, "Header mismatch");
        let list = rig.post();

        match how {
            "cut" => {
                let mut list = list;
                while method(&list).as_deref() == Some("tools/list") {
                    rig.fail(&list, Failure::unknown(Cause::Reset));
                    rig.dials.clear();
                    rig.advance_to_send();
                    list = rig.sent.front().cloned().expect("something was sent");
                    if method(&list).as_deref() == Some("tools/list") {
                        rig.post();
                    }
                }
            }
            "refused" => rig.refuse(&list, 400, -32602, "no"),
            _ => rig.advance(secs(15)),
        }
        let second = rig.post();
        rig.refuse(&second, 400, -32020, "Header mismatch");

        assert!(matches!(rig.finished[&id], Ok(Answer::Error(_))), "{how}");
    }
}

/// Without the list the call would be sent unchanged, and refused again.
#[test]
fn a_page_that_breaks_off_is_asked_for_again() {
    let (mut rig, id, first) = called();
    rig.refuse(&first, 400, -32020, "Header mismatch");
    let list = rig.post();
    rig.reply(&list, r#"{"tools":[],"nextCursor":"two"}"#);
    let page = rig.post();

    rig.fail(&page, Failure::unknown(Cause::Reset));
    rig.advance_to_send();
    let page = rig.post();
    rig.reply(&page, REGION);
    let second = rig.post();
    rig.reply(&second, r#"{"done":true}"#);

    assert_eq!(header(&second, "mcp-param-region").as_deref(), Some("eu"));
    assert_eq!(rig.result(id), r#"{"done":true}"#);
}

#[test]
fn a_call_that_was_refused_for_its_form_is_known_not_to_have_run() {
    let (mut rig, id, first) = called();
    rig.refuse(&first, 400, -32020, "Header mismatch");

    rig.cancel(id);

    assert_eq!(rig.error(id).delivery, Delivery::Refused);
    assert!(!rig.error(id).may_have_run());
}

#[test]
fn a_call_that_the_server_has_begun_is_not_sent_again_for_its_form() {
    for code in [-32020, -32022] {
        let (mut rig, id, first) = called();
        rig.open(&first);
        rig.event(&first, r#"{"method":"notifications/message","params":{"data":"at work"}}"#);

        let error = format!(r#"{{"code":{code},"message":"upstream","data":{OURS}}}"#);
        rig.event(&first, &format!(r#"{{"id":{},"error":{error}}}"#, wire_id(&first)));

        assert!(matches!(rig.finished[&id], Ok(Answer::Error(_))), "{code}");
        rig.nothing_sent();
    }
}

#[test]
fn a_list_of_many_pages_has_15_s_in_all() {
    let (mut rig, _, first) = called();
    rig.refuse(&first, 400, -32020, "Header mismatch");
    let began = rig.now;
    loop {
        let next = rig.post();
        if method(&next).as_deref() == Some("tools/call") {
            break;
        }
        rig.advance(secs(4));
        rig.reply(&next, r#"{"tools":[],"nextCursor":"more"}"#);
    }

    assert!(rig.now.since(began) <= secs(16), "{:?}", rig.now.since(began));
}

#[test]
fn what_else_is_wrong_with_a_request_is_the_servers_answer() {
    for (status, code) in [(400, -32021), (400, -32602), (404, -32601), (400, -32020)] {
        let mut rig = Rig::modern();
        let id = rig.list();
        let post = rig.post();

        rig.refuse(&post, status, code, "no");

        assert!(matches!(rig.finished[&id], Ok(Answer::Error(_))), "{code}");
        rig.nothing_sent();
    }
}

#[test]
fn a_refused_form_does_not_make_a_call_that_may_have_run_safe_again() {
    let mut rig = Rig::modern();
    let id = rig.list();
    let first = rig.post();
    rig.reset(&first);
    rig.advance_to_send();
    let second = rig.post();
    refuse_version(&mut rig, &second, false);
    let third = rig.post();
    rig.status(&third, 403);

    assert_eq!(rig.kind(id), Kind::Rejected { status: 403 });
    assert!(rig.error(id).may_have_run(), "the first send may have arrived");
}

const REGION: &str = r#"{"tools":[{"name":"deploy","inputSchema":{"type":"object","properties":{
    "region":{"type":"string","x-mcp-header":"Region"}}}}]}"#;

fn called() -> (Rig, ExchangeId, Outgoing) {
    let mut rig = Rig::modern();
    let id = deploy(&mut rig);
    let post = rig.post();
    (rig, id, post)
}

fn deploy(rig: &mut Rig) -> ExchangeId {
    rig.send(Request {
        method: "tools/call".into(),
        params: Some(json(r#"{"name":"deploy","arguments":{"region":"eu"}}"#)),
        options: CallOptions::default(),
    })
}

fn refuse_version(rig: &mut Rig, request: &Outgoing, is_stream: bool) {
    let error = format!(r#"{{"code":-32022,"message":"Unsupported version","data":{OURS}}}"#);
    let body = format!(r#"{{"jsonrpc":"2.0","id":{},"error":{error}}}"#, wire_id(request));
    if is_stream {
        rig.open(request);
        rig.event(request, &body);
    } else {
        rig.answer(request, 400, ridethrough_core::head::Content::Json, &body);
    }
}
