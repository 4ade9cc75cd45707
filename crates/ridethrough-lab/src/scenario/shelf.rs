//! The scenarios that come with the lab, and those that a person adds.

use std::collections::BTreeMap;

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
        FILES.iter().map(|text| Scenario::read(text)).collect()
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

impl FromIterator<Scenario> for Shelf {
    /// Puts them in the order of their ids. Of several with the same id, the last one stays.
    fn from_iter<It: IntoIterator<Item = Scenario>>(scenarios: It) -> Self {
        let by_id: BTreeMap<_, _> = scenarios.into_iter().map(|it| (place(&it.id), it)).collect();
        Self(by_id.into_values().collect())
    }
}

/// `A10` comes after `A9`.
fn place(id: &str) -> (String, u64) {
    let (letter, number) = id.split_at(1);
    (letter.to_owned(), number.parse().unwrap_or(u64::MAX))
}

fn is_meant(scenario: &Scenario, word: &str) -> bool {
    let is_group = word.len() == 1 && scenario.id[..1].eq_ignore_ascii_case(word);
    is_group || scenario.id.eq_ignore_ascii_case(word)
}

/// The files, which a test compares with the folder.
const FILES: &[&str] = &[];
