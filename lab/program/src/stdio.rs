//! `ridethrough-lab drive-stdio`: plays scenarios with a stdio server that is in front of a remote one, by
//! default our own bridge.
//!
//! It speaks the adapter protocol towards the lab and raw lines towards the server, and recovers from nothing
//! itself.

mod host;
mod player;
#[cfg(test)]
mod tests;

use std::io;
use std::path::PathBuf;
use std::process::{ExitCode, Stdio};

use anyhow::{Context, Result};
use ridethrough_lab::contestant::split;
use tokio::process::Command;

use super::drive::{ended, read_script, runtime, write};
use ridethrough_terminal::misuse::Misuse;

use host::Pipes;

/// The arguments of `ridethrough-lab drive-stdio`.
#[derive(clap::Args)]
#[command(after_long_help = AFTER)]
pub(crate) struct DriveStdioArgs {
    /// The command of a stdio server, split as a shell would; `{url}` stands for the URL [default: our own
    /// bridge, `ridethrough bridge {url}`]
    #[arg(long, value_name = "CMD")]
    server: Option<String>,
    /// The variable from which the server takes a token [default: it takes the flag `--header`]
    #[arg(long, value_name = "VAR", requires = "server")]
    token_env: Option<String>,
    /// The MCP endpoint behind it, such as `http://127.0.0.1:8080/mcp`
    url: String,
    /// A file with the steps: a JSON list
    script: PathBuf,
}

/// Plays the script and writes a line for each step.
pub(super) fn play(args: &DriveStdioArgs) -> Result<ExitCode> {
    let script = read_script(&args.script)?;
    let words = args.words()?;
    let runtime = runtime()?;
    let variable = args.token_env.as_deref();
    let begin = |token| start(&words, variable, token);
    let played = runtime.block_on(player::play(begin, script, write));
    runtime.shutdown_background();
    ended(played)
}

impl DriveStdioArgs {
    fn words(&self) -> Result<Vec<String>> {
        let Some(server) = &self.server else {
            let this =
                std::env::current_exe().context("this program does not know its own path")?;
            let bridge =
                this.with_file_name(format!("ridethrough{}", std::env::consts::EXE_SUFFIX));
            let bridge = bridge.to_str().context("the path of this program is no text")?.to_owned();
            let flags = ["--allow-http", "--no-catalogue", "--silent"].map(str::to_owned);
            return Ok([bridge, "bridge".to_owned(), self.url.clone()]
                .into_iter()
                .chain(flags)
                .collect());
        };
        let words = split(server).map_err(|error| Misuse {
            what: format!("`--server` names no program: {error}"),
            tried: "it was split as a shell would; nothing was started".to_owned(),
            hint: "write it as `--server 'npx mcp-remote {url}'`".to_owned(),
        })?;
        Ok(words.iter().map(|word| word.replace("{url}", &self.url)).collect())
    }
}

/// Starts a server. It ends when its stdin does, and with this process at the latest.
fn start(words: &[String], variable: Option<&str>, token: Option<String>) -> io::Result<Pipes> {
    let [program, arguments @ ..] = words else { return Err(io::ErrorKind::InvalidInput.into()) };
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true);
    match (token, variable) {
        (None, _) => {}
        (Some(token), Some(variable)) => _ = command.env(variable, token),
        (Some(token), None) => {
            let header = "Authorization: Bearer ${LAB_TOKEN}";
            command.args(["--header", header]).env("LAB_TOKEN", token);
        }
    }
    let mut child = command.spawn()?;
    let (Some(stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
        return Err(io::ErrorKind::BrokenPipe.into());
    };
    // A child that is not waited for stays in the process table.
    tokio::spawn(async move { child.wait().await });
    Ok(Pipes { reader: Box::new(stdout), writer: Box::new(stdin) })
}

const AFTER: &str = "This is how the lab scores a bridge:
  ridethrough-lab run --client 'ridethrough-lab drive-stdio'
  ridethrough-lab run --client 'ridethrough-lab drive-stdio --server \"npx mcp-remote {url} --allow-http\"'

A script that asks for a token adds `--header 'Authorization: Bearer ${LAB_TOKEN}'` to the command
and sets the variable; with `--token-env VAR` only that variable is set. `ridethrough-lab drive --help` shows the steps and the lines.

Exit codes: 0 every step was reported, 2 the script cannot be used.";
