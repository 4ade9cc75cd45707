//! The lists of one server, as its rules leave them, each for those who share the link that it was read over.

use std::collections::hash_map::DefaultHasher;
use std::collections::{BTreeMap, BTreeSet};
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use ridethrough_core::answer::words::{harmless, is_harmful};
use ridethrough_wire::message::{Json, ListKind};

use super::audience::{Audience, Share, View};
use super::names::{Names, Owner};
use super::notice::Notice;
use super::pins::{Approved, PinVerdict};
use super::rules::{Rules, Verdict};

/// One server and its lists.
#[derive(Debug)]
pub(crate) struct Listed {
    pub(crate) name: Arc<str>,
    pub(crate) rules: Rules,
    pub(crate) share: Share,
    /// Tells the server apart from one of this name with other rules.
    pub(crate) generation: u64,
    /// The definitions that were approved, if any were.
    approved: Option<Approved>,
    lists: BTreeMap<(Audience, ListKind), Arc<ItemList>>,
    /// The list of each kind that was read last, whoever sees it. It is compared with, and never shown.
    newest: BTreeMap<ListKind, Arc<ItemList>>,
    /// What was listed for an audience, and is not any more.
    gone: BTreeMap<(Audience, ListKind), BTreeSet<String>>,
    /// Tools as the server defines them now, for a person to approve; only if they are pinned.
    defined: BTreeMap<Audience, Vec<Json>>,
    /// The names of tools and prompts where this server is alone.
    pub(crate) alone: BTreeMap<ListKind, Names>,
}

/// A list, in an order that does not depend on the server's.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct ItemList {
    pub(crate) items: Vec<Item>,
    /// Differs if what is shown of the list does.
    pub(crate) digest: u64,
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

impl ItemList {
    fn new(mut items: Vec<Item>) -> Self {
        items.sort_by(|one, other| one.original.cmp(&other.original));
        let digest = digest(items.iter());
        Self { items, digest }
    }

    pub(crate) fn item(&self, original: &str) -> Option<&Item> {
        let place = self.items.binary_search_by(|item| item.original.as_str().cmp(original));
        place.ok().map(|place| &self.items[place])
    }
}

impl Listed {
    pub(crate) fn new(
        name: Arc<str>,
        rules: Rules,
        share: Share,
        approved: Option<Approved>,
        generation: u64,
    ) -> Self {
        Self {
            name,
            rules,
            share,
            generation,
            approved,
            lists: BTreeMap::new(),
            newest: BTreeMap::new(),
            gone: BTreeMap::new(),
            defined: BTreeMap::new(),
            alone: BTreeMap::new(),
        }
    }

    /// Returns the list that a caller sees; `None` if it is not known.
    pub(crate) fn seen(&self, kind: ListKind, view: &View) -> Option<&Arc<ItemList>> {
        view.audiences(self.share).find_map(|audience| self.lists.get(&(audience, kind)))
    }

    /// Returns the list that was read last, whoever sees it.
    pub(crate) fn newest(&self, kind: ListKind) -> Option<&Arc<ItemList>> {
        self.newest.get(&kind)
    }

    pub(crate) fn has_list(&self, audience: &Audience, kind: ListKind) -> bool {
        self.lists.contains_key(&(audience.clone(), kind))
    }

    /// Whether anybody is shown an element of this name.
    pub(crate) fn is_shown_to_anybody(&self, kind: ListKind, original: &str) -> bool {
        let mut lists = self.lists.iter().filter(|((_, it), _)| *it == kind);
        lists.any(|(_, list)| list.item(original).is_some())
    }

    /// Whether a caller may call this: it is in the caller's list; or it was, and then the server says itself
    /// that it is gone.
    pub(crate) fn may_call(&self, kind: ListKind, original: &str, view: &View) -> bool {
        if let Some(item) = self.seen(kind, view).and_then(|list| list.item(original)) {
            return view.rights.allows(&self.name, kind, original, &item.element);
        }
        let was_listed = view.audiences(self.share).any(|audience| {
            self.gone.get(&(audience, kind)).is_some_and(|gone| gone.contains(original))
        });
        let is_passed = kind != ListKind::Tools || self.passes_unlisted(original);
        let unknown = Json::empty_object();
        was_listed && is_passed && view.rights.allows(&self.name, kind, original, &unknown)
    }

