//! `ridethrough auth move`: moves a login off this machine, or onto it.
//!
//! A login is moved and not copied. Most servers replace the refresh token at each renewal and end the login
//! of a client that shows the old one, so two holders would log each other out. So the login is deleted here
//! before it is handed out; if it cannot be written there, it is put back.

use std::fs;
use std::io::{self, IsTerminal, Read, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result};
use ridethrough_config::platform;
use ridethrough_oauth::store::{FileStore, GrantStore, Swap};
use ridethrough_oauth::{GrantStatus, Secret, Timestamp};
use ridethrough_oauth_core::HttpUrl;
use ridethrough_oauth_core::store::{AccountKey, GrantRecord};
use secrecy::ExposeSecret;

use crate::ending::exit::Exit;
use crate::misuse::Misuse;
use crate::safe;
use crate::server::target;
use crate::talk::ending;
use crate::until;

/// The arguments of `ridethrough auth move`.
#[derive(clap::Args)]
#[command(after_long_help = AFTER)]
pub(crate) struct MoveArgs {
    /// The server whose login leaves this machine: a URL, or its name in the config file of an MCP host
    #[arg(value_name = "NAME|URL", required_unless_present = "from", conflicts_with = "from")]
    server: Option<String>,
    /// Write it to this file, which only you can read, instead of stdout
    #[arg(long, value_name = "FILE", conflicts_with = "from")]
    to: Option<PathBuf>,
    /// Take in a login from this file, which is deleted then; `-` is stdin
    #[arg(long, value_name = "FILE")]
    from: Option<PathBuf>,
    /// The account, if you have several at this server
    #[arg(long, value_name = "NAME", conflicts_with = "from")]
    profile: Option<String>,
    /// Take it in although a login is here that is good
    #[arg(long, requires = "from")]
    force: bool,
}

pub(crate) fn play(args: &MoveArgs) -> Result<ExitCode> {
    let moved = until::stopped(async {
        match (&args.server, &args.from) {
            (Some(word), _) => give(args, word).await,
            (None, Some(from)) => take(from, args.force).await,
            (None, None) => unreachable!("one of them is required"),
        }
    })?;
    match moved {
        Ok(moved) => ending::tell(moved.map(ExitCode::from), false),
        Err(stopped) => {
            Ok(stopped.tell("`ridethrough auth status` shows whether the login is here"))
        }
    }
}

/// Hands out a login of this machine.
async fn give(args: &MoveArgs, word: &str) -> Result<Exit> {
    let account = account(word, args.profile.clone().unwrap_or_default())?;
    if args.to.is_none() && io::stdout().is_terminal() {
        return Err(on_terminal().into());
    }
    let store = FileStore::new()?;
    let lock = store.lock(&account).await?;
    let record = store.load(&account).await?.filter(|record| record.tokens.is_some());
    let Some(record) = record else { return Err(nobody(word).into()) };
    // Deleted first: a command that is stopped half way leaves one login or none, never two.
    store.compare_and_swap(&lock, Some(&record), None).await?;
    if let Err(error) = write(args.to.as_deref(), &record.write()) {
        store.compare_and_swap(&lock, None, Some(&record)).await?;
        return Err(error.context("the login could not be written, and is still here"));
    }
    let place = args.to.as_ref().map_or("stdout".to_owned(), |path| path.display().to_string());
    let words = format!(
        "the login at {} is in {place} and not here any more; take it in on the other machine with `ridethrough \
         auth move --from FILE`, and show the file to nobody",
        record.server_url
    );
    eprintln!("{}", safe::our_line(&words));
    Ok(Exit::Done)
}

