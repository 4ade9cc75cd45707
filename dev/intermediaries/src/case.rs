//! One call through one proxy, and how it ended.

use std::fmt;
use std::time::Duration;

use clap::ValueEnum;
use serde_json::{Value, json};

use crate::way::Way;

/// A call that is made once.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    /// What names the call in all counts.
    pub(crate) key: String,
    pub(crate) way: Way,
    pub(crate) tool: Tool,
    pub(crate) era: Era,
    pub(crate) caller: Caller,
}

/// A tool of the backend.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tool {
    /// May be called twice.
    Look,
    /// Must not be called twice.
    Pay,
}

/// The era that the backend speaks at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Era {
    Sessions,
    Stateless,
}

/// Who makes the call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub(crate) enum Caller {
    /// A host that has started `ridethrough bridge`.
    Bridge,
    /// A program with the library.
    Library,
}

/// How a call ended, by the word of the client under test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    /// A result, with its text.
    Answered(String),
    /// The server may have run it, in the client's words.
    Doubt(String),
    /// It did not end.
    Hung,
    /// It could not be made at all, because the tools could not be listed.
    NotMade(String),
    /// The server did not run it, in the client's words.
    Refused(String),
}

impl Case {
    pub(crate) fn arguments(&self) -> Value {
        json!({"key": self.key, "way": self.way.number()})
    }
}

impl Tool {
    pub(crate) const ALL: [Self; 2] = [Self::Look, Self::Pay];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Look => "look",
            Self::Pay => "pay",
        }
    }
}

impl Era {
    pub(crate) const fn path(self) -> &'static str {
        match self {
            Self::Sessions => "/sessions",
            Self::Stateless => "/stateless",
        }
    }
}

impl fmt::Display for Era {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.path()[1..])
    }
}

impl fmt::Display for Caller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Bridge => "bridge",
            Self::Library => "library",
        })
    }
}

impl Ended {
    /// Returns a word for it, and what was said.
    pub(crate) fn told(&self) -> (&'static str, &str) {
        match self {
            Self::Answered(text) => ("answered", text),
            Self::Doubt(said) => ("in doubt", said),
            Self::Hung => ("hung", ""),
            Self::NotMade(said) => ("not made", said),
            Self::Refused(said) => ("refused", said),
        }
    }
}

/// The time of a call: longer than the backend is slow, and than a repeat after it.
pub(crate) const DEADLINE: Duration = Duration::from_secs(20);
/// How long a list may take before it is asked for again.
pub(crate) const LIST_LIMIT: Duration = Duration::from_secs(3);
/// What a busy machine adds.
pub(crate) const GRACE: Duration = Duration::from_secs(5);
