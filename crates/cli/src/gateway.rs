//! `ridethrough gateway`: one MCP endpoint in front of all servers of a config file.
//!
//! stdout is one line with the URL; people read stderr. With `--stdio`, stdout is for the host.

mod config;
mod connect;
mod kept_lists;
mod pins;
mod reload;
mod stdio;
mod token;

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use ridethrough_gateway::{Gateway, GatewayNews, GatewaySettings, ListStore, Notice};
use ridethrough_server::{AccessPolicy, Server, Settings, Tls, Token};
use rustix::process::{Resource, getrlimit, setrlimit};
use tokio::net::TcpListener;
use tokio::runtime;
use tokio::time::timeout;

use crate::expose::access::misuse;
use crate::expose::address::ListenAddress;
use crate::expose::stop::ExposeStop;
use crate::expose::voice::Voice;
use crate::expose::{CLOSING, DRAINING, FAREWELL, accept, drain};
use crate::import::safe;
use crate::out;

use config::GatewayConfig;
use kept_lists::KeptLists;

/// What `gateway` is asked for.
#[derive(clap::Args)]
#[command(after_long_help = AFTER, args_conflicts_with_subcommands = true)]
pub(crate) struct GatewayArgs {
    #[command(subcommand)]
    command: Option<GatewayCommand>,
    /// The config file, JSON or TOML, of this program or of any MCP host [default: your own `ridethrough.toml`]
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Where to listen; port 0 is any that is free
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:8809")]
    listen: ListenAddress,
    /// Speak on stdin and stdout instead, for a host that starts processes
    #[arg(long, conflicts_with_all = ["listen", "no_token", "token_env", "hosts", "origins", "tls_cert", "tls_key"])]
    stdio: bool,
    /// Clients must show the token that this environment variable holds, in place of the kept one
    #[arg(long, value_name = "VAR", conflicts_with = "no_token")]
    token_env: Option<String>,
    /// Let everybody on this machine in; not with an address that other machines reach
    #[arg(long)]
    no_token: bool,
    /// A name of this machine that clients may use, beside `localhost` and the address
    #[arg(long = "allow-host", value_name = "NAME")]
    hosts: Vec<String>,
    /// An origin whose pages may call from a browser, beside those of this machine
    #[arg(long = "allow-origin", value_name = "ORIGIN")]
    origins: Vec<String>,
    /// The most sessions of clients at once
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u16).range(1..=20_000))]
    sessions: u16,
    /// End a session that has had no request and no open stream for so long
    #[arg(long, value_name = "SECONDS", default_value_t = 1800, value_parser = clap::value_parser!(u64).range(1..=604_800))]
    idle: u64,
    /// Speak TLS with this certificate chain, in PEM; it is read again when it changes
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    tls_cert: Option<PathBuf>,
    /// The private key of the certificate, in PEM
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,
}

#[derive(clap::Subcommand)]
enum GatewayCommand {
    /// Approves the tools of a pinned server as they are when they are next read.
    Approve {
        /// The server
        name: String,
    },
    /// Checks a config file, and starts nothing.
    Check {
        /// The config file [default: your own `ridethrough.toml`]
        #[arg(long, value_name = "FILE")]
        config: Option<PathBuf>,
    },
    /// Prints the JSON Schema of the config file.
    Schema,
}

pub(crate) fn play(args: &GatewayArgs) -> Result<ExitCode> {
    match &args.command {
        Some(GatewayCommand::Approve { name }) => approve(name),
        Some(GatewayCommand::Check { config }) => check(config.as_ref()),
        Some(GatewayCommand::Schema) => {
            out::print(|out| write!(out, "{SCHEMA}"))?;
            Ok(ExitCode::SUCCESS)
        }
        None => args.run(),
    }
}

fn check(named: Option<&PathBuf>) -> Result<ExitCode> {
    let path = config::path(named.map(PathBuf::as_path))?;
    let GatewayConfig { servers, disabled, .. } = config::read(&path)?;
    out::print(|out| {
        for server in &servers {
            let kind = if server.connect.is_local() { "a program" } else { "a URL" };
            writeln!(out, "{}: {kind}", safe(&server.name))?;
        }
        disabled.iter().try_for_each(|name| writeln!(out, "{}: switched off", safe(name)))
    })
}

fn approve(name: &str) -> Result<ExitCode> {
    pins::forget(name)
        .map_err(|why| misuse(&format!("nothing can be approved: {why}"), "see why"))?;
    eprintln!("the tools of `{}` are approved as they are when a gateway next starts", safe(name));
    Ok(ExitCode::SUCCESS)
}

