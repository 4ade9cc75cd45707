//! Puts a client through scenarios.

use std::io;
use std::pin::pin;
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::future::{BoxFuture, Either, select};
use futures_util::stream;
use tokio::time::sleep;

use crate::contestant::{Contestant, Performance};
use crate::judge::Case;
use crate::scenario::Scenario;
use crate::score::Score;
use crate::stage::{Stage, StageTransport};

/// Puts a client through one scenario, over sockets.
///
/// # Errors
///
/// Fails if the system has no free port for the server.
pub async fn run(scenario: &Scenario, client: &dyn Contestant) -> io::Result<Score> {
    let stage = Stage::open(scenario, StageTransport::Sockets(0)).await?;
    Ok(run_on(&stage, scenario, client).await)
}

/// Puts a client through one scenario as [`run`] does, on a stage that is open already.
pub async fn run_on(stage: &Stage, scenario: &Scenario, client: &dyn Contestant) -> Score {
    let (lead, limit) = (client.lead(), scenario.limit());
    // Doubled, because a start may take longer than the measured one, and the limit is there to end clients
    // that hang, not those that are late.
    let performing = client.perform(stage.url(), &scenario.client, limit + 2 * lead);
    let performance = if lead.is_zero() {
        stage.begin();
        performing.await
    } else {
        begin_after(lead, stage, performing).await
    };
    let score = Case::new(scenario, performance, stage).judge(client.kind());
    stage.close().await;
    score
}

/// Begins the scenario when the client has started, unless it has ended by then.
async fn begin_after(
    lead: Duration,
    stage: &Stage,
    performing: BoxFuture<'_, Performance>,
) -> Performance {
    match select(performing, pin!(sleep(lead))).await {
        Either::Left((performance, _)) => performance,
        Either::Right(((), performing)) => {
            stage.begin();
            performing.await
        }
    }
}

/// Puts a client through many scenarios, this many at once, and reports each score as it comes.
///
/// # Errors
///
/// Fails if the system has no free port for a server.
pub async fn run_all(
    scenarios: &[&Scenario],
    client: &dyn Contestant,
    at_once: usize,
    mut tell: impl FnMut(&Score),
) -> io::Result<Vec<Score>> {
    let running = scenarios
        .iter()
        .enumerate()
        .map(|(place, scenario)| async move { (place, run(scenario, client).await) });
    let mut running = stream::iter(running).buffer_unordered(at_once.max(1));
    let mut scores = Vec::with_capacity(scenarios.len());
    while let Some((place, score)) = running.next().await {
        let score = score?;
        tell(&score);
        scores.push((place, score));
    }
    scores.sort_by_key(|(place, _)| *place);
    Ok(scores.into_iter().map(|(_, score)| score).collect())
}

