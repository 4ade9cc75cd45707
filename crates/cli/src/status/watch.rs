//! Shows a text again every second.

use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Result;
use tokio::time::{MissedTickBehavior, interval};

/// Shows the text of `look` again and again, for as long as stdout has a reader: on a terminal in place of
/// the text before, elsewhere below it.
pub(super) async fn until_nobody_reads(look: impl AsyncFn() -> String) -> Result<ExitCode> {
    let mut ticks = interval(EVERY);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let before = if io::stdout().is_terminal() { CLEAR } else { "" };
    loop {
        ticks.tick().await;
        let shown = look().await;
        match write(&format!("{before}{shown}\n")) {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {
                return Ok(ExitCode::SUCCESS);
            }
            written => written?,
        }
    }
}

fn write(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()
}

const EVERY: Duration = Duration::from_secs(1);
const CLEAR: &str = "\x1b[H\x1b[2J";
