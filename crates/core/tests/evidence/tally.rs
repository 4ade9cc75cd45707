//! The broken promises, counted and reported together.

use std::collections::BTreeMap;
use std::fmt::Write;

/// A promise that was broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Fault {
    /// The caller got an answer that was not its own, or one that the server did not give.
    AnotherAnswer,
    /// The error does not contain the words of a challenge.
    ChallengeLost,
    /// The error says that the call did not run, although it did.
    Denied,
    /// The call did not end in time.
    Hung,
    /// The server's answer named the call, but the caller got something else.
    NotDelivered,
    /// A later call did not succeed.
    NotRecovered,
    /// The tool ran more often than it may.
    RanTwice,
    /// The server's words are not in the error.
    WordsLost,
}

/// The number of cases, and their faults.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    pub(crate) cases: usize,
    /// How many servers ran the tool and denied it by a status.
    pub(crate) lies: usize,
    /// How many of these lies led to another run of the tool.
    pub(crate) lies_believed: usize,
    /// The world that the next faults belong to.
    place: String,
    faults: BTreeMap<Fault, Vec<String>>,
}

impl Tally {
    /// Names the world that the next faults belong to.
    pub(crate) fn of(&mut self, place: &str) -> &mut Self {
        place.clone_into(&mut self.place);
        self
    }

    pub(crate) fn fault(&mut self, fault: Fault, case: String) {
        let case = if self.place.is_empty() { case } else { format!("{}: {case}", self.place) };
        self.faults.entry(fault).or_default().push(case);
    }

    /// Panics with a table of all faults, if there are any.
    pub(crate) fn finish(self) {
        let Self { cases, lies, lies_believed, faults, .. } = self;
        let mut table = format!("{cases} cases, {lies} lies, of which {lies_believed} ran again\n");
        for (fault, cases) in &faults {
            let _ = writeln!(table, "{:>6} {fault:?}", cases.len());
        }
        for (fault, cases) in &faults {
            let _ = writeln!(table, "\n{fault:?}, the first of {}:", cases.len());
            for case in cases.iter().take(SHOWN) {
                let _ = writeln!(table, "  {}", case.chars().take(WIDTH).collect::<String>());
            }
        }
        assert!(faults.is_empty(), "{table}");
        assert!(cases > 0, "nothing was tried");
    }
}

const SHOWN: usize = 20;
const WIDTH: usize = 200;
