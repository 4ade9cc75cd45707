//! `ridethrough-lab drive`: our own client as an adapter of the lab.
//!
//! It speaks the adapter protocol (`ridethrough_lab::adapter`) with the library's default settings: it finds
//! out by itself which era the server belongs to. The player (`player`) knows neither files nor stdout, so
//! that it also runs over pipes and in paused time.

mod ask;
mod ear;
mod player;
mod script;
#[cfg(test)]
#[cfg(feature = "full")]
mod tests;

pub(crate) use player::{ScriptAccess, play as play_script};
pub(super) use script::read as read_script;

use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result};
use ridethrough::{Client, ClientBuilder};
use ridethrough_lab::adapter::{Line, Step};
use tokio::runtime::{Builder, Runtime};

use super::login::Login;
use super::through_gateway::{gateway, listen};
use ridethrough_terminal::misuse::Misuse;

/// The arguments of `ridethrough-lab drive`.
#[derive(clap::Args)]
#[command(after_long_help = PROTOCOL)]
pub(crate) struct DriveArgs {
    /// Put a gateway of ours between the client and the server
    #[arg(long)]
    through_gateway: bool,
    /// The MCP endpoint, such as `http://127.0.0.1:8080/mcp`.
    url: String,
    /// A file with the steps: a JSON list.
    script: PathBuf,
}

/// Plays the script and writes a line for each step.
pub(super) fn play(args: &DriveArgs) -> Result<ExitCode> {
    let script = script::read(&args.script)?;
    let runtime = Builder::new_multi_thread()
        .enable_all()
        .build()
        .context("no threads could be started to run the client on")?;
    let played = runtime.block_on(args.play(script));
    // Whatever is still under way, such as a name lookup, is of no interest any more.
    runtime.shutdown_background();
    played
}

impl DriveArgs {
    async fn play(&self, script: Vec<Step>) -> Result<ExitCode> {
        // The client is built and dropped: a URL that no client takes is wrong usage, and not a step's failure.
        Client::builder(&self.url).build().map_err(|error| Misuse {
            what: format!("no client can be made: {error}"),
            tried: "its settings were checked; nothing was sent".to_owned(),
            hint: "change what is named above; a URL looks like `http://127.0.0.1:8080/mcp`"
                .to_owned(),
        })?;
        ended(play_script(|access| self.begin(access), Login::by_browser(), script, write).await)
    }

    fn begin(&self, access: ScriptAccess) -> Result<ClientBuilder, String> {
        if !self.through_gateway {
            return access.on(Client::builder(&self.url));
        }
        let url = self.url.clone();
        let gateway = gateway(move || access.clone().on(Client::builder(&url)));
        listen(gateway).map_err(|error| format!("no gateway could be started: {error}"))
    }
}

/// Returns what one thread suffices for.
pub(super) fn runtime() -> Result<Runtime> {
    Builder::new_current_thread().enable_all().build().context("no runtime could be started")
}

/// Writes a line to stdout at once: the lab waits for it.
pub(super) fn write(line: Line) -> io::Result<()> {
    write_text(&serde_json::to_string(&line)?)
}

pub(super) fn write_text(line: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{line}")?;
    out.flush()
}

/// Returns how a program ends that has written its lines.
pub(super) fn ended(written: io::Result<()>) -> Result<ExitCode> {
    match written {
        // A reader that closed stdout early is no failure.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(ExitCode::SUCCESS),
        written => written.map(|()| ExitCode::SUCCESS).context("the lines could not be written"),
    }
}

const PROTOCOL: &str = r#"The script is a JSON list of steps:
  {"op":"initialize"}                        make a client and connect it; "bearer":"TOKEN"
                                             is its token, "login":{"within_s":3} lets it log in
  {"op":"call","tool":"echo","args":{}}      call a tool; "timeout_s":5 limits its time,
                                             "cancel_after_s":0.5 cancels it, "concurrency":10
                                             makes so many at once with "msg" c0, c1, ...
  {"op":"request","method":"prompts/list"}   send any request; "params":{}, "timeout_s":5
  {"op":"sleep","s":0.4}                     do nothing, but go on listening
  {"op":"close"}                             end the session and let go of the client

After each step one line is written to stdout:
  {"step":1,"ok":true,"result":{"text":"hi","isError":false},"error":null,
   "elapsed_ms":12.5,"notifications":["message:n1","tools/list_changed"]}
(on one line, with all of these members). "result" is {"json":...} for initialize
and request; for several calls at once a list of {"ok","result","error","elapsed_ms"},
one for each. A step that fails is reported with "ok":false and "error", and the next
one is tried. Log messages are reported as message:<data>, other notifications by their
method without notifications/, with the step during which they came. Nothing else is
written to stdout: the lab takes any other line for a fault. stderr is for people.

A client with "login" logs in by OAuth when the server asks for it: it opens the authorization
URL by the program in the variable BROWSER, which the lab sets, and waits "within_s" seconds for
the person. The program is the lab's own: it opens the URL, and goes wherever it is redirected. A
login is kept for the next client of the script, in memory or in a place that nobody else uses.

Exit codes: 0 every step was reported, 2 the URL or the script cannot be used."#;