impl GatewayArgs {
    fn run(&self) -> Result<ExitCode> {
        let path = config::path(self.config.as_deref())?;
        let config = config::read(&path)?;
        let voice = Voice::new().context("no thread could be started")?;
        let tls = self.tls(&voice)?;
        let front = if self.stdio { Front::Stdio } else { Front::Http(Box::new(self.access()?)) };
        let stop = ExposeStop::listen(voice.clone(), DRAINING + CLOSING + FAREWELL);
        let mut stop = stop.context("nobody could be made to listen for signals")?;
        let runtime = runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .context("the runtime could not be started")?;
        let code = runtime.block_on(async {
            let count = config.servers.len();
            let gateway = gateway(config, &voice);
            // Before anybody is told that it is there.
            let hangups = reload::hear();
            let following = async {
                reload::follow(&path, hangups, &gateway, &voice).await;
                // It never ends by itself.
                std::future::pending::<()>().await;
            };
            let serving = async {
                match front {
                    Front::Stdio => on_stdio(&gateway, &mut stop).await,
                    Front::Http(access) => {
                        self.on_http(&gateway, *access, (tls, count), &mut stop, &voice).await
                    }
                }
            };
            tokio::select! {
                served = serving => served,
                () = following => Ok(ExitCode::FAILURE),
            }
        });
        runtime.shutdown_background();
        voice.finish();
        code
    }

    /// Decides who is let in.
    fn access(&self) -> Result<HttpAccess> {
        if self.no_token && !self.listen.is_local() {
            return Err(misuse(
                "`--no-token` would let every machine that reaches this address in",
                "leave `--no-token` out, or listen on 127.0.0.1",
            )
            .into());
        }
        let (token, told) = match &self.token_env {
            _ if self.no_token => {
                (None, "whoever is on this machine may call it: there is no token".to_owned())
            }
            Some(name) => {
                let text = std::env::var(name).unwrap_or_default();
                let token = Token::new(text.trim()).map_err(|error| {
                    let what =
                        format!("the variable `{name}` of `--token-env` holds none: {error}");
                    misuse(&what, "set it to a token")
                })?;
                (Some(token), format!("clients must show the token of `{name}`"))
            }
            None => {
                let kept = token::read_or_make()?;
                let path = safe(&kept.path.to_string_lossy());
                (Some(kept.token), format!("clients must show the token in {path}:"))
            }
        };
        let mut access = AccessPolicy::new(self.listen.ip(), token);
        for host in &self.hosts {
            access = access.allow_host(host).map_err(|error| {
                misuse(&format!("`--allow-host`: {error}"), "write it as `--allow-host box.local`")
            })?;
        }
        for origin in &self.origins {
            access = access.allow_origin(origin).map_err(|error| {
                let hint = "write it as `--allow-origin https://app.example.com`";
                misuse(&format!("`--allow-origin`: {error}"), hint)
            })?;
        }
        Ok(HttpAccess { policy: access, told, is_kept: self.token_env.is_none() && !self.no_token })
    }

    fn tls(&self, voice: &Voice) -> Result<Option<Tls>> {
        let (Some(certificate), Some(key)) = (&self.tls_cert, &self.tls_key) else {
            return Ok(None);
        };
        let teller = voice.clone();
        let tell = move |error| teller.tell(&format!("{error}; the old certificate stays in use"));
        let tls = Tls::from_files(certificate, key, tell).map_err(|error| {
            let hint = "both files are PEM: the chain of the certificate, and its private key";
            misuse(&error.to_string(), hint)
        })?;
        Ok(Some(tls))
    }

    async fn on_http(
        &self,
        gateway: &Gateway,
        access: HttpAccess,
        (tls, count): (Option<Tls>, usize),
        stop: &mut ExposeStop,
        voice: &Voice,
    ) -> Result<ExitCode> {
        let listener = self.listen.bind().await?;
        self.welcome(&listener, &access, count, voice)?;
        let sessions = usize::from(self.sessions);
        // Each session may have a stream open, and calls under way beside it.
        let connections = sessions + 384;
        raise_file_limit();
        let settings = Settings::default()
            .sessions(sessions)
            .connections(connections)
            .idle(Duration::from_secs(self.idle));
        let server = Server::new(gateway.clone(), access.policy, settings, |_| {});
        let code = tokio::select! {
            code = stop.asked() => code,
            // More than may stay, so that there is room for those that are being closed.
            () = accept(listener, server.clone(), tls, connections + 256) => 1,
        };
        drain(&server, voice).await;
        let closing = async {
            server.close().await;
            gateway.close().await;
        };
        let is_closed = timeout(CLOSING, closing).await.is_ok();
        voice.tell(if is_closed {
            "stopped: all sessions are ended"
        } else {
            "stopped: what is left of the sessions is being killed"
        });
        Ok(ExitCode::from(code))
    }