/// Plays scenarios again that missed only time limits, one at a time and at most this many times, and reports
/// each new score; the last one counts.
///
/// Many scenarios at once, or other work, make a machine slow. Alone, a client that is late for reasons of
/// its own is late again.
///
/// # Errors
///
/// Fails if the system has no free port for a server.
pub async fn replay_late(
    scenarios: &[&Scenario],
    client: &dyn Contestant,
    times: u16,
    scores: &mut [Score],
    mut tell: impl FnMut(&Score),
) -> io::Result<()> {
    for (scenario, score) in scenarios.iter().zip(scores) {
        for _ in 0..times {
            if !score.is_only_late() {
                break;
            }
            *score = run(scenario, client).await?;
            tell(score);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;
    use std::sync::Mutex;

    use tokio::time::Instant;

    use super::*;
    use crate::adapter::Step;
    use crate::contestant::End;
    use crate::score::Verdict;

    #[tokio::test(start_paused = true)]
    async fn a_client_that_starts_slowly_is_waited_for() {
        let scenario = Scenario::read(DOWN_FOR_A_SECOND).unwrap();
        let stage = Stage::open(&scenario, StageTransport::Pipes).await.unwrap();

        let score = run_on(&stage, &scenario, &Slow).await;

        let up = score.journal.events.iter().find(|it| it.what == "up").unwrap();
        assert!((4000.0..4100.0).contains(&up.at_ms), "{up:?}");
        assert!((16_000.0..16_100.0).contains(&score.figures.elapsed_ms), "{:?}", score.figures);
    }

    #[tokio::test]
    async fn what_was_only_late_is_played_again_and_the_last_verdict_counts() {
        let late = Reports::of(&[LATE, LATE, QUICK]);

        let (verdict, plays) = played(&late, 2).await;

        assert_eq!((verdict, plays), (Verdict::Pass, 2));
    }

    #[tokio::test]
    async fn a_client_that_is_always_late_fails_all_the_same() {
        let late = Reports::of(&[LATE, LATE, LATE, QUICK]);

        let (verdict, plays) = played(&late, 2).await;

        assert_eq!((verdict, plays), (Verdict::Fail, 2));
    }

    #[tokio::test]
    async fn what_more_time_would_not_have_mended_is_not_played_again() {
        let wrong = Reports::of(&[WRONG_AND_LATE, QUICK]);

        let (verdict, plays) = played(&wrong, 2).await;

        assert_eq!((verdict, plays), (Verdict::Fail, 0));
    }

    /// Returns the verdict on a scenario whose step has ten seconds, and how many times it was played again.
    async fn played(client: &Reports, times: u16) -> (Verdict, usize) {
        let scenario = Scenario::read(&DOWN_FOR_A_SECOND.replace("99", "10, ok = true")).unwrap();
        let mut scores = [run(&scenario, client).await.unwrap()];
        let mut plays = 0;
        let tell = |_: &Score| plays += 1;
        replay_late(&[&scenario], client, times, &mut scores, tell).await.unwrap();
        (scores[0].verdict, plays)
    }

    /// Does nothing, and reports its only step with the next of these lines.
    struct Reports(Mutex<VecDeque<&'static str>>);

    impl Reports {
        fn of(lines: &[&'static str]) -> Self {
            Self(Mutex::new(lines.iter().copied().collect()))
        }
    }

    impl Contestant for Reports {
        fn perform<'a>(
            &'a self,
            _: &'a str,
            _: &'a [Step],
            _: Duration,
        ) -> BoxFuture<'a, Performance> {
            let line = self.0.lock().unwrap().pop_front().expect("a line for each play");
            let lines = vec![serde_json::from_str(line).unwrap()];
            Box::pin(async { Performance { lines, ..performance(End::Finished, 0.0) } })
        }
    }

    fn performance(end: End, elapsed_ms: f64) -> Performance {
        Performance {
            began: Instant::now(),
            heard: Vec::new(),
            lines: Vec::new(),
            garbage: Vec::new(),
            end,
            stderr: String::new(),
            said: Some(String::new()),
            elapsed_ms,
        }
    }

    const QUICK: &str = r#"{"step":0,"ok":true,"result":{},"elapsed_ms":9}"#;
    const LATE: &str = r#"{"step":0,"ok":true,"result":{},"elapsed_ms":10001}"#;
    const WRONG_AND_LATE: &str = r#"{"step":0,"ok":false,"error":"no","elapsed_ms":10001}"#;

    /// A client that takes 3 s to start, and then all the time that it has.
    struct Slow;

    impl Contestant for Slow {
        fn perform<'a>(
            &'a self,
            _: &'a str,
            _: &'a [Step],
            limit: Duration,
        ) -> BoxFuture<'a, Performance> {
            Box::pin(async move {
                let began = Instant::now();
                sleep(limit).await;
                Performance {
                    began,
                    ..performance(End::Stopped(limit), crate::journal::millis(limit))
                }
            })
        }

        fn lead(&self) -> Duration {
            Duration::from_secs(3)
        }
    }

    const DOWN_FOR_A_SECOND: &str = r#"
        id = "I1"
        title = "down at the start"
        why = "a server may come up after its clients"
        control = { mistake = "dials-once", breaks = "it ends" }
        limit_s = 10
        server = { starts = "down", up_after = 1.0 }
        client = [{ op = "initialize" }]
        [[must]]
        that = "it ends"
        step = { number = 0, within = 99 }
    "#;
}
