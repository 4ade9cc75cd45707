//! Log records, at any level and of any layer below the client: they report trouble, and no secret.

#![cfg(test)]

#[path = "faults/rig.rs"]
#[macro_use]
#[allow(dead_code, unused_macros, reason = "the fault tests need more of the rig than this one")]
mod rig;

#[path = "faults/written.rs"]
mod written;

use ridethrough::credentials::StaticToken;
use ridethrough_lab::{Protocol, Times, When};

use rig::{Rig, call, paused, text};
use written::Written;

#[test]
fn a_whole_life_of_a_client_logs_its_trouble_and_no_secret() {
    for protocol in Protocol::ALL {
        let written = Written::default();

        tracing::subscriber::with_default(written.clone(), || live(protocol));

        let written = written.text();
        for trouble in ["call failed", "call goes on after a fault", "call answered", "tools/call"]
        {
            assert!(written.contains(trouble), "{protocol:?}: no `{trouble}` in the records");
        }
        for secret in ["t0ken", "lab-session", "k3y", "h3ader", "c00kie", "payl0ad"] {
            assert!(!written.contains(secret), "{protocol:?}: `{secret}` in the records");
        }
    }
}

/// Runs a client that loses a session, is refused, fails and gets a cookie.
fn live(protocol: Protocol) {
    paused(async {
        let rig = Rig::over(protocol);
        rig.mcp.require_bearer(Some("t0ken"));
        rig.mcp.rule(When::tool("put"), Times::Once, |ask| async {
            let answer = ask.result(text("payl0ad"));
            let cookie = [("set-cookie", "c=c00kie"), ("content-type", "application/json")];
            ask.status(200, &cookie, answer).await;
        });
        rig.mcp.rule(When::tool("deploy"), Times::Always, |ask| async {
            ask.status(502, &[], "payl0ad").await;
        });
        let client = rig
            .builder_to(&format!("{}?key=k3y", rig.url()))
            .credentials(StaticToken::new("t0ken").unwrap())
            .header("x-key", "h3ader")
            .build()
            .unwrap();

        call(&client, "put", "payl0ad").await.unwrap();
        rig.mcp.forget_sessions();
        call(&client, "echo", "payl0ad").await.unwrap();
        call(&client, "deploy", "payl0ad").await.unwrap_err();
        client.close().await;
    });
}
