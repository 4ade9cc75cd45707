//! Headers of one call: sent with each of its requests, and with no other.

use std::sync::{Arc, Mutex};

use ridethrough::error::Kind;
use ridethrough::{Call, Client};
use ridethrough_lab::{Ask, Protocol, Times, When};
use serde_json::json;

use crate::rig::{Rig, call, params, text};

on_every_carrier! {
    async fn a_header_of_a_call_goes_out_with_each_send_and_each_resume_of_it(rig: Rig) {
        rig.mcp.rule(When::tool("deploy"), Times::Once, refuses_for_a_second);
        let asked = Arc::new(Mutex::new(json!(null)));
        let id = asked.clone();
        rig.mcp.rule(When::tool("deploy"), Times::Once, move |ask| {
            *id.lock().unwrap() = ask.id();
            async {
                let mut sse = ask.sse().await;
                sse.prime("e1").await;
                sse.cut().await;
            }
        });
        rig.mcp.rule(When::resume(), Times::Once, move |ask| {
            let id = asked.lock().unwrap().clone();
            async move {
                let answer = json!({ "jsonrpc": "2.0", "id": id, "result": text("done") });
                ask.sse().await.event_and_finish(Some("e2"), &answer.to_string()).await;
            }
        });
        let client = rig.client();

        deploy(&client).header("x-tenant", "blue").await.unwrap();

        let log = rig.mcp.log();
        let (own, others): (Vec<_>, Vec<_>) = log.iter().partition(|entry| {
            When::tool("deploy").holds(entry) || When::resume().holds(entry)
        });
        assert_eq!(own.len(), 3, "{own:?}");
        assert!(own.iter().all(|entry| entry.header("x-tenant") == Some("blue")), "{own:?}");
        assert!(others.len() >= 2, "{others:?}");
        assert!(others.iter().all(|entry| entry.header("x-tenant").is_none()), "{others:?}");
    }

    async fn a_header_of_a_call_stands_in_place_of_the_clients_own_for_that_call_only(rig: Rig) {
        let client = rig.builder().header("x-tenant", "all").header("x-team", "t").build().unwrap();

        deploy(&client).header("x-tenant", "one").header("X-Tenant", "two").await.unwrap();
        call(&client, "echo", "a").await.unwrap();

        let log = rig.mcp.log();
        let sent = |tool: &str| {
            let entry = log.iter().find(|entry| When::tool(tool).holds(entry)).unwrap();
            let tenants: Vec<_> = entry.headers.get_all("x-tenant").iter().cloned().collect();
            (tenants, entry.header("x-team").map(str::to_owned))
        };
        assert_eq!(sent("deploy").0, ["one", "two"]);
        assert_eq!(sent("deploy").1.as_deref(), Some("t"));
        assert_eq!(sent("echo").0, ["all"]);
    }

    async fn a_header_that_cannot_be_sent_ends_its_call_before_anything_is(rig: Rig) {
        let client = rig.client();
        for (name, value, fault) in [
            ("Mcp-Session-Id", "x", "one that the client does not set itself"),
            ("proxy-authorization", "x", "one that the client does not set itself"),
            ("x y", "z", "must be the name of a header"),
            ("x-key", "s3cret\n", "the value of header `x-key` must be visible ASCII"),
            ("x-key", "s3cret\u{e9}", "the value of header `x-key` must be visible ASCII"),
        ] {
            let error = deploy(&client).header("x-good", "1").header(name, value).await.unwrap_err();

            let call = error.call().unwrap();
            assert_eq!((call.kind, call.attempts), (Kind::Config, 0));
            assert!(!error.may_have_run());
            assert!(error.report().contains(fault), "{}", error.report());
            assert!(!format!("{error:?} {}", error.report()).contains("s3cret"));
        }
        assert_eq!(rig.server.dials(), 0);
    }
}

#[tokio::test]
async fn a_call_prints_the_names_of_its_headers_and_no_value() {
    let rig = Rig::over(Protocol::Http1);

    let pending = deploy(&rig.client()).header("x-tenant", "s3cret");

    let shown = format!("{pending:?}");
    assert!(shown.contains("x-tenant") && !shown.contains("s3cret"), "{shown}");
}

fn deploy(client: &Client) -> Call {
    client.request("tools/call", params("deploy", "a"))
}

async fn refuses_for_a_second(ask: Ask) {
    ask.status(429, &[("retry-after", "1")], "").await;
}
