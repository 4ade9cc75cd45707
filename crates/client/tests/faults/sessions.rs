//! Lost sessions: one renewal for all calls, one retry for each, and an end to both.

use futures_util::future::join_all;
use ridethrough::error::Kind;
use ridethrough::event::{Event, Events, Seen};
use ridethrough::machine::Reason;
use ridethrough::machine::breaker::BreakerState;
use ridethrough::{Client, Error, RetryPolicy};
use ridethrough_lab::{Ask, Entry, Protocol, Times, What, When};
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::gate::Gate;
use crate::hook::{Asked, Hook};
use crate::rig::{Rig, call, millis, params, secs};

on_every_carrier! {
    async fn a_lost_session_costs_one_initialize_and_one_retry_whatever_was_asked(rig: Rig) {
        for (method, params) in every_method() {
            let rig = Rig::over(rig.server.protocol());
            let client = rig.client();
            client.connect().await.unwrap();
            rig.mcp.forget_sessions();

            let result = client.request(method, params).await;

            assert!(result.is_ok(), "{method}: {result:?}");
            assert_eq!(rig.count(When::method("initialize")), 2, "{method}");
            let mut asked = sessions_asked(&rig, method);
            // A ping counts as a question, too.
            asked.dedup();
            assert_eq!(asked, ["lab-session-1", "lab-session-2"]);
        }
    }

    async fn a_lost_session_under_an_unknown_method_ends_with_the_answer_to_it(rig: Rig) {
        let client = rig.client();
        client.connect().await.unwrap();
        rig.mcp.forget_sessions();

        let error = client.request("x/unknown", json!({})).await.unwrap_err();

        assert_eq!(error.server().unwrap().rpc.code, -32601);
        assert_eq!(rig.count(When::method("initialize")), 2);
        assert_eq!(sessions_asked(&rig, "x/unknown"), ["lab-session-1", "lab-session-2"]);
    }

    async fn a_hundred_calls_on_a_dead_session_share_one_initialize_and_run_once_each(rig: Rig) {
        let client = rig.client();
        client.connect().await.unwrap();
        rig.mcp.forget_sessions();

        let keys: Vec<String> = (0..100).map(|key| key.to_string()).collect();
        let results = join_all(keys.iter().map(|key| call(&client, "deploy", key))).await;

        assert_eq!(results.iter().filter(|result| result.is_ok()).count(), 100);
        assert!(keys.iter().all(|key| rig.mcp.executions_of("deploy", key) == 1));
        assert_eq!(rig.mcp.executions("deploy"), 100);
        assert_eq!(rig.count(When::method("initialize")), 2);
    }

    async fn a_lost_session_under_a_hundred_calls_never_asks_for_credentials(rig: Rig) {
        let hook = Hook::brings(&["token", "better"]);
        rig.mcp.require_bearer(Some("token"));
        let client = rig.builder().credentials(hook.clone()).build().unwrap();
        client.connect().await.unwrap();
        assert_eq!(hook.asked(), [Asked::First]);
        rig.mcp.forget_sessions();

        for result in join_all((0..100).map(|_| call(&client, "deploy", "a"))).await {
            result.unwrap();
        }

        assert_eq!(hook.asked(), [Asked::First]);
    }

    async fn a_401_under_fifty_calls_asks_for_credentials_once_and_keeps_the_session(rig: Rig) {
        let hook = Hook::brings(&["old", "new", "newer"]);
        rig.mcp.require_bearer(Some("old"));
        let client = rig.builder().credentials(hook.clone()).build().unwrap();
        client.connect().await.unwrap();
        rig.mcp.require_bearer(Some("new"));

        let keys: Vec<String> = (0..50).map(|key| key.to_string()).collect();
        for result in join_all(keys.iter().map(|key| call(&client, "deploy", key))).await {
            result.unwrap();
        }

        assert_eq!(hook.asked(), [Asked::First, Asked::instead_of("old")]);
        assert!(keys.iter().all(|key| rig.mcp.executions_of("deploy", key) == 1));
        assert_eq!(rig.count(When::method("initialize")), 1);
        assert_eq!(rig.count(When::tool("deploy").and(When::session("lab-session-1"))), 100);
    }

    async fn a_session_that_dies_at_once_ends_a_call_after_one_retry(rig: Rig) {
        sessions_die_at_once(&rig);
        let client = rig.client();

        let error = call(&client, "deploy", "a").await.unwrap_err();

        assert_eq!(kind(&error), Kind::SessionLost);
        assert!(!error.may_have_run());
        assert_eq!(sessions_asked(&rig, "tools/call"), ["lab-session-1", "lab-session-2"]);
    }

    async fn sessions_that_die_at_once_cost_one_initialize_per_call_and_one_until_the_breaker_opens(rig: Rig) {
        sessions_die_at_once(&rig);
        let client = impatient(&rig);

        let mut kinds = Vec::new();
        while kinds.last() != Some(&Kind::BreakerOpen) {
            kinds.push(kind(&call(&client, "deploy", "a").await.unwrap_err()));
            let calls = kinds.len();
            assert!(rig.count(When::method("initialize")) <= calls + 1, "{calls} calls");
        }

        assert_eq!(kinds[..5], [Kind::SessionLost; 5]);
        assert_eq!(kinds.len(), 6);
        assert_eq!(rig.count(When::tool("deploy")), 10, "the sixth call was not sent");
    }

    async fn an_open_breaker_probes_once_at_a_time_and_lets_no_call_through_meanwhile(rig: Rig) {
        let (client, gate) = (impatient(&rig), Gate::closed());
        open_the_breaker(&rig, &client).await;
        let asked = rig.count(When::method("ping"));
        gate.hold(&rig.mcp, When::method("ping"));

        tokio::time::sleep(secs(5)).await;
        let errors = join_all((0..10).map(|_| call(&client, "deploy", "b"))).await;

        assert!(errors.iter().all(|error| kind(error.as_ref().unwrap_err()) == Kind::BreakerOpen));
        assert_eq!(rig.count(When::method("ping")), asked + 1);
        assert_eq!(rig.mcp.executions_of("deploy", "b"), 0);
    }

    async fn the_first_good_answer_to_a_probe_closes_the_breaker(rig: Rig) {
        let (client, gate) = (impatient(&rig), Gate::closed());
        open_the_breaker(&rig, &client).await;
        let asked = rig.count(When::method("ping"));
        gate.hold(&rig.mcp, When::method("ping"));
        tokio::time::sleep(secs(2)).await;
        assert_eq!(client.status().await.unwrap().breaker, BreakerState::Probing);
        let mut events = client.events();

        gate.open();
        wait_for(&mut events, |event| *event == Event::BreakerClosed).await;

        assert_eq!(client.status().await.unwrap().breaker, BreakerState::Closed);
        call(&client, "deploy", "b").await.unwrap();
        assert_eq!(rig.count(When::method("ping")), asked + 1);
    }

    async fn a_probe_that_is_not_answered_well_keeps_the_breaker_open(rig: Rig) {
        let client = impatient(&rig);
        open_the_breaker(&rig, &client).await;
        let asked = rig.count(When::method("ping"));
        refuse(&rig, When::method("ping"), 502);

        tokio::time::sleep(millis(1100)).await;
        let error = call(&client, "deploy", "b").await.unwrap_err();

        assert_eq!(rig.count(When::method("ping")), asked + 1);
        assert_eq!(kind(&error), Kind::BreakerOpen);
    }

    async fn a_retry_that_fails_otherwise_shows_that_failure(rig: Rig) {
        for (status, expected) in [(403, Kind::Rejected { status: 403 }), (502, Kind::Interrupted)] {
            let rig = Rig::over(rig.server.protocol());
            let client = rig.client();
            client.connect().await.unwrap();
            rig.mcp.forget_sessions();
            refuse(&rig, When::tool("deploy").and(When::session("lab-session-2")), status);

            let error = call(&client, "deploy", "a").await.unwrap_err();

            assert_eq!(kind(&error), expected);
            assert!(matches!(error.call().unwrap().reason, Reason::Status(it) if it == status));
        }
    }

    async fn a_late_404_of_an_old_session_changes_nothing(rig: Rig) {
        let (client, gate) = (rig.client(), Gate::closed());
        client.connect().await.unwrap();
        gate.hold(&rig.mcp, When::tool("late"));
        let late = client.request("tools/call", params("late", "a")).answer();
        settle().await;
        rig.mcp.forget_sessions();
        call(&client, "echo", "b").await.unwrap();
        let mut events = client.events();

        gate.open();
        late.await.unwrap();
        call(&client, "echo", "c").await.unwrap();

        assert_eq!(rig.count(When::method("initialize")), 2);
        assert_eq!(sessions_asked(&rig, "tools/call").last().unwrap(), "lab-session-2");
        assert_eq!(rig.mcp.executions("late"), 1);
        while let Some(seen) = events.try_next() {
            assert!(!matches!(seen, Seen::Event { event: Event::SessionLost { .. }, .. }), "{seen:?}");
        }
    }

    async fn a_call_dropped_during_the_renewal_ends_at_once_and_the_renewal_goes_on(rig: Rig) {
        let (client, gate) = (rig.client(), Gate::closed());
        client.connect().await.unwrap();
        rig.mcp.forget_sessions();
        gate.hold(&rig.mcp, When::method("initialize"));
        let leaves = client.request("tools/call", params("leaves", "a")).answer();
        let stays = client.request("tools/call", params("stays", "b")).answer();
        settle().await;
        assert_eq!(rig.count(When::method("initialize")), 2);

        ends_at_once_as_cancelled(&client, leaves).await;
        gate.open();
        stays.await.unwrap();
        settle().await;

        assert_eq!(rig.count(When::method("initialize")), 2);
        assert_eq!((rig.mcp.executions("leaves"), rig.mcp.executions("stays")), (0, 1));
        assert_eq!(rig.count(When::notification("notifications/cancelled")), 0, "it was refused");
    }

    async fn a_call_dropped_during_its_retry_ends_at_once_and_leaves_the_session_alone(rig: Rig) {
        let (client, gate) = (rig.client(), Gate::closed());
        client.connect().await.unwrap();
        rig.mcp.forget_sessions();
        gate.hold(&rig.mcp, When::tool("leaves").and(When::session("lab-session-2")));
        let leaves = client.request("tools/call", params("leaves", "a")).answer();
        settle().await;
        assert_eq!(rig.count(When::tool("leaves")), 2);

        ends_at_once_as_cancelled(&client, leaves).await;
        call(&client, "stays", "b").await.unwrap();

        assert_eq!(rig.count(When::method("initialize")), 2);
        assert_eq!(sessions_asked(&rig, "tools/call").last().unwrap(), "lab-session-2");
    }

    async fn a_loss_that_arrives_while_closing_is_closed(rig: Rig) {
        let (client, gate) = (rig.client(), Gate::closed());
        client.connect().await.unwrap();
        gate.hold(&rig.mcp, When::tool("deploy"));
        gate.hold(&rig.mcp, When::delete());
        let lost = client.request("tools/call", params("deploy", "a")).answer();
        settle().await;
        rig.mcp.forget_sessions();

        let losing = async {
            settle().await;
            assert_eq!(rig.count(When::delete()), 1, "closing has begun");
            gate.open();
        };
        let (outcome, (), ()) = tokio::join!(lost, client.close(), losing);

        assert_eq!(outcome.unwrap_err().kind, Kind::Closed);
        assert_eq!(rig.count(When::method("initialize")), 1);
    }

    async fn closing_during_a_renewal_is_closed_and_gives_the_new_session_back(rig: Rig) {
        let (client, gate) = (rig.client(), Gate::closed());
        client.connect().await.unwrap();
        rig.mcp.forget_sessions();
        gate.hold(&rig.mcp, When::method("initialize"));
        let lost = client.request("tools/call", params("deploy", "a")).answer();
        settle().await;

        let renewing = async {
            settle().await;
            gate.open();
        };
        let (outcome, (), ()) = tokio::join!(lost, client.close(), renewing);

        assert_eq!(outcome.unwrap_err().kind, Kind::Closed);
        assert_eq!(rig.count(When::method("initialize")), 2);
        assert_eq!(rig.count(When::delete().and(When::session("lab-session-2"))), 1);
        assert_eq!(rig.mcp.executions("deploy"), 0);
    }

    async fn log_level_and_subscriptions_are_told_to_a_new_session_no_later_than_its_first_call(rig: Rig) {
        let client = rig.client();
        for (method, params) in [
            ("logging/setLevel", json!({ "level": "error" })),
            ("logging/setLevel", json!({ "level": "debug" })),
            ("resources/subscribe", json!({ "uri": "lab://a" })),
            ("resources/subscribe", json!({ "uri": "lab://b" })),
            ("resources/unsubscribe", json!({ "uri": "lab://a" })),
        ] {
            client.request(method, params).await.unwrap();
        }
        rig.mcp.forget_sessions();

        call(&client, "echo", "a").await.unwrap();
        settle().await;

        let log = rig.mcp.log();
        let renewed: Vec<&Entry> = log.iter().filter(|it| is_request_of_session_2(it)).collect();
        let first_call = renewed.iter().find(|it| When::tool("echo").holds(it)).unwrap().at;
        let mut told: Vec<_> = renewed
            .iter()
            .filter(|it| !When::tool("echo").holds(it) && it.at <= first_call)
            .map(|it| asked(it))
            .collect();
        told.sort();
        assert_eq!(told, [
            ("logging/setLevel".to_owned(), r#"{"level":"debug"}"#.to_owned()),
            ("resources/subscribe".to_owned(), r#"{"uri":"lab://b"}"#.to_owned()),
        ]);
    }
}

/// Returns everything that a client asks, with params that the lab answers without an error.
fn every_method() -> Vec<(&'static str, Value)> {
    vec![
        ("tools/call", params("deploy", "a")),
        ("resources/list", json!({})),
        ("resources/read", json!({ "uri": "lab://note" })),
        ("prompts/list", json!({})),
        ("prompts/get", json!({ "name": "greet" })),
        ("ping", Value::Null),
        ("tools/list", json!({})),
        ("resources/templates/list", json!({})),
        ("resources/subscribe", json!({ "uri": "lab://note" })),
        ("resources/unsubscribe", json!({ "uri": "lab://note" })),
        ("completion/complete", json!({ "argument": { "name": "a", "value": "b" } })),
        ("logging/setLevel", json!({ "level": "debug" })),
    ]
}

/// Returns the sessions in which this method was requested, in order.
fn sessions_asked(rig: &Rig, method: &str) -> Vec<String> {
    let log = rig.mcp.log();
    let asked = log.into_iter().filter(|entry| When::method(method).holds(entry));
    asked.map(|entry| entry.session.unwrap_or_default()).collect()
}

fn is_request_of_session_2(entry: &Entry) -> bool {
    When::session("lab-session-2").holds(entry) && matches!(entry.what, What::Request { .. })
}

fn asked(entry: &Entry) -> (String, String) {
    let message: Value = serde_json::from_slice(&entry.body).unwrap();
    (message["method"].as_str().unwrap().to_owned(), message["params"].to_string())
}

fn kind(error: &Error) -> Kind {
    error.call().unwrap_or_else(|| panic!("an answer: {error}")).kind
}

/// Makes every call find its session gone, however new it is; but not for ever, so that a client that never
/// stops trying fails its test instead of hanging it.
fn sessions_die_at_once(rig: &Rig) {
    for when in [When::tool("deploy"), When::method("ping")] {
        rig.mcp.rule(when, Times::Exactly(100), |ask: Ask| ask.status(404, &[], ""));
    }
}

fn refuse(rig: &Rig, when: When, status: u16) {
    rig.mcp.rule(when, Times::Always, move |ask| ask.status(status, &[], ""));
}

/// Returns a client whose calls have no patience: an open breaker refuses them, and holds all others.
fn impatient(rig: &Rig) -> Client {
    let policy = RetryPolicy::default().builder().patience(secs(0)).first_patience(secs(0));
    rig.builder().retry_policy(policy.build().expect("it is within bounds")).build().unwrap()
}

/// Opens the breaker by sessions that die at once, and repairs the server.
async fn open_the_breaker(rig: &Rig, client: &Client) {
    sessions_die_at_once(rig);
    for _ in 0..5 {
        call(client, "deploy", "a").await.unwrap_err();
    }
    assert!(matches!(client.status().await.unwrap().breaker, BreakerState::Open { .. }));
    rig.mcp.clear_rules();
}

/// Drops a call and checks that it ends at once.
async fn ends_at_once_as_cancelled(client: &Client, pending: ridethrough::call::Pending) {
    let mut events = client.events();
    let before = Instant::now();

    drop(pending);
    let is_end = |event: &Event| matches!(event, Event::CallEnded { .. });
    let ended = wait_for(&mut events, is_end).await;

    let is_cancelled = matches!(ended, Event::CallEnded { kind: Some(Kind::Cancelled), .. });
    assert!(is_cancelled, "{ended:?}");
    assert_eq!(before.elapsed(), secs(0));
}

async fn wait_for(events: &mut Events, is_meant: impl Fn(&Event) -> bool) -> Event {
    let waiting = async {
        loop {
            match events.next().await.expect("the client lives") {
                Seen::Event { event, .. } if is_meant(&event) => return event,
                _ => {}
            }
        }
    };
    tokio::time::timeout(secs(60), waiting).await.expect("it happens")
}

/// Lets everything happen that needs no further step of the test.
async fn settle() {
    tokio::time::sleep(millis(1)).await;
}
