//! Each fault twice, once over `rmcp`'s own transport and once over this client.
//!
//! These tests show why this feature exists. When a newer `rmcp` does better, the half that describes it is
//! removed.

use ridethrough::rmcp::Facts;
use rmcp::service::ServiceError;
use tokio::time::Instant;

use crate::front::{Asked, Fault};
use crate::rig::{Polling, Rig, post, secs, tool};
use crate::theirs;

#[tokio::test(start_paused = true)]
async fn a_restart_of_two_seconds_fails_a_call_over_rmcps_transport_and_not_over_ours() {
    let (here, there) = (Rig::new(Polling::Asked), Rig::new(Polling::Asked));
    let (ours, _) = here.served().await;
    let theirs = theirs::served(&there).await;
    for rig in [&here, &there] {
        rig.kill();
        rig.restart_in(secs(2));
    }

    let (over_ours, over_theirs) =
        tokio::join!(ours.call_tool(tool("echo")), theirs.call_tool(tool("echo")));

    assert!(over_ours.is_ok());
    assert!(matches!(over_theirs, Err(ServiceError::TransportSend(_))), "{over_theirs:?}");
    assert_eq!((here.workshop.runs("echo"), there.workshop.runs("echo")), (1, 0));
}

/// Over `rmcp`'s own transport no time passes between the resumes, and nothing ever ends them.
#[tokio::test(start_paused = true)]
async fn resumes_that_are_accepted_and_cut_end_over_ours_and_spin_over_rmcps_transport() {
    let (here, there) = (Rig::new(Polling::NotAsked), Rig::new(Polling::NotAsked));
    let (ours, _) = here.served().await;
    let theirs = theirs::served(&there).await;
    for rig in [&here, &there] {
        rig.front.rule(post("tools/call"), Fault::CutAfter(1), 1);
        rig.front.rule(Asked::Resume, Fault::AcceptAndCut, usize::MAX);
    }

    let over_ours = ours.call_tool(tool("steps")).await.unwrap_err();
    let began = Instant::now();
    tokio::select! {
        ended = theirs.call_tool(tool("steps")) => panic!("{ended:?}"),
        () = there.resumed(1000) => {}
    }

    assert!(Facts::of(&over_ours).unwrap().may_have_run);
    assert_eq!(here.front.count(&Asked::Resume), 8);
    assert!(began.elapsed() < secs(1), "{:?}", began.elapsed());
}
