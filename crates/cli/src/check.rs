//! `ridethrough check`: a diagnosis of a server that a person can act on.
//!
//! It looks from outside, with requests that change nothing: handshakes, `ping`, lists, streams. It never
//! calls a tool, and ends every session that it opened. What could not be examined is reported as unknown,
//! with the reason. The report says what each finding means for our client.

mod authorization;
mod era;
mod finding;
mod guard;
mod hello;
mod pace;
mod program;
mod reach;
mod redirect;
mod refusal;
mod report;
mod seen;
mod session;
mod streams;
mod tls;
mod tools;
mod wire;

use std::env;
use std::io::{self, IsTerminal};
use std::process::ExitCode;
use std::rc::Rc;
use std::time::Duration;

use anyhow::Result;
use ridethrough::machine::hints::OperatorHints;
use serde::Serialize;
use serde_json::Value;
use tokio::time::{Instant, interval, timeout};

use crate::ending::exit::Exit;
use crate::misuse::Misuse;
use crate::options::{self, Options, Policy, Settings};
use crate::server::target::{self, Target};
use crate::talk::terminal::Terminal;
use crate::talk::{ending, safe};
use crate::wrong_usage::unexpanded;
use crate::{out, secrets, until};
use authorization::{AuthorizationCheck, AuthorizationSeen};
use era::Era;
use finding::{Finding, Subject};
use hello::Hello;
use report::Look;
use tools::Tool;
use wire::{Visit, Wire};

/// The arguments of `ridethrough check`.
#[derive(clap::Args)]
#[command(after_long_help = CODES, mut_arg("policy", |it| it.help(POLICY).hide(true)),
          mut_arg("era", |it| it.help(ERA).hide(true)))]
pub(crate) struct CheckArgs {
    /// The server: a URL such as `https://example.com/mcp`, or its name in the config file of an MCP host;
    /// or a program to start, behind everything else: `-- npx -y some-server`
    server: String,
    /// Print JSON for machines: findings, figures, tools
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    options: Options,
}

pub(crate) fn play(args: &CheckArgs) -> Result<ExitCode> {
    ending::tell(check(args), args.json)
}

fn check(args: &CheckArgs) -> Result<ExitCode> {
    let settings = args.options.settings()?;
    let target = target::resolve(&args.server)
        .map_err(|misuse| crate::server::program::advised(misuse, &args.server))?;
    let terminal = Rc::new(Terminal::new());
    let notes = target.notes().into_iter().chain(settings.warning(&target));
    let unexpanded = unexpanded::warnings(env::args_os()).into_iter();
    let unexpanded = unexpanded.map(|it| safe::our_line(&it));
    for note in notes.chain(unexpanded).chain(settings.told_sources()) {
        terminal.say(&note);
    }
    if settings.verbose >= 3 {
        terminal.say(&safe::our_line(&format!("{target}: {}", settings.shown())));
    }
    let time = settings.timeout.unwrap_or(TIME);
    let examined = until::stopped(async {
        if target.address().is_none() {
            let once = Policy::Never.recovery().builder();
            let client = options::finish(settings.begin(&target, once)?)?;
            let mut notes = Notes { server: target.to_string(), ..Notes::default() };
            let looked = program::examine(&client, &settings.hints, time, &mut notes);
            let exit = patiently(&terminal, looked).await;
            program::tell_stray_line(&target.stray_line(), &mut notes);
            return anyhow::Ok((notes, exit));
        }
        let probe = settings.probe(&target)?;
        let wire = Wire::new(probe, terminal.clone(), time).telling(settings.verbose > 0);
        let wire = wire.showing(&settings.shown_to(&target));
        let has_token = wire.has_token;
        let mut notes = Notes::new(&wire);
        if settings.warning(&target).is_some() {
            notes.add(Subject::Safety.warning("certificate", UNCHECKED).advise(CHECK_IT));
        }
        let exit = patiently(&terminal, examine(wire, &settings.hints, &mut notes)).await;
        if !has_token {
            let looked = look_at_login(args, &settings, &target, exit, &mut notes);
            patiently(&terminal, looked).await?;
        }
        patiently(&terminal, settings.renewals_ended()).await;
        anyhow::Ok((notes, exit))
    })?;
    terminal.clear();
    let (notes, exit) = match examined {
        Ok(examined) => examined?,
        Err(stopped) => {
            return Ok(stopped.tell("no tool was called; a session may be left to expire"));
        }
    };
    out::print(|out| {
        if args.json {
            writeln!(out, "{}", report::json(&notes, exit))
        } else {
            report::words(out, &notes, look())
        }
    })?;
    Ok(exit.into())
}

