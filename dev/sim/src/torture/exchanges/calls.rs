//! Plain calls to a server with sessions that answers in JSON.

use ridethrough::server::Eras;
use ridethrough_lab::{Ask, Times, When};
use serde_json::{Value, json};

use crate::torture::exchange::Play::{Steps, Told};
use crate::torture::exchange::Step::{
    Close, Deploy, DropAfterASecond, KeepConnected, Read, Request, Sleep, Tell,
};
use crate::torture::exchange::{BOTH, Exchange, RESUMABLE, ServerKind, plain};
use crate::torture::stage::{Nature, text_of};

pub(super) const EXCHANGES: &[Exchange] = &[
    plain("one-read", &[Read("a")]),
    plain("one-deploy", &[Deploy("a")]),
    plain("one-after-another", &[Deploy("a"), Read("b"), Deploy("c")]),
    Exchange {
        name: "three-at-once",
        play: Told(|stage| {
            Box::pin(async {
                tokio::join!(stage.deploy("a"), stage.read("b"), stage.deploy("c"));
            })
        }),
        ..Exchange::PLAIN
    },
    // A tool whose hint says that it only reads is safe.
    Exchange {
        name: "read-by-hint",
        play: Told(|stage| {
            Box::pin(async {
                stage.ask("tools/list", Value::Null).await;
                let params = json!({ "name": "read", "arguments": { "key": "a" } });
                let call = stage.client.request("tools/call", params);
                stage.until("read by hint", Nature::Safe, call).await;
            })
        }),
        ..Exchange::PLAIN
    },
    plain(
        "resources",
        &[
            Request("resources/list", "null"),
            Request("resources/read", r#"{ "uri": "lab://note" }"#),
        ],
    ),
    plain(
        "prompts",
        &[Request("prompts/list", "null"), Request("prompts/get", r#"{ "name": "greet" }"#)],
    ),
    plain("ping", &[Request("ping", "null")]),
    Exchange {
        name: "big-answer",
        serve: |mcp| mcp.rule(When::tool("deploy"), Times::Always, big),
        play: Steps(&[Deploy("a")]),
        ..Exchange::PLAIN
    },
    Exchange {
        name: "big-request",
        play: Told(|stage| {
            Box::pin(async {
                let arguments = json!({ "key": "a", "blob": "x".repeat(BIG), "msg": "taken" });
                let params = json!({ "name": "deploy", "arguments": arguments });
                let call = stage.client.request("tools/call", params);
                stage.until("big deploy", Nature::deploy("a"), call).await;
            })
        }),
        ..Exchange::PLAIN
    },
    plain("notification", &[Read("a"), Tell("notifications/roots/list_changed"), Deploy("b")]),
    // The caller does not wait for a slow tool.
    Exchange {
        name: "cancel",
        serve: |mcp| {
            mcp.rule(When::tool("deploy"), Times::Always, |ask| async move {
                ask.run();
                ask.reply().1.hold().await;
            });
        },
        play: Steps(&[DropAfterASecond("a"), Read("b")]),
        ..Exchange::PLAIN
    },
    plain("close", &[Deploy("a"), Close]),
    // What a new session has to be told again: log level and subscriptions.
    Exchange {
        name: "log-level",
        play: Told(|stage| {
            Box::pin(async {
                let level = json!({ "level": "warning" });
                let call = stage.client.request("logging/setLevel", level).idempotent();
                stage.until("logging/setLevel", Nature::Safe, call).await;
                stage.mcp.forget_sessions();
                stage.deploy("a").await;
            })
        }),
        ..Exchange::PLAIN
    },
    Exchange {
        name: "no-sessions",
        serve: |mcp| mcp.issue_sessions(false),
        play: BOTH,
        ..Exchange::PLAIN
    },
    // A JSON-RPC error is an answer: the tool ran, and the call is not sent again.
    Exchange {
        name: "error-answer",
        serve: |mcp| {
            mcp.rule(When::tool("deploy"), Times::Always, |ask| async move {
                ask.run();
                let error = ask.error(-32603, "out of disk");
                ask.json(error).await;
            });
        },
        play: Steps(&[Deploy("a")]),
        ..Exchange::PLAIN
    },
    plain("connect", &[KeepConnected, Sleep(3), Deploy("a")]),
    // The client knows nothing of the server before.
    Exchange {
        name: "era-found-legacy",
        dress: |builder| builder.eras(Eras::Either),
        play: Steps(&[Deploy("a")]),
        ..Exchange::PLAIN
    },
    Exchange {
        name: "http-sse",
        kind: ServerKind::HttpSse,
        deadline: RESUMABLE,
        play: BOTH,
        ..Exchange::PLAIN
    },
];

async fn big(ask: Ask) {
    ask.run();
    let mut result = text_of(&ask.arguments());
    result["blob"] = "y".repeat(BIG).into();
    let body = ask.result(result);
    ask.json(body).await;
}

/// The size of a big message: more than a TCP segment, but few enough bytes to cut at each of them within
/// minutes.
const BIG: usize = 2_000;
