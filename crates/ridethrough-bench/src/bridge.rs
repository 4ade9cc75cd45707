//! The bridge against the floor bridge: P7 (time and CPU of a call) and P8 (start and memory).
//!
//! Both run side by side against one server and take turns, so that whatever else this machine does
//! meets both.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use crate::figure::{Figure, median};
use crate::process::Process;
use crate::server;

/// How much is measured.
#[derive(Clone, Copy)]
pub(crate) struct Plan {
    pub(crate) rounds: usize,
    /// In each round, of each bridge.
    pub(crate) calls: usize,
}

/// Measures everything that is to be said about the bridge.
pub(crate) fn measure(plan: Plan) -> Result<Vec<Figure>> {
    let server = server::start()?;
    let home = Home::new()?;
    let mut figures = Vec::new();
    for (way, time, cpu) in [
        ("json", "bridge p50, JSON answers", "bridge CPU per call, JSON answers"),
        ("sse", "bridge p50, SSE answers", "bridge CPU per call, SSE answers"),
    ] {
        let pair = Pair::new(&format!("http://{server}/{way}"), &home)?;
        figures.extend(calls(pair, plan, time, cpu)?);
    }
    let pair = Pair::new(&format!("http://{server}/json"), &home)?;
    figures.extend(standing(&pair, plan)?);
    Ok(figures)
}

/// Ours and the floor, ready to be started.
struct Pair<'a> {
    url: String,
    home: &'a Home,
    ours: PathBuf,
    floor: PathBuf,
}

impl<'a> Pair<'a> {
    fn new(url: &str, home: &'a Home) -> Result<Self> {
        let (ours, floor) = (beside("ridethrough")?, beside("floor-bridge")?);
        Ok(Self { url: url.to_owned(), home, ours, floor })
    }

    fn start_ours(&self) -> Result<(Process, Duration)> {
        Process::start(&self.ours, &["bridge", &self.url], &self.home.0)
    }

    fn start_floor(&self) -> Result<(Process, Duration)> {
        Process::start(&self.floor, &[&self.url], &self.home.0)
    }
}

fn calls(pair: Pair<'_>, plan: Plan, time: &'static str, cpu: &'static str) -> Result<Vec<Figure>> {
    let (mut ours, mut floor) = (pair.start_ours()?.0, pair.start_floor()?.0);
    // Buffers grow, and pages are touched, once.
    round(&mut ours, plan.calls / 4)?;
    round(&mut floor, plan.calls / 4)?;
    let (mut times, mut cpus) = (Vec::new(), Vec::new());
    for number in 0..plan.rounds {
        eprint!("\r{time}: round {} of {}  ", number + 1, plan.rounds);
        let (slow, costly) = round(&mut ours, plan.calls)?;
        let (fast, cheap) = round(&mut floor, plan.calls)?;
        times.push(slow / fast);
        cpus.push(costly / cheap);
    }
    eprintln!();
    let ratio = |what, rounds| Figure {
        bar: "P7",
        what,
        unit: "x",
        rounds,
        must: 1.5,
        goal: 1.2,
        floor: None,
    };
    Ok(vec![ratio(time, times), ratio(cpu, cpus)])
}

/// The median time of a call, and the processor's time for one, in microseconds.
fn round(process: &mut Process, calls: usize) -> Result<(f64, f64)> {
    let before = process.cpu()?;
    let times: Result<Vec<_>> = (0..calls).map(|_| Ok(micros(process.call()?))).collect();
    let spent = process.cpu()?.checked_sub(before);
    let spent = micros(spent.context("a thread ended, and took its figures with it")?);
    #[allow(clippy::cast_precision_loss, reason = "a count of calls is small")]
    let each = spent / calls as f64;
    Ok((median(&times?), each))
}

/// From start to the answered `initialize`, and the memory of a bridge that has worked and rests.
fn standing(pair: &Pair<'_>, plan: Plan) -> Result<Vec<Figure>> {
    let (mut starts, mut floor_starts) = (Vec::new(), Vec::new());
    let (mut sizes, mut floor_sizes) = (Vec::new(), Vec::new());
    for number in 0..plan.rounds {
        eprint!("\rbridge start and memory: round {} of {}  ", number + 1, plan.rounds);
        for (started, starts, sizes) in [
            (pair.start_ours()?, &mut starts, &mut sizes),
            (pair.start_floor()?, &mut floor_starts, &mut floor_sizes),
        ] {
            let (mut process, took) = started;
            starts.push(micros(took) / 1e3);
            round(&mut process, 100)?;
            sizes.push(megabytes(process.memory()?));
        }
    }
    eprintln!();
    let start = Figure {
        bar: "P8",
        what: "bridge, start to answered initialize",
        unit: "ms",
        rounds: starts,
        must: 60.0,
        goal: 15.0,
        floor: Some(median(&floor_starts)),
    };
    let memory = Figure {
        bar: "P8",
        what: "bridge, resident memory after 100 calls",
        unit: "MB",
        rounds: sizes,
        must: 12.0,
        goal: 6.0,
        floor: Some(median(&floor_sizes)),
    };
    Ok(vec![start, memory])
}

/// A program that was built with this one.
fn beside(name: &str) -> Result<PathBuf> {
    let own = std::env::current_exe().context("this program does not know where it is")?;
    let path = own.parent().map(|folder| folder.join(name)).unwrap_or_default();
    ensure!(
        path.exists(),
        "there is no `{name}` beside this program: `./bench` builds all of them"
    );
    Ok(path)
}

/// A home for catalogues, gone with the measurement.
struct Home(PathBuf);

impl Home {
    fn new() -> Result<Self> {
        let path = std::env::temp_dir().join(format!("ridethrough-bench-{}", std::process::id()));
        std::fs::create_dir_all(&path).context("no folder for catalogues")?;
        Ok(Self(path))
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(Path::new(&self.0));
    }
}

fn micros(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}

#[allow(clippy::cast_precision_loss, reason = "sizes of processes are far below 2^53")]
fn megabytes(bytes: u64) -> f64 {
    bytes as f64 / 1e6
}
