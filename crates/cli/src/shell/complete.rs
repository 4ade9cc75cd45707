//! `ridethrough complete`: the answers that completion scripts ask for. It sends nothing to any server.

use std::process::ExitCode;

use anyhow::Result;
use clap::Subcommand;
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

pub(crate) fn play(command: &CompletionKind) -> Result<ExitCode> {
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
