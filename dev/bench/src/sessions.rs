//! Many sessions in one process: P9 (memory of an idle one) and P10 (the cost of a call among many).

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use serde::Deserialize;

use crate::contestant::{Contestant, Round, Running};
use crate::cost::{memory, number};
use crate::field::Field;
use crate::figure::{Figure, median};
use crate::pace::Pace;
use crate::progress::Progress;
use crate::server::Server;

/// Measures the memory for each of a thousand idle sessions with their standing streams: P9.
pub(crate) fn resting(field: &Field, pace: Pace) -> Result<Vec<Figure>> {
    let server = Server::start()?;
    let what = "resident memory per resting session, 1,000 sessions";
    let progress = Progress::new(format!("P9: {what}"), pace.rounds);
    let (mut ours, mut floor) = (Vec::new(), Vec::new());
    for round in 0..pace.rounds {
        progress.round(round);
        floor.push(kilobytes_each(&field.floor, &server)?);
        ours.push(kilobytes_each(&field.ours, &server)?);
    }
    let figure = Figure::less("P9", what, "KB").bars(40.0, 20.0);
    Ok(vec![figure.rounds(ours).floor(median(&floor))])
}

/// Measures the CPU time of a call over 3,000 sessions against 250: P10.
pub(crate) fn many(field: &Field, pace: Pace) -> Result<Vec<Figure>> {
    let server = Server::start()?;
    let what = "CPU per call over 3,000 sessions against 250";
    let progress = Progress::new(format!("P10: {what}"), pace.rounds);
    let mut few = with_sessions(&field.ours, &server, FEW)?.0;
    let mut many = with_sessions(&field.ours, &server, MANY)?.0;
    let mut ratios = Vec::new();
    // The first round is not counted, because buffers grow, and pages are touched, once.
    for round in 0..=pace.rounds {
        progress.round(round.saturating_sub(1));
        let spread = |running: &mut Running| running.ask::<Round>(&format!("spread {MANY}"));
        let (few, many) = (spread(&mut few)?, spread(&mut many)?);
        if round > 0 {
            ratios.push(many.cpu_us / few.cpu_us);
        }
    }
    Ok(vec![Figure::less("P10", what, "x").bars(1.3, 1.05).rounds(ratios)])
}

fn kilobytes_each(contestant: &Contestant, server: &Server) -> Result<f64> {
    let (_, grown) = with_sessions(contestant, server, RESTING)?;
    Ok(number(grown) / number(RESTING) / 1e3)
}

#[derive(Deserialize)]
struct Begun {
    sessions: u64,
}

/// Starts a contestant with this many sessions and their standing streams, and measures the memory that they
/// take.
fn with_sessions(contestant: &Contestant, server: &Server, count: u64) -> Result<(Running, u64)> {
    let mut running = contestant.start(&server.url("json", &contestant.name))?;
    let others = settled(server);
    // The first ones also load code and fill what all share.
    let _: Begun = running.ask(&format!("sessions {WARM}"))?;
    await_standing(server, others + WARM)?;
    let before = memory(running.id())?;
    let begun: Begun = running.ask(&format!("sessions {count}"))?;
    ensure!(begun.sessions == WARM + count, "it has {} sessions", begun.sessions);
    await_standing(server, others + WARM + count)?;
    let grown = memory(running.id())?.saturating_sub(before);
    Ok((running, grown))
}

/// Returns how many streams are open once those of ended processes are gone and new ones are there.
fn settled(server: &Server) -> u64 {
    let mut last = server.standing();
    loop {
        std::thread::sleep(CALM);
        let standing = server.standing();
        if standing == last {
            return standing;
        }
        last = standing;
    }
}

fn await_standing(server: &Server, wanted: u64) -> Result<()> {
    let began = Instant::now();
    while server.standing() < wanted {
        let standing = server.standing();
        ensure!(began.elapsed() < LONGEST, "only {standing} of {wanted} standing streams opened");
        std::thread::sleep(Duration::from_millis(5));
    }
    Ok(())
}

const WARM: u64 = 20;
const RESTING: u64 = 1_000;
const FEW: u64 = 250;
const MANY: u64 = 3_000;
/// How long streams that are being opened or closed take to settle.
const CALM: Duration = Duration::from_millis(200);
const LONGEST: Duration = Duration::from_secs(60);
