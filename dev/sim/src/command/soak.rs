//! The command `soak`: many sessions over many hours, with memory that must not grow.

use std::io::{self, Write};
use std::time::Duration;

use anyhow::Result;
use peak_alloc::PeakAlloc;
use ridethrough_sim::world::Soak;

use super::ticker::Ticker;

/// Let many sessions live for many virtual hours, and watch memory
#[derive(clap::Args)]
pub(crate) struct SoakArgs {
    /// How many virtual hours
    #[arg(long, default_value_t = 24, value_parser = clap::value_parser!(u32).range(1..))]
    hours: u32,
    /// How many sessions
    #[arg(long, default_value_t = 1_000)]
    sessions: usize,
    /// Minutes between two restarts of the server
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=60))]
    restart_minutes: u64,
    /// Seconds between two calls of one session, on average
    #[arg(long, default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..))]
    pause_seconds: u64,
    /// Everything else is drawn from it
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

impl SoakArgs {
    pub(super) fn play(self) -> Result<bool> {
        let soak = Soak {
            seed: self.seed,
            hours: self.hours,
            sessions: self.sessions,
            restart_every: Duration::from_secs(60 * self.restart_minutes),
            pause: Duration::from_secs(self.pause_seconds),
        };
        let ticker = Ticker::start();
        let mut table = Vec::new();
        let heap = || ALLOCATOR.current_usage();
        let soaked = soak.live(heap, |hour| {
            let (number, hours) = (hour.number.into(), self.hours.into());
            ticker
                .tell(number, hours, || format!("hour {number} of {hours}, {} calls", hour.calls));
            table.push((hour, resident()));
        });
        let seconds = ticker.end();
        let out = &mut io::stdout().lock();
        writeln!(out, "  hour      calls   heap MB   resident MB")?;
        for (hour, resident) in table {
            let (heap, resident) = (megabytes(hour.heap), megabytes(resident));
            writeln!(out, "{:>6} {:>10} {heap:>9.2} {resident:>13.1}", hour.number, hour.calls)?;
        }
        for (ending, count) in &soaked.endings {
            writeln!(out, "  {count:>10}  {ending}")?;
        }
        for violation in soaked.violations.iter().take(20) {
            writeln!(out, "violation: {violation}")?;
        }
        let growth = soaked.growth();
        let is_flat = growth <= MOST_GROWTH;
        writeln!(
            out,
            "soaked: {} sessions for {} h of virtual time, {} restarts, heap {growth:+.2} % since hour one \
             (at most {MOST_GROWTH} %), violations {} ({seconds:.1} s)",
            self.sessions,
            self.hours,
            soaked.restarts,
            soaked.violations.len()
        )?;
        Ok(soaked.violations.is_empty() && is_flat)
    }
}

/// Returns the resident memory of this process as the system reports it; zero where it reports none.
fn resident() -> usize {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = statm.split_whitespace().nth(1).and_then(|pages| pages.parse::<usize>().ok());
    pages.unwrap_or_default() * 4096
}

#[allow(clippy::cast_precision_loss, reason = "sizes of processes are far below 2^53")]
fn megabytes(bytes: usize) -> f64 {
    bytes as f64 / 1e6
}

/// Counts the memory in use of the whole program.
#[global_allocator]
static ALLOCATOR: PeakAlloc = PeakAlloc;

/// The most growth that is allowed, in percent.
const MOST_GROWTH: f64 = 5.0;
