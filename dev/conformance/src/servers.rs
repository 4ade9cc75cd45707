//! A server asked twice by the suite, directly and through our gateway, and compared check by check.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result};

use crate::harness::{Harness, Installed};
use crate::verdict::{Check, Status};

/// What is compared.
pub(crate) struct ServerOrder {
    /// The URL of the server.
    pub(crate) direct: String,
    /// The URL of the gateway before it.
    pub(crate) through: String,
    pub(crate) revision: String,
}

/// Asks both, and returns whether nothing is worse through the gateway.
pub(crate) async fn run(order: ServerOrder) -> Result<bool> {
    let harness = match Harness::install().await? {
        Installed::Ready(harness) => harness,
        Installed::Skipped(why) => {
            println!("conformance: skipped: {why}");
            return Ok(true);
        }
    };
    let revision = &order.revision;
    let direct = read(&harness.ask_server(&order.direct, revision, "direct").await?)?;
    let through = read(&harness.ask_server(&order.through, revision, "through").await?)?;
    anyhow::ensure!(!direct.is_empty(), "the suite made no checks of the server");
    let worse = worse(&direct, &through);
    for line in &worse {
        println!("worse: {line}");
    }
    for line in better(&direct, &through) {
        println!("better: {line}");
    }
    let passed = |checks: &Checks| checks.values().filter(|it| **it == Status::Success).count();
    println!(
        "{revision}: {} checks; directly {} succeed, through the gateway {}; {} worse",
        direct.len(),
        passed(&direct),
        passed(&through),
        worse.len()
    );
    Ok(worse.is_empty())
}

/// The worst status of each check, by scenario and id.
type Checks = BTreeMap<(String, String), Status>;

/// Reads what the suite wrote: a folder for each scenario.
fn read(folder: &Path) -> Result<Checks> {
    let mut checks = Checks::new();
    for entry in std::fs::read_dir(folder)?.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let Ok(text) = std::fs::read_to_string(entry.path().join("checks.json")) else { continue };
        let read: Vec<Check> = serde_json::from_str(&text).with_context(|| name.clone())?;
        for check in read {
            let place = checks.entry((scenario(&name).to_owned(), check.id));
            let worst = place.or_insert(check.status);
            if rank(check.status) > rank(*worst) {
                *worst = check.status;
            }
        }
    }
    Ok(checks)
}

/// Returns the scenario of a folder: `server-NAME-TIME`.
fn scenario(folder: &str) -> &str {
    let name = folder.strip_prefix("server-").unwrap_or(folder);
    // A time is `2026-11-18T01-39-45-515Z`.
    name.len().checked_sub(TIME.len()).and_then(|end| name.get(..end)).unwrap_or(name)
}

fn worse(direct: &Checks, through: &Checks) -> Vec<String> {
    let is_worse = |(key, status): &(&(String, String), &Status)| {
        let there = through.get(*key).copied();
        there.map_or(MISSING, rank) > rank(**status) && !is_exempt(key, there)
    };
    let told = |(key, status): (&(String, String), &Status)| {
        format!("{} {}: {status:?} became {:?}", key.0, key.1, through.get(key))
    };
    direct.iter().filter(is_worse).map(told).collect()
}

fn better(direct: &Checks, through: &Checks) -> Vec<String> {
    let is_better = |(key, status): &(&(String, String), &Status)| {
        through.get(*key).is_some_and(|it| rank(*it) < rank(**status))
    };
    let told = |((scenario, id), _): (&(String, String), &Status)| format!("{scenario} {id}");
    direct.iter().filter(is_better).map(told).collect()
}

/// Whether the suite only notes that it found nothing to check, because the gateway does it another way. A server
/// that cuts its stream on purpose is resumed by the gateway, so that the caller's stream is not cut; and an answer
/// that comes at once needs no stream.
fn is_exempt((_, id): &(String, String), status: Option<Status>) -> bool {
    let may_be_noted =
        ["server-sse-disconnect-resume", "server-sse-streams-functional"].contains(&id.as_str());
    may_be_noted && status == Some(Status::Info)
}

/// The worse, the higher.
const fn rank(status: Status) -> u8 {
    match status {
        Status::Success => 0,
        Status::Info | Status::Skipped => 1,
        Status::Warning => 2,
        Status::Failure => 3,
    }
}

const MISSING: u8 = 4;
const TIME: &str = "-2026-11-18T01-39-45-515Z";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_check_that_fails_warns_or_is_missing_is_worse_and_one_that_succeeds_is_not() {
        let direct =
            checks(&[("a", Status::Success), ("b", Status::Success), ("c", Status::Failure)]);
        let same =
            checks(&[("a", Status::Success), ("b", Status::Success), ("c", Status::Success)]);
        let bad = checks(&[("a", Status::Warning), ("c", Status::Failure)]);

        assert_eq!(worse(&direct, &same), Vec::<String>::new());
        assert_eq!(better(&direct, &same), ["s c"]);
        assert_eq!(worse(&direct, &bad).len(), 2);
    }

    #[test]
    fn a_note_that_nothing_was_found_to_check_is_not_worse_where_the_gateway_does_it_another_way() {
        for id in ["server-sse-disconnect-resume", "server-sse-streams-functional"] {
            let one = |status| checks(&[(id, status)]);

            assert!(worse(&one(Status::Success), &one(Status::Info)).is_empty());
            assert_eq!(worse(&one(Status::Success), &one(Status::Failure)).len(), 1);
        }
        let other = |status| checks(&[("another", status)]);
        assert_eq!(worse(&other(Status::Success), &other(Status::Info)).len(), 1);
    }

    #[test]
    fn a_folder_names_its_scenario() {
        assert_eq!(scenario("server-tools-list-2026-11-18T01-39-45-515Z"), "tools-list");
        assert_eq!(scenario("x"), "x");
    }

    fn checks(all: &[(&str, Status)]) -> Checks {
        all.iter().map(|(id, it)| (("s".to_owned(), (*id).to_owned()), *it)).collect()
    }
}
