//! What is known of a server's tools beside the list that one link has read: what the operator says of them, and what
//! other links to the same server have been shown.
//!
//! Of 527 tools of 70 public servers, 44 say whether they change anything.

use std::collections::BTreeMap;
use std::sync::Arc;

use ridethrough_wire::message::Json;
use ridethrough_wire::patterns::matches_any;

use crate::replay::{ReplayRule, read_only_hint};

/// What the operator says of a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ToolHint {
    /// It changes nothing, so it can run twice.
    Read,
    /// It changes something, whatever it says of itself.
    Write,
}

/// What the operator says of a server's tools.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct OperatorHints {
    /// Patterns of tools that can run twice.
    repeatable: Vec<String>,
    /// Patterns of tools that must not.
    once: Vec<String>,
}

impl OperatorHints {
    /// Says this of the tools whose names match the pattern.
    pub fn hint(&mut self, pattern: impl Into<String>, hint: ToolHint) {
        match hint {
            ToolHint::Read => self.repeatable.push(pattern.into()),
            ToolHint::Write => self.once.push(pattern.into()),
        }
    }

    /// Says that calls of the tools whose names match the pattern may be repeated, whatever these do.
    pub fn repeat(&mut self, pattern: impl Into<String>) {
        self.repeatable.push(pattern.into());
    }

    /// Whether the operator says nothing.
    pub const fn is_empty(&self) -> bool {
        self.repeatable.is_empty() && self.once.is_empty()
    }

    /// Returns the rule for calls of this tool. Of two patterns that disagree, the careful one counts.
    pub fn rule(&self, tool: &str) -> ReplayRule {
        if matches_any(&self.once, tool) {
            ReplayRule::Once
        } else if matches_any(&self.repeatable, tool) {
            ReplayRule::Repeatable
        } else {
            ReplayRule::ByNature
        }
    }
}

/// What the lists of one server say of its tools, each read by a source of its own with the same credentials.
#[derive(Clone, Debug)]
pub struct AgreedHints<Source> {
    lists: BTreeMap<Source, ListHints>,
    /// The list that was read last. Most lists are the same, and are kept once.
    newest: Option<ListHints>,
    votes: BTreeMap<Box<str>, Votes>,
}

/// Of each tool of a list, whether it says that it only reads.
type ListHints = Arc<BTreeMap<Box<str>, bool>>;

/// How many lists say of a tool that it only reads, and how many do not.
#[derive(Clone, Copy, Debug, Default)]
struct Votes {
    reads: usize,
    others: usize,
}

impl<Source: Ord> AgreedHints<Source> {
    /// Takes in the list of a source, in the place of the one that it read before.
    pub fn learn<'a>(&mut self, source: Source, tools: impl IntoIterator<Item = &'a Json>) {
        let list: BTreeMap<Box<str>, bool> = tools.into_iter().filter_map(read_only_hint).collect();
        let same = self.newest.as_ref().filter(|newest| ***newest == list).cloned();
        let list = same.unwrap_or_else(|| Arc::new(list));
        self.forget(&source);
        for (tool, reads) in list.iter() {
            *self.votes.entry(tool.clone()).or_default().side(*reads) += 1;
        }
        self.newest = Some(list.clone());
        self.lists.insert(source, list);
    }

    /// Forgets the list of a source that is gone.
    pub fn forget(&mut self, source: &Source) {
        let Some(list) = self.lists.remove(source) else { return };
        for (tool, reads) in list.iter() {
            let Some(votes) = self.votes.get_mut(tool) else { continue };
            *votes.side(*reads) -= 1;
            if votes.reads + votes.others == 0 {
                self.votes.remove(tool);
            }
        }
    }

    /// Whether no list was read.
    pub fn is_empty(&self) -> bool {
        self.lists.is_empty()
    }

    /// Returns the rule for calls of this tool. Lists that disagree may be of servers that are being replaced one by
    /// one, and the call may reach either: the tool then counts as one that does not only read.
    pub fn rule(&self, tool: &str) -> ReplayRule {
        match self.votes.get(tool) {
            None => ReplayRule::ByNature,
            Some(Votes { others: 0, .. }) => ReplayRule::Repeatable,
            Some(_) => ReplayRule::Once,
        }
    }
}

impl<Source> Default for AgreedHints<Source> {
    fn default() -> Self {
        Self { lists: BTreeMap::new(), newest: None, votes: BTreeMap::new() }
    }
}

impl Votes {
    const fn side(&mut self, reads: bool) -> &mut usize {
        if reads { &mut self.reads } else { &mut self.others }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_operator_fills_gaps_by_patterns_and_the_careful_word_counts() {
        let mut hints = OperatorHints::default();
        hints.hint("get_*", ToolHint::Read);
        hints.hint("*_and_delete", ToolHint::Write);
        hints.repeat("put");

        assert_eq!(hints.rule("get_issue"), ReplayRule::Repeatable);
        assert_eq!(hints.rule("put"), ReplayRule::Repeatable);
        assert_eq!(hints.rule("get_and_delete"), ReplayRule::Once);
        assert_eq!(hints.rule("delete"), ReplayRule::ByNature);
        assert!(!hints.is_empty() && OperatorHints::default().is_empty());
    }

    #[test]
    fn lists_that_disagree_about_a_tool_mean_that_it_does_not_only_read() {
        let mut agreed = AgreedHints::default();

        agreed.learn(1, &[tool("t", true)]);
        assert_eq!(agreed.rule("t"), ReplayRule::Repeatable);
        agreed.learn(2, &[tool("t", false), tool("u", true)]);
        assert_eq!(agreed.rule("t"), ReplayRule::Once);
        assert_eq!(agreed.rule("u"), ReplayRule::Repeatable, "a list without it says nothing");

        agreed.learn(2, &[tool("t", true)]);
        assert_eq!(agreed.rule("t"), ReplayRule::Repeatable, "the list was replaced");
        assert_eq!(agreed.rule("u"), ReplayRule::ByNature);
        agreed.learn(3, &[tool("t", false)]);
        agreed.forget(&3);
        assert_eq!(agreed.rule("t"), ReplayRule::Repeatable, "who has read the list is gone");
    }

    #[test]
    fn a_tool_that_says_nothing_and_one_that_nobody_has_listed_do_not_only_read() {
        let mut agreed = AgreedHints::default();
        assert!(agreed.is_empty());

        agreed.learn((), &[Json::new(r#"{"name":"t"}"#).unwrap()]);

        assert_eq!((agreed.rule("t"), agreed.rule("u")), (ReplayRule::Once, ReplayRule::ByNature));
        assert!(!agreed.is_empty());
    }

    fn tool(name: &str, reads: bool) -> Json {
        Json::new(format!(r#"{{"name":"{name}","annotations":{{"readOnlyHint":{reads}}}}}"#))
            .unwrap()
    }
}
