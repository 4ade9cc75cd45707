//! Asks a person at the terminal for a yes.

use std::io::{self, IsTerminal, Write};

use anyhow::{Context, Result};

use crate::misuse::Misuse;

/// Whether the person at the terminal says yes. Without a terminal nobody can be asked, which is wrong usage.
pub(crate) fn is_given(question: &str, unasked: impl Fn() -> Misuse) -> Result<bool> {
    let (stdin, mut stderr) = (io::stdin(), io::stderr());
    if !stdin.is_terminal() || !stderr.is_terminal() {
        return Err(unasked().into());
    }
    write!(stderr, "{question}").context(UNASKED)?;
    let mut line = String::new();
    stdin.read_line(&mut line).context(UNASKED)?;
    Ok(["y", "yes"].contains(&line.trim().to_ascii_lowercase().as_str()))
}

const UNASKED: &str = "nobody could be asked";
