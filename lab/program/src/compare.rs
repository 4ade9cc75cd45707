//! `ridethrough-lab compare`: puts published clients and bridges through the scenarios, and ours beside
//! them.
//!
//! Clients are installed before the first one is played: a build in the background would make a
//! client look slow.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::thread::available_parallelism;
use std::time::Duration;

use anyhow::{Context, Result};
use ridethrough_lab::contestant::Program;
use ridethrough_lab::install::Workshop;
use ridethrough_lab::rivals::{Part, RIVALS, Rival};
use ridethrough_lab::run::{replay_late, run_all};
use ridethrough_lab::scenario::Scenario;
use ridethrough_lab::score::{Score, Scorecard};
use ridethrough_lab::today;
use tokio::time::Instant;

use super::choice::ScenarioChoice;
use super::run::{PLAYED, ourselves, with_browser};
use crate::scorecard::{Comparison, Role, ScoredClient, ScoredOutcome};
use crate::writable;
use ridethrough_terminal::misuse::Misuse;
use ridethrough_terminal::{out, until};

/// The arguments of `ridethrough-lab compare`.
#[derive(clap::Args)]
#[command(after_long_help = AFTER)]
pub(crate) struct CompareArgs {
    /// Only these beside our client and our bridge, such as `python,mcp-remote`; `none` for ours alone
    #[arg(long, value_name = "NAMES")]
    clients: Option<String>,
    /// How many scenarios are played at once [default: one for each processor]
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..=64))]
    jobs: Option<u16>,
    /// The folder in which clients are installed, kept from run to run [default: below the user's
    /// cache]
    #[arg(long, value_name = "FOLDER")]
    dir: Option<PathBuf>,
    /// Write `scorecard.md` and `scorecard.json` into this folder, in place of printing the table
    #[arg(long, value_name = "FOLDER")]
    write: Option<PathBuf>,
    /// Write the verdicts and figures to this file, as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    #[command(flatten)]
    choice: ScenarioChoice,
}

pub(super) fn play(args: &CompareArgs) -> Result<ExitCode> {
    let scenarios = args.choice.played()?;
    let scenarios: Vec<_> = scenarios.iter().collect();
    let rivals = args.rivals()?;
    // Checked before the minutes that a run may take.
    for path in args.files() {
        writable::see(&path, PLAYED)?;
    }
    match until::stopped(args.compare(&rivals, &scenarios))? {
        Ok(entries) => {
            let (made, command) = (today(), args.command());
            let comparison = Comparison { scenarios: &scenarios, made, command, entries: entries? };
            args.tell(&comparison)
        }
        Err(stopped) => Ok(stopped.tell("the client and all that it started were ended")),
    }
}

