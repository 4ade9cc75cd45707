//! A host on the server's own SDK, with the bridge between them: neither end is ours.

use std::time::Duration;

use serde_json::json;
use tokio::time::{Instant, sleep};

use super::local::running;
use crate::bench::Bench;
use crate::deeds::has;
use crate::partner::{ROOT, Verdict, expect, words};
use ridethrough_testkit::process::signal;

pub(super) async fn through_the_bridge_a_host_finds_tools_resources_and_prompts(
    bench: Bench,
) -> Verdict {
    let mut host = bench.host().await?;

    host.finds_all(bench.surface).await?;
    host.calls(bench.surface.echo("through the bridge")).await?;
    bench.leave(host);
    Ok(())
}

pub(super) async fn through_the_bridge_progress_and_log_messages_reach_a_host(
    bench: Bench,
) -> Verdict {
    let mut host = bench.host().await?;

    host.does(json!({ "do": "level", "level": "warning" })).await?;
    host.hears_progress(bench.surface, &bench.key("host-progress")).await?;
    host.hears_logs(bench.surface).await?;
    bench.leave(host);
    Ok(())
}

pub(super) async fn through_the_bridge_a_host_answers_what_the_server_asks(
    bench: Bench,
) -> Verdict {
    let mut host = bench.host().await?;

    host.fills_in_a_form(bench.surface).await?;
    host.samples(bench.surface).await?;
    host.calls(bench.surface.ask_roots(ROOT)).await?;
    bench.leave(host);
    Ok(())
}

pub(super) async fn through_the_bridge_a_call_that_a_host_cancels_is_cancelled_in_the_server(
    bench: Bench,
) -> Verdict {
    let mut host = bench.host().await?;
    let key = &bench.key("host-cancel");

    let call = host.begin_call(&bench.surface.wait(key)).await?;
    bench.notes("began", key).await?;
    host.does(json!({ "do": "cancel", "of": call })).await?;

    bench.notes("cancelled", key).await?;
    host.error(call).await?;
    host.calls(bench.surface.echo("after")).await?;
    bench.leave(host);
    Ok(())
}

pub(super) async fn through_the_bridge_changed_lists_are_told_to_a_host(bench: Bench) -> Verdict {
    let mut host = bench.host().await?;

    // A notification before the bridge listens is lost.
    let began = Instant::now();
    while host.told("notifications/tools/list_changed").is_empty() {
        expect(began.elapsed() < Duration::from_secs(10), || "nothing was told".to_owned())?;
        host.calls(bench.surface.change().0).await?;
        sleep(Duration::from_millis(100)).await;
    }
    bench.leave(host);
    Ok(())
}

pub(super) async fn through_the_bridge_an_update_of_a_subscribed_resource_reaches_a_host(
    bench: Bench,
) -> Verdict {
    let mut host = bench.host().await?;
    let (resource, _) = bench.surface.listed();

    host.does(json!({ "do": "subscribe", "uri": resource })).await?;
    host.calls(bench.surface.touch()).await?;

    let told = host.hears("notifications/resources/updated").await?;
    expect(told["uri"] == resource, || format!("told {told}"))?;
    bench.leave(host);
    Ok(())
}

pub(super) async fn through_the_bridge_a_host_does_not_notice_that_the_session_is_lost(
    bench: Bench,
) -> Verdict {
    let mut process = bench.process().await?;
    let mut host = bench.host_of(&process.url()).await?;
    host.does(json!({ "do": "level", "level": "warning" })).await?;
    host.calls(bench.surface.echo("before")).await?;

    process.kill().await.map_err(words)?;
    process.come_back().await.map_err(words)?;

    host.calls(bench.surface.count("host-lost", 0)).await?;
    bench.ran_once("host-lost")?;
    host.hears_logs(bench.surface).await
}

pub(super) async fn through_the_bridge_a_host_that_starts_before_the_server_works_when_it_is_there(
    bench: Bench,
) -> Verdict {
    let mut process = bench.process().await?;
    process.kill().await.map_err(words)?;
    let mut host = bench.host_of(&process.url()).await?;

    let call = host.begin_call(&bench.surface.echo("early")).await?;
    process.come_back().await.map_err(words)?;

    host.hears("notifications/tools/list_changed").await?;
    let early = host.answer(call).await?;
    expect(early["text"] == "early", || format!("the call that waited: {early}"))?;
    let tools = host.does(json!({ "do": "list", "what": "tools" })).await?;
    has(&tools, "echo")
}

pub(super) async fn through_the_bridge_a_call_that_may_have_run_says_so_to_a_host(
    bench: Bench,
) -> Verdict {
    let mut process = bench.process().await?;
    let mut host = bench.host_of(&process.url()).await?;
    let key = &bench.key("host-killed");

    let call = host.begin_call(&bench.surface.count(key, 5000)).await?;
    bench.notes("ran", key).await?;
    process.kill().await.map_err(words)?;
    process.come_back().await.map_err(words)?;

    let answer = host.answer(call).await?;
    expect(answer["text"].to_string().contains("may have run"), || format!("it says {answer}"))?;
    bench.ran_once(key)?;
    host.calls(bench.surface.echo("after")).await.map(drop)
}

pub(super) async fn through_the_bridge_nothing_is_left_after_a_host_has_closed(
    bench: Bench,
) -> Verdict {
    let mut host = bench.host().await?;
    host.calls(bench.surface.echo("here")).await?;
    let bridge = running(&host.bridge_id)?;

    host.close().await?;

    // Only the system can tell its end from that of the host.
    for _ in 0..100 {
        if !signal("0", &bridge) {
            return Ok(());
        }
        sleep(Duration::from_millis(20)).await;
    }
    Err("the bridge still runs".to_owned())
}
