//! The results of the published SDKs in this suite, for comparison.
//!
//! Played on 2026-11-15 with the SDKs' own test programs, `TypeScript 1` with the suite's example. The
//! numbers are checks: succeeded of decided.

use crate::scenario::{Leg, Scenario};

/// One SDK.
pub(crate) struct Sdk {
    pub(crate) name: &'static str,
    pub(crate) package: &'static str,
    /// Scored scenarios passed by the strict rule, authorization included: of 18, and of 32.
    pub(crate) scored: [usize; 2],
    /// Its place in each of the rows.
    place: usize,
}

/// The result of a scenario.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mark {
    /// Every check succeeded, and the program failed.
    Ended(u8, u8),
    /// A check failed.
    Failed(u8, u8),
    Passed(u8, u8),
}

impl Sdk {
    const fn new(
        place: usize,
        name: &'static str,
        package: &'static str,
        scored: [usize; 2],
    ) -> Self {
        Self { name, package, scored, place }
    }

    /// Returns the result of this scenario.
    pub(crate) fn mark(&self, scenario: &Scenario) -> Option<Mark> {
        let is_it = |row: &&Row| row.0 == scenario.name && row.1 == scenario.leg;
        ROWS.iter().find(is_it).map(|row| row.2[self.place])
    }
}

pub(crate) const SDKS: [Sdk; 4] = [
    Sdk::new(0, "TypeScript", "`@modelcontextprotocol/client` 2.4.0", [18, 31]),
    Sdk::new(1, "TypeScript 1", "`@modelcontextprotocol/sdk` 1.32.2", [16, 9]),
    Sdk::new(2, "Python", "`mcp` 2.3.0", [18, 31]),
    Sdk::new(3, "Rust", "`rmcp` 3.8.0", [7, 31]),
];

/// A scenario, and what each SDK makes of it.
type Row = (&'static str, Leg, [Mark; 4]);

const ROWS: [Row; 13] = [
    ("initialize", Sessions, [Passed(1, 1); 4]),
    ("tools_call", Sessions, [Passed(2, 2); 4]),
    ("elicitation-sep1034-client-defaults", Sessions, but(5, 1, Failed(0, 5))),
    ("sse-retry", Sessions, but(3, 1, Failed(0, 1))),
    ("json-schema-2020-12-preservation", Sessions, but(9, 3, Failed(0, 2))),
    ("tools_call", Stateless, [Passed(2, 2); 4]),
    ("request-metadata", Stateless, but(8, 3, Passed(6, 6))),
    ("sep-2322-client-request-state", Stateless, but(5, 2, Ended(5, 5))),
    ("http-standard-headers", Stateless, [Passed(9, 9), Ended(0, 0), Passed(3, 3), Passed(3, 3)]),
    ("http-custom-headers", Stateless, but(18, 1, Failed(0, 5))),
    ("http-invalid-tool-headers", Stateless, but(12, 1, Failed(11, 13))),
    ("json-schema-ref-no-deref", Stateless, but(1, 1, Ended(1, 1))),
    ("json-schema-2020-12-preservation", Stateless, but(9, 3, Failed(0, 2))),
];

/// All pass all of so many checks, but one SDK.
const fn but(all: u8, place: usize, mark: Mark) -> [Mark; 4] {
    let mut marks = [Passed(all, all); 4];
    marks[place] = mark;
    marks
}

use Leg::{Sessions, Stateless};
use Mark::{Ended, Failed, Passed};
