//! What is written to logs, at any level and by any layer below us: trouble, and no secret.

#![cfg(test)]

#[path = "faults/rig.rs"]
#[macro_use]
#[allow(dead_code, unused_macros, reason = "the fault tests need more of the rig than this one")]
mod rig;

use std::fmt::{Debug, Write};
use std::sync::{Arc, Mutex};

use ridethrough::StaticBearer;
use ridethrough_lab::{Protocol, Times, When};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

use rig::{Rig, call, paused, text};

#[test]
fn a_whole_life_of_a_client_logs_its_trouble_and_no_secret() {
    for protocol in Protocol::ALL {
        let written = Written::default();

        tracing::subscriber::with_default(written.clone(), || live(protocol));

        let written = written.0.lock().unwrap();
        for trouble in ["call failed", "call goes on after a fault", "call answered", "tools/call"]
        {
            assert!(written.contains(trouble), "{protocol:?}: no `{trouble}` in the records");
        }
        for secret in ["t0ken", "lab-session", "k3y", "h3ader", "c00kie", "payl0ad"] {
            assert!(!written.contains(secret), "{protocol:?}: `{secret}` in the records");
        }
    }
}

/// A session is lost, a call is refused, one fails, a cookie is set.
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
            .credentials(StaticBearer::new("t0ken").unwrap())
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

/// Keeps every record of every layer as text.
#[derive(Clone, Default)]
struct Written(Arc<Mutex<String>>);

impl Subscriber for Written {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        span.record(&mut self.clone());
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, values: &Record<'_>) {
        values.record(&mut self.clone());
    }

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        event.record(&mut self.clone());
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

impl Visit for Written {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        writeln!(self.0.lock().unwrap(), "{field}={value:?}").unwrap();
    }
}
