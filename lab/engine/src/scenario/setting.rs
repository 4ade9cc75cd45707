//! The settings of a server, and its rules for what goes wrong.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;

use super::action::{wrong_status, wrong_time};
use super::{Action, LostSession, Match};
use crate::issuer::{Extent, Issues};
use crate::{Mood, Round, Spoken, Style, Times};

/// The settings of a server before the client starts.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Setting {
    /// The eras that it speaks.
    pub era: Spoken,
    /// The transport that it speaks.
    pub way: Way,
    /// When it changes its era by itself.
    pub turn: Vec<EraTurn>,
    /// The tools that ask for input before they run.
    pub inquiry: Vec<Inquiry>,
    /// How it answers requests that no rule takes.
    pub answers: Style,
    /// Whether it has no sessions.
    pub sessionless: bool,
    /// How many servers it consists of that know nothing of each other's sessions; a load balancer gives each
    /// connection to the next of them. The default is one.
    pub replicas: Option<u64>,
    /// The bearer token that it requires.
    pub bearer: Option<String>,
    /// Which requests need a token of the authorization server.
    pub guards: Extent,
    /// The scope that a call of each tool needs.
    pub scope_of: BTreeMap<String, String>,
    /// The tokens that it issues, if it is an authorization server.
    pub issues: Option<Issues>,
    /// The tools that it lists, in place of the lab's own.
    pub tools: Option<Vec<Value>>,
    /// How it refuses an unknown session.
    pub lost_session: Option<LostSession>,
    /// How it treats connections when the client starts.
    pub starts: Mood,
    /// After how many seconds it is up, in any case.
    pub up_after: Option<f64>,
    /// The rules for what goes wrong. The first rule that matches and is not used up takes a request whole.
    pub rule: Vec<Rule>,
}

impl Setting {
    /// Returns why the settings make no sense.
    pub(super) fn nonsense(&self) -> Option<String> {
        let status = self.lost_session.as_ref().and_then(|lost| wrong_status(lost.status));
        let time = self.up_after.and_then(wrong_time);
        let mut turns = self.turn.iter().filter_map(|turn| wrong_time(turn.after));
        let mut acts = self.rule.iter().flat_map(|rule| &rule.acts);
        let time = time.or_else(|| turns.next());
        let issues = self.issues.as_ref().and_then(|issues| wrong_time(issues.access_lives));
        let time = time.or(issues);
        let replicas = (self.replicas == Some(0)).then(|| "`replicas` are one at least".to_owned());
        let passes = self.way == Way::HttpSse
            && self.rule.iter().flat_map(|rule| &rule.acts).any(|act| matches!(act, Action::Pass));
        let passes = passes.then(|| "a server of HTTP+SSE has no rules that `pass`".to_owned());
        let wrong = status.or(time).or(replicas).or(passes);
        let wrong = wrong.or_else(|| self.rule.iter().find_map(Rule::nonsense));
        wrong.or_else(|| acts.find_map(Action::nonsense))
    }
}

/// A change of era: an upgrade, or a rollback.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EraTurn {
    /// The time of the change, in seconds after the start of the client.
    pub after: f64,
    /// The eras that it speaks from then on.
    pub era: Spoken,
}

/// A tool that asks for input (stateless revision).
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Inquiry {
    /// The tool.
    pub tool: String,
    /// What it asks for, round by round.
    pub rounds: Vec<Round>,
}

/// The transport of a server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Way {
    /// HTTP+SSE of 2024-11-05; every other request is refused.
    HttpSse,
    /// Streamable HTTP.
    #[default]
    StreamableHttp,
}

/// A rule for what goes wrong.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// The requests that it takes.
    pub when: Match,
    /// How many of them it takes; without it, all.
    pub times: Option<usize>,
    /// The seconds from the first request within which it takes requests.
    pub lasts: Option<f64>,
    /// The number of requests a second beyond which it takes them.
    pub beyond: Option<usize>,
    /// What is done, in order.
    #[serde(rename = "do")]
    pub acts: Vec<Action>,
}

impl Rule {
    /// Returns which of the requests that match it takes.
    pub fn share(&self) -> Times {
        let lasts = self.lasts.map(|lasts| Times::For(Duration::from_secs_f64(lasts)));
        let beyond = self.beyond.map(Times::Beyond);
        self.times.map(Times::Exactly).or(lasts).or(beyond).unwrap_or(Times::Always)
    }

    fn nonsense(&self) -> Option<String> {
        let words = [self.times.is_some(), self.lasts.is_some(), self.beyond.is_some()];
        if words.into_iter().filter(|is_said| *is_said).count() > 1 {
            return Some("a rule has one of `times`, `lasts` and `beyond`".to_owned());
        }
        self.lasts.and_then(wrong_time)
    }
}
