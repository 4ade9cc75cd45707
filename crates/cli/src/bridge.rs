//! `ridethrough bridge`: an MCP server on stdin and stdout, in front of a remote one.
//!
//! stdout carries the protocol and nothing else; people read stderr. The command line is the one that
//! mcp-remote takes, so that a config file changes in one word. Flags of mcp-remote that have no effect here
//! are reported.

mod foreign;
mod login;

use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Result};
use clap::ValueEnum;
use ridethrough::Client;
use ridethrough::transport::Endpoint;
use ridethrough_bridge::{Bridge, Catalogue, Detail, Ended, Hidden, harmless};
use ridethrough_config::settings::Policy;
use ridethrough_config::{address, folders};
use secrecy::ExposeSecret;
use tokio::runtime;

use crate::choices::DoubtFlags;
use crate::misuse::Misuse;
use crate::oauth::OAuthFlags;
use crate::options::{self, Options, Settings};
use crate::server::target::{self, Target};
use crate::status::StatusServer;
use crate::{secrets, until};
use foreign::Foreign;

/// The arguments of `ridethrough bridge`.
#[derive(clap::Args)]
#[command(after_long_help = AFTER, mut_arg("timeout", |it| it.help(TIMEOUT)),
          mut_arg("allow_http", |it| it.help(ALLOW_HTTP)))]
pub(crate) struct BridgeArgs {
    /// Where the remote server is: a URL, or its name in a config file of yours
    #[arg(value_name = "URL")]
    server: String,
    /// The port for the browser to come back to, where mcp-remote takes it
    #[arg(hide = true)]
    port: Option<String>,
    /// A file with more headers, one on a line; `#` begins a comment
    #[arg(long, value_name = "FILE")]
    header_file: Option<PathBuf>,
    /// How the server is spoken to: Streamable HTTP, and HTTP+SSE if it refuses that, whatever is named
    #[arg(long, value_enum, default_value_t = Strategy::HttpFirst)]
    transport: Strategy,
    /// Hide the tools that match, and refuse to call them; `*` stands for any letters
    #[arg(long = "ignore-tool", value_name = "PATTERN")]
    ignored: Vec<String>,
    /// How long one connect may take
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=3600))]
    connect_timeout: Option<u64>,
    /// Tell every event of the connection on stderr, as `-vv` does
    #[arg(long)]
    debug: bool,
    /// Tell nothing on stderr, unless `--debug` is there too
    #[arg(long)]
    silent: bool,
    /// Keep nothing on disk: a host that starts while the server is down then gets errors in place of lists
    /// until it is there
    #[arg(long)]
    no_catalogue: bool,
    #[command(flatten)]
    doubt: DoubtFlags,
    #[command(flatten)]
    foreign: Foreign,
    #[command(flatten)]
    login: OAuthFlags,
    #[command(flatten)]
    options: Options,
}

/// The strategies of mcp-remote.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Strategy {
    HttpFirst,
    HttpOnly,
    SseFirst,
    SseOnly,
}

pub(crate) fn play(args: &BridgeArgs) -> Result<ExitCode> {
    let (target, settings) = args.check()?;
    // One thread is enough for lines and sockets, and starts sooner than several.
    let runtime = runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("the runtime could not be started")?;
    let code = runtime.block_on(args.run(&target, &settings));
    // A read of stdin that is under way cannot be ended otherwise.
    runtime.shutdown_background();
    code
}

impl BridgeArgs {
    /// Checks everything that can be wrong before anything is sent.
    fn check(&self) -> Result<(Target, Settings), Misuse> {
        let target = target::behind_bridge(&self.server)?;
        check_way(url_of(&target), self.options.allow_http)?;
        let file = self.header_file.as_deref().map(foreign::read_headers).transpose()?;
        let mut settings = self.options.bridge_settings(file.unwrap_or_default())?;
        login::take_flags(&self.login, self.port.as_deref(), &mut settings)?;
        Ok((target, settings))
    }

