use super::*;
use crate::plan::Plan;

#[test]
fn imports_that_point_down_or_sideways_are_legal() {
    let breaches = check_tree(&[
        ("lib.rs", "pub mod low; pub mod beside; mod high; pub use high::High;"),
        ("low.rs", "use crate::beside::B; use std::fmt;"),
        ("beside.rs", "use super::low; use bytes::Bytes;"),
        ("high.rs", "use crate::{low::{self, L}, beside}; use crate::high::own;"),
        ("high/part.rs", "use super::sibling; use crate::low; use super::super::beside;"),
    ]);

    assert_eq!(breaches, [""; 0]);
}

#[test]
fn an_import_that_points_up_is_caught() {
    let breaches = check_tree(&[
        ("low.rs", "//! Low.\nuse crate::high::High;"),
        ("beside.rs", ""),
        ("high.rs", ""),
    ]);

    assert_eq!(breaches, ["house src/low.rs:2: `high` is above `low`; an import must point down"]);
}

#[test]
fn a_file_inside_a_folder_stands_on_the_floor_of_its_top_module() {
    let breaches = check_tree(&[
        ("low/mod.rs", "use super::high;"),
        ("low/deep/part.rs", "fn f() { super::super::super::high::go() }"),
        ("beside.rs", ""),
        ("high.rs", ""),
    ]);

    assert_eq!(
        breaches,
        [
            "house src/low/deep/part.rs:1: `high` is above `low`; an import must point down",
            "house src/low/mod.rs:1: `high` is above `low`; an import must point down",
        ]
    );
}

#[test]
fn a_name_that_the_root_re_exports_counts_as_its_module() {
    let breaches = check_tree(&[
        ("lib.rs", "pub use crate::high::{High, Other as Renamed}; pub use low::Low;"),
        ("low.rs", "use crate::High;\nuse super::Renamed;"),
        ("beside.rs", "use crate::Low;"),
        ("high.rs", ""),
    ]);

    assert_eq!(breaches.len(), 2, "{breaches:?}");
}

#[test]
fn the_root_cannot_be_imported_as_a_whole() {
    let breaches = check_tree(&[("low.rs", "use super::*;"), ("beside.rs", ""), ("high.rs", "")]);

    assert_eq!(
        breaches,
        ["house src/low.rs:1: the whole root is imported; name the module that is meant"]
    );
}

#[test]
fn the_roots_and_other_binaries_may_import_anything() {
    let breaches = check_tree(&[
        ("lib.rs", "use crate::high::High;"),
        ("main.rs", "use crate::*;"),
        ("bin/tool.rs", "use crate::high;"),
        ("low.rs", ""),
        ("beside.rs", ""),
        ("high.rs", ""),
    ]);

    assert_eq!(breaches, [""; 0]);
}

#[test]
fn test_modules_in_their_own_files_may_import_anything_and_need_no_floor() {
    let breaches = check_tree(&[
        ("lib.rs", "#[cfg(test)] mod pretend;"),
        ("pretend.rs", "use crate::high;"),
        ("low.rs", "#[cfg(test)] mod tests;"),
        ("low/tests.rs", "use crate::high;"),
        ("low/tests/deep.rs", "use crate::high;"),
        ("beside.rs", ""),
        ("high.rs", ""),
    ]);

    assert_eq!(breaches, [""; 0]);
}

#[test]
fn a_module_without_a_floor_is_caught() {
    let breaches =
        check_tree(&[("low.rs", ""), ("beside.rs", ""), ("high.rs", ""), ("new.rs", "")]);

    assert_eq!(
        breaches,
        ["house: the module `new` has no floor; put it on the lowest where it can stand"]
    );
}

#[test]
fn a_floor_without_its_module_is_caught() {
    let breaches = check_tree(&[("low.rs", ""), ("beside.rs", "")]);

    assert_eq!(breaches, ["house: the module `high` is in the plan but not in `src`"]);
}

/// Checks a tree of files against two floors: `low` and `beside`, and `high` above them.
fn check_tree(files: &[(&str, &str)]) -> Vec<String> {
    let plan = "crates.house = { may_use = [], floors = [['low', 'beside'], ['high']] }";
    let plan = Plan::parse(plan).expect("the plan of these tests is well-formed");
    let floors = plan.crates["house"].floors.as_ref().expect("the house has floors");
    let sources: Vec<_> = files
        .iter()
        .map(|(file, text)| Source { file: (*file).to_owned(), text: (*text).to_owned() })
        .collect();
    check("house", floors, &sources).iter().map(Breach::to_string).collect()
}
