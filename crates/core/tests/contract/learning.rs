//! Rule S: the hints of tools are learnt before they are needed.

use std::time::Duration;

use ridethrough_core::RetryPolicy;

use crate::rig::{Rig, method, secs};

/// A host that was restarted with its bridge may not list again.
#[test]
fn the_hints_of_tools_are_learnt_by_the_link_if_nobody_lists() {
    let mut rig = learning();

    assert_eq!(rig.advance_to_send(), secs(2));
    let list = rig.post();
    rig.reply(&list, LOOK);
    let id = rig.call("look");
    let post = rig.post();
    rig.status(&post, 502);
    rig.advance(secs(5));
    let again = rig.call_sent();
    rig.reply(&again, "{}");

    assert_eq!(method(&list).as_deref(), Some("tools/list"));
    assert_eq!(rig.result(id), "{}");
    rig.advance(Duration::from_secs(7200));
    assert!(rig.sent.iter().all(|it| method(it).as_deref() != Some("tools/list")));
}

#[test]
fn hints_are_not_learnt_by_the_link_where_the_application_lists() {
    let mut rig = learning();
    rig.advance(secs(1));
    rig.list();
    let list = rig.post();
    rig.reply(&list, LOOK);

    rig.advance(secs(7200));

    rig.nothing_sent();
}

#[test]
fn a_server_without_tools_is_not_asked_for_their_hints() {
    let mut rig = Rig::with_policy(policy());
    rig.connect();

    rig.advance(secs(7200));

    rig.nothing_sent();
}

#[test]
fn a_link_learns_no_hints_unless_it_is_told_to() {
    let mut rig = Rig::new();
    rig.capabilities = r#"{"tools":{}}"#;
    rig.connect();

    rig.advance(secs(7200));

    rig.nothing_sent();
}

#[test]
fn a_list_for_hints_waits_for_calls_and_not_for_ever() {
    let mut rig = learning();
    rig.call("deploy");
    let post = rig.post();
    rig.open(&post);

    let waited = rig.advance_to_send();

    assert!((secs(8)..=secs(12)).contains(&waited), "{waited:?}");
    assert_eq!(method(&rig.post()).as_deref(), Some("tools/list"));
}

#[test]
fn a_list_for_hints_that_has_no_answer_is_asked_for_less_and_less() {
    let mut rig = learning();
    let mut pauses = Vec::new();
    for _ in 0..8 {
        pauses.push(until_given_up(&mut rig).as_secs());
    }

    assert!(pauses.is_sorted(), "{pauses:?}");
    assert!(pauses[1] >= 55 && pauses[7] >= 1800, "{pauses:?}");
}

#[test]
fn a_server_that_refuses_a_list_for_hints_is_not_asked_again() {
    let mut rig = learning();
    rig.advance_to_send();
    let list = rig.post();
    rig.refuse(&list, 200, -32601, "Method not found");

    rig.advance(secs(7200));

    rig.nothing_sent();
}

#[test]
fn hints_are_learnt_again_by_the_link_after_the_tools_changed_but_once_a_minute_at_most() {
    let mut rig = learning();
    rig.advance_to_send();
    let list = rig.post();
    rig.reply(&list, LOOK);
    let call = rig.call("deploy");
    let stream = rig.post();
    rig.open(&stream);

    rig.event(&stream, r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#);
    rig.event_result(&stream, &stream, "{}");

    assert_eq!(rig.result(call), "{}");
    let waited = rig.advance_to_send();
    assert!((secs(55)..=secs(62)).contains(&waited), "{waited:?}");
    assert_eq!(method(&rig.post()).as_deref(), Some("tools/list"));
}

/// A link with a session at a server with tools, that is told to learn their hints.
fn learning() -> Rig {
    let mut rig = Rig::with_policy(policy());
    rig.capabilities = r#"{"tools":{}}"#;
    rig.connect();
    rig
}

fn policy() -> RetryPolicy {
    RetryPolicy::default().builder().learn_hints(true).build().expect("all is within bounds")
}

/// Refuses one list until the link gives it up, and returns how long it took to be asked for.
fn until_given_up(rig: &mut Rig) -> Duration {
    let waited = rig.advance_to_send();
    // The connection works, and the server does not answer.
    let _unanswered = rig.post();
    rig.advance(secs(16));
    while let Some(cancel) = rig.sent.pop_front() {
        assert_eq!(method(&cancel).as_deref(), Some("notifications/cancelled"));
        rig.status(&cancel, 202);
    }
    waited
}

const LOOK: &str = r#"{"tools":[{"name":"look","annotations":{"readOnlyHint":true}}]}"#;
