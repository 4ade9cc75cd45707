//! The end of a service: nothing of it is left, neither here nor on the server.

use ridethrough::error::Kind;
use ridethrough::rmcp::Facts;
use rmcp::ServiceExt;
use rmcp::service::QuitReason;
use tokio::runtime::Handle;

use crate::front::Asked;
use crate::rig::{Polling, Rig, secs, settle, tool};

#[tokio::test(start_paused = true)]
async fn a_service_that_is_cancelled_gives_its_session_back_and_leaves_nothing_running() {
    let rig = Rig::new(Polling::Asked);
    let (service, _) = rig.served().await;
    service.call_tool(tool("echo")).await.unwrap();

    let reason = service.cancel().await.unwrap();
    // `rmcp`'s server takes a few seconds to end a session of its own.
    tokio::time::sleep(secs(10)).await;

    assert!(matches!(reason, QuitReason::Cancelled));
    assert_eq!(rig.front.count(&Asked::Delete), 1);
    assert_eq!(rig.sessions().await, 0);
    assert_eq!(tasks(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_service_that_is_dropped_with_a_call_in_flight_leaves_nothing_running() {
    let rig = Rig::new(Polling::Asked);
    let (service, _) = rig.served().await;
    let peer = service.peer().clone();
    let call = tokio::spawn(async move { peer.call_tool(tool("wait")).await });
    settle().await;

    drop(service);
    call.await.unwrap().unwrap_err();
    tokio::time::sleep(secs(10)).await;

    assert_eq!(rig.sessions().await, 0);
    assert_eq!(tasks(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_service_that_never_began_leaves_nothing_running_though_a_clone_of_its_client_lives() {
    let rig = Rig::new(Polling::Asked);
    rig.kill();
    let client = rig.builder().build().unwrap();

    ().serve(client.clone()).await.unwrap_err();
    settle().await;

    let error = client.request("ping", ()).await.unwrap_err();
    assert_eq!(error.call().unwrap().kind, Kind::Closed);
    drop(client);
    settle().await;
    assert_eq!(tasks(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_client_that_is_closed_elsewhere_ends_its_calls_with_facts_and_then_the_service() {
    let rig = Rig::new(Polling::Asked);
    let client = rig.builder().build().unwrap();
    let service = ().serve(client.clone()).await.unwrap();
    let peer = service.peer().clone();
    let call = tokio::spawn(async move { peer.call_tool(tool("wait")).await });
    settle().await;

    client.close().await;
    let error = call.await.unwrap().unwrap_err();
    let reason = service.waiting().await.unwrap();

    let facts = Facts::of(&error).unwrap();
    assert_eq!((facts.kind, facts.may_have_run), (Kind::Closed, true));
    assert!(matches!(reason, QuitReason::Closed));
}

/// Returns how many tasks run beside the test itself.
fn tasks() -> usize {
    Handle::current().metrics().num_alive_tasks()
}
