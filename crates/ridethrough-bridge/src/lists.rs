//! What the host has seen of the upstream's lists, and whether that still holds.
//!
//! A session that is renewed may belong to another deployment with other tools. The host is told that
//! a list changed only if one did: each such word costs it a request, and some hosts ask a person.

use std::collections::{BTreeMap, BTreeSet};

use ridethrough::{Client, Error};
use ridethrough_core::message::Json;
use ridethrough_core::message::code::METHOD_NOT_FOUND;

use crate::splice;

/// A list that an upstream may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    Prompts,
    Resources,
    Templates,
    Tools,
}

/// A part of a list, as the host asks for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Page {
    pub(crate) kind: Kind,
    pub(crate) is_first: bool,
}

/// Everything that the host has seen.
#[derive(Debug, Default)]
pub(crate) struct Lists {
    seen: BTreeMap<Kind, Seen>,
}

#[derive(Debug, Default)]
struct Seen {
    elements: Vec<Json>,
    is_whole: bool,
}

impl Kind {
    pub(crate) const ALL: [Self; 4] =
        [Self::Prompts, Self::Resources, Self::Templates, Self::Tools];

    pub(crate) const fn method(self) -> &'static str {
        match self {
            Self::Prompts => "prompts/list",
            Self::Resources => "resources/list",
            Self::Templates => "resources/templates/list",
            Self::Tools => "tools/list",
        }
    }

    /// How the host is told that it changed.
    pub(crate) const fn changed(self) -> &'static str {
        match self {
            Self::Prompts => "notifications/prompts/list_changed",
            Self::Resources | Self::Templates => "notifications/resources/list_changed",
            Self::Tools => "notifications/tools/list_changed",
        }
    }

    /// What an upstream that has it says that it can do.
    pub(crate) const fn capability(self) -> &'static str {
        match self {
            Self::Prompts => "prompts",
            Self::Resources | Self::Templates => "resources",
            Self::Tools => "tools",
        }
    }

    /// A result with these elements and no further page.
    pub(crate) fn result(self, elements: &[Json]) -> Json {
        Json::empty_object().with_members([(self.key().to_owned(), splice::array(elements))])
    }

    const fn key(self) -> &'static str {
        match self {
            Self::Prompts => "prompts",
            Self::Resources => "resources",
            Self::Templates => "resourceTemplates",
            Self::Tools => "tools",
        }
    }

    fn elements(self, result: &Json) -> Vec<Json> {
        result.member(self.key()).and_then(|list| list.elements()).unwrap_or_default()
    }
}

impl Page {
    /// The part of a list that a request asks for, if it asks for one.
    pub(crate) fn asked(method: &str, params: Option<&Json>) -> Option<Self> {
        let kind = Kind::ALL.into_iter().find(|kind| kind.method() == method)?;
        Some(Self { kind, is_first: params.and_then(|params| cursor(params, "cursor")).is_none() })
    }
}

impl Lists {
    /// The host gets this result. Returns the whole list, if the host now has it.
    pub(crate) fn saw(&mut self, page: Page, result: &Json) -> Option<Json> {
        if page.is_first {
            self.seen.insert(page.kind, Seen::default());
        }
        let seen = self.seen.get_mut(&page.kind)?;
        seen.elements.extend(page.kind.elements(result));
        seen.is_whole = cursor(result, "nextCursor").is_none();
        seen.is_whole.then(|| page.kind.result(&seen.elements))
    }

    /// The lists that the host has seen.
    pub(crate) fn kinds(&self) -> Vec<Kind> {
        self.seen.keys().copied().collect()
    }

    /// Takes in how a list is at the upstream; says whether the host must be told.
    pub(crate) fn renew(&mut self, kind: Kind, fresh: Vec<Json>) -> bool {
        let Some(seen) = self.seen.get_mut(&kind) else { return false };
        let has_changed = seen.differs_from(&fresh);
        if has_changed {
            *seen = Seen { elements: fresh, is_whole: true };
        }
        has_changed
    }
}

