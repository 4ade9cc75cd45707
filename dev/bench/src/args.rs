//! The arguments of the program.

use std::collections::BTreeSet;
use std::path::PathBuf;

use anyhow::{Context, Result, bail, ensure};

use crate::field::Rivals;
use crate::pace::Pace;

/// What to measure, and where the results go.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Args {
    pub(crate) pace: Pace,
    pub(crate) rivals: Rivals,
    /// The bars to measure, such as `P3`.
    pub(crate) only: BTreeSet<String>,
    /// The file that gets the figures as JSON.
    pub(crate) json: Option<PathBuf>,
    /// Whether the page in `docs` and its charts are written.
    pub(crate) is_written: bool,
}

/// What the program is asked to do.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Asked {
    Help,
    Measure(Args),
    /// Run only the server, for a profiler or a new contestant.
    Serve,
}

impl Args {
    pub(crate) fn wants(&self, bars: &[&str]) -> bool {
        bars.iter().any(|bar| self.only.contains(*bar))
    }
}

pub(crate) fn parse<S: AsRef<str>>(words: &[S]) -> Result<Asked> {
    let mut args = Args {
        pace: Pace::FULL,
        rivals: Rivals::LeftOut,
        only: all(),
        json: None,
        is_written: false,
    };
    let mut words = words.iter().map(AsRef::as_ref);
    while let Some(word) = words.next() {
        match word {
            "--help" | "-h" => return Ok(Asked::Help),
            "--json" => {
                let file = words.next().context("`--json` needs the name of a file")?;
                args.json = Some(file.into());
            }
            "--only" => {
                let bars = words.next().context("`--only` needs bars, such as `P3,P4`")?;
                args.only = picked(bars)?;
            }
            "--quick" => args.pace = Pace::QUICK,
            "--rivals" => args.rivals = Rivals::Installed,
            "--serve" => return Ok(Asked::Serve),
            "--smoke" => args.pace = Pace::SMOKE,
            "--write" => args.is_written = true,
            other => bail!("`{other}` is no option: `./bench --help` lists them"),
        }
    }
    // A page with half of the figures would look complete.
    ensure!(
        !args.is_written || args.only == all(),
        "`--write` writes a page of all figures: leave out `--only`"
    );
    Ok(Asked::Measure(args))
}

fn picked(bars: &str) -> Result<BTreeSet<String>> {
    let all = all();
    let picked: BTreeSet<_> = bars.split(',').map(|it| it.trim().to_uppercase()).collect();
    if let Some(unknown) = picked.iter().find(|it| !all.contains(*it)) {
        bail!("`{unknown}` is no bar: they are P1 to P{COUNT}, {}", GATEWAY.join(", "));
    }
    Ok(picked)
}

fn all() -> BTreeSet<String> {
    let client = (1..=COUNT).map(|number| format!("P{number}"));
    client.chain(GATEWAY.map(str::to_owned)).collect()
}

const COUNT: usize = 12;
/// The bars of the gateway.
const GATEWAY: [&str; 4] = ["G3", "G4", "G5", "H1"];

pub(crate) const USAGE: &str = "\
Usage: ./bench [--quick] [--only P3,P4] [--rivals] [--json FILE] [--write]

Measures the client, the bridge and the gateway against floors that are built beside them, in turns, and prints
what must be, what should be and what is. Progress is told on stderr.

  --quick      fewer rounds and calls; under 5 minutes in all
  --only BARS  only these, separated by commas
  --rivals     also install and measure clients and bridges of others (slow the first time)
  --json FILE  also write all figures, with every round, as JSON
  --serve      only start the server that contestants talk to, until stdin ends
  --smoke      two short rounds, only to see that everything runs
  --write      also write docs/evidence/benchmarks.md and the charts beside it

Exit codes: 0 every \"must\" that was measured is reached, 1 one is missed, 2 it could not be measured.
Linux only: CPU and memory are read from /proc.";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_word_everything_of_ours_is_measured_and_nothing_is_written() {
        let args = measured(&[]);

        assert_eq!((args.pace, args.rivals, args.only.len()), (Pace::FULL, Rivals::LeftOut, 16));
        assert!(args.json.is_none() && !args.is_written);
    }

    #[test]
    fn bars_are_picked_by_name_in_any_case() {
        let args = measured(&["--only", "p3, P12", "--quick"]);

        assert!(args.wants(&["P3"]) && args.wants(&["P1", "P12"]) && !args.wants(&["P1", "P2"]));
        assert_eq!(args.pace, Pace::QUICK);
    }

    #[test]
    fn what_is_not_understood_is_refused() {
        for words in [
            &["--fast"][..],
            &["--only"],
            &["--only", "P13"],
            &["--only", ""],
            &["--json"],
            &["--only", "P1", "--write"],
        ] {
            assert!(parse(words).is_err(), "{words:?}");
        }
    }

    #[test]
    fn help_is_given_whatever_else_is_said() {
        assert_eq!(parse(&["--quick", "--help"]).unwrap(), Asked::Help);
    }

    fn measured(words: &[&str]) -> Args {
        match parse(words).unwrap() {
            Asked::Measure(args) => args,
            other => unreachable!("nobody asked for {other:?}"),
        }
    }
}
