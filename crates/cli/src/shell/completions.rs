//! `ridethrough completions`: prints the script by which a shell completes our commands.

mod scripts;

use std::process::ExitCode;

use anyhow::Result;
use clap_complete::{Shell, generate};

use crate::out;

/// The arguments of `ridethrough completions`.
#[derive(clap::Args)]
#[command(after_long_help = AFTER)]
pub(crate) struct CompletionsArgs {
    /// The shell
    shell: Shell,
}

pub(crate) fn play(args: &CompletionsArgs, mut command: clap::Command) -> Result<ExitCode> {
    let mut script = Vec::new();
    generate(args.shell, &mut command, "ridethrough", &mut script);
    let script = scripts::with_names(args.shell, String::from_utf8_lossy(&script).into_owned());
    out::print(|out| out.write_all(script.as_bytes()))
}

const AFTER: &str = "\
Examples:
  ridethrough completions bash > ~/.local/share/bash-completion/completions/ridethrough
  ridethrough completions zsh > ~/.zfunc/_ridethrough
  ridethrough completions fish > ~/.config/fish/completions/ridethrough.fish";
