//! Broken streams and refusals between `rmcp`'s client and `rmcp`'s server.

use ridethrough::error::Kind;
use ridethrough::rmcp::Facts;
use tokio::time::Instant;

use crate::front::{Asked, Fault};
use crate::rig::{Polling, Rig, millis, post, secs, settle, tool};

const FOR_EVER: usize = usize::MAX;

/// A job hung for five hours on this: each accepted reconnect reset the client's count of attempts.
#[tokio::test(start_paused = true)]
async fn resumes_that_are_accepted_and_cut_for_ever_end_in_an_error_in_under_30_s() {
    let rig = Rig::new(Polling::NotAsked);
    let (service, _) = rig.served().await;
    rig.front.rule(post("tools/call"), Fault::CutAfter(1), 1);
    rig.front.rule(Asked::Resume, Fault::AcceptAndCut, FOR_EVER);
    let began = Instant::now();

    let error = service.call_tool(tool("steps")).await.unwrap_err();

    let facts = Facts::of(&error).unwrap();
    assert_eq!((facts.kind, facts.may_have_run), (Kind::Exhausted, true));
    assert!(began.elapsed() < secs(30), "{:?}", began.elapsed());
    assert_eq!(rig.front.count(&Asked::Resume), 8);
    assert_eq!(rig.workshop.runs("steps"), 1);
    assert!(error.to_string().contains("Look whether it took effect"), "{error}");
}

/// By default `rmcp`'s server sends `retry: 3000`, which asks to be polled: then only the call's deadline
/// ends it, and each poll waits as asked.
#[tokio::test(start_paused = true)]
async fn a_server_that_asks_to_be_polled_and_never_answers_is_polled_at_its_pace_until_the_deadline()
 {
    let rig = Rig::new(Polling::Asked);
    let (service, _) = rig.served().await;
    rig.front.rule(post("tools/call"), Fault::CutAfter(2), 1);
    rig.front.rule(Asked::Resume, Fault::AcceptAndCut, FOR_EVER);
    let began = Instant::now();

    let error = service.call_tool(tool("steps")).await.unwrap_err();

    let facts = Facts::of(&error).unwrap();
    assert_eq!((facts.kind, facts.may_have_run), (Kind::DeadlinePassed, true));
    // The last wait that the server asks for does not fit into the time that is left.
    assert!((590..=600).contains(&began.elapsed().as_secs()), "{:?}", began.elapsed());
    let polls = rig.front.times(&Asked::Resume);
    assert!(polls.windows(2).all(|pair| pair[1] - pair[0] >= secs(3)), "{polls:?}");
    assert!(polls.len() > 100, "{}", polls.len());
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_is_cut_is_resumed_and_the_call_gets_its_answer() {
    for polling in [Polling::Asked, Polling::NotAsked] {
        let rig = Rig::new(polling);
        let (service, guest) = rig.served().await;
        rig.front.rule(post("tools/call"), Fault::CutAfter(2), 1);

        let call = service.call_tool(tool("steps"));
        let (result, ()) = tokio::join!(call, rig.open_after_resumes(1));
        settle().await;

        let result = result.unwrap();
        assert_eq!(result.content[0].as_text().unwrap().text, "three steps");
        assert_eq!(rig.workshop.runs("steps"), 1);
        assert_eq!(guest.heard().len(), 3, "{:?}", guest.heard());
    }
}

/// One such answer to a resume broke a whole session in another client.
#[tokio::test(start_paused = true)]
async fn a_resume_that_is_refused_for_a_moment_costs_an_attempt_and_not_the_session() {
    for status in [429, 502, 503, 504] {
        let rig = Rig::new(Polling::NotAsked);
        let (service, _) = rig.served().await;
        rig.front.rule(post("tools/call"), Fault::CutAfter(1), 1);
        rig.front.rule(Asked::Resume, Fault::Refuse(status, None), 3);

        let call = service.call_tool(tool("steps"));
        let (result, ()) = tokio::join!(call, rig.open_after_resumes(4));

        let result = result.unwrap();
        assert_eq!(result.content[0].as_text().unwrap().text, "three steps", "{status}");
        assert_eq!(rig.front.count(&Asked::Resume), 4, "{status}");
        assert_eq!(rig.front.count(&post("initialize")), 1, "{status}");
        assert_eq!(rig.workshop.runs("steps"), 1, "{status}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_standing_stream_that_is_refused_for_a_moment_is_opened_later_and_disturbs_nobody() {
    for status in [429, 502, 503, 504] {
        let rig = Rig::new(Polling::NotAsked);
        rig.front.rule(Asked::Standing, Fault::Refuse(status, None), 3);
        let (service, guest) = rig.served().await;

        service.call_tool(tool("echo")).await.unwrap();
        tokio::time::sleep(secs(30)).await;
        service.call_tool(tool("change")).await.unwrap();
        settle().await;

        assert_eq!(rig.front.count(&Asked::Standing), 4, "{status}");
        assert_eq!(rig.front.count(&post("initialize")), 1, "{status}");
        assert_eq!(guest.heard(), ["tools changed"], "{status}");
    }
}

#[tokio::test(start_paused = true)]
async fn twenty_calls_in_a_row_use_one_connection_beside_the_standing_stream() {
    for polling in [Polling::Asked, Polling::NotAsked] {
        let rig = Rig::new(polling);
        let (service, _) = rig.served().await;

        for _ in 0..20 {
            service.call_tool(tool("echo")).await.unwrap();
        }

        assert_eq!(rig.dials(), 2);
        assert_eq!(rig.workshop.runs("echo"), 20);
    }
}

#[tokio::test(start_paused = true)]
async fn an_answer_counts_once_and_at_once_though_the_rest_of_its_stream_is_cut() {
    let rig = Rig::new(Polling::NotAsked);
    let (service, tally) = rig.tallied().await;
    rig.front.rule(post("tools/call"), Fault::CutAfter(1), 1);
    let began = Instant::now();

    service.call_tool(tool("echo")).await.unwrap();
    let took = began.elapsed();
    tokio::time::sleep(secs(60)).await;

    assert!(took < millis(10), "{took:?}");
    assert_eq!(rig.front.count(&Asked::Resume), 0);
    assert_eq!(rig.workshop.runs("echo"), 1);
    assert_eq!(tally.ends(), 2, "initialize and the call");
}

#[tokio::test(start_paused = true)]
async fn a_call_that_was_cut_without_a_way_back_is_in_doubt_and_says_so() {
    let rig = Rig::new(Polling::NotAsked);
    let (service, _) = rig.served().await;
    rig.front.rule(post("tools/call"), Fault::CutAfter(0), 1);

    let error = service.call_tool(tool("echo")).await.unwrap_err();

    let facts = Facts::of(&error).unwrap();
    assert_eq!((facts.kind, facts.may_have_run), (Kind::Interrupted, true));
    assert_eq!(facts.attempts, 1);
    assert!(rig.workshop.runs("echo") <= 1);
}

#[tokio::test(start_paused = true)]
async fn a_refusal_that_lasts_longer_than_the_call_says_when_to_come_back() {
    let rig = Rig::new(Polling::NotAsked);
    let (service, _) = rig.served().await;
    rig.front.rule(post("tools/call"), Fault::Refuse(429, Some(3600)), FOR_EVER);

    let error = service.call_tool(tool("echo")).await.unwrap_err();

    let facts = Facts::of(&error).unwrap();
    assert_eq!((facts.kind, facts.may_have_run), (Kind::Rejected { status: 429 }, false));
    assert_eq!(facts.retry_after, Some(secs(3600)));
}
