//! The index of the contract: every row has a test, every test it names exists, and no test is missing.

use std::collections::{BTreeMap, BTreeSet};

const CONTRACT: &str = include_str!("../../../../docs/design/recovery.md");

/// The tests of this folder, each of which a row must name.
const CONTRACT_TESTS: [&str; 25] = [
    include_str!("breaking.rs"),
    include_str!("closing.rs"),
    include_str!("connecting.rs"),
    include_str!("discovery.rs"),
    include_str!("doubting.rs"),
    include_str!("eras.rs"),
    include_str!("guessing.rs"),
    include_str!("headers.rs"),
    include_str!("last_resort.rs"),
    include_str!("learning.rs"),
    include_str!("listening.rs"),
    include_str!("refused_form.rs"),
    include_str!("owing.rs"),
    include_str!("polling.rs"),
    include_str!("preferring.rs"),
    include_str!("probation.rs"),
    include_str!("proving.rs"),
    include_str!("refusing.rs"),
    include_str!("resuming.rs"),
    include_str!("riding.rs"),
    include_str!("rounds.rs"),
    include_str!("sending.rs"),
    include_str!("sessions.rs"),
    include_str!("silence.rs"),
    include_str!("standing.rs"),
];

/// Other tests that rows may name.
const OTHER_TESTS: [&str; 16] = [
    include_str!("../evidence/main.rs"),
    include_str!("../evidence/sequences.rs"),
    include_str!("../properties/main.rs"),
    include_str!("../../src/answer/post/tests.rs"),
    include_str!("../../src/answer/status.rs"),
    include_str!("../../src/answer/unexecuted.rs"),
    include_str!("../../src/answer/words.rs"),
    include_str!("../../src/backoff.rs"),
    include_str!("../../src/exchange/non_answer.rs"),
    include_str!("../../src/breaker.rs"),
    include_str!("../../src/budget.rs"),
    include_str!("../../src/hints.rs"),
    include_str!("../../src/link/admission/pace.rs"),
    include_str!("../../src/outcome/tests.rs"),
    include_str!("../../src/policy.rs"),
    include_str!("../../src/replay.rs"),
];

#[test]
fn every_row_of_the_contract_has_a_test() {
    let index = index();

    let rows = rows();

    assert!(rows.len() > 40, "the contract was not read: {rows:?}");
    for row in &rows {
        assert!(index.get(row).is_some_and(|tests| !tests.is_empty()), "row {row} has no test");
    }
    for row in index.keys() {
        assert!(rows.contains(row), "the index names a row {row} that the contract does not have");
    }
}

#[test]
fn every_test_that_the_contract_names_exists() {
    let mut known: BTreeSet<&str> = BTreeSet::new();
    for source in CONTRACT_TESTS.iter().chain(&OTHER_TESTS) {
        known.extend(tests_in(source));
    }

    for (row, tests) in index() {
        for test in tests {
            assert!(known.contains(test), "row {row} names `{test}`, which is no test");
        }
    }
}

#[test]
fn every_contract_test_is_named_by_a_row() {
    let named: BTreeSet<&str> = index().into_values().flatten().collect();

    for test in CONTRACT_TESTS.into_iter().flat_map(tests_in) {
        assert!(named.contains(test), "no row names `{test}`");
    }
}

/// One table classifies statuses: a number elsewhere would be a second opinion.
#[test]
#[allow(clippy::disallowed_methods, reason = "the source of the core is read, not by the core")]
fn only_the_table_of_answers_knows_a_status_by_its_number() {
    let source = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut folders = vec![source.clone()];
    let mut strangers = Vec::new();

    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("a folder").map(|it| it.expect("an entry")) {
            let path = entry.path();
            if path == source.join("answer") || path.ends_with("tests.rs") {
                continue;
            }
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let text = std::fs::read_to_string(&path).expect("a source file");
            let code = text.split("#[cfg(test)]").next().unwrap_or_default();
            let is_known =
                |line: &&str| line.contains("StatusCode::") || line.contains(".as_u16()");
            // A status becomes a number where it is printed, and nowhere else.
            let tells = ["outcome.rs", "outcome/kind.rs"];
            let is_telling = |line: &&str| {
                tells.iter().any(|it| path.ends_with(it)) && line.contains(".as_u16()")
            };
            let lines = code.lines().filter(is_known).filter(|line| !is_telling(line));
            strangers.extend(lines.map(|line| format!("{}: {}", path.display(), line.trim())));
        }
    }

    assert_eq!(strangers, [""; 0]);
}

/// Returns the rows of the tables and the numbered rules of the text.
fn rows() -> BTreeSet<&'static str> {
    let (text, _) = CONTRACT.split_once("## Row by row").expect("the index");
    let mut rows = BTreeSet::new();
    for line in text.lines() {
        let cell = line.strip_prefix("| ").and_then(|rest| rest.split(" |").next());
        let rule = line.strip_prefix("**").and_then(|rest| rest.split('.').next());
        rows.extend(cell.into_iter().chain(rule).filter(|name| is_name(name)));
    }
    rows
}

/// Whether a text is the name of a row: `7`, `12s`, `E2`, `L3`, `D1`, `S`; short, and not a heading.
fn is_name(name: &str) -> bool {
    let has_digit = name.starts_with(|first: char| first.is_ascii_digit())
        || (name.starts_with(['D', 'E', 'L'])
            && name[1..].starts_with(|next: char| next.is_ascii_digit()));
    name == "S" || (name.len() <= 3 && has_digit)
}

fn index() -> BTreeMap<&'static str, Vec<&'static str>> {
    let (_, table) = CONTRACT.split_once("## Row by row").expect("the index");
    let mut index = BTreeMap::new();
    for line in table.lines().filter_map(|line| line.strip_prefix("| ")) {
        let Some((row, tests)) = line.split_once(" | ") else { continue };
        if is_name(row) {
            index.insert(row, tests.split('`').skip(1).step_by(2).collect());
        }
    }
    index
}

/// Returns the functions that follow a `#[test]`.
fn tests_in(source: &'static str) -> Vec<&'static str> {
    let after = source.split("#[test]").skip(1);
    let name = |text: &'static str| text.split("fn ").nth(1)?.split('(').next();
    after.filter_map(name).collect()
}
