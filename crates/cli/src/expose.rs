//! `ridethrough expose`: a local server, which speaks on stdin and stdout, as Streamable HTTP.
//!
//! stdout is one line with the URL; people read stderr. Each session has a server process of its own, started
//! through `supervise`.

pub(crate) mod access;
pub(crate) mod address;
mod children;
pub(crate) mod http_flags;
mod process;
pub(crate) mod stop;
pub(crate) mod threads;
pub(crate) mod voice;

use std::convert::Infallible;
use std::ffi::OsString;
use std::pin::pin;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use ridethrough_expose::{AccessPolicy, Exposed, News, SessionNews, Tls};
use ridethrough_server::Server;
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime;
use tokio::sync::Semaphore;
use tokio::time::{sleep, timeout};

use crate::out;
use crate::server::program;

use access::Shown;
use children::Children;
use http_flags::HttpFlags;
use stop::ExposeStop;
use threads::ServingThreads;
use voice::Voice;

/// The arguments of `ridethrough expose`.
#[derive(clap::Args)]
#[command(
    after_long_help = AFTER,
    mut_arg("listen", |it| it.default_value("127.0.0.1:8808").required(false)),
    mut_arg("sessions", |it| it
        .default_value("16")
        .required(false)
        .help("The most sessions at once, each with a process of its own")
        .value_parser(clap::value_parser!(u16).range(1..=1024))),
)]
pub(crate) struct ExposeArgs {
    #[command(flatten)]
    http: HttpFlags,
    /// Tell of every session, and what servers write to stderr
    #[arg(long, short)]
    verbose: bool,
    /// The server: a program and its arguments
    #[arg(last = true, required = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

pub(crate) fn play(args: &ExposeArgs) -> Result<ExitCode> {
    let name = program::find(&args.command)?;
    let HttpFlags { listen, token_env, no_token, .. } = &args.http;
    let shown = Shown::read(token_env.as_deref(), *no_token, listen)?;
    let access = args.http.allowed(shown.access(listen.ip()))?;
    let voice = Voice::new().context("no thread could be started")?;
    let tls = args.http.tls(&voice)?;
    let stop = ExposeStop::listen(voice.clone(), DRAINING + CLOSING + FAREWELL);
    let stop = stop.context("nobody could be made to listen for signals")?;
    let threads = ServingThreads::start().context("no threads could be started")?;
    let runtime = runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("the runtime could not be started")?;
    let code = runtime.block_on(async {
        let listener = args.http.listen.bind().await?;
        let exposed = args.expose(&name, access, &voice)?;
        args.welcome(&name, &shown, &listener, &voice)?;
        serve(listener, exposed, (tls, &threads), stop, &voice).await
    });
    runtime.shutdown_background();
    voice.finish();
    code
}

impl ExposeArgs {
    fn expose(&self, name: &str, access: AccessPolicy, voice: &Voice) -> Result<Exposed> {
        let children = Children::new(
            name,
            &self.command,
            self.http.token_env.as_deref(),
            self.verbose.then(|| voice.clone()),
        )?;
        let (is_verbose, teller) = (self.verbose, voice.clone());
        let hear = move |news| hear(&teller, &news, is_verbose);
        Ok(Exposed::new(children, access, self.http.settings(), hear))
    }