    async fn run(&self, target: &Target, settings: &Settings) -> Result<ExitCode> {
        let client = self.client(target, settings)?;
        for note in self.notes().into_iter().chain(target.origin()) {
            self.say(&note);
        }
        // Warnings are shown even with `--silent`.
        settings.warning(target).iter().for_each(|line| tell(line));
        settings.told_sources().iter().for_each(|line| self.say(line));
        if settings.verbose >= 3 {
            self.say(&harmless(&format!("{target}: {}", settings.shown())));
        }
        let flags = [self.options.typed(), self.login.typed()];
        let flags: Vec<_> = flags.into_iter().filter(|it| !it.is_empty()).collect();
        let spoken = target.spoken().with_flags(flags.join(" "));
        let bridge = self.bridge(client, target, settings);
        let bridge = login::with_account(bridge, settings.account_in_use(), target, spoken);
        let _status = self.open_status(&bridge, target, settings);
        let mut code = 0;
        // In a task of its own: the bridge's task would poll the signals whenever it is woken, for each line.
        let asked = tokio::spawn(until::asked());
        let stopped = async { code = asked.await.expect("who waits for signals does not panic") };
        let ended = bridge.run(tokio::io::stdin(), tokio::io::stdout(), stopped).await;
        // A token that is being renewed must be stored. Most bridges renew none at this moment.
        let _ = tokio::time::timeout(RENEWAL, settings.renewals_ended()).await;
        match ended {
            Ended::HostLeft => Ok(ExitCode::SUCCESS),
            Ended::Stopped => Ok(ExitCode::from(code)),
        }
    }

    fn bridge(&self, client: Client, target: &Target, settings: &Settings) -> Bridge {
        let mut bridge = Bridge::new(client)
            .secrets(secrets::of(url_of(target), &settings.shown_to_server()))
            .hide(Hidden::new(self.ignored.clone()))
            .hints(settings.hints.clone())
            .doubt(self.doubt.form().unwrap_or_default())
            .doubt_repeat(self.doubt.repeat().unwrap_or_default())
            .detail(self.detail(settings));
        if let Some(limit) = settings.timeout {
            bridge = bridge.time_limit(limit);
        }
        if !self.no_catalogue
            && let Some(folder) = folders::catalogues()
        {
            let shown = settings.shown_to(target);
            bridge = bridge.catalogue(Catalogue::open(&folder, url_of(target), &shown));
        }
        if self.is_talkative() { bridge.tell(tell) } else { bridge }
    }

    /// Lets `ridethrough status` see this bridge. A bridge whose socket cannot be opened runs without it.
    fn open_status(
        &self,
        bridge: &Bridge,
        target: &Target,
        settings: &Settings,
    ) -> Option<StatusServer> {
        let opened =
            StatusServer::open(bridge.gauge(), target.to_string(), settings.sources.clone());
        opened
            .inspect_err(|why| {
                if self.detail(settings) == Detail::Everything {
                    let words = format!("`ridethrough status` will not see this bridge: {why}");
                    self.say(&harmless(&words));
                }
            })
            .ok()
    }

    fn client(&self, target: &Target, settings: &Settings) -> Result<Client, Misuse> {
        // A host that was restarted need not list again, and its calls would be left in doubt.
        let mut policy = settings.policy.recovery().builder().learn_hints(true);
        if settings.policy == Policy::Interactive {
            // The address comes from a config file and has worked before, so an outage is likelier than a
            // mistake.
            policy = policy.first_patience(PATIENCE);
        }
        let mut builder = settings.begin(target, policy)?;
        if !self.no_catalogue {
            builder = settings.remembering(builder, target);
        }
        if let Some(seconds) = self.connect_timeout {
            builder = builder.connect_timeout(Duration::from_secs(seconds));
        }
        options::finish(builder)
    }

