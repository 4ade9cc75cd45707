//! The server's notifications and questions during a call.

use crate::bench::Bench;
use crate::partner::{ROOT, SAMPLED, Verdict, expect, story};

pub(super) async fn progress_is_told_and_grows(bench: Bench) -> Verdict {
    let partner = bench.partner()?;
    let question = bench.surface.slow("progress", 4, 50);

    let (call, mut progress) = partner.begin(question).with_progress();
    let watching = async {
        let mut seen = Vec::new();
        while let Some(step) = progress.next().await {
            seen.push((step.progress, step.total));
        }
        seen
    };
    let (result, seen) = tokio::join!(call.into_future(), watching);

    result.map_err(story)?;
    let steps = [1.0, 2.0, 3.0, 4.0].map(|step| (step, Some(4.0)));
    expect(seen == steps, || format!("told {seen:?}"))
}

pub(super) async fn changed_lists_are_told_on_the_standing_stream(bench: Bench) -> Verdict {
    let partner = bench.partner()?;
    partner.client.connect().await.map_err(story)?;
    let (question, changed) = bench.surface.change();

    partner.call(question).await?;

    partner.hears(|it| *it == changed).await
}

pub(super) async fn a_form_comes_back_with_its_defaults(bench: Bench) -> Verdict {
    let text = bench.partner()?.call(bench.surface.ask_elicitation()).await?;

    for default in bench.surface.defaults() {
        expect(text.contains(default), || format!("no `{default}` in `{text}`"))?;
    }
    Ok(())
}

pub(super) async fn a_request_for_sampling_is_answered(bench: Bench) -> Verdict {
    let question = bench.surface.ask_sampling("the sea", SAMPLED);

    let text = bench.partner()?.call(question).await?;

    expect(text.contains("the sea"), || format!("got `{text}`"))
}

pub(super) async fn a_request_for_roots_is_answered(bench: Bench) -> Verdict {
    bench.partner()?.call(bench.surface.ask_roots(ROOT)).await.map(|_| ())
}

pub(super) async fn a_cancelled_call_is_cancelled_in_the_server(bench: Bench) -> Verdict {
    let partner = bench.partner()?;
    let key = &bench.key("cancel");

    tokio::select! {
        began = bench.notes("began", key) => began?,
        outcome = partner.begin(bench.surface.wait(key)).into_future() => {
            return Err(format!("it ended before it was cancelled: {outcome:?}"));
        }
    }

    // Leaving the select has dropped the call, which cancels it.
    bench.notes("cancelled", key).await
}
