//! The rules within a crate: every module has a floor, and imports point down.
//!
//! The roots (`lib.rs`, `main.rs`) stand above all floors and may import anything; a name that they
//! re-export counts as the module it comes from, so that `crate::Link` is no way around the plan.

use std::collections::{BTreeMap, BTreeSet};

use crate::breach::Breach;
use crate::import::{Facts, Import, facts};
use crate::plan::Floors;

/// One source file of a crate.
#[derive(Debug)]
pub struct Source {
    /// Its path below `src`, with `/` between the parts.
    pub file: String,
    /// What it says.
    pub text: String,
}

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
        let mut re_exports = BTreeMap::new();
        let mut test_modules = Vec::new();
        let mut files = Vec::new();
        for source in sources {
            let Some(path) = module_path(&source.file) else { continue };
            let mut facts = facts(&path, &source.text);
            test_modules.append(&mut facts.test_modules);
            if path.is_empty() {
                re_exports.extend(facts.imports.into_iter().filter_map(re_export));
            } else {
                files.push((path, source.file.as_str(), facts));
            }
        }
        files.retain(|(path, ..)| !test_modules.iter().any(|test| path.starts_with(test)));
        let rooms = files
            .into_iter()
            .map(|(mut path, file, facts)| Room { file, module: path.swap_remove(0), facts })
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

/// The module in a file as a path from the root: empty for a root, none for a file under `bin`,
/// which is a crate of its own.
fn module_path(file: &str) -> Option<Vec<String>> {
    let mut path: Vec<_> = file.trim_end_matches(".rs").split('/').map(str::to_owned).collect();
    let name = path.last()?;
    if name == "mod" || (path.len() == 1 && (name == "lib" || name == "main")) {
        path.pop();
    }
    (path.first().is_none_or(|first| first != "bin")).then_some(path)
}

fn re_export(import: Import) -> Option<(String, String)> {
    Some((import.name?, import.path.into_iter().next()?))
}

#[cfg(test)]
mod tests;
