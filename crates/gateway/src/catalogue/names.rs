//! Names that callers see, and whose they are.
//!
//! A name is given once: its first owner keeps it, also while the server does not list it. Otherwise a call by a
//! name that a caller remembers could reach another server. A name that another wanted, too, is remembered from
//! one process to the next.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::sync::Arc;

use sha2::{Digest, Sha256};

/// An element of a server's list, by the name that the server gives it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Owner {
    pub(crate) server: Arc<str>,
    pub(crate) original: String,
}

/// All names of one kind.
#[derive(Debug, Default)]
pub(crate) struct Names {
    owners: BTreeMap<String, Owner>,
    names: BTreeMap<Owner, String>,
    /// Names that others wanted, too.
    contested: BTreeSet<String>,
}

/// A name that was given.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Given {
    /// The wanted name was another's, and a hash was added.
    Hashed {
        /// Who has the wanted name.
        first: Owner,
    },
    /// The wanted name, cut if it was too long; or the one that was given before.
    Wanted,
}

impl Names {
    /// Gives the owner a name: the one it has, the wanted one, or one with a hash. It has 64 characters at
    /// most.
    pub(crate) fn give(&mut self, owner: &Owner, wanted: &str) -> (String, Given) {
        if let Some(name) = self.names.get(owner) {
            return (name.clone(), Given::Wanted);
        }
        let short = shortened(wanted, owner);
        let Some(first) = self.owners.get(&short).cloned() else {
            self.keep(owner, &short);
            return (short, Given::Wanted);
        };
        // The hash covers the server, so two owners have one hash once in four billion pairs. They then get
        // another.
        self.contested.insert(short);
        let name = (0_u32..)
            .map(|round| with_hash(wanted, owner, round))
            .find(|name| !self.owners.contains_key(name))
            .expect("there are more hashes than names");
        self.keep(owner, &name);
        (name, Given::Hashed { first })
    }

    /// Gives an owner the contested name that it had, if it still wants that one and it is free.
    pub(crate) fn give_back(&mut self, owner: &Owner, wanted: &str, name: &str) {
        let is_free = !self.owners.contains_key(name) && !self.names.contains_key(owner);
        if is_free && shortened(wanted, owner) == name {
            self.keep(owner, name);
            self.contested.insert(name.to_owned());
        }
    }

    /// Returns the names that others wanted, too, each with its owner.
    pub(crate) fn contested(&self) -> impl Iterator<Item = (&str, &Owner)> {
        self.contested.iter().filter_map(|name| Some((name.as_str(), self.owners.get(name)?)))
    }

    /// Returns whose name this is.
    pub(crate) fn owner(&self, name: &str) -> Option<&Owner> {
        self.owners.get(name)
    }

    /// Returns the name that this owner was given.
    pub(crate) fn name(&self, owner: &Owner) -> Option<&str> {
        self.names.get(owner).map(String::as_str)
    }

    /// Forgets the names of a server that it does not list, if there are so many that its lists seem to have
    /// no end.
    pub(crate) fn trim(&mut self, server: &str, is_listed: impl Fn(&str) -> bool) {
        if self.names.keys().filter(|owner| &*owner.server == server).count() <= MOST {
            return;
        }
        self.forget(|owner| &*owner.server == server && !is_listed(&owner.original));
    }

    /// Forgets the names of a server that is gone, or whose rules have changed.
    pub(crate) fn forget_server(&mut self, server: &str) {
        self.forget(|owner| &*owner.server == server);
    }

    fn forget(&mut self, is_gone: impl Fn(&Owner) -> bool) {
        self.names.retain(|owner, _| !is_gone(owner));
        self.owners.retain(|_, owner| !is_gone(owner));
        self.contested.retain(|name| self.owners.contains_key(name));
    }

    fn keep(&mut self, owner: &Owner, name: &str) {
        self.owners.insert(name.to_owned(), owner.clone());
        self.names.insert(owner.clone(), name.to_owned());
    }
}

/// Returns a server's name in the letters that every host takes.
pub(crate) fn as_prefix(server: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_');
    server.chars().map(|letter| if is_plain(letter) { letter } else { '_' }).collect()
}