    /// Whether a caller may call this of a server whose list was never read: the server says itself what there
    /// is.
    pub(crate) fn may_call_unread(&self, kind: ListKind, original: &str, view: &View) -> bool {
        let is_passed = kind != ListKind::Tools || self.passes_unlisted(original);
        is_passed && view.rights.allows(&self.name, kind, original, &Json::empty_object())
    }

    /// Puts a list in the place of the one that was known. Returns whether it differs, and what a person
    /// should know.
    pub(crate) fn replace(
        &mut self,
        audience: &Audience,
        kind: ListKind,
        elements: &[Json],
    ) -> (bool, Vec<Notice>) {
        let mut notices = Vec::new();
        let list = ItemList::new(self.judged(audience, kind, elements, &mut notices));
        self.name_alone(kind, &list.items);
        let key = (audience.clone(), kind);
        let before = self.lists.get(&key).cloned();
        let is_changed = before.as_ref().is_none_or(|it| it.digest != list.digest);
        if let Some(before) = &before {
            let gone = before.items.iter().filter(|it| list.item(&it.original).is_none());
            let gone: Vec<_> = gone.map(|it| it.original.clone()).collect();
            self.remember(&key, gone);
        }
        // Most lists are the same for everybody, and are kept once.
        let known = [before.as_ref(), self.newest.get(&kind)].into_iter().flatten();
        let same = known.into_iter().find(|it| ***it == list).cloned();
        let list = same.unwrap_or_else(|| Arc::new(list));
        self.newest.insert(kind, list.clone());
        self.lists.insert(key, list);
        (is_changed, notices)
    }

    /// Forgets what an audience saw.
    pub(crate) fn forget(&mut self, audience: &Audience) {
        self.lists.retain(|(it, _), _| it != audience);
        self.gone.retain(|(it, _), _| it != audience);
        self.defined.remove(audience);
    }

    /// Sets which definitions are approved: with `None` those that the server has now, or the next that are
    /// seen. Returns the lists that must be put in their places again.
    pub(crate) fn set_approved(
        &mut self,
        approved: Option<Approved>,
    ) -> Vec<(Audience, Vec<Json>)> {
        if !self.rules.is_pinned || (approved.is_some() && self.approved == approved) {
            return Vec::new();
        }
        self.approved = approved;
        self.defined.clone().into_iter().collect()
    }

    /// Approves the definitions that the server has now.
    fn approve(&mut self) -> Approved {
        let all = self.defined.values().flatten();
        let named: Vec<_> =
            all.filter_map(|it| Some((key_of(ListKind::Tools, it)?, it.clone()))).collect();
        let approved = Approved::of(named.iter().map(|(name, it)| (name.as_str(), it)));
        self.approved.insert(approved).clone()
    }

    fn judged(
        &mut self,
        audience: &Audience,
        kind: ListKind,
        elements: &[Json],
        notices: &mut Vec<Notice>,
    ) -> Vec<Item> {
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
        let (named, unread): (Vec<_>, Vec<_>) =
            named.into_iter().partition(|(_, it)| is_readable(it.as_bytes()));
        notices.extend(unread.into_iter().map(|(name, _)| {
            let name = harmless(&name).chars().take(LONGEST_TOLD).collect();
            Notice::Unreadable { server: self.name.clone(), name }
        }));
        if kind == ListKind::Tools && self.rules.is_pinned {
            let defined: Vec<_> = named.iter().map(|(_, it)| (*it).clone()).collect();
            self.defined.insert(audience.clone(), defined);
            notices.extend(self.approve_first());
        }
        let mut items = Vec::with_capacity(named.len());
        for (original, element) in named {
            let verdict = match kind {
                ListKind::Tools => self.judge(&original, element, notices),
                _ => Verdict::Listed,
            };
            if verdict != Verdict::Denied {
                let is_listed = verdict == Verdict::Listed;
                items.push(Item { original, element: element.clone(), is_listed });
            }
        }
        items
    }

