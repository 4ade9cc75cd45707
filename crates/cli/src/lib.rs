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
mod beside;
mod bridge;
mod check;
mod consent;
mod ending;
#[cfg(unix)]
mod expose;
#[cfg(unix)]
mod gateway;
mod gateway_token;
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

use std::ffi::OsString;
use std::process::ExitCode;

use anyhow::Result;
use clap::{CommandFactory, Parser, Subcommand};

pub use import::rehearse;
pub use talk::{SchemaRehearsal, rehearse_schema};

use account::{auth, login, logout};
use consent::trust;
use ending::exit::{self, Exit};
use misuse::Misuse;
#[cfg(not(unix))]
use platform::{expose, gateway, status, supervise};
use ridethrough_terminal::{misuse, near, out, safe, secrets, until};
use server::{program, servers};
use shell::{complete, completions, man};
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
    Auth(auth::AuthCommand),
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
    Complete(complete::CompletionKind),
    /// Prints what a shell needs to complete these commands.
    Completions(completions::CompletionsArgs),
    /// Breaks a server in five ways before your eyes, and shows what the client does about it.
    ///
    /// It is a part of the lab, `ridethrough-lab demo`, which lies beside this program.
    #[command(disable_help_flag = true)]
    Demo(beside::LabArgs),
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
    Lab(beside::LabArgs),
    /// Logs you in to a server by a browser, once.
    ///
    /// The login is kept for every command and every bridge of yours on this machine, and renewed while it
    /// is used.
    Login(Box<login::LoginArgs>),
    /// Logs you out of a server: revokes the login, and deletes it here.
    Logout(Box<logout::LogoutArgs>),
    /// Prints the manual, for `man`.
    Man(man::ManArgs),
    /// Lists the servers that are known by name here, and which file says so.
    Servers(servers::ServersArgs),
    /// Shows the bridges and gateways that run on this machine, and how they and their servers are.
    Status(status::StatusArgs),
    /// Stands between `expose` and a server, so that nothing of it is left when `expose` is gone.
    #[command(hide = true)]
    Supervise(supervise::SuperviseArgs),
    /// Approves the `ridethrough.toml` of a project, as it is.
    Trust(trust::TrustArgs),
}

/// Runs the command line.
pub fn main() -> ExitCode {
    let played = match program::fold(std::env::args_os()) {
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
        Command::Auth(command) => auth::play(&command),
        Command::Bridge(args) => bridge::play(&args),
        Command::Talk(command) => talk::play(&command),
        Command::Check(args) => check::play(&args),
        Command::Complete(command) => complete::play(&command),
        Command::Completions(args) => completions::play(&args, Args::command()),
        Command::Demo(args) => beside::play(Some("demo"), &args),
        Command::Expose(args) => expose::play(&args),
        Command::Gateway(args) => gateway::play(&args),
        Command::Import(args) => import::play(&args),
        Command::Lab(args) => beside::play(None, &args),
        Command::Login(args) => login::play(&args),
        Command::Logout(args) => logout::play(&args),
        Command::Man(args) => man::play(&args, Args::command()),
        Command::Servers(args) => servers::play(&args),
        Command::Status(args) => status::play(&args),
        Command::Supervise(args) => supervise::play(&args),
        Command::Trust(args) => trust::play(&args),
    }
}
