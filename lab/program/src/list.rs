//! `ridethrough-lab list`: lists the scenarios.

use std::io::{self, Write};
use std::process::ExitCode;

use anyhow::Result;
use ridethrough_lab::scenario::{Group, Scenario, Scenarios};
use serde_json::{Value, json};

use super::choice::ScenarioSource;
use ridethrough_terminal::out;

/// The arguments of `ridethrough-lab list`.
#[derive(clap::Args)]
pub(crate) struct ListArgs {
    #[command(flatten)]
    source: ScenarioSource,
    /// Print a JSON list with all that is known of each
    #[arg(long)]
    json: bool,
}

pub(super) fn play(args: &ListArgs) -> Result<ExitCode> {
    let scenarios = args.source.scenarios()?;
    out::print(|out| if args.json { as_json(&scenarios, out) } else { as_text(&scenarios, out) })
}

fn as_text(scenarios: &Scenarios, out: &mut dyn Write) -> io::Result<()> {
    for group in Group::ALL {
        let members: Vec<_> =
            scenarios.all().iter().filter(|it| it.group() == Some(group)).collect();
        if members.is_empty() {
            continue;
        }
        writeln!(out, "{}  {}", group.letter(), group.title())?;
        for scenario in members {
            writeln!(out, "   {:<4} {}", scenario.id, scenario.title)?;
        }
    }
    Ok(())
}

fn as_json(scenarios: &Scenarios, out: &mut dyn Write) -> io::Result<()> {
    let all: Vec<_> = scenarios.all().iter().map(entry).collect();
    serde_json::to_writer_pretty(&mut *out, &all)?;
    writeln!(out)
}

fn entry(scenario: &Scenario) -> Value {
    let words = |checks: &[ridethrough_lab::scenario::Check]| -> Vec<String> {
        checks.iter().map(|check| check.that.clone()).collect()
    };
    json!({
        "id": scenario.id,
        "group": scenario.group().map(Group::title),
        "title": scenario.title,
        "why": scenario.why.trim(),
        "script": scenario.client,
        "must": words(&scenario.must),
        "ideal": words(&scenario.ideal),
        "limit_s": scenario.limit_s,
        "slow": scenario.slow,
    })
}
