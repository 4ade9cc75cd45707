//! The scenarios of the lab, and those that a user adds.

use super::{Scenario, Unreadable};

/// Scenarios in order.
#[derive(Clone, Debug)]
pub struct Scenarios(Vec<Scenario>);

/// A name that no scenario and no group has, or no name at all.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no scenario `{0}`")]
pub struct UnknownScenario(pub String);

impl Scenarios {
    /// Returns the scenarios that come with the lab.
    ///
    /// # Errors
    ///
    /// Fails if a file is not a scenario, which a test of the lab rules out.
    pub fn ours() -> Result<Self, Unreadable> {
        let scenarios: Result<_, _> = FILES.iter().map(|text| Scenario::read(text)).collect();
        Self::new(scenarios?)
    }

    /// Sorts these scenarios by their ids.
    ///
    /// # Errors
    ///
    /// Fails if two have one id.
    pub fn new(mut scenarios: Vec<Scenario>) -> Result<Self, Unreadable> {
        scenarios.sort_by_key(|scenario| place(&scenario.id));
        let twice = scenarios.windows(2).find(|pair| place(&pair[0].id) == place(&pair[1].id));
        match twice {
            Some(pair) => {
                let what = format!("`{}` has the same id", pair[0].title);
                Err(Unreadable::Sense { id: pair[1].id.clone(), what })
            }
            None => Ok(Self(scenarios)),
        }
    }

    /// Returns all scenarios.
    pub fn all(&self) -> &[Scenario] {
        &self.0
    }

    /// Returns the scenario with this id, ignoring case.
    ///
    /// # Errors
    ///
    /// Fails if there is none.
    pub fn find(&self, id: &str) -> Result<&Scenario, UnknownScenario> {
        let found = self.0.iter().find(|scenario| scenario.id.eq_ignore_ascii_case(id));
        found.ok_or_else(|| UnknownScenario(id.to_owned()))
    }

    /// Returns the scenarios that ids and letters of groups name: `A,D4`.
    ///
    /// # Errors
    ///
    /// Fails at the first word that names none, and if there is no word.
    pub fn pick(&self, words: &str) -> Result<Vec<&Scenario>, UnknownScenario> {
        let words: Vec<_> = words.split(',').map(str::trim).filter(|it| !it.is_empty()).collect();
        if words.is_empty() {
            return Err(UnknownScenario(String::new()));
        }
        for word in &words {
            if !self.0.iter().any(|scenario| is_meant(scenario, word)) {
                return Err(UnknownScenario((*word).to_owned()));
            }
        }
        let picked = self.0.iter().filter(|it| words.iter().any(|word| is_meant(it, word)));
        Ok(picked.collect())
    }
}

/// Returns the sort key of an id: `A10` comes after `A9`.
fn place(id: &str) -> (String, u64) {
    let (letter, number) = id.split_at(1);
    (letter.to_owned(), number.parse().unwrap_or(u64::MAX))
}

fn is_meant(scenario: &Scenario, word: &str) -> bool {
    let is_group = word.len() == 1 && scenario.id[..1].eq_ignore_ascii_case(word);
    is_group || scenario.id.eq_ignore_ascii_case(word)
}

/// The texts of all files of the folder `scenarios`, which `build.rs` lists.
const FILES: &[&str] = include!(concat!(env!("OUT_DIR"), "/scenarios.rs"));

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_of_the_folder_is_on_the_shelf_under_its_name() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/scenarios");
        let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        let files = files.filter(|path| path.extension().is_some_and(|it| it == "toml"));
        let mut texts: Vec<_> = files.map(|path| std::fs::read_to_string(path).unwrap()).collect();
        let mut ours: Vec<_> = FILES.iter().map(|text| (*text).to_owned()).collect();
        texts.sort();
        ours.sort();

        assert!(
            texts == ours,
            "the folder has {} files, the scenarios {}",
            texts.len(),
            ours.len()
        );
        assert_eq!(Scenarios::ours().unwrap().all().len(), texts.len());
    }

    #[test]
    fn every_scenario_says_why_in_a_paragraph_that_names_a_report() {
        for scenario in Scenarios::ours().unwrap().all() {
            let Scenario { id, why, .. } = scenario;
            assert!(why.trim().len() > 100 && !why.trim().contains("\n\n"), "{id}: {why}");
            let sources = ["#", "specification", "SEP-", "CVE-", "source"];
            let names_report = sources.iter().any(|source| why.contains(source));
            assert!(names_report, "{id}: {why}");
        }
    }

    #[test]
    fn two_scenarios_with_one_id_are_refused() {
        let scenario = Scenarios::ours().unwrap().find("A1").unwrap().clone();
        let other = Scenario { id: "A01".to_owned(), ..scenario.clone() };

        let error = Scenarios::new(vec![scenario, other]).unwrap_err().to_string();

        assert!(error.contains("has the same id"), "{error}");
    }

    #[test]
    fn ids_and_groups_pick_scenarios_in_order_and_unknown_words_are_named() {
        let scenarios = Scenarios::ours().unwrap();

        let picked: Vec<_> =
            scenarios.pick("c, A2,a10").unwrap().iter().map(|it| &*it.id).collect();

        assert_eq!(picked[..3], ["A2", "A10", "C1"]);
        assert_eq!(scenarios.pick("A1,Q7").unwrap_err(), UnknownScenario("Q7".to_owned()));
        assert!(scenarios.pick(" , ").is_err(), "an empty choice is none");
        assert!(scenarios.find("d4").is_ok() && scenarios.find("D").is_err());
    }
}
