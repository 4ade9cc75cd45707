//! A host on the server's own SDK, with the bridge between them: neither end is ours.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use super::local::running;
use crate::bench::Bench;
use crate::host::Host;
use crate::partner::{ROOT, SAMPLED, Verdict, expect, words};
use ridethrough_testkit::process::signal;

pub(super) async fn through_the_bridge_a_host_finds_tools_resources_and_prompts(
    bench: Bench,
) -> Verdict {
    let mut host = bench.host().await?;
    let (resource, said) = bench.surface.listed();
    let (prompt, arguments, filled_in) = bench.surface.prompt();

    let tools = host.does(json!({ "do": "list", "what": "tools" })).await?;
    let resources = host.does(json!({ "do": "list", "what": "resources" })).await?;
    let prompts = host.does(json!({ "do": "list", "what": "prompts" })).await?;
    let read = host.does(json!({ "do": "read", "uri": resource })).await?;
    let filled =
        host.does(json!({ "do": "prompt", "name": prompt, "arguments": arguments })).await?;
    host.calls(bench.surface.echo("through the bridge")).await?;

    for tool in bench.surface.tools() {
        has(&tools, tool)?;
    }
    has(&resources, resource)?;
    has(&prompts, prompt)?;
    expect(read == said, || format!("`{resource}` says {read}"))?;
    expect(filled == filled_in, || format!("the prompt is {filled}"))?;
    bench.leave(host);
    Ok(())
}

pub(super) async fn through_the_bridge_progress_and_log_messages_reach_a_host(
    bench: Bench,
) -> Verdict {
    let mut host = bench.host().await?;

    host.does(json!({ "do": "level", "level": "warning" })).await?;
    host.calls(bench.surface.slow(&bench.key("host-progress"), 4, 50)).await?;
    host.calls(bench.surface.log()).await?;

    let steps: Vec<_> =
        host.told("progress").iter().map(|it| it["progress"].as_f64().unwrap_or(-1.0)).collect();
    // An SDK that reads the last step together with the answer does not report it (TypeScript, version 1).
    let all = [1.0, 2.0, 3.0, 4.0];
    expect(steps.len() >= 3 && all.starts_with(&steps), || format!("told {steps:?}"))?;
    logs_are_from_warning_on(&host).await?;
    bench.leave(host);
    Ok(())
}

pub(super) async fn through_the_bridge_a_host_answers_what_the_server_asks(
    bench: Bench,
) -> Verdict {
    let mut host = bench.host().await?;

    let form = host.calls(bench.surface.ask_elicitation()).await?;
    let sampled = host.calls(bench.surface.ask_sampling("the sea", SAMPLED)).await?;
    host.calls(bench.surface.ask_roots(ROOT)).await?;

    for default in bench.surface.defaults() {
        expect(form.contains(default), || format!("no `{default}` in `{form}`"))?;
    }
    expect(sampled.contains("the sea"), || format!("got `{sampled}`"))?;
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
    host.calls(bench.surface.log()).await?;
    logs_are_from_warning_on(&host).await
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

fn has(list: &Value, name: &str) -> Verdict {
    let names = list.as_array().map(Vec::as_slice).unwrap_or_default();
    expect(names.iter().any(|it| it == name), || format!("no `{name}` in {list}"))
}

/// Checks that log messages came, and none below the level that was asked for.
async fn logs_are_from_warning_on(host: &Host) -> Verdict {
    host.hears("notifications/message").await?;
    let levels: Vec<_> =
        host.told("notifications/message").iter().map(|it| it["level"].clone()).collect();
    let is_wanted = |level: &Value| level == "warning" || level == "error";
    expect(levels.iter().all(is_wanted), || format!("told {levels:?}"))
}
