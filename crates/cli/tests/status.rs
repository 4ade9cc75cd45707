//! `ridethrough status`, and the sockets of bridges that run, end and are killed.

#![cfg(test)]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use ridethrough_lab::{Mcp, Protocol, Server, Times, When};
use ridethrough_testkit::process::Ran;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::time::{Instant, sleep, timeout};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_a_bridge_that_is_said_and_is_no_failure() {
    let rig = Rig::listen().await;

    let words = rig.status(&[]).await;
    let array = rig.status(&["--json"]).await;

    assert_eq!((words.code, &*words.out), (Some(0), "no bridge and no gateway is running\n"));
    assert_eq!((array.code, &*array.out), (Some(0), "[]\n"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_bridge_tells_how_it_is_and_no_secret() {
    let rig = Rig::listen().await;
    rig.mcp.require_bearer(Some("t0ken"));
    let url = format!("{}?key=s3cret", rig.url);
    let words = [&*url, "--header", "X-Key: s3cret", "--bearer-env", "TOKEN"];
    let mut host = rig.host(&words).await;
    rig.mcp.rule(When::tool("slow"), Times::Once, |ask| async {
        ask.sse().await.gone().await;
    });
    host.ask(1, "tools/call", json!({"name": "slow", "arguments": {"key": "s3cret"}})).await;
    let seen = rig.until(|it| it["inFlight"][0]["tool"] == "slow").await;

    assert_eq!((&seen["state"], &seen["era"]), (&json!("ready"), &json!("legacy")), "{seen}");
    assert_eq!((&seen["pid"], &seen["host"]), (&json!(host.pid()), &json!("host")));
    assert_eq!((&seen["upstream"], &seen["server"]), (&json!(rig.url), &json!("ridethrough-lab")));
    assert!(seen["revision"] == "2025-11-25" && seen["generation"].is_u64(), "{seen}");
    assert_eq!((&seen["breaker"], &seen["inFlightCount"]), (&json!("closed"), &json!(1)));
    assert!(seen["ageMs"].is_u64() && seen["upSinceMs"].as_u64() >= seen["ageMs"].as_u64());
    let table = rig.status(&[]).await.out;
    assert!(table.contains("ready") && table.contains(": tools/call `slow`"), "{table}");
    for secret in ["s3cret", "t0ken"] {
        assert!(!seen.to_string().contains(secret) && !table.contains(secret), "{seen}\n{table}");
    }

    let code = host.leave().await;

    assert_eq!(code, Some(0));
    assert_eq!(rig.sockets(), Vec::<PathBuf>::new(), "a bridge takes its socket with it");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_bridge_says_where_its_settings_are_from() {
    let rig = Rig::listen().await;
    let folder = rig.home.join(".config/ridethrough");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("ridethrough.toml"), "header = [\"X-Key: s3cret\"]\n").unwrap();
    let host = rig.host(&[&rig.url, "--timeout", "20"]).await;

    let seen = rig.until(|it| it["state"] == "ready").await;
    let table = rig.status(&[]).await.out;

    let file = folder.join("ridethrough.toml").display().to_string();
    let from = json!([
        {"from": "flags", "settings": ["timeout"]},
        {"from": "the environment", "settings": ["era"]},
        {"from": file, "settings": ["header"]},
    ]);
    assert_eq!(seen["settings"], from, "{seen}");
    assert!(table.contains(&format!("header from {file}")), "{table}");
    assert!(!table.contains("s3cret"), "{table}");
    host.leave().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_outage_is_seen_with_its_reason_and_the_next_attempt() {
    let rig = Rig::listen().await;
    let mut host = rig.host(&[&rig.url]).await;

    rig.server.kill().await;
    host.ask(1, "tools/call", json!({"name": "echo", "arguments": {"msg": "a"}})).await;
    let down = rig.until(|it| it["nextAttemptMs"].is_u64() && it["waiting"] == 1).await;
    assert_eq!(down["state"], "recovering", "{down}");
    assert!(down["lastError"]["message"].is_string(), "{down}");

    rig.server.restart().await.unwrap();
    let back = rig.until(|it| it["state"] == "ready" && it["inFlightCount"] == 0).await;

    assert!(back["recoveries"].as_u64() >= Some(1) && back["lostMs"].is_u64(), "{back}");
    assert_eq!(back["nextAttemptMs"], Value::Null);
    host.leave().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_bridge_that_does_not_answer_is_listed_as_silent() {
    let rig = Rig::listen().await;
    fs::create_dir(rig.folder()).unwrap();
    fs::set_permissions(rig.folder(), fs::Permissions::from_mode(0o700)).unwrap();
    let deaf = UnixListener::bind(rig.folder().join("bridge-77.sock")).unwrap();

    let array = rig.status(&["--json"]).await;
    let table = rig.status(&[]).await;

    assert_eq!(array.out, "[{\"pid\":77,\"state\":\"silent\"}]\n");
    assert!(table.out.contains("\nsilent"), "{table:?}");
    drop(deaf);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn peers_that_say_nothing_or_nonsense_hold_up_nobody() {
    let rig = Rig::listen().await;
    let mut host = rig.host(&[&rig.url]).await;
    let socket = rig.until_socket().await;
    let mut peers = Vec::new();
    for words in ["", "what?!\n", "statu", "status\nstatus\n"] {
        let mut peer = tokio::net::UnixStream::connect(&socket).await.unwrap();
        peer.write_all(words.as_bytes()).await.unwrap();
        peers.push(peer);
    }

    let answer = host.asked(1, "tools/call", json!({"name": "echo", "arguments": {}})).await;
    let seen = rig.until(|it| it["state"] == "ready").await;

    assert!(answer["result"].is_object() && seen["pid"] == host.pid(), "{answer} {seen}");
    for (peer, is_told) in peers.iter_mut().zip([false, false, false, true]) {
        let mut told = Vec::new();
        // The connection may also be cut.
        let _ = timeout(PATIENCE, peer.read_to_end(&mut told)).await.expect("it is let go");
        assert_eq!(!told.is_empty(), is_told);
    }
    host.leave().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_socket_that_cannot_be_had_does_not_stop_a_bridge() {
    let rig = Rig::listen().await;
    // The folder is a file, and so is the cache.
    fs::write(rig.folder(), "").unwrap();
    fs::write(rig.home.join(".cache"), "").unwrap();

    let mut host = rig.host(&[&rig.url, "--debug"]).await;
    let answer = host.asked(1, "tools/call", json!({"name": "echo", "arguments": {}})).await;
    let none = rig.status(&[]).await;
    let mut stderr = host.child.stderr.take().unwrap();
    let code = host.leave().await;
    let mut said = String::new();
    stderr.read_to_string(&mut said).await.unwrap();

    assert!(answer["result"].is_object(), "{answer}");
    assert_eq!((code, &*none.out), (Some(0), "no bridge and no gateway is running\n"));
    assert!(said.contains("`ridethrough status` will not see this bridge"), "{said}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_watch_goes_on_until_nobody_reads_it() {
    let rig = Rig::listen().await;
    let mut child =
        rig.command(&["status", "--json", "--watch"]).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();

    for _ in 0..2 {
        let line = timeout(PATIENCE, lines.next_line()).await.expect("a line in time").unwrap();
        assert_eq!(line.as_deref(), Some("[]"));
    }
    drop(lines);
    let ended = timeout(PATIENCE, child.wait()).await.expect("the end in time").unwrap();

    assert_eq!(ended.code(), Some(0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_bridges_leave_no_process_and_no_socket_behind() {
    let rig = Rig::listen().await;
    for _ in 0..20 {
        let mut host = rig.host(&[&rig.url]).await;
        rig.until_socket_of(host.pid()).await;

        host.child.kill().await.unwrap();

        assert_eq!(rig.sockets().len(), 1, "the next one removes what the last one left");
    }
    // A process that is left would hold a connection.
    let began = Instant::now();
    while rig.server.open_connections() > 0 {
        assert!(began.elapsed() < PATIENCE, "somebody is still connected");
        sleep(TICK).await;
    }

    let seen = rig.status(&[]).await;

    assert_eq!((seen.code, &*seen.out), (Some(0), "no bridge and no gateway is running\n"));
    assert_eq!(rig.sockets(), Vec::<PathBuf>::new(), "and so does whoever looks");
}

/// A server on a port of this machine, and a home folder of the test's own.
struct Rig {
    mcp: Mcp,
    server: Server,
    url: String,
    home: PathBuf,
}

impl Rig {
    async fn listen() -> Self {
        let mcp = Mcp::new();
        let server = Server::new(Protocol::Http1, mcp.clone());
        let port = server.listen().await.unwrap().port();
        let url = format!("http://localhost:{port}/mcp");
        // The name of a socket must be short. No two servers that run at once share a port.
        let home = std::env::temp_dir().join(format!("rt-status-{port}"));
        // The files are left from a test that was killed.
        let _ = fs::remove_dir_all(&home);
        fs::create_dir(&home).unwrap();
        Self { mcp, server, url, home }
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ridethrough"));
        command.args(words).env_clear().current_dir(&self.home).kill_on_drop(true);
        command.env("HOME", &self.home).env("XDG_RUNTIME_DIR", &self.home).env("TOKEN", "t0ken");
        command.env("RIDETHROUGH_ERA", "legacy");
        command
    }

    async fn status(&self, words: &[&str]) -> Ran {
        let running = self.command(&[&["status"], words].concat()).output();
        timeout(PATIENCE, running).await.expect("the end in time").unwrap().into()
    }

    /// Returns the status of the one bridge, once it satisfies this condition.
    async fn until(&self, is_so: impl Fn(&Value) -> bool) -> Value {
        let began = Instant::now();
        loop {
            let array: Value = serde_json::from_str(&self.status(&["--json"]).await.out).unwrap();
            if is_so(&array[0]) {
                return array[0].clone();
            }
            assert!(began.elapsed() < PATIENCE, "it did not come to that: {array}");
            sleep(TICK).await;
        }
    }

    /// Creates a host whose handshake is complete.
    async fn host(&self, words: &[&str]) -> Host {
        let mut child = self
            .command(&[&["bridge"], words].concat())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut host = Host { stdin: child.stdin.take().unwrap(), lines, child };
        let info = json!({"name": "host", "version": "1"});
        let params =
            json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": info});
        host.asked(0, "initialize", params).await;
        host
    }

    fn folder(&self) -> PathBuf {
        self.home.join("ridethrough")
    }

    fn sockets(&self) -> Vec<PathBuf> {
        fs::read_dir(self.folder()).unwrap().map(|file| file.unwrap().path()).collect()
    }

    async fn until_socket(&self) -> PathBuf {
        let began = Instant::now();
        loop {
            if let Some(path) = self.sockets().pop() {
                return path;
            }
            assert!(began.elapsed() < PATIENCE, "there is no socket");
            sleep(TICK).await;
        }
    }

    /// Waits until this bridge has a socket, and those of others are gone.
    async fn until_socket_of(&self, pid: u32) {
        let own = self.folder().join(format!("bridge-{pid}.sock"));
        let began = Instant::now();
        while self.sockets() != [&*own] as [&Path; 1] {
            assert!(began.elapsed() < PATIENCE, "{:?} but not {own:?}", self.sockets());
            sleep(TICK).await;
        }
    }
}

impl Drop for Rig {
    fn drop(&mut self) {
        // A folder that stays behind does no harm.
        let _ = fs::remove_dir_all(&self.home);
    }
}

/// The host that started the bridge. The bridge does not outlive its test.
struct Host {
    child: Child,
    stdin: ChildStdin,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Host {
    fn pid(&self) -> u32 {
        self.child.id().unwrap()
    }

    async fn ask(&mut self, id: u64, method: &str, params: Value) {
        let message = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        self.stdin.write_all(format!("{message}\n").as_bytes()).await.unwrap();
    }

    /// Sends a request, and skips other messages until its answer.
    async fn asked(&mut self, id: u64, method: &str, params: Value) -> Value {
        self.ask(id, method, params).await;
        loop {
            let line = timeout(PATIENCE, self.lines.next_line()).await.expect("an answer in time");
            let message: Value = serde_json::from_str(&line.unwrap().expect("an answer")).unwrap();
            if message["id"] == id {
                return message;
            }
        }
    }

    async fn leave(self) -> Option<i32> {
        let Self { mut child, stdin, .. } = self;
        drop(stdin);
        timeout(PATIENCE, child.wait()).await.expect("the end in time").unwrap().code()
    }
}

/// The time limit of each wait: far longer than anything here takes, even on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);
const TICK: Duration = Duration::from_millis(10);