    fn welcome(
        &self,
        name: &str,
        shown: &Shown,
        listener: &TcpListener,
        voice: &Voice,
    ) -> Result<()> {
        let port = listener.local_addr().context("the port is not known")?.port();
        let url = self.http.url(port);
        out::print(|out| writeln!(out, "{url}"))?;
        for line in shown.welcome(name, &url, &self.http.listen) {
            voice.tell(&line);
        }
        Ok(())
    }
}

/// Serves until `expose` is asked to stop, and then ends the sessions.
async fn serve(
    listener: TcpListener,
    exposed: Exposed,
    (tls, threads): (Option<Tls>, &ServingThreads),
    mut stop: ExposeStop,
    voice: &Voice,
) -> Result<ExitCode> {
    let server = exposed.server();
    let accepting = accept(listener, &server, tls, MOST_CONNECTIONS, threads);
    let code = serve_until_drained(accepting, &server, &mut stop, voice).await;
    // One that has to be killed is killed before.
    let is_closed = timeout(CLOSING, exposed.close()).await.is_ok();
    voice.tell(if is_closed {
        "stopped: all sessions are ended, and nothing is left of their processes"
    } else {
        "stopped: what is left of the sessions is being killed"
    });
    Ok(ExitCode::from(code))
}

/// Lets connections in until the process is asked to stop and sessions have finished what they do. Returns the
/// exit code. Clients that cannot connect meanwhile would take their sessions for lost.
pub(crate) async fn serve_until_drained(
    accepting: impl Future<Output = Infallible>,
    server: &Server,
    stop: &mut ExposeStop,
    voice: &Voice,
) -> u8 {
    let mut accepting = pin!(accepting);
    let code = tokio::select! {
        code = stop.asked() => code,
        never = accepting.as_mut() => match never {},
    };
    tokio::select! {
        () = drain(server, voice) => code,
        never = accepting => match never {},
    }
}

/// Lets sessions finish what they do. Nothing is told where that takes no time.
async fn drain(server: &Server, voice: &Voice) {
    let mut draining = pin!(server.drain(DRAINING));
    if timeout(SOON, draining.as_mut()).await.is_err() {
        let seconds = DRAINING.as_secs();
        voice.tell(&format!(
            "stopping: calls under way may finish for {seconds} s; a second signal stops at once"
        ));
        draining.await;
    }
}

/// Lets connections in. Those that are silent make room for others; beyond the bound, whoever comes waits in
/// the system's own queue until they are gone.
pub(crate) async fn accept(
    listener: TcpListener,
    server: &Server,
    tls: Option<Tls>,
    most: usize,
    threads: &ServingThreads,
) -> Infallible {
    let places = Arc::new(Semaphore::new(most));
    loop {
        let place = places.clone().acquire_owned().await.expect("it is never closed");
        let Ok((connection, _)) = listener.accept().await else {
            // The process has too many open files, most likely.
            server.make_room();
            sleep(Duration::from_millis(10)).await;
            continue;
        };
        // This only affects speed.
        let _ = connection.set_nodelay(true);
        let Ok(connection) = connection.into_std() else { continue };
        let (server, tls) = (server.clone(), tls.clone());
        threads.serve(async move {
            let Ok(connection) = TcpStream::from_std(connection) else { return };
            match tls {
                Some(tls) => server.serve_tls(connection, &tls).await,
                None => server.serve(connection).await,
            }
            drop(place);
        });
    }
}

fn hear(voice: &Voice, news: &News, is_verbose: bool) {
    let is_detail = matches!(
        news,
        News::Session(
            SessionNews::Began { .. } | SessionNews::Ended { .. } | SessionNews::Rubbish { .. }
        )
    );
    if is_verbose || !is_detail {
        voice.tell(&news.to_string());
    }
}

/// The most connections at once: more than may stay, so that there is room for those that are being closed.
const MOST_CONNECTIONS: usize = 640;
/// How long calls may take to finish.
pub(crate) const DRAINING: Duration = Duration::from_secs(30);
/// How long nothing is said of it: a little more than sessions are given for a further call.
const SOON: Duration = Duration::from_millis(1500);
/// A supervisor needs three seconds for the worst of servers.
pub(crate) const CLOSING: Duration = Duration::from_secs(12);
/// How much longer the process may take before it is ended in any state.
pub(crate) const FAREWELL: Duration = Duration::from_secs(2);

const AFTER: &str = "For example:
  ridethrough expose -- npx -y @modelcontextprotocol/server-everything
  ridethrough tools http://127.0.0.1:8808/mcp --bearer-env EXPOSE_TOKEN

stdout is the URL. The token is told once, on stderr, and is another one at every start; with
`--token-env` it is yours. A server that dies ends its session: its calls are answered with its
status and its last lines on stderr, and the client begins a new session with a new process.
Servers that die soon after their start are started again at widening intervals.

Exit codes: 1 it failed, 2 wrong usage, 130, 131 or 143 ended by a signal (129 by SIGHUP, which
`nohup` keeps away).";