impl CompareArgs {
    fn rivals(&self) -> Result<Vec<&'static Rival>, Misuse> {
        let Some(names) = &self.clients else { return Ok(RIVALS.iter().collect()) };
        let names = names.split(',').map(str::trim).filter(|it| !it.is_empty() && *it != "none");
        let known: Vec<_> = RIVALS.iter().map(|rival| rival.name).collect();
        Rival::named(&names.collect::<Vec<_>>()).map_err(|unknown| Misuse {
            what: unknown.to_string(),
            tried: "the names of all clients with an adapter were compared".to_owned(),
            hint: format!("these are known: {}", known.join(", ")),
        })
    }

    async fn compare(
        &self,
        rivals: &[&'static Rival],
        scenarios: &[&Scenario],
    ) -> Result<Vec<ScoredClient>> {
        let workshop = Workshop::new(self.dir.clone().unwrap_or_else(Workshop::default_folder));
        let mut contenders = vec![ours(Role::Client)?, ours(Role::Bridge)?];
        for rival in rivals {
            contenders.push(theirs(&workshop, rival).await);
        }
        // Within a role the order stays: ours first.
        contenders.sort_by_key(|contender| contender.role);
        let cores = available_parallelism().map_or(1, usize::from);
        let at_once = self.jobs.map_or(cores, usize::from);
        let mut entries = Vec::new();
        for contender in contenders {
            entries.push(contender.play(scenarios, at_once).await?);
        }
        Ok(entries)
    }

    /// Returns a command that makes this table anywhere, without paths of this machine.
    fn command(&self) -> String {
        let mut command = "ridethrough-lab compare".to_owned();
        let jobs = self.jobs.map(|jobs| jobs.to_string());
        for (name, value) in
            [("clients", &self.clients), ("only", &self.choice.only), ("jobs", &jobs)]
        {
            if let Some(value) = value {
                command += &format!(" --{name} {value}");
            }
        }
        if self.choice.source.is_own() {
            command += " --scenarios ...";
        }
        command + if self.write.is_some() { " --write docs" } else { "" }
    }

    fn pages(&self) -> Option<[PathBuf; 2]> {
        self.write.as_ref().map(|it| ["scorecard.md", "scorecard.json"].map(|name| it.join(name)))
    }

    fn files(&self) -> impl Iterator<Item = PathBuf> {
        self.pages().into_iter().flatten().chain(self.json.clone())
    }

    fn tell(&self, comparison: &Comparison<'_>) -> Result<ExitCode> {
        if let Some(path) = &self.json {
            write(path, &comparison.json())?;
        }
        let Some([page, file]) = self.pages() else {
            return out::print(|out| out.write_all(comparison.markdown().as_bytes()));
        };
        write(&page, &comparison.markdown())?;
        write(&file, &comparison.json())?;
        Ok(ExitCode::SUCCESS)
    }
}

/// A client that is to be played, or the reason why it cannot be.
struct ComparedClient {
    name: String,
    what: String,
    version: String,
    role: Role,
    /// Whether the client can be asked to log in.
    logs_in: bool,
    program: Result<Program, String>,
}

impl ComparedClient {
    async fn play(self, scenarios: &[&Scenario], at_once: usize) -> Result<ScoredClient> {
        let Self { name, what, version, role, logs_in, program } = self;
        let is_played = |it: &&&Scenario| logs_in || !it.asks_for_login();
        let scenarios: Vec<_> = scenarios.iter().filter(is_played).copied().collect();
        let program = match (program, role) {
            (Ok(program), Role::Bridge) => {
                let broken = |why| format!("it does not work: {why}");
                program.timed_as_bridge(at_once, LONGEST_START).await.map_err(broken)
            }
            (Ok(program), Role::Client) => {
                let broken = |why| format!("its adapter does not work: {why}");
                program.timed(at_once, LONGEST_START).await.map_err(broken)
            }
            (Err(why), _) => Err(why),
        };
        let outcome = match program {
            Ok(program) => ScoredOutcome::Ran(scored(&name, &program, &scenarios, at_once).await?),
            Err(why) => {
                eprintln!("{name} is not run: {why}");
                ScoredOutcome::NotRun(why)
            }
        };
        Ok(ScoredClient { name, what, version, role, outcome })
    }
}

fn ours(role: Role) -> Result<ComparedClient> {
    let (name, what, program) = match role {
        Role::Bridge => ("bridge", "this project's `ridethrough bridge`", host(&[])?),
        Role::Client => ("ridethrough", "this project", ourselves(&[])?),
    };
    Ok(ComparedClient {
        name: name.to_owned(),
        what: what.to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        role,
        logs_in: role == Role::Client,
        program: Ok(program),
    })
}

async fn theirs(workshop: &Workshop, rival: &Rival) -> ComparedClient {
    let words = if rival.needs_python_package && !has_python_package() {
        Err(NO_PYTHON_PACKAGE.to_owned())
    } else {
        let installed = workshop.install(rival, |what| eprintln!("installing {what}")).await;
        installed.map_err(|error| error.to_string())
    };
    let (role, program) = match rival.part {
        Part::Bridge { token, .. } => (
            Role::Bridge,
            words.and_then(|words| bridged(&words, token).map_err(|error| error.to_string())),
        ),
        Part::Client => {
            let program = words.and_then(client);
            let has_session = rival.asks_for_session;
            (Role::Client, program.map(|it| if has_session { it.asking_for_session() } else { it }))
        }
    };
    let [name, what, version] = [rival.name, rival.what, rival.version()].map(str::to_owned);
    ComparedClient { name, what, version, role, logs_in: rival.logs_in, program }
}

