//! A server that forgets its sessions, dies or restarts under `rmcp`'s client.

use futures_util::future::join_all;
use ridethrough::error::Kind;
use ridethrough::rmcp::Facts;
use rmcp::ServiceExt;
use rmcp::service::ClientInitializeError;
use tokio::time::Instant;

use crate::rig::{Polling, Rig, post, secs, settle, tool};

#[tokio::test(start_paused = true)]
async fn ten_callers_that_find_their_session_forgotten_share_one_new_one() {
    let rig = Rig::new(Polling::Asked);
    let (service, tally) = rig.tallied().await;
    service.call_tool(tool("echo")).await.unwrap();
    rig.forget_sessions().await;

    let calls = (0..10).map(|_| service.call_tool(tool("echo")));
    for result in join_all(calls).await {
        result.unwrap();
    }
    settle().await;

    assert_eq!(rig.front.count(&post("initialize")), 2);
    assert_eq!(rig.workshop.clients(), ["guest", "guest"]);
    assert_eq!(rig.workshop.runs("echo"), 11);
    assert!(rig.front.count(&post("tools/call")) <= 21, "each is sent again once");
    assert_eq!(tally.ends(), 12, "initialize, and each call once");
}

/// The stream of a call ends when its session does: the call may have run, and is not repeated. Later calls
/// find a new session.
#[tokio::test(start_paused = true)]
async fn a_call_in_flight_whose_session_is_forgotten_is_in_doubt_and_the_next_succeeds() {
    let rig = Rig::new(Polling::NotAsked);
    let (service, _) = rig.served().await;
    let peer = service.peer().clone();
    let waiting = tokio::spawn(async move { peer.call_tool(tool("steps")).await });
    settle().await;
    rig.forget_sessions().await;

    let next = service.call_tool(tool("echo")).await;
    let error = waiting.await.unwrap().unwrap_err();

    next.unwrap();
    let facts = Facts::of(&error).unwrap();
    assert_eq!((facts.kind, facts.may_have_run), (Kind::Interrupted, true));
    assert_eq!(rig.workshop.runs("steps"), 1);
    assert_eq!(rig.front.count(&post("initialize")), 2);
}

#[tokio::test(start_paused = true)]
async fn a_call_made_while_the_server_is_down_is_answered_by_the_next_server() {
    let rig = Rig::new(Polling::Asked);
    let (service, _) = rig.served().await;
    service.call_tool(tool("echo")).await.unwrap();
    rig.kill();
    rig.restart_in(secs(2));
    let began = Instant::now();

    service.call_tool(tool("echo")).await.unwrap();

    assert!(began.elapsed() >= secs(2) && began.elapsed() < secs(4), "{:?}", began.elapsed());
    assert_eq!(rig.workshop.runs("echo"), 2);
    assert_eq!(rig.workshop.clients(), ["guest", "guest"]);
}

#[tokio::test(start_paused = true)]
async fn a_call_in_flight_on_a_killed_server_is_in_doubt_unless_its_tool_only_reads() {
    let rig = Rig::new(Polling::NotAsked);
    let (service, _) = rig.served().await;
    service.list_all_tools().await.unwrap();
    let unsafe_call = service.call_tool(tool("wait"));
    let safe_call = service.call_tool(tool("look"));
    let outage = async {
        settle().await;
        rig.kill();
        rig.restart_in(secs(2));
        tokio::time::sleep(secs(1)).await;
        // The tools of the dead server run in this process, and take one permit each.
        rig.workshop.gate.0.add_permits(3);
    };

    let (unsafe_call, safe_call, ()) = tokio::join!(unsafe_call, safe_call, outage);

    let facts = Facts::of(&unsafe_call.unwrap_err()).unwrap();
    assert_eq!((facts.kind, facts.may_have_run), (Kind::Interrupted, true));
    assert_eq!(safe_call.unwrap().content[0].as_text().unwrap().text, "waited");
    assert_eq!((rig.workshop.runs("wait"), rig.workshop.runs("look")), (1, 2));
}

/// Handlers depend on the server's messages, so a service stays connected without calls.
#[tokio::test(start_paused = true)]
async fn a_service_that_only_listens_finds_the_next_server_by_itself() {
    let rig = Rig::new(Polling::Asked);
    let (_service, _) = rig.served().await;
    settle().await;

    rig.kill();
    rig.restart_in(secs(2));
    tokio::time::sleep(secs(30)).await;

    assert_eq!(rig.workshop.clients(), ["guest", "guest"]);
    assert_eq!(rig.sessions().await, 1);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_is_not_there_is_an_error_with_facts_and_not_a_hang() {
    let rig = Rig::new(Polling::Asked);
    rig.kill();
    let began = Instant::now();

    let error = ().serve(rig.builder().build().unwrap()).await.unwrap_err();

    let facts = Facts::of(&error).unwrap();
    assert_eq!((facts.kind, facts.may_have_run), (Kind::Unreachable, false));
    assert_eq!(began.elapsed().as_secs(), 10);
    assert!(matches!(error, ClientInitializeError::JsonRpcError(_)), "{error}");
}
