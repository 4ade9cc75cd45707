//! One run of the suite: install it, play each scenario alone, report.

use std::path::PathBuf;

use anyhow::{Context, Result};
use futures_util::stream::{self, StreamExt, TryStreamExt};

use crate::harness::{Harness, Installed};
use crate::report::{Outcome, Report};
use crate::scenario::{self, Scenario};
use crate::verdict::{Verdict, verdict};

/// The settings of a run.
pub(crate) struct Order {
    /// Only scenarios whose name contains this.
    pub(crate) scenario: String,
    /// The page that the tables go into.
    pub(crate) write: Option<PathBuf>,
}

/// Carries out a run, and returns whether everything is as it must be.
pub(crate) async fn run(order: Order) -> Result<bool> {
    let harness = match Harness::install().await? {
        Installed::Ready(harness) => harness,
        Installed::Skipped(why) => {
            println!("conformance: skipped: {why}");
            return Ok(true);
        }
    };
    let all = scenario::read(&harness.list().await?)?;
    let is_wanted = |it: &&Scenario| it.name.contains(&order.scenario);
    let wanted: Vec<_> = all.iter().filter(is_wanted).collect();
    let mut report = Report { is_whole: wanted.len() == all.len(), ..Report::default() };
    let ours = ours()?;
    let width = wanted.iter().map(|scenario| scenario.name.len()).max().unwrap_or(0);
    let played = |scenario: &&'_ Scenario| {
        let scenario = (*scenario).clone();
        let (harness, ours) = (&harness, &ours);
        async move {
            let outcome = Outcome::from(play(harness, &scenario, ours).await?);
            println!("{:width$}  {:10}  {outcome}", scenario.name, scenario.leg.name());
            anyhow::Ok((scenario, outcome))
        }
    };
    // They are played one after the other, because one of them measures time.
    let rows = stream::iter(wanted.iter().map(played)).buffered(1);
    report.rows = rows.try_collect().await?;
    report.leaks = leaks(&harness, &wanted).await?;
    for leak in &report.leaks {
        println!("FAIL: {leak}");
    }
    if let Some(path) = &order.write {
        report.write_into(path)?;
    }
    println!("{}", report.summary());
    Ok(report.is_good())
}

/// Plays a scenario by the strict rule, once more if it may be.
async fn play(harness: &Harness, scenario: &Scenario, command: &str) -> Result<Verdict> {
    let mut tries = 1;
    loop {
        let verdict = verdict(&harness.play(scenario, command, "ours").await?, scenario.least());
        match &verdict {
            Err(why) if tries < scenario.tries() => {
                eprintln!("{}: once more, alone: {why}", scenario.name);
                tries += 1;
            }
            _ => return Ok(verdict),
        }
    }
}

/// Returns the scenarios that a client that does nothing passes. By the strict rule there must be none, and
/// by the suite's own verdict no more than are known.
async fn leaks(harness: &Harness, scenarios: &[&Scenario]) -> Result<Vec<String>> {
    eprintln!("a client that does nothing ...");
    let played = scenarios.iter().map(|scenario| async {
        let played = harness.play(scenario, NOTHING, "nothing").await?;
        let (name, leg) = (&scenario.name, scenario.leg.name());
        anyhow::Ok(if verdict(&played, scenario.least()).is_ok() {
            Some(format!("a client that does nothing passes {name} {leg}"))
        } else if played.is_accepted && !scenario.is_vacuous() {
            Some(format!("the suite accepts a client that does nothing in {name} {leg}"))
        } else {
            None
        })
    });
    let leaks: Vec<_> = stream::iter(played).buffered(AT_ONCE).try_collect().await?;
    Ok(leaks.into_iter().flatten().collect())
}

/// Returns the command that runs this program as a client, for a shell. The suite adds the URL.
fn ours() -> Result<String> {
    let path = std::env::current_exe().context("this program does not know its own path")?;
    let path = path.to_str().context("the path of this program is no text")?;
    Ok(format!("'{}' client", path.replace('\'', r"'\''")))
}

const NOTHING: &str = "true";
/// How many scenarios are played at once where no time is measured.
const AT_ONCE: usize = 3;
