//! Logins of a person: made, kept, listed and given back.

mod export;
pub(crate) mod login;
pub(crate) mod logout;

use std::io::Write;
use std::process::ExitCode;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::Result;
use clap::Subcommand;
use ridethrough_check::GrantShown;
use ridethrough_oauth::store::FileStore;
use ridethrough_oauth::{GrantStatus, Status, Timestamp};
use ridethrough_oauth_core::HttpUrl;
use secrecy::ExposeSecret;
use serde::Serialize;

use crate::ending::exit::Exit;
use crate::misuse::Misuse;
use crate::out;
use crate::safe::{self, quoted};
use crate::server::target;
use crate::talk::ending;

/// The subcommands of `ridethrough auth`.
#[derive(Subcommand)]
pub(crate) enum AuthCommand {
    /// Takes a login to another machine: out of this one, into that one.
    Move(export::MoveArgs),
    /// Shows the logins that are kept here, and their state; no server is asked.
    Status(AuthStatusArgs),
}

pub(crate) fn auth(command: &AuthCommand) -> Result<ExitCode> {
    match command {
        AuthCommand::Move(args) => export::play(args),
        AuthCommand::Status(args) => show_logins(args),
    }
}

/// The arguments of `ridethrough auth status`.
#[derive(clap::Args)]
#[command(after_long_help = AFTER)]
pub(crate) struct AuthStatusArgs {
    /// Only this server: a URL, or its name in the config file of an MCP host
    #[arg(value_name = "NAME|URL")]
    server: Option<String>,
    /// Only the account of this name
    #[arg(long, value_name = "NAME")]
    profile: Option<String>,
    /// Print a JSON array for machines; errors too
    #[arg(long)]
    json: bool,
}

/// One login as it is shown.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct LoginShown {
    server: String,
    #[serde(flatten)]
    grant: GrantShown,
    /// Whether calls are accepted without a person.
    is_usable: bool,
    /// The command that logs in again, if a person must.
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<String>,
}

fn show_logins(args: &AuthStatusArgs) -> Result<ExitCode> {
    ending::tell(show(args), args.json)
}

fn show(args: &AuthStatusArgs) -> Result<ExitCode> {
    let wanted = args.server.as_deref().map(wanted_url).transpose()?;
    let (shown, unreadable) = stored(wanted.as_deref(), args.profile.as_deref())?;
    out::print(|out| {
        if args.json {
            let json = serde_json::to_string(&shown)?;
            return writeln!(out, "{}", out::json(&safe::our_json(&json)));
        }
        shown.iter().try_for_each(|login| tell(out, login))
    })?;
    for line in &unreadable {
        eprintln!("{}", safe::our_line(line));
    }
    if shown.is_empty() && !args.json {
        let whom = args.server.as_deref().map_or_else(
            || "anywhere: `ridethrough login NAME|URL` logs you in".to_owned(),
            |word| format!("there: `ridethrough login {}` logs you in", quoted(word)),
        );
        eprintln!("{}", safe::our_line(&format!("nobody is logged in {whom}")));
    }
    let is_absent = shown.is_empty() && wanted.is_some();
    let is_needed = shown.iter().any(|login| !login.is_usable);
    Ok(match () {
        () if is_needed || is_absent => Exit::Unauthorized.into(),
        () if !unreadable.is_empty() => Exit::Failure.into(),
        () => Exit::Done.into(),
    })
}

/// Returns the URL of a server, as logins are stored by it.
fn wanted_url(word: &str) -> Result<String, Misuse> {
    let target = target::resolve(word)?;
    let url = target.address().map(|address| address.url.expose_secret().to_owned());
    let url = url.and_then(|url| HttpUrl::parse(&url).ok());
    let url = url.map(|url| url.without_query().to_owned());
    url.ok_or_else(|| Misuse {
        what: format!("nobody can be logged in to {target}"),
        tried: "the word was read; nothing was sent".to_owned(),
        hint: "`ridethrough auth status` without it lists all logins".to_owned(),
    })
}

/// Returns the logins that were asked for, and the files that cannot be read.
fn stored(url: Option<&str>, profile: Option<&str>) -> Result<(Vec<LoginShown>, Vec<String>)> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let now = Timestamp::from_unix_secs(now.as_secs());
    let (mut shown, mut unreadable) = (Vec::new(), Vec::new());
    for (path, record) in FileStore::new()?.records()? {
        match record {
            Err(error) => unreadable.push(format!("warning: {}: {error}", path.display())),
            Ok(record) => {
                let is_wanted = url.is_none_or(|url| url == record.server_url)
                    && profile.is_none_or(|profile| profile == record.key.profile);
                // A record that a logout left of a client is not a login.
                if is_wanted && record.tokens.is_some() {
                    let status = Status::of(Some(&record), now);
                    shown.push(LoginShown::of(record.server_url, record.key.profile, &status));
                }
            }
        }
    }
    Ok((shown, unreadable))
}

impl LoginShown {
    fn of(server: String, profile: String, status: &Status) -> Self {
        let is_usable = matches!(
            status.status,
            GrantStatus::ExpiredRefreshable | GrantStatus::Expiring | GrantStatus::Ok
        );
        let named = if profile.is_empty() {
            String::new()
        } else {
            format!(" --profile {}", quoted(&profile))
        };
        let hint = (!is_usable).then(|| format!("ridethrough login {}{named}", quoted(&server)));
        Self { server, grant: GrantShown::of(status, profile), is_usable, hint }
    }
}

fn tell(out: &mut dyn Write, login: &LoginShown) -> std::io::Result<()> {
    let grant = &login.grant;
    let who = grant.who();
    let issuer = grant.issuer.as_deref().unwrap_or("nobody");
    let client = grant.client.unwrap_or("unknown");
    let line = |text: &str| safe::our_line(text);
    writeln!(out, "{}", line(&format!("{}{who}: {}", login.server, grant.status)))?;
    writeln!(out, "    {}", line(&format!("issued by {issuer}; client {client}")))?;
    writeln!(out, "    {}", line(&grant.words()))?;
    match &login.hint {
        Some(hint) => writeln!(out, "    {}", line(&format!("log in again: {hint}"))),
        None => Ok(()),
    }
}

const AFTER: &str = "\
A login is one of:
  ok                   its access token is good
  expiring             it is good for a little while, and cannot be renewed
  expired-refreshable  it has ended; the next call renews it
  login-needed         somebody must log in again
  client-dead          the authorization server has forgotten the client: log in again
  no-auth              nobody has logged in, or the server asks for no login; such servers are not listed

Exit codes: 0 every login that is listed is usable; 1 a file cannot be read; 2 wrong usage; 5 a login is needed,
or nobody is logged in to the server that was named.";
