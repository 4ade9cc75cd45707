//! `ridethrough-lab show`: one scenario, for people, as its file, or as a script to play by hand.

use std::io::{self, Write};
use std::process::ExitCode;

use anyhow::Result;
use ridethrough_lab::scenario::{Check, ContestantKind, Scenario};

use super::choice::{self, ScenarioSource};
use ridethrough_terminal::out::{self, wrapped};

/// The arguments of `ridethrough-lab show`.
#[derive(clap::Args)]
pub(crate) struct ShowArgs {
    /// The scenario, such as `A1`
    id: String,
    #[command(flatten)]
    source: ScenarioSource,
    /// Print the file itself, to start one of your own from
    #[arg(long, conflicts_with = "script")]
    toml: bool,
    /// Print the script that a client is given, as JSON
    #[arg(long)]
    script: bool,
}

pub(super) fn play(args: &ShowArgs) -> Result<ExitCode> {
    let scenarios = args.source.scenarios()?;
    let scenario = scenarios.find(&args.id).map_err(|it| choice::unknown(&it))?;
    out::print(|out| match (args.toml, args.script) {
        (true, _) => write!(out, "{}", scenario.source),
        (false, true) => {
            serde_json::to_writer_pretty(&mut *out, &scenario.client)?;
            writeln!(out)
        }
        (false, false) => in_words(scenario, out),
    })
}

fn in_words(scenario: &Scenario, out: &mut dyn Write) -> io::Result<()> {
    let Scenario { id, title, why, control, limit_s, .. } = scenario;
    writeln!(out, "{id}  {title}\n\n{}\n", wrapped(why, ""))?;
    writeln!(out, "The client is asked to (and is stopped after {limit_s} s):")?;
    for (place, step) in scenario.client.iter().enumerate() {
        writeln!(out, "  {place}  {}", serde_json::to_string(step)?)?;
    }
    checks("It must hold that", &scenario.must, out)?;
    checks("It would be ideal that", &scenario.ideal, out)?;
    let habits = if control.asks_era { " --asks-era" } else { "" };
    let is_front = scenario.control_kind() == ContestantKind::Front;
    let way = if is_front { ", played with `--bridge`" } else { "" };
    writeln!(
        out,
        "\nA client that fails it: `ridethrough-lab wrong {}{habits}`{way}:",
        control.mistake
    )?;
    writeln!(out, "  breaks \"{}\"", control.breaks)?;
    writeln!(out, "\nWhat the server does: `ridethrough-lab show {id} --toml`")
}

fn checks(heading: &str, checks: &[Check], out: &mut dyn Write) -> io::Result<()> {
    if checks.is_empty() {
        return Ok(());
    }
    writeln!(out, "\n{heading}:")?;
    checks.iter().try_for_each(|check| writeln!(out, "  - {}", check.that))
}
