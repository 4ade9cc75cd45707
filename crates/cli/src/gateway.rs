//! `ridethrough gateway`: one MCP endpoint in front of all servers of a config file.
//!
//! stdout is one line with the URL; people read stderr. With `--stdio`, stdout is for the host.

mod config;
mod connect;
mod http_access;
mod issuer;
mod kept;
mod live_tokens;
mod pins;
mod principals;
mod reload;
mod socket;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context, Result};
use ridethrough_config::folders;
use ridethrough_core::{DoubtForm, DoubtRepeat};
use ridethrough_gateway::{Gateway, GatewayNews, GatewaySettings, ListStore, NameStore, Notice};
use ridethrough_server::{Server, Settings, Tls, serve_lines};
use rustix::process::{Resource, getrlimit, setrlimit};
use tokio::net::TcpListener;
use tokio::runtime;
use tokio::time::timeout;

use crate::expose::access::misuse;
use crate::expose::http_flags::HttpFlags;
use crate::expose::stop::ExposeStop;
use crate::expose::threads::ServingThreads;
use crate::expose::voice::Voice;
use crate::expose::{CLOSING, DRAINING, FAREWELL, accept, serve_until_drained};
use crate::gateway_secrets;
use crate::import::{InitArgs, make_config};
use crate::out;
use crate::safe;
use crate::status::StatusServer;

use config::{GatewayConfig, MOST_CHILDREN};
use http_access::HttpAccess;
use kept::{KeptLists, KeptNames};
use live_tokens::LiveTokens;
use principals::TokenCommand;
use reload::Pinned;
use socket::OwnersSocket;

/// What `gateway` is asked for.
#[derive(clap::Args)]
#[command(
    after_long_help = AFTER,
    args_conflicts_with_subcommands = true,
    mut_arg("listen", |it| it.default_value("127.0.0.1:8809").required(false)),
    mut_arg("sessions", |it| it
        .default_value("1000")
        .required(false)
        .value_parser(clap::value_parser!(u16).range(1..=20_000))),
)]
pub(crate) struct GatewayArgs {
    #[command(subcommand)]
    command: Option<GatewayCommand>,
    /// The config file, JSON or TOML, of this program or of any MCP host [default: your own `ridethrough.toml`]
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Listen on a Unix socket, too, which only you can open: no token is needed there
    #[arg(long, value_name = "PATH", conflicts_with = "stdio")]
    socket: Option<PathBuf>,
    /// Speak on stdin and stdout instead, for a host that starts processes
    #[arg(long, conflicts_with_all = ["listen", "no_token", "token_env", "hosts", "origins", "tls_cert", "tls_key"])]
    stdio: bool,
    #[command(flatten)]
    http: HttpFlags,
}

#[derive(clap::Subcommand)]
enum GatewayCommand {
    /// Approves the tools of a pinned server as they are, also for gateways that run.
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
    /// Makes your own `ridethrough.toml` from the config files of the hosts on this machine, after asking.
    Init(InitArgs),
    /// Prints the JSON Schema of the config file.
    Schema,
    /// Makes, lists and takes away the tokens of principals.
    #[command(subcommand)]
    Token(TokenCommand),
}

pub(crate) fn play(args: &GatewayArgs) -> Result<ExitCode> {
    match &args.command {
        Some(GatewayCommand::Approve { name }) => approve(name),
        Some(GatewayCommand::Check { config }) => check(config.as_ref()),
        Some(GatewayCommand::Init(args)) => make_config(args),
        Some(GatewayCommand::Schema) => {
            out::print(|out| write!(out, "{SCHEMA}"))?;
            Ok(ExitCode::SUCCESS)
        }
        Some(GatewayCommand::Token(command)) => command.run(),
        None => args.run(),
    }
}

fn check(named: Option<&PathBuf>) -> Result<ExitCode> {
    let path = config::path(named.map(PathBuf::as_path))?;
    let GatewayConfig { file, servers, tokens, with_logins } = config::read(&path)?;
    let (disabled, access) = (file.disabled, file.access);
    let names: Vec<_> = access.rights.principals.keys().map(String::as_str).collect();
    out::print(|out| {
        for server in &servers {
            let kind = if server.connect.is_local() { "a program" } else { "a URL" };
            let has_logins = with_logins.iter().any(|it| **it == *server.name);
            let login = if has_logins { ", with a login for each principal" } else { "" };
            writeln!(out, "{}: {kind}{login}", safe::line(&server.name))?;
        }
        disabled.iter().try_for_each(|name| writeln!(out, "{}: switched off", safe::line(name)))?;
        names.iter().try_for_each(|name| {
            let has_token = if tokens.has(name) { "with a token" } else { "without a token" };
            writeln!(out, "{}: a principal {has_token}", safe::line(name))
        })
    })
}

