//! Finding a server's era, and following it when it changes.

use std::sync::atomic::{AtomicU64, Ordering};

use ridethrough::Era;
use ridethrough::error::Kind;
use ridethrough::event::{Event, Seen};
use ridethrough::server::{Eras, Version};
use ridethrough_lab::{Protocol, Spoken, Times, When};

use crate::rig::{Rig, call, secs};

on_every_carrier! {
    async fn a_server_of_each_era_is_spoken_to_in_its_own(rig: Rig) {
        for (spoken, version) in [
            (Spoken::Legacy, Version::V2025_11_25),
            (Spoken::Modern, Version::V2026_07_28),
            (Spoken::Both, Version::V2026_07_28),
        ] {
            rig.mcp.speaks(spoken);
            let client = rig.builder().eras(Eras::Either).build().unwrap();

            let server = client.connect().await.unwrap();
            call(&client, "deploy", "a").await.unwrap();

            assert_eq!(server.version, version);
            assert_eq!(server.name().as_deref(), Some("ridethrough-lab"));
            client.close().await;
        }
        assert_eq!(rig.mcp.executions("deploy"), 3);
        assert_eq!(rig.count(When::method("initialize")), 1);
    }

    async fn an_upgrade_and_a_roll_back_between_two_calls_are_followed(rig: Rig) {
        let client = rig.builder().eras(Eras::Either).build().unwrap();
        let turns = [Spoken::Legacy, Spoken::Modern, Spoken::Legacy, Spoken::Both, Spoken::Modern];

        for (turn, spoken) in turns.into_iter().enumerate() {
            rig.mcp.speaks(spoken);
            call(&client, "deploy", &turn.to_string()).await.unwrap();
        }

        for turn in 0..turns.len() {
            assert_eq!(rig.mcp.executions_of("deploy", &turn.to_string()), 1, "{turn}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_in_trouble_is_not_taken_for_an_old_one() {
    let rig = Rig::over(Protocol::Http1);
    rig.mcp.speaks(Spoken::Modern);
    rig.mcp
        .rule(When::method("server/discover"), Times::Exactly(3), |ask| ask.status(503, &[], ""));
    let client = rig.builder().eras(Eras::Either).build().unwrap();

    call(&client, "deploy", "a").await.unwrap();

    assert_eq!(rig.count(When::method("initialize")), 0);
    assert_eq!(rig.count(When::method("server/discover")), 4);
}

#[tokio::test(start_paused = true)]
async fn a_client_that_is_pinned_says_so_and_never_asks() {
    let rig = Rig::over(Protocol::Http1);
    rig.mcp.speaks(Spoken::Legacy);
    let client = rig.builder().eras(Era::Modern).build().unwrap();

    call(&client, "deploy", "a").await.unwrap_err();

    assert_eq!(rig.count(When::method("initialize")), 0);
    assert_eq!(rig.mcp.executions("deploy"), 0);
}

#[tokio::test(start_paused = true)]
async fn every_era_that_is_found_is_told() {
    let rig = Rig::over(Protocol::Http1);
    rig.mcp.speaks(Spoken::Modern);
    let client = rig.builder().eras(Eras::Either).build().unwrap();
    let mut events = client.events();
    call(&client, "deploy", "a").await.unwrap();
    rig.mcp.speaks(Spoken::Legacy);
    call(&client, "deploy", "b").await.unwrap();
    client.close().await;

    let mut found = Vec::new();
    while let Some(event) = events.next().await {
        if let Seen::Event { event: Event::EraFound { era, .. }, .. } = event {
            found.push(era);
        }
    }

    assert_eq!(found, [Era::Modern, Era::Legacy]);
}

/// The server changes its era at any moment, under load: each call ends once, and none runs twice.
#[tokio::test(start_paused = true)]
async fn a_server_that_changes_its_era_under_load_runs_nothing_twice() {
    static CALLS: AtomicU64 = AtomicU64::new(0);
    let rig = Rig::over(Protocol::Http1);
    let client = rig.builder().eras(Eras::Either).build().unwrap();
    let callers = (0..20).map(|caller| {
        let client = client.clone();
        tokio::spawn(async move {
            let mut ended = Vec::new();
            for number in 0..25 {
                let key = format!("{caller}-{number}");
                let outcome = call(&client, "deploy", &key).await;
                CALLS.fetch_add(1, Ordering::Relaxed);
                ended.push((key, outcome));
                tokio::time::sleep(secs(1)).await;
            }
            ended
        })
    });
    let callers: Vec<_> = callers.collect();
    for turn in 0..60 {
        let spoken = [Spoken::Modern, Spoken::Legacy, Spoken::Both][turn % 3];
        rig.mcp.speaks(spoken);
        tokio::time::sleep(secs(1) / 2).await;
    }

    let mut answered = 0;
    for caller in callers {
        for (key, outcome) in caller.await.unwrap() {
            let runs = rig.mcp.executions_of("deploy", &key);
            match &outcome {
                Ok(_) => {
                    answered += 1;
                    assert_eq!(runs, 1, "{key}");
                }
                Err(error) => {
                    let may_have_run = error.call().is_none_or(|it| it.may_have_run());
                    assert!(runs == 0 || (runs == 1 && may_have_run), "{key}: {error}");
                    assert_ne!(error.call().map(|it| it.kind), Some(Kind::Cancelled));
                }
            }
        }
    }
    assert_eq!(CALLS.load(Ordering::Relaxed), 500);
    assert!(answered > 400, "{answered} of 500 were answered");
}
