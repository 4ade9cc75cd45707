//! What a shell and `man` are given.

mod scripts;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::Subcommand;
use clap_complete::{Shell, generate};
use clap_mangen::Man;
use ridethrough_config::hosts::Servers;

use crate::out;
use crate::server::tool_names;

/// The kind of names that a script wants to complete.
#[derive(Subcommand)]
pub(crate) enum CompletionKind {
    /// The names of servers.
    Servers,
    /// The tools that a server had when it was last asked.
    Tools { server: String },
}

pub(crate) fn complete(command: &CompletionKind) -> Result<ExitCode> {
    let names = match command {
        CompletionKind::Servers => {
            let servers = Servers::here();
            servers.names().into_iter().map(str::to_owned).collect()
        }
        CompletionKind::Tools { server } => tool_names::kept(server),
    };
    let names: Vec<_> = names.iter().filter(|it| tool_names::is_plain(it)).collect();
    out::print(|out| names.iter().try_for_each(|it| writeln!(out, "{it}")))
}

/// The arguments of `ridethrough completions`.
#[derive(clap::Args)]
#[command(after_long_help = AFTER)]
pub(crate) struct CompletionsArgs {
    /// The shell
    shell: Shell,
}

pub(crate) fn completions(args: &CompletionsArgs, mut command: clap::Command) -> Result<ExitCode> {
    let mut script = Vec::new();
    generate(args.shell, &mut command, "ridethrough", &mut script);
    let script = scripts::with_names(args.shell, String::from_utf8_lossy(&script).into_owned());
    out::print(|out| out.write_all(script.as_bytes()))
}

/// The arguments of `ridethrough man`.
#[derive(clap::Args)]
pub(crate) struct ManArgs {
    /// Write a page for every command into this folder, in place of one page to stdout
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

pub(crate) fn man(args: &ManArgs, command: clap::Command) -> Result<ExitCode> {
    if let Some(folder) = &args.out {
        let wanted = || format!("writing pages into `{}`", folder.display());
        std::fs::create_dir_all(folder).with_context(wanted)?;
        clap_mangen::generate_to(command, folder).with_context(wanted)?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut page = Vec::new();
    Man::new(command).render(&mut page).context("the page could not be made")?;
    out::print(|out| out.write_all(&page))
}

const AFTER: &str = "\
Examples:
  ridethrough completions bash > ~/.local/share/bash-completion/completions/ridethrough
  ridethrough completions zsh > ~/.zfunc/_ridethrough
  ridethrough completions fish > ~/.config/fish/completions/ridethrough.fish";
