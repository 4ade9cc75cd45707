//! The scenarios that come with the lab, and those that a person adds.

use super::{Scenario, Unreadable};

/// Scenarios in order.
#[derive(Clone, Debug)]
pub struct Shelf(Vec<Scenario>);

/// A name that no scenario and no group has.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no scenario `{0}`")]
pub struct UnknownScenario(pub String);

impl Shelf {
    /// Those that come with the lab.
    ///
    /// # Errors
    ///
    /// Fails if a file is no scenario, which a test of the lab rules out.
    pub fn ours() -> Result<Self, Unreadable> {
        let scenarios: Result<Vec<_>, _> = FILES.iter().map(|text| Scenario::read(text)).collect();
        Ok(Self(scenarios?))
    }

    /// Adds a scenario, in place of the one with the same id if there is one.
    pub fn add(&mut self, scenario: Scenario) {
        self.0.retain(|other| other.id != scenario.id);
        self.0.push(scenario);
    }

    /// All of them.
    pub fn all(&self) -> &[Scenario] {
        &self.0
    }

    /// The one with this id, in any case of letters.
    ///
    /// # Errors
    ///
    /// Fails if there is none.
    pub fn find(&self, id: &str) -> Result<&Scenario, UnknownScenario> {
        let found = self.0.iter().find(|scenario| scenario.id.eq_ignore_ascii_case(id));
        found.ok_or_else(|| UnknownScenario(id.to_owned()))
    }

    /// Those that are meant by ids and letters of groups: `A,D4`.
    ///
    /// # Errors
    ///
    /// Fails at the first word that means none.
    pub fn pick(&self, words: &str) -> Result<Vec<&Scenario>, UnknownScenario> {
        let words: Vec<_> = words.split(',').map(str::trim).filter(|it| !it.is_empty()).collect();
        for word in &words {
            if !self.0.iter().any(|scenario| is_meant(scenario, word)) {
                return Err(UnknownScenario((*word).to_owned()));
            }
        }
        let picked = self.0.iter().filter(|it| words.iter().any(|word| is_meant(it, word)));
        Ok(picked.collect())
    }
}

fn is_meant(scenario: &Scenario, word: &str) -> bool {
    let is_group = word.len() == 1 && scenario.id[..1].eq_ignore_ascii_case(word);
    is_group || scenario.id.eq_ignore_ascii_case(word)
}

/// The files, which a test compares with the folder.
const FILES: &[&str] = &[];
