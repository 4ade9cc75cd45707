//! The bridge against the floor bridge: P7 (time and CPU of a call) and P8 (start and memory).
//!
//! All run side by side against one server and take turns, so that other load on this machine affects all of
//! them equally.

use anyhow::{Context, Result};
use ridethrough_testkit::place::{ScratchFolder, beside};

use crate::contestant::Contestant;
use crate::cost::{cpu, memory, micros, number};
use crate::field::Field;
use crate::figure::{Figure, median};
use crate::pace::Pace;
use crate::process::Process;
use crate::progress::Progress;
use crate::server::Server;

/// Measures all figures of the bridge.
pub(crate) fn measure(field: &Field, pace: Pace) -> Result<Vec<Figure>> {
    let home = ScratchFolder::new("bench")?;
    let floor = Contestant::new("floor-bridge", beside("floor-bridge")?);
    let mut ours = Contestant::new("bridge", beside("ridethrough")?);
    ours.args = vec!["bridge".to_owned()];
    let all: Vec<_> = [floor, ours].into_iter().chain(field.bridges.iter().cloned()).collect();
    let stage = Stage { server: Server::start()?, home, all };
    let mut figures = Vec::new();
    for (way, answers) in [("json", "JSON"), ("sse", "SSE")] {
        figures.extend(stage.calls(way, answers, pace)?);
    }
    figures.extend(stage.standing(pace)?);
    Ok(figures)
}

/// The server, and the bridges to it: the floor first and ours second.
struct Stage {
    server: Server,
    home: ScratchFolder,
    all: Vec<Contestant>,
}

impl Stage {
    fn start(&self, bridge: &Contestant, way: &str) -> Result<(Process, f64)> {
        let url = self.server.url(way, &bridge.name);
        let (process, took) = Process::start(bridge, &url, self.home.path())?;
        Ok((process, micros(took) / 1e3))
    }

    fn calls(&self, way: &str, answers: &str, pace: Pace) -> Result<Vec<Figure>> {
        let mut playing = Vec::new();
        for (place, bridge) in self.all.iter().enumerate() {
            // Warms up: buffers grow, and pages are touched, once.
            let warm = |(mut process, _): (Process, f64)| {
                round(&mut process, bridge.share(pace.calls / 4))?;
                Ok(process)
            };
            match self.start(bridge, way).and_then(warm) {
                Ok(process) => playing.push((bridge, process, Vec::new())),
                Err(error) if place < 2 => return Err(error),
                Err(error) => eprintln!("warning: {} is left out: {error:#}", bridge.name),
            }
        }
        let progress = Progress::new(format!("P7: bridge calls, {answers} answers"), pace.rounds);
        for number in 0..pace.rounds {
            progress.round(number);
            for (bridge, process, rounds) in &mut playing {
                rounds.push(round(process, bridge.share(pace.calls / 2))?);
            }
        }
        let all: Vec<_> = playing.into_iter().map(|(it, _, rounds)| (&*it.name, rounds)).collect();
        let p50 = Figure::less("P7", format!("bridge p50, {answers} answers"), "x");
        let cpu = Figure::less("P7", format!("bridge CPU per call, {answers} answers"), "x");
        let bars = |figure: Figure| figure.bars(1.5, 1.2);
        Ok(vec![
            against_floor(bars(p50), &all, |(time, _)| time),
            against_floor(bars(cpu), &all, |(_, cost)| cost),
        ])
    }

    /// Measures the time from start to the answered `initialize`, and the memory of an idle bridge that has
    /// worked.
    fn standing(&self, pace: Pace) -> Result<Vec<Figure>> {
        let mut seen: Vec<_> = self.all.iter().map(|it| (&*it.name, Vec::new())).collect();
        let progress = Progress::new("P8: bridge start and memory", pace.rounds);
        for number in 0..pace.rounds {
            progress.round(number);
            for (place, (bridge, (_, rounds))) in self.all.iter().zip(&mut seen).enumerate() {
                // An interpreter takes seconds to start, so five measurements are enough.
                if bridge.fewer > 1 && number >= 5 {
                    continue;
                }
                match self.started(bridge) {
                    Ok(round) => rounds.push(round),
                    Err(error) if place < 2 => return Err(error),
                    Err(_) => {}
                }
            }
        }
        let start = Figure::less("P8", "bridge, start to answered initialize", "ms");
        let size = Figure::less("P8", "bridge, resident memory after 100 calls", "MB");
        Ok(vec![
            with_floor(start.bars(60.0, 15.0), &seen, |(start, _)| start),
            with_floor(size.bars(12.0, 6.0), &seen, |(_, size)| size),
        ])
    }

    fn started(&self, bridge: &Contestant) -> Result<(f64, f64)> {
        let (mut process, took) = self.start(bridge, "json")?;
        round(&mut process, 100)?;
        Ok((took, number(memory(process.id())?) / 1e6))
    }
}

/// Two values of each round of each bridge.
type BridgePairs<'a> = [(&'a str, Vec<(f64, f64)>)];

/// Returns our values, and beside them the rivals', each round as a ratio to the floor's.
fn against_floor(figure: Figure, all: &BridgePairs<'_>, pick: fn((f64, f64)) -> f64) -> Figure {
    let [(_, floor), (_, ours), rivals @ ..] = all else { return figure };
    let ratios = |rounds: &[(f64, f64)]| {
        rounds.iter().zip(floor).map(|(it, floor)| pick(*it) / pick(*floor)).collect::<Vec<_>>()
    };
    let figure = figure.rounds(ratios(ours));
    rivals.iter().fold(figure, |figure, (name, rounds)| figure.beside(*name, ratios(rounds)))
}

/// Returns our values, with the floor's and the rivals' beside them.
fn with_floor(figure: Figure, all: &BridgePairs<'_>, pick: fn((f64, f64)) -> f64) -> Figure {
    let [(_, floor), (_, ours), rivals @ ..] = all else { return figure };
    let values = |rounds: &[(f64, f64)]| rounds.iter().map(|it| pick(*it)).collect::<Vec<_>>();
    let figure = figure.rounds(values(ours)).floor(median(&values(floor)));
    let rivals = rivals.iter().filter(|(_, rounds)| !rounds.is_empty());
    rivals.fold(figure, |figure, (name, rounds)| figure.beside(*name, values(rounds)))
}

/// Returns the median time of a call, and the CPU time for one, in microseconds.
fn round(process: &mut Process, calls: usize) -> Result<(f64, f64)> {
    let before = cpu(process.id())?;
    let times: Result<Vec<_>> = (0..calls).map(|_| Ok(micros(process.call()?))).collect();
    let spent = cpu(process.id())?.checked_sub(before);
    let spent = micros(spent.context("a thread ended, and took its figures with it")?);
    Ok((median(&times?), spent / number(calls as u64)))
}
