//! L17: a stateless call that needs input before it can end.

use ridethrough_core::{
    CallOptions, Delivered, Delivery, Eras, ExchangeId, Identity, Kind, QuestionId, ReplayRule,
    Request, RetryPolicy,
};
use ridethrough_wire::message::Answer;

use crate::rig::{Rig, body, json, method as said, params, secs, wire_id};

#[test]
fn a_call_that_needs_input_is_asked_of_the_application_and_goes_out_again_with_it() {
    let mut rig = Rig::modern();
    let id = call(&mut rig);
    let first = rig.post();

    rig.reply(&first, NEEDS_TWO);
    let asked = questions(&rig);
    assert_eq!(methods(&rig), ["elicitation/create", "roots/list"]);
    answer(&mut rig, asked[1], r#"{"roots":[]}"#);
    rig.nothing_sent();
    answer(&mut rig, asked[0], r#"{"action":"accept","content":{"n":1.10}}"#);

    let again = rig.post();
    assert_ne!(wire_id(&again), wire_id(&first));
    let params = params(&again);
    assert_eq!(params.member("name").unwrap().as_str(), r#""deploy""#);
    assert_eq!(params.member("requestState").unwrap().as_str(), r#""ey\u004a ==""#);
    assert_eq!(
        params.member("inputResponses").unwrap().as_str(),
        r#"{"a":{"action":"accept","content":{"n":1.10}},"b":{"roots":[]}}"#
    );
    rig.reply(&again, r#"{"resultType":"complete","content":[]}"#);
    assert!(rig.result(id).contains("complete"));
}

#[test]
fn what_was_given_in_one_round_is_not_repeated_in_the_next() {
    let mut rig = Rig::modern();
    call(&mut rig);
    let first = rig.post();
    rig.reply(&first, NEEDS_TWO);
    for question in questions(&rig) {
        answer(&mut rig, question, "{}");
    }
    let second = rig.post();

    rig.delivered.clear();
    rig.reply(
        &second,
        r#"{"resultType":"input_required","inputRequests":{"c":{"method":"roots/list"}}}"#,
    );
    let asked = questions(&rig);
    answer(&mut rig, asked[0], "{}");

    let third = params(&rig.post());
    assert_eq!(third.member("inputResponses").unwrap().as_str(), r#"{"c":{}}"#);
    assert_eq!(third.member("requestState"), None, "none was given");
}

#[test]
fn a_server_that_sends_us_away_with_its_state_is_asked_again_after_a_pause() {
    let mut rig = Rig::modern();
    call(&mut rig);
    let first = rig.post();

    rig.reply(&first, r#"{"resultType":"input_required","requestState":"s"}"#);
    rig.nothing_sent();
    rig.advance_to_send();

    let again = params(&rig.post());
    assert_eq!(again.member("requestState").unwrap().as_str(), r#""s""#);
    assert_eq!(again.member("inputResponses"), None);
}

#[test]
fn a_safe_call_that_moves_to_a_session_takes_nothing_of_its_rounds_along() {
    let (mut rig, _) = rolled_back_in_a_round(ReplayRule::Repeatable);

    let third = rig.post();
    assert!(third.to.session.is_some());
    assert_eq!(params(&third).as_str(), r#"{"name":"deploy","arguments":{}}"#);
}

#[test]
fn an_unsafe_call_whose_server_leaves_its_era_between_two_rounds_ends_in_doubt() {
    let (rig, id) = rolled_back_in_a_round(ReplayRule::ByNature);

    assert_eq!(rig.kind(id), Kind::Rejected { status: 400 });
    assert!(rig.error(id).may_have_run());
    rig.nothing_sent();
}

#[test]
fn a_server_that_asks_for_input_and_does_not_say_for_which_breaks_the_protocol() {
    let mut rig = Rig::modern();
    let id = call(&mut rig);
    let post = rig.post();

    rig.reply(&post, r#"{"resultType":"input_required"}"#);

    assert_eq!(rig.kind(id), Kind::PeerMisbehaved);
    assert!(rig.error(id).may_have_run());
    rig.nothing_sent();
}

#[test]
fn a_round_of_more_questions_than_anybody_can_answer_is_none() {
    for (count, size) in [(1001, 1), (2, 600_000)] {
        let mut rig = Rig::modern();
        let id = call(&mut rig);
        let post = rig.post();
        let input = format!(r#"{{"method":"elicitation/create","params":"{}"}}"#, "x".repeat(size));
        let inputs: Vec<_> = (0..count).map(|key| format!(r#""{key}":{input}"#)).collect();

        rig.reply(
            &post,
            &format!(
                r#"{{"resultType":"input_required","inputRequests":{{{}}}}}"#,
                inputs.join(",")
            ),
        );

        assert_eq!(rig.kind(id), Kind::PeerMisbehaved, "{count}");
        assert!(rig.delivered.is_empty(), "nobody is asked");
    }
}

#[test]
fn a_call_that_was_asked_for_input_may_have_done_something() {
    let mut rig = Rig::modern();
    let (cancelled, refused) = (call(&mut rig), call(&mut rig));
    let (first, second) = (rig.post(), rig.post());
    rig.reply(&first, NEEDS_TWO);
    rig.reply(&second, r#"{"resultType":"input_required","requestState":"s"}"#);

    rig.cancel(cancelled);
    rig.advance_to_send();
    let again = rig.post();
    rig.status(&again, 413);

    assert_eq!(rig.error(cancelled).delivery, Delivery::Unknown);
    assert_eq!(rig.error(refused).delivery, Delivery::Unknown);
}

#[test]
fn two_calls_never_share_a_round() {
    let mut rig = Rig::modern();
    let (one, two) = (call(&mut rig), call(&mut rig));
    let (first, second) = (rig.post(), rig.post());

    rig.reply(&first, NEEDS_TWO);
    rig.reply(&second, r#"{"content":[]}"#);

    assert!(rig.is_open(one));
    assert_eq!(rig.result(two), r#"{"content":[]}"#);
    let third = call(&mut rig);
    let unrelated = params(&rig.post());
    assert_eq!(unrelated.member("requestState"), None);
    assert_eq!(unrelated.member("inputResponses"), None);
    assert!(rig.is_open(third));
}

#[test]
fn a_round_on_a_stream_leaves_its_connection_in_order() {
    let mut rig = Rig::modern();
    call(&mut rig);
    let first = rig.post();
    rig.open(&first);

    rig.event_result(&first, &first, NEEDS_TWO);

    assert_eq!(questions(&rig).len(), 2);
    assert_eq!((rig.drained.clone(), rig.aborted.len()), (vec![first.attempt], 0));
}

#[test]
fn a_call_that_is_cancelled_takes_its_questions_back() {
    let mut rig = Rig::modern();
    let id = call(&mut rig);
    let first = rig.post();
    rig.reply(&first, NEEDS_TWO);
    let asked = questions(&rig);

    rig.cancel(id);

    assert_eq!(rig.kind(id), Kind::Cancelled);
    let withdrawn = rig.delivered.iter().filter_map(|each| match each {
        Delivered::Withdrawn { question } => Some(*question),
        _ => None,
    });
    assert_eq!(withdrawn.collect::<Vec<_>>(), asked);
    answer(&mut rig, asked[0], "{}");
    rig.nothing_sent();
}

#[test]
fn input_that_nobody_gives_ends_the_call_and_says_so() {
    let mut rig = Rig::modern();
    let id = call(&mut rig);
    let first = rig.post();
    rig.reply(&first, NEEDS_TWO);
    let asked = questions(&rig);

    rig.link.answer(rig.now, asked[0], &Answer::refusal(-32601, "nobody answers forms here"));
    rig.pump();

    assert_eq!(rig.kind(id), Kind::Incompatible);
    assert!(rig.error(id).report().contains("nobody answers forms here"));
    assert!(rig.error(id).may_have_run());
}

#[test]
fn input_that_takes_too_long_ends_the_call_at_its_deadline() {
    let mut rig = Rig::modern();
    let options = CallOptions { deadline: Some(secs(5)), ..CallOptions::default() };
    let id = rig.call_with("deploy", options);
    let first = rig.post();
    rig.reply(&first, NEEDS_TWO);

    rig.advance_to_end(id);

    assert_eq!(rig.kind(id), Kind::DeadlinePassed);
    assert!(rig.error(id).report().contains("waited for input"), "{}", rig.error(id).report());
}

#[test]
fn a_server_that_never_stops_asking_is_stopped() {
    let mut rig = Rig::modern();
    let id = call(&mut rig);

    for _ in 0..=10 {
        let post = rig.post();
        rig.delivered.clear();
        rig.reply(&post, NEEDS_TWO);
        for question in questions(&rig) {
            answer(&mut rig, question, "{}");
        }
    }

    assert_eq!(rig.kind(id), Kind::PeerMisbehaved);
    rig.nothing_sent();
}

#[test]
fn a_result_of_a_type_that_nobody_declared_is_no_answer() {
    for (method, kind) in [
        ("tools/call", "surprise"),
        ("tools/call", "task"),
        ("tools/list", "input_required"),
        ("tools/list", "task"),
    ] {
        let mut rig = Rig::modern();
        let id = rig.request(method);
        let post = rig.post();

        rig.reply(&post, &format!(r#"{{"resultType":"{kind}"}}"#));

        assert_eq!(rig.kind(id), Kind::PeerMisbehaved, "{method} {kind}");
    }
}

#[test]
fn a_task_is_an_answer_to_a_tool_call_of_a_client_that_declared_tasks_and_to_nothing_else() {
    for (method, is_answer) in [("tools/call", true), ("prompts/get", false)] {
        let mut rig = Rig::modern();
        let info = json("{}");
        let capabilities = json(r#"{"extensions":{"io.modelcontextprotocol/tasks":{}}}"#);
        rig.link.set_identity(Identity { info, capabilities });
        let id = rig.request(method);
        let post = rig.post();

        rig.reply(&post, r#"{"resultType":"task","taskId":"t"}"#);

        if is_answer {
            assert_eq!(rig.result(id), r#"{"resultType":"task","taskId":"t"}"#)
        } else {
            assert_eq!(rig.kind(id), Kind::PeerMisbehaved)
        }
    }
}

#[test]
fn a_call_that_asks_for_a_task_is_never_cancelled_by_a_notification() {
    for (params, cancels) in [(r#"{"name":"deploy"}"#, 1), (r#"{"name":"deploy","task":{}}"#, 0)] {
        let mut rig = Rig::connected();
        let (method, params) = ("tools/call".into(), Some(json(params)));
        let id =
            rig.link.send(rig.now, Request { method, params, options: CallOptions::default() });
        rig.pump();
        rig.post();

        rig.cancel(id);

        let said =
            rig.sent.iter().filter(|it| said(it).as_deref() == Some("notifications/cancelled"));
        assert_eq!(said.count(), cancels);
    }
}

#[test]
fn a_legacy_result_means_what_it_says_whatever_type_it_names() {
    let mut rig = Rig::new();
    let id = rig.call("deploy");
    let post = rig.post();

    rig.reply(&post, r#"{"resultType":"input_required"}"#);

    assert_eq!(rig.result(id), r#"{"resultType":"input_required"}"#);
}

/// This is for a program between the server and a client that handles rounds itself: its next call is the
/// next round.
#[test]
fn a_caller_that_goes_through_rounds_itself_is_given_the_answer_as_it_is() {
    let mut rig = Rig::modern();
    let id = call_of_round(&mut rig, r#"{"name":"deploy"}"#, ReplayRule::default());
    let first = rig.post();

    rig.reply(&first, NEEDS_TWO);

    assert_eq!(rig.result(id), NEEDS_TWO);
    assert!(questions(&rig).is_empty());
    let next = r#"{"name":"deploy","requestState":"s","inputResponses":{"a":{}}}"#;
    call_of_round(&mut rig, next, ReplayRule::default());
    let second = params(&rig.post());
    assert_eq!(second.member("requestState").unwrap().as_str(), r#""s""#);
    assert_eq!(second.member("inputResponses").unwrap().as_str(), r#"{"a":{}}"#);
}

/// The earlier round has asked, so the call has begun: a refusal of this round does not change that.
#[test]
fn a_later_round_of_a_caller_that_is_refused_is_in_doubt() {
    for later in [
        r#"{"name":"deploy","requestState":"s","arguments":{}}"#,
        r#"{"name":"deploy","inputResponses":{"a":{}},"arguments":{}}"#,
    ] {
        let mut rig = Rig::modern();
        let id = call_of_round(&mut rig, later, ReplayRule::default());
        let post = rig.post();

        rig.status(&post, 415);

        assert_eq!(rig.error(id).delivery, Delivery::Unknown);
    }
    let mut rig = Rig::modern();
    let id = call_of_round(&mut rig, r#"{"name":"deploy","arguments":{}}"#, ReplayRule::default());
    let post = rig.post();
    rig.status(&post, 415);
    assert_eq!(rig.error(id).delivery, Delivery::Refused);
}

#[test]
fn a_later_round_is_not_sent_again_for_its_form() {
    let mut rig = Rig::modern();
    let later = r#"{"name":"deploy","requestState":"s","arguments":{}}"#;
    let id = call_of_round(&mut rig, later, ReplayRule::default());
    let post = rig.post();

    rig.refuse(&post, 400, -32020, "Header mismatch");

    rig.nothing_sent();
    assert!(!rig.is_open(id));
}

#[test]
fn a_later_round_of_a_caller_is_not_begun_anew_in_the_older_era_unless_that_does_no_harm() {
    let later = r#"{"name":"deploy","requestState":"s","arguments":{}}"#;
    for (said, replay, is_sent) in [
        (later, ReplayRule::default(), false),
        (later, ReplayRule::Repeatable, true),
        (r#"{"name":"deploy","arguments":{}}"#, ReplayRule::default(), true),
    ] {
        let mut rig = Rig::new();

        let id = call_of_round(&mut rig, said, replay);

        if is_sent {
            assert_eq!(params(&rig.post()).as_str(), r#"{"name":"deploy","arguments":{}}"#)
        } else {
            rig.nothing_sent();
            let error = rig.error(id);
            assert_eq!((error.kind, error.delivery), (Kind::Interrupted, Delivery::Unknown));
        }
    }
}

#[test]
fn a_result_of_an_extensions_type_is_only_for_a_caller_who_handles_such_results() {
    const CLAIMED: &str = r#"{"resultType":"org.example/later","at":1}"#;
    let mut rig = Rig::modern();
    let id = call_of_round(&mut rig, r#"{"name":"deploy"}"#, ReplayRule::default());
    let post = rig.post();
    rig.reply(&post, CLAIMED);
    assert_eq!(rig.result(id), CLAIMED);

    let id = call(&mut rig);
    let post = rig.post();
    rig.reply(&post, CLAIMED);

    assert_eq!(rig.error(id).kind, Kind::PeerMisbehaved);
}

/// A program that speaks for many clients must not let a server believe that each of them can do everything.
#[test]
fn a_server_sees_the_capabilities_of_the_call_and_those_of_the_link_with_every_other() {
    const TASK: &str = r#"{"resultType":"task","taskId":"t","status":"working"}"#;
    let mut rig = Rig::modern();
    let capabilities = json(r#"{"extensions":{"io.modelcontextprotocol/tasks":{}}}"#);
    let options =
        CallOptions { capabilities: Some(capabilities.clone()), ..CallOptions::default() };
    let params = Some(json(r#"{"name":"deploy"}"#));
    let id = rig.send(Request { method: "tools/call".into(), params, options });
    let post = rig.post();
    assert!(body(&post).contains(capabilities.as_str()));
    rig.reply(&post, TASK);
    assert_eq!(rig.result(id), TASK);

    let id = call(&mut rig);
    let post = rig.post();
    assert!(!body(&post).contains("extensions"));
    rig.reply(&post, TASK);

    assert_eq!(rig.error(id).kind, Kind::PeerMisbehaved);
}

fn call_of_round(rig: &mut Rig, params: &'static str, replay: ReplayRule) -> ExchangeId {
    let options = CallOptions { passes_input: true, replay, ..CallOptions::default() };
    rig.send(Request { method: "tools/call".into(), params: Some(json(params)), options })
}

const NEEDS_TWO: &str = r#"{"resultType":"input_required","requestState":"ey\u004a ==","inputRequests":{
    "a":{"method":"elicitation/create","params":{"message":"sure?"}},"b":{"method":"roots/list"}}}"#;

fn call(rig: &mut Rig) -> ExchangeId {
    let params = Some(json(r#"{"name":"deploy","arguments":{}}"#));
    rig.send(Request { method: "tools/call".into(), params, options: CallOptions::default() })
}

fn questions(rig: &Rig) -> Vec<QuestionId> {
    let question = |each: &Delivered| match each {
        Delivered::Question { question, .. } => Some(*question),
        _ => None,
    };
    rig.delivered.iter().filter_map(question).collect()
}

fn methods(rig: &Rig) -> Vec<&str> {
    let mut methods = Vec::new();
    for each in &rig.delivered {
        if let Delivered::Question { method, .. } = each {
            methods.push(&**method);
        }
    }
    methods
}

/// Returns a call that has had one round when its server is found to be legacy.
fn rolled_back_in_a_round(replay: ReplayRule) -> (Rig, ExchangeId) {
    let mut rig = Rig::with(Eras::Either, RetryPolicy::default());
    let params = Some(json(r#"{"name":"deploy","arguments":{}}"#));
    let options = CallOptions { replay, ..CallOptions::default() };
    let id = rig.send(Request { method: "tools/call".into(), params, options });
    let question = rig.post();
    rig.reply(&question, r#"{"supportedVersions":["2026-07-28"]}"#);
    let first = rig.post();
    rig.reply(&first, r#"{"resultType":"input_required","requestState":"s"}"#);
    rig.advance_to_send();
    let second = rig.post();
    rig.status(&second, 400);
    let question = rig.post();
    rig.refuse(&question, 404, -32601, "Method not found");
    (rig, id)
}

fn answer(rig: &mut Rig, question: QuestionId, result: &str) {
    rig.link.answer(rig.now, question, &Answer::Result(json(result)));
    rig.pump();
}
