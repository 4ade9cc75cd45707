//! The rules between crates: which crates may be in whose tree, and which the pure core may never reach.
//!
//! The tree of a crate is everything that a user of it builds: its dependencies and build
//! dependencies, and theirs, for every platform. Development dependencies are left out.

use std::collections::{BTreeMap, VecDeque};

use crate::breach::Breach;
use crate::plan::{CratePlan, PLAN_FILE, Plan};

/// The dependencies of all packages.
#[derive(Debug, Default)]
pub struct Graph {
    /// The crates of this workspace by name.
    pub members: Vec<String>,
    /// Each package with what it depends on, as the lock file spells them: `name`, or
    /// `name version` where the tree has several.
    pub dependencies: BTreeMap<String, Vec<String>>,
}

/// Checks every crate of the workspace against the plan.
pub fn check(plan: &Plan, graph: &Graph) -> Vec<Breach> {
    let mut breaches = Vec::new();
    for name in &graph.members {
        match plan.crates.get(name) {
            Some(crate_plan) => breaches.extend(check_member(name, crate_plan, graph)),
            None => breaches.push(Breach::of(name, format!("the crate is not in `{PLAN_FILE}`"))),
        }
    }
    for name in plan.crates.keys().filter(|name| !graph.members.contains(name)) {
        let what = format!("the crate `{name}` is in the plan but not in the workspace");
        breaches.push(Breach::of(PLAN_FILE, what));
    }
    breaches
}

fn check_member(name: &str, plan: &CratePlan, graph: &Graph) -> Vec<Breach> {
    let mut found = Vec::new();
    for (package, way) in graph.tree(name) {
        let reached = name_of(&package);
        if graph.is_member(reached) {
            if !plan.may_use.iter().any(|used| used == reached) {
                found.push(format!("it may not use `{reached}` ({way})"));
            }
        } else if plan.never_reaches.iter().any(|pattern| matches(pattern, reached)) {
            found.push(format!("`{reached}` may be nowhere in its tree ({way})"));
        }
    }
    if let Some(allowed) = &plan.may_depend_on {
        let outside = graph.direct(name).iter().map(|package| name_of(package));
        let outside = outside.filter(|used| !graph.is_member(used));
        for used in outside.filter(|used| !allowed.iter().any(|name| name == used)) {
            found.push(format!("it may not depend on `{used}`; `may_depend_on` lists what it may"));
        }
    }
    found.into_iter().map(|what| Breach::of(name, what)).collect()
}

impl Graph {
    fn direct(&self, name: &str) -> &[String] {
        self.dependencies.get(name).map_or(&[], Vec::as_slice)
    }

    fn is_member(&self, name: &str) -> bool {
        self.members.iter().any(|member| member == name)
    }

    /// Returns everything below a crate, each with the shortest path to it, `a > b > c`.
    fn tree(&self, name: &str) -> BTreeMap<String, String> {
        let mut ways = BTreeMap::from([(name.to_owned(), name.to_owned())]);
        let mut open = VecDeque::from([name.to_owned()]);
        while let Some(user) = open.pop_front() {
            for used in self.direct(&user) {
                if !ways.contains_key(used) {
                    ways.insert(used.clone(), format!("{} > {used}", ways[&user]));
                    open.push_back(used.clone());
                }
            }
        }
        ways.remove(name);
        ways
    }
}

/// Returns the name in a lock file's `name` or `name version`.
pub fn name_of(package: &str) -> &str {
    package.split(' ').next().unwrap_or(package)
}

