//! Determinism: with time paused and the seed fixed, all runs are equal.

use ridethrough::event::Seen;
use ridethrough_lab::{Protocol, Times, When};

use crate::rig::{Rig, call, millis, paused, secs};

#[test]
fn the_same_seed_gives_the_same_run() {
    for protocol in [Protocol::Http1, Protocol::Http1Tls] {
        let first = run(protocol, 7);

        assert!(first.len() > 100, "something must have happened");
        assert_eq!(first, run(protocol, 7));
    }
}

#[test]
fn another_seed_gives_another_run() {
    assert_ne!(run(Protocol::Http1, 7), run(Protocol::Http1, 8));
}

/// Returns everything that client and server saw of a bad day.
fn run(protocol: Protocol, seed: u64) -> Vec<String> {
    paused(async {
        let rig = Rig::over(protocol);
        let client = rig.builder().seed(seed).build().unwrap();
        let mut events = client.events();
        a_bad_day(&rig, &client).await;
        client.close().await;

        let mut seen = Vec::new();
        while let Some(Seen::Event { at, event }) = events.try_next() {
            seen.push(format!("{at} {event:?}"));
        }
        let asked = rig.mcp.log().into_iter().map(|it| {
            format!("{:?} {} {:?} {:?}", it.at, it.connection, it.what, it.last_event_id)
        });
        seen.extend(asked);
        seen
    })
}

/// Makes many calls at once, through resets, refusals, a restart and lost sessions.
async fn a_bad_day(rig: &Rig, client: &ridethrough::Client) {
    rig.mcp.rule(When::tool("read"), Times::Exactly(10), |ask| async {
        ask.status(503, &[("retry-after", "1")], "").await;
    });
    rig.mcp.rule(When::tool("put"), Times::Exactly(10), |ask| async {
        let mut sse = ask.sse().await;
        sse.prime("1").await;
        sse.cut().await;
    });
    for round in 0..4 {
        let crowd = ["echo", "read", "put", "deploy"].into_iter().cycle().take(20);
        let calls = crowd.map(|tool| call(client, tool, "a"));
        let trouble = async {
            tokio::time::sleep(millis(150)).await;
            match round {
                1 => rig.server.reset_connections(),
                2 => {
                    rig.server.kill().await;
                    rig.mcp.forget_sessions();
                    tokio::time::sleep(secs(2)).await;
                    rig.server.restart().await.unwrap();
                }
                _ => {}
            }
        };
        tokio::join!(futures_util::future::join_all(calls), trouble);
    }
}
