//! Credentials that are refused, renewed, slow or missing, and what else identifies a request.

use std::future::pending;
use std::time::Duration;

use ridethrough::Error;
use ridethrough::credentials::StaticToken;
use ridethrough::error::Kind;
use ridethrough::event::{Event, Seen};
use ridethrough::machine::head::Demand;
use ridethrough_lab::{Entry, Protocol, Style, Times, What, When};
use serde_json::json;
use tokio::time::Instant;

use crate::hook::{Asked, Hook, bearer};
use crate::rig::{Rig, call, params, secs, text};

on_every_carrier! {
    async fn a_static_token_that_is_refused_ends_the_call_as_unauthorized_and_unrun(rig: Rig) {
        rig.mcp.require_bearer(Some("old"));
        let client = rig.builder().credentials(StaticToken::new("old").unwrap()).build().unwrap();
        call(&client, "echo", "a").await.unwrap();
        rig.mcp.require_bearer(Some("new"));

        let error = call(&client, "deploy", "b").await.unwrap_err();

        assert_eq!(kind(&error), Kind::Unauthorized);
        assert!(!error.may_have_run());
        assert_eq!(rig.mcp.executions("deploy"), 0);
        assert_eq!(rig.count(When::tool("deploy")), 1, "there is nothing to try it again with");
    }

    async fn a_static_token_that_is_refused_at_the_handshake_ends_the_call_as_unauthorized(rig: Rig) {
        rig.mcp.require_bearer(Some("new"));
        let client = rig.builder().credentials(StaticToken::new("old").unwrap()).build().unwrap();

        let error = call(&client, "deploy", "a").await.unwrap_err();

        assert_eq!(kind(&error), Kind::Unauthorized);
        assert!(!error.may_have_run());
        assert_eq!(rig.count(When::any()), 1);
    }

    async fn a_401_without_credentials_of_our_own_is_unauthorized(rig: Rig) {
        rig.mcp.require_bearer(Some("token"));
        let client = rig.client();

        let error = call(&client, "deploy", "a").await.unwrap_err();

        assert_eq!(kind(&error), Kind::Unauthorized);
        assert_eq!(rig.count(When::any()), 1);
    }

    async fn a_hook_that_brings_a_new_token_lets_the_call_succeed(rig: Rig) {
        let hook = Hook::brings(&["old", "new"]);
        rig.mcp.require_bearer(Some("old"));
        let client = rig.builder().credentials(hook.clone()).build().unwrap();
        call(&client, "echo", "a").await.unwrap();
        rig.mcp.require_bearer(Some("new"));

        call(&client, "deploy", "b").await.unwrap();

        assert_eq!(hook.asked(), [Asked::First, Asked::instead_of("old")]);
        assert_eq!(tokens(&rig, &When::tool("deploy")), ["Bearer old", "Bearer new"]);
        assert_eq!(rig.mcp.executions("deploy"), 1);
    }

    async fn a_hook_that_brings_a_new_token_lets_the_handshake_succeed(rig: Rig) {
        let hook = Hook::brings(&["old", "new"]);
        rig.mcp.require_bearer(Some("new"));
        let client = rig.builder().credentials(hook.clone()).build().unwrap();

        call(&client, "deploy", "a").await.unwrap();

        assert_eq!(tokens(&rig, &When::method("initialize")), ["Bearer old", "Bearer new"]);
        assert_eq!(hook.asked(), [Asked::First, Asked::instead_of("old")]);
    }

    async fn a_new_token_that_is_refused_too_ends_the_call(rig: Rig) {
        let hook = Hook::brings(&["old", "new", "newer"]);
        rig.mcp.require_bearer(Some("old"));
        let client = rig.builder().credentials(hook.clone()).build().unwrap();
        call(&client, "echo", "a").await.unwrap();
        rig.mcp.require_bearer(Some("another"));

        let error = call(&client, "deploy", "b").await.unwrap_err();

        assert_eq!(kind(&error), Kind::Unauthorized);
        assert_eq!(hook.asked(), [Asked::First, Asked::instead_of("old")]);
        assert_eq!(rig.count(When::tool("deploy")), 2);
    }

    async fn requests_go_out_without_a_token_until_the_server_asks_for_one(rig: Rig) {
        let hook = Hook::new(|number| async move { Ok((number > 0).then(|| bearer("token"))) });
        let client = rig.builder().credentials(hook.clone()).build().unwrap();
        call(&client, "echo", "a").await.unwrap();
        rig.mcp.require_bearer(Some("token"));

        call(&client, "deploy", "b").await.unwrap();

        let demand = Some(Demand::Credentials);
        assert_eq!(hook.asked(), [Asked::First, Asked::Refused { token: None, demand }]);
        assert_eq!(tokens(&rig, &When::tool("echo")), ["none"]);
        assert_eq!(tokens(&rig, &When::tool("deploy")), ["none", "Bearer token"]);
    }

    async fn a_hook_that_hangs_ends_the_call_as_unauthorized_after_30_s(rig: Rig) {
        let hook = hangs_at_the_second_question();
        rig.mcp.require_bearer(Some("old"));
        let client = rig.builder().credentials(hook.clone()).build().unwrap();
        client.connect().await.unwrap();
        rig.mcp.require_bearer(Some("new"));
        let before = Instant::now();

        let error = call(&client, "deploy", "a").await.unwrap_err();

        assert_eq!(kind(&error), Kind::Unauthorized);
        assert_eq!(before.elapsed(), secs(30));
        assert!(!error.may_have_run());
    }

    async fn a_hook_that_hangs_is_not_asked_again_by_the_next_call(rig: Rig) {
        let hook = hangs_at_the_second_question();
        rig.mcp.require_bearer(Some("old"));
        let client = rig.builder().credentials(hook.clone()).build().unwrap();
        client.connect().await.unwrap();
        rig.mcp.require_bearer(Some("new"));
        call(&client, "deploy", "a").await.unwrap_err();

        call(&client, "deploy", "b").await.unwrap_err();

        assert_eq!(hook.asked().len(), 2);
    }

    async fn a_hook_that_is_slow_at_first_delays_the_call_and_does_not_fail_it(rig: Rig) {
        for delay in [secs(1), secs(9), secs(14)] {
            assert_delayed_and_well(&Rig::over(rig.server.protocol()), delay).await;
        }
    }

    async fn a_hook_that_is_slow_at_first_may_take_as_long_as_any_other_time(rig: Rig) {
        // The handshake's limit of 15 s is for the server, which has not been asked yet.
        assert_delayed_and_well(&rig, secs(29)).await;
    }

    async fn a_hook_that_hangs_at_first_ends_the_call_as_unauthorized_after_30_s(rig: Rig) {
        let client = rig.builder().credentials(Hook::new(|_| pending())).build().unwrap();
        let before = Instant::now();

        let error = call(&client, "deploy", "a").await.unwrap_err();

        assert_eq!(kind(&error), Kind::Unauthorized);
        assert_eq!(before.elapsed(), secs(30));
        assert_eq!(rig.count(When::any()), 0);
    }

    async fn a_403_for_scope_asks_the_hook_for_that_scope(rig: Rig) {
        let hook = Hook::brings(&["narrow", "wide"]);
        let client = rig.builder().credentials(hook.clone()).build().unwrap();
        client.connect().await.unwrap();
        wants_scope(&rig, Times::Once);

        call(&client, "deploy", "a").await.unwrap();

        assert_eq!(hook.asked(), [Asked::First, for_scope("narrow")]);
        assert_eq!(tokens(&rig, &When::tool("deploy")), ["Bearer narrow", "Bearer wide"]);
        assert_eq!(rig.count(When::method("initialize")), 1);
    }

    async fn a_403_for_scope_is_stepped_up_at_most_twice(rig: Rig) {
        let hook = Hook::brings(&["1", "2", "3", "4", "5"]);
        let client = rig.builder().credentials(hook.clone()).build().unwrap();
        client.connect().await.unwrap();
        wants_scope(&rig, Times::Always);

        let error = call(&client, "deploy", "a").await.unwrap_err();

        assert_eq!(kind(&error), Kind::Unauthorized);
        assert!(!error.may_have_run());
        assert_eq!(hook.asked(), [Asked::First, for_scope("1"), for_scope("2")]);
        assert_eq!(tokens(&rig, &When::tool("deploy")), ["Bearer 1", "Bearer 2", "Bearer 3"]);
    }

    async fn a_call_that_waits_for_more_scope_holds_back_no_other_and_no_renewal(rig: Rig) {
        let hook = hangs_at_the_second_question();
        rig.mcp.require_bearer(Some("old"));
        let client = rig.builder().credentials(hook.clone()).build().unwrap();
        client.connect().await.unwrap();
        wants_scope(&rig, Times::Always);
        let deploy = client.clone();
        let waiting = tokio::spawn(async move { call(&deploy, "deploy", "a").await });
        while hook.asked().len() < 2 {
            tokio::task::yield_now().await;
        }
        let before = Instant::now();

        call(&client, "echo", "b").await.unwrap();
        rig.mcp.require_bearer(Some("new"));
        call(&client, "echo", "c").await.unwrap();

        assert!(before.elapsed() < secs(1), "{:?}", before.elapsed());
        assert_eq!(hook.asked(), [Asked::First, for_scope("old"), Asked::instead_of("old")]);
        let error = waiting.await.unwrap().unwrap_err();
        assert_eq!(kind(&error), Kind::Unauthorized);
        assert_eq!(before.elapsed(), secs(30));
    }

    async fn closing_waits_for_what_the_hook_must_not_be_interrupted_in(rig: Rig) {
        let hook = Hook::brings(&["token"]).finishing_after(secs(4));
        let client = rig.builder().credentials(hook.clone()).build().unwrap();
        call(&client, "echo", "a").await.unwrap();

        client.close().await;

        assert!(hook.is_finished());
    }

    async fn closing_waits_15_s_for_a_hook_that_never_finishes(rig: Rig) {
        let hook = Hook::brings(&["token"]).finishing_after(secs(1000));
        let client = rig.builder().credentials(hook.clone()).build().unwrap();
        call(&client, "echo", "a").await.unwrap();
        let before = Instant::now();

        client.close().await;

        assert!(!hook.is_finished());
        let waited = before.elapsed();
        assert!((secs(15)..secs(17)).contains(&waited), "{waited:?}");
    }

    async fn any_other_403_is_a_rejection_and_no_business_of_the_hook(rig: Rig) {
        let hook = Hook::brings(&["1", "2"]);
        let client = rig.builder().credentials(hook.clone()).build().unwrap();
        client.connect().await.unwrap();
        let challenge = &[("www-authenticate", r#"Bearer error="invalid_request""#)];
        rig.mcp.rule(When::tool("deploy"), Times::Always, |ask| ask.status(403, challenge, ""));

        let error = call(&client, "deploy", "a").await.unwrap_err();

        assert_eq!(kind(&error), Kind::Rejected { status: 403 });
        assert_eq!(hook.asked(), [Asked::First]);
    }

    async fn what_becomes_of_credentials_is_told(rig: Rig) {
        let hook = Hook::brings(&["old", "new"]);
        rig.mcp.require_bearer(Some("old"));
        let client = rig.builder().credentials(hook).build().unwrap();
        client.connect().await.unwrap();
        let mut events = client.events();

        rig.mcp.require_bearer(Some("new"));
        call(&client, "deploy", "a").await.unwrap();
        rig.mcp.require_bearer(Some("newer"));
        call(&client, "deploy", "b").await.unwrap_err();

        let told: Vec<Event> = std::iter::from_fn(|| events.try_next())
            .filter_map(|seen| match seen {
                Seen::Event { event: it @ (Event::CredentialsFailed { .. } | Event::CredentialsRenewed), .. } => Some(it),
                _ => None,
            })
            .collect();
        assert_eq!(told, [Event::CredentialsRenewed, Event::CredentialsFailed { reason: None }]);
    }

    async fn a_cookie_set_by_an_answer_comes_back_with_the_next_requests_of_its_session(rig: Rig) {
        let client = rig.client();
        set_cookie(&rig, When::tool("pin"));
        call(&client, "pin", "a").await.unwrap();

        call(&client, "echo", "b").await.unwrap();
        client.close().await;

        assert_eq!(cookies(&rig, &When::tool("echo")), ["route=blue"]);
        assert_eq!(cookies(&rig, &When::delete()), ["route=blue"]);
    }

    async fn a_cookie_set_by_initialize_comes_back_with_the_first_request_after_it(rig: Rig) {
        rig.mcp.issue_sessions(false);
        set_cookie(&rig, When::method("initialize"));
        let client = rig.client();

        call(&client, "echo", "a").await.unwrap();

        let initialized = When::notification("notifications/initialized");
        assert_eq!(cookies(&rig, &When::method("initialize")), ["none"]);
        assert_eq!(cookies(&rig, &initialized), ["route=blue"]);
        assert_eq!(cookies(&rig, &When::tool("echo")), ["route=blue"]);
    }

    async fn a_cookie_of_an_old_session_is_not_brought_to_the_next_one(rig: Rig) {
        let client = rig.client();
        set_cookie(&rig, When::tool("pin"));
        call(&client, "pin", "a").await.unwrap();
        rig.mcp.forget_sessions();

        call(&client, "echo", "b").await.unwrap();

        assert_eq!(cookies(&rig, &When::tool("echo")), ["route=blue", "none"]);
        assert_eq!(cookies(&rig, &When::method("initialize")), ["none", "none"]);
    }

    async fn headers_of_the_builder_are_on_every_request(rig: Rig) {
        rig.mcp.answers(Style::SseWithIds);
        rig.mcp.rule(When::tool("broken"), Times::Once, |ask| async {
            let mut sse = ask.sse().await;
            sse.prime("e1").await;
            sse.cut().await;
        });
        rig.mcp.rule(When::tool("held"), Times::Once, |ask| async {
            ask.reply().1.hold().await;
        });
        let builder = rig.builder().header("x-tenant", "acme").header("x-many", "1");
        let client = builder.header("x-many", "2").build().unwrap();

        let held = client.request("tools/call", params("held", "a"));
        tokio::time::timeout(secs(1), held).await.unwrap_err();
        call(&client, "broken", "b").await.unwrap_err();
        client.notify("notifications/x", ()).await.unwrap();
        rig.mcp.forget_sessions();
        call(&client, "echo", "c").await.unwrap();
        client.close().await;

        let log = rig.mcp.log();
        for kind in [When::delete(), When::listen(), When::resume(), When::method("initialize")] {
            assert!(rig.count(kind.clone()) > 0, "{kind:?}");
        }
        assert!(log.iter().any(|entry| matches!(entry.what, What::Notification { .. })));
        for entry in log {
            assert_eq!(entry.header("x-tenant"), Some("acme"), "{:?}", entry.what);
            let many: Vec<_> = entry.headers.get_all("x-many").iter().collect();
            assert_eq!(many, ["1", "2"], "{:?}", entry.what);
        }
    }
}

/// Checks that a hook that takes this long for its first token delays the first call by as much, and does no
/// more.
async fn assert_delayed_and_well(rig: &Rig, delay: Duration) {
    let hook = Hook::new(move |_| async move {
        tokio::time::sleep(delay).await;
        Ok(Some(bearer("token")))
    });
    rig.mcp.require_bearer(Some("token"));
    let client = rig.builder().credentials(hook.clone()).build().unwrap();
    let before = Instant::now();

    let result = call(&client, "deploy", "a").await;

    assert!(result.is_ok(), "{delay:?}: {result:?}");
    assert_eq!((before.elapsed(), rig.mcp.log()[0].at), (delay, delay));
    assert_eq!(rig.count(When::method("initialize")), 1, "{delay:?}");
    assert_eq!(hook.asked(), [Asked::First]);
}

fn kind(error: &Error) -> Kind {
    error.call().unwrap_or_else(|| panic!("an answer: {error}")).kind
}

/// Returns a hook that brings `old`, hangs when that is refused, and brings `new` when it is asked once more.
fn hangs_at_the_second_question() -> Hook {
    Hook::new(|number| async move {
        match number {
            0 => Ok(Some(bearer("old"))),
            1 => pending().await,
            _ => Ok(Some(bearer("new"))),
        }
    })
}

/// Returns the tokens of these requests, in order.
fn tokens(rig: &Rig, when: &When) -> Vec<String> {
    headers(rig, when, "authorization")
}

fn cookies(rig: &Rig, when: &When) -> Vec<String> {
    headers(rig, when, "cookie")
}

fn headers(rig: &Rig, when: &When, name: &str) -> Vec<String> {
    let shown = |entry: &Entry| entry.header(name).unwrap_or("none").to_owned();
    rig.mcp.log().iter().filter(|entry| when.holds(entry)).map(shown).collect()
}

/// Makes the server refuse `deploy` for want of scope.
fn wants_scope(rig: &Rig, times: Times) {
    let challenge = &[("www-authenticate", r#"Bearer error="insufficient_scope", scope="a b""#)];
    rig.mcp.rule(When::tool("deploy"), times, |ask| ask.status(403, challenge, ""));
}

fn for_scope(token: &str) -> Asked {
    let demand = Some(Demand::Scope("a b".into()));
    Asked::Refused { token: Some(token.to_owned()), demand }
}

/// Makes the server set a cookie with its first answer to this request.
fn set_cookie(rig: &Rig, when: When) {
    rig.mcp.rule(when, Times::Once, |ask| async {
        let result = if When::method("initialize").holds(&ask.entry) {
            json!({ "protocolVersion": "2025-11-25", "capabilities": {} })
        } else {
            text("done")
        };
        let body = ask.result(result);
        let cookie = ("set-cookie", "route=blue; Path=/; HttpOnly");
        ask.status(200, &[("content-type", "application/json"), cookie], body).await;
    });
}
