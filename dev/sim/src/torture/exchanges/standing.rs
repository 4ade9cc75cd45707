//! The standing stream: what the server pushes, and answers that come on it.

use std::time::Duration;

use ridethrough::error::Kind;
use ridethrough::model::Notification;
use ridethrough_lab::{Times, When};
use serde_json::json;
use tokio::time::{sleep, timeout};

use crate::torture::exchange::Play::Told;
use crate::torture::exchange::{After, BOTH, Exchange, Leeway, Lenient};
use crate::torture::stage::{Stage, text_of};

pub(super) const EXCHANGES: &[Exchange] = &[
    Exchange {
        name: "pushes",
        play: Told(|stage| Box::pin(async { stage.heard(&hear(stage).await) })),
        ..Exchange::PLAIN
    },
    Exchange {
        name: "pushes-and-calls",
        play: Told(|stage| {
            Box::pin(async {
                let calls = async {
                    for key in ["a", "b"] {
                        sleep(Duration::from_secs(1)).await;
                        stage.deploy(key).await;
                    }
                };
                let (heard, ()) = tokio::join!(hear(stage), calls);
                stage.heard(&heard);
            })
        }),
        ..Exchange::PLAIN
    },
    // 202 to the call, and its answer over the standing stream.
    Exchange {
        name: "accepted",
        serve: |mcp| {
            mcp.rule(When::method("tools/call"), Times::Always, |ask| async move {
                ask.run();
                let result = text_of(&ask.arguments());
                let answer = json!({ "jsonrpc": "2.0", "id": ask.id(), "result": result });
                let mcp = ask.mcp().clone();
                ask.status(202, &[], "").await;
                mcp.push(answer).await;
            });
        },
        play: BOTH,
        leeway: &[Leeway {
            ending: Lenient::Kind(Kind::PeerMisbehaved),
            after: After::Any,
            why: "row 18: 202 and no answer on any stream; what was pushed into a stream that broke \
                  before its first event cannot be asked for again",
        }],
        ..Exchange::PLAIN
    },
];

/// Collects what the server pushes: three messages a second apart, and one long after.
pub(super) async fn hear(stage: &Stage) -> Vec<u64> {
    let mut notifications = stage.client.notifications();
    stage.client.keep_connected();
    for number in 1..=3 {
        is_listened_to(stage).await;
        push(stage, number).await;
        sleep(Duration::from_secs(1)).await;
    }
    sleep(LONG_AFTER).await;
    is_listened_to(stage).await;
    push(stage, 4).await;
    let mut heard = Vec::new();
    while let Ok(Some(notification)) = timeout(Duration::from_secs(2), notifications.next()).await {
        if let Notification::ResourceUpdated { uri } = notification {
            heard.extend(uri.strip_prefix(URI).and_then(|number| number.parse::<u64>().ok()));
        }
    }
    heard
}

/// Waits a while for a standing stream.
async fn is_listened_to(stage: &Stage) {
    for _ in 0..100 {
        if stage.mcp.standing_streams() > 0 {
            return;
        }
        sleep(Duration::from_millis(100)).await;
    }
}

async fn push(stage: &Stage, number: u64) {
    let params = json!({ "uri": format!("{URI}{number}") });
    let message =
        json!({ "jsonrpc": "2.0", "method": "notifications/resources/updated", "params": params });
    // Whether a stalled stream took the message does not matter.
    let _ = timeout(Duration::from_secs(1), stage.mcp.push(message)).await;
}

pub(super) const URI: &str = "lab://";
/// The pause before the last message: longer than it takes to notice that an HTTP/2 connection is dead, and
/// to open the stream anew.
const LONG_AFTER: Duration = Duration::from_secs(60);