/// Takes a login in.
async fn take(from: &Path, is_forced: bool) -> Result<Exit> {
    let text = read(from)?;
    let record =
        GrantRecord::read(text.expose()).map_err(|error| no_login(from, &error.to_string()))?;
    let url = HttpUrl::parse(&record.server_url)
        .map_err(|error| no_login(from, &format!("its server cannot be used: {error}")))?;
    let account = AccountKey::new(&url, record.key.profile.clone());
    let store = FileStore::new()?;
    let lock = store.lock(&account).await?;
    let found = store.load(&account).await?;
    if !is_forced && is_usable(found.as_ref()) {
        return Err(Misuse {
            what: format!("there is a login at {} here already, and it is good", record.server_url),
            tried: "both were compared; nothing was changed".to_owned(),
            hint: "`--force` takes the other one in its place; `ridethrough logout` ends this one"
                .to_owned(),
        }
        .into());
    }
    if let Swap::Conflict(_) = store.compare_and_swap(&lock, found.as_ref(), Some(&record)).await? {
        anyhow::bail!(
            "another program changed the login at {} meanwhile: try again",
            record.server_url
        );
    }
    // The file that is left behind would be a second holder.
    if from != Path::new("-") {
        fs::remove_file(from).with_context(|| {
            format!("the login is here; delete `{}` yourself: it holds it, too", from.display())
        })?;
    }
    eprintln!("{}", safe::our_line(&format!("the login at {} is here now", record.server_url)));
    Ok(Exit::Done)
}

fn account(word: &str, profile: String) -> Result<AccountKey> {
    let target = target::resolve(word)?;
    let url = target.address().and_then(|it| HttpUrl::parse(it.url.expose_secret()).ok());
    let own = target.address().and_then(|it| it.oauth.profile.clone()).unwrap_or_default();
    let profile = if profile.is_empty() { own } else { profile };
    let url = url.ok_or_else(|| nobody(word))?;
    Ok(AccountKey::new(&url, profile))
}

fn is_usable(record: Option<&GrantRecord>) -> bool {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let status = GrantStatus::of(record, Timestamp::from_unix_secs(now.as_secs()));
    matches!(status, GrantStatus::ExpiredRefreshable | GrantStatus::Expiring | GrantStatus::Ok)
}

fn write(to: Option<&Path>, text: &Secret) -> Result<()> {
    let Some(path) = to else {
        let mut out = io::stdout().lock();
        out.write_all(text.expose().as_bytes()).and_then(|()| out.write_all(b"\n"))?;
        return Ok(out.flush()?);
    };
    let mut options = fs::OpenOptions::new();
    options.write(true).create_new(true);
    platform::for_owner_only(&mut options);
    let mut file = options.open(path).with_context(|| {
        format!("`{}` could not be made; it must not be there yet", path.display())
    })?;
    file.write_all(text.expose().as_bytes())?;
    Ok(file.sync_all()?)
}

fn read(from: &Path) -> Result<Secret> {
    let mut text = String::new();
    if from == Path::new("-") {
        io::stdin().take(LONGEST).read_to_string(&mut text).context("stdin could not be read")?;
    } else {
        let file = fs::File::open(from);
        let read = file.and_then(|file| file.take(LONGEST).read_to_string(&mut text));
        read.with_context(|| format!("`{}` could not be read", from.display()))?;
    }
    Ok(Secret::new(text))
}

fn no_login(from: &Path, why: &str) -> Misuse {
    Misuse {
        what: format!("`{}` holds no login that can be taken in: {why}", from.display()),
        tried: "it was read; nothing was changed".to_owned(),
        hint: "name a file that `ridethrough auth move NAME --to FILE` wrote".to_owned(),
    }
}

fn nobody(word: &str) -> Misuse {
    Misuse {
        what: format!("nobody is logged in to {} here", safe::line(word)),
        tried: "the logins that are kept here were looked through; nothing was changed".to_owned(),
        hint: "`ridethrough auth status` lists them, with the profile of each".to_owned(),
    }
}

fn on_terminal() -> Misuse {
    Misuse {
        what: "the login would be shown on the terminal".to_owned(),
        tried: "stdout was looked at; nothing was changed".to_owned(),
        hint: "write it to a file with `--to FILE`, or into a pipe: `ridethrough auth move NAME | ssh HOST \
               ridethrough auth move --from -`"
            .to_owned(),
    }
}

/// The most bytes that are read. A record has a few kilobytes.
const LONGEST: u64 = 1 << 20;
const AFTER: &str = "\
Examples:
  ridethrough auth move github | ssh build-host ridethrough auth move --from -
  ridethrough auth move github --to login.json      and there: ridethrough auth move --from login.json

The login is deleted where it leaves: two machines that renew one login log each other out.

Exit codes: 0 moved; 1 a file cannot be read or written; 2 wrong usage, nobody is logged in, or a good login
is here already.";
