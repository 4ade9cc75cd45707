//! Whose a name is that two servers want, over a restart.
//!
//! The first owner of a name keeps it. Which server is first depends on which of them answers first, and a later
//! process would find another order: a caller that remembers a name would reach another server by it.

use ridethrough_wire::message::ListKind;

use super::Catalogue;
use super::names::Owner;

/// A name that two servers want, and whose it is.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct OwnedName {
    /// The list that it is in.
    pub kind: ListKind,
    /// The name that callers see.
    pub name: String,
    /// The server that it belongs to.
    pub server: String,
    /// What the server calls it.
    pub original: String,
}

/// Remembers from one process to the next whose the names are that two servers want.
pub trait NameStore: Send + Sync + 'static {
    /// Returns what was kept.
    fn read(&self) -> Vec<OwnedName>;

    /// Keeps these names, in place of what was kept before. It is called once for each new one.
    fn keep(&self, names: &[OwnedName]);
}

impl Catalogue {
    /// Takes over from an earlier process whose names are. It is told before the servers are set.
    pub(crate) fn remember(&mut self, names: Vec<OwnedName>) {
        self.remembered = names;
        self.remembered.truncate(MOST);
    }

    /// Gives a server the names that it had, unless its rules give it others.
    pub(super) fn give_back(&mut self, server: &str) {
        let Some(listed) = self.servers.iter().find(|it| &*it.name == server) else { return };
        for OwnedName { kind, name, original, .. } in
            self.remembered.iter().filter(|it| it.server == server)
        {
            let owner = Owner { server: listed.name.clone(), original: original.clone() };
            let wanted = listed.rules.wanted_name(server, original);
            self.names.entry(*kind).or_default().give_back(&owner, &wanted, name);
        }
    }

    /// Returns the names that two servers want, each with its owner, for the next process. Those of servers
    /// that are not here now stay theirs.
    pub(crate) fn contested(&self) -> Vec<OwnedName> {
        let mut all: Vec<_> = Vec::new();
        for (kind, names) in &self.names {
            all.extend(names.contested().map(|(name, owner)| OwnedName {
                kind: *kind,
                name: name.to_owned(),
                server: owner.server.to_string(),
                original: owner.original.clone(),
            }));
        }
        let is_elsewhere =
            |it: &&OwnedName| self.servers.iter().all(|server| *server.name != it.server);
        let is_taken =
            |it: &OwnedName| all.iter().any(|now| (now.kind, &now.name) == (it.kind, &it.name));
        let absent = self.remembered.iter().filter(is_elsewhere);
        let absent: Vec<_> = absent.filter(|it| !is_taken(it)).cloned().collect();
        all.extend(absent);
        all.sort();
        all.truncate(MOST);
        all
    }
}

/// A server may invent names without end.
const MOST: usize = 10_000;
