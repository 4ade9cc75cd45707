//! `ridethrough bridge` as a host runs it: the built binary, a socket, and lines on its stdin.

#![cfg(test)]

use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};
use std::time::{Duration, Instant};

use ridethrough_lab::{Mcp, Mood, OldMcp, Protocol, Server, Spoken, Times, When};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::time::timeout;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_host_calls_a_tool_through_the_bridge_and_leaves() {
    let rig = Rig::listen().await;
    let mut host = rig.host(&[]);

    let greeting = host.greet().await;
    let answer = host.call(1, "echo").await;
    let left = Instant::now();
    let (code, rest, said) = host.leave().await;

    assert_eq!(greeting["result"]["serverInfo"]["name"], "ridethrough-lab");
    assert_eq!(answer["result"]["content"][0]["text"], "echo");
    assert_eq!((code, &*rest, &*said), (Some(0), "", ""));
    assert!(left.elapsed() < Duration::from_secs(5));
    assert_eq!(rig.mcp.count(&When::delete()), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn stdin_that_is_closed_in_the_middle_of_a_call_ends_it() {
    let rig = Rig::listen().await;
    rig.mcp.rule(When::tool("slow"), Times::Once, |ask| async {
        ask.sse().await.gone().await;
    });
    let mut host = rig.host(&[]);
    host.greet().await;
    host.ask(1, "tools/call", json!({"name": "slow"})).await;
    while rig.mcp.count(&When::tool("slow")) == 0 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }

    let (code, rest, _) = host.leave().await;

    assert_eq!((code, &*rest), (Some(0), ""));
    assert_eq!(rig.mcp.count(&When::delete()), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_host_that_starts_while_the_server_is_down_starts_with_what_it_was() {
    let rig = Rig::listen().await;
    let mut host = rig.host(&["--header", "X-Team: blue"]);
    host.greet().await;
    host.asked(1, "tools/list", json!({})).await;
    host.leave().await;

    rig.server.set_mood(Mood::Down);
    let mut again = rig.host(&["--header", "X-Team: blue"]);
    let greeting = again.greet().await;
    let tools = again.asked(1, "tools/list", json!({})).await;
    rig.server.set_mood(Mood::Up);
    let answer = again.call(2, "echo").await;
    // A process that is being started holds on to the port for a moment, so that comes after.
    rig.server.set_mood(Mood::Down);
    let mut stranger = rig.host(&["--header", "X-Team: red"]);
    let unknown = stranger.greet().await;

    assert_eq!(greeting["result"]["serverInfo"]["name"], "ridethrough-lab");
    assert_eq!(tools["result"]["tools"].as_array().unwrap().len(), 5);
    assert_eq!(answer["result"]["content"][0]["text"], "echo");
    assert_eq!(unknown["result"]["serverInfo"]["name"], "ridethrough");
    let (_, _, said) = again.leave().await;
    assert!(said.contains("ridethrough: the upstream is not there yet"), "{said}");
    assert!(said.contains("ridethrough: back after "), "{said}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn secrets_reach_the_server_and_nobody_else() {
    let rig = Rig::listen().await;
    rig.mcp.require_bearer(Some("t0ken"));
    let args =
        ["--header", "Authorization:Bearer ${TOKEN}", "--header", "X-Key: ${KEY}", "--debug"];
    let mut host = rig.host(&args);

    host.greet().await;
    host.asked(1, "tools/list", json!({})).await;
    rig.mcp.forget_sessions();
    host.call(2, "echo").await;
    let (_, _, said) = host.leave().await;

    let log = rig.mcp.log();
    assert!(log.iter().all(|entry| entry.header("x-key") == Some("s3cret")));
    assert!(said.contains("SessionLost"), "{said}");
    let kept = rig.kept();
    assert!(kept.contains("inputSchema"), "{kept}");
    for secret in ["t0ken", "s3cret"] {
        assert!(!said.contains(secret) && !kept.contains(secret), "{said}\n{kept}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_era_is_kept_beside_the_catalogue_and_a_server_that_goes_back_is_told() {
    let rig = Rig::listen().await;
    rig.mcp.speaks(Spoken::Modern);
    let mut first = rig.host(&["--era", "auto"]);
    let greeting = first.greet().await;
    first.call(1, "echo").await;
    first.leave().await;
    assert_eq!(greeting["result"]["protocolVersion"], "2025-06-18");
    assert!(rig.kept().contains(r#""era":"modern""#), "{}", rig.kept());

    rig.mcp.speaks(Spoken::Legacy);
    let mut next = rig.host(&["--era", "auto"]);
    next.greet().await;
    let answer = next.call(1, "echo").await;
    let (_, _, said) = next.leave().await;

    assert_eq!(answer["result"]["content"][0]["text"], "echo");
    assert!(said.contains("ridethrough: warning: the upstream was stateless"), "{said}");
    assert!(rig.kept().contains(r#""era":"legacy""#), "{}", rig.kept());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_bridge_that_keeps_no_catalogue_keeps_no_era() {
    let rig = Rig::listen().await;
    let mut host = rig.host(&["--era", "auto", "--no-catalogue"]);

    host.greet().await;
    host.call(1, "echo").await;
    host.leave().await;

    assert_eq!(rig.mcp.count(&When::method("server/discover")), 1);
    assert!(!rig.cache.join("ridethrough/catalogues").exists());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn settings_are_those_of_every_command_and_a_header_file_stands_between() {
    let rig = Rig::listen().await;
    rig.write(
        "ridethrough/ridethrough.toml",
        "header = [\"X-A: far\", \"X-B: far\", \"X-C: far\", \"X-D: far\"]\nverbose = 3\n",
    );
    rig.write("headers", "# mine\nX-A: file\nX-B: file ${KEY}\n");
    let file = rig.cache.join("headers");
    let words =
        [&*rig.url, "--header", "X-A: flag", "--header-file", file.to_str().unwrap(), "--silent"];
    let mut command = rig.command(&words);
    command.env("RIDETHROUGH_HEADER", "X-B: variable\nX-C: variable");
    let mut host = Host::start(command.env("RIDETHROUGH_BEARER_ENV", "TOKEN"));

    host.greet().await;
    let (_, _, said) = host.leave().await;

    let sent = &rig.mcp.log()[0];
    let seen = ["x-a", "x-b", "x-c", "x-d"].map(|name| sent.header(name).unwrap());
    assert_eq!(seen, ["flag", "file s3cret", "variable", "far"]);
    assert_eq!(sent.header("authorization"), Some("Bearer t0ken"));
    assert_eq!(said, "", "`--silent` wins over a file");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_have_the_time_and_the_repeats_that_settings_give_them() {
    let rig = Rig::listen().await;
    rig.mcp.rule(When::tool("slow"), Times::Once, |ask| async {
        ask.sse().await.gone().await;
    });
    rig.mcp.rule(When::tool("echo"), Times::Once, |ask| async {
        ask.run();
        ask.sse().await.cut().await;
    });
    let mut host = rig.host(&["--timeout", "1.5", "--repeatable", "echo", "-vvv"]);

    host.greet().await;
    let slow = host.call(1, "slow").await;
    let echo = host.call(2, "echo").await;
    let (_, _, said) = host.leave().await;

    assert_eq!(slow["error"]["data"]["kind"], "deadlinePassed", "{slow}");
    assert_eq!(echo["result"]["content"][0]["text"], "echo", "{echo}");
    assert_eq!(rig.mcp.executions("echo"), 2);
    assert!(said.contains("timeout Some(1.5s)") && said.contains("CallEnded"), "{said}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_policy_says_how_hard_is_tried() {
    let rig = Rig::listen().await;
    let mut host = rig.host(&["--policy", "never"]);
    host.greet().await;

    rig.server.kill().await;
    let answer = host.call(1, "echo").await;

    let data = &answer["error"]["data"];
    assert_eq!(data["kind"], "unreachable", "{answer}");
    assert!(data["elapsedMs"].as_u64().unwrap() < 10_000, "{answer}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn flags_of_mcp_remote_mean_what_they_mean_there() {
    let rig = Rig::listen().await;
    let mut host = rig.host(&[
        "9696",
        "--transport",
        "http-only",
        "--ignore-tool",
        "de*",
        "--enable-proxy",
        "--allow-http",
    ]);

    host.greet().await;
    let tools = host.asked(1, "tools/list", json!({})).await;
    let (code, _, said) = host.leave().await;

    assert_eq!(tools["result"]["tools"].as_array().unwrap().len(), 4);
    assert_eq!(code, Some(0));
    assert!(
        said.contains("the port is for a login") && said.contains("`--enable-proxy`"),
        "{said}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_of_the_older_transport_is_spoken_to_by_whichever_name_it_is_asked_for() {
    let (rig, old) = (Rig::listen().await, OldMcp::new());
    let server = Server::new(Protocol::Http1, old.clone());
    let url = format!("http://{}/sse", server.listen().await.unwrap());
    for (name, is_noted) in
        [("http-first", false), ("http-only", false), ("sse-first", true), ("sse-only", true)]
    {
        let mut host = Host::start(&mut rig.command(&[&url, "--transport", name]));

        host.greet().await;
        let answer = host.call(1, "echo").await;
        let (code, _, said) = host.leave().await;

        assert!(answer["result"]["content"].is_array(), "{answer}");
        assert_eq!((code, said.contains("Streamable HTTP is tried first")), (Some(0), is_noted));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_cannot_work_is_wrong_usage_in_three_parts_and_nothing_is_sent() {
    let rig = Rig::listen().await;
    for (args, reason) in [
        (vec!["http://example.com/mcp?key=s3cret"], "is not encrypted"),
        (vec!["ftp://localhost/"], "must begin with http:// or https://"),
        (vec![&*rig.url, "--resource", "https://s3cret.example/"], "`--resource` belongs to OAuth"),
        (vec![&*rig.url, "--static-oauth-client-info", "s3cret"], "belongs to OAuth"),
        (
            vec![&*rig.url, "--header", "X-Key: s3cret${UNSET_VARIABLE}"],
            "`UNSET_VARIABLE` is not set",
        ),
        (vec![&*rig.url, "--header", "Authorization: Basic s3cret"], "must be `Bearer TOKEN`"),
        (vec![&*rig.url, "--bearer-env", "UNSET_VARIABLE"], "is not set"),
    ] {
        let output = rig.run(&args).await;

        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.starts_with("error: ") && said.contains(reason), "{said}");
        assert!(said.contains("\n  tried: ") && said.contains("\n\nhint: "), "{said}");
        assert!(output.stdout.is_empty() && !said.contains("s3cret"), "{said}");
    }
    assert!(rig.mcp.log().is_empty());
}

/// A server on a port of this machine, and a cache of the test's own.
struct Rig {
    mcp: Mcp,
    server: Server,
    url: String,
    cache: PathBuf,
}

impl Rig {
    async fn listen() -> Self {
        let mcp = Mcp::new();
        let server = Server::new(Protocol::Http1, mcp.clone());
        let port = server.listen().await.unwrap().port();
        let url = format!("http://localhost:{port}/mcp");
        // No two servers that live at once have the same port, so no two tests share a folder.
        let cache = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("bridge-{port}"));
        // What a test that was killed left there is nobody's.
        let _ = std::fs::remove_dir_all(&cache);
        Self { mcp, server, url, cache }
    }

    fn host(&self, args: &[&str]) -> Host {
        Host::start(&mut self.command(&[&[&*self.url], args].concat()))
    }

    async fn run(&self, args: &[&str]) -> Output {
        let running = self.command(args).stdin(Stdio::null()).output();
        timeout(PATIENCE, running).await.expect("the end in time").unwrap()
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ridethrough"));
        command.arg("bridge").args(args).kill_on_drop(true);
        command.env("XDG_CACHE_HOME", &self.cache).env("TOKEN", "t0ken").env("KEY", "s3cret");
        // Nothing of this reaches the folders of whoever runs the tests.
        command.env("XDG_CONFIG_HOME", &self.cache).env("XDG_RUNTIME_DIR", &self.cache);
        command.env("HOME", &self.cache).env("RIDETHROUGH_ERA", "legacy");
        command
    }

    /// Writes a file into the folder of this test.
    fn write(&self, name: &str, text: &str) {
        let path = self.cache.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    /// Everything that was kept on disk, with the names of files.
    fn kept(&self) -> String {
        let folder = self.cache.join("ridethrough/catalogues");
        let files = std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
        files
            .map(|file| {
                format!("{}\n{}\n", file.display(), std::fs::read_to_string(&file).unwrap())
            })
            .collect()
    }
}

impl Drop for Rig {
    fn drop(&mut self) {
        // What is left of it is the build folder's.
        let _ = std::fs::remove_dir_all(&self.cache);
    }
}

/// Whoever started the bridge. The bridge does not outlive its test.
struct Host {
    child: Child,
    stdin: ChildStdin,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Host {
    fn start(command: &mut Command) -> Self {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { stdin: child.stdin.take().unwrap(), lines, child }
    }

    async fn greet(&mut self) -> Value {
        let info = json!({"name": "host", "version": "1"});
        let params =
            json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": info});
        let greeting = self.asked(0, "initialize", params).await;
        self.say(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).await;
        greeting
    }

    async fn call(&mut self, id: u64, tool: &str) -> Value {
        self.asked(id, "tools/call", json!({"name": tool, "arguments": {"msg": tool}})).await
    }

    /// Asks, and passes over what else is told until the answer is there.
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

    async fn ask(&mut self, id: u64, method: &str, params: Value) {
        self.say(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})).await;
    }

    async fn say(&mut self, message: &Value) {
        self.stdin.write_all(format!("{message}\n").as_bytes()).await.unwrap();
    }

    /// Closes stdin; gives the exit code, what else was written to stdout, and what people were told.
    async fn leave(self) -> (Option<i32>, String, String) {
        let Self { mut child, stdin, lines } = self;
        drop(stdin);
        let (mut rest, mut said) = (String::new(), String::new());
        let mut stdout = lines.into_inner();
        timeout(PATIENCE, stdout.read_to_string(&mut rest))
            .await
            .expect("the end in time")
            .unwrap();
        child.stderr.take().unwrap().read_to_string(&mut said).await.unwrap();
        let status = timeout(PATIENCE, child.wait()).await.expect("the end in time").unwrap();
        (status.code(), rest, said)
    }
}

/// Far longer than anything here takes, on a machine that is busy with other tests.
const PATIENCE: Duration = Duration::from_secs(60);
