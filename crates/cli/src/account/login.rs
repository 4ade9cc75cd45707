//! `ridethrough login`: a person logs in to a server, once.
//!
//! The first request goes out without a token: the refusal names the authorization server. For a server that
//! asks for no login nothing is opened. After the login one request proves that the server accepts the token.
//! Tokens, codes and secrets are never shown.

mod failure;
mod person;
mod told;

use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Result;
use ridethrough::ClientBuilder;
use ridethrough_config::login::LoginFlow;
use ridethrough_oauth::Account;
use ridethrough_terminal::stderr::Terminal;

use crate::ending::exit::Exit;
use crate::ending::next_step::Spoken;
use crate::misuse::Misuse;
use crate::oauth::{LoginDemand, MaskedAccount, NoToken, OAuthFlags};
use crate::options::{Options, Settings, finish};
use crate::safe;
use crate::server::target::{self, Target};
use crate::talk::ending::{self, With};
use crate::until;

use person::{LoginPerson, Opens};
use told::{LoginTold, Proof};

/// The arguments of `ridethrough login`.
#[derive(clap::Args)]
#[command(after_long_help = AFTER, mut_arg("profile", |it| it.help(PROFILE).hide_short_help(false)))]
pub(crate) struct LoginArgs {
    /// The server: a URL such as `https://example.com/mcp`, or its name in the config file of an MCP host
    #[arg(value_name = "NAME|URL")]
    server: String,
    /// Open no browser: print the URL, and take the URL that the browser was sent back to, pasted
    #[arg(long, conflicts_with = "device")]
    no_browser: bool,
    /// Log in on another device: print a code to type in there
    #[arg(long)]
    device: bool,
    /// Register a new client, although one is known: for a server that has forgotten it
    #[arg(long)]
    new_client: bool,
    /// Print JSON for machines; errors too
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    flags: OAuthFlags,
    #[command(flatten)]
    options: Options,
}

pub(crate) fn play(args: &LoginArgs) -> Result<ExitCode> {
    ending::tell(log_in(args), args.json)
}

fn log_in(args: &LoginArgs) -> Result<ExitCode> {
    let settings = args.settings()?;
    let target = target::resolve(&args.server)?;
    if target.address().is_none() {
        return Err(no_url(&target).into());
    }
    let terminal = Arc::new(Terminal::default());
    let notes = target.notes().into_iter().chain(settings.warning(&target));
    notes.chain(settings.told_sources()).for_each(|note| terminal.say(&note));
    let login = LoginRun { args, settings: &settings, target: &target, terminal: terminal.clone() };
    let ended = until::stopped(async {
        let ended = login.run().await;
        settings.renewals_ended().await;
        ended
    })?;
    terminal.clear();
    match ended {
        Ok(ended) => ended.map(ExitCode::from).map_err(|error| {
            let is_of_call = error.is::<ridethrough::Error>();
            if is_of_call { error.context(With(args.spoken(&target))) } else { error }
        }),
        Err(stopped) => {
            Ok(stopped.tell("nobody was logged in; what was stored before is as it was"))
        }
    }
}

impl LoginArgs {
    fn settings(&self) -> Result<Settings, Misuse> {
        let mut settings = self.options.settings()?;
        let said = self.flags.settings().map_err(|what| Misuse {
            what,
            tried: "the flags were read; nothing was sent".to_owned(),
            hint: "`ridethrough login --help` lists the flags of a login".to_owned(),
        })?;
        settings.oauth = said.over(&settings.oauth);
        if self.device {
            settings.oauth.flow = Some(LoginFlow::Device);
        }
        Ok(settings)
    }

    /// Returns the server with the flags that were given, for hints.
    fn spoken(&self, target: &Target) -> Spoken {
        let flags = [self.flags.typed(), self.options.typed()];
        let flags = flags.into_iter().filter(|it| !it.is_empty()).collect::<Vec<_>>().join(" ");
        target.spoken().with_flags(flags)
    }
}

/// One run of `ridethrough login`.
struct LoginRun<'a> {
    args: &'a LoginArgs,
    settings: &'a Settings,
    target: &'a Target,
    terminal: Arc<Terminal>,
}

