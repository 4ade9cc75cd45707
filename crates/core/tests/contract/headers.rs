//! The parts of a request besides its message: the call's own headers, and its lane.

use http::{HeaderMap, HeaderValue};
use ridethrough_core::{CallOptions, Headers, Kind, Lane, Outgoing, RetryPolicy};

use crate::rig::{Rig, method, secs};

#[test]
fn a_calls_own_headers_go_out_with_each_send_and_each_resume_of_it() {
    let mut rig = Rig::connected();
    rig.call_with("deploy", with_header());
    let first = rig.post();
    rig.busy(&first, 429, secs(1));
    rig.advance_to_send();
    let second = rig.post();
    rig.open(&second);
    rig.event_id(&second, "e1", "");

    rig.end(&second);
    rig.advance_to_send();
    let resume = rig.get();

    for request in [&first, &second, &resume] {
        assert_eq!(header(request).as_deref(), Some("blue"), "{request:?}");
    }
}

#[test]
fn a_calls_own_headers_go_out_with_nothing_else() {
    let mut rig = Rig::new();
    rig.plays_handshake = false;
    rig.call_with("deploy", with_header());
    let handshake = rig.post();
    assert_eq!(method(&handshake).as_deref(), Some("initialize"));
    assert!(handshake.headers.is_empty());

    let mut rig = Rig::connected();
    let id = rig.call_with("deploy", with_header());
    let with = rig.post();
    rig.call("deploy");
    let other = rig.post();
    rig.cancel(id);
    let cancelled = rig.post();

    assert_eq!(header(&with).as_deref(), Some("blue"));
    assert!(other.headers.is_empty() && cancelled.headers.is_empty());
}

#[test]
fn what_the_link_says_itself_never_stands_in_line_with_calls() {
    let mut rig = Rig::connected();
    let id = rig.call("deploy");
    let call = rig.post();
    rig.open(&call);
    rig.event_id(&call, "e1", "");
    rig.link.notify(rig.now, "notifications/roots/list_changed", None);
    rig.pump();
    let notice = rig.post();

    rig.end(&call);
    rig.advance_to_send();
    let resume = rig.get();
    rig.cancel(id);
    let cancelled = rig.post();

    let lanes = [call.lane, notice.lane, resume.lane, cancelled.lane];
    assert_eq!(lanes, [Lane::Call, Lane::Notice, Lane::Resume, Lane::Control]);
}

#[test]
fn a_call_whose_deadline_passes_while_it_waits_for_a_place_says_so() {
    let policy = RetryPolicy::default().builder().in_flight(1).build().unwrap();
    let mut rig = Rig::with_policy(policy);
    rig.connect();
    rig.call("deploy");
    let options = CallOptions { deadline: Some(secs(3)), ..CallOptions::default() };
    let queued = rig.call_with("deploy", options);

    rig.advance(secs(3));

    let error = rig.error(queued);
    assert_eq!((error.kind, error.may_have_run()), (Kind::DeadlinePassed, false));
    assert!(error.to_string().contains("waited for a place"), "{error}");
}

fn with_header() -> CallOptions {
    let mut map = HeaderMap::new();
    map.insert("x-tenant", HeaderValue::from_static("blue"));
    CallOptions { headers: Headers::from(map), ..CallOptions::default() }
}

fn header(request: &Outgoing) -> Option<String> {
    let mut headers = request.headers.iter();
    let (_, value) = headers.find(|(name, _)| *name == "x-tenant")?;
    value.to_str().ok().map(str::to_owned)
}
