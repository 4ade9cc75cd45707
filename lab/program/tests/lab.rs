//! The commands of the lab as a person runs them: the built binary, real sockets, real processes.

#![cfg(test)]

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

#[test]
fn list_names_every_scenario_and_show_tells_what_one_is_about() {
    let (listed, json) = (lab(&["list"]), lab(&["list", "--json"]));
    let (shown, file) = (lab(&["show", "a1"]), lab(&["show", "A1", "--toml"]));
    let script = lab(&["show", "A1", "--script"]);

    let all: Vec<Value> = serde_json::from_slice(&json.stdout).unwrap();
    assert!(all.len() >= 50, "{}", all.len());
    for scenario in &all {
        let id = scenario["id"].as_str().unwrap();
        assert!(out(&listed).contains(&format!("   {id:<4} ")), "{id}");
    }
    assert!(out(&shown).contains("It must hold that"), "{}", out(&shown));
    assert!(out(&file).contains("id = \"A1\""));
    let steps: Vec<Value> = serde_json::from_slice(&script.stdout).unwrap();
    assert_eq!(steps[0]["op"], "initialize");
}

#[test]
fn a_client_that_is_not_there_is_played_nothing() {
    let run = lab(&["run", "--only", "C6", "--client", "no-such-client --fast"]);

    assert_eq!(run.status.code(), Some(2), "{run:?}");
    let told = String::from_utf8_lossy(&run.stderr);
    assert!(told.contains("there is no program for `no-such-client --fast`"), "{told}");
    assert!(!out(&run).contains("C6"), "{run:?}");
}

#[test]
fn our_own_client_is_the_default_and_what_was_seen_is_written() {
    let scratch = Scratch::new();
    let [json, junit, html] = ["json", "junit", "html"].map(|kind| scratch.path(kind));
    let [j, u, h] = [&json, &junit, &html].map(|path| path.to_str().unwrap());

    let run = lab(&["run", "--only", "C6,G2", "--json", j, "--junit", u, "--html", h]);

    assert_eq!(run.status.code(), Some(0), "{run:?}");
    assert!(out(&run).contains("pass  C6 "), "{}", out(&run));
    assert!(out(&run).contains("ridethrough: 2 pass, 0 soft, 0 fail"), "{}", out(&run));
    assert!(!out(&run).contains('\x1b'));
    let report: Value = serde_json::from_slice(&fs::read(json).unwrap()).unwrap();
    let card = &report["clients"][0];
    let (junit, html) = (fs::read_to_string(junit).unwrap(), fs::read_to_string(html).unwrap());
    assert!(junit.starts_with("<?xml") && junit.contains("C6"), "{junit}");
    assert!(html.contains("<svg") && html.contains("G2"));
    assert_eq!(card["scores"][0]["id"], "C6");
    assert!(card["scores"][0]["journal"]["requests"].as_array().unwrap().len() > 10);
}

#[test]
fn clients_log_in_by_the_browser_of_the_lab_and_a_bridge_is_not_asked_to() {
    let this = env!("CARGO_BIN_EXE_ridethrough-lab");
    let forgetful = format!("'{this}' wrong forgets-login");

    let ours = lab(&["run", "--only", "L1,L2", "--strict"]);
    let theirs = lab(&["run", "--only", "L2", "--client", &forgetful]);
    let bridge = lab(&["run", "--only", "C6,L1", "--client", &forgetful, "--bridge"]);

    assert_eq!(ours.status.code(), Some(0), "{ours:?}");
    assert!(out(&ours).contains("ridethrough: 2 pass"), "{}", out(&ours));
    assert_eq!(theirs.status.code(), Some(1), "{theirs:?}");
    assert!(out(&theirs).contains("seen: 2 logins, not 1"), "{}", out(&theirs));
    assert!(out(&bridge).contains("C6") && !out(&bridge).contains("L1"), "{}", out(&bridge));
    assert!(String::from_utf8_lossy(&bridge.stderr).contains("1 scenarios are about logins"));
}

