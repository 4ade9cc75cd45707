//! `ridethrough servers`: lists the servers that are known by name here, and the file of each.

use std::process::ExitCode;

use anyhow::Result;
use ridethrough_config::hosts::Servers;
use serde::Serialize;

use crate::out;
use crate::safe;
use crate::server::target;

/// The arguments of `ridethrough servers`.
#[derive(clap::Args)]
pub(crate) struct ServersArgs {
    /// Print a JSON array for machines
    #[arg(long)]
    json: bool,
}

/// A server as it is shown, without secrets.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ShownServer {
    name: String,
    /// The word to type for this server.
    word: String,
    host: &'static str,
    /// The address without the query, or the program; or why the server cannot be used.
    server: String,
    is_usable: bool,
    file: String,
}

pub(crate) fn play(args: &ServersArgs) -> Result<ExitCode> {
    let servers = Servers::here();
    let known = known(&servers);
    let printed = out::print(|out| {
        if args.json {
            writeln!(out, "{}", serde_json::to_string(&known)?)
        } else {
            known.iter().try_for_each(|it| {
                let unusable = if it.is_usable { "" } else { " (cannot be used)" };
                let ShownServer { word, server, file, host, .. } = it;
                writeln!(out, "{word}{unusable}\n    {server}\n    {file} of {host}")
            })
        }
    });
    for (path, why) in servers.files() {
        let path = safe::path(path);
        if let Some(why) = why {
            eprintln!("warning: {path} cannot be read: {}", safe::line(&why));
        }
    }
    if known.is_empty() {
        eprintln!("no server is known by name: a config file of an MCP host would name some");
    }
    printed
}

/// Returns each server once, with the shortest word that means it alone.
fn known(servers: &Servers) -> Vec<ShownServer> {
    let mut all = Vec::new();
    for name in servers.names() {
        let found = servers.named(name, None);
        let is_plain = target::resolve(name).is_ok();
        for server in &found {
            let host = server.host().word();
            // An entry that cannot be used does not become usable with the name of its host.
            let is_alone = is_plain || found.len() == 1;
            let word = if is_alone { name.to_owned() } else { format!("{host}:{name}") };
            let target = target::resolve(&format!("{host}:{name}"));
            let server_shown = match &target {
                Ok(target) => target.to_string(),
                Err(misuse) => misuse.what.clone(),
            };
            all.push(ShownServer {
                name: safe::line(name),
                word: safe::line(&word),
                host,
                server: safe::line(&server_shown),
                is_usable: target.is_ok(),
                file: safe::path(&server.path()),
            });
        }
    }
    all
}
