//! The way to a server of the config file: a URL with what it must be shown, or a program.

use std::env;

use ridethrough::credentials::{StaticToken, Token};
use ridethrough::transport::Endpoint;
use ridethrough::{Client, ClientBuilder};
use ridethrough_config::address;
use ridethrough_config::gateway::LoginOf;
use ridethrough_config::hosts::{Program, Reached, RemoteServer};
use ridethrough_config::login::TheirArguments;
use ridethrough_gateway::Connect;
use ridethrough_oauth::{Account, OAuth};
use ridethrough_terminal::stray_line::StrayLine;
use secrecy::{ExposeSecret, SecretString};

use crate::oauth::MaskedAccount;
use crate::secrets;
use crate::server::target;

/// How a server is reached.
pub(super) struct ServerWay {
    reached: Reached,
    login: LoginOf,
}

impl ServerWay {
    pub(super) const fn new(reached: Reached, login: LoginOf) -> Self {
        Self { reached, login }
    }
}

impl Connect for ServerWay {
    fn builder(&self) -> Result<ClientBuilder, String> {
        match &self.reached {
            Reached::Local(program) => {
                Ok(target::spawn(&supervised(program), StrayLine::default()))
            }
            Reached::Remote(address) => remote(address, self.login),
        }
    }

    fn principal_login(&self) -> Option<OAuth> {
        match (&self.reached, self.login) {
            (Reached::Remote(address), LoginOf::Principal) => Some(address.oauth.oauth()),
            _ => None,
        }
    }

    fn with_account(&self, builder: ClientBuilder, account: Account) -> ClientBuilder {
        builder.credentials(MaskedAccount(account))
    }

    fn is_local(&self) -> bool {
        matches!(self.reached, Reached::Local(_))
    }

    fn fingerprint(&self) -> String {
        let pairs = |all: &[(String, SecretString)]| -> Vec<(String, String)> {
            all.iter().map(|(name, it)| (name.clone(), it.expose_secret().to_owned())).collect()
        };
        match &self.reached {
            Reached::Local(Program { command, args, env, cwd }) => {
                let args: Vec<_> = args.iter().map(ExposeSecret::expose_secret).collect();
                format!("{:?}", (command, args, pairs(env), cwd))
            }
            Reached::Remote(address) => {
                let authorization = address.authorization.as_ref().map(ExposeSecret::expose_secret);
                let (url, profile) = (address.url.expose_secret(), &address.oauth.profile);
                let headers = pairs(&address.headers);
                format!("{:?}", (url, authorization, headers, profile, self.login))
            }
        }
    }
}

/// The program behind our own supervisor, which leaves nothing of it when the gateway is gone.
fn supervised(program: &Program) -> Program {
    let Program { command, args, env, cwd } = program;
    let (env, cwd) = (env.clone(), cwd.clone());
    let ours = env::current_exe().ok().and_then(|it| it.to_str().map(str::to_owned));
    let Some(ours) = ours else {
        return Program { command: command.clone(), args: args.clone(), env, cwd };
    };
    let before = ["supervise", "--", command].map(SecretString::from);
    let args = before.into_iter().chain(args.iter().cloned()).collect();
    Program { command: ours, args, env, cwd }
}

fn remote(address: &RemoteServer, login: LoginOf) -> Result<ClientBuilder, String> {
    let url = address.url.expose_secret();
    let shown = address.headers.iter().map(|(name, it)| (name.as_str(), it.expose_secret()));
    let token = address.authorization.iter().map(|it| ("authorization", it.expose_secret()));
    secrets::keep(url, &shown.chain(token).collect::<Vec<_>>());
    let is_bare = address.headers.is_empty() && address.authorization.is_none();
    if !is_bare && Endpoint::parse(url).is_ok_and(|it| !address::is_safe_from_listeners(&it)) {
        return Err("a token or a header would go there in the clear".to_owned());
    }
    let mut builder = Client::builder(url);
    for (name, value) in &address.headers {
        builder = builder.header(name, value.expose_secret());
    }
    if let Some(token) = &address.authorization {
        let token =
            Token::authorization(token.expose_secret()).map_err(|error| error.to_string())?;
        return Ok(builder.credentials(StaticToken::from(token)));
    }
    if login == LoginOf::Principal {
        // Each principal has an account of its own.
        return Ok(builder);
    }
    // A login that was made by `ridethrough login`, or else by `mcp-remote`, is used; none is begun.
    let theirs = address.theirs.as_deref().cloned();
    let theirs = theirs.unwrap_or_else(|| TheirArguments::of(url, &address.oauth, &[]));
    let oauth = match theirs.store() {
        Some(store) => address.oauth.oauth().mcp_remote(store),
        None => address.oauth.oauth(),
    };
    Ok(match oauth.account(&builder) {
        Ok(account) => builder.credentials(MaskedAccount(account)),
        Err(_) => builder,
    })
}