#[test]
fn an_unknown_scenario_and_a_file_that_is_none_are_wrong_usage() {
    let scratch = Scratch::new();
    let file = scratch.write("mine.toml", "id = \"A1\"\n");

    for args in [&["run", "--only", "Q9"][..], &["show", "Q9"], &["serve", "--only", "A1,Q9"]] {
        let run = lab(args);

        assert_eq!(run.status.code(), Some(2), "{args:?}");
        assert!(err(&run).contains("no scenario `Q9`"), "{}", err(&run));
        assert!(err(&run).contains("hint: `ridethrough-lab list`"), "{}", err(&run));
    }
    let run = lab(&["run", "--scenarios", file.to_str().unwrap()]);
    assert_eq!(run.status.code(), Some(2));
    assert!(
        err(&run).contains("mine.toml") && err(&run).contains("missing field"),
        "{}",
        err(&run)
    );
    let run = lab(&["run", "--only", "C6", "--client", "a 'b"]);
    assert_eq!(run.status.code(), Some(2));
    let run = lab(&["run", "--only", "C6", "--json", "/nowhere/at/all.json"]);
    assert_eq!(run.status.code(), Some(2));
    assert!(err(&run).contains("cannot be written"), "{}", err(&run));
}

#[test]
fn scenarios_of_ones_own_are_played_in_place_of_ours() {
    let scratch = Scratch::new();
    let ours = out(&lab(&["show", "C6", "--toml"]));
    let file = scratch.write("mine.toml", &ours.replace("id = \"C6\"", "id = \"C99\""));

    let run = lab(&["run", "--scenarios", file.to_str().unwrap()]);

    assert_eq!(run.status.code(), Some(0), "{run:?}");
    assert!(out(&run).contains("pass  C99"), "{}", out(&run));
}

#[test]
fn a_client_that_prints_garbage_or_fails_is_told_and_the_run_goes_on() {
    let scratch = Scratch::new();
    let garbage = scratch.write("garbage.sh", "echo 'hello there'\nexit 3\n");
    let garbage = format!("sh {}", garbage.display());

    let run = lab(&["run", "--only", "C6,G2", "--client", &garbage, "--name", "theirs"]);

    assert_eq!(run.status.code(), Some(1), "{run:?}");
    assert!(out(&run).contains("hello there"), "{}", out(&run));
    assert!(out(&run).contains("theirs: 0 pass, 0 soft, 2 fail"), "{}", out(&run));
}

#[test]
fn a_client_that_hangs_is_stopped_with_all_that_it_started() {
    let scratch = Scratch::new();
    let ids = scratch.path("ids");
    // There is one child in its group, one that left it, and the client itself.
    let text = format!(
        "sleep 600 & echo $! >> {0}\nsetsid sleep 600 & echo $! >> {0}\necho $$ >> {0}\nwait\n",
        ids.display()
    );
    let client = format!("sh {}", scratch.write("hang.sh", &text).display());
    let mine = out(&lab(&["show", "C6", "--toml"]));
    let mine: String =
        mine.lines().filter(|line| !line.starts_with("limit_s")).collect::<Vec<_>>().join("\n");
    let mine =
        scratch.write("mine.toml", &mine.replacen("client = ", "limit_s = 1.5\nclient = ", 1));

    let run = lab(&["run", "--scenarios", mine.to_str().unwrap(), "--client", &client]);

    assert_eq!(run.status.code(), Some(1), "{run:?}");
    assert!(out(&run).contains("it was stopped after 1.5 s"), "{}", out(&run));
    assert_all_gone(&ids, 3);
}

