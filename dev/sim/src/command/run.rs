//! The commands `run`: run many worlds and print a summary.

use std::io::{self, Write};

use anyhow::{Context, Result};
use ridethrough_sim::SeededWorld;
use ridethrough_sim::run::{Plan, Summary, run_each};

use super::ticker::Ticker;

/// Live through many worlds
#[derive(clap::Args)]
pub(crate) struct RunArgs {
    /// How many worlds
    #[arg(long, default_value_t = 1_000, value_parser = clap::value_parser!(u64).range(1..))]
    seeds: u64,
    /// How many calls in each of them
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u64).range(1..))]
    calls: u64,
    /// The first seed
    #[arg(long, default_value_t = 1)]
    first_seed: u64,
    /// Stop at the first world that breaks a promise
    #[arg(long)]
    until_broken: bool,
    /// Print the summary as JSON
    #[arg(long)]
    json: bool,
}

impl RunArgs {
    pub(super) fn play<W: SeededWorld>(self) -> Result<bool> {
        let Self { seeds, calls, first_seed, until_broken, json } = self;
        let plan = Plan { first_seed, seeds, calls, is_over_when_broken: until_broken };
        let ticker = Ticker::start();
        let live = |seed| W::of_seed(seed, calls).live();
        let summary = run_each(plan, live, |worlds, calls| {
            ticker.tell(worlds, seeds, || format!("{worlds} of {seeds} worlds, {calls} calls"));
        });
        let seconds = ticker.end();
        let out = &mut io::stdout().lock();
        if json {
            let text = serde_json::to_string_pretty(&summary).context("numbers and texts")?;
            writeln!(out, "{text}")?;
        } else {
            tell(out, &summary, (W::NAME, calls), seconds)?
        }
        Ok(summary.violations.is_empty())
    }
}

fn tell(
    out: &mut impl Write,
    summary: &Summary,
    (kind, calls): (&str, u64),
    seconds: f64,
) -> io::Result<()> {
    for (ending, count) in &summary.endings {
        writeln!(out, "  {count:>10}  {ending}")?;
    }
    for (promise, (times, first)) in summary.broken_promises() {
        writeln!(out, "broken {times} times, first by seed {first}: {promise}")?;
    }
    for violation in summary.violations.iter().take(20) {
        writeln!(out, "violation: {violation}")?;
        let seed = violation.seed;
        writeln!(out, "  again: ridethrough-sim {kind}replay {seed} --calls {calls}")?;
        if kind.is_empty() {
            writeln!(out, "  simpler: ridethrough-sim shrink {seed} --calls {calls}")?;
        }
    }
    writeln!(out, "{summary} ({seconds:.1} s)")
}