    fn welcome(
        &self,
        listener: &TcpListener,
        access: &HttpAccess,
        count: usize,
        voice: &Voice,
    ) -> Result<()> {
        let port = listener.local_addr().context("the port is not known")?.port();
        let scheme = if self.tls_cert.is_some() { "https" } else { "http" };
        let url = self.listen.url(scheme, port);
        out::print(|out| writeln!(out, "{url}"))?;
        voice.tell(&format!("{count} servers are at {url}, and each at {url}/NAME; Ctrl-C stops"));
        voice.tell(&access.told);
        if access.is_kept {
            voice.tell(&format!("  export {OURS}=$(cat {})", kept_path()));
            voice.tell(&format!("  ridethrough tools {url} --bearer-env {OURS}"));
        }
        if !self.listen.is_local() && scheme == "http" {
            voice.tell(
                "warning: other machines reach this address, and it is plain HTTP: who sees the traffic sees \
                 the token; use `--tls-cert` and `--tls-key` where you do not trust the network",
            );
        }
        Ok(())
    }
}

/// How callers come in.
enum Front {
    Http(Box<HttpAccess>),
    Stdio,
}

/// Who is let in over HTTP, and what people are told about it.
struct HttpAccess {
    policy: AccessPolicy,
    told: String,
    is_kept: bool,
}

/// Serves a host on stdin and stdout until it leaves, or a signal comes.
async fn on_stdio(gateway: &Gateway, stop: &mut ExposeStop) -> Result<ExitCode> {
    let serving = stdio::serve(gateway, tokio::io::stdin(), tokio::io::stdout());
    let code = tokio::select! {
        // A host that reads no more has left, too.
        _ = serving => 0,
        code = stop.asked() => code,
    };
    // What takes longer is killed by its supervisor.
    let _ = timeout(CLOSING, gateway.close()).await;
    Ok(ExitCode::from(code))
}

fn gateway(config: GatewayConfig, voice: &Voice) -> Gateway {
    let teller = voice.clone();
    let tell = move |news: GatewayNews| {
        if let GatewayNews::Catalogue(Notice::Pinned { server, approved }) = &news
            && let Err(why) = pins::keep(server, approved)
        {
            teller.tell(&format!("what was approved of `{server}` could not be kept: {why}"));
        }
        teller.tell(&safe(&news.to_string()));
    };
    let mut settings = GatewaySettings::default();
    settings.children = config.children;
    settings.lists = KeptLists::of_user().map(|it| Arc::new(it) as Arc<dyn ListStore>);
    Gateway::new(config.servers, settings, tell)
}

fn kept_path() -> String {
    crate::kept::state()
        .map(|it| safe(&it.join("gateway-token").to_string_lossy()))
        .unwrap_or_default()
}

/// Lets this process have as many files open as it may: connections are files, and many systems let a process
/// have 1,024 unless it asks for more.
fn raise_file_limit() {
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    // Without it, connections are let in as others are closed.
    let _ = setrlimit(Resource::Nofile, limit);
}

/// The name of the variable in the lines that a person may copy.
const OURS: &str = "GATEWAY_TOKEN";
const SCHEMA: &str = include_str!("gateway/schema.json");
const AFTER: &str = "\
Every server of the file is behind one URL: `/mcp` has the tools of all of them as `SERVER_tool`,
`/mcp/NAME` those of one server under their own names. The file of any MCP host works as it is;
`ridethrough gateway schema` says what else may be in it, and `gateway check` starts nothing. An
edit of the file, or SIGHUP, changes what it changes; calls at other servers go on.

Clients of every revision of MCP come in, whatever revision each server speaks. A server that is
down or slow neither slows nor hides the others: its last known tools stand in, and a call ends
with an error that says whether it may have run.

The token is made at the first start and kept for you alone. `/healthz` and `/readyz` need none.

Exit codes: 0 its host left (with `--stdio`), 1 it failed, 2 wrong usage, 130, 131 or 143 ended
by a signal.";
