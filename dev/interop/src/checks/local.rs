//! The server as a child process of the client, over stdin and stdout.

use std::path::Path;

use futures_util::future::join;

use super::restarts::{ten_calls, ten_ends};
use crate::bench::Bench;
use crate::partner::{Partner, ROOT, SAMPLED, Verdict, expect, story, words};
use ridethrough_testkit::process::signal;

pub(super) async fn over_stdio_every_method_is_answered(bench: Bench) -> Verdict {
    let (partner, _) = bench.local()?;
    every_method(&bench, &partner).await?;
    partner.close().await;
    Ok(())
}

/// Calls one method after the other, and checks what each returns.
pub(super) async fn every_method(bench: &Bench, partner: &Partner) -> Verdict {
    let client = &partner.client;
    let (resource, said) = bench.surface.listed();
    let (prompt, arguments, filled_in) = bench.surface.prompt();

    client.ping().await.map_err(story)?;
    let tools = client.tools().await.map_err(story)?;
    partner.call(bench.surface.echo("hello")).await?;
    let listed = client.resources().await.map_err(story)?;
    let read = client.read_resource(resource).await.map_err(story)?;
    let prompt = client.get_prompt(prompt, arguments).await.map_err(story)?;

    expect(tools.iter().any(|tool| tool.name == "echo"), || "no tool `echo`".to_owned())?;
    expect(listed.iter().any(|it| it.uri == resource), || format!("no `{resource}`"))?;
    expect(read.json.as_str().contains(said), || format!("`{resource}` says something else"))?;
    let is_filled_in = prompt.json.as_str().contains(filled_in);
    expect(is_filled_in, || "the prompt is not filled in".to_owned())
}

pub(super) async fn over_stdio_questions_and_progress_find_their_way(bench: Bench) -> Verdict {
    let (partner, _) = bench.local()?;
    questions_and_progress(&bench, &partner).await?;
    partner.close().await;
    Ok(())
}

/// Checks each kind of question, and a call with progress.
pub(super) async fn questions_and_progress(bench: &Bench, partner: &Partner) -> Verdict {
    partner.call(bench.surface.ask_elicitation()).await?;
    partner.call(bench.surface.ask_sampling("the sea", SAMPLED)).await?;
    partner.call(bench.surface.ask_roots(ROOT)).await?;
    let (call, mut progress) = partner.begin(bench.surface.slow("local", 4, 50)).with_progress();
    let watching = async {
        let mut steps = 0;
        while progress.next().await.is_some() {
            steps += 1;
        }
        steps
    };
    let (result, steps) = join(call.into_future(), watching).await;

    result.map_err(story)?;
    expect(steps == 4, || format!("{steps} steps were told"))
}

pub(super) async fn over_stdio_ten_calls_under_kill_9_end_once_and_no_unsafe_one_runs_twice(
    bench: Bench,
) -> Verdict {
    let (mut partner, id) = bench.local()?;
    partner.client.connect().await.map_err(story)?;
    partner.sessions();
    let (keys, calls) = ten_calls(&bench, &partner, "local-killed");

    let (ends, killed) = join(calls, async {
        for key in &keys {
            bench.notes("ran", key).await?;
        }
        kill(&id)
    })
    .await;

    killed?;
    ten_ends(&bench, &keys, ends)?;
    let sessions = partner.sessions();
    partner.close().await;
    expect(sessions == 1, || format!("{sessions} servers were started"))
}

pub(super) async fn over_stdio_nothing_is_left_after_closing(bench: Bench) -> Verdict {
    let (partner, id) = bench.local()?;
    partner.call(bench.surface.echo("here")).await?;
    let number = running(&id)?;

    close(partner).await?;

    expect(!signal("0", &number), || "the server still runs".to_owned())
}

async fn close(partner: Partner) -> Verdict {
    let closing = tokio::time::timeout(std::time::Duration::from_secs(6), partner.close());
    closing.await.map_err(|_| "closing took longer than 6 s".to_owned())
}

/// Returns the id of the process that runs.
pub(super) fn running(id: &Path) -> Verdict<String> {
    let number = std::fs::read_to_string(id).map_err(words)?.trim().to_owned();
    expect(signal("0", &number), || "it does not run".to_owned())?;
    Ok(number)
}

fn kill(id: &Path) -> Verdict {
    let number = running(id)?;
    expect(signal("KILL", &number), || "the server cannot be killed".to_owned())
}
