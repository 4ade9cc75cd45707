//! `ridethrough-lab run`: plays scenarios with a client, and reports how it did.

use std::ffi::OsString;
use std::io::ErrorKind;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Result};
use ridethrough_lab::contestant::Program;
use ridethrough_lab::report;
use ridethrough_lab::run::{replay_late, run_all};
use ridethrough_lab::scenario::Scenario;
use ridethrough_lab::score::{Scorecard, Verdict};
use ridethrough_lab::today;
use tokio::time::Instant;

use super::choice::ScenarioChoice;
use super::progress::Progress;
use super::through_gateway;
use crate::login::IS_FULL;
use crate::writable;
use ridethrough_terminal::misuse::Misuse;
use ridethrough_terminal::until;

/// The arguments of `ridethrough-lab run`.
#[derive(clap::Args)]
#[command(after_long_help = AFTER)]
pub(crate) struct RunArgs {
    /// The command of a client; the URL and the path of a script are added to it [default: our own
    /// client, `ridethrough-lab drive`]
    #[arg(long, value_name = "CMD")]
    client: Option<String>,
    /// The client is a bridge behind a host that has a session: it is not asked to do without one, nor to log in
    #[arg(long, requires = "client")]
    bridge: bool,
    /// Put our own client through, with a gateway of ours between it and the server: its verdicts must not change
    #[arg(long, conflicts_with = "client")]
    through_gateway: bool,
    /// What the client is called in reports [default: the command]
    #[arg(long)]
    name: Option<String>,
    /// How many scenarios are played at once
    #[arg(long, default_value_t = 8, value_parser = clap::value_parser!(u16).range(1..=64))]
    jobs: u16,
    /// How many times a scenario that missed nothing but a limit of time is played again, alone: this
    /// tells a slow client from a busy machine
    #[arg(long, value_name = "TIMES", default_value_t = 0, value_parser = clap::value_parser!(u16).range(..=9))]
    replay_late: u16,
    /// Exit with 1 also if an ideal was missed
    #[arg(long)]
    strict: bool,
    /// Write everything that was seen to this file, as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Write the verdicts to this file, as JUnit XML for continuous integration
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    /// Write a page with the table and a timeline of each scenario to this file
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    #[command(flatten)]
    choice: ScenarioChoice,
}

pub(super) fn play(args: &RunArgs) -> Result<ExitCode> {
    if args.through_gateway && !IS_FULL {
        return Err(no_gateway().into());
    }
    let scenarios = args.choice.played()?;
    let logs_in = !args.bridge && (args.client.is_some() || IS_FULL);
    let all = scenarios.len();
    let scenarios: Vec<_> = scenarios.iter().filter(|it| logs_in || !it.asks_for_login()).collect();
    if scenarios.len() < all {
        let left = all - scenarios.len();
        let why = if args.bridge { "no bridge begins" } else { "this build of our client has not" };
        eprintln!("{left} scenarios are about logins, which {why}: they are left out");
    }
    let (scenarios, exempt): (Vec<_>, Vec<_>) = scenarios.into_iter().partition(|scenario| {
        !args.through_gateway || through_gateway::exempt(&scenario.id).is_none()
    });
    for scenario in exempt {
        let why = through_gateway::exempt(&scenario.id).unwrap_or_default();
        eprintln!("{} is left out: {why}", scenario.id);
    }
    let contender = RunClient::new(args)?;
    // Checked before the minutes that a run may take.
    for path in args.files() {
        writable::see(path, PLAYED)?;
    }
    match until::stopped(run(contender, &scenarios, args))? {
        Ok(card) => {
            let card = card?;
            args.write(&card)?;
            let is_soft = card.count(Verdict::Soft) > 0;
            let is_good = card.count(Verdict::Fail) == 0 && !(args.strict && is_soft);
            Ok(if is_good { ExitCode::SUCCESS } else { ExitCode::FAILURE })
        }
        Err(stopped) => Ok(stopped.tell("the client and all that it started were ended")),
    }
}

impl RunArgs {
    fn files(&self) -> impl Iterator<Item = &PathBuf> {
        [&self.json, &self.junit, &self.html].into_iter().flatten()
    }

    fn write(&self, card: &Scorecard) -> Result<()> {
        let cards = std::slice::from_ref(card);
        let texts = [
            self.json.as_ref().map(|path| (path, report::json(cards))),
            self.junit.as_ref().map(|path| (path, report::junit(card))),
            self.html.as_ref().map(|path| (path, report::html(cards, &today()))),
        ];
        texts.into_iter().flatten().try_for_each(|(path, text)| {
            std::fs::write(path, text).with_context(|| format!("writing `{}`", path.display()))
        })
    }
}

