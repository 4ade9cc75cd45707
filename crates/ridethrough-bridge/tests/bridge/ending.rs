//! The bridge ends, soon and without leaving anything behind.

use ridethrough_bridge::Ended;
use ridethrough_lab::{Mood, Times, When};
use tokio::time::Instant;

use crate::rig::{Rig, secs};

#[tokio::test(start_paused = true)]
async fn a_host_that_leaves_in_the_middle_of_a_call_ends_it_within_a_second() {
    let rig = Rig::new();
    let mut host = rig.greeted().await;
    rig.mcp.rule(When::tool("slow"), Times::Once, |ask| async {
        ask.sse().await.gone().await;
    });
    host.call(1, "slow").await;
    tokio::time::sleep(secs(1)).await;

    let left = Instant::now();
    host.finish_writing().await;
    let rest = host.rest().await;

    assert!(left.elapsed() < secs(1), "{:?}", left.elapsed());
    assert_eq!((host.ended().await, rest.len()), (Ended::HostLeft, 0));
    assert_eq!(rig.count(When::delete()), 1);
    tokio::time::sleep(secs(1)).await;
    assert_eq!(rig.server.open_connections(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_server_hears_that_nobody_waits_before_its_session_is_given_back() {
    let rig = Rig::new();
    let mut host = rig.greeted().await;
    rig.mcp.rule(When::tool("slow"), Times::Once, |ask| async {
        ask.sse().await.gone().await;
    });
    host.call(1, "slow").await;
    tokio::time::sleep(secs(1)).await;

    host.finish_writing().await;
    host.rest().await;

    let log = rig.mcp.log();
    let place = |when: When| log.iter().position(|entry| when.holds(entry));
    let told = place(When::notification("notifications/cancelled")).expect("it was told");
    assert!(told < place(When::delete()).expect("it was given back"));
}

#[tokio::test(start_paused = true)]
async fn a_host_that_leaves_while_the_server_is_silent_is_not_held_up() {
    let rig = Rig::new();
    let mut host = rig.greeted().await;
    rig.server.stall_connections();
    rig.server.set_mood(Mood::BlackHole);
    host.call(1, "echo").await;

    let left = Instant::now();
    host.finish_writing().await;
    host.rest().await;

    assert!(left.elapsed() < secs(1), "{:?}", left.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_script_that_is_piped_in_has_its_answers() {
    let rig = Rig::new();
    let mut host = rig.host();
    host.say(r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{}}"#).await;
    host.call(1, "echo").await;
    host.finish_writing().await;

    let rest = host.rest().await;

    assert_eq!(rest.len(), 2, "{rest:?}");
    assert_eq!(rig.count(When::delete()), 1);
}

#[tokio::test(start_paused = true)]
async fn a_host_that_reads_no_more_has_left() {
    let rig = Rig::new();
    let host = rig.greeted().await;

    let left = Instant::now();

    assert_eq!(host.left().await, Ended::HostLeft);
    assert!(left.elapsed() < secs(1));
    assert_eq!(rig.count(When::delete()), 1);
}

#[tokio::test(start_paused = true)]
async fn a_bridge_that_is_asked_to_stop_gives_its_session_back() {
    let rig = Rig::new();
    let mut host = rig.greeted().await;

    host.stop();

    assert_eq!(host.ended().await, Ended::Stopped);
    assert_eq!(rig.count(When::delete()), 1);
}
