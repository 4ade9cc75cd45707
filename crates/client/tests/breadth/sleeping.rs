//! The computer sleeps and wakes up: connections may be dead without a sign.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use ridethrough::Client;
use ridethrough::event::{Event, Seen};
use ridethrough_lab::{Protocol, When};

use crate::rig::{Rig, millis, secs, settle};

#[tokio::test(start_paused = true)]
async fn after_a_sleep_the_server_is_asked_the_stream_opened_anew_and_the_gap_told() {
    let (rig, client, computer) = awake().await;
    client.keep_connected();
    settle(&client).await;
    let mut events = client.events();
    let pings = rig.count(When::method("ping"));

    computer.sleeps(secs(8 * 3600));
    tokio::time::sleep(millis(3100)).await;

    let told = std::iter::from_fn(|| events.try_next());
    let gap = secs(8 * 3600);
    assert_eq!(
        told.filter(
            |seen| matches!(seen, Seen::Event { event, .. } if *event == Event::Suspended { gap })
        )
        .count(),
        1
    );
    assert_eq!(rig.count(When::method("ping")), pings + 1);
    assert_eq!(rig.count(When::listen()), 2);
    tokio::time::sleep(secs(2)).await;
    assert_eq!(rig.mcp.standing_streams(), 1);
}

/// A connection that was idle through a night looks quiet: the server's close did not arrive.
#[tokio::test(start_paused = true)]
async fn after_a_sleep_no_request_goes_out_on_a_connection_that_rested() {
    for protocol in [Protocol::Http1, Protocol::Http2Tls] {
        let (rig, client, computer) = awake_over(protocol).await;
        client.ping().await.unwrap();
        let before = rig.server.connections();
        client.ping().await.unwrap();
        let reused = rig.server.connections();

        computer.sleeps(secs(3600));
        client.ping().await.unwrap();

        assert_eq!(reused, before, "{protocol:?}");
        assert!(rig.server.connections() > before, "{protocol:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_clock_that_is_nudged_changes_nothing() {
    let (rig, client, computer) = awake().await;
    let pings = rig.count(When::method("ping"));

    for _ in 0..10 {
        computer.sleeps(secs(1));
        tokio::time::sleep(secs(3)).await;
    }

    assert_eq!(rig.count(When::method("ping")), pings);
    assert_eq!(rig.count(When::listen()), 1);
    drop(client);
}

/// A client with nothing out has nothing to check, and must not wake the computer.
#[tokio::test(start_paused = true)]
async fn a_client_that_never_connected_says_nothing_after_a_sleep() {
    let rig = Rig::over(Protocol::Http1);
    let computer = Computer::default();
    let client = computer.client(&rig);
    let mut events = client.events();

    computer.sleeps(secs(3600));
    tokio::time::sleep(secs(60)).await;

    assert_eq!(events.try_next(), None);
    assert_eq!(rig.mcp.log().len(), 0);
}

/// A computer that sleeps when it is told to.
#[derive(Clone, Default)]
struct Computer(Arc<AtomicU64>);

impl Computer {
    fn sleeps(&self, time: Duration) {
        self.0.fetch_add(time.as_secs(), Ordering::Relaxed);
    }

    fn client(&self, rig: &Rig) -> Client {
        let asleep = self.0.clone();
        let asleep = move || Duration::from_secs(asleep.load(Ordering::Relaxed));
        rig.builder().sleep_clock(asleep).build().unwrap()
    }
}

async fn awake() -> (Rig, Client, Computer) {
    awake_over(Protocol::Http1).await
}

async fn awake_over(protocol: Protocol) -> (Rig, Client, Computer) {
    let rig = Rig::over(protocol);
    let computer = Computer::default();
    let client = computer.client(&rig);
    settle(&client).await;
    (rig, client, computer)
}
