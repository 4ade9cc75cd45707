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
    rows: &'static [Row],
}

type Row = (&'static str, Leg, Mark);

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
    /// Returns the result of this scenario.
    pub(crate) fn mark(&self, scenario: &Scenario) -> Option<Mark> {
        let is_it = |row: &&Row| row.0 == scenario.name && row.1 == scenario.leg;
        self.rows.iter().find(is_it).map(|row| row.2)
    }
}

use Leg::{Sessions, Stateless};
use Mark::{Ended, Failed, Passed};

pub(crate) const SDKS: [Sdk; 4] = [
    Sdk {
        name: "TypeScript",
        package: "`@modelcontextprotocol/client` 2.4.0",
        scored: [18, 31],
        rows: &[
            ("initialize", Sessions, Passed(1, 1)),
            ("tools_call", Sessions, Passed(2, 2)),
            ("elicitation-sep1034-client-defaults", Sessions, Passed(5, 5)),
            ("sse-retry", Sessions, Passed(3, 3)),
            ("json-schema-2020-12-preservation", Sessions, Passed(9, 9)),
            ("tools_call", Stateless, Passed(2, 2)),
            ("request-metadata", Stateless, Passed(8, 8)),
            ("sep-2322-client-request-state", Stateless, Passed(5, 5)),
            ("http-standard-headers", Stateless, Passed(9, 9)),
            ("http-custom-headers", Stateless, Passed(18, 18)),
            ("http-invalid-tool-headers", Stateless, Passed(12, 12)),
            ("json-schema-ref-no-deref", Stateless, Passed(1, 1)),
            ("json-schema-2020-12-preservation", Stateless, Passed(9, 9)),
        ],
    },
    Sdk {
        name: "TypeScript 1",
        package: "`@modelcontextprotocol/sdk` 1.32.2",
        scored: [16, 9],
        rows: &[
            ("initialize", Sessions, Passed(1, 1)),
            ("tools_call", Sessions, Passed(2, 2)),
            ("elicitation-sep1034-client-defaults", Sessions, Failed(0, 5)),
            ("sse-retry", Sessions, Failed(0, 1)),
            ("json-schema-2020-12-preservation", Sessions, Passed(9, 9)),
            ("tools_call", Stateless, Passed(2, 2)),
            ("request-metadata", Stateless, Passed(8, 8)),
            ("sep-2322-client-request-state", Stateless, Passed(5, 5)),
            ("http-standard-headers", Stateless, Ended(0, 0)),
            ("http-custom-headers", Stateless, Failed(0, 5)),
            ("http-invalid-tool-headers", Stateless, Failed(11, 13)),
            ("json-schema-ref-no-deref", Stateless, Ended(1, 1)),
            ("json-schema-2020-12-preservation", Stateless, Passed(9, 9)),
        ],
    },
    Sdk {
        name: "Python",
        package: "`mcp` 2.3.0",
        scored: [18, 31],
        rows: &[
            ("initialize", Sessions, Passed(1, 1)),
            ("tools_call", Sessions, Passed(2, 2)),
            ("elicitation-sep1034-client-defaults", Sessions, Passed(5, 5)),
            ("sse-retry", Sessions, Passed(3, 3)),
            ("json-schema-2020-12-preservation", Sessions, Passed(9, 9)),
            ("tools_call", Stateless, Passed(2, 2)),
            ("request-metadata", Stateless, Passed(8, 8)),
            ("sep-2322-client-request-state", Stateless, Ended(5, 5)),
            ("http-standard-headers", Stateless, Passed(3, 3)),
            ("http-custom-headers", Stateless, Passed(18, 18)),
            ("http-invalid-tool-headers", Stateless, Passed(12, 12)),
            ("json-schema-ref-no-deref", Stateless, Passed(1, 1)),
            ("json-schema-2020-12-preservation", Stateless, Passed(9, 9)),
        ],
    },
    Sdk {
        name: "Rust",
        package: "`rmcp` 3.8.0",
        scored: [7, 31],
        rows: &[
            ("initialize", Sessions, Passed(1, 1)),
            ("tools_call", Sessions, Passed(2, 2)),
            ("elicitation-sep1034-client-defaults", Sessions, Passed(5, 5)),
            ("sse-retry", Sessions, Passed(3, 3)),
            ("json-schema-2020-12-preservation", Sessions, Failed(0, 2)),
            ("tools_call", Stateless, Passed(2, 2)),
            ("request-metadata", Stateless, Passed(6, 6)),
            ("sep-2322-client-request-state", Stateless, Passed(5, 5)),
            ("http-standard-headers", Stateless, Passed(3, 3)),
            ("http-custom-headers", Stateless, Passed(18, 18)),
            ("http-invalid-tool-headers", Stateless, Passed(12, 12)),
            ("json-schema-ref-no-deref", Stateless, Passed(1, 1)),
            ("json-schema-2020-12-preservation", Stateless, Failed(0, 2)),
        ],
    },
];
