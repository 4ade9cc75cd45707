//! Plain calls to a server with sessions that answers in JSON.

use std::time::Duration;

use ridethrough::server::Eras;
use ridethrough_lab::{Ask, Times, When};
use serde_json::{Value, json};

use crate::torture::exchange::{Exchange, RESUMABLE, ServerKind};
use crate::torture::stage::{Nature, text_of};

pub(super) const EXCHANGES: &[Exchange] = &[
    Exchange {
        name: "one-read",
        play: |stage| Box::pin(async { stage.read("a").await }),
        ..Exchange::PLAIN
    },
    Exchange {
        name: "one-deploy",
        play: |stage| Box::pin(async { stage.deploy("a").await }),
        ..Exchange::PLAIN
    },
    Exchange {
        name: "one-after-another",
        play: |stage| {
            Box::pin(async {
                stage.deploy("a").await;
                stage.read("b").await;
                stage.deploy("c").await;
            })
        },
        ..Exchange::PLAIN
    },
    Exchange {
        name: "three-at-once",
        play: |stage| {
            Box::pin(async {
                tokio::join!(stage.deploy("a"), stage.read("b"), stage.deploy("c"));
            })
        },
        ..Exchange::PLAIN
    },
    // A tool whose hint says that it only reads is safe.
    Exchange {
        name: "read-by-hint",
        play: |stage| {
            Box::pin(async {
                stage.ask("tools/list", Value::Null).await;
                let params = json!({ "name": "read", "arguments": { "key": "a" } });
                let call = stage.client.request("tools/call", params);
                stage.until("read by hint", Nature::Safe, call).await;
            })
        },
        ..Exchange::PLAIN
    },
    Exchange {
        name: "resources",
        play: |stage| {
            Box::pin(async {
                stage.ask("resources/list", Value::Null).await;
                stage.ask("resources/read", json!({ "uri": "lab://note" })).await;
            })
        },
        ..Exchange::PLAIN
    },
    Exchange {
        name: "prompts",
        play: |stage| {
            Box::pin(async {
                stage.ask("prompts/list", Value::Null).await;
                stage.ask("prompts/get", json!({ "name": "greet" })).await;
            })
        },
        ..Exchange::PLAIN
    },
    Exchange {
        name: "ping",
        play: |stage| Box::pin(async { stage.ask("ping", Value::Null).await }),
        ..Exchange::PLAIN
    },
    Exchange {
        name: "big-answer",
        serve: |mcp| mcp.rule(When::tool("deploy"), Times::Always, big),
        play: |stage| Box::pin(async { stage.deploy("a").await }),
        ..Exchange::PLAIN
    },
    Exchange {
        name: "big-request",
        play: |stage| {
            Box::pin(async {
                let arguments = json!({ "key": "a", "blob": "x".repeat(BIG), "msg": "taken" });
                let params = json!({ "name": "deploy", "arguments": arguments });
                let call = stage.client.request("tools/call", params);
                stage.until("big deploy", Nature::deploy("a"), call).await;
            })
        },
        ..Exchange::PLAIN
    },
    Exchange {
        name: "notification",
        play: |stage| {
            Box::pin(async {
                stage.read("a").await;
                stage.tell("notifications/roots/list_changed", Value::Null).await;
                stage.deploy("b").await;
            })
        },
        ..Exchange::PLAIN
    },
    // The caller does not wait for a slow tool.
    Exchange {
        name: "cancel",
        serve: |mcp| {
            mcp.rule(When::tool("deploy"), Times::Always, |ask| async move {
                ask.run();
                ask.reply().1.hold().await;
            });
        },
        play: |stage| {
            Box::pin(async {
                stage.drop_after("a", Duration::from_secs(1)).await;
                stage.read("b").await;
            })
        },
        ..Exchange::PLAIN
    },
    Exchange {
        name: "close",
        play: |stage| {
            Box::pin(async {
                stage.deploy("a").await;
                stage.close().await;
            })
        },
        ..Exchange::PLAIN
    },
    // What a new session has to be told again: log level and subscriptions.
    Exchange {
        name: "log-level",
        play: |stage| {
            Box::pin(async {
                let level = json!({ "level": "warning" });
                let call = stage.client.request("logging/setLevel", level).idempotent();
                stage.until("logging/setLevel", Nature::Safe, call).await;
                stage.mcp.forget_sessions();
                stage.deploy("a").await;
            })
        },
        ..Exchange::PLAIN
    },
    Exchange {
        name: "no-sessions",
        serve: |mcp| mcp.issue_sessions(false),
        play: |stage| {
            Box::pin(async {
                stage.deploy("a").await;
                stage.read("b").await;
            })
        },
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
        play: |stage| Box::pin(async { stage.deploy("a").await }),
        ..Exchange::PLAIN
    },
    Exchange {
        name: "connect",
        play: |stage| {
            Box::pin(async {
                stage.client.keep_connected();
                tokio::time::sleep(Duration::from_secs(3)).await;
                stage.deploy("a").await;
            })
        },
        ..Exchange::PLAIN
    },
    // The client knows nothing of the server before.
    Exchange {
        name: "era-found-legacy",
        dress: |builder| builder.eras(Eras::Either),
        play: |stage| Box::pin(async { stage.deploy("a").await }),
        ..Exchange::PLAIN
    },
    Exchange {
        name: "http-sse",
        kind: ServerKind::HttpSse,
        deadline: RESUMABLE,
        play: |stage| {
            Box::pin(async {
                stage.deploy("a").await;
                stage.read("b").await;
            })
        },
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
