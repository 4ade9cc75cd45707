//! A comparison as a page for people.
//!
//! Totals first, then a table for each group of scenarios, then what each client failed and the evidence.
//! What a client said is formatted as code, so that it cannot be taken for markup.

use std::fmt::Write;

use super::{Comparison, Role, ScoredClient, ScoredOutcome, Totals, most_runs, shortened};
use ridethrough_lab::scenario::{Group, Scenario};
use ridethrough_lab::score::{Score, Verdict};

impl Comparison<'_> {
    /// Returns the comparison as Markdown.
    pub(crate) fn markdown(&self) -> String {
        let mut page = String::new();
        // Writing to a string cannot fail.
        let _ = self.write(&mut page);
        page
    }

    fn write(&self, page: &mut String) -> std::fmt::Result {
        let Self { made, command, scenarios, .. } = self;
        writeln!(page, "# Scorecard\n")?;
        writeln!(page, "Made on {made} by `{command}`: {} scenarios, each", scenarios.len())?;
        writeln!(page, "played on every client at its default settings. {LEGEND}\n")?;
        self.totals(page, Role::Client)?;
        if self.entries.iter().any(|entry| entry.role == Role::Bridge) {
            writeln!(page, "{BRIDGES}\n")?;
            self.totals(page, Role::Bridge)?;
        }
        for group in Group::ALL {
            self.group(page, group)?;
        }
        for entry in &self.entries {
            self.failures(page, entry)?;
        }
        Ok(())
    }

    fn totals(&self, page: &mut String, role: Role) -> std::fmt::Result {
        let title = match role {
            Role::Bridge => "bridge",
            Role::Client => "client",
        };
        writeln!(page, "| {title} | | version | pass | soft | fail | hung | ran twice |")?;
        writeln!(page, "|---|---|---|---:|---:|---:|---:|---:|")?;
        for entry in self.entries.iter().filter(|entry| entry.role == role) {
            let ScoredClient { name, what, version, .. } = entry;
            let counts = match &entry.outcome {
                ScoredOutcome::NotRun(why) => format!("not run: {} | | | |", in_table(why)),
                ScoredOutcome::Ran(_) => {
                    let it = Totals::of(self.scenarios, entry);
                    let Totals { pass, soft, fail, hung, repeated } = it;
                    format!("{pass} | {soft} | {fail} | {hung} | {repeated}")
                }
            };
            writeln!(page, "| **{name}** | {what} | {version} | {counts} |")?;
        }
        writeln!(page)
    }

    fn group(&self, page: &mut String, group: Group) -> std::fmt::Result {
        let ran: Vec<_> = self.entries.iter().filter(|entry| entry.card().is_some()).collect();
        let mut scenarios = self.scenarios.iter().filter(|it| it.group() == Some(group)).peekable();
        if ran.is_empty() || scenarios.peek().is_none() {
            return Ok(());
        }
        let names: Vec<_> = ran.iter().map(|entry| entry.name.as_str()).collect();
        writeln!(page, "## {}: {}\n", group.letter(), group.title())?;
        writeln!(page, "| | scenario | {} |", names.join(" | "))?;
        writeln!(page, "|---|---|{}", "---|".repeat(ran.len()))?;
        for scenario in scenarios {
            let cells: Vec<_> = ran.iter().map(|entry| cell(entry, scenario)).collect();
            let title = in_table(&scenario.title);
            writeln!(page, "| {} | {title} | {} |", scenario.id, cells.join(" | "))?;
        }
        writeln!(page)
    }

    fn failures(&self, page: &mut String, entry: &ScoredClient) -> std::fmt::Result {
        let of = |verdict| {
            let scores = self.scenarios.iter().filter_map(|it| entry.score(it));
            scores.filter(move |score| score.verdict == verdict)
        };
        if of(Verdict::Fail).next().is_none() && of(Verdict::Soft).next().is_none() {
            return Ok(());
        }
        writeln!(page, "## What was seen of {} {}\n", entry.name, entry.version)?;
        for score in of(Verdict::Fail).chain(of(Verdict::Soft)) {
            failure(page, entry, score)?;
        }
        writeln!(page)
    }
}

/// Returns the verdict, with a link to the reason where there is one.
fn cell(entry: &ScoredClient, scenario: &Scenario) -> String {
    let Some(score) = entry.score(scenario) else { return "–".to_owned() };
    let word = match score.verdict {
        Verdict::Pass => return "pass".to_owned(),
        Verdict::Soft => "soft",
        Verdict::Fail => "**fail**",
    };
    let mut cell = format!("[{word}](#{})", anchor(entry, score));
    if score.is_hung() {
        cell += ", hung";
    }
    if let Some(runs) = most_runs(scenario, score) {
        cell += &format!(", ran {runs}×");
    }
    cell
}

fn anchor(entry: &ScoredClient, score: &Score) -> String {
    format!("{}-{}", entry.name, score.id.to_lowercase())
}

/// Writes the worst check that did not hold, its evidence, and how many more there are.
fn failure(page: &mut String, entry: &ScoredClient, score: &Score) -> std::fmt::Result {
    let mut faults = score.faults();
    let Some(first) = faults.next() else { return Ok(()) };
    let more = match faults.filter(|it| it.level == first.level).count() {
        0 => String::new(),
        1 => " (and one more)".to_owned(),
        count => format!(" (and {count} more)"),
    };
    let (anchor, id, word) = (anchor(entry, score), &score.id, score.verdict.word());
    let (that, seen) = (in_table(&first.that), in_code(&first.evidence));
    writeln!(page, "- <a id=\"{anchor}\"></a>**{id}** {word}: {that}{more}. Seen: {seen}")
}

/// Returns our own text in a cell: on one line, without a cell border.
fn in_table(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").replace('|', "\\|")
}

/// Returns a client's text: without markup.
fn in_code(text: &str) -> String {
    format!("`{}`", shortened(text).replace('`', "'"))
}

const BRIDGES: &str = "\
Bridges are stdio servers in front of the server of a scenario. Each is played by the same host, which \
recovers from\nnothing (`ridethrough lab drive-stdio`), so what is seen is the bridge's own doing. That host has a session, so a bridge is not asked to do without \
one. It\nspeaks for programs, so it alone is asked not to send what they repeat after it may have run (K34).";

const LEGEND: &str = "\
**pass**: everything held. **soft**: what must hold held, an ideal was missed.\n\
**fail**: something that must hold did not; the word leads to what was seen. **hung**: the client had \
to be stopped.\n\
**ran twice**: a tool ran more often than it was called. A client that never repeats a call has a 0 here \
too: what that costs its\ncallers is seen in the scenarios where a call could have been rescued (A to D, I). **–**: not \
played, because it cannot be asked to log in (L). A \
client that missed nothing but a limit\nof time was played again, alone, twice at the most.";
