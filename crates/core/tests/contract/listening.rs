//! L19: `subscriptions/listen`, and the legacy requests that it replaces for a stateless server.

use ridethrough_core::head::Content;
use ridethrough_core::{CallOptions, Delivered, Era, Eras, Event, ExchangeId, Outgoing, Request};
use ridethrough_core::{Kind, NoCredentials, RetryPolicy};
use ridethrough_wire::message::Answer;

use crate::rig::{Rig, header, json, method, millis, params, secs, wire_id};

#[test]
fn a_stateless_server_is_listened_to_once_somebody_wants_news() {
    for way in ["keep", "listen"] {
        let mut rig = Rig::modern();
        rig.call("deploy");
        rig.post();
        rig.nothing_sent();

        match way {
            "keep" => rig.link.keep_connected(rig.now),
            _ => rig.link.listen(rig.now),
        }
        rig.pump();

        let listen = rig.post();
        assert_eq!(method(&listen).as_deref(), Some("subscriptions/listen"));
        assert_eq!(header(&listen, "mcp-method").as_deref(), Some("subscriptions/listen"));
        assert_eq!(header(&listen, "mcp-name"), None);
        assert_eq!(wanted(&listen), ALL);
        rig.link.listen(rig.now);
        rig.pump();
        rig.nothing_sent();
    }
}

