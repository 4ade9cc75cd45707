//! The rule within a folder: its modules do not import each other in a circle.
//!
//! Two modules that need each other are one idea in two files, and neither can be read first; the plan lists
//! those for which that is intended. A module may use items of its own folder's `mod.rs`, because the folder
//! is one idea. A name that is re-exported counts as the module that it comes from.

use std::collections::{BTreeMap, BTreeSet};

use crate::breach::Breach;
use crate::import::Import;
use crate::source::{Module, Source, modules};

/// Finds the circles among the modules of one crate, except those that the plan lists as one idea.
pub fn check(crate_name: &str, together: &[Vec<String>], sources: &[Source]) -> Vec<Breach> {
    let modules = modules(sources);
    let mut folders = Tree::new(&modules).folders();
    let mut breaches = Vec::new();
    for group in together {
        let (folder, names) = split(group);
        let graph = folders.iter_mut().find(|(path, _)| path.join("::") == folder);
        if !graph.is_some_and(|(_, graph)| graph.join(&names)) {
            let what = format!("`{}` are listed together and go in no circle", group.join("`, `"));
            breaches.push(Breach::of(crate_name, what));
        }
    }
    for (folder, graph) in folders {
        if let Some(circle) = graph.circle() {
            let place = if folder.is_empty() { "src".to_owned() } else { folder.join("::") };
            let what = format!("in `{place}`, {}", circle.join("; "));
            breaches.push(Breach::of(crate_name, what));
        }
    }
    breaches
}

/// Returns the folder of modules that are listed together, and their names in it.
fn split(group: &[String]) -> (&str, BTreeSet<&str>) {
    let parts = || group.iter().map(|path| path.rsplit_once("::").unwrap_or(("", path)));
    (parts().next().map_or("", |(folder, _)| folder), parts().map(|(_, name)| name).collect())
}

/// A crate's modules by their paths.
struct Tree<'a> {
    modules: BTreeMap<&'a [String], &'a Module<'a>>,
}

impl<'a> Tree<'a> {
    fn new(modules: &'a [Module<'a>]) -> Self {
        Self { modules: modules.iter().map(|module| (&*module.path, module)).collect() }
    }

    /// Returns, for each folder, which of its modules imports which other one.
    fn folders(&self) -> BTreeMap<&'a [String], ImportGraph> {
        let mut folders: BTreeMap<_, ImportGraph> = BTreeMap::new();
        for module in self.modules.values() {
            for import in &module.facts.imports {
                let target = self.target(&import.path, MOST_HOPS);
                let shared = shared(&module.path, target);
                let (Some(from), Some(to)) = (module.path.get(shared), target.get(shared)) else {
                    continue;
                };
                let place = format!("`{from}` imports `{to}` ({}:{})", module.file, import.line);
                folders.entry(&module.path[..shared]).or_default().add(from, to, place);
            }
        }
        folders
    }

    /// Returns the module that a path leads to, through as many re-exports as it takes.
    fn target<'b>(&'b self, path: &'b [String], hops: usize) -> &'b [String] {
        let mut depth = path.len();
        while depth > 0 && !self.modules.contains_key(&path[..depth]) {
            depth -= 1;
        }
        let (module, rest) = path.split_at(depth);
        let names = |import: &&Import| import.name.as_ref() == rest.first();
        let re_export = self.modules.get(module).filter(|_| !rest.is_empty() && hops > 0);
        let behind = re_export.and_then(|module| module.facts.imports.iter().find(names));
        match behind {
            Some(import) if import.path != path => self.target(&import.path, hops - 1),
            _ => module,
        }
    }
}

fn shared(one: &[String], other: &[String]) -> usize {
    one.iter().zip(other).take_while(|(one, other)| one == other).count()
}

/// Which module imports which, each with one place where it does.
#[derive(Default)]
struct ImportGraph {
    imports: BTreeMap<String, BTreeMap<String, String>>,
}

impl ImportGraph {
    fn add(&mut self, from: &str, to: &str, place: String) {
        self.imports.entry(from.to_owned()).or_default().entry(to.to_owned()).or_insert(place);
    }

    /// Merges these modules into one. Returns whether each of them is in a circle of the others.
    fn join(&mut self, names: &BTreeSet<&str>) -> bool {
        let inside = |name: &str| names.contains(name);
        let others = |from: &str| {
            let imports = self.imports.get(from).into_iter().flatten();
            imports.map(|(to, _)| to.as_str()).filter(|to| inside(to)).collect::<Vec<_>>()
        };
        let reaches_all = |start: &str| {
            let mut reached = BTreeSet::new();
            let mut next = others(start);
            while let Some(name) = next.pop() {
                if reached.insert(name) {
                    next.extend(others(name));
                }
            }
            reached.len() == names.len()
        };
        let is_one = names.iter().all(|name| reaches_all(name));
        let mut joined = Self::default();
        let all = names.iter().copied().collect::<Vec<_>>().join(" and ");
        for (from, imports) in std::mem::take(&mut self.imports) {
            for (to, place) in imports {
                let of = |name: String| if inside(&name) { all.clone() } else { name };
                let (from, to) = (of(from.clone()), of(to));
                if from != to {
                    joined.add(&from, &to, place);
                }
            }
        }
        *self = joined;
        is_one
    }

