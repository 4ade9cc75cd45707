//! The era that one client found is kept for the next.

use std::sync::{Arc, Mutex};

use ridethrough::Era;
use ridethrough::event::{Event, Seen};
use ridethrough::server::{Eras, Version};
use ridethrough_lab::{Protocol, Spoken, When};

use crate::rig::{Rig, call, secs};

on_every_carrier! {
    async fn a_stateless_server_says_what_it_is_without_a_session(rig: Rig) {
        rig.mcp.speaks(Spoken::Modern);
        // A client with a pinned era begins without asking, and asks only to say what the server is.
        for eras in [Eras::Either, Eras::Only(Era::Modern)] {
            let client = rig.builder().eras(eras).build().unwrap();

            let server = client.connect().await.unwrap();

            assert_eq!(server.version, Version::V2026_07_28);
            assert_eq!(server.name().as_deref(), Some("ridethrough-lab"));
            assert!(server.can("tools"));
            assert!(call(&client, "echo", "a").await.is_ok());
        }
        assert_eq!(rig.count(When::method("initialize")), 0);
        assert_eq!(rig.count(When::method("server/discover")), 2);
    }
}

#[tokio::test(start_paused = true)]
async fn a_verdict_that_was_kept_saves_the_question_the_next_time() {
    let rig = Rig::over(Protocol::Http1);
    let kept = Arc::new(Mutex::new(Vec::new()));
    let keep = || {
        let kept = kept.clone();
        move |era| kept.lock().unwrap().push(era)
    };
    let first = rig.builder().eras(Eras::Either).on_era(keep()).build().unwrap();
    call(&first, "echo", "a").await.unwrap();
    assert_eq!(*kept.lock().unwrap(), [Era::Legacy]);

    let next = rig.builder().eras(Eras::Either).known_era(Era::Legacy, secs(10)).on_era(keep());
    call(&next.build().unwrap(), "echo", "b").await.unwrap();

    assert_eq!(rig.count(When::method("server/discover")), 1, "asked by the first one only");
    assert_eq!(kept.lock().unwrap().len(), 1, "nothing new was found");
}

#[tokio::test(start_paused = true)]
async fn a_server_that_was_stateless_and_wants_sessions_is_told() {
    let rig = Rig::over(Protocol::Http1);
    let builder = rig.builder().eras(Eras::Either).known_era(Era::Modern, secs(100_000));
    let client = builder.build().unwrap();
    let mut events = client.events();

    call(&client, "echo", "a").await.unwrap();

    let told: Vec<_> = std::iter::from_fn(|| events.try_next()).collect();
    let is_told = |seen: &Seen| matches!(seen, Seen::Event { event: Event::EraDowngraded, .. });
    assert!(told.iter().any(is_told), "{told:?}");
}

#[tokio::test(start_paused = true)]
async fn whoever_keeps_a_verdict_badly_ends_no_call() {
    let rig = Rig::over(Protocol::Http1);
    let keep = |_| panic!("a bug of the application");
    let client = rig.builder().eras(Eras::Either).on_era(keep).build().unwrap();

    assert!(call(&client, "echo", "a").await.is_ok());
}