fn matches(pattern: &str, name: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(start) => name.starts_with(start),
        None => name == pattern,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_workspace_that_keeps_to_its_plan_passes() {
        let breaches = check_graph(
            &["core", "sim", "check"],
            &[("core", "bytes"), ("sim", "core tokio"), ("bytes", "memchr"), ("check", "toml")],
        );

        assert_eq!(breaches, [""; 0]);
    }

    #[test]
    fn a_crate_that_uses_a_higher_one_is_caught() {
        let breaches = check_graph(&["core", "sim", "check"], &[("core", "sim")]);

        assert!(breaches.contains(&"core: it may not use `sim` (core > sim)".to_owned()));
    }

    #[test]
    fn a_crate_that_is_used_through_another_is_caught() {
        let breaches = check_graph(
            &["core", "sim", "check"],
            &[("sim", "core outside"), ("outside", "check")],
        );

        assert_eq!(breaches, ["sim: it may not use `check` (sim > outside > check)"]);
    }

    #[test]
    fn a_crate_missing_from_the_plan_is_caught_with_its_users() {
        let breaches = check_graph(&["core", "sim", "check", "new"], &[("sim", "new")]);

        assert_eq!(
            breaches,
            [
                "sim: it may not use `new` (sim > new)",
                "new: the crate is not in `dev/floor-plan/floor-plan.toml`",
            ]
        );
    }

    #[test]
    fn a_planned_crate_that_does_not_exist_is_caught() {
        let breaches = check_graph(&["core", "sim"], &[]);

        assert_eq!(
            breaches,
            [
                "dev/floor-plan/floor-plan.toml: the crate `check` is in the plan but not in the workspace"
            ]
        );
    }

    #[test]
    fn a_dependency_outside_the_allow_list_is_caught() {
        let breaches = check_graph(&["core", "sim", "check"], &[("core", "bytes regex")]);

        assert_eq!(
            breaches,
            ["core: it may not depend on `regex`; `may_depend_on` lists what it may"]
        );
    }

    #[test]
    fn a_forbidden_crate_is_caught_however_deep_it_is() {
        let breaches = check_graph(
            &["core", "sim", "check"],
            &[("core", "bytes"), ("bytes", "deep"), ("deep", "tokio futures-core futures")],
        );

        assert_eq!(
            breaches,
            [
                "core: `futures-core` may be nowhere in its tree (core > bytes > deep > futures-core)",
                "core: `tokio` may be nowhere in its tree (core > bytes > deep > tokio)",
            ]
        );
    }

    #[test]
    fn another_version_of_a_package_is_another_package() {
        let breaches = check_graph(
            &["core", "sim", "check"],
            &[("core", "bytes@1"), ("sim", "bytes@2"), ("bytes@2", "tokio@1"), ("bytes@1", "log")],
        );

        assert_eq!(breaches, [""; 0]);
    }

    #[test]
    fn a_forbidden_crate_is_caught_in_any_version() {
        let breaches =
            check_graph(&["core", "sim", "check"], &[("core", "bytes"), ("bytes", "tokio@2")]);

        assert_eq!(breaches, ["core: `tokio` may be nowhere in its tree (core > bytes > tokio 2)"]);
    }

    #[test]
    fn a_circle_of_packages_does_not_stop_the_check() {
        let breaches =
            check_graph(&["core", "sim", "check"], &[("sim", "a"), ("a", "b"), ("b", "a")]);

        assert_eq!(breaches, [""; 0]);
    }

    /// Checks packages given as `user`, `used used`; `a@1` is the package `a 1` of the lock file.
    fn check_graph(members: &[&str], edges: &[(&str, &str)]) -> Vec<String> {
        let plan = "
            [crates.core]
            height = 1
            may_use = []
            may_depend_on = ['bytes']
            never_reaches = ['futures-*', 'tokio']
            [crates.sim]
            height = 2
            may_use = ['core']
            [crates.check]
            may_use = []";
        let plan = Plan::parse(plan).expect("the plan of these tests is well-formed");
        let graph = Graph {
            members: names(members.iter().copied()),
            dependencies: edges
                .iter()
                .map(|(user, used)| (user.replace('@', " "), names(used.split(' '))))
                .collect(),
        };
        check(&plan, &graph).iter().map(Breach::to_string).collect()
    }

    fn names<'a>(words: impl Iterator<Item = &'a str>) -> Vec<String> {
        words.map(|word| word.replace('@', " ")).collect()
    }
}
