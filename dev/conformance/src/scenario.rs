//! The scenarios, read from the suite's own list, so that none can be forgotten.

use anyhow::{Result, bail};

/// A scenario in one revision of the protocol.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Scenario {
    pub(crate) name: String,
    pub(crate) leg: Leg,
}

/// The part of the suite that a scenario belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Leg {
    /// The revision with sessions.
    Sessions,
    /// The stateless revision.
    Stateless,
    /// A revision before those: not required by either.
    Older,
    /// An extension: not required by any revision.
    Extension,
}

impl Leg {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Sessions => "2025-11-25",
            Self::Stateless => "2026-07-28",
            Self::Older => "2025-03-26",
            Self::Extension => "extension",
        }
    }

    /// Returns the title of its table.
    pub(crate) const fn title(self) -> &'static str {
        match self {
            Self::Extension => "Extensions",
            Self::Older => "Older servers (2025-03-26)",
            Self::Sessions | Self::Stateless => self.name(),
        }
    }

    pub(crate) const fn is_required(self) -> bool {
        matches!(self, Self::Sessions | Self::Stateless)
    }
}

impl Scenario {
    /// Whether it counts in the suite's own score of its revision.
    pub(crate) fn is_scored(&self) -> bool {
        self.leg.is_required() && self.name != "json-schema-2020-12-preservation"
    }

    /// Returns how many checks must succeed, because a client that sends nothing fails none. One scenario has
    /// nine for what can be asked, and one more for a notification.
    pub(crate) fn least(&self) -> usize {
        if self.name == "http-standard-headers" { 10 } else { 1 }
    }

    /// Returns how often it may be played: one scenario measures time, and a busy machine is late.
    pub(crate) fn tries(&self) -> usize {
        if self.name == "sse-retry" { 2 } else { 1 }
    }

    /// Whether the suite itself lets a client pass that does nothing.
    pub(crate) fn is_vacuous(&self) -> bool {
        matches!(&*self.name, "initialize" | "http-standard-headers")
            || self.name.starts_with("sep-2640-client-")
    }

    fn new(name: &str, leg: Leg) -> Self {
        Self { name: name.to_owned(), leg }
    }
}

/// Reads the list that the suite prints: `  - NAME [REVISION,REVISION]`, with the client scenarios below a
/// title of their own.
pub(crate) fn read(list: &str) -> Result<Vec<Scenario>> {
    let lines = list.lines().skip_while(|line| !line.starts_with("Client scenarios")).skip(1);
    let lines = lines.take_while(|line| line.starts_with("  - "));
    let mut scenarios: Vec<_> = lines.flat_map(of_line).collect();
    scenarios.sort_by_key(|scenario| scenario.leg);
    for (name, leg) in MUST {
        if !scenarios.contains(&Scenario::new(name, *leg)) {
            bail!("the suite does not list `{name}` for {}; is it the pinned one?", leg.name());
        }
    }
    Ok(scenarios)
}

fn of_line(line: &str) -> Vec<Scenario> {
    let line = line.trim_start_matches("  - ").trim_end_matches(']');
    let (name, revisions) = line.split_once(" [").unwrap_or((line, ""));
    let legs = [Leg::Sessions, Leg::Stateless];
    let known = legs.into_iter().filter(|leg| revisions.split(',').any(|it| it == leg.name()));
    let mut known: Vec<_> = known.collect();
    if known.is_empty() {
        known.push(if revisions == "extension" { Leg::Extension } else { Leg::Older });
    }
    known.into_iter().map(|leg| Scenario::new(name, leg)).collect()
}

/// The scenarios without which it is not the suite that we mean.
const MUST: &[(&str, Leg)] = &[
    ("elicitation-sep1034-client-defaults", Leg::Sessions),
    ("http-custom-headers", Leg::Stateless),
    ("http-invalid-tool-headers", Leg::Stateless),
    ("http-standard-headers", Leg::Stateless),
    ("initialize", Leg::Sessions),
    ("json-schema-2020-12-preservation", Leg::Sessions),
    ("json-schema-2020-12-preservation", Leg::Stateless),
    ("json-schema-ref-no-deref", Leg::Stateless),
    ("request-metadata", Leg::Stateless),
    ("sep-2322-client-request-state", Leg::Stateless),
    ("sse-retry", Leg::Sessions),
    ("tools_call", Leg::Sessions),
    ("tools_call", Leg::Stateless),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scenario_is_played_in_each_of_the_two_revisions_that_it_names() {
        let both = of_line("  - tools_call [2025-06-18,2025-11-25,2026-07-28]");
        let old = of_line("  - auth/2025-03-26-oauth-endpoint-fallback [2025-03-26]");
        let extension = of_line("  - sep-2640-client-no-prefetch [extension]");

        let expected = [Leg::Sessions, Leg::Stateless].map(|leg| Scenario::new("tools_call", leg));
        assert_eq!(both, expected);
        assert_eq!(old, [Scenario::new("auth/2025-03-26-oauth-endpoint-fallback", Leg::Older)]);
        assert_eq!(extension, [Scenario::new("sep-2640-client-no-prefetch", Leg::Extension)]);
    }

    #[test]
    fn a_scenario_that_nobody_has_heard_of_is_played_too() {
        let list = format!("{}  - a-new-one [2026-07-28]\n", listed(MUST));

        let scenarios = read(&list).unwrap();

        assert!(scenarios.contains(&Scenario::new("a-new-one", Leg::Stateless)));
    }

    #[test]
    fn only_what_measures_time_is_played_again_and_only_what_is_vacuous_needs_many_checks() {
        for (name, leg) in MUST {
            let scenario = Scenario::new(name, *leg);

            assert_eq!(scenario.tries(), if *name == "sse-retry" { 2 } else { 1 });
            assert_eq!(scenario.least(), if *name == "http-standard-headers" { 10 } else { 1 });
        }
    }

    #[test]
    fn a_list_without_one_that_must_pass_is_refused() {
        for left_out in 0..MUST.len() {
            let mut must = MUST.to_vec();
            let (name, _) = must.remove(left_out);

            let error = read(&listed(&must)).unwrap_err().to_string();

            assert!(error.contains(name), "{error}");
        }
        assert!(read("").is_err());
    }

    #[test]
    fn what_stands_below_the_next_title_is_not_of_clients() {
        let list =
            format!("{}\nAuthorization server scenarios\n  - x [2025-11-25]\n", listed(MUST));

        assert_eq!(read(&list).unwrap().len(), MUST.len());
    }

    fn listed(scenarios: &[(&str, Leg)]) -> String {
        let line = |(name, leg): &(&str, Leg)| format!("  - {name} [{}]\n", leg.name());
        let lines: String = scenarios.iter().map(line).collect();
        format!("Server scenarios (…):\n  - ping [2025-11-25]\n\nClient scenarios (…):\n{lines}")
    }
}
