//! `ridethrough-lab drive` as the lab runs it: the built binary, a socket, a script in a file.

#![cfg(test)]

use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};
use std::time::Duration;

use futures_util::future::pending;
use ridethrough_lab::adapter::{Answer, Line, Outcome};
use ridethrough_lab::{Mcp, Protocol, Server, Times, When};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, BufReader, Lines};
use tokio::process::{Child, ChildStdout, Command};
use tokio::time::{sleep, timeout};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_script_is_played_to_its_end_and_every_step_has_its_line() {
    let rig = Rig::listen().await;
    rig.misbehave();
    let script = rig.script(&json!([
        {"op": "initialize"},
        {"op": "call", "tool": "echo", "args": {"msg": "hi"}},
        {"op": "call", "tool": "echo", "concurrency": 3},
        {"op": "request", "method": "prompts/list"},
        {"op": "call", "tool": "tell_error"},
        {"op": "call", "tool": "refuse"},
        {"op": "call", "tool": "hold", "timeout_s": 0.3},
        {"op": "call", "tool": "hold", "cancel_after_s": 0.2},
        {"op": "sleep", "s": 2},
        {"op": "close"},
    ]));
    let mut driven = Driven::start(&rig.url, &script);

    let mut lines = driven.lines(8).await;
    rig.push_log_message("n1").await;
    lines.extend(driven.lines(2).await);
    let (code, more) = driven.end().await;

    assert_eq!((code, more), (Some(0), None));
    assert!(lines.iter().enumerate().all(|(place, line)| line.step == place), "{lines:#?}");
    let oks: Vec<_> = lines.iter().map(|line| line.done.ok).collect();
    assert_eq!(oks, [true, true, true, true, true, false, false, false, true, true], "{lines:#?}");
    let answers: Vec<_> = lines.iter().map(|line| line.done.result.clone()).collect();
    let info = json_of(&answers[0]);
    assert_eq!(info["serverInfo"]["name"], "ridethrough-lab");
    assert_eq!(answers[1], text("hi", false));
    let Some(Answer::Many(ends)) = &answers[2] else { panic!("a list: {lines:#?}") };
    let said: Vec<_> = ends.iter().map(|end| end.result.clone().map(Answer::One)).collect();
    assert_eq!(said, ["c0", "c1", "c2"].map(|msg| text(msg, false)));
    assert_eq!(json_of(&answers[3]), json!({"prompts": [{"name": "greet"}]}));
    assert_eq!(answers[4], text("it broke", true));
    assert!(answers[5..].iter().all(Option::is_none), "{lines:#?}");
    assert_has(&lines[5], &["-32050", "not you"]);
    assert_has(&lines[6], &["passed its deadline", "the server may have run it"]);
    assert_has(&lines[7], &["cancelled"]);
    assert!(lines[6].done.elapsed_ms >= 300.0 && lines[8].done.elapsed_ms >= 2000.0, "{lines:#?}");
    assert_eq!(lines[8].notifications, ["message:n1"]);
    assert_eq!(rig.mcp.count(&When::delete().and(When::session("lab-session-1"))), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_line_is_written_as_soon_as_its_step_has_ended() {
    let rig = Rig::listen().await;
    let script = rig.script(&json!([{"op": "initialize"}, {"op": "sleep", "s": 3600}]));
    let mut driven = Driven::start(&rig.url, &script);

    let lines = driven.lines(1).await;

    assert!(lines[0].done.ok);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_fields_of_a_line_are_those_of_the_protocol_also_when_they_are_empty() {
    let rig = Rig::listen().await;
    let script = rig.script(&json!([{"op": "sleep", "s": 0}]));

    let output = run(&rig.url, &script).await;

    let line: Value = serde_json::from_slice(&output.stdout).unwrap();
    let names: Vec<_> = line.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(names, ["elapsed_ms", "error", "notifications", "ok", "result", "step"]);
    assert!(line["error"].is_null() && line["result"].is_null());
    assert!(output.stdout.ends_with(b"}\n") && output.stderr.is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_cannot_be_reached_is_a_failed_step_and_no_wrong_usage() {
    // No known authority has signed its certificate, which no waiting changes.
    let rig = Rig::over(Protocol::Http1Tls).await;
    let script = rig.script(&json!([{"op": "initialize"}, {"op": "sleep", "s": 0}]));
    let mut driven = Driven::start(&rig.url, &script);

    let lines = driven.lines(2).await;
    let (code, more) = driven.end().await;

    assert_has(&lines[0], &["could not reach the server", "nothing was sent"]);
    assert!(lines[1].done.ok);
    assert_eq!((code, more), (Some(0), None));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_cannot_be_used_is_wrong_usage_in_three_parts_and_nothing_is_sent() {
    let rig = Rig::listen().await;
    let good = rig.script(&json!([{"op": "initialize"}]));
    let unknown = rig.script(&json!([{"op": "initialize"}, {"op": "dance"}]));
    let missing = rig.scratch.join("missing.json");
    for (url, script, reason) in [
        ("ftp://localhost/", &good, "must begin with http:// or https://"),
        ("http://me:s3cret@localhost/", &good, "must not carry a name or password"),
        (&*rig.url, &unknown, "step 1: unknown variant `dance`"),
        (&*rig.url, &missing, "cannot be read"),
    ] {
        let output = run(url, script).await;

        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.starts_with("error: ") && said.contains(reason), "{said}");
        assert!(said.contains("\n  tried: ") && said.contains("\n\nhint: "), "{said}");
        assert!(output.stdout.is_empty() && !said.contains("s3cret"), "{said}");
    }
    assert!(rig.mcp.log().is_empty());
}

/// A server on a port of this machine, and a place for scripts.
struct Rig {
    mcp: Mcp,
    url: String,
    scratch: PathBuf,
}

impl Rig {
    async fn listen() -> Self {
        Self::over(Protocol::Http1).await
    }

    async fn over(protocol: Protocol) -> Self {
        let mcp = Mcp::new();
        let server = Server::new(protocol, mcp.clone());
        let address = server.listen().await.unwrap();
        let url = format!("{}://localhost:{}/mcp", protocol.scheme(), address.port());
        // No two servers that run at once share a port, so no two tests share a folder.
        let scratch =
            Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("drive-{}", address.port()));
        std::fs::create_dir_all(&scratch).unwrap();
        Self { mcp, url, scratch }
    }

    fn script(&self, steps: &Value) -> PathBuf {
        let number = std::fs::read_dir(&self.scratch).unwrap().count();
        let path = self.scratch.join(format!("script-{number}.json"));
        std::fs::write(&path, steps.to_string()).unwrap();
        path
    }

    /// Adds tools that fail in the ways that a line can report.
    fn misbehave(&self) {
        self.mcp.rule(When::tool("tell_error"), Times::Always, |ask| async move {
            let content = json!([{"type": "text", "text": "it broke"}]);
            let result = ask.result(json!({"content": content, "isError": true}));
            ask.json(result).await;
        });
        self.mcp.rule(When::tool("refuse"), Times::Always, |ask| async move {
            let error = ask.error(-32050, "not you");
            ask.json(error).await;
        });
        self.mcp.rule(When::tool("hold"), Times::Always, |ask| async move {
            let _open = ask.sse().await;
            pending().await
        });
    }

    async fn push_log_message(&self, data: &str) {
        while self.mcp.standing_streams() == 0 {
            sleep(Duration::from_millis(5)).await;
        }
        let params = json!({"level": "info", "data": data});
        let message =
            json!({"jsonrpc": "2.0", "method": "notifications/message", "params": params});
        assert_eq!(self.mcp.push(message).await, 1);
    }
}

impl Drop for Rig {
    fn drop(&mut self) {
        // A rest of it is in the build folder, where it does no harm.
        let _ = std::fs::remove_dir_all(&self.scratch);
    }
}

/// The binary while it plays a script. It does not outlive its test.
struct Driven {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Driven {
    fn start(url: &str, script: &Path) -> Self {
        let mut child = command(url, script).stdout(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { child, lines }
    }

    async fn lines(&mut self, count: usize) -> Vec<Line> {
        let mut read = Vec::new();
        for _ in 0..count {
            let line = timeout(PATIENCE, self.lines.next_line()).await.expect("a line in time");
            let line = line.unwrap().expect("a line for each step");
            read.push(serde_json::from_str(&line).unwrap());
        }
        read
    }

    /// Returns the exit code, and the rest of its output.
    async fn end(mut self) -> (Option<i32>, Option<String>) {
        let more = timeout(PATIENCE, self.lines.next_line()).await.expect("the end in time");
        let status = timeout(PATIENCE, self.child.wait()).await.expect("the end in time");
        (status.unwrap().code(), more.unwrap())
    }
}

async fn run(url: &str, script: &Path) -> Output {
    timeout(PATIENCE, command(url, script).output()).await.expect("the end in time").unwrap()
}

fn command(url: &str, script: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ridethrough-lab"));
    command.args(["drive", url]).arg(script).kill_on_drop(true);
    command
}

fn text(text: &str, is_error: bool) -> Option<Answer> {
    let text = Some(text.to_owned());
    Some(Answer::One(Outcome { text, is_error: Some(is_error), json: None }))
}

fn json_of(answer: &Option<Answer>) -> Value {
    match answer {
        Some(Answer::One(outcome)) => outcome.json.clone().expect("a whole result"),
        other => panic!("one outcome, not {other:?}"),
    }
}

fn assert_has(line: &Line, words: &[&str]) {
    let error = line.done.error.as_deref().expect("an error");
    assert!(!line.done.ok && words.iter().all(|word| error.contains(word)), "{error}");
}

/// The time limit of each wait: far longer than anything here takes, even on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);
