//! What is promised of a gateway beyond what is promised of a client: calls reach the server that was meant,
//! questions reach the caller whose call they belong to, and answers the call that asked.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use tokio::time::Instant;

use crate::world::host::{Shared, lock};
use crate::world::oracle::Oracle;

/// What is known of the calls of a world. Clones share one record.
#[derive(Clone)]
pub(super) struct Record {
    pub(super) oracle: Shared<Oracle>,
    state: Shared<RecordState>,
}

#[derive(Default)]
struct RecordState {
    meant: BTreeMap<u64, Meant>,
    /// How often the config was read.
    reloads: u64,
    counts: BTreeMap<&'static str, u64>,
    /// The questions for whose answers servers wait.
    open: BTreeSet<String>,
}

/// A server that waits for the answer to a question.
pub(super) struct OpenInquiry {
    question: String,
    pub(super) since: Instant,
    state: Shared<RecordState>,
}

impl Drop for OpenInquiry {
    fn drop(&mut self) {
        lock(&self.state).open.remove(&self.question);
    }
}

/// What a caller meant by a call.
#[derive(Clone, Debug)]
pub(super) struct Meant {
    pub(super) caller: usize,
    pub(super) target: Target,
    pub(super) person: Behaviour,
    /// How often the config had been read when the caller learnt the name.
    pub(super) learnt: u64,
    /// When the caller told the gateway that it does not wait any more.
    pub(super) cancelled: Option<Instant>,
    /// How often a server asked for it.
    pub(super) inquiries: u32,
    /// How often its caller was asked.
    pub(super) questions: u32,
}

/// A tool of a server.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Target {
    pub(super) server: usize,
    pub(super) tool: String,
}

/// What the person does who is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Behaviour {
    /// How long the person takes; `None` for ever.
    pub(super) takes: Option<Duration>,
    pub(super) declines: bool,
}

impl Record {
    pub(super) fn new(oracle: Shared<Oracle>) -> Self {
        Self { oracle, state: Shared::default() }
    }

    pub(super) fn note(&self, line: impl FnOnce() -> String) {
        lock(&self.oracle).note(line);
    }

    pub(super) fn broken(&self, promise: &'static str, what: String) {
        lock(&self.oracle).broken(promise, what);
    }

    pub(super) fn count(&self, what: &'static str) {
        *lock(&self.state).counts.entry(what).or_default() += 1;
    }

    pub(super) fn counts(&self) -> BTreeMap<&'static str, u64> {
        lock(&self.state).counts.clone()
    }

    /// Records that the config was read again.
    pub(super) fn reloaded(&self) {
        lock(&self.state).reloads += 1;
    }

    pub(super) fn reloads(&self) -> u64 {
        lock(&self.state).reloads
    }

    /// Records what a call is meant to do.
    pub(super) fn begun(&self, call: u64, meant: Meant) {
        lock(&self.state).meant.insert(call, meant);
    }

    /// Records that a call reached a server under this name.
    pub(super) fn reached(&self, call: u64, at: &Target) {
        let (meant, reloads) = {
            let state = lock(&self.state);
            (state.meant.get(&call).cloned(), state.reloads)
        };
        let Some(meant) = meant else { return };
        // After another config a name may have another owner, if two servers claim it.
        let may_have_moved = meant.learnt != reloads && is_claimed_twice(&meant.target);
        if meant.target != *at && !may_have_moved {
            let what = format!("call {call} for {:?} arrived as {at:?}", meant.target);
            self.broken("the right server runs it", what);
        }
    }

    /// Records that a caller is asked on behalf of a call. Returns what its person does.
    pub(super) fn asked(&self, caller: usize, call: Option<u64>) -> Behaviour {
        self.count("questions asked");
        let meant = call.and_then(|call| {
            let mut state = lock(&self.state);
            let meant = state.meant.get_mut(&call)?;
            meant.questions += 1;
            Some(meant.clone())
        });
        self.note(|| format!("caller {caller} is asked for call {call:?}"));
        if let Some(meant) = meant.as_ref().filter(|meant| meant.questions > meant.inquiries) {
            let what = format!("call {call:?}: {} for {}", meant.questions, meant.inquiries);
            self.broken("a question is asked once", what);
        }
        if meant.as_ref().is_none_or(|meant| meant.caller != caller) {
            let what = format!("caller {caller} was asked for call {call:?}, which is {meant:?}");
            self.broken("a question reaches its own caller", what);
        }
        meant.map_or(Behaviour { takes: None, declines: true }, |meant| meant.person)
    }

    /// Records that a server asks something for a call.
    pub(super) fn inquired(&self, call: u64) {
        self.count("questions");
        if let Some(meant) = lock(&self.state).meant.get_mut(&call) {
            meant.inquiries += 1;
        }
    }

    /// Records that a caller in a session does not wait for a call any more.
    pub(super) fn cancelled(&self, call: u64) {
        if let Some(meant) = lock(&self.state).meant.get_mut(&call) {
            meant.cancelled = Some(Instant::now());
        }
    }

    /// Returns how long ago a call was cancelled by a caller in a session.
    pub(super) fn since_cancelled(&self, call: u64) -> Option<Duration> {
        lock(&self.state).meant.get(&call)?.cancelled.map(|at| at.elapsed())
    }

    /// Records that a server waits for the answer to a question, until what is returned is dropped.
    pub(super) fn opened(&self, question: &str) -> OpenInquiry {
        let (question, since) = (question.to_owned(), Instant::now());
        lock(&self.state).open.insert(question.clone());
        OpenInquiry { question, since, state: self.state.clone() }
    }

    /// Returns the questions that are open.
    pub(super) fn open(&self) -> Vec<String> {
        lock(&self.state).open.iter().cloned().collect()
    }

    /// Records the answer that a server got for a call.
    pub(super) fn answered(&self, call: u64, content: &serde_json::Value) {
        self.count("questions answered");
        if content["call"].as_u64() != Some(call) {
            let what = format!("call {call} asked, and was answered {content}");
            self.broken("an answer reaches the call that asked", what);
        }
    }
}

/// Whether two servers have tools that would have one name: `a` with `b_read`, and `a_b` with `read`.
fn is_claimed_twice(target: &Target) -> bool {
    target.server < 2 && target.tool.ends_with("read")
}
