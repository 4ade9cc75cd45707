//! The checks of a scenario: sentences that can be false.

use serde::Deserialize;
use serde_json::Value;

use super::action::MOST_SECONDS;
use super::{ContestantKind, Match, Scenario};
use crate::journal::Which;

/// Writes the check with all claims that it may make: the member in a file, the claim, and what it is about.
macro_rules! claims {
    ($($(#[$meta:meta])* $member:ident $claim:ident($about:ty),)*) => {
        /// One sentence, and exactly one claim that makes it true.
        #[derive(Clone, Debug, Deserialize)]
        #[serde(deny_unknown_fields)]
        pub struct Check {
            /// The sentence.
            pub that: String,
            /// Whether it is left out for a bridge, whose host has begun a session and may want one.
            #[serde(default)]
            spares_bridges: bool,
            /// Whether it is left out for a library, whose caller is obeyed.
            #[serde(default)]
            spares_clients: bool,
            $($member: Option<$about>,)*
        }

        /// The claim of a check.
        #[derive(Clone, Copy, Debug)]
        pub enum Claim<'a> {
            $($(#[$meta])* $claim(&'a $about),)*
        }

        impl Check {
            /// Returns the claim, if there is exactly one.
            pub fn claim(&self) -> Option<Claim<'_>> {
                let claims = [$(self.$member.as_ref().map(Claim::$claim),)*];
                let mut made = claims.into_iter().flatten();
                made.next().filter(|_| made.next().is_none())
            }
        }
    };
}

claims! {
    /// How a step ended.
    step Step(StepEnd),
    /// How many calls of a step succeeded.
    calls Calls(Calls),
    /// Which notifications the client reported.
    told Told(Told),
    /// How many times a tool ran.
    runs Runs(Runs),
    /// How many requests came.
    requests Requests(Requests),
    /// The pauses between requests.
    pauses Pauses(Pauses),
    /// How many requests the client cancelled by closing.
    cancels Cancels(Cancels),
    /// That requests have different JSON-RPC ids.
    distinct_ids DistinctIds(Match),
    /// How many connections were served.
    connections Connections(Bounds),
    /// How many times a client connected, served or not.
    dials Dials(Bounds),
    /// How many standing streams were open at once.
    standing Standing(Bounds),
    /// How many times a person had to log in: the pages of an authorization server that a browser opened.
    logins Logins(Bounds),
    /// How many requests showed a secret to a server that it was not made for.
    leaks Leaks(Bounds),
    /// How many refresh tokens were sent that had been sent before.
    replays Replays(Bounds),
    /// A text that the client must not print.
    unsaid Unsaid(String),
}

impl Check {
    /// Whether it is a check for a client of this kind.
    pub fn is_asked_of(&self, kind: ContestantKind) -> bool {
        match kind {
            ContestantKind::Client => !self.spares_clients,
            ContestantKind::ClientWithSession => !self.spares_clients && !self.spares_bridges,
            ContestantKind::Front => !self.spares_bridges,
        }
    }

    /// Returns why the check makes no sense in this scenario. A claim that nothing can contradict makes none.
    pub(super) fn nonsense(&self, scenario: &Scenario) -> Option<String> {
        let wrong = match self.claim() {
            _ if self.spares_bridges && self.spares_clients => "is asked of nobody",
            Some(claim) => claim.nonsense(scenario)?,
            None => "needs exactly one claim",
        };
        Some(format!("`{}` {wrong}", self.that))
    }
}

impl Claim<'_> {
    fn nonsense(&self, scenario: &Scenario) -> Option<&'static str> {
        let step = match self {
            Self::Step(end) => Some(end.number),
            Self::Calls(calls) => Some(calls.step),
            Self::Told(told) => told.step,
            _ => None,
        };
        if step.is_some_and(|step| step >= scenario.client.len()) {
            return Some("is about a step that is not in the script");
        }
        if matches!(self, Self::Requests(requests) if !scenario.has(requests.at)) {
            return Some("is about another server, and there is none");
        }
        if !self.times().all(|time| (0.0..=MOST_SECONDS).contains(&time)) {
            return Some("has a time that is none");
        }
        let is_empty = match self {
            Self::Calls(calls) => calls.answered.is_empty() && calls.quick.is_empty(),
            Self::Step(end) => end.is_empty(),
            Self::Unsaid(text) => text.is_empty(),
            _ => self.bounds().any(|bounds| bounds.is_empty()),
        };
        if is_empty {
            return Some("holds whatever happens");
        }
        let is_impossible = self.bounds().any(|bounds| bounds.is_impossible());
        is_impossible.then_some("can never hold")
    }

    fn bounds(&self) -> impl Iterator<Item = &Bounds> {
        let (one, other) = match self {
            Self::Calls(calls) => (Some(&calls.answered), Some(&calls.quick)),
            Self::Connections(bounds)
            | Self::Dials(bounds)
            | Self::Leaks(bounds)
            | Self::Logins(bounds)
            | Self::Replays(bounds)
            | Self::Standing(bounds) => (Some(*bounds), None),
            Self::Cancels(cancels) => (Some(&cancels.times), None),
            Self::Requests(requests) => (Some(&requests.times), None),
            Self::Runs(runs) => (Some(&runs.times), None),
            Self::Told(told) => (Some(&told.times), None),
            Self::DistinctIds(_) | Self::Pauses(_) | Self::Step(_) | Self::Unsaid(_) => {
                (None, None)
            }
        };
        one.into_iter().chain(other)
    }

    fn times(&self) -> impl Iterator<Item = f64> {
        let (one, other) = match self {
            Self::Calls(calls) => (calls.within, None),
            Self::Cancels(cancels) => (cancels.within, None),
            Self::Pauses(pauses) => (Some(pauses.at_least), None),
            Self::Step(end) => (end.within, end.after),
            _ => (None, None),
        };
        one.into_iter().chain(other)
    }
}

