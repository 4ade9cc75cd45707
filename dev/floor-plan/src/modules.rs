//! The rules within a crate: every module has a floor, and imports point down.
//!
//! The roots (`lib.rs`, `main.rs`) are above all floors and may import anything. A name that they re-export
//! counts as the module it comes from, so that `crate::Link` does not bypass the plan.

use std::collections::{BTreeMap, BTreeSet};

use crate::breach::Breach;
use crate::import::{Facts, Import};
use crate::plan::Floors;
use crate::source::{Source, modules};

/// Checks the sources of one crate against its floors.
pub fn check(crate_name: &str, floors: &Floors, sources: &[Source]) -> Vec<Breach> {
    let house = House::read(crate_name, floors, sources);
    let mut breaches = house.misplaced();
    for room in &house.rooms {
        let found = room.facts.imports.iter().filter_map(|import| house.upward(room, import));
        breaches.extend(found);
    }
    breaches.into_iter().collect()
}

/// A crate with its floors and the modules found in it.
struct House<'a> {
    crate_name: &'a str,
    floors: &'a Floors,
    rooms: Vec<Room<'a>>,
    /// The names that a root imports by name, each with the module it comes from.
    re_exports: BTreeMap<String, String>,
}

/// One file that is neither a root nor for tests only.
struct Room<'a> {
    file: &'a str,
    /// The top-level module that it belongs to.
    module: String,
    facts: Facts,
}

impl<'a> House<'a> {
    fn read(crate_name: &'a str, floors: &'a Floors, sources: &'a [Source]) -> Self {
        let (roots, others): (Vec<_>, Vec<_>) =
            modules(sources).into_iter().partition(|module| module.path.is_empty());
        let imports = roots.into_iter().flat_map(|root| root.facts.imports);
        let re_exports = imports.filter_map(re_export).collect();
        let rooms = others
            .into_iter()
            .map(|mut it| Room { file: it.file, module: it.path.swap_remove(0), facts: it.facts })
            .collect();
        Self { crate_name, floors, rooms, re_exports }
    }

    /// Modules without a floor, and places on a floor without their module.
    fn misplaced(&self) -> BTreeSet<Breach> {
        let found: BTreeSet<_> = self.rooms.iter().map(|room| room.module.as_str()).collect();
        let planned: BTreeSet<_> = self.floors.modules().collect();
        let unplanned = found.difference(&planned).map(|module| {
            format!("the module `{module}` has no floor; put it on the lowest where it can stand")
        });
        let missing = planned
            .difference(&found)
            .map(|module| format!("the module `{module}` is in the plan but not in `src`"));
        unplanned.chain(missing).map(|what| Breach::of(self.crate_name, what)).collect()
    }

    fn upward(&self, room: &Room<'_>, import: &Import) -> Option<Breach> {
        let own = self.floors.of(&room.module)?;
        let what = match import.path.first() {
            None => "the whole root is imported; name the module that is meant".to_owned(),
            Some(name) => {
                let target = self.module_behind(name);
                if self.floors.of(target)? <= own {
                    return None;
                }
                format!("`{target}` is above `{}`; an import must point down", room.module)
            }
        };
        Some(Breach::at(self.crate_name, room.file, import.line, what))
    }

    fn module_behind<'b>(&'b self, name: &'b str) -> &'b str {
        if self.floors.of(name).is_some() {
            return name;
        }
        self.re_exports.get(name).map_or(name, String::as_str)
    }
}

fn re_export(import: Import) -> Option<(String, String)> {
    Some((import.name?, import.path.into_iter().next()?))
}

#[cfg(test)]
mod tests;
