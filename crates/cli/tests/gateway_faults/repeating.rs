//! A host that repeats, over stdin and stdout, a call whose server died while it ran.

use std::process::Stdio;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout};
use tokio::time::timeout;

use crate::rig::{Home, PATIENCE};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_repeat_by_the_host_of_a_process_is_held_until_it_has_looked() {
    let home = Home::new();
    home.configure(&[("a", "")]);
    let mut host = StdioHost::start(&home, &[]).await;

    let lost = host.call("a_die").await;
    let repeats = [host.call("a_die").await, host.call("a_die").await];

    assert_eq!((is_doubt(&lost), is_held(&lost)), (true, false), "{lost}");
    for repeat in &repeats {
        assert!(is_doubt(repeat) && is_held(repeat), "{repeat}");
    }
    assert_eq!(home.notes("die ").len(), 1, "it ran once");

    let look = host.call("a_echo").await;
    assert_eq!(look["result"]["content"][0]["text"], "hello of a", "{look}");
    let sent = host.call("a_die").await;

    assert!(is_doubt(&sent) && !is_held(&sent), "{sent}");
    assert_eq!(home.notes("die ").len(), 2, "who has looked may call again");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_repeat_by_the_host_of_a_process_is_sent_where_that_is_asked_for() {
    let home = Home::new();
    home.configure(&[("a", "")]);
    let mut host = StdioHost::start(&home, &["--doubt-repeat", "allow"]).await;

    for runs in 1..=2 {
        let lost = host.call("a_die").await;

        assert!(is_doubt(&lost) && !is_held(&lost), "{lost}");
        assert_eq!(home.notes("die ").len(), runs);
    }
}

fn is_doubt(answer: &Value) -> bool {
    answer["result"]["_meta"]["ridethrough/doubt"]["mayHaveRun"] == true
}

fn is_held(answer: &Value) -> bool {
    let text = answer["result"]["content"][0]["text"].as_str().unwrap_or_default();
    text.contains("is taken again after 30 s")
}

/// A host of a gateway that it has started, with one question at a time.
struct StdioHost {
    /// Killed with the host.
    _process: Child,
    stdin: ChildStdin,
    stdout: Lines<BufReader<ChildStdout>>,
    asked: u64,
}

impl StdioHost {
    async fn start(home: &Home, flags: &[&str]) -> Self {
        let mut command = home.gateway(&[&["--stdio"], flags].concat());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut process = command.spawn().unwrap();
        let stdin = process.stdin.take().unwrap();
        let stdout = BufReader::new(process.stdout.take().unwrap()).lines();
        let mut host = Self { _process: process, stdin, stdout, asked: 0 };
        let info = json!({"name": "host", "version": "1"});
        let params =
            json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": info});
        host.ask("initialize", params).await;
        host.say(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).await;
        host.ask("tools/list", json!({})).await;
        host
    }

    /// Calls a tool, with a progress token of its own, as programs that repeat do.
    async fn call(&mut self, tool: &str) -> Value {
        let meta = json!({"progressToken": self.asked});
        self.ask("tools/call", json!({"name": tool, "arguments": {"n": 1}, "_meta": meta})).await
    }

    async fn ask(&mut self, method: &str, params: Value) -> Value {
        self.asked += 1;
        let id = self.asked;
        self.say(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})).await;
        loop {
            let line = timeout(PATIENCE, self.stdout.next_line()).await.unwrap().unwrap();
            let heard: Value = serde_json::from_str(&line.expect("it has ended")).unwrap();
            if heard["id"] == id {
                return heard;
            }
        }
    }

    async fn say(&mut self, message: &Value) {
        self.stdin.write_all(format!("{message}\n").as_bytes()).await.unwrap();
    }
}
