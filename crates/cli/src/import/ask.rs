//! Asks servers whether they accept us, before anything is written.
//!
//! Only the server knows whether it wants a login. A server that names its authorization server is imported,
//! and a person logs in afterwards; a server that wants a token and names none is left alone.

use std::time::Duration;

use futures_util::future::join_all;
use ridethrough::credentials::{Challenge, StaticToken, Token};
use ridethrough::error::Kind;
use ridethrough::transport::Endpoint;
use ridethrough::{Client, ClientBuilder, Error, RetryPolicy};
use ridethrough_config::address;
use ridethrough_config::hosts::{ConfigScope, Entry, File, Folders, Reached, RemoteServer, Trust};
use ridethrough_oauth::Account;
use ridethrough_oauth_core::discovery::DiscoveryFailure;
use ridethrough_oauth_core::metadata::MetadataSource;
use secrecy::ExposeSecret;
use tokio::time::timeout;

use super::servers_of;
use crate::oauth::{LoginDemand, NoToken};
use crate::secrets;
use crate::until::{self, Stopped};

/// The answer of a server, or why it was not asked.
#[derive(Debug)]
enum ServerAnswer {
    /// The handshake succeeded.
    Fine,
    /// The server wants a login, and names its authorization server.
    LoginNeeded,
    /// The server refuses the token that it was sent, or wants one and names no authorization server.
    Unauthorized,
    /// The server could not be asked, or gave no usable answer.
    Unknown(String),
}

/// Asks all servers at once, unless a person stops that. A server that stays as it is gets its verdict by `left`, one
/// that a person must log in to by `needs_login`.
pub(super) fn ask<V>(
    asked: Vec<(&mut V, Result<RemoteServer, String>)>,
    left: fn(String) -> V,
    needs_login: fn(&mut V),
) -> anyhow::Result<Option<Stopped>> {
    if asked.is_empty() {
        return Ok(None);
    }
    let count = servers_of(asked.len());
    eprintln!("asking {count} whether they let us in (--offline does not)");
    let (verdicts, servers): (Vec<_>, Vec<_>) = asked.into_iter().unzip();
    let answers = join_all(servers.into_iter().map(|server| async {
        match server {
            Ok(address) => shake_hands(&address).await,
            Err(why) => ServerAnswer::Unknown(why),
        }
    }));
    let answers = match until::stopped(answers)? {
        Ok(answers) => answers,
        Err(stopped) => return Ok(Some(stopped)),
    };
    for (verdict, answer) in verdicts.into_iter().zip(answers) {
        match answer {
            ServerAnswer::Fine => {}
            ServerAnswer::LoginNeeded => needs_login(verdict),
            ServerAnswer::Unauthorized => *verdict = left(UNAUTHORIZED.to_owned()),
            ServerAnswer::Unknown(why) => *verdict = left(format!("it could not be asked: {why}")),
        }
    }
    Ok(None)
}

/// Returns the address to ask, and the headers to send.
///
/// A project's file may have come from anywhere and could send any variable of the environment to any server;
/// looking at it must not do that. Its variables are filled in only if a person named the file.
pub(super) fn address(
    file: &File,
    entry: &Entry,
    folders: &Folders,
) -> Result<RemoteServer, String> {
    let is_trusted = file.place.scope != ConfigScope::Project;
    let trust = if is_trusted { Trust::Full } else { Trust::None };
    match file.reach(entry, folders, trust) {
        Ok(Reached::Remote(address)) => Ok(address),
        Ok(Reached::Local(_)) => Err("it is a local program".to_owned()),
        Err(why) if is_trusted => Err(why.to_string()),
        Err(why) => Err(format!("{why} for a project's file unless you name the file")),
    }
}

async fn shake_hands(address: &RemoteServer) -> ServerAnswer {
    let asking = NoToken::default();
    // The authorization server is reached through the network settings of the server.
    let built = builder(address, &asking).and_then(|builder| {
        let account = address.oauth.oauth().account(&builder).ok();
        let client = builder.build().map_err(|error| error.to_string().replace('\n', " "))?;
        Ok((account, client))
    });
    let (account, client) = match built {
        Ok(built) => built,
        Err(why) => return ServerAnswer::Unknown(why),
    };
    let heard = match timeout(PATIENCE, client.connect()).await {
        Err(_) => ServerAnswer::Unknown(format!("no answer within {} s", PATIENCE.as_secs())),
        Ok(Ok(_)) => ServerAnswer::Fine,
        Ok(Err(error)) if error.kind() == Some(Kind::Unauthorized) => match asking.demand() {
            LoginDemand::Login(challenge)
                if publishes_login(account.as_ref(), challenge.as_ref()).await =>
            {
                ServerAnswer::LoginNeeded
            }
            _ => ServerAnswer::Unauthorized,
        },
        Ok(Err(error)) => ServerAnswer::Unknown(told(&error)),
    };
    // A session that is not ended here expires by itself.
    let _ = timeout(FAREWELL, client.close()).await;
    heard
}

/// Whether the server says where people log in. Faults in that are reported at the login.
async fn publishes_login(account: Option<&Account>, challenge: Option<&Challenge>) -> bool {
    let Some(account) = account else { return false };
    let outlook = timeout(PATIENCE, account.outlook(challenge)).await;
    outlook.is_ok_and(|outlook| match outlook.found {
        Ok(found) => found.server.source == MetadataSource::Document,
        Err(error) => error.failure != DiscoveryFailure::NoMetadata,
    })
}

fn builder(address: &RemoteServer, asking: &NoToken) -> Result<ClientBuilder, String> {
    let shown = address.headers.iter().map(|(name, it)| (name.as_str(), it.expose_secret()));
    let token = address.authorization.iter().map(|it| ("authorization", it.expose_secret()));
    secrets::keep(address.url.expose_secret(), &shown.chain(token).collect::<Vec<_>>());
    let is_bare = address.headers.is_empty() && address.authorization.is_none();
    let endpoint = Endpoint::parse(address.url.expose_secret());
    if !is_bare && endpoint.is_ok_and(|it| !address::is_safe_from_listeners(&it)) {
        return Err("a token or a header would go there in the clear".to_owned());
    }
    let mut builder =
        Client::builder(address.url.expose_secret()).retry_policy(RetryPolicy::never());
    for (name, value) in &address.headers {
        builder = builder.header(name, value.expose_secret());
    }
    let Some(token) = &address.authorization else {
        return Ok(builder.credentials(asking.clone()));
    };
    let token = Token::authorization(token.expose_secret()).map_err(|error| error.to_string())?;
    Ok(builder.credentials(StaticToken::from(token)))
}

/// Returns what went wrong, in one line and in our own words.
fn told(error: &Error) -> String {
    match error {
        Error::Server(answer) => format!("it answered with error {}", answer.rpc.code),
        error => error.to_string().replace('\n', " "),
    }
}

const UNAUTHORIZED: &str =
    "it wants authorization, and does not say where one logs in: it stays as it is";
/// How long a server may take. A server that is up answers sooner, and a person waits.
const PATIENCE: Duration = Duration::from_secs(5);
const FAREWELL: Duration = Duration::from_secs(1);
