//! The tools, prompts, resources and templates of all servers in one list, and the way back from a name to its
//! server.
//!
//! ```text
//!   lists of servers ──rules──▶ items ──names, URIs──▶ pages for callers
//!   a name ──table, never by splitting it──▶ server and original name
//! ```
//! It decides and performs nothing. Elements keep their bytes but for their names.

mod cursor;
mod globs;
mod listed;
mod names;
mod notice;
mod pins;
#[cfg(test)]
mod properties;
mod rules;
#[cfg(test)]
mod tests;
mod uris;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use ridethrough_core::message::{Json, ListKind, splice};

use cursor::Cursor;
use listed::{Item, Listed, key};
use names::{Given, Names, Owner};
pub use notice::Notice;
pub use pins::Approved;
pub use rules::{Prefix, Rules};
use uris::Uris;

/// The lists of all servers.
#[derive(Debug, Default)]
pub(crate) struct Catalogue {
    servers: Vec<Listed>,
    /// The names of tools and prompts beside each other.
    names: BTreeMap<ListKind, Names>,
    uris: BTreeMap<ListKind, Uris>,
    /// Counts the changes of each list that callers can see.
    versions: BTreeMap<ListKind, u64>,
}

/// A server as the catalogue must know it.
#[derive(Clone, Debug)]
pub(crate) struct Member {
    pub(crate) name: Arc<str>,
    pub(crate) rules: Rules,
    pub(crate) approved: Option<Approved>,
}

/// Which part of the catalogue a caller sees.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Scope {
    All,
    /// One server, whose names stand alone.
    One(Arc<str>),
}

/// Where a name leads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Route {
    pub(crate) server: Arc<str>,
    pub(crate) original: String,
}

/// The cursor was not written here, or its server is gone.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct BadCursor;

impl Catalogue {
    /// Sets the servers, in their order. What is known of those whose rules stay is kept. Returns the lists
    /// that changed.
    pub(crate) fn set_servers(&mut self, members: Vec<Member>) -> BTreeSet<ListKind> {
        let before = self.all_shown();
        let mut known: BTreeMap<_, _> =
            std::mem::take(&mut self.servers).into_iter().map(|it| (it.name.clone(), it)).collect();
        for member in members {
            let kept = known.remove(&member.name).filter(|it| it.rules == member.rules);
            let listed = kept.unwrap_or_else(|| {
                self.names.values_mut().for_each(|names| names.forget_server(&member.name));
                self.uris.values_mut().for_each(|uris| uris.forget_server(&member.name));
                Listed::new(member.name.clone(), member.rules, member.approved)
            });
            self.servers.push(listed);
        }
        for name in known.into_keys() {
            self.names.values_mut().for_each(|names| names.forget_server(&name));
            self.uris.values_mut().for_each(|uris| uris.forget_server(&name));
        }
        let changed = ListKind::ALL.into_iter().filter(|kind| self.shown(*kind) != before[kind]);
        let changed: BTreeSet<_> = changed.collect();
        changed.iter().for_each(|kind| *self.versions.entry(*kind).or_default() += 1);
        changed
    }

    /// Puts a list of a server in the place of the one that was known. Returns whether callers see a
    /// difference, and what a person should know.
    pub(crate) fn replace(
        &mut self,
        server: &str,
        kind: ListKind,
        elements: &[Json],
    ) -> (bool, Vec<Notice>) {
        let before = self.shown(kind);
        let Some(listed) = self.servers.iter_mut().find(|it| &*it.name == server) else {
            return (false, Vec::new());
        };
        let mut notices = listed.replace(kind, elements);
        let items = listed.list(kind).unwrap_or_default();
        match kind {
            ListKind::Prompts | ListKind::Tools => {
                let names = self.names.entry(kind).or_default();
                for Item { original, .. } in items {
                    let owner = Owner { server: listed.name.clone(), original: original.clone() };
                    let wanted = listed.rules.wanted_name(server, original);
                    notices.extend(collision(&owner, names.give(&owner, &wanted)));
                }
                let is_listed = |name: &str| listed.item(kind, name).is_some();
                names.trim(server, is_listed);
            }
            ListKind::Resources | ListKind::Templates => {
                let listing: Vec<_> = items.iter().map(|it| it.original.as_str()).collect();
                let contested = self.uris.entry(kind).or_default().replace(&listed.name, &listing);
                notices.extend(contested.into_iter().map(|(original, first)| Notice::Collision {
                    name: uris::prefixed(server, &original),
                    server: listed.name.clone(),
                    original,
                    first,
                }));
            }
        }
        let is_changed = self.shown(kind) != before;
        if is_changed {
            *self.versions.entry(kind).or_default() += 1;
        }
        (is_changed, notices)
    }

