//! `ridethrough bridge`: an MCP server on stdin and stdout, in front of a remote one.
//!
//! stdout carries the protocol and nothing else; people read stderr. What is typed is what mcp-remote
//! takes, so that a config file changes in one word; what means nothing here is told.

mod foreign;
mod headers;
mod place;

use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Result};
use clap::ValueEnum;
use ridethrough::{Client, ClientBuilder, RecoveryPolicy, StaticBearer};
use ridethrough_bridge::{Bridge, Catalogue, Ended, Hidden};
use tokio::runtime;

use crate::misuse::Misuse;
use crate::until;

use foreign::Foreign;
use headers::Shown;

/// What `bridge` is asked for.
#[derive(clap::Args)]
#[command(after_long_help = AFTER)]
pub(crate) struct Args {
    /// Where the remote server is
    url: String,
    /// mcp-remote's port for a login in the browser; there is none here
    #[arg(hide = true)]
    port: Option<String>,
    /// A header for every request; `${VAR}` is replaced from the environment, which keeps secrets out
    /// of the process list
    #[arg(long = "header", value_name = "NAME: VALUE")]
    headers: Vec<String>,
    /// A file with more of them, one on a line; `#` begins a comment
    #[arg(long, value_name = "FILE")]
    header_file: Option<PathBuf>,
    /// Show the token that this environment variable holds
    #[arg(long, value_name = "VAR")]
    bearer_env: Option<String>,
    /// How the server is spoken to: Streamable HTTP, whatever comes first
    #[arg(long, value_enum, default_value_t = Strategy::HttpFirst)]
    transport: Strategy,
    /// Allow `http://` to other machines; without it only to this one
    #[arg(long)]
    allow_http: bool,
    /// Hide the tools that match, and refuse to call them; `*` stands for any letters
    #[arg(long = "ignore-tool", value_name = "PATTERN")]
    ignored: Vec<String>,
    /// How long one connect may take
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=3600))]
    connect_timeout: Option<u64>,
    /// Tell every event of the connection on stderr
    #[arg(long)]
    debug: bool,
    /// Tell nothing on stderr, unless `--debug` is there too
    #[arg(long)]
    silent: bool,
    /// Keep nothing on disk: a host that starts while the server is down then begins with empty lists
    #[arg(long)]
    no_catalogue: bool,
    #[command(flatten)]
    foreign: Foreign,
}

/// The strategies of mcp-remote.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Strategy {
    HttpFirst,
    HttpOnly,
    #[value(hide = true)]
    SseFirst,
    #[value(hide = true)]
    SseOnly,
}

pub(crate) fn play(args: &Args) -> Result<ExitCode> {
    let shown = args.check()?;
    // One thread is enough for lines and sockets, and starts sooner than several.
    let runtime = runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("the runtime could not be started")?;
    let code = runtime.block_on(args.run(&shown));
    // A read of stdin that is under way has no other end.
    runtime.shutdown_background();
    code
}

impl Args {
    /// Looks at everything that can be wrong before anything is sent.
    fn check(&self) -> Result<Shown, Misuse> {
        self.foreign.check()?;
        if self.transport == Strategy::SseOnly {
            return Err(Misuse {
                what: "`--transport sse-only` is the transport that MCP gave up in 2025".to_owned(),
                tried: "nothing was sent".to_owned(),
                hint: "leave `--transport` out: most servers have Streamable HTTP beside it, often at \
                       `/mcp` in place of `/sse`"
                    .to_owned(),
            });
        }
        place::check(&self.url, self.allow_http)?;
        headers::read(&self.headers, self.header_file.as_deref(), self.bearer_env.as_deref())
    }

    async fn run(&self, shown: &Shown) -> Result<ExitCode> {
        let client = self.client(shown)?;
        for note in self.notes() {
            self.say(&note);
        }
        let mut bridge = Bridge::new(client).hide(Hidden::new(self.ignored.clone()));
        if !self.no_catalogue
            && let Some(folder) = place::catalogues()
        {
            bridge = bridge.catalogue(Catalogue::open(&folder, &self.url, &shown.pairs()));
        }
        if self.is_talkative() {
            bridge = bridge.tell(tell);
        }
        if self.debug {
            bridge = bridge.tell_everything();
        }
        let mut code = 0;
        let stopped = async { code = until::asked().await };
        match bridge.run(tokio::io::stdin(), tokio::io::stdout(), stopped).await {
            Ended::HostLeft => Ok(ExitCode::SUCCESS),
            Ended::Stopped => Ok(ExitCode::from(code)),
        }
    }

    fn client(&self, shown: &Shown) -> Result<Client, Misuse> {
        let refused = |error: &dyn std::fmt::Display| Misuse {
            what: format!("no client can be made: {error}"),
            tried: "its settings were checked; nothing was sent".to_owned(),
            hint: "change what is named above; a URL looks like `https://example.com/mcp`"
                .to_owned(),
        };
        let policy = RecoveryPolicy::interactive();
        // The address comes from a config file and worked before: an outage is likelier than a mistake.
        let policy = policy.builder().first_patience(PATIENCE).build();
        let mut builder: ClientBuilder =
            Client::builder(&self.url).policy(policy.map_err(|error| refused(&error))?);
        for (name, value) in &shown.headers {
            builder = builder.header(name, value);
        }
        if let Some(token) = &shown.token {
            let token = StaticBearer::new(token.as_str()).map_err(|error| refused(&error))?;
            builder = builder.credentials(token);
        }
        if let Some(seconds) = self.connect_timeout {
            builder = builder.connect_timeout(Duration::from_secs(seconds));
        }
        builder.build().map_err(|error| refused(&error))
    }

    /// What was typed and means nothing here.
    fn notes(&self) -> Vec<String> {
        let mut notes = self.foreign.notes();
        if self.port.is_some() {
            notes.push("the port is for a login in the browser, which is not there yet".to_owned());
        }
        if self.transport == Strategy::SseFirst {
            notes
                .push("only Streamable HTTP is spoken: `sse-first` is `http-only` here".to_owned());
        }
        notes
    }

    fn say(&self, line: &str) {
        if self.is_talkative() {
            tell(line);
        }
    }

    const fn is_talkative(&self) -> bool {
        self.debug || !self.silent
    }
}

/// Tells people. Whoever closed stderr does not want to know.
fn tell(text: &str) {
    let mut stderr = io::stderr().lock();
    for line in text.lines() {
        let _ = writeln!(stderr, "ridethrough: {line}");
    }
}

/// How long a call waits for a server that is down, from the first one on.
const PATIENCE: Duration = Duration::from_secs(30);

const AFTER: &str = r#"In the config file of a host, `npx mcp-remote URL` becomes `ridethrough bridge URL`:
  {"mcpServers": {"example": {
    "command": "ridethrough",
    "args": ["bridge", "https://example.com/mcp", "--bearer-env", "EXAMPLE_TOKEN"],
    "env": {"EXAMPLE_TOKEN": "..."}}}}

A host that starts while the server is down begins with what the server was when it was last
there, kept below the user's cache, and is told when its lists change. A call that has no
answer is a JSON-RPC error that says what happened, what was tried and what to do; its "data"
has "kind", "mayHaveRun", "attempts", "elapsedMs" and "retryAfterMs".

Exit codes: 0 the host left, 2 wrong usage, 130 or 143 ended by a signal."#;
