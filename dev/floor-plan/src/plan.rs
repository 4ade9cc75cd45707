//! The plan as written in `floor-plan.toml`; the file's head explains the fields.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

use crate::breach::Breach;

/// The whole plan: every crate of the workspace by name.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// The plan of each crate.
    pub crates: BTreeMap<String, CratePlan>,
}

/// What the plan says about one crate.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CratePlan {
    /// Its floor; a crate without a height stands alone.
    pub height: Option<u32>,
    /// The crates of this workspace that may be in its tree.
    pub may_use: Vec<String>,
    /// The only crates from outside that it may name, if that is limited.
    pub may_depend_on: Option<Vec<String>>,
    /// Crates that may be nowhere in its tree; a `*` at the end stands for any ending.
    #[serde(default)]
    pub never_reaches: Vec<String>,
    /// The only files below its `src` that may name a platform.
    #[serde(default)]
    pub platform: Vec<String>,
    /// Its modules, lowest floor first, if their order is fixed.
    pub floors: Option<Floors>,
    /// Modules of one folder, by their paths, that are one idea in several files and may import each other.
    #[serde(default)]
    pub together: Vec<Vec<String>>,
    /// Files below its `src` that take the place of others in some builds, and therefore repeat their names.
    #[serde(default)]
    pub stand_ins: Vec<String>,
    /// Its types that only bring things to others, by their paths.
    #[serde(default)]
    pub routers: BTreeMap<String, Router>,
}

/// What the plan says about a type that only brings things to others.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Router {
    /// How many methods it may have.
    pub most_methods: usize,
    /// The only files below `src` that may import it.
    pub known_to: Vec<String>,
}

impl Plan {
    /// Reads a plan. Fails on bad TOML and on fields it does not know.
    pub fn parse(text: &str) -> Result<Self, toml::de::Error> {
        toml::from_str(text)
    }

    /// Checks the plan against itself: a crate may use only lower ones, and a module is on one floor.
    pub fn check(&self) -> Vec<Breach> {
        let mut breaches = Vec::new();
        for (name, plan) in &self.crates {
            for used in plan.may_use.iter().filter(|used| !self.is_below(used, plan)) {
                let what = format!("`{name}` may use `{used}`, which does not stand below it");
                breaches.push(Breach::of(PLAN_FILE, what));
            }
            for module in plan.floors.iter().flat_map(Floors::repeated) {
                let what = format!("`{name}` lists the module `{module}` twice");
                breaches.push(Breach::of(PLAN_FILE, what));
            }
        }
        breaches
    }

    fn is_below(&self, used: &str, user: &CratePlan) -> bool {
        let used = self.crates.get(used).and_then(|plan| plan.height);
        matches!((used, user.height), (Some(used), Some(user)) if used < user)
    }
}

/// The top-level modules of a crate in their order.
#[derive(Debug, Deserialize)]
#[serde(transparent)]
pub struct Floors(Vec<Vec<String>>);

impl Floors {
    /// Returns the floor of a module, counted from the lowest, if it has one.
    pub fn of(&self, module: &str) -> Option<usize> {
        self.0.iter().position(|floor| floor.iter().any(|name| name == module))
    }

    /// Returns every module, lowest first.
    pub fn modules(&self) -> impl Iterator<Item = &str> {
        self.0.iter().flatten().map(String::as_str)
    }

    fn repeated(&self) -> Vec<&str> {
        let mut seen = BTreeSet::new();
        self.modules().filter(|module| !seen.insert(*module)).collect()
    }
}

/// The file at the root of the workspace that holds the plan.
pub const PLAN_FILE: &str = "dev/floor-plan/floor-plan.toml";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_whose_uses_point_down_is_sound() {
        let breaches = check(
            "crates.low = { height = 1, may_use = [], floors = [['a'], ['b']] }
             crates.high = { height = 2, may_use = ['low'] }",
        );

        assert_eq!(breaches, [""; 0]);
    }

    #[test]
    fn a_plan_may_not_allow_a_use_upwards_or_sideways() {
        let breaches = check(
            "crates.low = { height = 1, may_use = ['high'] }
             crates.high = { height = 2, may_use = ['beside'] }
             crates.beside = { height = 2, may_use = [] }",
        );

        assert_eq!(
            breaches,
            [
                "dev/floor-plan/floor-plan.toml: `high` may use `beside`, which does not stand below it",
                "dev/floor-plan/floor-plan.toml: `low` may use `high`, which does not stand below it",
            ]
        );
    }

    #[test]
    fn nobody_may_use_a_crate_that_stands_alone_or_is_unknown() {
        let breaches = check(
            "crates.alone = { may_use = [] }
             crates.high = { height = 2, may_use = ['alone', 'unknown'] }",
        );

        assert_eq!(breaches.len(), 2, "{breaches:?}");
    }

    #[test]
    fn a_module_stands_on_one_floor_only() {
        let breaches = check("crates.a = { may_use = [], floors = [['x'], ['y', 'x']] }");

        assert_eq!(breaches, ["dev/floor-plan/floor-plan.toml: `a` lists the module `x` twice"]);
    }

    #[test]
    fn a_misspelt_field_is_an_error() {
        assert!(Plan::parse("crates.a = { may_use = [], floor = [] }").is_err());
    }

    fn check(plan: &str) -> Vec<String> {
        let plan = Plan::parse(plan).expect("the plan of a test is well-formed");
        plan.check().iter().map(Breach::to_string).collect()
    }
}