    /// Counts the changes of a list that callers can see.
    pub(crate) fn version(&self, kind: ListKind) -> u64 {
        self.versions.get(&kind).copied().unwrap_or(0)
    }

    /// Whether this list of the server was ever read.
    pub(crate) fn knows(&self, server: &str, kind: ListKind) -> bool {
        self.listed(server).is_some_and(|it| it.list(kind).is_some())
    }

    /// Returns a page of a list. The entries of the servers in `stale` are marked as what was last known.
    pub(crate) fn page(
        &self,
        kind: ListKind,
        cursor: Option<&str>,
        scope: &Scope,
        stale: &BTreeSet<Arc<str>>,
    ) -> Result<Json, BadCursor> {
        let start = match cursor {
            Some(text) => Some(self.place(&Cursor::read(text).ok_or(BadCursor)?)?),
            None => None,
        };
        let mut rest = self.items(kind, scope).filter(|(place, _, item)| {
            let here = (*place, item.original.as_str());
            let is_behind = start.as_ref().is_none_or(|(at, name)| here > (*at, name.as_str()));
            is_behind && item.is_listed
        });
        let (mut page, mut bytes, mut last) = (Vec::new(), 0, None);
        for (_, listed, item) in rest.by_ref() {
            let element = self.rendered(kind, scope, listed, item, stale.contains(&listed.name));
            bytes += element.as_bytes().len();
            page.push(element);
            last = Some((listed, item));
            if page.len() == MOST_ELEMENTS || bytes >= MOST_BYTES {
                break;
            }
        }
        let has_more = rest.next().is_some();
        let result = kind.result(&page);
        let next = last.filter(|_| has_more).map(|(listed, item)| {
            let (server, original) = (listed.name.to_string(), item.original.clone());
            ("nextCursor".to_owned(), splice::text(&Cursor { server, original }.write()))
        });
        Ok(result.with_members(next))
    }

    /// Returns where the name of a tool or prompt leads. A server that is alone and whose list was never read
    /// gets every name that its rules do not forbid: it says itself what there is.
    pub(crate) fn route(&self, kind: ListKind, name: &str, scope: &Scope) -> Option<Route> {
        if let Scope::One(server) = scope
            && !self.knows(server, kind)
        {
            let listed = self.listed(server)?;
            let original = listed.rules.original_alone(name)?;
            let is_passed = kind != ListKind::Tools || listed.passes_unlisted(original);
            return is_passed
                .then(|| Route { server: server.clone(), original: original.to_owned() });
        }
        let owner = match scope {
            Scope::All => self.names.get(&kind)?.owner(name)?,
            Scope::One(server) => self.listed(server)?.alone.get(&kind)?.owner(name)?,
        };
        let listed = self.listed(&owner.server)?;
        let is_there = listed.item(kind, &owner.original).is_some();
        let is_passed =
            is_there || kind != ListKind::Tools || listed.passes_unlisted(&owner.original);
        is_passed.then(|| Route { server: owner.server.clone(), original: owner.original.clone() })
    }

    /// Returns where a URI leads: to the server that it names, that lists it, or whose template it fits.
    pub(crate) fn route_uri(&self, uri: &str, scope: &Scope) -> Option<Route> {
        if let Scope::One(server) = scope {
            return Some(Route { server: server.clone(), original: uri.to_owned() });
        }
        if let Some((encoded, original)) = uris::split(uri) {
            let server = self.servers.iter().find(|it| uris::encoded(&it.name) == encoded);
            if let Some(listed) = server {
                return Some(Route { server: listed.name.clone(), original: original.to_owned() });
            }
        }
        let known = |kind| self.uris.get(&kind);
        let listed = known(ListKind::Resources).and_then(|uris| uris.owner(uri));
        let exact = listed.or_else(|| known(ListKind::Templates)?.owner(uri));
        let server = exact.or_else(|| known(ListKind::Templates)?.owner_by_template(uri))?;
        Some(Route { server: server.clone(), original: uri.to_owned() })
    }

