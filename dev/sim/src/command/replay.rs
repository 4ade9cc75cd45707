//! The command `replay`: runs one world again and prints what happens, line by line.

use std::io::{self, Write};

use anyhow::Result;
use ridethrough_sim::world::Lived;

use super::which::Which;

/// Live through one world again, and tell what happens in it
#[derive(clap::Args)]
pub(crate) struct ReplayArgs {
    #[command(flatten)]
    which: Which,
    /// Say only what came of it
    #[arg(long)]
    quiet: bool,
}

impl ReplayArgs {
    pub(super) fn play(self) -> Result<bool> {
        let world = self.which.world()?;
        let lived = world.traced();
        let out = &mut io::stdout().lock();
        if !self.quiet {
            writeln!(out, "faults: {}", world.faults)?;
            out.write_all(lived.trace.as_bytes())?;
        }
        tell(out, &lived)?;
        Ok(lived.violations.is_empty())
    }
}

/// Prints what came of a world.
pub(super) fn tell(out: &mut impl Write, lived: &Lived) -> io::Result<()> {
    for (ending, count) in &lived.endings {
        writeln!(out, "  {count:>6}  {ending}")?;
    }
    for violation in &lived.violations {
        writeln!(out, "violation: {violation}")?;
    }
    let (calls, kept) = (lived.calls, lived.violations.len());
    writeln!(out, "{calls} calls, {} executions, violations {kept}", lived.executions)
}
