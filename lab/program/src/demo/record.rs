//! The results of an act: how each call ended, and what the server saw. Plain data, so that a test can make a
//! wrong one.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use ridethrough::error::Kind;
use ridethrough::event::Event;
use ridethrough_lab::{Deed, Mcp, Server, What, When};

/// Everything by which an act is judged.
#[derive(Clone, Debug, Default)]
pub(super) struct Record {
    /// How each call ended.
    pub(super) ends: Vec<CallEnd>,
    /// How often the server ran the call of this name.
    pub(super) runs: BTreeMap<String, u64>,
    /// How often the client did a handshake.
    pub(super) handshakes: usize,
    /// How often a stream was resumed.
    pub(super) resumes: usize,
    /// How many requests were answered 503.
    pub(super) refusals: usize,
    /// How many connections carried calls.
    pub(super) carriers: usize,
    /// How many connections there were.
    pub(super) connections: u64,
    /// The client's events.
    pub(super) events: Vec<Event>,
}

/// The outcome of one call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CallEnd {
    /// The call; its name is also the text that it must be answered with.
    pub(super) name: String,
    pub(super) took: Duration,
    pub(super) result: Result<String, Failed>,
}

/// A call without a result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Failed {
    pub(super) kind: Option<Kind>,
    pub(super) may_have_run: bool,
    /// What happened, what was tried, what to do.
    pub(super) report: String,
}

impl Record {
    /// Reads what the server saw.
    pub(super) fn read(mcp: &Mcp, server: &Server) -> Self {
        let mut runs = BTreeMap::new();
        for run in mcp.runs() {
            let name = run.arguments["msg"].as_str().unwrap_or(&run.tool);
            *runs.entry(name.to_owned()).or_default() += 1;
        }
        let is_call = |what: &What| matches!(what, What::Request { tool: Some(_), .. });
        let carriers: BTreeSet<_> = mcp
            .log()
            .iter()
            .filter(|entry| is_call(&entry.what))
            .map(|entry| entry.connection)
            .collect();
        let refused = |deed: &Deed| *deed == Deed::Answered(503);
        Self {
            runs,
            handshakes: mcp.count(&When::method("initialize")),
            resumes: mcp.count(&When::resume()),
            refusals: mcp.marks().iter().filter(|mark| refused(&mark.deed)).count(),
            carriers: carriers.len(),
            connections: server.connections(),
            ..Self::default()
        }
    }

    pub(super) fn end_of(&self, name: &str) -> Option<&CallEnd> {
        self.ends.iter().find(|end| end.name == name)
    }

    pub(super) fn runs_of(&self, name: &str) -> u64 {
        self.runs.get(name).copied().unwrap_or_default()
    }
}
