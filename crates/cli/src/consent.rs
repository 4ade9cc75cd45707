//! What a person has agreed to: projects, programs, tools.

use std::io::{self, IsTerminal, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result};
use ridethrough_config::approvals::Approvals;
use ridethrough_config::folders::FILE;
use ridethrough_config::settings::project;

use crate::misuse::Misuse;
use crate::{out, safe};

/// Whether the person at the terminal says yes. Without a terminal nobody can be asked, which is wrong usage.
pub(crate) fn is_agreed(question: &str, unasked: impl Fn() -> Misuse) -> Result<bool> {
    let (stdin, mut stderr) = (io::stdin(), io::stderr());
    if !stdin.is_terminal() || !stderr.is_terminal() {
        return Err(unasked().into());
    }
    write!(stderr, "{question}").context(UNASKED)?;
    let mut line = String::new();
    stdin.read_line(&mut line).context(UNASKED)?;
    Ok(["y", "yes"].contains(&line.trim().to_ascii_lowercase().as_str()))
}

/// The arguments of `ridethrough trust`.
#[derive(clap::Args)]
#[command(after_long_help = AFTER)]
pub(crate) struct TrustArgs {
    /// The file [default: `ridethrough.toml` in the working directory]
    file: Option<PathBuf>,
    /// Take the approval back
    #[arg(long)]
    forget: bool,
    /// Approve without asking, as is needed where there is no terminal
    #[arg(long, conflicts_with = "forget")]
    yes: bool,
}

pub(crate) fn play(args: &TrustArgs) -> Result<ExitCode> {
    let path = args.file.clone().unwrap_or_else(|| PathBuf::from(FILE));
    let shown = safe::line(&path.to_string_lossy());
    let mut approvals = Approvals::read();
    if args.forget {
        let was_there = approvals.forget(&path).context(UNWRITTEN)?;
        let word = if was_there { "is not approved any more" } else { "was not approved" };
        return out::print(|out| writeln!(out, "`{shown}` {word}"));
    }
    let Some(found) = project::read(&path) else {
        return Err(Misuse {
            what: format!("there is no file `{shown}`"),
            tried: "nothing was approved".to_owned(),
            hint: "go to the project's folder, or name its file".to_owned(),
        }
        .into());
    };
    let said = found.contents(&path).map_err(|why| Misuse {
        what: format!("`{shown}` cannot be approved: {why}"),
        tried: "it was read; nothing was approved".to_owned(),
        hint: "mend the file: its keys are the names of the flags, see `ridethrough call --help`"
            .to_owned(),
    })?;
    out::print(|out| {
        writeln!(out, "`{shown}` says:")?;
        said.iter().try_for_each(|line| writeln!(out, "  {}", safe::line(line)))
    })?;
    if !args.yes && !is_approval_agreed(&shown)? {
        let is_approved = approvals.has(&path, &found.bytes);
        let words = if is_approved {
            "it was approved before, and stays so"
        } else {
            "nothing was approved"
        };
        return out::print(|out| writeln!(out, "{words}"));
    }
    approvals.add(&path, &found.bytes).context(UNWRITTEN)?;
    let approved = format!("`{shown}` is approved as it is; once it changes, it has to be again");
    out::print(|out| writeln!(out, "{approved}"))
}

/// Asks a person, who must be at the terminal.
fn is_approval_agreed(shown: &str) -> Result<bool> {
    is_agreed("approve it? yes or no [no]: ", || Misuse {
        what: format!("`{shown}` is not approved: there is no terminal to ask on"),
        tried: "it was read and shown; nothing was approved".to_owned(),
        hint: "`--yes` approves it without asking".to_owned(),
    })
}

const UNASKED: &str = "nobody could be asked";
const UNWRITTEN: &str = "the approval could not be written";

const AFTER: &str = "\
A `ridethrough.toml` in the working directory may have come with a repository. Commands take the names of
servers from it and nothing else, until it is approved: what it sets could send variables of your
environment to any server, or let a tool run twice. `ridethrough bridge` never reads it, approved or not.
It is the same with a project's files of other programs (`.mcp.json`, `.cursor/mcp.json`, `.vscode/mcp.json`):
until `ridethrough trust FILE` approves one, its names stand for URLs, without headers, variables and programs.

An approval is for this path and these bytes. It is kept in `approved.json` below
`$XDG_STATE_HOME/ridethrough` (`~/.local/state/ridethrough`).";