/// Returns whether Python would find this project's package.
fn has_python_package() -> bool {
    let path = std::env::var_os("PYTHONPATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join("ridethrough/_native.abi3.so").exists())
}

/// Returns a client, with a browser.
fn client(words: Vec<PathBuf>) -> Result<Program, String> {
    with_browser(Program::new(words)).map_err(|error| error.to_string())
}

/// Returns a bridge, behind our host.
fn bridged(words: &[PathBuf], token: Option<&str>) -> Result<Program> {
    let words: Option<Vec<_>> = words.iter().map(|word| word.to_str().map(quoted)).collect();
    let server = words.context("the path of the bridge is no text")?.join(" ");
    let mut arguments = vec!["--server", &server];
    arguments.extend(token.into_iter().flat_map(|variable| ["--token-env", variable]));
    with_browser(host(&arguments)?)
}

/// Returns our host of a bridge.
fn host(arguments: &[&str]) -> Result<Program> {
    let this = std::env::current_exe().context("this program does not know its own path")?;
    let command = [this.as_os_str(), "drive-stdio".as_ref()];
    let words = command.into_iter().chain(arguments.iter().map(AsRef::as_ref));
    Ok(Program::new(words).before_a_bridge())
}

/// Returns a word quoted so that `--server` takes it for one.
fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

async fn scored(
    name: &str,
    program: &Program,
    scenarios: &[&Scenario],
    at_once: usize,
) -> Result<Scorecard> {
    let (began, mut done, all) = (Instant::now(), 0, scenarios.len());
    let told = |score: &Score| {
        done += 1;
        eprintln!("{name} {done}/{all}: {} {}", score.verdict.word(), score.id);
    };
    let mut scores = run_all(scenarios, program, at_once, told).await?;
    let told = |score: &Score| {
        eprintln!("{name}, alone: {} {}", score.verdict.word(), score.id);
    };
    replay_late(scenarios, program, REPLAYS, &mut scores, told).await?;
    let elapsed_ms = began.elapsed().as_secs_f64() * 1e3;
    let card = Scorecard { client: name.to_owned(), command: String::new(), scores, elapsed_ms };
    eprintln!("{name}: {} in {:.0} s", card.counts(), elapsed_ms / 1e3);
    Ok(card)
}

fn write(path: &Path, text: &str) -> Result<()> {
    std::fs::write(path, text).with_context(|| format!("writing `{}`", path.display()))?;
    eprintln!("wrote {}", path.display());
    Ok(())
}

/// How long a client may take to start: enough for an interpreter with many libraries on a busy machine.
const LONGEST_START: Duration = Duration::from_secs(60);

/// How often a scenario is played again, alone, for every client: twice is enough to tell a slow client from
/// a busy machine.
const REPLAYS: u16 = 2;

const NO_PYTHON_PACKAGE: &str = "no folder in `PYTHONPATH` has the package `ridethrough` with its native \
                                 module; `python/test` builds it as `target/python/package`";

const AFTER: &str = "Clients are installed by the package managers of their languages: `python3` with \
`venv`, `npm`, `cargo`. One that is missing, or cannot reach its registry, is no failure: the table \
says `not run` and why. Those with `ridethrough` in their names run over this project's Python package, which \
is found through `PYTHONPATH`.

Exit codes: 0 the table was made, whatever is in it; 1 it could not be made; 2 wrong usage; 130 \
stopped by Ctrl-C.";

#[cfg(test)]
mod tests {
    use ridethrough_lab::contestant::split;

    use super::*;

    #[test]
    fn a_quoted_word_is_one_word_whatever_is_in_it() {
        let words = ["/a b/it's", r"C:\x y", "{url}", "--header", "\"q\""];

        let line = words.map(quoted).join(" ");

        assert_eq!(split(&line).unwrap(), words);
    }
}
