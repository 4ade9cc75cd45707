//! The tools, prompts, resources and templates of all servers in one list, and the way back from a name to its
//! server.
//!
//! ```text
//!   lists of servers ──rules──▶ items ──names, URIs──▶ pages, for the view of each caller
//!   a name ──table, never by splitting it──▶ server and original name
//! ```
//! A caller sees what was read over links that it shares, and of that what it has a right to. Names are the
//! same for all callers. The catalogue decides and performs nothing. Elements keep their bytes but for their
//! names.

mod audience;
mod contested;
mod cursor;
mod listed;
mod names;
mod notice;
mod pins;
#[cfg(test)]
mod properties;
mod rehearsal;
mod rights;
mod rules;
#[cfg(test)]
mod tests;
mod uris;

use std::collections::hash_map::DefaultHasher;
use std::collections::{BTreeMap, BTreeSet};
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use ridethrough_wire::message::{Json, ListKind, reserved, splice};

pub use audience::Share;
pub(crate) use audience::{Audience, Scope, View};
pub use contested::{NameStore, OwnedName};
use cursor::Cursor;
use listed::{Item, Listed, key};
use names::{Given, Names, Owner};
pub use notice::Notice;
pub use pins::Approved;
pub use rehearsal::{RehearsedTool, rehearse_cursor, rehearse_names, rehearse_place};
pub use rights::{AccessRights, Grant, Rights};
pub use rules::{Prefix, Rules};

/// The lists of all servers.
#[derive(Debug, Default)]
pub(crate) struct Catalogue {
    servers: Vec<Listed>,
    /// The names of tools and prompts beside each other.
    names: BTreeMap<ListKind, Names>,
    /// Contested names as an earlier process knew them.
    remembered: Vec<OwnedName>,
    generations: u64,
}

/// A server as the catalogue must know it.
#[derive(Clone, Debug)]
pub(crate) struct Member {
    pub(crate) name: Arc<str>,
    pub(crate) rules: Rules,
    pub(crate) share: Share,
    pub(crate) approved: Option<Approved>,
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
    /// Sets the servers, in their order. What is known of those whose rules and whose share stay is kept.
    pub(crate) fn set_servers(&mut self, members: Vec<Member>) {
        let mut known: BTreeMap<_, _> =
            std::mem::take(&mut self.servers).into_iter().map(|it| (it.name.clone(), it)).collect();
        let mut new = Vec::new();
        for Member { name, rules, share, approved } in members {
            let stays = |it: &Listed| it.rules == rules && it.share == share;
            let listed = known.remove(&name).filter(stays).unwrap_or_else(|| {
                self.names.values_mut().for_each(|names| names.forget_server(&name));
                self.generations += 1;
                new.push(name.clone());
                Listed::new(name, rules, share, approved, self.generations)
            });
            self.servers.push(listed);
        }
        for name in known.into_keys() {
            self.names.values_mut().for_each(|names| names.forget_server(&name));
        }
        new.iter().for_each(|name| self.give_back(name));
    }

    /// Puts a list of a server in the place of the one that was known. Returns whether it differs, and what a
    /// person should know.
    pub(crate) fn replace(
        &mut self,
        server: &str,
        audience: &Audience,
        kind: ListKind,
        elements: &[Json],
    ) -> (bool, Vec<Notice>) {
        let Some(place) = self.servers.iter().position(|it| &*it.name == server) else {
            return (false, Vec::new());
        };
        let (is_changed, mut notices) = self.servers[place].replace(audience, kind, elements);
        let listed = &self.servers[place];
        if !matches!(kind, ListKind::Prompts | ListKind::Tools) {
            notices.extend(uris::collisions(&self.servers, listed, kind));
            return (is_changed, notices);
        }
        let names = self.names.entry(kind).or_default();
        let items = listed.newest(kind).map(|it| it.items.as_slice()).unwrap_or_default();
        for Item { original, .. } in items {
            let owner = Owner { server: listed.name.clone(), original: original.clone() };
            let wanted = listed.rules.wanted_name(server, original);
            notices.extend(collision(&owner, names.give(&owner, &wanted)));
        }
        names.trim(server, |name: &str| listed.is_shown_to_anybody(kind, name));
        (is_changed, notices)
    }

