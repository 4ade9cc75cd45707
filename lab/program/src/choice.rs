//! The scenarios that a command uses: those that come with the lab, or those of a file or folder.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Result;
use ridethrough_lab::scenario::{Scenario, Scenarios, UnknownScenario};

use ridethrough_terminal::misuse::Misuse;

/// Which scenarios are played, and where they are taken from.
#[derive(clap::Args)]
pub(super) struct ScenarioChoice {
    /// Only these scenarios and groups, such as `A,D4`
    #[arg(long, value_name = "IDS")]
    pub(super) only: Option<String>,
    #[command(flatten)]
    pub(super) source: ScenarioSource,
}

impl ScenarioChoice {
    /// Returns the chosen scenarios.
    pub(super) fn scenarios(&self) -> Result<Vec<Scenario>> {
        let scenarios = self.source.scenarios()?;
        let chosen: Vec<_> = match &self.only {
            Some(words) => scenarios.pick(words).map_err(|it| unknown(&it))?,
            None => scenarios.all().iter().collect(),
        };
        Ok(chosen.into_iter().cloned().collect())
    }

    /// Returns the chosen scenarios, without the slow ones of the lab that `--only` does not name.
    pub(super) fn played(&self) -> Result<Vec<Scenario>> {
        let words: Vec<_> = self.only.iter().flat_map(|words| words.split(',')).collect();
        let is_named = |id: &str| words.iter().any(|word| word.trim().eq_ignore_ascii_case(id));
        let mut scenarios = self.scenarios()?;
        scenarios.retain(|it| !it.slow || self.source.is_own() || is_named(&it.id));
        Ok(scenarios)
    }
}

/// Where scenarios are taken from.
#[derive(clap::Args)]
pub(super) struct ScenarioSource {
    /// Take the scenarios of this file or folder, in place of those that come with the lab
    #[arg(long, value_name = "PATH")]
    scenarios: Option<PathBuf>,
}

impl ScenarioSource {
    /// Whether the scenarios are not those that come with the lab.
    pub(super) fn is_own(&self) -> bool {
        self.scenarios.is_some()
    }

    /// Reads all scenarios.
    pub(super) fn scenarios(&self) -> Result<Scenarios> {
        match &self.scenarios {
            Some(path) => read(path),
            None => Ok(Scenarios::ours()?),
        }
    }
}

/// Returns wrong usage for a word that means no scenario.
pub(super) fn unknown(unknown: &UnknownScenario) -> Misuse {
    Misuse {
        what: unknown.to_string(),
        tried: "ids such as `D4` and letters of groups such as `A` were compared".to_owned(),
        hint: "`ridethrough-lab list` names them all".to_owned(),
    }
}

fn read(path: &Path) -> Result<Scenarios> {
    let files = files(path).map_err(|error| unusable(path, &error.to_string()))?;
    if files.is_empty() {
        return Err(unusable(path, "there is no file ending in `.toml`").into());
    }
    let scenario = |file: &PathBuf| {
        let text = fs::read_to_string(file).map_err(|error| unusable(file, &error.to_string()))?;
        Ok(Scenario::read(&text).map_err(|error| unusable(file, &error.to_string()))?)
    };
    let scenarios: Result<Vec<_>> = files.iter().map(scenario).collect();
    Ok(Scenarios::new(scenarios?).map_err(|error| unusable(path, &error.to_string()))?)
}

fn files(path: &Path) -> std::io::Result<Vec<PathBuf>> {
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let entries: std::io::Result<Vec<_>> = fs::read_dir(path)?.collect();
    let mut files: Vec<_> = entries?.into_iter().map(|entry| entry.path()).collect();
    files.retain(|file| file.extension().is_some_and(|it| it == "toml"));
    files.sort();
    Ok(files)
}

fn unusable(path: &Path, why: &str) -> Misuse {
    Misuse {
        what: format!(
            "`{}` holds no scenario that can be played: {}",
            path.display(),
            why.trim_end()
        ),
        tried: "it was read as TOML; nothing was played".to_owned(),
        hint: "`ridethrough-lab show A1 --toml` prints one to start from".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slow_scenario_is_played_only_if_it_is_named() {
        let is_played = |only: Option<&str>| {
            let only = only.map(str::to_owned);
            let choice = ScenarioChoice { only, source: ScenarioSource { scenarios: None } };
            choice.played().unwrap().iter().any(|it| it.id == "B18")
        };

        assert!(!is_played(None) && !is_played(Some("A,B")));
        assert!(is_played(Some("A1, b18")));
    }
}