    fn name_alone(&mut self, kind: ListKind, items: &[Item]) {
        if !matches!(kind, ListKind::Prompts | ListKind::Tools) {
            return;
        }
        let mut alone = self.alone.remove(&kind).unwrap_or_default();
        for Item { original, .. } in items {
            let owner = Owner { server: self.name.clone(), original: original.clone() };
            alone.give(&owner, &self.rules.name_alone(original));
        }
        let listed: BTreeSet<_> = items.iter().map(|it| it.original.as_str()).collect();
        let is_listed = |name: &str| listed.contains(name) || self.is_shown_to_anybody(kind, name);
        alone.trim(&self.name, is_listed);
        self.alone.insert(kind, alone);
    }

    fn remember(&mut self, key: &(Audience, ListKind), gone: Vec<String>) {
        if gone.is_empty() {
            return;
        }
        let known = self.gone.entry(key.clone()).or_default();
        for name in gone {
            if known.len() < MOST_GONE {
                known.insert(name);
            }
        }
    }

    /// Whether a tool that the server does not list may be called: the server then says that it is unknown.
    fn passes_unlisted(&self, original: &str) -> bool {
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
        if self.approved.is_some() {
            return None;
        }
        let approved = self.approve();
        Some(Notice::Pinned { server: self.name.clone(), approved })
    }
}

/// Returns what differs if what is shown of these elements does.
pub(crate) fn digest<'a>(items: impl Iterator<Item = &'a Item>) -> u64 {
    let mut hasher = DefaultHasher::new();
    for item in items.filter(|it| it.is_listed) {
        item.original.hash(&mut hasher);
        item.element.as_str().hash(&mut hasher);
    }
    hasher.finish()
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

/// Whether the readers of JSON that clients have can read this: not all read what is nested without end, or numbers of
/// thousands of digits, and one element that cannot be read takes the whole list with it.
fn is_readable(element: &[u8]) -> bool {
    let (mut depth, mut digits, mut is_text, mut is_escaped) = (0_usize, 0_usize, false, false);
    for byte in element {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if is_text => is_escaped = true,
            b'"' => is_text = !is_text,
            _ if is_text => {}
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth -= 1,
            _ => {}
        }
        let is_of_number =
            !is_text && matches!(byte, b'0'..=b'9' | b'.' | b'-' | b'+' | b'e' | b'E');
        digits = if is_of_number { digits + 1 } else { 0 };
        if depth > DEEPEST || digits > LONGEST_NUMBER {
            return false;
        }
    }
    true
}

fn has_harm(name: &str) -> bool {
    name.chars().any(is_harmful)
}

/// How deep a definition may be nested: `serde_json` reads 128 levels, and a list is around it.
const DEEPEST: usize = 100;
/// How many characters a number may have: the largest that a double can be has 309.
const LONGEST_NUMBER: usize = 320;
/// Of a name that people are told.
const LONGEST_TOLD: usize = 200;
/// A longer name does not fit in a cursor.
const LONGEST: usize = 32 * 1024;
/// Names that an audience was shown and that are not listed any more. A server may invent names without end.
const MOST_GONE: usize = 1000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_common_readers_of_json_cannot_read_is_told_apart() {
        let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));

        assert!(is_readable(nested(DEEPEST).as_bytes()));
        assert!(!is_readable(nested(DEEPEST + 1).as_bytes()));
        assert!(is_readable(format!("[{}1]", "[],".repeat(1000)).as_bytes()));
        assert!(!is_readable(format!("[{}]", "1".repeat(5000)).as_bytes()));
        let text = format!(r#"{{"a":"{}\"{}"}}"#, "1".repeat(5000), "[".repeat(5000));
        assert!(is_readable(text.as_bytes()));
    }
}
