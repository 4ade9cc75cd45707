//! What a server does: how it is by itself, and its rules for what shall go wrong.

use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;

use super::action::{wrong_status, wrong_time};
use super::{Action, LostSession, Match, Start};
use crate::{Round, Spoken, Style, Times};

/// A server, before the client comes.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Setting {
    /// Which eras of the protocol it speaks.
    pub era: Spoken,
    /// By which way it is spoken to.
    pub way: Way,
    /// When it changes that by itself.
    pub turn: Vec<EraTurn>,
    /// Which tools ask for input before they run.
    pub inquiry: Vec<Inquiry>,
    /// How requests are answered that no rule takes.
    pub answers: Style,
    /// Whether it does without sessions.
    pub sessionless: bool,
    /// How many servers it is that know nothing of each other's sessions; a balancer gives each
    /// connection to the next of them. Without it one.
    pub replicas: Option<u64>,
    /// The token that it asks for.
    pub bearer: Option<String>,
    /// The tools that it lists, in place of the lab's own.
    pub tools: Option<Vec<Value>>,
    /// How it refuses a session that it does not know.
    pub lost_session: Option<LostSession>,
    /// How it is when the client starts.
    pub starts: Start,
    /// After so many seconds from then it is up, whatever it was.
    pub up_after: Option<f64>,
    /// What shall go wrong. Of several rules that match, the first one that is not used up takes a
    /// request whole.
    pub rule: Vec<Rule>,
}

impl Setting {
    /// What is wrong with it.
    pub(super) fn nonsense(&self) -> Option<String> {
        let status = self.lost_session.as_ref().and_then(|lost| wrong_status(lost.status));
        let time = self.up_after.and_then(wrong_time);
        let mut turns = self.turn.iter().filter_map(|turn| wrong_time(turn.after));
        let mut acts = self.rule.iter().flat_map(|rule| &rule.acts);
        let time = time.or_else(|| turns.next());
        let replicas = (self.replicas == Some(0)).then(|| "`replicas` are one at least".to_owned());
        let passes = self.way == Way::HttpSse
            && self.rule.iter().flat_map(|rule| &rule.acts).any(|act| matches!(act, Action::Pass));
        let passes = passes.then(|| "a server of HTTP+SSE has no rules that `pass`".to_owned());
        let wrong = status.or(time).or(replicas).or(passes);
        let wrong = wrong.or_else(|| self.rule.iter().find_map(Rule::nonsense));
        wrong.or_else(|| acts.find_map(Action::nonsense))
    }
}

/// An upgrade, or a rollback.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EraTurn {
    /// So many seconds from the start of the client.
    pub after: f64,
    /// What is spoken from then on.
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

/// How messages get to a server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Way {
    /// HTTP+SSE of 2024-11-05: everything else is refused.
    HttpSse,
    /// Streamable HTTP.
    #[default]
    StreamableHttp,
}

/// Something that goes wrong.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// For which requests.
    pub when: Match,
    /// For how many of them; without it for all.
    pub times: Option<usize>,
    /// For those that come within so many seconds from the first.
    pub lasts: Option<f64>,
    /// For those beyond so many a second.
    pub beyond: Option<usize>,
    /// What is done, in order.
    #[serde(rename = "do")]
    pub acts: Vec<Action>,
}

impl Rule {
    /// Which of the requests that match are taken.
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
