//! A server that is killed and restarts after a second: P12.
//!
//! Calls begin while it is gone, so that none of them can have been sent. It restarts without its sessions.

use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use serde::Deserialize;

use crate::contestant::Running;
use crate::cost::{micros, number};
use crate::field::Field;
use crate::figure::Figure;
use crate::pace::Pace;
use crate::progress::Progress;
use crate::server::Server;

/// Measures when the first answer comes after the restart, and how many calls failed.
pub(crate) fn measure(field: &Field, pace: Pace) -> Result<Vec<Figure>> {
    let mut server = Server::start()?;
    let url = server.url("json", &field.ours.name);
    let mut ours = field.ours.start(&url)?;
    let progress = Progress::new("P12: an outage of a second", pace.rounds);
    let (mut times, mut failures) = (Vec::new(), Vec::new());
    for round in 0..pace.rounds {
        progress.round(round);
        ours.calls(40, 4)?;
        let seen = interrupt(server, &mut ours)?;
        server = seen.server;
        times.push(seen.first_ms);
        failures.push(seen.failed);
    }
    let all: f64 = failures.iter().sum();
    let first = "server back after 1 s: until the first answer";
    let failed = "calls that began in the outage and failed, of all rounds";
    Ok(vec![
        Figure::less("P12", first, "ms").bars(350.0, 150.0).rounds(times),
        Figure::less("P12", failed, "").bars(0.0, 0.0).rounds(vec![all]),
    ])
}

/// What was observed in one outage.
struct OutageSeen {
    server: Server,
    first_ms: f64,
    failed: f64,
}

#[derive(Deserialize)]
struct First {
    first: bool,
}

#[derive(Deserialize)]
struct Ended {
    answered: u64,
    failed: u64,
    reason: Option<String>,
}

fn interrupt(server: Server, ours: &mut Running) -> Result<OutageSeen> {
    let address = server.address();
    drop(server);
    let killed = Instant::now();
    ours.say(&format!("outage {CALLS}"))?;
    thread::sleep(OUTAGE.saturating_sub(killed.elapsed()));
    let server = Server::start_at(address)?;
    let listening = Instant::now();
    let First { first } = ours.read()?;
    let first_ms = micros(listening.elapsed()) / 1e3;
    let ended: Ended = ours.read()?;
    ensure!(first && ended.answered + ended.failed == CALLS, "calls are missing");
    if let Some(reason) = ended.reason {
        eprintln!("warning: {} calls failed, one because: {reason}", ended.failed);
    }
    Ok(OutageSeen { server, first_ms, failed: number(ended.failed) })
}

const CALLS: u64 = 20;
const OUTAGE: Duration = Duration::from_secs(1);
