//! The command `replay`: runs one world again and prints what happens, line by line.

use std::io::{self, Write};

use anyhow::Result;

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
        for (ending, count) in &lived.endings {
            writeln!(out, "  {count:>6}  {ending}")?;
        }
        for violation in &lived.violations {
            writeln!(out, "violation: {violation}")?;
        }
        let (calls, kept) = (lived.calls, lived.violations.len());
        writeln!(out, "{calls} calls, {} executions, violations {kept}", lived.executions)?;
        Ok(lived.violations.is_empty())
    }
}
