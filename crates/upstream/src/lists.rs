//! The upstream's lists as the caller has seen them, and whether they have changed.
//!
//! A renewed session may belong to another deployment with other tools. The caller is told that a list changed
//! only if it did: each such notification costs it a request, and some programs ask a person. A list above the
//! bounds is passed on, but neither kept nor compared.

use std::collections::{BTreeMap, BTreeSet};

use ridethrough::{Client, Error};
use ridethrough_wire::message::Json;
use ridethrough_wire::message::code::METHOD_NOT_FOUND;

pub(crate) use ridethrough_wire::message::ListKind as Kind;

/// A page of a list, as the caller asks for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Page {
    pub(crate) kind: Kind,
    pub(crate) is_first: bool,
}

/// All lists that the caller has seen.
#[derive(Debug, Default)]
pub(crate) struct Lists {
    seen: BTreeMap<Kind, Seen>,
}

#[derive(Debug)]
enum Seen {
    /// The list is above the bounds.
    TooLarge,
    /// The first pages were seen.
    Part(Pages),
    /// The whole list was seen.
    Whole(Vec<Json>),
}

/// A list as the upstream has it now.
#[derive(Debug)]
pub(crate) enum Fetched {
    /// The request failed.
    Failed,
    /// The upstream answered with an error; the list is assumed to be unchanged.
    Refused,
    /// The list is above the bounds.
    TooLarge,
    /// The whole list.
    Whole(Vec<Json>),
}

/// Pages of one list that follow each other, within the bounds.
#[derive(Debug, Default)]
struct Pages {
    elements: Vec<Json>,
    count: usize,
    bytes: usize,
}

/// The error that pages are above the bounds.
#[derive(Debug)]
struct TooLarge;

impl Page {
    /// Returns the page that a request asks for, if it asks for one.
    pub(crate) fn asked(method: &str, params: Option<&Json>) -> Option<Self> {
        let kind = Kind::of_method(method)?;
        Some(Self { kind, is_first: params.and_then(|params| cursor(params, "cursor")).is_none() })
    }
}

impl Lists {
    /// Records a result that the caller gets. Returns the whole list, if the caller now has all of it and it is
    /// kept.
    pub(crate) fn saw(&mut self, page: Page, result: &Json) -> Option<Json> {
        let seen = match (page.is_first, self.seen.remove(&page.kind)) {
            (true, _) => Pages::default(),
            (false, Some(Seen::Part(pages))) => pages,
            // A page behind the last one, or of a list whose first page was not seen.
            (false, seen) => {
                self.seen.extend(seen.map(|seen| (page.kind, seen)));
                return None;
            }
        };
        let seen = match (seen.with(page.kind, result), cursor(result, "nextCursor")) {
            (Err(TooLarge), _) => Seen::TooLarge,
            (Ok(pages), Some(_)) => Seen::Part(pages),
            (Ok(pages), None) => Seen::Whole(pages.elements),
        };
        let whole = match &seen {
            Seen::Whole(elements) => Some(page.kind.result(elements)),
            Seen::Part(_) | Seen::TooLarge => None,
        };
        self.seen.insert(page.kind, seen);
        whole
    }

    /// Returns the lists that the caller has seen and that can be compared. Fetching only a part of a list that
    /// is too large would make the client forget what it knows of the tools in the rest.
    pub(crate) fn kinds(&self) -> Vec<Kind> {
        let is_kept = |(_, seen): &(&Kind, &Seen)| !matches!(seen, Seen::TooLarge);
        self.seen.iter().filter(is_kept).map(|(kind, _)| *kind).collect()
    }

    /// Records a list as the upstream has it now. Returns whether the caller, which sees only the shown
    /// elements, must be told.
    pub(crate) fn renew(
        &mut self,
        kind: Kind,
        fetched: Fetched,
        is_shown: impl Fn(&Json) -> bool,
    ) -> bool {
        let Some(seen) = self.seen.get_mut(&kind) else { return false };
        let (fresh, has_changed) = match fetched {
            Fetched::Failed | Fetched::Refused => return false,
            // A list that was within the bounds and is not any more has changed.
            Fetched::TooLarge => (Seen::TooLarge, matches!(seen, Seen::Whole(_))),
            Fetched::Whole(elements) => {
                let has_changed = seen.differs_from(&elements, is_shown);
                (Seen::Whole(elements), has_changed)
            }
        };
        if has_changed || matches!(fresh, Seen::TooLarge) {
            *seen = fresh;
        }
        has_changed
    }
}

impl Seen {
    /// Whether the caller sees another list now. The order does not count: some servers keep their tools in a
    /// hash map.
    fn differs_from(&self, fresh: &[Json], is_shown: impl Fn(&Json) -> bool) -> bool {
        let mut there = texts(fresh, &is_shown);
        match self {
            Self::TooLarge => false,
            Self::Part(pages) => {
                let there: BTreeSet<&str> = there.into_iter().collect();
                !texts(&pages.elements, &is_shown).iter().all(|element| there.contains(element))
            }
            Self::Whole(elements) => {
                let mut known = texts(elements, &is_shown);
                known.sort_unstable();
                there.sort_unstable();
                known != there
            }
        }
    }
}

impl Pages {
    /// Adds the next page.
    fn with(mut self, kind: Kind, result: &Json) -> Result<Self, TooLarge> {
        self.count += 1;
        // An element keeps the whole page in memory that it is part of.
        self.bytes += result.as_bytes().len();
        if self.count > MOST_PAGES || self.bytes > MOST_BYTES {
            return Err(TooLarge);
        }
        self.elements.extend(kind.elements(result));
        if self.elements.len() > MOST_ELEMENTS { Err(TooLarge) } else { Ok(self) }
    }
}