/// Examines how people log in to the server.
async fn look_at_login(
    args: &CheckArgs,
    settings: &Settings,
    target: &Target,
    exit: Exit,
    notes: &mut Notes,
) -> Result<(), Misuse> {
    let Some(address) = target.address() else { return Ok(()) };
    let oauth = settings.oauth_at(address);
    let builder = settings.begin(target, Policy::Never.recovery().builder())?;
    let Some(account) = settings.account(settings.login_at(address), &builder)? else {
        return Ok(());
    };
    let spoken = target.spoken().with_flags(args.options.typed());
    let (redirect, profile) = (oauth.redirect(), oauth.profile.unwrap_or_default());
    let check = AuthorizationCheck { account: &account, spoken: &spoken, redirect, profile };
    check.look(exit == Exit::Unauthorized, notes).await;
    Ok(())
}

/// What was found out so far, as the report shows it.
#[derive(Default)]
struct Notes {
    /// The address, without its query.
    server: String,
    server_name: Option<String>,
    revision: Option<String>,
    /// Whether the server speaks the stateless revision, if that is known.
    is_modern: Option<bool>,
    findings: Vec<Finding>,
    /// The challenge of a refusal, as the server sent it.
    challenge: Option<String>,
    /// How people log in, if that was examined.
    authorization: Option<AuthorizationSeen>,
    figures: CheckFigures,
    tools: Vec<Tool>,
}

/// The measurements of a check.
#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct CheckFigures {
    resolve_ms: Option<f64>,
    connect_ms: Option<f64>,
    tls_ms: Option<f64>,
    initialize_ms: Option<f64>,
    tools_list_ms: Option<f64>,
    ping_p50_ms: Option<f64>,
    ping_p90_ms: Option<f64>,
    ping_max_ms: Option<f64>,
    ping_ms: Vec<f64>,
}

impl Notes {
    fn new(wire: &Wire) -> Self {
        let server = wire.probe.endpoint().to_string();
        Self { server, ..Self::default() }
    }

    /// Adds a finding. The server's words in it were masked when they were put there.
    fn add(&mut self, mut finding: Finding) {
        finding.what = secrets::masked_in_ours(&finding.what);
        finding.advice = finding.advice.map(|it| secrets::masked_in_ours(&it));
        self.findings.push(finding);
    }

    /// Words the finding about the standing stream as one that holds in a session only: our commands have
    /// none with this server.
    fn confine_standing_stream(&mut self) {
        let standing = self.findings.iter_mut().filter(|it| it.name == "standing");
        standing.for_each(|it| it.what = format!("in a session: {}", it.what));
    }
}

/// Runs the whole examination, and returns how the check ended.
async fn examine(mut wire: Wire, said: &OperatorHints, notes: &mut Notes) -> Exit {
    if let Err(exit) = reach::look(&mut wire, notes).await {
        return exit;
    }
    let hello = match hello::look(&mut wire, notes).await {
        Ok(hello) => hello,
        Err(exit) => return exit,
    };
    if hello.visit.is_stateless() {
        tools::look(&mut wire, &hello, said, notes).await;
        notes.add(streams::listen(&mut wire).await);
        pace::look(&mut wire, &hello.visit, notes).await;
        guard::look(&mut wire, &hello.visit, notes).await;
        return Exit::Done;
    }
    if !look_inside(&mut wire, &hello, said, notes).await {
        wire.give_back(&hello.visit).await;
    }
    look_outside(&mut wire, &hello.visit, notes).await;
    Exit::Done
}

/// Examines what can only be seen within a session. Returns whether the server was asked to end it.
async fn look_inside(
    wire: &mut Wire,
    hello: &Hello,
    said: &OperatorHints,
    notes: &mut Notes,
) -> bool {
    let visit = &hello.visit;
    notes.add(session::judge_id(hello));
    tools::look(wire, hello, said, notes).await;
    look_at_resuming(wire, visit, notes).await;
    let mut beside = wire.beside();
    let ((), standing) =
        tokio::join!(pace::look(wire, visit, notes), streams::stand(&mut beside, visit));
    beside.hang_up();
    notes.add(standing);
    era::misname(wire, visit, notes).await;
    session::ask_unknown(wire, visit, notes).await;
    session::end(wire, visit, notes).await
}