fn approve(name: &str) -> Result<ExitCode> {
    pins::forget(name)
        .map_err(|why| misuse(&format!("nothing can be approved: {why}"), "see why"))?;
    eprintln!(
        "the tools of `{}` are approved as they are: within 2 s by gateways that run, else at the next start",
        safe::line(name)
    );
    Ok(ExitCode::SUCCESS)
}

impl GatewayArgs {
    fn run(&self) -> Result<ExitCode> {
        let path = config::path(self.config.as_deref())?;
        let config = config::read(&path)?;
        let voice = Voice::new().context("no thread could be started")?;
        let tls = self.http.tls(&voice)?;
        let tokens = LiveTokens::new(&config);
        let front = if self.stdio {
            Front::Stdio
        } else {
            Front::Http(Box::new(self.access(&config, &tokens)?))
        };
        let stop = ExposeStop::listen(voice.clone(), DRAINING + CLOSING + FAREWELL);
        let mut stop = stop.context("nobody could be made to listen for signals")?;
        let runtime = runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .context("the runtime could not be started")?;
        let code = runtime.block_on(async {
            let (count, pinned) = (config.servers.len(), Pinned::of(&config));
            let (public_url, has_logins) =
                (config.file.public_url.clone(), !config.with_logins.is_empty());
            // What is said on the line is meant for this run.
            let doubt = self.http.doubt.form().or(config.file.doubt).unwrap_or_default();
            let repeat = self.http.doubt.repeat().or(config.file.doubt_repeat).unwrap_or_default();
            let gateway = gateway(config, (doubt, repeat), &path, &voice)?;
            // Before anybody is told that it is there.
            let hangups = reload::hear();
            let following = async {
                let followed = reload::Followed { path: &path, hangups, pinned };
                followed.follow(&gateway, &tokens, &voice).await;
                // It never ends by itself.
                std::future::pending::<()>().await;
            };
            // A gateway whose socket cannot be opened runs without it.
            let status = |place: &str| StatusServer::open_for_gateway(&gateway, place).ok();
            let serving = async {
                match front {
                    Front::Stdio => {
                        let _status = status("stdio");
                        on_stdio(&gateway, (doubt, repeat), &mut stop).await
                    }
                    Front::Http(access) => {
                        let listener = self.http.listen.bind().await?;
                        let url = self.welcome(&listener, &access, count, &voice)?;
                        let origin = url.trim_end_matches("/mcp");
                        gateway.set_public_url(public_url.as_deref().unwrap_or(origin));
                        if has_logins && public_url.is_none() && !self.http.listen.is_local() {
                            voice.tell(UNKNOWN_TO_BROWSERS);
                        }
                        let _status = status(&url);
                        let way_in = (*access, tls, &tokens);
                        self.on_http(listener, &gateway, way_in, (doubt, repeat), &mut stop, &voice)
                            .await
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

    async fn on_http(
        &self,
        listener: TcpListener,
        gateway: &Gateway,
        (access, tls, tokens): (HttpAccess, Option<Tls>, &LiveTokens),
        (doubt, repeat): (DoubtForm, DoubtRepeat),
        stop: &mut ExposeStop,
        voice: &Voice,
    ) -> Result<ExitCode> {
        let socket = self.socket.as_deref().map(OwnersSocket::bind).transpose()?;
        let threads = ServingThreads::start().context("no threads could be started")?;
        // Each session may have a stream open, and calls under way beside it.
        let connections = usize::from(self.http.sessions) + 384;
        raise_file_limit();
        let settings = self.http.settings().connections(connections);
        let settings = settings.doubt(doubt).doubt_repeat(repeat);
        let server = Server::new(gateway.clone(), access.policy, settings, |_| {});
        tokens.serve_at(&server);
        if let Some(path) = &self.socket {
            let path = safe::path(path);
            voice.tell(&format!("your own programs need no token on the socket {path}"));
        }
        let on_socket = async {
            match &socket {
                Some(socket) => socket.accept(&server, &threads).await,
                None => std::future::pending().await,
            }
        };
        let accepting = async {
            tokio::select! {
                // More than may stay, so that there is room for those that are being closed.
                never = accept(listener, &server, tls, connections + 256, &threads) => never,
                never = on_socket => never,
            }
        };
        let code = serve_until_drained(accepting, &server, stop, voice).await;
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

    /// Tells people where the gateway is and how they get in, and returns its URL.
    fn welcome(
        &self,
        listener: &TcpListener,
        access: &HttpAccess,
        count: usize,
        voice: &Voice,
    ) -> Result<String> {
        let port = listener.local_addr().context("the port is not known")?.port();
        let url = self.http.url(port);
        out::print(|out| writeln!(out, "{url}"))?;
        let servers = if count == 1 { "1 server is" } else { &format!("{count} servers are") };
        voice.tell(&format!("{servers} at {url}, and each at {url}/NAME; Ctrl-C stops"));
        voice.tell(&access.told);
        if access.is_kept {
            voice.tell(&format!("  export {OURS}=$(cat {})", kept_path()));
            voice.tell(&format!("  ridethrough tools {url} --bearer-env {OURS}"));
        }
        if !self.http.listen.is_local() && url.starts_with("http://") {
            voice.tell(
                "warning: other machines reach this address, and it is plain HTTP: who sees the traffic sees \
                 the token; use `--tls-cert` and `--tls-key` where you do not trust the network",
            );
        }
        Ok(url)
    }
}

/// How callers come in.
enum Front {
    Http(Box<HttpAccess>),
    Stdio,
}

/// Serves a host on stdin and stdout until it leaves, or a signal comes.
async fn on_stdio(
    gateway: &Gateway,
    (doubt, repeat): (DoubtForm, DoubtRepeat),
    stop: &mut ExposeStop,
) -> Result<ExitCode> {
    let settings = Settings::default().doubt(doubt).doubt_repeat(repeat);
    let (stdin, stdout) = (tokio::io::stdin(), tokio::io::stdout());
    let serving = serve_lines(gateway.clone(), settings, |_| {}, stdin, stdout);
    let code = tokio::select! {
        // A host that reads no more has left, too.
        _ = serving => 0,
        code = stop.asked() => code,
    };
    // What takes longer is killed by its supervisor.
    let _ = timeout(CLOSING, gateway.close()).await;
    Ok(ExitCode::from(code))
}

fn gateway(
    config: GatewayConfig,
    (doubt, repeat): (DoubtForm, DoubtRepeat),
    path: &Path,
    voice: &Voice,
) -> Result<Gateway> {
    let teller = voice.clone();
    let tell = move |news: GatewayNews| {
        if let GatewayNews::Catalogue(Notice::Pinned { server, approved }) = &news
            && let Err(why) = pins::keep(server, approved)
        {
            teller.tell(&format!("what was approved of `{server}` could not be kept: {why}"));
        }
        teller.tell(&safe::line(&news.to_string()));
    };
    let mut settings = GatewaySettings::default();
    settings.children = config.file.children.unwrap_or(MOST_CHILDREN);
    (settings.doubt, settings.doubt_repeat) = (doubt, repeat);
    settings.login_needs_token = config.file.login_needs_token;
    settings.access = Some(config.file.access.rights);
    settings.lists = KeptLists::of_user().map(|it| Arc::new(it) as Arc<dyn ListStore>);
    settings.names = KeptNames::of(path).map(|it| Arc::new(it) as Arc<dyn NameStore>);
    settings.seal_key = Arc::new(gateway_secrets::seal_key()?);
    Ok(Gateway::new(config.servers, settings, tell))
}

fn kept_path() -> String {
    folders::state()
        .map(|it| safe::line(&it.join("gateway-token").to_string_lossy()))
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
const UNKNOWN_TO_BROWSERS: &str = "\
warning: principals log in here, and browsers of other machines do not find this address; set \
`gateway.public_url` in the config file";
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
Others get tokens of their own by `ridethrough gateway token add NAME`, and `[gateway.access]` of
the file says what they may. What they may not call is not there for them.

Exit codes: 0 its host left (with `--stdio`), 1 it failed, 2 wrong usage, 130, 131 or 143 ended
by a signal.";
