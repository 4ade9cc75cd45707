//! A scenario: what the server does, what the client is asked to do, and what must hold.
//!
//! It is a TOML file that people read and write; `scenarios/README.md` explains its words. Requests are
//! described by what they are, never by their number, because a client may send more than a scenario expects.
//! This module runs nothing.

use std::time::Duration;

use serde::Deserialize;

use crate::adapter::Step;
use crate::journal::Which;

mod action;
mod check;
mod matching;
mod scenarios;
mod setting;

pub use crate::issuer::{Extent, Issues, Rotation, TokenForm};
pub use action::{
    Action, Coding, Event, LostSession, Manner, Message, Outage, Partial, PartialOf, Status,
    StreamAnswer,
};
pub use check::{Bounds, Calls, Cancels, Check, Claim, Pauses, Requests, Runs, StepEnd, Told};
pub use matching::Match;
pub use scenarios::{Scenarios, UnknownScenario};
pub use setting::{EraTurn, Inquiry, Rule, Setting, Way};

/// One fault, and what is expected of a client that meets it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// The letter of its group and a number: `A1`.
    pub id: String,
    /// What is broken, in a few words.
    pub title: String,
    /// Why it matters: the real report behind it.
    pub why: String,
    /// The wrong client that must fail it, and how.
    pub control: ScenarioControl,
    /// Whether it takes minutes; it is then played only under simulated time, or on request.
    #[serde(default)]
    pub slow: bool,
    /// After how many seconds from its start the client is stopped.
    #[serde(default = "default_limit")]
    pub limit_s: f64,
    /// What the server does.
    #[serde(default)]
    pub server: Setting,
    /// What a second server does, on an origin of its own.
    pub other: Option<Setting>,
    /// What the authorization server does, on an origin of its own.
    pub issuer: Option<Setting>,
    /// What the client is asked to do.
    pub client: Vec<Step>,
    /// What must hold; otherwise the client fails.
    pub must: Vec<Check>,
    /// What would be ideal; otherwise the client passes softly.
    #[serde(default)]
    pub ideal: Vec<Check>,
    /// The text of its file.
    #[serde(skip)]
    pub source: String,
}

/// The proof that a scenario can be failed.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScenarioControl {
    /// The name of a wrong client.
    pub mistake: String,
    /// The sentence of the check that it breaks.
    pub breaks: String,
    /// Whether it asks a server for its era before anything else.
    #[serde(default)]
    pub asks_era: bool,
}

/// Why a file is not a scenario.
#[derive(Debug, thiserror::Error)]
pub enum Unreadable {
    /// It is not TOML, or has keys that a scenario does not have.
    #[error("the scenario cannot be read: {0}")]
    Format(#[from] toml::de::Error),
    /// It contradicts itself.
    #[error("scenario `{id}` makes no sense: {what}")]
    Sense {
        /// The id of the scenario.
        id: String,
        /// What is wrong with it.
        what: String,
    },
}

impl Scenario {
    /// Reads the text of a file.
    ///
    /// # Errors
    ///
    /// Fails if it is not TOML, has an unknown key, or contradicts itself.
    pub fn read(text: &str) -> Result<Self, Unreadable> {
        let scenario = Self { source: text.to_owned(), ..toml::from_str(text)? };
        match scenario.nonsense() {
            Some(what) => Err(Unreadable::Sense { id: scenario.id, what }),
            None => Ok(scenario),
        }
    }

    /// Returns its group.
    pub fn group(&self) -> Option<Group> {
        Group::ALL.into_iter().find(|group| self.id.starts_with(group.letter()))
    }

    /// Returns how long the client may run.
    pub fn limit(&self) -> Duration {
        Duration::from_secs_f64(self.limit_s)
    }

    /// Returns all checks, each with its level.
    pub fn checks(&self) -> impl Iterator<Item = (&Check, Level)> {
        let must = self.must.iter().map(|check| (check, Level::Must));
        must.chain(self.ideal.iter().map(|check| (check, Level::Ideal)))
    }

    /// Returns as what the wrong client is played that must fail it: a check that spares libraries can be broken by
    /// a bridge only.
    pub fn control_kind(&self) -> ContestantKind {
        let mut broken = self.checks().filter(|(check, _)| check.that == self.control.breaks);
        let is_of_clients = broken.any(|(check, _)| check.is_asked_of(ContestantKind::Client));
        if is_of_clients { ContestantKind::Client } else { ContestantKind::Front }
    }

