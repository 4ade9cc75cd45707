//! `ridethrough demo`: the recovery machine at work, without a server.

use std::io::{self, Write};
use std::process::ExitCode;

use anyhow::Result;
use ridethrough_sim::{Plan, run, story};

/// Plays the story, then checks every promise over random worlds.
pub(crate) fn play() -> Result<ExitCode> {
    let mut out = io::stdout().lock();
    match write(&mut out) {
        // A reader that has seen enough, such as `head`, is no failure.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(ExitCode::SUCCESS),
        other => Ok(other?),
    }
}

fn write(out: &mut impl Write) -> io::Result<ExitCode> {
    story::tell(out)?;
    writeln!(out, "And {CALLS} calls in worlds drawn at random, every promise checked:\n")?;
    out.flush()?;
    let summary = run(Plan { calls: CALLS, ..Plan::default() }, |_| {});
    writeln!(out, "   {summary}")?;
    for violation in &summary.violations {
        writeln!(out, "   violation: {violation}")?;
    }
    Ok(if summary.violations.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

const CALLS: u64 = 100_000;