#[test]
fn a_server_that_is_found_stateless_is_listened_to_after_it_was_asked() {
    let mut rig = Rig::with(Eras::Either, RetryPolicy::default());
    rig.link.keep_connected(rig.now);
    rig.pump();
    let discover = rig.post();
    rig.reply(&discover, r#"{"supportedVersions":["2026-07-28"],"resultType":"complete"}"#);

    assert_eq!(method(&rig.post()).as_deref(), Some("subscriptions/listen"));
}

#[test]
fn what_a_subscription_brings_is_handed_over() {
    let (mut rig, listen) = listening();

    rig.event(&listen, CHANGED);

    assert_eq!(news(&rig), ["notifications/tools/list_changed"]);
}

#[test]
fn each_way_of_ending_is_followed_by_a_new_subscription_and_a_look_at_what_was_missed() {
    for how in ["result", "end", "cut", "cancelled"] {
        let (mut rig, listen) = listening();
        let id = wire_id(&listen);

        match how {
            "result" => rig.event_result(&listen, &listen, r#"{"resultType":"complete"}"#),
            "end" => rig.end(&listen),
            "cut" => rig.reset(&listen),
            _ => {
                let params = format!(r#"{{"requestId":{id}}}"#);
                rig.event(
                    &listen,
                    &format!(r#"{{"method":"notifications/cancelled","params":{params}}}"#),
                );
            }
        }
        assert!(rig.told.iter().any(|event| matches!(event, Event::ListenerLost { .. })), "{how}");
        let pause = rig.advance_to_send();
        let again = rig.post();
        acknowledge(&mut rig, &again, ALL);

        assert!(pause >= millis(500), "{how}: {pause:?}");
        assert_ne!(wire_id(&again), id);
        assert_eq!(news(&rig), LISTS, "{how}");
        assert!(rig.told.iter().any(|event| matches!(event, Event::ListenerBack { .. })), "{how}");
    }
}

#[test]
fn a_server_that_keeps_ending_its_subscriptions_is_asked_less_and_less() {
    let (mut rig, mut listen) = listening();
    let began = rig.now;
    for _ in 0..10 {
        rig.end(&listen);
        rig.advance_to_send();
        listen = rig.post();
        acknowledge(&mut rig, &listen, ALL);
    }

    assert!(rig.now.since(began) > secs(300), "{:?}", rig.now.since(began));
}

#[test]
fn a_subscription_that_is_not_acknowledged_in_15_s_is_asked_for_again() {
    let mut rig = Rig::modern();
    rig.link.keep_connected(rig.now);
    rig.pump();
    let listen = rig.post();
    rig.open(&listen);

    rig.advance(secs(15));
    rig.advance_to_send();

    assert_eq!(rig.aborted, [listen.attempt]);
    assert_eq!(method(&rig.post()).as_deref(), Some("subscriptions/listen"));
}

#[test]
fn a_server_without_subscriptions_is_not_asked_again() {
    for is_body in [false, true] {
        let mut rig = Rig::modern();
        rig.link.keep_connected(rig.now);
        rig.pump();
        let listen = rig.post();

        if is_body {
            rig.refuse(&listen, 200, -32601, "Method not found")
        } else {
            rig.refuse(&listen, 404, -32601, "Method not found")
        }
        rig.advance(secs(3600));

        rig.nothing_sent();
        assert!(rig.told.contains(&Event::ListenerUnsupported));
    }
}

#[test]
fn trouble_with_a_subscription_fails_no_call() {
    for status in [400, 429, 500, 503] {
        let mut rig = Rig::modern();
        rig.link.keep_connected(rig.now);
        rig.pump();
        let listen = rig.post();
        let id = rig.call("deploy");
        let call = rig.post();

        rig.status(&listen, status);
        rig.reply(&call, "{}");

        assert_eq!(rig.result(id), "{}");
        rig.advance_to_send();
        assert_eq!(method(&rig.post()).as_deref(), Some("subscriptions/listen"));
    }
}

#[test]
fn a_resource_is_subscribed_to_by_a_new_stream_before_the_old_one_is_let_go() {
    let (mut rig, old) = listening();
    let id = subscribe(&mut rig, "resources/subscribe", "a:1");
    let new = rig.post();
    assert!(wanted(&new).contains(r#""resourceSubscriptions":["a:1"]"#), "{}", wanted(&new));

    rig.open(&new);
    rig.event(&old, CHANGED);
    assert!(rig.aborted.is_empty() && rig.is_open(id));
    acknowledge(&mut rig, &new, &wanted(&new));

    assert_eq!(rig.result(id), "{}");
    assert_eq!(rig.aborted, [old.attempt]);
    assert_eq!(news(&rig), ["notifications/tools/list_changed"], "there was no gap");
}

#[test]
fn an_old_stream_that_is_lost_before_the_new_one_is_acknowledged_leaves_a_gap() {
    let (mut rig, old) = listening();
    subscribe(&mut rig, "resources/subscribe", "a:1");
    let new = rig.post();

    rig.reset(&old);
    assert_eq!(rig.sent.len(), 0, "the new one is on its way");
    acknowledge(&mut rig, &new, &wanted(&new));

    assert_eq!(news(&rig)[..3], LISTS);
}

#[test]
fn a_subscription_that_is_not_granted_is_refused_and_not_asked_for_again() {
    let (mut rig, _) = listening();
    let id = subscribe(&mut rig, "resources/subscribe", "a:1");
    let new = rig.post();

    acknowledge(&mut rig, &new, ALL);
    rig.end(&new);
    rig.advance_to_send();

    assert!(matches!(rig.finished[&id], Ok(Answer::Error(_))));
    assert_eq!(wanted(&rig.post()), ALL);
}

#[test]
fn a_subscription_that_was_never_there_is_not_told_as_one_that_is_lost() {
    let (mut rig, _) = listening();
    subscribe(&mut rig, "resources/subscribe", "a:1");
    let new = rig.post();

    acknowledge(&mut rig, &new, ALL);

    assert!(!rig.told.iter().any(|it| matches!(it, Event::RestoreFailed { .. })));
}

#[test]
fn a_subscription_that_is_granted_no_more_is_told() {
    let (mut rig, _) = listening();
    subscribe(&mut rig, "resources/subscribe", "a:1");
    let granted = rig.post();
    acknowledge(&mut rig, &granted, r#"{"toolsListChanged":true,"resourceSubscriptions":["a:1"]}"#);
    rig.end(&granted);
    rig.advance_to_send();
    let new = rig.post();

    acknowledge(&mut rig, &new, ALL);

    assert!(rig.told.iter().any(|it| matches!(it, Event::RestoreFailed { .. })));
}

#[test]
fn a_resource_that_the_server_refuses_does_not_cost_the_others_their_stream() {
    for is_stream in [false, true] {
        let (mut rig, old) = listening();
        let id = subscribe(&mut rig, "resources/subscribe", "bad:1");
        let new = rig.post();

        if is_stream {
            rig.open(&new);
            let error = r#""error":{"code":-32602,"message":"no such resource"}"#;
            rig.event(&new, &format!(r#"{{"id":{},{error}}}"#, wire_id(&new)));
        } else {
            rig.refuse(&new, 400, -32602, "no such resource");
        }
        assert!(matches!(&rig.finished[&id], Ok(Answer::Error(_))));
        assert!(!rig.aborted.contains(&old.attempt), "the old one goes on");
        rig.advance_to_send();

        assert_eq!(wanted(&rig.post()), ALL);
    }
}

#[test]
fn resources_that_are_wanted_together_are_asked_for_together() {
    let (mut rig, _) = listening();
    let first = subscribe(&mut rig, "resources/subscribe", "a:1");
    let others = [2, 3, 4].map(|n| subscribe(&mut rig, "resources/subscribe", &format!("a:{n}")));
    let one = rig.post();
    rig.nothing_sent();

    acknowledge(&mut rig, &one, &wanted(&one));
    assert_eq!(rig.result(first), "{}");
    assert!(others.iter().all(|id| rig.is_open(*id)), "nobody asked for them yet");
    let all = rig.post();
    acknowledge(&mut rig, &all, &wanted(&all));

    assert!(others.iter().all(|id| rig.result(*id) == "{}"));
    rig.nothing_sent();
}

#[test]
fn a_status_without_words_is_no_word_about_subscriptions() {
    for status in [404, 405] {
        let mut rig = Rig::modern();
        rig.link.keep_connected(rig.now);
        rig.pump();
        let listen = rig.post();

        rig.status(&listen, status);
        rig.advance_to_send();

        assert_eq!(method(&rig.post()).as_deref(), Some("subscriptions/listen"), "{status}");
    }
}

#[test]
fn a_roll_back_that_the_stream_meets_is_followed_and_not_for_ever() {
    let mut rig = Rig::with(Eras::Either, RetryPolicy::default());
    rig.link.keep_connected(rig.now);
    rig.pump();
    let discover = rig.post();
    rig.reply(&discover, MODERN);
    let listen = rig.post();
    acknowledge(&mut rig, &listen, ALL);
    rig.end(&listen);
    rig.advance_to_send();
    let listen = rig.post();

    rig.answer(&listen, 400, Content::Html, "no");
    let discover = rig.post();
    assert_eq!(method(&discover).as_deref(), Some("server/discover"));
    rig.reply(&discover, MODERN);
    let listen = rig.post();
    rig.answer(&listen, 400, Content::Html, "no");

    rig.nothing_sent();
    rig.advance_to_send();
    assert_eq!(method(&rig.post()).as_deref(), Some("subscriptions/listen"));
}

#[test]
fn the_last_resource_that_is_left_ends_the_stream() {
    let mut rig = Rig::modern();
    subscribe(&mut rig, "resources/subscribe", "a:1");
    let listen = rig.post();
    acknowledge(&mut rig, &listen, &wanted(&listen));

    subscribe(&mut rig, "resources/unsubscribe", "a:1");

    assert_eq!(rig.aborted, [listen.attempt]);
    rig.nothing_sent();
}

#[test]
fn a_subscription_that_ended_without_word_may_have_been_made_and_is_not_asked_for_again() {
    let (mut rig, _) = listening();
    let id = subscribe(&mut rig, "resources/subscribe", "a:1");
    let listen = rig.post();
    rig.open(&listen);

    rig.cancel(id);

    assert!(rig.error(id).may_have_run());
    assert_eq!(rig.error(id).attempts, 1);
    rig.reset(&listen);
    rig.advance_to_send();
    assert_eq!(wanted(&rig.post()), ALL);
}

#[test]
fn a_subscription_for_which_there_are_no_credentials_says_so() {
    let mut rig = Rig::modern();
    let id = subscribe(&mut rig, "resources/subscribe", "a:1");
    let listen = rig.post();
    rig.challenge(&listen);

    rig.bring_credentials(Err(NoCredentials::default()));

    assert_eq!(rig.kind(id), Kind::Unauthorized);
}

#[test]
fn a_log_level_that_does_not_exist_is_refused() {
    let mut rig = Rig::modern();
    let params = Some(json(r#"{"level":"loud"}"#));
    let options = CallOptions::default();
    let id = rig.send(Request { method: "logging/setLevel".into(), params, options });
    assert!(matches!(rig.finished[&id], Ok(Answer::Error(_))));

    rig.call("deploy");

    assert_eq!(params_of_meta(&rig.post()), None);
}

#[test]
fn a_resource_that_was_watched_is_told_to_be_looked_at_after_a_gap() {
    let mut rig = Rig::modern();
    subscribe(&mut rig, "resources/subscribe", "a:1");
    let listen = rig.post();
    acknowledge(&mut rig, &listen, &wanted(&listen));
    rig.reset(&listen);
    rig.advance_to_send();
    let again = rig.post();

    acknowledge(&mut rig, &again, &wanted(&again));

    assert_eq!(news(&rig).last(), Some(&"notifications/resources/updated"));
}

#[test]
fn what_is_not_watched_any_more_is_left_out_of_the_next_stream() {
    let mut rig = Rig::modern();
    rig.link.keep_connected(rig.now);
    rig.pump();
    let listen = rig.post();
    acknowledge(&mut rig, &listen, ALL);
    subscribe(&mut rig, "resources/subscribe", "a:1");
    let listen = rig.post();
    acknowledge(&mut rig, &listen, &wanted(&listen));

    let id = subscribe(&mut rig, "resources/unsubscribe", "a:1");

    assert_eq!(rig.result(id), "{}");
    assert_eq!(wanted(&rig.post()), ALL);
}

#[test]
fn a_subscription_at_a_server_without_any_is_refused() {
    let mut rig = Rig::modern();
    let id = subscribe(&mut rig, "resources/subscribe", "a:1");
    let listen = rig.post();
    rig.refuse(&listen, 404, -32601, "Method not found");
    assert!(matches!(rig.finished[&id], Ok(Answer::Error(_))));

    let id = subscribe(&mut rig, "resources/subscribe", "a:2");

    assert!(matches!(rig.finished[&id], Ok(Answer::Error(_))));
    rig.nothing_sent();
}

#[test]
fn a_subscription_that_nobody_acknowledges_ends_at_its_deadline_and_says_so() {
    let mut rig = Rig::modern();
    let id = subscribe(&mut rig, "resources/subscribe", "a:1");

    rig.advance_to_end(id);

    assert_eq!(rig.kind(id), Kind::DeadlinePassed);
    assert!(rig.error(id).report().contains("acknowledge"), "{}", rig.error(id));
}

#[test]
fn a_subscription_that_waits_while_the_server_is_rolled_back_is_asked_for_in_the_old_way() {
    let mut rig = Rig::with(Eras::Either, RetryPolicy::default());
    let id = subscribe(&mut rig, "resources/subscribe", "a:1");
    let discover = rig.post();
    rig.reply(&discover, r#"{"supportedVersions":["2026-07-28"],"resultType":"complete"}"#);
    rig.post();
    let other = rig.list();
    let list = rig.post();

    rig.answer(&list, 400, Content::Html, "no");
    let discover = rig.post();
    rig.refuse(&discover, 404, -32601, "Method not found");

    let mut methods = Vec::new();
    while let Some(request) = rig.sent.pop_front() {
        methods.push(method(&request).unwrap_or_default());
        rig.reply(&request, "{}");
    }
    assert!(methods.contains(&"resources/subscribe".to_owned()), "{methods:?}");
    assert_eq!((rig.result(id), rig.result(other)), ("{}", "{}"));
}

#[test]
fn the_log_level_goes_with_each_request_from_then_on() {
    let mut rig = Rig::modern();
    let id = rig.send(Request {
        method: "logging/setLevel".into(),
        params: Some(json(r#"{"level":"debug"}"#)),
        options: CallOptions::default(),
    });
    assert_eq!(rig.result(id), "{}");
    rig.nothing_sent();

    rig.call("deploy");
    let said = params(&rig.post()).member("_meta").unwrap();
    let own = json(r#"{"_meta":{"io.modelcontextprotocol/logLevel":"error"}}"#);
    let (method, options) = ("tools/list".into(), CallOptions::default());
    rig.send(Request { method, params: Some(own), options });
    let of_the_caller = params(&rig.post()).member("_meta").unwrap();

    assert_eq!(said.member(LEVEL).unwrap().as_str(), r#""debug""#);
    assert_eq!(of_the_caller.member(LEVEL).unwrap().as_str(), r#""error""#);
    assert_eq!(of_the_caller.as_str().matches("logLevel").count(), 1);
}

#[test]
fn a_ping_asks_a_stateless_server_who_it_is() {
    let mut rig = Rig::modern();
    let id = rig.request("ping");
    let post = rig.post();

    assert_eq!(method(&post).as_deref(), Some("server/discover"));
    assert_eq!(header(&post, "mcp-method").as_deref(), Some("server/discover"));
    rig.reply(&post, "{}");
    assert_eq!(rig.result(id), "{}");
}

#[test]
fn a_question_of_a_stateless_server_is_not_answered() {
    for asked in ["ping", "roots/list"] {
        let mut rig = Rig::with(Era::Modern, RetryPolicy::default());
        rig.call("deploy");
        let call = rig.post();
        rig.open(&call);

        rig.event(&call, &format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{asked}"}}"#));

        rig.nothing_sent();
        assert!(rig.delivered.is_empty());
        assert!(rig.told.contains(&Event::QuestionIgnored { method: asked.into() }));
    }
}

#[test]
fn a_subscription_waits_for_credentials_and_is_asked_for_with_them() {
    let mut rig = Rig::modern();
    rig.link.keep_connected(rig.now);
    rig.pump();
    let listen = rig.post();

    rig.challenge(&listen);
    rig.nothing_sent();
    rig.bring_credentials(Ok(()));

    assert_eq!(method(&rig.post()).as_deref(), Some("subscriptions/listen"));
}

const MODERN: &str = r#"{"supportedVersions":["2026-07-28"],"resultType":"complete"}"#;
const ALL: &str =
    r#"{"toolsListChanged":true,"promptsListChanged":true,"resourcesListChanged":true}"#;
const CHANGED: &str = r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#;
const LEVEL: &str = "io.modelcontextprotocol/logLevel";
const LISTS: [&str; 3] = [
    "notifications/tools/list_changed",
    "notifications/prompts/list_changed",
    "notifications/resources/list_changed",
];

/// Returns a link whose stateless server has acknowledged a subscription.
fn listening() -> (Rig, Outgoing) {
    let mut rig = Rig::modern();
    rig.link.keep_connected(rig.now);
    rig.pump();
    let listen = rig.post();
    acknowledge(&mut rig, &listen, ALL);
    assert!(rig.delivered.is_empty());
    (rig, listen)
}

fn acknowledge(rig: &mut Rig, listen: &Outgoing, granted: &str) {
    rig.open(listen);
    let method = "notifications/subscriptions/acknowledged";
    let params = format!(r#"{{"notifications":{granted}}}"#);
    rig.event(listen, &format!(r#"{{"jsonrpc":"2.0","method":"{method}","params":{params}}}"#));
}

fn subscribe(rig: &mut Rig, method: &str, uri: &str) -> ExchangeId {
    let params = Some(json(&format!(r#"{{"uri":"{uri}"}}"#)));
    rig.send(Request { method: method.into(), params, options: CallOptions::default() })
}

fn params_of_meta(request: &Outgoing) -> Option<String> {
    let level = params(request).member("_meta")?.member(LEVEL)?;
    Some(level.as_str().to_owned())
}

fn wanted(listen: &Outgoing) -> String {
    params(listen).member("notifications").expect("a filter").as_str().to_owned()
}

fn news(rig: &Rig) -> Vec<&str> {
    let mut methods = Vec::new();
    for delivered in &rig.delivered {
        if let Delivered::Notification { method, .. } = delivered {
            methods.push(&**method);
        }
    }
    methods
}