#[test]
fn an_interrupt_ends_the_run_and_leaves_no_process_behind() {
    let scratch = Scratch::new();
    let ids = scratch.path("ids");
    let text = format!("sleep 600 & echo $! >> {0}\necho $$ >> {0}\nwait\n", ids.display());
    let client = format!("sh {}", scratch.write("hang.sh", &text).display());
    let mut command = command(&["run", "--only", "C6", "--client", &client]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    until("the client runs", || fs::read_to_string(&ids).is_ok_and(|it| it.lines().count() >= 2));

    let killed = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    let run = child.wait_with_output().unwrap();

    assert!(killed.success());
    assert_eq!(run.status.code(), Some(130), "{run:?}");
    assert!(err(&run).contains("stopped: "), "{}", err(&run));
    assert_all_gone(&ids, 2);
}

#[test]
fn serve_gives_every_scenario_a_url_a_log_and_a_fresh_start() {
    let mut command = command(&["serve", "--only", "C6,I4"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    let mut next = || lines.next().unwrap().split_whitespace().nth(1).unwrap().to_owned();
    let (log, _c6, i4) = (next(), next(), next());
    let scratch = Scratch::new();
    let script = scratch.write("script.json", &out(&lab(&["show", "I4", "--script"])));

    let before = drive(&i4, &script);
    let seen = get(&format!("{log}/i4"));
    let again = drive(&i4, &script);
    let reset = ask("POST", &log.replace("/log", "/reset/I4"));
    let after = drive(&i4, &script);
    let all = get(&log);
    let unknown = ask("GET", &format!("{log}/Q9"));
    child.kill().unwrap();
    child.wait().unwrap();

    assert!(seen["requests"].as_array().unwrap().len() >= 3, "{seen}");
    assert_eq!(before, after, "a reset begins the scenario anew");
    assert_ne!(before, again, "what happens once has happened");
    assert!(reset.starts_with("HTTP/1.1 200"), "{reset}");
    assert!(all["I4"]["requests"].is_array() && all["C6"]["requests"].is_array(), "{all}");
    assert!(unknown.starts_with("HTTP/1.1 404"), "{unknown}");
}

/// Returns how each step of a script ended.
fn drive(url: &str, script: &std::path::Path) -> Vec<bool> {
    let driven = lab(&["drive", url, script.to_str().unwrap()]);
    let lines = out(&driven);
    let lines = lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    lines.map(|line| line["ok"].as_bool().unwrap()).collect()
}

fn get(url: &str) -> Value {
    let answer = ask("GET", url);
    let (_, body) = answer.split_once("\r\n\r\n").unwrap();
    serde_json::from_str(body).unwrap()
}

fn ask(method: &str, url: &str) -> String {
    use std::io::{Read, Write};
    let (authority, path) = url.trim_start_matches("http://").split_once('/').unwrap();
    let mut socket = std::net::TcpStream::connect(authority).unwrap();
    let head =
        format!("{method} /{path} HTTP/1.1\r\nhost: {authority}\r\nconnection: close\r\n\r\n");
    socket.write_all(head.as_bytes()).unwrap();
    let mut answer = String::new();
    socket.read_to_string(&mut answer).unwrap();
    answer
}

fn lab(args: &[&str]) -> Output {
    command(args).output().unwrap()
}

fn command(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ridethrough-lab"));
    command.args(args).stdin(Stdio::null());
    command
}

fn out(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn err(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Waits until no process of these is left; a zombie that was not reaped yet counts as gone.
fn assert_all_gone(ids: &std::path::Path, count: usize) {
    let ids = fs::read_to_string(ids).unwrap();
    // The client is started once to measure its start, and once to be played.
    assert!(ids.lines().count() >= count, "{ids}");
    for id in ids.lines() {
        until(&format!("process {id} is gone"), || {
            let stat = Command::new("ps").args(["-o", "stat=", "-p", id]).output().unwrap();
            let stat = out(&stat);
            stat.trim().is_empty() || stat.trim().starts_with('Z')
        });
    }
}

fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let began = Instant::now();
    while !holds() {
        assert!(began.elapsed() < Duration::from_secs(20), "not within 20 s: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// A folder of a test, removed with it.
struct Scratch(PathBuf);

impl Scratch {
    fn new() -> Self {
        use std::sync::atomic::{AtomicU64, Ordering};
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("ridethrough-lab-test-{}-{number}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        fs::create_dir_all(&folder).unwrap();
        Self(folder)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        fs::write(&path, text).unwrap();
        path
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