/// Cuts a name that is too long. What was cut off is in a hash, so the name is the same after a restart.
fn shortened(wanted: &str, owner: &Owner) -> String {
    if wanted.chars().count() <= LONGEST { wanted.to_owned() } else { with_hash(wanted, owner, 0) }
}

fn with_hash(wanted: &str, owner: &Owner, round: u32) -> String {
    let mut hash = Sha256::new();
    // The length keeps `ab`+`c` apart from `a`+`bc`.
    hash.update(owner.server.len().to_be_bytes());
    hash.update(owner.server.as_bytes());
    hash.update(owner.original.as_bytes());
    hash.update(round.to_be_bytes());
    let mut name: String = wanted.chars().take(LONGEST - 1 - 2 * HASH).collect();
    name.push('_');
    for byte in &hash.finalize()[..HASH] {
        write!(name, "{byte:02x}").expect("a string grows");
    }
    name
}

/// Hosts refuse tools with longer names.
pub(crate) const LONGEST: usize = 64;
/// The bytes of a hash in a name.
const HASH: usize = 4;
/// As many names of one server as may be remembered, twice what it may list.
const MOST: usize = 20_000;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_first_owner_keeps_a_name_and_the_second_is_told_and_gets_a_hash() {
        let mut names = Names::default();
        let (first, second) = (owner("a", "b_c"), owner("a_b", "c"));

        assert_eq!(names.give(&first, "a_b_c"), ("a_b_c".to_owned(), Given::Wanted));
        let (name, given) = names.give(&second, "a_b_c");

        assert_eq!(given, Given::Hashed { first: first.clone() });
        assert!(name.starts_with("a_b_c_") && name.len() == 14, "{name}");
        assert_eq!(names.owner("a_b_c"), Some(&first));
        assert_eq!(names.owner(&name), Some(&second));
        assert_eq!(names.give(&second, "a_b_c").0, name);
    }

    #[test]
    fn a_long_name_is_cut_and_what_was_cut_off_still_tells_it_apart() {
        let mut names = Names::default();
        let (one, other) = ("x".repeat(80) + "1", "x".repeat(80) + "2");

        let first = names.give(&owner("a", &one), &one).0;
        let second = names.give(&owner("a", &other), &other).0;

        assert_eq!((first.len(), second.len()), (64, 64));
        assert_ne!(first, second);
        let mut later = Names::default();
        assert_eq!(later.give(&owner("a", &other), &other).0, second, "after a restart");
    }

    /// A caller that remembers the name must not reach another server by it.
    #[test]
    fn a_name_that_is_not_listed_for_a_while_is_nobody_elses() {
        let mut names = Names::default();
        names.give(&owner("a", "t"), "t");

        names.trim("a", |_| false);

        assert_ne!(names.give(&owner("b", "t"), "t").0, "t");
        names.forget_server("a");
        assert_eq!(names.owner("t"), None);
    }

    #[test]
    fn a_server_that_invents_names_without_end_does_not_fill_the_memory() {
        let mut names = Names::default();
        for number in 0..=MOST {
            let name = number.to_string();
            names.give(&owner("a", &name), &name);
        }

        names.trim("a", |name| name == "7");

        assert_eq!((names.owners.len(), names.names.len()), (1, 1));
        assert!(names.owner("7").is_some());
    }

    proptest! {
        #[test]
        fn no_two_owners_share_a_name_and_every_name_leads_home(
            wanted in proptest::collection::vec(("[ab]{1,2}", "[ab_]{0,70}"), 1..40),
        ) {
            let mut names = Names::default();
            let mut given = BTreeMap::new();
            for (server, tool) in &wanted {
                let owner = owner(server, tool);
                let (name, _) = names.give(&owner, &format!("{server}_{tool}"));
                prop_assert!(name.chars().count() <= LONGEST);
                prop_assert_eq!(names.owner(&name), Some(&owner));
                if let Some(before) = given.insert(owner, name.clone()) {
                    prop_assert_eq!(before, name);
                }
            }
            let distinct: BTreeSet<_> = given.values().collect();
            prop_assert_eq!(distinct.len(), given.len());
        }
    }

    fn owner(server: &str, original: &str) -> Owner {
        Owner { server: server.into(), original: original.to_owned() }
    }
}
