//! The `ridethrough` binary: commands and exit codes. `main.rs` only calls [`main`]; the rest is a library so
//! that checks outside of this crate can reach it. It is not an API: nothing here is promised.
//!
//! stdout is data, stderr is for people. Exit codes are in `exit`; those of `demo` and `lab` are the lab's own.
//! `bridge` ends with 0 when its host leaves; it, `expose` and `gateway` end with 130 or 143 when a signal ends
//! them.
//!
//! `expose`, `gateway`, `status` and `supervise` depend on process groups and Unix sockets throughout, so they exist as
//! a whole or not at all, and a module can be left out only where it is declared. On other platforms their
//! place is taken by a module in `platform` that refuses.

mod account;
mod bridge;
mod check;
mod choices;
mod consent;
mod ending;
#[cfg(unix)]
mod expose;
#[cfg(unix)]
mod gateway;
mod gateway_secrets;
mod import;
mod oauth;
mod options;
mod platform;
mod server;
mod shell;
#[cfg(unix)]
mod status;
#[cfg(unix)]
mod supervise;
mod talk;
mod wrong_usage;

use std::env;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::{self, ExitCode};

use anyhow::{Context, Result};
use clap::{CommandFactory, Parser, Subcommand};

pub use import::rehearse;
pub use talk::{SchemaRehearsal, rehearse_schema};

use account::{AuthCommand, auth, login, logout};
use ending::exit::{self, Exit};
use misuse::Misuse;
#[cfg(not(unix))]
use platform::{expose, gateway, status, supervise};
use ridethrough_terminal::{misuse, near, out, safe, secrets, until};
use server::{program, servers};
use wrong_usage::unknown_flag;

/// MCP connections that ride through faults.
#[derive(Parser)]
#[command(name = "ridethrough", version, arg_required_else_help = true, after_long_help = exit::TABLE)]
struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Looks after the logins that are kept on this machine.
    #[command(subcommand)]
    Auth(AuthCommand),
    /// Is an MCP server on stdin and stdout, in front of a remote one: a drop-in for `npx mcp-remote`.
    Bridge(Box<bridge::BridgeArgs>),
    #[command(flatten)]
    Talk(talk::TalkCommand),
    /// Looks at a server from outside, and says what to do about what it finds.
    ///
    /// Reach, revisions, sessions, streams, speed, safety, tools: what each means for a client of ours.
    /// It never calls a tool, tries everything once, and gives back the sessions that it opened.
    Check(check::CheckArgs),
    /// Answers completion scripts.
    #[command(subcommand, hide = true)]
    Complete(shell::CompletionKind),
    /// Prints what a shell needs to complete these commands.
    Completions(shell::CompletionsArgs),
    /// Breaks a server in five ways before your eyes, and shows what the client does about it.
    ///
    /// It is a part of the lab, `ridethrough-lab demo`, which lies beside this program.
    #[command(disable_help_flag = true)]
    Demo(LabArgs),
    /// Is a Streamable HTTP server in front of a local one on stdio, for any number of clients.
    Expose(expose::ExposeArgs),
    /// Is one MCP endpoint in front of all your servers: paste the config file of any MCP host.
    Gateway(Box<gateway::GatewayArgs>),
    /// Puts our bridge in place of `mcp-remote` and others in the config files of MCP hosts.
    Import(import::ImportArgs),
    /// Breaks MCP clients in exact ways, and says how they take it.
    ///
    /// The lab is a program of its own, `ridethrough-lab`, which lies beside this one: its words follow.
    #[command(disable_help_flag = true)]
    Lab(LabArgs),
    /// Logs you in to a server by a browser, once.
    ///
    /// The login is kept for every command and every bridge of yours on this machine, and renewed while it
    /// is used.
    Login(Box<login::LoginArgs>),
    /// Logs you out of a server: revokes the login, and deletes it here.
    Logout(Box<logout::LogoutArgs>),
    /// Prints the manual, for `man`.
    Man(shell::ManArgs),
    /// Lists the servers that are known by name here, and which file says so.
    Servers(servers::ServersArgs),
    /// Shows the bridges and gateways that run on this machine, and how they and their servers are.
    Status(status::StatusArgs),
    /// Stands between `expose` and a server, so that nothing of it is left when `expose` is gone.
    #[command(hide = true)]
    Supervise(supervise::SuperviseArgs),
    /// Approves the `ridethrough.toml` of a project, as it is.
    Trust(consent::TrustArgs),
}

