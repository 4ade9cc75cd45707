//! `ridethrough logout`: ends a login at its issuer, and deletes it here.

use std::process::ExitCode;

use anyhow::{Context, Result};
use ridethrough_config::login::OAuthSettings;
use ridethrough_oauth::store::FileStore;
use ridethrough_oauth::{Account, KeepClient, LoggedOut};
use serde::Serialize;

use crate::ending::exit::Exit;
use crate::misuse::Misuse;
use crate::options::{Options, Settings};
use crate::safe;
use crate::server::target;
use crate::talk::ending;
use crate::{out, until};

/// The arguments of `ridethrough logout`.
#[derive(clap::Args)]
#[command(after_long_help = AFTER, mut_arg("profile", |it| it.help(PROFILE).hide_short_help(false)))]
pub(crate) struct LogoutArgs {
    /// The server: a URL, or its name in the config file of an MCP host
    #[arg(value_name = "NAME|URL", required_unless_present = "all", conflicts_with = "all")]
    server: Option<String>,
    /// End every login that is kept here
    #[arg(long)]
    all: bool,
    /// Forget the client that was registered for it, too: the next login registers a new one
    #[arg(long)]
    client: bool,
    /// Print JSON for machines; errors too
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    options: Options,
}

/// The outcome for one login.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct LogoutTold {
    server: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    profile: String,
    was_logged_in: bool,
    is_revoked: bool,
    /// Why the login was not revoked at the issuer, if it was not.
    not_revoked: Option<String>,
}

pub(crate) fn play(args: &LogoutArgs) -> Result<ExitCode> {
    ending::tell(log_out(args), args.json)
}

fn log_out(args: &LogoutArgs) -> Result<ExitCode> {
    let settings = args.options.settings()?;
    let done = until::stopped(async {
        let mut told = Vec::new();
        for (server, profile, account) in accounts(args, &settings)? {
            let keep = if args.client { KeepClient::No } else { KeepClient::Yes };
            let done = account.log_out(keep).await;
            let done =
                done.with_context(|| format!("the login at {server} could not be deleted"))?;
            told.push(LogoutTold::of(server, profile, done));
        }
        anyhow::Ok(told)
    })?;
    let told = match done {
        Ok(told) => told?,
        Err(stopped) => return Ok(stopped.tell("`ridethrough auth status` shows what is left")),
    };
    if args.json {
        let json = serde_json::to_string(&told)?;
        return out::print(|out| writeln!(out, "{}", out::json(&safe::our_json(&json))));
    }
    told.iter().for_each(|it| eprintln!("{}", safe::our_line(&it.words())));
    if told.is_empty() {
        eprintln!("nobody is logged in anywhere: there is nothing to end");
    }
    Ok(Exit::Done.into())
}

/// Returns the accounts to log out of, each with its server and profile.
fn accounts(args: &LogoutArgs, settings: &Settings) -> Result<Vec<(String, String, Account)>> {
    let Some(word) = &args.server else { return all(settings) };
    let target = target::resolve(word)?;
    let address = target.address().ok_or_else(|| nowhere(&target.to_string()))?;
    let oauth = settings.oauth_at(address);
    let builder = settings.begin(&target, settings.policy.recovery().builder())?;
    let account = settings.account(settings.login_at(address), &builder)?;
    let account = account.ok_or_else(|| nowhere(&target.to_string()))?;
    Ok(vec![(target.word(), oauth.profile.unwrap_or_default(), account)])
}

/// Returns every stored account. A record that cannot be read is reported, and left alone.
fn all(settings: &Settings) -> Result<Vec<(String, String, Account)>> {
    let mut accounts = Vec::new();
    for (path, record) in FileStore::new()?.records()? {
        let record = match record {
            Ok(record) => record,
            Err(error) => {
                let path = path.display();
                eprintln!("{}", safe::our_line(&format!("warning: {path} is left: {error}")));
                continue;
            }
        };
        let oauth =
            OAuthSettings { profile: Some(record.key.profile.clone()), ..OAuthSettings::default() };
        let target = target::resolve(&record.server_url)?;
        let builder = settings.begin(&target, settings.policy.recovery().builder())?;
        if let Some(account) = settings.account(oauth.oauth(), &builder)? {
            accounts.push((record.server_url, record.key.profile, account));
        }
    }
    Ok(accounts)
}

impl LogoutTold {
    fn of(server: String, profile: String, done: LoggedOut) -> Self {
        let (was_logged_in, not_revoked) = match done {
            LoggedOut::Done { not_revoked } => (true, not_revoked),
            LoggedOut::NobodyWasLoggedIn => (false, None),
        };
        let not_revoked = not_revoked.map(|it| safe::line(&it));
        let is_revoked = was_logged_in && not_revoked.is_none();
        Self { server, profile, was_logged_in, is_revoked, not_revoked }
    }

    fn words(&self) -> String {
        let who =
            if self.profile.is_empty() { String::new() } else { format!(" as {}", self.profile) };
        let server = &self.server;
        match &self.not_revoked {
            _ if !self.was_logged_in => format!("nobody was logged in to {server}{who}"),
            None => {
                format!("logged out of {server}{who}: the tokens are revoked, and deleted here")
            }
            Some(why) => format!(
                "logged out of {server}{who}: the tokens are deleted here, and not revoked ({why}): where \
                 somebody else has them they are good until they end"
            ),
        }
    }
}

fn nowhere(target: &str) -> Misuse {
    Misuse {
        what: format!("nobody can be logged in to {target}"),
        tried: "the word was read; nothing was sent".to_owned(),
        hint: "`ridethrough auth status` lists the logins that are kept here".to_owned(),
    }
}

const PROFILE: &str = "The account to log out of, if you have several at this server";
const AFTER: &str = "\
The tokens are revoked where the authorization server knows how to, and deleted here whether or not
it does. The client that was registered for the login is kept, unless `--client` is there.

Exit codes: 0 done, or nobody was logged in; 1 a file cannot be deleted; 2 wrong usage.";
