//! The server over HTTP+SSE, the transport of 2024-11-05, each in a process of the check's own.

use futures_util::future::join;

use super::local::{every_method, questions_and_progress};
use super::restarts::{ten_calls, ten_ends};
use crate::bench::Bench;
use crate::partner::{Verdict, expect, words};

pub(super) async fn over_http_sse_every_method_is_answered(bench: Bench) -> Verdict {
    let (_process, partner) = bench.old().await?;
    every_method(&bench, &partner).await?;
    partner.close().await;
    Ok(())
}

pub(super) async fn over_http_sse_questions_and_progress_find_their_way(bench: Bench) -> Verdict {
    let (_process, partner) = bench.old().await?;
    questions_and_progress(&bench, &partner).await?;
    partner.close().await;
    Ok(())
}

pub(super) async fn over_http_sse_ten_calls_under_kill_9_end_once_and_no_unsafe_one_runs_twice(
    bench: Bench,
) -> Verdict {
    let (mut process, mut partner) = bench.old().await?;
    partner.sessions();
    let (keys, calls) = ten_calls(&bench, &partner, "old-killed");

    let (ends, back) = join(calls, async {
        for key in &keys {
            bench.notes("ran", key).await?;
        }
        process.kill().await.map_err(words)?;
        process.come_back().await.map_err(words)
    })
    .await;

    back?;
    ten_ends(&bench, &keys, ends)?;
    let sessions = partner.sessions();
    partner.close().await;
    expect(sessions == 1, || format!("{sessions} streams were opened"))
}
