//! `ridethrough-lab wrong`: a client that is wrong on purpose, as an adapter of the lab.
//!
//! It shows how a scenario fails, and what the lab reports then.

use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use futures_util::future::BoxFuture;
use ridethrough_lab::wrong::{Dialed, Duplex, Mistake, find, mistakes, play as play_script};
use tokio::net::TcpStream;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use super::drive::{ended, read_script, runtime, write_text};
use ridethrough_terminal::misuse::Misuse;
use ridethrough_terminal::out;

/// The arguments of `ridethrough-lab wrong`.
#[derive(clap::Args)]
pub(crate) struct WrongArgs {
    /// The mistake; `plain` makes none on purpose.
    #[arg(required_unless_present = "list")]
    name: Option<String>,
    /// The MCP endpoint, such as `http://127.0.0.1:8080/mcp`.
    #[arg(required_unless_present = "list")]
    url: Option<String>,
    /// A file with the steps: a JSON list, see `lab drive --help`.
    #[arg(required_unless_present = "list")]
    script: Option<PathBuf>,
    /// Asks the server for its era first, and speaks the stateless revision too.
    #[arg(long)]
    asks_era: bool,
    /// Prints every mistake and what it is.
    #[arg(long, conflicts_with_all = ["name", "url", "script"])]
    list: bool,
}

/// Plays the script and writes a line for each step, or lists the mistakes.
pub(super) fn play(args: WrongArgs) -> Result<ExitCode> {
    let WrongArgs { name: Some(name), url: Some(url), script: Some(script), asks_era, .. } = args
    else {
        return out::print(list);
    };
    let mistake = find(&name).ok_or_else(|| Misuse {
        what: format!("there is no mistake `{name}`"),
        tried: format!("{} names were compared; nothing was sent", mistakes().len() + 1),
        hint: "`ridethrough-lab wrong --list` prints them".to_owned(),
    })?;
    let mistake = if asks_era { mistake.asking_era() } else { *mistake };
    let script = read_script(&script)?;
    ended(runtime()?.block_on(async {
        let (said, heard) = unbounded_channel();
        let playing = play_script(&mistake, dial, url, script, said);
        tokio::join!(playing, write(heard)).1
    }))
}

fn list(out: &mut dyn Write) -> io::Result<()> {
    for Mistake { name, what, .. } in mistakes() {
        writeln!(out, "{name:<27} {what}")?;
    }
    Ok(())
}

pub(super) fn dial(authority: String) -> BoxFuture<'static, Dialed> {
    Box::pin(async move {
        let stream = TcpStream::connect(authority).await?;
        stream.set_nodelay(true)?;
        Ok(Box::new(stream) as Box<dyn Duplex>)
    })
}

/// Writes lines to stdout as they come, until there are no more.
async fn write(mut heard: UnboundedReceiver<String>) -> io::Result<()> {
    while let Some(line) = heard.recv().await {
        write_text(&line)?;
    }
    Ok(())
}