    /// Whether the client is asked to log in.
    pub fn asks_for_login(&self) -> bool {
        self.client.iter().any(|step| matches!(step, Step::Initialize { login: Some(_), .. }))
    }

    /// Whether the scenario has such a server.
    fn has(&self, which: Which) -> bool {
        match which {
            Which::Issuer => self.issuer.is_some(),
            Which::Main => true,
            Which::Other => self.other.is_some(),
        }
    }

    /// Returns what is wrong with a scenario that could be read.
    fn nonsense(&self) -> Option<String> {
        let is_number = |text: &str| !text.is_empty() && text.bytes().all(|it| it.is_ascii_digit());
        if self.group().is_none() || !is_number(&self.id[1..]) {
            return Some("an id is the letter of a group and a number, such as `A1`".to_owned());
        }
        let most = if self.slow { MOST_LIMIT_SLOW_S } else { MOST_LIMIT_S };
        if !(self.limit_s > 0.0 && self.limit_s <= most) {
            return Some(format!("limit_s is {}, not between 0 and {most}", self.limit_s));
        }
        if self.must.is_empty() {
            return Some("nothing must hold".to_owned());
        }
        if !self.checks().any(|(check, _)| check.that == self.control.breaks) {
            return Some(format!(
                "no check says `{}`, which its control breaks",
                self.control.breaks
            ));
        }
        let mut settings = std::iter::once(&self.server).chain(&self.other).chain(&self.issuer);
        let (mut steps, mut checks) = (self.client.iter(), self.checks());
        settings
            .find_map(Setting::nonsense)
            .or_else(|| steps.find_map(Step::nonsense))
            .or_else(|| checks.find_map(|(check, _)| check.nonsense(self)))
    }
}

/// How bad it is if a check does not hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// The client passes softly.
    Ideal,
    /// The client fails.
    Must,
}

/// A group of scenarios about one subject.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Group {
    /// Streams that end before the answer.
    Reconnection,
    /// Statuses that mean a passing trouble.
    Transient,
    /// Connections that are used again.
    Reuse,
    /// Sessions that the server forgets.
    SessionLoss,
    /// Bytes that no client expects.
    Hostile,
    /// Callers that do not wait.
    Deadlines,
    /// Tokens.
    Authorization,
    /// The standing stream.
    Standing,
    /// Servers that go and come back.
    Outage,
    /// The stateless revision.
    Stateless,
    /// What an answer proves about the call.
    Evidence,
    /// Logins, and the tokens that they bring.
    Logins,
}

impl Group {
    /// All groups, in the order of their letters.
    pub const ALL: [Self; 12] = [
        Self::Reconnection,
        Self::Transient,
        Self::Reuse,
        Self::SessionLoss,
        Self::Hostile,
        Self::Deadlines,
        Self::Authorization,
        Self::Standing,
        Self::Outage,
        Self::Stateless,
        Self::Evidence,
        Self::Logins,
    ];

    /// Returns its letter.
    pub const fn letter(self) -> char {
        (b'A' + self as u8) as char
    }

    /// Returns its title.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Reconnection => "reconnection",
            Self::Transient => "transient statuses",
            Self::Reuse => "drain and connection reuse",
            Self::SessionLoss => "session loss",
            Self::Hostile => "hostile and odd bytes",
            Self::Deadlines => "cancellation and deadlines",
            Self::Authorization => "authorization",
            Self::Standing => "the standing stream",
            Self::Outage => "restart and outage",
            Self::Stateless => "the stateless revision",
            Self::Evidence => "evidence that a call ran or did not",
            Self::Logins => "logins and their tokens",
        }
    }
}

/// What a client is to the programs that call it, and to the servers that it calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ContestantKind {
    /// A library: what its caller asks for twice is wanted twice.
    #[default]
    Client,
    /// A library that asks every server for a session.
    ClientWithSession,
    /// A bridge or a gateway: it speaks for hosts that have a session, and whose programs repeat what failed.
    Front,
}

/// Returns the default limit: long enough for everything that takes long by default. Clients that hang are
/// stopped then.
const fn default_limit() -> f64 {
    20.0
}

const MOST_LIMIT_S: f64 = 120.0;
const MOST_LIMIT_SLOW_S: f64 = 600.0;

#[cfg(test)]
mod tests;
