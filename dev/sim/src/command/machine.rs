//! The commands `machine` and `story`, which run the recovery machine alone.

use std::io::{self, Write};

use anyhow::Result;
use clap::{Subcommand, ValueEnum};
use ridethrough_sim::machine::{MachinePlan, MachineSummary, Worlds, run, run_seed, story};

use super::ticker::Ticker;

/// The recovery machine alone, without anything that performs: much faster
#[derive(clap::Args)]
pub(crate) struct MachineArgs {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// Live through as many worlds as these calls take
    Run {
        /// How many calls in all
        #[arg(long, default_value_t = 1_000_000)]
        calls: u64,
        /// The first seed
        #[arg(long, default_value_t = 1)]
        first_seed: u64,
        #[command(flatten)]
        kind: WorldKind,
    },
    /// Live through one world again
    Replay {
        /// Its seed
        seed: u64,
        #[command(flatten)]
        kind: WorldKind,
    },
}

#[derive(clap::Args)]
struct WorldKind {
    /// How many calls in each world
    #[arg(long, default_value_t = 200, value_parser = clap::value_parser!(u64).range(1..))]
    calls_per_seed: u64,
    /// Whether servers have sessions, or either era and change it at any point
    #[arg(long, value_enum, default_value = "legacy")]
    eras: Eras,
}

#[derive(Clone, Copy, ValueEnum)]
enum Eras {
    Both,
    Legacy,
}

impl From<Eras> for Worlds {
    fn from(eras: Eras) -> Self {
        match eras {
            Eras::Both => Self::Both,
            Eras::Legacy => Self::Legacy,
        }
    }
}

impl MachineArgs {
    pub(super) fn play(self) -> Result<bool> {
        let out = &mut io::stdout().lock();
        let summary = match self.what {
            What::Run { calls, first_seed, kind } => {
                let plan = MachinePlan {
                    first_seed,
                    calls,
                    calls_per_seed: kind.calls_per_seed,
                    worlds: kind.eras.into(),
                };
                simulate(out, plan)?
            }
            What::Replay { seed, kind } => {
                let summary = run_seed(seed, kind.eras.into(), kind.calls_per_seed);
                for violation in &summary.violations {
                    writeln!(out, "violation: {violation}")?;
                }
                writeln!(out, "{summary}")?;
                summary
            }
        };
        Ok(summary.violations.is_empty())
    }
}

fn simulate(out: &mut impl Write, plan: MachinePlan) -> io::Result<MachineSummary> {
    let ticker = Ticker::start();
    let summary = run(plan, |calls| {
        ticker.tell(calls, plan.calls, || format!("{calls} of {} calls", plan.calls));
    });
    let seconds = ticker.end();
    for (kind, count) in &summary.endings {
        writeln!(out, "  {count:>9}  {kind}")?;
    }
    for (promise, times) in summary.broken_promises() {
        writeln!(out, "broken {times} times: {promise}")?;
    }
    for violation in summary.violations.iter().take(20) {
        writeln!(out, "violation: {violation}")?;
        let eras = if plan.worlds == Worlds::Both { "both" } else { "legacy" };
        let (seed, calls) = (violation.seed, plan.calls_per_seed);
        writeln!(
            out,
            "  again: ridethrough-sim machine replay {seed} --calls-per-seed {calls} --eras {eras}"
        )?;
    }
    writeln!(out, "{summary} ({seconds:.1} s)")?;
    Ok(summary)
}

/// Tell a story of faults step by step: what a call meets, and what the machine does about it
#[derive(clap::Args)]
pub(crate) struct Story {}

impl Story {
    /// Tells the story, then checks every promise over random worlds.
    pub(super) fn play(self) -> Result<bool> {
        let out = &mut io::stdout().lock();
        story::tell(out)?;
        writeln!(
            out,
            "And {STORY_CALLS} calls in worlds drawn at random, every promise checked:\n"
        )?;
        out.flush()?;
        let summary = run(MachinePlan { calls: STORY_CALLS, ..MachinePlan::default() }, |_| {});
        writeln!(out, "   {summary}")?;
        for violation in &summary.violations {
            writeln!(out, "   violation: {violation}")?;
        }
        Ok(summary.violations.is_empty())
    }
}

const STORY_CALLS: u64 = 100_000;