    /// Returns a URI of a server as callers see it.
    pub(crate) fn shown_uri(&self, server: &str, uri: &str, scope: &Scope) -> String {
        match (scope, self.uris.get(&ListKind::Resources)) {
            (Scope::All, Some(uris)) => uris.shown(server, uri),
            _ => uri.to_owned(),
        }
    }

    /// Approves the definitions that a server has now; `None` if there is no such server.
    pub(crate) fn approve(&mut self, server: &str) -> Option<Approved> {
        let listed = self.servers.iter_mut().find(|it| &*it.name == server)?;
        let approved = listed.approve();
        let elements: Vec<_> = listed.defined.iter().map(|(_, it)| it.clone()).collect();
        self.replace(server, ListKind::Tools, &elements);
        Some(approved)
    }

    fn listed(&self, server: &str) -> Option<&Listed> {
        self.servers.iter().find(|it| &*it.name == server)
    }

    fn place(&self, cursor: &Cursor) -> Result<(usize, String), BadCursor> {
        let place = self.servers.iter().position(|it| *it.name == *cursor.server);
        Ok((place.ok_or(BadCursor)?, cursor.original.clone()))
    }

    fn items<'a>(
        &'a self,
        kind: ListKind,
        scope: &'a Scope,
    ) -> impl Iterator<Item = (usize, &'a Listed, &'a Item)> {
        let is_seen = move |listed: &Listed| match scope {
            Scope::All => true,
            Scope::One(server) => listed.name == *server,
        };
        let seen = self.servers.iter().enumerate().filter(move |(_, listed)| is_seen(listed));
        seen.flat_map(move |(place, listed)| {
            let items = listed.list(kind).unwrap_or_default();
            items.iter().map(move |item| (place, listed, item))
        })
    }

    /// Returns an element under the name that callers see.
    fn rendered(
        &self,
        kind: ListKind,
        scope: &Scope,
        listed: &Listed,
        item: &Item,
        is_stale: bool,
    ) -> Json {
        let name = self.name_of(kind, scope, listed, &item.original);
        let mut element = item.element.clone();
        if name != item.original {
            element = splice::with_member(&element, key(kind), &splice::text(&name));
        }
        if is_stale {
            let meta = element.member("_meta").filter(splice::is_object);
            let meta = meta.unwrap_or_else(Json::empty_object);
            let yes = Json::of(&true).expect("a bool is JSON");
            element = splice::with_member(
                &element,
                "_meta",
                &splice::with_member(&meta, LAST_KNOWN, &yes),
            );
        }
        element
    }

    fn name_of(&self, kind: ListKind, scope: &Scope, listed: &Listed, original: &str) -> String {
        let owner = || Owner { server: listed.name.clone(), original: original.to_owned() };
        let name = match (kind, scope) {
            (ListKind::Prompts | ListKind::Tools, Scope::All) => {
                self.names.get(&kind).and_then(|names| names.name(&owner()))
            }
            (ListKind::Prompts | ListKind::Tools, Scope::One(_)) => {
                listed.alone.get(&kind).and_then(|names| names.name(&owner()))
            }
            (_, Scope::All) => {
                return self
                    .uris
                    .get(&kind)
                    .map_or_else(|| original.to_owned(), |it| it.shown(&listed.name, original));
            }
            (_, Scope::One(_)) => None,
        };
        name.unwrap_or(original).to_owned()
    }

    /// Returns all elements that callers see.
    fn shown(&self, kind: ListKind) -> Vec<Json> {
        let all = self.items(kind, &Scope::All).filter(|(_, _, item)| item.is_listed);
        all.map(|(_, listed, item)| self.rendered(kind, &Scope::All, listed, item, false)).collect()
    }

    fn all_shown(&self) -> BTreeMap<ListKind, Vec<Json>> {
        ListKind::ALL.into_iter().map(|kind| (kind, self.shown(kind))).collect()
    }
}

fn collision(owner: &Owner, (name, given): (String, Given)) -> Option<Notice> {
    let Given::Hashed { first } = given else { return None };
    Some(Notice::Collision {
        server: owner.server.clone(),
        original: owner.original.clone(),
        name,
        first: first.server,
    })
}

/// Marks an entry of a server that could not be asked: it is what was last known.
const LAST_KNOWN: &str = "ridethrough/lastKnown";
/// Some hosts read only the first page, so it is large.
const MOST_ELEMENTS: usize = 1000;
const MOST_BYTES: usize = 4 << 20;