    /// Forgets what an audience saw: it is gone.
    pub(crate) fn forget(&mut self, audience: &Audience) {
        self.servers.iter_mut().for_each(|it| it.forget(audience));
    }

    /// Returns a number that differs if what the caller sees of this list does.
    pub(crate) fn fingerprint(&self, kind: ListKind, view: &View) -> u64 {
        let mut hasher = DefaultHasher::new();
        for listed in self.visible(view) {
            let Some(list) = listed.seen(kind, view) else { continue };
            let is_seen = |it: &&Item| {
                it.is_listed && view.rights.allows(&listed.name, kind, &it.original, &it.element)
            };
            if view.rights.is_whole(&listed.name) {
                if list.items.iter().any(|it| it.is_listed) {
                    (&listed.name, listed.generation, list.digest).hash(&mut hasher);
                }
            } else if list.items.iter().any(|it| is_seen(&it)) {
                let digest = listed::digest(list.items.iter().filter(is_seen));
                (&listed.name, listed.generation, digest).hash(&mut hasher);
            }
        }
        hasher.finish()
    }

    /// Whether the caller sees a list of this server, be it empty.
    pub(crate) fn knows(&self, server: &str, kind: ListKind, view: &View) -> bool {
        self.listed(server).is_some_and(|it| it.seen(kind, view).is_some())
    }

    /// Whether there is a list for this audience.
    pub(crate) fn has_list(&self, server: &str, audience: &Audience, kind: ListKind) -> bool {
        self.listed(server).is_some_and(|it| it.has_list(audience, kind))
    }