/// Fetches a whole list from the upstream, past the client's cache.
pub(crate) async fn fetch(client: Client, kind: Kind) -> Fetched {
    let mut pages = Pages::default();
    let mut next: Option<Json> = None;
    loop {
        let params =
            next.map(|cursor| Json::empty_object().with_members([("cursor".to_owned(), cursor)]));
        let result = match client.request(kind.method(), params).fresh().await {
            Ok(result) => result,
            // A list that the upstream does not have any more counts as empty.
            Err(Error::Server(error)) if error.rpc.code == METHOD_NOT_FOUND => {
                return Fetched::Whole(vec![]);
            }
            Err(Error::Server(_)) => return Fetched::Refused,
            Err(_) => return Fetched::Failed,
        };
        next = cursor(&result, "nextCursor");
        pages = match pages.with(kind, &result) {
            Err(TooLarge) => return Fetched::TooLarge,
            Ok(pages) if next.is_none() => return Fetched::Whole(pages.elements),
            // Another page would be above the bound.
            Ok(pages) if pages.count == MOST_PAGES => return Fetched::TooLarge,
            Ok(pages) => pages,
        };
    }
}

fn texts(elements: &[Json], is_shown: impl Fn(&Json) -> bool) -> Vec<&str> {
    elements.iter().filter(|element| is_shown(element)).map(Json::as_str).collect()
}

fn cursor(object: &Json, name: &str) -> Option<Json> {
    object.member(name).filter(|cursor| cursor.as_str() != "null")
}

/// The most pages: a list may be endless, and this limits what a renewed session costs the upstream.
const MOST_PAGES: usize = 100;
/// The most elements: as many tools as the client remembers hints of; no model chooses among more.
const MOST_ELEMENTS: usize = 10_000;
/// The most bytes of one list. There are four, each kept once here and once for the disk: 64 MiB at most.
const MOST_BYTES: usize = 8 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_in_another_order_is_the_same_list() {
        let mut lists = Lists::default();
        lists.saw(FIRST, &json(r#"{"tools":[{"name":"a"},{"name":"b"}]}"#));

        assert!(!lists.renew(Kind::Tools, whole(&[r#"{"name":"b"}"#, r#"{"name":"a"}"#]), shown));
    }

    #[test]
    fn a_change_is_told_once() {
        let mut lists = Lists::default();
        lists.saw(FIRST, &json(r#"{"tools":[{"name":"a"}]}"#));
        let fresh = || whole(&[r#"{"name":"a","title":"A"}"#]);

        assert!(lists.renew(Kind::Tools, fresh(), shown));
        assert!(!lists.renew(Kind::Tools, fresh(), shown));
    }

    #[test]
    fn a_list_that_the_host_never_asked_for_does_not_change_for_it() {
        let mut lists = Lists::default();

        assert!(!lists.renew(Kind::Prompts, whole(&["{}"]), shown));
    }

    #[test]
    fn pages_are_put_together_and_half_a_list_differs_only_where_it_was_seen() {
        let mut lists = Lists::default();
        let half = lists.saw(FIRST, &json(r#"{"tools":[1],"nextCursor":"2"}"#));

        assert_eq!(half, None);
        assert!(!lists.renew(Kind::Tools, whole(&["3", "1"]), shown));
        let all = lists.saw(NEXT, &json(r#"{"tools":[2],"nextCursor":null}"#));
        assert_eq!(all, Some(json(r#"{"tools":[1,2]}"#)));
        assert!(lists.renew(Kind::Tools, whole(&["3", "1"]), shown));
    }

    #[test]
    fn a_list_without_end_is_let_go_whatever_it_is_too_large_by() {
        let large = format!(r#"{{"tools":["{}"],"nextCursor":"x"}}"#, "x".repeat(MOST_BYTES / 10));
        let many =
            format!(r#"{{"tools":[0{}],"nextCursor":"x"}}"#, ",0".repeat(MOST_ELEMENTS / 20));
        let empty = r#"{"tools":[],"nextCursor":"x"}"#.to_owned();

        for page in [large, many, empty].map(|text| Json::new(text).unwrap()) {
            let mut lists = Lists::default();
            lists.saw(FIRST, &page);
            assert_eq!(lists.kinds(), [Kind::Tools]);
            for _ in 0..1000 {
                assert_eq!(lists.saw(NEXT, &page), None);
            }

            assert!(matches!(lists.seen[&Kind::Tools], Seen::TooLarge));
            assert_eq!(lists.kinds(), [], "it is not asked for again");
            assert_eq!(lists.saw(NEXT, &json(r#"{"tools":[]}"#)), None, "its end changes nothing");
            assert!(lists.saw(FIRST, &json(r#"{"tools":[]}"#)).is_some(), "a new list does");
        }
    }

    #[test]
    fn a_list_that_has_become_too_large_is_told_once_and_one_that_cannot_be_had_is_not() {
        let mut lists = Lists::default();
        lists.saw(FIRST, &json(r#"{"tools":[1]}"#));

        assert!(!lists.renew(Kind::Tools, Fetched::Failed, shown));
        assert!(!lists.renew(Kind::Tools, Fetched::Refused, shown));
        assert!(lists.renew(Kind::Tools, Fetched::TooLarge, shown));
        assert!(!lists.renew(Kind::Tools, Fetched::TooLarge, shown));
        assert!(!lists.renew(Kind::Tools, whole(&["1"]), shown), "nobody knows what it was");
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

    fn shown(_: &Json) -> bool {
        true
    }

    fn whole(texts: &[&'static str]) -> Fetched {
        Fetched::Whole(texts.iter().map(|text| json(text)).collect())
    }
}