/// The client that plays the scenarios.
struct RunClient {
    name: String,
    command: String,
    program: Program,
}

impl RunClient {
    fn new(args: &RunArgs) -> Result<Self> {
        let (command, program, name) = match &args.client {
            Some(command) => {
                let program = Program::parse(command).map_err(|error| Misuse {
                    what: error.to_string(),
                    tried: format!("`{command}` was split as a shell would"),
                    hint: "give a program and its arguments: --client \"python3 adapter.py\""
                        .to_owned(),
                })?;
                if !program.is_there() {
                    return Err(absent(command).into());
                }
                let program = if args.bridge { program.before_a_bridge() } else { program };
                (command.clone(), with_browser(program)?, command.clone())
            }
            None if args.through_gateway => {
                let program = ourselves(&["--through-gateway"])?.before_a_bridge();
                let name = "ridethrough through its gateway".to_owned();
                ("ridethrough-lab drive --through-gateway".to_owned(), program, name)
            }
            None => ("ridethrough-lab drive".to_owned(), ourselves(&[])?, "ridethrough".to_owned()),
        };
        Ok(Self { name: args.name.clone().unwrap_or(name), command, program })
    }
}

fn no_gateway() -> Misuse {
    Misuse {
        what: "this program was built without our gateway".to_owned(),
        tried: "no scenario was played".to_owned(),
        hint: "build it with `--features full`".to_owned(),
    }
}

fn absent(command: &str) -> Misuse {
    Misuse {
        what: format!("there is no program for `{}`", command.replace(char::is_control, "?")),
        tried: "it was looked for in the folders of `PATH`; no scenario was played".to_owned(),
        hint: "give a program and its arguments: --client \"python3 adapter.py\"".to_owned(),
    }
}

/// Returns our own client, driven by the adapter protocol like all others.
pub(super) fn ourselves(flags: &[&str]) -> Result<Program> {
    let this = std::env::current_exe().context("this program does not know its own path")?;
    let words = ["drive"].into_iter().chain(flags.iter().copied());
    let words = std::iter::once(this.into_os_string()).chain(words.map(OsString::from));
    with_browser(Program::new(words))
}

/// Gives the program a browser, by which it can log in.
pub(super) fn with_browser(program: Program) -> Result<Program> {
    let this = std::env::current_exe().context("this program does not know its own path")?;
    let browser = [this.as_os_str(), "browser".as_ref()];
    match program.clone().with_browser(&browser) {
        // Scenarios without a login need no browser.
        Err(error) if error.kind() == ErrorKind::Unsupported => Ok(program),
        written => written.context("the browser could not be written"),
    }
}

async fn run(
    contender: RunClient,
    scenarios: &[&Scenario],
    args: &RunArgs,
) -> std::io::Result<Scorecard> {
    let (began, at_once) = (Instant::now(), usize::from(args.jobs));
    // A client that cannot even start is played nevertheless: each scenario says what is wrong.
    let program = contender.program.clone().timed(at_once, LONGEST_START).await;
    let program = program.unwrap_or(contender.program);
    let mut progress = Progress::new(scenarios.len());
    progress.begin(&contender.name);
    let mut scores = run_all(scenarios, &program, at_once, |score| progress.tell(score)).await?;
    let tell = |score: &_| progress.tell_again(score);
    replay_late(scenarios, &program, args.replay_late, &mut scores, tell).await?;
    let elapsed_ms = began.elapsed().as_secs_f64() * 1e3;
    let RunClient { name, command, .. } = contender;
    let card = Scorecard { client: name, command, scores, elapsed_ms };
    progress.end(&card);
    Ok(card)
}

/// What was tried, in the error about a file that cannot be written.
pub(super) const PLAYED: &str = "it was opened before the run; nothing was played";
/// How long a client may take to start: enough for an interpreter with its libraries, and less than a minute
/// for a client that hangs.
const LONGEST_START: Duration = Duration::from_secs(15);

const AFTER: &str =
    "A client of any language can be scored: write a program that takes a URL and the \
path of a script, and prints one line of JSON after each step. `ridethrough-lab drive --help` \
describes both.

Exit codes: 0 nothing failed, 1 a scenario failed, 2 wrong usage, 128 and the number of the signal \
if stopped by one: 130 by Ctrl-C.";