async fn look_at_resuming(wire: &mut Wire, visit: &Visit, notes: &mut Notes) {
    let ask = wire.request("ping", Value::Null).of(visit);
    let id = ask.id;
    match wire.ask(ask).await {
        Err(miss) => notes.add(Subject::Streams.unknown("resume", "resuming a stream", miss)),
        Ok(seen) if seen.is_busy() => {
            let because = seen.turned_away();
            notes.add(Subject::Streams.unknown("resume", "resuming a stream", because));
        }
        Ok(seen) if seen.answer.is_none() => {
            let what = match seen.unfinished() {
                Some(because) => format!("does not answer `ping`: {because}"),
                None => format!("answers {} to `ping`", seen.words()),
            };
            let what = format!("{what}; our client asks that to see whether it lives");
            let advice = "let the server answer `ping`, with an error if need be";
            notes.add(Subject::Protocol.bad("ping", what).advise(advice));
            notes.add(Subject::Streams.unknown(
                "resume",
                "resuming a stream",
                "`ping` was not answered",
            ));
        }
        Ok(seen) => {
            let resume = streams::resume(&mut wire.beside(), visit, &seen, id).await;
            let retry = seen.stream.as_ref().and_then(|it| it.retry);
            streams::tell(&resume, retry, notes);
        }
    }
}

/// Examines what needs sessions of its own, or none.
async fn look_outside(wire: &mut Wire, visit: &Visit, notes: &mut Notes) {
    era::offer_nonsense(wire, notes).await;
    let (era, mut finding) = era::look(wire).await;
    notes.is_modern = era.is_modern();
    let is_both = matches!(era, Era::Modern(_));
    if is_both {
        finding.what += BOTH;
        notes.confine_standing_stream();
    }
    notes.add(finding);
    if is_both {
        notes.add(streams::listen(wire).await);
    }
    guard::look(wire, visit, notes).await;
}

/// Runs `work`, and shows that something goes on once a person has waited for two seconds.
async fn patiently<T>(terminal: &Terminal, work: impl Future<Output = T>) -> T {
    let began = Instant::now();
    let mut work = std::pin::pin!(work);
    if let Ok(done) = timeout(SILENCE, work.as_mut()).await {
        return done;
    }
    let (mut ticks, mut next) = (interval(TICK), SILENCE);
    loop {
        tokio::select! {
            done = &mut work => return done,
            _ = ticks.tick() => {}
        }
        let waited = began.elapsed();
        let waiting = format!("checking the server: {} s", waited.as_secs());
        terminal.wait(&waiting);
        // A line that changes is for terminals. Elsewhere lines that stay are written now and then.
        if !terminal.is_terminal() && waited >= next {
            terminal.say(&waiting);
            next = waited * 2;
        }
    }
}

fn look() -> Look {
    let is_utf8 = ["LC_ALL", "LC_CTYPE", "LANG"]
        .into_iter()
        .filter_map(env::var_os)
        .find(|it| !it.is_empty())
        .is_some_and(|it| {
            it.to_string_lossy().to_ascii_lowercase().replace('-', "").contains("utf8")
        });
    let out = io::stdout();
    Look { is_colourful: out::is_colourful(&out), is_fancy: out.is_terminal() && is_utf8 }
}

/// Returns a time in milliseconds, to the microsecond.
fn in_millis(time: Duration) -> f64 {
    (time.as_secs_f64() * 1e6).round() / 1e3
}

/// The time for a whole check, unless `--timeout` says otherwise.
const TIME: Duration = Duration::from_secs(60);
const UNCHECKED: &str = "its certificate is not checked (--insecure): anybody who answers in its place reads \
                         and changes everything, tokens too";
const BOTH: &str = ", and our commands speak that with it unless they need a session; what is said here of sessions, \
                    and of streams that are resumed, is for those and for older clients";
const CHECK_IT: &str =
    "name the server's certificate with `--cacert FILE` in place of `--insecure`";
/// How long a stream is watched.
const WATCH: Duration = Duration::from_secs(1);
/// The longest time without a line about what goes on.
const SILENCE: Duration = Duration::from_secs(2);
const TICK: Duration = Duration::from_millis(250);

const ERA: &str = "Changes nothing here: a check looks at both eras";
const POLICY: &str = "Changes nothing here: a check tries everything once";
const CODES: &str = "\
Exit codes:
  0  checked, whatever was found
  2  wrong usage
  4  the server cannot be reached, says nothing, or turns everybody away
  5  not authorized
  7  the time of the check was over before an answer came
  8  not an MCP server, or one that our client cannot speak with
  130, 143  stopped by Ctrl-C or a signal";
