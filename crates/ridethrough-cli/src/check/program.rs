//! A server that is a program: it has no address, so that there is less to look at.

use std::time::Duration;

use ridethrough::machine::replay::KnownTools;
use ridethrough::{Client, Json};
use tokio::time::{Instant, timeout};

use super::finding::Subject;
use super::wire::millis;
use super::{Notes, in_millis, pace, tools};
use crate::exit::Exit;

/// Starts it, and asks it what changes nothing.
pub(super) async fn examine(
    client: &Client,
    marked: &[String],
    time: Duration,
    notes: &mut Notes,
) -> Exit {
    let began = Instant::now();
    match timeout(time, client.connect()).await {
        Err(_) => {
            let finding = Subject::Reach.bad("start", "does not answer `initialize` in time");
            notes.add(finding.advise("start it by hand, and see what it says on stderr"));
            return Exit::Deadline;
        }
        Ok(Err(error)) => {
            let finding = Subject::Reach.bad("start", error.to_string());
            notes.add(finding.advise("start it by hand, and see what it says on stderr"));
            return Exit::of(&error);
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
    look_at_speed(client, notes).await;
    look_at_tools(client, marked, notes).await;
    Exit::Done
}

async fn look_at_speed(client: &Client, notes: &mut Notes) {
    let mut times = Vec::new();
    for _ in 0..PINGS {
        let began = Instant::now();
        if let Err(error) = client.ping().deadline(PATIENCE).await {
            let because = error.to_string();
            return notes.add(Subject::Speed.unknown("latency", "how fast it answers", because));
        }
        times.push(began.elapsed());
    }
    pace::tell_times(times, notes);
}

async fn look_at_tools(client: &Client, marked: &[String], notes: &mut Notes) {
    match client.tools().deadline(PATIENCE).await {
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
            tools::tell(&listed, &known, marked, notes);
        }
    }
}

const PINGS: usize = 10;
const PATIENCE: Duration = Duration::from_secs(10);
