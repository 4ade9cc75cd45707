//! The lists of one server, as its rules leave them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use ridethrough_core::answer::words::{harmless, is_harmful};
use ridethrough_core::message::{Json, ListKind};

use super::names::{Names, Owner};
use super::notice::Notice;
use super::pins::{Approved, PinVerdict};
use super::rules::{Rules, Verdict};

/// One server and its lists.
#[derive(Debug)]
pub(crate) struct Listed {
    pub(crate) name: Arc<str>,
    pub(crate) rules: Rules,
    /// The definitions that were approved, if any were.
    pub(crate) approved: Option<Approved>,
    lists: BTreeMap<ListKind, Vec<Item>>,
    /// Tools as the server defines them now, for a person to approve.
    pub(crate) defined: Vec<(String, Json)>,
    /// The names of tools and prompts where this server is alone.
    pub(crate) alone: BTreeMap<ListKind, Names>,
}

/// An element of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Item {
    /// The name or URI that the server gives it.
    pub(crate) original: String,
    /// As the server wrote it.
    pub(crate) element: Json,
    pub(crate) is_listed: bool,
}

impl Listed {
    pub(crate) fn new(name: Arc<str>, rules: Rules, approved: Option<Approved>) -> Self {
        let (lists, alone) = (BTreeMap::new(), BTreeMap::new());
        Self { name, rules, approved, lists, defined: Vec::new(), alone }
    }

    /// Returns the list, in an order that does not depend on the server's; `None` if it is not known.
    pub(crate) fn list(&self, kind: ListKind) -> Option<&[Item]> {
        self.lists.get(&kind).map(Vec::as_slice)
    }

    pub(crate) fn item(&self, kind: ListKind, original: &str) -> Option<&Item> {
        let list = self.list(kind)?;
        let place = list.binary_search_by(|item| item.original.as_str().cmp(original));
        place.ok().map(|place| &list[place])
    }

    /// Puts a list in the place of the one that was known. Returns what a person should know.
    pub(crate) fn replace(&mut self, kind: ListKind, elements: &[Json]) -> Vec<Notice> {
        let mut notices = Vec::new();
        let mut items: Vec<Item> = Vec::with_capacity(elements.len());
        let mut seen = BTreeSet::new();
        let named = elements.iter().filter_map(|it| Some((key_of(kind, it)?, it)));
        let named = named.filter(|(name, _)| seen.insert(name.clone()));
        // Hosts show names to people and models, and match them with rules. A name that looks like another
        // is worse than none.
        let is_fit = |name: &str| self.rules.renames.contains_key(name) || !has_harm(name);
        let (named, unfit): (Vec<_>, Vec<_>) = named.partition(|(name, _)| is_fit(name));
        notices.extend(unfit.into_iter().map(|(name, _)| {
            let name = harmless(&name).chars().take(LONGEST_TOLD).collect();
            Notice::Unfit { server: self.name.clone(), name }
        }));
        if kind == ListKind::Tools {
            self.defined = named.iter().map(|(name, it)| (name.clone(), (*it).clone())).collect();
            notices.extend(self.approve_first());
        }
        for (original, element) in named {
            let verdict = match kind {
                ListKind::Tools => self.judge(&original, element, &mut notices),
                _ => Verdict::Listed,
            };
            if verdict != Verdict::Denied {
                let is_listed = verdict == Verdict::Listed;
                items.push(Item { original, element: element.clone(), is_listed });
            }
        }
        items.sort_by(|one, other| one.original.cmp(&other.original));
        if matches!(kind, ListKind::Prompts | ListKind::Tools) {
            let alone = self.alone.entry(kind).or_default();
            for Item { original, .. } in &items {
                let owner = Owner { server: self.name.clone(), original: original.clone() };
                alone.give(&owner, &self.rules.name_alone(original));
            }
            let is_listed = |name: &str| items.iter().any(|it| it.original == name);
            alone.trim(&self.name, is_listed);
        }
        self.lists.insert(kind, items);
        notices
    }

    /// Whether a tool that the server does not list may be called: the server then says that it is unknown.
    pub(crate) fn passes_unlisted(&self, original: &str) -> bool {
        let Rules { is_read_only, is_pinned, .. } = self.rules;
        let verdict = self.rules.judge(original, &Json::empty_object());
        !is_read_only && !is_pinned && verdict != Verdict::Denied
    }

    fn judge(&self, name: &str, definition: &Json, notices: &mut Vec<Notice>) -> Verdict {
        let approved = self.approved.as_ref().filter(|_| self.rules.is_pinned);
        let pinned = approved.map_or(PinVerdict::Approved, |it| it.judge(name, definition));
        let verdict = self.rules.judge(name, definition);
        if pinned == PinVerdict::Approved || verdict == Verdict::Denied {
            return verdict;
        }
        let (server, tool) = (self.name.clone(), name.to_owned());
        notices.push(Notice::Withheld { server, tool, is_new: pinned == PinVerdict::New });
        Verdict::Denied
    }

    /// Approves the first definitions that are seen.
    fn approve_first(&mut self) -> Option<Notice> {
        if !self.rules.is_pinned || self.approved.is_some() {
            return None;
        }
        let approved = self.approve();
        Some(Notice::Pinned { server: self.name.clone(), approved })
    }

    /// Approves the definitions that the server has now.
    pub(crate) fn approve(&mut self) -> Approved {
        let approved = Approved::of(self.defined.iter().map(|(name, it)| (name.as_str(), it)));
        self.approved.insert(approved).clone()
    }
}

/// Returns the member that names an element.
pub(crate) const fn key(kind: ListKind) -> &'static str {
    match kind {
        ListKind::Prompts | ListKind::Tools => "name",
        ListKind::Resources => "uri",
        ListKind::Templates => "uriTemplate",
    }
}

/// Returns the name of an element; `None` if it has none that can be listed.
fn key_of(kind: ListKind, element: &Json) -> Option<String> {
    let name: String = element.member(key(kind))?.read()?;
    (!name.is_empty() && name.len() <= LONGEST).then_some(name)
}

fn has_harm(name: &str) -> bool {
    name.chars().any(is_harmful)
}

/// Of a name that people are told.
const LONGEST_TOLD: usize = 200;
/// A longer name does not fit in a cursor.
const LONGEST: usize = 32 * 1024;