    const fn detail(&self, settings: &Settings) -> Detail {
        match settings.verbose {
            _ if self.debug => Detail::Everything,
            0 => Detail::Summary,
            1 => Detail::Faults,
            _ => Detail::Everything,
        }
    }

    /// Returns notes about arguments that have no effect here.
    fn notes(&self) -> Vec<String> {
        let mut notes = self.foreign.notes();
        notes.extend(self.login.warning());
        if matches!(self.transport, Strategy::SseFirst | Strategy::SseOnly) {
            notes.push(
                "Streamable HTTP is tried first: HTTP+SSE follows if the server refuses it"
                    .to_owned(),
            );
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

/// Returns the URL of the server, with its query.
fn url_of(target: &Target) -> &str {
    target.address().map_or("", |address| address.url.expose_secret())
}

/// Writes a line to stderr. A closed stderr is not an error.
fn tell(text: &str) {
    let mut stderr = io::stderr().lock();
    for line in text.lines() {
        let _ = writeln!(stderr, "ridethrough: {line}");
    }
}

/// Refuses to send secrets over plain `http` to another machine, where others can listen.
fn check_way(url: &str, allow_http: bool) -> Result<(), Misuse> {
    // A text that is not a URL is refused by the client's builder, with a better message.
    let Ok(endpoint) = Endpoint::parse(url) else { return Ok(()) };
    if allow_http || address::is_safe_from_listeners(&endpoint) {
        return Ok(());
    }
    Err(Misuse {
        what: format!("`{endpoint}` is not encrypted, and not on this machine"),
        tried: "the URL was read; nothing was sent".to_owned(),
        hint: "write `https://`, or add `--allow-http` if nobody can listen in between".to_owned(),
    })
}

/// How long the end waits for a refresh. Hosts kill a bridge that does not end; by then a refresh has its
/// answer, as a rule.
const RENEWAL: Duration = Duration::from_secs(10);
/// How long a call waits for a server that is down, from the first call on.
const PATIENCE: Duration = Duration::from_secs(30);

const ALLOW_HTTP: &str = "Allow `http://` to other machines; without it only to this one";
const TIMEOUT: &str = "The time for one call, waits and repeats included; progress that the host asked \
                       for gives it that much again [default: 600 for a tool, 60 for everything else]";

const AFTER: &str = r#"In the config file of a host, `npx mcp-remote URL` becomes `ridethrough bridge URL`:
  {"mcpServers": {"example": {
    "command": "ridethrough", "args": ["bridge", "https://example.com/mcp"]}}}

A server that wants a login is logged in to by `ridethrough login URL`, once. The bridge never
opens a browser: until somebody has logged in, calls end with an error that names that command,
and a host that can show pages (URL elicitation) is asked to show the login. A token of your own
is given by `--bearer-env EXAMPLE_TOKEN` and `"env": {"EXAMPLE_TOKEN": "..."}`.

A host that starts while the server is down begins with what the server was when it was last
there, kept below the user's cache, and is told when its lists change. A call that has no
answer is a JSON-RPC error that says what happened, what was tried and what to do; its "data"
has "kind", "mayHaveRun", "attempts", "elapsedMs" and "retryAfterMs".

Exit codes: 0 the host left, 2 wrong usage, 130 or 143 ended by a signal."#;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_this_machine_is_spoken_to_in_the_clear() {
        for (url, is_allowed) in [
            ("https://example.com/mcp", true),
            ("http://127.0.0.1/mcp", true),
            ("http://example.com/mcp", false),
        ] {
            assert_eq!(check_way(url, false).is_ok(), is_allowed, "{url}");
            assert!(check_way(url, true).is_ok(), "{url}");
        }
    }

    #[test]
    fn a_refusal_does_not_show_the_query() {
        let refusal =
            check_way("http://example.com/mcp?key=s3cret", false).unwrap_err().to_string();

        assert!(!refusal.contains("s3cret"), "{refusal}");
    }
}
