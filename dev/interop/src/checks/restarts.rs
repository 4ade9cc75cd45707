//! Servers that end and restart, each a process of the check's own.

use std::time::Duration;

use futures_util::future::{join, join_all};
use ridethrough::Error;
use ridethrough::model::ToolResult;
use tokio::time::{Instant, sleep};

use crate::bench::Bench;
use crate::partner::{Partner, Verdict, expect, story, words};

pub(super) async fn a_call_after_a_restart_is_answered_on_one_new_session(bench: Bench) -> Verdict {
    let (mut process, mut partner) = bench.own().await?;
    partner.call(bench.surface.echo("before")).await?;
    partner.sessions();

    process.kill().await.map_err(words)?;
    process.come_back().await.map_err(words)?;

    answered_once(&bench, &mut partner, "expired").await
}

pub(super) async fn a_call_after_a_graceful_restart_is_answered_on_one_new_session(
    bench: Bench,
) -> Verdict {
    let (mut process, mut partner) = bench.own().await?;
    partner.call(bench.surface.echo("before")).await?;
    partner.sessions();

    let ended = process.terminate().await.map_err(words)?;
    process.come_back().await.map_err(words)?;

    expect(ended, || "the server did not end within 5 s of SIGTERM".to_owned())?;
    answered_once(&bench, &mut partner, "graceful").await
}

/// Checks that an echo is answered, in one more session, and that an unsafe call is answered and runs once.
async fn answered_once(bench: &Bench, partner: &mut Partner, key: &str) -> Verdict {
    partner.call(bench.surface.echo("after")).await?;
    let sessions = partner.sessions();
    expect(sessions == 1, || format!("{sessions} sessions were made"))?;
    partner.call(bench.surface.count(key, 0)).await?;
    bench.ran_once(key)
}

pub(super) async fn calls_that_wait_for_a_dead_server_are_answered_when_it_is_back(
    bench: Bench,
) -> Verdict {
    let (mut process, partner) = bench.own().await?;
    process.kill().await.map_err(words)?;

    let calls = join_all((0..10).map(|number| {
        let partner = &partner;
        let question = bench.surface.echo(&format!("call {number}"));
        async move { partner.call(question).await }
    }));
    let (answers, back) = join(calls, async {
        sleep(Duration::from_millis(300)).await;
        process.come_back().await
    })
    .await;

    back.map_err(words)?;
    answers.into_iter().collect::<Verdict<Vec<_>>>().map(|_| ())
}

pub(super) async fn ten_calls_under_kill_9_end_once_and_no_unsafe_one_runs_twice(
    bench: Bench,
) -> Verdict {
    let (mut process, partner) = bench.own().await?;
    let (keys, calls) = ten_calls(&bench, &partner, &bench.key("killed"));

    let (ends, back) = join(calls, async {
        for key in &keys {
            bench.notes("ran", key).await?;
        }
        process.kill().await.map_err(words)?;
        process.come_back().await.map_err(words)?;
        Verdict::Ok(Instant::now())
    })
    .await;
    let since_back = back?.elapsed();

    ten_ends(&bench, &keys, ends)?;
    expect(since_back < Duration::from_secs(10), || format!("it took {since_back:?} more"))
}

/// Begins five calls that must not run twice, with their keys, and five that may.
pub(super) fn ten_calls(
    bench: &Bench,
    partner: &Partner,
    name: &str,
) -> (Vec<String>, impl Future<Output = TenEnds> + use<>) {
    let keys: Vec<_> = (0..5).map(|number| format!("{name}-{number}")).collect();
    let unsafe_calls = join_all(
        keys.iter().map(|key| partner.begin(bench.surface.count(key, 1500)).into_future()),
    );
    let safe_calls = join_all((0..5).map(|number| {
        let key = format!("{name}-safe-{number}");
        partner.begin(bench.surface.slow(&key, 3, 500)).idempotent().into_future()
    }));
    (keys, join(unsafe_calls, safe_calls))
}

/// How the unsafe and the safe ones ended.
pub(super) type TenEnds = (Vec<RestartEnd>, Vec<RestartEnd>);
type RestartEnd = Result<ToolResult, Error>;

/// Checks the ends of ten calls whose server died: the unsafe ones are in doubt, the safe ones answered.
pub(super) fn ten_ends(bench: &Bench, keys: &[String], ends: TenEnds) -> Verdict {
    let (unsafe_ends, safe_ends) = ends;
    for (key, end) in keys.iter().zip(unsafe_ends) {
        unsafe_end(bench, key, end)?;
    }
    safe_ends.into_iter().try_for_each(|end| end.map(drop).map_err(story))
}

/// Checks a call that had begun when its server died: it says that it may have run, and ran once.
fn unsafe_end(bench: &Bench, key: &str, end: RestartEnd) -> Verdict {
    bench.ran_once(key)?;
    match end {
        Ok(result) => Err(format!("it was answered by a dead server: {}", result.text())),
        Err(error) => expect(error.may_have_run(), || story(error)),
    }
}
