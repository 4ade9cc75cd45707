//! A server that is a program: it has no address, so there is less to examine.

use std::time::Duration;

use ridethrough::machine::hints::OperatorHints;
use ridethrough::machine::replay::KnownTools;
use ridethrough::{Client, Json};
use ridethrough_terminal::stray_line::StrayLine;
use tokio::time::{Instant, timeout_at};

use crate::ended::Ended;
use crate::finding::Subject;
use crate::notes::{Notes, in_millis};
use crate::wire::{self, WATCH, millis};
use crate::{pace, tools};

/// Starts the program, sends it requests that change nothing, and ends it: all within the time of the check.
pub async fn examine(
    client: &Client,
    said: &OperatorHints,
    time: Duration,
    stray_line: &StrayLine,
    notes: &mut Notes,
) -> Ended {
    let last = Instant::now() + time;
    let ended = ask(client, said, last - wire::kept_for_goodbye(time), notes).await;
    let goodbye = last.min(Instant::now() + WATCH);
    // A program that does not leave by then is killed with its client.
    let _ = timeout_at(goodbye, client.close()).await;
    tell_stray_line(stray_line, notes);
    ended
}

/// Reports the first stray line. A person who cannot start the program by hand would never see it.
fn tell_stray_line(line: &StrayLine, notes: &mut Notes) {
    notes.findings.iter().for_each(|it| line.was_told(&it.what));
    if let Some(words) = line.take() {
        let advice =
            "let the program write such text to its stderr; if it listens on a port, check its URL";
        notes.add(Subject::Protocol.warning("stdout", words).advise(advice));
    }
}

async fn ask(client: &Client, said: &OperatorHints, ends: Instant, notes: &mut Notes) -> Ended {
    let began = Instant::now();
    match timeout_at(ends, client.connect()).await {
        Err(_) => {
            let finding = Subject::Reach.bad("start", "does not answer `initialize` in time");
            notes.add(finding.advise("start it by hand, and see what it says on stderr"));
            return Ended::Deadline;
        }
        Ok(Err(error)) => {
            let finding = Subject::Reach.bad("start", error.to_string());
            notes.add(finding.advise("start it by hand, and see what it says on stderr"));
            return Ended::Failed(error);
        }
        Ok(Ok(server)) => {
            let took = began.elapsed();
            notes.figures.initialize_ms = Some(in_millis(took));
            notes.server_name = server.name();
            notes.revision = Some(server.version.as_str().to_owned());
            notes.add(
                Subject::Reach.good("start", format!("starts, and answers in {}", millis(took))),
            );
            let name = server.name().unwrap_or_else(|| "it".to_owned());
            let what = format!("{name} speaks revision {}", server.version.as_str());
            notes.add(Subject::Protocol.good("revision", what));
        }
    }
    look_at_speed(client, ends, notes).await;
    look_at_tools(client, said, ends, notes).await;
    Ended::Done
}

/// Returns how long a request may take.
fn patience(ends: Instant) -> Duration {
    ends.saturating_duration_since(Instant::now()).clamp(SHORTEST, PATIENCE)
}

async fn look_at_speed(client: &Client, ends: Instant, notes: &mut Notes) {
    let mut times = Vec::new();
    for _ in 0..PINGS {
        let began = Instant::now();
        if let Err(error) = client.ping().timeout(patience(ends)).await {
            let because = error.to_string();
            return notes.add(Subject::Speed.unknown("latency", "how fast it answers", because));
        }
        times.push(began.elapsed());
    }
    pace::tell_times(times, notes);
}

async fn look_at_tools(client: &Client, said: &OperatorHints, ends: Instant, notes: &mut Notes) {
    match client.tools().timeout(patience(ends)).await {
        Err(error) => {
            let because = error.to_string();
            notes.add(Subject::Tools.unknown("list", "the tools", because));
        }
        Ok(listed) => {
            let listed: Vec<Json> = listed.into_iter().map(|it| it.json).collect();
            let texts: Vec<_> = listed.iter().map(Json::as_str).collect();
            let mut known = KnownTools::default();
            if let Ok(page) = Json::new(format!(r#"{{"tools":[{}]}}"#, texts.join(","))) {
                known.learn(&page, true);
            }
            tools::tell(&listed, &known, said, notes);
        }
    }
}

const PINGS: usize = 10;
const PATIENCE: Duration = Duration::from_secs(10);
/// The shortest time for a request: one without any time is refused as a mistake.
const SHORTEST: Duration = Duration::from_millis(1);

#[cfg(test)]
mod tests {
    use ridethrough::{ClientBuilder, Command};

    use super::*;

    /// Before this was fixed, the goodbye came on top: a check with 60 s took 61.
    #[tokio::test(start_paused = true)]
    async fn a_program_that_neither_answers_nor_leaves_takes_the_time_of_the_check() {
        let stays = Command::new("sh").args(["-c", "trap '' TERM; while :; do sleep 1; done"]);
        let once = ridethrough::RetryPolicy::never();
        let client = ClientBuilder::spawn(stays).retry_policy(once).build().unwrap();
        let (mut notes, time) = (Notes::default(), Duration::from_secs(60));
        let began = Instant::now();

        let hints = OperatorHints::default();
        let ended = examine(&client, &hints, time, &StrayLine::default(), &mut notes).await;

        assert!(matches!(ended, Ended::Deadline), "{ended:?}");
        assert!(began.elapsed() <= time + Duration::from_millis(1), "{:?}", began.elapsed());
    }
}
