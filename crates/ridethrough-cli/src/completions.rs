//! `ridethrough completions`: what a shell needs to complete our commands.

use std::process::ExitCode;

use anyhow::Result;
use clap_complete::{Shell, generate};

use crate::out;

/// What `completions` is asked for.
#[derive(clap::Args)]
#[command(after_long_help = AFTER)]
pub(crate) struct Args {
    /// The shell
    shell: Shell,
}

pub(crate) fn play(args: &Args, mut command: clap::Command) -> Result<ExitCode> {
    let mut script = Vec::new();
    generate(args.shell, &mut command, "ridethrough", &mut script);
    out::print(|out| out.write_all(&script))
}

const AFTER: &str = "\
Examples:
  ridethrough completions bash > ~/.local/share/bash-completion/completions/ridethrough
  ridethrough completions zsh > ~/.zfunc/_ridethrough
  ridethrough completions fish > ~/.config/fish/completions/ridethrough.fish";