    /// Returns a page of a list. It is marked with the names of those of the servers in `stale` that have entries in
    /// it: these are what was last known. The entries stay as they were, because hosts compare definitions with
    /// those that a person has seen.
    pub(crate) fn page(
        &self,
        kind: ListKind,
        cursor: Option<&str>,
        view: &View,
        stale: &BTreeSet<Arc<str>>,
    ) -> Result<Json, BadCursor> {
        let start = match cursor {
            Some(text) => Some(self.place(&Cursor::read(text).ok_or(BadCursor)?, view)?),
            None => None,
        };
        let readable = self.readable(view);
        let mut rest = self.items(kind, view).filter(|(place, _, item)| {
            let here = (*place, item.original.as_str());
            start.as_ref().is_none_or(|(at, name)| here > (*at, name.as_str()))
        });
        let (mut page, mut bytes, mut last) = (Vec::new(), 0, None);
        let mut last_known = BTreeSet::new();
        for (_, listed, item) in rest.by_ref() {
            let name = self.name_of(kind, &readable, listed, &item.original, view);
            let element = rendered(kind, item, &name);
            last_known.extend(stale.get(&listed.name));
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
        let mark = (!last_known.is_empty()).then(|| {
            let servers = Json::of(&last_known).expect("names are JSON");
            let mark = [(reserved::LAST_KNOWN.to_owned(), servers)];
            ("_meta".to_owned(), Json::empty_object().with_members(mark))
        });
        Ok(result.with_members(next.into_iter().chain(mark)))
    }

    /// Returns where the name of a tool or prompt leads. A server that is alone and whose list was never read
    /// gets every name that its rules do not forbid: it says itself what there is.
    pub(crate) fn route(&self, kind: ListKind, name: &str, view: &View) -> Option<Route> {
        if let Scope::One(server) = &view.scope
            && !self.knows(server, kind, view)
        {
            let listed = self.listed(server)?;
            let original = listed.rules.original_alone(name)?;
            let is_passed = listed.may_call_unread(kind, original, view);
            return is_passed
                .then(|| Route { server: server.clone(), original: original.to_owned() });
        }
        let owner = match &view.scope {
            Scope::All => self.names.get(&kind)?.owner(name)?,
            Scope::One(server) => self.listed(server)?.alone.get(&kind)?.owner(name)?,
        };
        let listed = self.visible(view).find(|it| it.name == owner.server)?;
        let is_there = listed.may_call(kind, &owner.original, view);
        is_there.then(|| Route { server: owner.server.clone(), original: owner.original.clone() })
    }

    /// Returns where a URI leads: to the server that it names, that lists it, or whose template it fits.
    pub(crate) fn route_uri(&self, uri: &str, view: &View) -> Option<Route> {
        let readable = self.readable(view);
        let (listed, original) = match (&view.scope, &*readable) {
            (Scope::One(_), [only]) => (*only, uri),
            (Scope::One(_), _) => return None,
            (Scope::All, all) => uris::owner(all, uri, view)?,
        };
        Some(Route { server: listed.name.clone(), original: original.to_owned() })
    }

    /// Returns a URI of a server as the caller sees it.
    pub(crate) fn shown_uri(&self, server: &str, uri: &str, view: &View) -> String {
        uris::shown(&self.readable(view), ListKind::Resources, server, uri, view)
    }

    /// Sets which definitions of a server's tools are approved: with `None` those that it has now, or the
    /// next that are seen. Returns what a person should know.
    pub(crate) fn set_approved(&mut self, server: &str, approved: Option<Approved>) -> Vec<Notice> {
        let Some(listed) = self.servers.iter_mut().find(|it| &*it.name == server) else {
            return Vec::new();
        };
        let mut notices = Vec::new();
        for (audience, elements) in listed.set_approved(approved) {
            notices.extend(self.replace(server, &audience, ListKind::Tools, &elements).1);
        }
        notices
    }

    fn listed(&self, server: &str) -> Option<&Listed> {
        self.servers.iter().find(|it| &*it.name == server)
    }

    fn visible<'a>(&'a self, view: &'a View) -> impl Iterator<Item = &'a Listed> {
        self.servers.iter().filter(|it| view.sees(&it.name))
    }

    /// Returns the servers whose resources the caller may read.
    fn readable<'a>(&'a self, view: &'a View) -> Vec<&'a Listed> {
        self.visible(view).filter(|it| view.rights.reads_all(&it.name)).collect()
    }

    fn place(&self, cursor: &Cursor, view: &View) -> Result<(usize, String), BadCursor> {
        let is_it = |it: &Listed| *it.name == *cursor.server && view.sees(&it.name);
        let place = self.servers.iter().position(is_it);
        Ok((place.ok_or(BadCursor)?, cursor.original.clone()))
    }

    /// Returns the elements that the caller sees.
    fn items<'a>(
        &'a self,
        kind: ListKind,
        view: &'a View,
    ) -> impl Iterator<Item = (usize, &'a Listed, &'a Item)> {
        let seen = self.servers.iter().enumerate().filter(|(_, it)| view.sees(&it.name));
        let items = seen.flat_map(move |(place, listed)| {
            let list = listed.seen(kind, view).map(|it| it.items.as_slice()).unwrap_or_default();
            list.iter().map(move |item| (place, listed, item))
        });
        items.filter(move |(_, listed, item)| {
            item.is_listed && view.rights.allows(&listed.name, kind, &item.original, &item.element)
        })
    }

    fn name_of(
        &self,
        kind: ListKind,
        readable: &[&Listed],
        listed: &Listed,
        original: &str,
        view: &View,
    ) -> String {
        if !matches!(kind, ListKind::Prompts | ListKind::Tools) {
            return uris::shown(readable, kind, &listed.name, original, view);
        }
        let owner = Owner { server: listed.name.clone(), original: original.to_owned() };
        let names = match view.scope {
            Scope::All => self.names.get(&kind),
            Scope::One(_) => listed.alone.get(&kind),
        };
        names.and_then(|names| names.name(&owner)).unwrap_or(original).to_owned()
    }
}

/// Returns an element under the name that callers see.
fn rendered(kind: ListKind, item: &Item, name: &str) -> Json {
    if name == item.original {
        return item.element.clone();
    }
    splice::with_member(&item.element, key(kind), &splice::text(name))
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

/// Some hosts read only the first page, so it is large.
const MOST_ELEMENTS: usize = 1000;
const MOST_BYTES: usize = 4 << 20;