    /// Returns the shortest circle, as the places that close it.
    fn circle(&self) -> Option<Vec<&str>> {
        self.imports.keys().filter_map(|start| self.way_back(start)).min_by_key(Vec::len)
    }

    /// Returns the shortest way from a module to itself.
    fn way_back(&self, start: &str) -> Option<Vec<&str>> {
        let mut ways: Vec<(&str, Vec<&str>)> = vec![(start, Vec::new())];
        let mut seen = BTreeSet::new();
        while !ways.is_empty() {
            let mut longer = Vec::new();
            for (at, way) in ways {
                for (next, place) in self.imports.get(at).into_iter().flatten() {
                    let mut way = way.clone();
                    way.push(place);
                    if next == start {
                        return Some(way);
                    }
                    if seen.insert(next) {
                        longer.push((next.as_str(), way));
                    }
                }
            }
            ways = longer;
        }
        None
    }
}

/// The most re-exports that are followed: enough for every re-export of a re-export. It also ends a circle of
/// them.
const MOST_HOPS: usize = 8;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_that_build_on_each_other_are_legal() {
        let breaches = check_tree(&[
            ("lib.rs", "mod low; mod high; pub use high::High;"),
            ("low.rs", ""),
            ("high/mod.rs", "mod one; mod two; use one::One; pub struct High;"),
            ("high/one.rs", "use super::High; use super::two::Two; use crate::low;"),
            ("high/two.rs", "use super::High;"),
        ]);

        assert_eq!(breaches, [""; 0]);
    }

    #[test]
    fn two_modules_that_import_each_other_are_caught() {
        let breaches = check_tree(&[
            ("lib.rs", ""),
            ("one.rs", "//! One.\nuse crate::two::Two;"),
            ("two.rs", "fn f(_: super::one::One) {}"),
        ]);

        let circle =
            "house: in `src`, `one` imports `two` (one.rs:2); `two` imports `one` (two.rs:1)";
        assert_eq!(breaches, [circle]);
    }

    #[test]
    fn a_circle_of_three_is_caught_in_any_folder() {
        let breaches = check_tree(&[
            ("deep/mod.rs", ""),
            ("deep/a.rs", "use super::b::B;"),
            ("deep/b/mod.rs", ""),
            ("deep/b/part.rs", "use crate::deep::c::C;"),
            ("deep/c.rs", "use super::a;"),
        ]);

        assert_eq!(breaches.len(), 1, "{breaches:?}");
        assert!(breaches[0].starts_with("house: in `deep`, "), "{breaches:?}");
        assert!(breaches[0].contains("`b` imports `c` (deep/b/part.rs:1)"), "{breaches:?}");
    }

    #[test]
    fn a_re_exported_name_counts_as_the_module_that_it_comes_from() {
        let breaches = check_tree(&[
            ("lib.rs", "mod one; mod two; pub use two::Two;"),
            ("one.rs", "use crate::Two;"),
            ("two.rs", "use crate::one::One;"),
        ]);

        assert_eq!(breaches.len(), 1, "{breaches:?}");
    }

    #[test]
    fn what_only_tests_import_closes_no_circle() {
        let breaches = check_tree(&[
            ("one.rs", "use crate::two::Two;"),
            ("two.rs", "#[cfg(test)]\nmod tests { use crate::one::One; }"),
        ]);

        assert_eq!(breaches, [""; 0]);
    }

    #[test]
    fn modules_that_are_listed_together_may_import_each_other_and_nobody_else() {
        let files = [
            ("one.rs", "use crate::two::Two;"),
            ("two.rs", "use crate::one::One; use crate::three::Three;"),
            ("three.rs", "use crate::one::One;"),
        ];
        let together = |names: &[&str]| vec![names.iter().map(|it| (*it).to_owned()).collect()];

        assert_eq!(check_with(&together(&["one", "two"]), &files).len(), 1);
        assert_eq!(check_with(&together(&["one", "two", "three"]), &files), [""; 0]);
    }

    #[test]
    fn modules_that_are_listed_together_for_nothing_are_told() {
        let files = [("one.rs", "use crate::two::Two;"), ("two.rs", "")];

        let breaches = check_with(&[vec!["one".to_owned(), "two".to_owned()]], &files);

        assert_eq!(breaches, ["house: `one`, `two` are listed together and go in no circle"]);
    }

    fn check_tree(files: &[(&str, &str)]) -> Vec<String> {
        check_with(&[], files)
    }

    fn check_with(together: &[Vec<String>], files: &[(&str, &str)]) -> Vec<String> {
        let sources: Vec<_> = files
            .iter()
            .map(|(file, text)| Source { file: (*file).to_owned(), text: (*text).to_owned() })
            .collect();
        check("house", together, &sources).iter().map(ToString::to_string).collect()
    }
}