impl LoginRun<'_> {
    async fn run(&self) -> Result<Exit> {
        let demand = self.ask().await?;
        let account = self.account()?;
        let done = match &demand {
            LoginDemand::Nothing if !self.publishes_login(&account).await => {
                return self.tell(&LoginTold::not_asked_for(self.target));
            }
            LoginDemand::Login(Some(challenge)) => account.log_in_for(challenge).await,
            LoginDemand::Login(None) | LoginDemand::Nothing => account.log_in().await,
        };
        self.terminal.clear();
        let status = done.map_err(|error| failure::told(&error, &self.args.spoken(self.target)))?;
        let told = LoginTold::done(self.target, &status, self.settings);
        told.lines().iter().for_each(|line| self.terminal.say(line));
        let proof = self.prove(&account).await?;
        self.tell(&told.proven(proof))
    }

    /// Asks the server without a token, and returns what it demands.
    async fn ask(&self) -> Result<LoginDemand> {
        let asking = NoToken::default();
        let client = finish(self.builder()?.credentials(asking.clone()))?;
        self.terminal.wait("asking the server");
        let asked = async {
            client.connect().await?;
            // Some servers answer `initialize` without a token and refuse later requests.
            client.tools().await.map(drop)
        };
        let asked = asked.await;
        client.close().await;
        self.terminal.clear();
        match (asking.demand(), asked) {
            (LoginDemand::Nothing, Err(error)) if error.call().is_some() => Err(error.into()),
            // A server that lists no tools answers with an error of its own.
            (demand, _) => Ok(demand),
        }
    }

    /// Whether a server that accepts requests without a token publishes where people can log in.
    async fn publishes_login(&self, account: &Account) -> bool {
        account.outlook(None).await.found.is_ok_and(|found| found.metadata.is_some())
    }

    fn account(&self) -> Result<Account> {
        let address = self.target.address().ok_or_else(|| no_url(self.target))?;
        let mut oauth = self.settings.login_at(address).person(self.person());
        if self.args.new_client {
            oauth = oauth.new_client();
        }
        let account = self.settings.account(oauth, &self.builder()?)?;
        Ok(account.ok_or_else(|| Misuse {
            what: format!("nobody can log in to {}", self.target),
            tried: "its URL was read; nothing was sent".to_owned(),
            hint: "a login needs `https://`, or a server on this machine; and a folder to be kept in, which \
                   `RIDETHROUGH_AUTH_DIR` names"
                .to_owned(),
        })?)
    }

    fn person(&self) -> LoginPerson {
        let opens = if self.args.no_browser { Opens::Nothing } else { Opens::Browser };
        let within = self.settings.oauth.login_within;
        LoginPerson::new(opens, self.terminal.clone(), within)
    }

    /// Sends one request with the token.
    async fn prove(&self, account: &Account) -> Result<Proof> {
        self.terminal.wait("asking the server with the new token");
        let client = finish(self.builder()?.credentials(MaskedAccount(account.clone())))?;
        let server = client.connect().await?;
        let tools = client.tools().await;
        client.close().await;
        let tools = match tools {
            Err(error) if error.call().is_some() => return Err(error.into()),
            tools => tools.ok().map(|it| it.len()),
        };
        Ok(Proof { server: server.name(), revision: server.version.as_str(), tools })
    }

    fn builder(&self) -> Result<ClientBuilder, Misuse> {
        self.settings.begin(self.target, self.settings.policy.recovery().builder())
    }

    fn tell(&self, told: &LoginTold) -> Result<Exit> {
        self.terminal.clear();
        if self.args.json {
            crate::out::print(|out| {
                writeln!(out, "{}", crate::out::json(&safe::our_json(&told.json())))
            })?;
        } else {
            told.last_lines().iter().for_each(|line| self.terminal.say(line));
        }
        Ok(Exit::Done)
    }
}

fn no_url(target: &Target) -> Misuse {
    Misuse {
        what: format!("{target} is no server at a URL: nobody logs in there"),
        tried: "its entry was read; nothing was started".to_owned(),
        hint: "a program gets its credentials by its own settings, variables for example"
            .to_owned(),
    }
}

const PROFILE: &str = "A name of your own for this account, if you have several at this server";
const AFTER: &str = "\
Examples:
  ridethrough login https://example.com/mcp         opens a browser
  ridethrough login github                          a server of a config file, by its name
  ridethrough login github --profile work           a second account there
  ridethrough login URL --no-browser                on a machine without one: open the URL anywhere,
                                                    and paste the URL that the browser ends at
  ridethrough login URL --client-id ID --client-secret-env VAR --callback-port 8765
                                                    a client that you registered yourself

A login is kept in a file that only you can read, renewed while it is used, and found by every
command and bridge on this machine. `ridethrough auth status` shows it, `ridethrough logout` ends it.

Exit codes:
  0  logged in, or the server asks for no login
  1  the login could not be kept, or no port could be had
  2  wrong usage
  4  the server or its authorization server cannot be reached
  5  not logged in: refused, not finished, or not possible as it is; the hint says what to change
  130, 143  stopped by Ctrl-C or a signal; what was stored before is as it was";
