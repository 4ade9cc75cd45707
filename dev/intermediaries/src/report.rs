//! The tables of a run: one for each caller, a row for each proxy.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Write};

use crate::case::{Caller, Ended, Tool};
use crate::verdict::{Played, Read};

/// All calls of a run.
pub(crate) struct Report {
    pub(crate) played: Vec<Played>,
    /// A sentence for each proxy that was not there.
    pub(crate) skipped: Vec<String>,
}

/// The counts of a row.
#[derive(Default)]
struct Row {
    cases: u32,
    ran_twice: u32,
    by_proxy: u32,
    denied: u32,
    hung: u32,
    other: u32,
    /// Writes that were answered, that ended in doubt, and that were refused.
    writes: [u32; 3],
    reads_answered: u32,
    reads_lost: u32,
}

impl Report {
    /// Whether every promise was kept.
    pub(crate) fn is_good(&self) -> bool {
        let total = Row::of(self.played.iter());
        total.is_good()
    }

    fn labels(&self) -> Vec<&str> {
        let mut seen = BTreeSet::new();
        self.played.iter().map(|it| &*it.setup).filter(|it| seen.insert(*it)).collect()
    }

    fn table(&self, f: &mut fmt::Formatter<'_>, caller: Caller) -> fmt::Result {
        let of_caller = || self.played.iter().filter(|it| it.case.caller == caller);
        if of_caller().next().is_none() {
            return Ok(());
        }
        writeln!(
            f,
            "| through the {caller} | calls | ran twice | repeated by the proxy | denied | hung | writes: answered, in doubt, refused | reads answered |"
        )?;
        writeln!(f, "|---|--:|--:|--:|--:|--:|--:|--:|")?;
        for label in self.labels() {
            let row = Row::of(of_caller().filter(|it| it.setup == label));
            writeln!(f, "| {label} | {row} |")?;
        }
        let total = Row::of(of_caller());
        writeln!(f, "| **all** | {total} |")?;
        writeln!(f)
    }

    /// Returns lines about what stands behind the counts, each with the ways in which it happened.
    fn lines(&self, what: &str, is_meant: impl Fn(&Played) -> bool) -> String {
        let mut found: BTreeMap<String, BTreeMap<&str, u32>> = BTreeMap::new();
        for played in self.played.iter().filter(|it| is_meant(it)) {
            let head = format!("{what}: {}, {}", played.setup, played.case.tool.name());
            *found.entry(head).or_default().entry(played.case.way.name()).or_default() += 1;
        }
        let mut lines = String::new();
        for (head, ways) in found {
            let ways: Vec<_> = ways.iter().map(|(way, count)| format!("{way} ({count})")).collect();
            // Writing into a string does not fail.
            let _ = writeln!(lines, "- {head}: {}", ways.join(", "));
        }
        lines
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.table(f, Caller::Library)?;
        self.table(f, Caller::Bridge)?;
        f.write_str(&self.lines("ran twice", Played::ran_twice))?;
        f.write_str(&self.lines("denied", Played::is_denied))?;
        f.write_str(&self.lines("hung", |it| it.ended == Ended::Hung))?;
        f.write_str(&self.lines("another answer", |it| it.broken().contains(&"another answer")))?;
        f.write_str(&self.lines("not made", |it| matches!(it.ended, Ended::NotMade(_))))?;
        f.write_str(&self.lines("read lost", |it| it.read() == Some(Read::Lost)))?;
        f.write_str(&self.lines("repeated by the proxy", Played::was_repeated_by_proxy))?;
        let after_proxy = "ran twice, ours after the proxy's own";
        f.write_str(&self.lines(after_proxy, Played::ran_twice_after_proxy))?;
        for skipped in &self.skipped {
            writeln!(f, "- {skipped}")?;
        }
        let verdict =
            if self.is_good() { "every promise was kept" } else { "a promise was broken" };
        write!(f, "\nintermediaries: {} calls: {verdict}", self.played.len())
    }
}

impl Row {
    fn of<'a>(played: impl Iterator<Item = &'a Played>) -> Self {
        let mut row = Self::default();
        played.for_each(|played| row.add(played));
        row
    }

    fn add(&mut self, played: &Played) {
        self.cases += 1;
        self.ran_twice += u32::from(played.ran_twice());
        self.by_proxy += u32::from(played.was_repeated_by_proxy());
        self.denied += u32::from(played.is_denied());
        self.hung += u32::from(played.ended == Ended::Hung);
        let broken = played.broken();
        self.other += u32::from(broken.contains(&"another answer") || broken.contains(&"not made"));
        self.reads_answered += u32::from(played.read() == Some(Read::Answered));
        self.reads_lost += u32::from(played.read() == Some(Read::Lost));
        if played.case.tool == Tool::Pay {
            match played.ended {
                Ended::Answered(_) => self.writes[0] += 1,
                Ended::Doubt(_) => self.writes[1] += 1,
                Ended::Refused(_) => self.writes[2] += 1,
                Ended::Hung | Ended::NotMade(_) => {}
            }
        }
    }

    /// Whether nothing ran twice, was denied or hung, and 95 % of the reads were answered that could be.
    const fn is_good(&self) -> bool {
        let broken = self.ran_twice + self.denied + self.hung + self.other;
        let reads = self.reads_answered + self.reads_lost;
        broken == 0 && self.reads_answered * 100 >= reads * 95
    }
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { cases, ran_twice, by_proxy, denied, hung, writes, .. } = self;
        let [answered, doubt, refused] = writes;
        let (reads, of) = (self.reads_answered, self.reads_answered + self.reads_lost);
        write!(
            f,
            "{cases} | {ran_twice} | {by_proxy} | {denied} | {hung} | {answered}, {doubt}, {refused} | {reads} of {of}"
        )
    }
}