/// Runs the command line.
pub fn main() -> ExitCode {
    let played = match program::fold(env::args_os()) {
        Ok(words) => parse(words).and_then(|args| play(args.command)),
        Err(misuse) => Err(misuse.into()),
    };
    played.unwrap_or_else(|error| match error.downcast::<Misuse>() {
        Ok(misuse) => {
            // The message contains names from files and arguments.
            eprintln!("{}", safe::our_text(&misuse.to_string()));
            Exit::Usage.into()
        }
        Err(error) => {
            eprintln!("error: {}", safe::our_text(&format!("{error:#}")));
            Exit::Failure.into()
        }
    })
}

/// Reads the command line. If that fails the process ends; the error goes to stdout too where a program reads
/// it.
fn parse(words: Vec<OsString>) -> Result<Args> {
    let is_json = words.iter().any(|it| it == "--json");
    let error = match Args::try_parse_from(&words) {
        Ok(args) => return Ok(args),
        Err(error) => unknown_flag::explained(error, &words),
    };
    if is_json && error.use_stderr() {
        let message = safe::our_text(&error.render().to_string());
        talk::ending::print_misuse(message.trim_end())?;
    }
    error.exit()
}

fn play(command: Command) -> Result<ExitCode> {
    match command {
        Command::Auth(command) => auth(&command),
        Command::Bridge(args) => bridge::play(&args),
        Command::Talk(command) => talk::play(&command),
        Command::Check(args) => check::play(&args),
        Command::Complete(command) => shell::complete(&command),
        Command::Completions(args) => shell::completions(&args, Args::command()),
        Command::Demo(args) => play_lab(Some("demo"), &args),
        Command::Expose(args) => expose::play(&args),
        Command::Gateway(args) => gateway::play(&args),
        Command::Import(args) => import::play(&args),
        Command::Lab(args) => play_lab(None, &args),
        Command::Login(args) => login::play(&args),
        Command::Logout(args) => logout::play(&args),
        Command::Man(args) => shell::man(&args, Args::command()),
        Command::Servers(args) => servers::play(&args),
        Command::Status(args) => status::play(&args),
        Command::Supervise(args) => supervise::play(&args),
        Command::Trust(args) => consent::play(&args),
    }
}

/// Words for the lab, which reads them itself.
#[derive(clap::Args)]
struct LabArgs {
    /// What the lab is asked; `--help` lists it
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGS")]
    words: Vec<OsString>,
}

/// Runs the lab in place of this program, as far as a caller can tell.
fn play_lab(command: Option<&str>, args: &LabArgs) -> Result<ExitCode> {
    let lab = find_lab().ok_or_else(|| Misuse {
        what: format!("there is no `{LAB}` beside this program"),
        tried: "it was looked for in the folder of this program, and in those of `PATH`".to_owned(),
        hint: "packages of ridethrough carry it; from the sources: `cargo install --locked --path lab/program`"
            .to_owned(),
    })?;
    let mut child = process::Command::new(&lab);
    child.args(command).args(&args.words);
    // What ends this program, a terminal sends to both.
    let ended = child.status().with_context(|| format!("starting `{}`", lab.display()))?;
    Ok(ended
        .code()
        .and_then(|code| u8::try_from(code).ok())
        .map_or(ExitCode::FAILURE, ExitCode::from))
}

fn find_lab() -> Option<PathBuf> {
    let name = format!("{LAB}{}", env::consts::EXE_SUFFIX);
    let beside = env::current_exe().ok().map(|us| us.with_file_name(&name));
    let path = env::var_os("PATH").unwrap_or_default();
    let on_path = env::split_paths(&path).map(|folder| folder.join(&name));
    beside.into_iter().chain(on_path).find(|it| it.is_file())
}

/// The fault lab, a program of its own that lies beside this one.
const LAB: &str = "ridethrough-lab";
