//! `lab compare` as its users see it, without any package manager: the registries decide what can be
//! installed.

#![cfg(test)]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

#[test]
fn a_client_whose_package_manager_is_missing_is_not_run_and_the_rest_is() {
    let folder = Folder::new("missing");

    let output = compare(&folder, &["--clients", "python", "--write", &folder.path("docs")]);

    assert!(output.status.success(), "{}", said(&output.stderr));
    let page = std::fs::read_to_string(folder.path("docs/scorecard.md")).unwrap();
    assert!(page.contains("| **ridethrough** | this project | 0.1.0 | 1 | 0 | 0 |"), "{page}");
    assert!(page.contains("| not run: python3 is missing |"), "{page}");
    assert!(
        page.contains("by `ridethrough-lab compare --clients python --scenarios ... --write docs`"),
        "{page}"
    );
    let file = std::fs::read(folder.path("docs/scorecard.json")).unwrap();
    let file: Value = serde_json::from_slice(&file).unwrap();
    assert_eq!(file["clients"][0]["scenarios"]["A1"]["verdict"], "pass");
    assert_eq!(file["clients"][1]["not_run"], "python3 is missing");
}

#[test]
fn the_table_is_printed_and_nothing_else() {
    let folder = Folder::new("printed");

    let output = compare(&folder, &["--clients", "none"]);

    let table = said(&output.stdout);
    assert!(table.starts_with("# Scorecard\n"), "{table}");
    assert!(table.contains("| A1 | a plain call | pass | pass |"), "{table}");
    assert!(said(&output.stderr).contains("ridethrough 1/1: pass A1"), "{output:?}");
}

#[test]
fn bridges_have_a_table_of_their_own_with_ours_first() {
    let folder = Folder::new("bridges");

    let output = compare(&folder, &["--clients", "mcp-proxy,mcp-remote"]);

    let table = said(&output.stdout);
    let bridges = table.split("| bridge | | version |").nth(1).unwrap();
    let rows: Vec<_> = bridges.lines().skip(2).take(3).collect();
    assert!(rows[0].starts_with("| **bridge** |") && rows[0].contains("| 1 | 0 | 0 |"), "{rows:?}");
    assert!(rows[1].starts_with("| **mcp-remote** |"), "{rows:?}");
    assert!(rows[1].ends_with("not run: npm is missing | | | | |"), "{rows:?}");
    assert!(rows[2].ends_with("not run: python3 is missing | | | | |"), "{rows:?}");
}

#[test]
fn a_client_that_nobody_knows_is_wrong_usage() {
    let folder = Folder::new("unknown");

    let output = compare(&folder, &["--clients", "pithon"]);

    assert_eq!(output.status.code(), Some(2));
    let told = said(&output.stderr);
    assert!(told.contains("there is no client `pithon`") && told.contains("python"), "{told}");
}

/// Runs the command with one scenario, and with nothing on the path.
fn compare(folder: &Folder, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_ridethrough-lab"))
        .args(["compare", "--scenarios", &folder.path("a01.toml")])
        .args(["--dir", &folder.path("clients")])
        .args(arguments)
        .env("PATH", folder.path("docs"))
        .output()
        .unwrap()
}

fn said(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// A folder with a scenario and an empty folder in it, for the time of a test.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let name = format!("ridethrough-compare-{name}-{}", std::process::id());
        let folder = Self(std::env::temp_dir().join(name));
        std::fs::create_dir_all(folder.0.join("docs")).unwrap();
        std::fs::write(folder.0.join("a01.toml"), SCENARIO).unwrap();
        folder
    }

    fn path(&self, name: impl AsRef<Path>) -> String {
        self.0.join(name).to_str().unwrap().to_owned()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // A folder that stays behind does no harm.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

const SCENARIO: &str = r#"
id = "A1"
title = "a plain call"
why = "whatever else is broken, this must work"
control = { mistake = "hangs", breaks = "the call is answered" }
client = [
    { op = "initialize" },
    { op = "call", tool = "echo", args = { msg = "a" } },
    { op = "close" },
]

[[must]]
that = "the call is answered"
step = { number = 1, ok = true, text = "a" }
"#;