impl Seen {
    /// In any order: some servers keep their tools in a hash map.
    fn differs_from(&self, fresh: &[Json]) -> bool {
        let mut known: Vec<&str> = self.elements.iter().map(Json::as_str).collect();
        let mut there: Vec<&str> = fresh.iter().map(Json::as_str).collect();
        if !self.is_whole {
            let there: BTreeSet<&str> = there.into_iter().collect();
            return !known.iter().all(|element| there.contains(element));
        }
        known.sort_unstable();
        there.sort_unstable();
        known != there
    }
}

/// Asks the upstream for a whole list; `None` if that cannot be had now.
pub(crate) async fn fetch(client: Client, kind: Kind) -> Option<Vec<Json>> {
    let mut elements = Vec::new();
    let mut next: Option<Json> = None;
    for _ in 0..MOST_PAGES {
        let params =
            next.map(|cursor| Json::empty_object().with_members([("cursor".to_owned(), cursor)]));
        match client.request(kind.method(), params).await {
            Ok(result) => {
                elements.extend(kind.elements(&result));
                next = cursor(&result, "nextCursor");
            }
            // What the upstream does not have any more is as good as empty.
            Err(Error::Server(error)) if error.rpc.code == METHOD_NOT_FOUND => return Some(vec![]),
            Err(_) => return None,
        }
        if next.is_none() {
            return Some(elements);
        }
    }
    None
}

fn cursor(object: &Json, name: &str) -> Option<Json> {
    object.member(name).filter(|cursor| cursor.as_str() != "null")
}

/// A list that does not end is not compared.
const MOST_PAGES: usize = 100;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_in_another_order_is_the_same_list() {
        let mut lists = Lists::default();
        lists.saw(FIRST, &json(r#"{"tools":[{"name":"a"},{"name":"b"}]}"#));

        assert!(!lists.renew(Kind::Tools, elements(&[r#"{"name":"b"}"#, r#"{"name":"a"}"#])));
    }

    #[test]
    fn a_change_is_told_once() {
        let mut lists = Lists::default();
        lists.saw(FIRST, &json(r#"{"tools":[{"name":"a"}]}"#));
        let fresh = || elements(&[r#"{"name":"a","title":"A"}"#]);

        assert!(lists.renew(Kind::Tools, fresh()));
        assert!(!lists.renew(Kind::Tools, fresh()));
    }

    #[test]
    fn a_list_that_the_host_never_asked_for_does_not_change_for_it() {
        let mut lists = Lists::default();

        assert!(!lists.renew(Kind::Prompts, elements(&["{}"])));
    }

    #[test]
    fn pages_are_put_together_and_half_a_list_differs_only_where_it_was_seen() {
        let mut lists = Lists::default();
        let half = lists.saw(FIRST, &json(r#"{"tools":[1],"nextCursor":"2"}"#));

        assert_eq!(half, None);
        assert!(!lists.renew(Kind::Tools, elements(&["3", "1"])));
        let whole = lists.saw(NEXT, &json(r#"{"tools":[2],"nextCursor":null}"#));
        assert_eq!(whole, Some(json(r#"{"tools":[1,2]}"#)));
        assert!(lists.renew(Kind::Tools, elements(&["3", "1"])));
    }

    #[test]
    fn a_request_is_a_page_of_its_list() {
        let cursor = json(r#"{"cursor":"x"}"#);

        assert_eq!(Page::asked("tools/list", None), Some(FIRST));
        assert_eq!(Page::asked("tools/list", Some(&json(r#"{"cursor":null}"#))), Some(FIRST));
        assert_eq!(Page::asked("tools/list", Some(&cursor)), Some(NEXT));
        assert_eq!(Page::asked("tools/call", None), None);
    }

    const FIRST: Page = Page { kind: Kind::Tools, is_first: true };
    const NEXT: Page = Page { kind: Kind::Tools, is_first: false };

    fn json(text: &'static str) -> Json {
        Json::new(text).unwrap()
    }

    fn elements(texts: &[&'static str]) -> Vec<Json> {
        texts.iter().map(|text| json(text)).collect()
    }
}
