//! `ridethrough demo` as a person runs it: the built binary, real sockets, real time.

#![cfg(test)]

use std::io::{BufRead, BufReader};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

#[test]
fn every_act_is_played_in_under_a_minute_in_plain_text_and_every_promise_is_kept() {
    let began = Instant::now();

    let output = demo().output().unwrap();

    let said = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert!(began.elapsed() < MINUTE, "{said}");
    for report in REPORTS {
        assert!(said.contains(&format!("({report})")), "{report} is missing: {said}");
    }
    assert_eq!(said.matches("promise held: ").count(), 5, "{said}");
    assert!(!said.contains("promise broken"), "{said}");
    assert!(said.lines().last().unwrap().starts_with("5 of 5 promises held in "), "{said}");
    assert!(!said.contains('\x1b'), "{said}");
    assert!(output.stderr.is_empty());
}

#[test]
fn for_machines_each_line_is_an_object_and_the_last_one_has_the_totals() {
    let output = demo().arg("--json").output().unwrap();

    let said = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(0), "{said}");
    let mut acts: Vec<Value> =
        said.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let totals = acts.pop().unwrap();
    assert_eq!(
        (&totals["acts"], &totals["held"], &totals["broken"]),
        (&5.into(), &5.into(), &0.into())
    );
    let reports: Vec<_> = acts.iter().map(|act| act["report"].as_str().unwrap()).collect();
    assert_eq!(reports, REPORTS);
    for act in &acts {
        assert_eq!(act["held"], true, "{act}");
        assert!(!act["outcome"].as_str().unwrap().is_empty(), "{act}");
        let by = |who: &str| act["events"].as_array().unwrap().iter().any(|it| it["who"] == who);
        assert!(by("client") && by("server") && by("you"), "{act}");
    }
    let cut = &acts[4]["calls"][3];
    assert_eq!((&cut["call"], &cut["may_have_run"]), (&"deploy".into(), &true.into()), "{cut}");
    assert!(output.stderr.is_empty());
}

#[test]
fn a_reader_that_has_seen_enough_is_no_failure() {
    let (mut child, mut stdout) = start();
    let mut first = String::new();
    stdout.read_line(&mut first).unwrap();

    drop(stdout);
    let output = child.wait().unwrap();

    assert!(first.starts_with("MCP connections"), "{first}");
    assert_eq!(output.code(), Some(0));
}

#[test]
fn ctrl_c_ends_it_at_once() {
    let (mut child, mut stdout) = start();
    stdout.read_line(&mut String::new()).unwrap();
    let began = Instant::now();

    let id = child.id().to_string();
    assert!(Command::new("kill").args(["-INT", &id]).status().unwrap().success());
    let status = child.wait().unwrap();

    // The first act alone takes longer than this.
    assert!(began.elapsed() < Duration::from_secs(2));
    assert!(!status.success());
}

#[test]
fn an_unknown_command_is_wrong_usage() {
    let output = Command::new(env!("CARGO_BIN_EXE_ridethrough-lab")).arg("dance").output().unwrap();

    assert_eq!(output.status.code(), Some(2));
    assert!(output.stdout.is_empty());
}

fn demo() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ridethrough-lab"));
    command.arg("demo");
    command
}

fn start() -> (Child, BufReader<ChildStdout>) {
    let mut child = demo().stdout(Stdio::piped()).spawn().unwrap();
    let stdout = BufReader::new(child.stdout.take().unwrap());
    (child, stdout)
}

const MINUTE: Duration = Duration::from_secs(60);
const REPORTS: [&str; 5] =
    ["python-sdk #2393", "go-sdk #1027", "python-sdk #2750", "hermes-agent #13406", "codex #35486"];