/// The bounds of a number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Bounds {
    /// The least number.
    pub at_least: Option<u64>,
    /// The greatest number.
    pub at_most: Option<u64>,
    /// The only number.
    pub exactly: Option<u64>,
}

impl Bounds {
    /// Whether this number is within the bounds.
    pub fn hold(&self, number: u64) -> bool {
        self.at_least.is_none_or(|least| number >= least)
            && self.at_most.is_none_or(|most| number <= most)
            && self.exactly.is_none_or(|exact| number == exact)
    }

    /// Whether every number is within the bounds.
    fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Whether no number is within the bounds.
    fn is_impossible(&self) -> bool {
        let least = self.at_least.max(self.exactly).unwrap_or(0);
        !self.hold(least)
    }
}

/// How a step must end. The first step of a script is number 0.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StepEnd {
    /// The number of the step.
    pub number: usize,
    /// Whether there is an answer.
    pub ok: Option<bool>,
    /// The text of the tool's result.
    pub text: Option<String>,
    /// Members that the result of a request must have, among others.
    pub json: Option<Value>,
    /// Whether the tool says that it failed.
    pub is_error: Option<bool>,
    /// Texts of which the error must contain one, ignoring case.
    #[serde(default)]
    pub error_has: Vec<String>,
    /// Texts of which the error must contain none, ignoring case.
    #[serde(default)]
    pub error_lacks: Vec<String>,
    /// Texts of which one in the error satisfies the claim as a whole.
    #[serde(default)]
    pub or_error_has: Vec<String>,
    /// The most seconds after which it ends.
    pub within: Option<f64>,
    /// The fewest seconds after which it ends.
    pub after: Option<f64>,
}

impl StepEnd {
    fn is_empty(&self) -> bool {
        let Self { ok, text, json, is_error, error_has, error_lacks, within, after, .. } = self;
        ok.is_none()
            && text.is_none()
            && json.is_none()
            && is_error.is_none()
            && error_has.is_empty()
            && error_lacks.is_empty()
            && within.is_none()
            && after.is_none()
    }
}

/// How the concurrent calls of one step must end.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Calls {
    /// The number of the step.
    pub step: usize,
    /// How many are answered, each with its own text.
    #[serde(default)]
    pub answered: Bounds,
    /// How many of them are answered within `within` seconds.
    #[serde(default)]
    pub quick: Bounds,
    /// What counts as quick, in seconds.
    pub within: Option<f64>,
}

/// Which notifications of the server a client must report.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Told {
    /// The notification, as a line of the adapter has it.
    pub what: String,
    /// The step that they come with; without it, any step.
    pub step: Option<usize>,
    /// How many times it must come.
    pub times: Bounds,
}

/// How many times a tool must run.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Runs {
    /// The tool.
    pub tool: String,
    /// Whether to count runs with equal arguments separately; the greatest count must be within the bounds.
    #[serde(default)]
    pub of_each: bool,
    /// How many times it must run.
    pub times: Bounds,
}

/// How many requests must come.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Requests {
    /// The requests that are counted.
    pub of: Match,
    /// The server that they came to.
    #[serde(default)]
    pub at: Which,
    /// How many must come.
    pub times: Bounds,
}

/// How many requests a client must cancel by closing before the answer has ended.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cancels {
    /// The requests that are counted.
    pub of: Match,
    /// How many must be cancelled.
    pub times: Bounds,
    /// Counts only those that were closed within this many seconds from their arrival.
    pub within: Option<f64>,
}

/// How long a client must wait before its next request.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pauses {
    /// The requests that follow a pause.
    pub of: Match,
    /// The requests after whose answers a pause begins; without it, those of `of`.
    pub after: Option<Match>,
    /// The fewest seconds of every pause.
    pub at_least: f64,
}
