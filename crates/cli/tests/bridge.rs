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

    let lines: Vec<Value> = rest.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!((code, lines.len()), (Some(0), 1), "{rest}");
    let data = &lines[0]["result"]["_meta"]["ridethrough/doubt"];
    assert_eq!((&lines[0]["id"], &data["kind"]), (&json!(1), &json!("closed")), "{rest}");
    assert_eq!(data["mayHaveRun"], true, "{rest}");
    assert_eq!(rig.mcp.count(&When::delete()), 1);
}

/// A pipe holds 64 KiB: anything beyond that waits in the bridge until the host reads.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_host_that_reads_only_after_it_has_left_has_every_answer() {
    let rig = Rig::listen().await;
    rig.mcp.rule(When::tool("large"), Times::Always, |ask| async {
        let answer = ask.result(json!({"text": "x".repeat(50_000)}));
        ask.json(answer).await;
    });
    let mut host = rig.host(&[]);
    host.greet().await;
    for id in 1..=20 {
        host.ask(id, "tools/call", json!({"name": "large"})).await;
    }
    while rig.mcp.count(&When::tool("large")) < 20 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }

    let (code, rest, _) = host.leave().await;

    let ids = rest.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()["id"].as_u64());
    let mut ids: Vec<_> = ids.map(Option::unwrap).collect();
    ids.sort_unstable();
    assert_eq!((code, ids), (Some(0), (1..=20).collect()));
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
    // A process that is being started holds on to the port for a moment, so the server goes down only now.
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
    assert!(said.contains("the session is gone"), "{said}");
    let kept = rig.kept();
    assert!(kept.contains("inputSchema"), "{kept}");
    for secret in ["t0ken", "s3cret"] {
        assert!(!said.contains(secret) && !kept.contains(secret), "{said}\n{kept}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_era_is_kept_beside_the_catalogue_and_a_session_is_asked_for_all_the_same() {
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
    assert_eq!(rig.mcp.count(&When::method("server/discover")), 1, "only the first bridge asked");
    assert!(!said.contains("was stateless"), "it may speak both: {said}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_bridge_that_keeps_no_catalogue_keeps_no_era() {
    let rig = Rig::listen().await;
    let mut host = rig.host(&["--era", "auto", "--no-catalogue"]);

    host.greet().await;
    host.call(1, "echo").await;
    host.leave().await;

    assert_eq!(rig.mcp.count(&When::method("initialize")), 1);
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

/// A host starts the bridge in any folder: a cloned repository once marked a tool as repeatable, which then
/// ran twice, and sent variables as headers.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_settings_are_read_from_the_folder_that_a_host_started_it_in() {
    let rig = Rig::listen().await;
    rig.write(
        "project/ridethrough.toml",
        "header = [\"X-Stolen: ${KEY}\"]\nrepeatable = [\"echo\"]\n",
    );
    rig.mcp.rule(When::tool("echo"), Times::Once, |ask| async {
        ask.run();
        ask.sse().await.cut().await;
    });
    let project = rig.cache.join("project");
    let trusted = rig.program(&["trust", "--yes"]).current_dir(&project).output().await.unwrap();
    let mut host = Host::start(rig.command(&[&rig.url, "-v"]).current_dir(&project));

    host.greet().await;
    let answer = host.call(1, "echo").await;
    let (_, _, said) = host.leave().await;

    assert!(trusted.status.success(), "not even if it is approved: {trusted:?}");
    assert_eq!(answer["result"]["_meta"]["ridethrough/doubt"]["mayHaveRun"], true, "{answer}");
    assert_eq!(rig.mcp.count(&When::tool("echo")), 1);
    assert!(rig.mcp.log().iter().all(|it| it.header("x-stolen").is_none()));
    assert!(said.contains("a bridge does not read it"), "{said}");
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

    let doubt = &slow["result"]["_meta"]["ridethrough/doubt"];
    assert_eq!(doubt["kind"], "deadlinePassed", "{slow}");
    assert_eq!(echo["result"]["content"][0]["text"], "echo", "{echo}");
    assert_eq!(rig.mcp.executions("echo"), 2);
    assert!(
        said.contains("time for a call 1.5 s") && said.contains("`slow` passed its deadline"),
        "{said}"
    );
}

/// The host shows errors and logs to people and to models. A result is data: later requests use the names and
/// addresses in it, so no byte of it may change.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_token_that_the_upstream_repeats_is_in_no_error_and_no_log_and_results_stay_as_they_are()
{
    let rig = Rig::listen().await;
    rig.mcp.rule(When::tool("deploy"), Times::Always, |ask| async move {
        let error = ask.error(-32000, "no access with t0ken or s3cret");
        let error = String::from_utf8(error.to_vec()).unwrap();
        ask.json(error.replace("t0ken", "t0\\u006ben")).await;
    });
    rig.mcp.rule(When::tool("echo"), Times::Always, |ask| async move {
        ask.run();
        let mut stream = ask.sse().await;
        let params = json!({"level": "info", "data": "t0ken"});
        let log = json!({"jsonrpc": "2.0", "method": "notifications/message", "params": params});
        stream.message(None, &log).await;
        let content = json!([{"type": "text", "text": "t0ken"}]);
        stream.answer_and_finish(json!({"content": content})).await;
    });
    let words = ["--bearer-env", "TOKEN", "--header", "X-Key: ${KEY}", "-vv"];
    let mut host = rig.host(&words);

    host.greet().await;
    let refused = host.call(1, "deploy").await;
    host.ask(2, "tools/call", json!({"name": "echo", "arguments": {}})).await;
    let log = host.next().await;
    let echoed = host.next().await;
    let (_, _, said) = host.leave().await;

    assert_eq!(refused["error"]["message"], "no access with ... or ...", "{refused}");
    assert_eq!(log["params"]["data"], "...", "{log}");
    assert_eq!(echoed["result"]["content"][0]["text"], "t0ken", "{echoed}");
    assert!(!said.contains("t0ken") && !said.contains("s3cret"), "{said}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_token_that_the_upstream_repeats_when_it_refuses_us_is_told_to_nobody() {
    let rig = Rig::listen().await;
    rig.mcp.rule(When::method("initialize"), Times::Always, |ask| async move {
        let error = ask.error(-32602, &format!("{} t0ken is not for us", "x".repeat(495)));
        ask.json(error).await;
    });
    let mut host = rig.host(&["--bearer-env", "TOKEN", "-vv"]);

    let refused = host.greet().await;
    let (_, _, said) = host.leave().await;

    assert!(refused["error"].is_object() && !refused.to_string().contains("t0"), "{refused}");
    assert!(said.contains("xxx ...") && !said.contains("t0"), "{said}");
}

/// The bridge opens only files that it can have written itself: a pipe once stopped it for good.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_catalogue_that_cannot_be_ours_is_ignored_and_told() {
    let rig = Rig::listen().await;
    let mut host = rig.host(&[]);
    host.greet().await;
    host.asked(1, "tools/list", json!({})).await;
    host.leave().await;
    let folder = rig.cache.join("ridethrough/catalogues");
    let kept: Vec<_> = std::fs::read_dir(folder).unwrap().map(|it| it.unwrap().path()).collect();
    let kept = kept.iter().find(|it| !it.to_string_lossy().contains(".era.")).unwrap();
    rig.server.kill().await;
    let wrong = r#"{"initialize":{"capabilities":[]},"lists":{"tools/list":{"tools":"all"}}}"#;
    let make_pipe = || {
        std::fs::remove_file(kept).unwrap();
        assert!(std::process::Command::new("mkfifo").arg(kept).status().unwrap().success());
    };
    let make_link = || {
        std::fs::remove_file(kept).unwrap();
        std::os::unix::fs::symlink("/dev/zero", kept).unwrap();
    };
    let steps: [(&dyn Fn(), &str); 3] = [
        (&|| std::fs::write(kept, wrong).unwrap(), "is not what was kept there"),
        (&make_pipe, "it is no regular file"),
        (&make_link, "it is no regular file"),
    ];
    for (step, reason) in steps {
        step();
        let mut host = rig.host(&[]);

        let greeted = host.greet().await;
        let (_, _, said) = host.leave().await;

        assert_eq!(greeted["result"]["serverInfo"]["name"], "ridethrough", "as if there were none");
        assert!(said.contains("the catalogue is ignored") && said.contains(reason), "{said}");
    }
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
        "--auth-success-url",
        "https://example.com/done",
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
        said.contains("`--auth-success-url` changes nothing") && said.contains("`--enable-proxy`"),
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
        (vec![&*rig.url, "--token-endpoint", "http://s3cret.example/"], "`token_endpoint`"),
        (vec![&*rig.url, "--static-oauth-client-info", "s3cret"], "must be a JSON object"),
        (
            vec![&*rig.url, "--header", "X-Key: s3cret${UNSET_VARIABLE}"],
            "`UNSET_VARIABLE` is not set",
        ),
        (vec![&*rig.url, "--header", "Authorization: Basic s3cret\u{7}"], "holds no token"),
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
        // No two servers that run at once share a port, so no two tests share a folder.
        let cache = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("bridge-{port}"));
        // The files are left from a test that was killed.
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
        self.program(&[&["bridge"], args].concat())
    }

    fn program(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ridethrough"));
        command.args(args).kill_on_drop(true);
        command.env("XDG_CACHE_HOME", &self.cache).env("TOKEN", "t0ken").env("KEY", "s3cret");
        // The folders of the person who runs the tests are not touched.
        command.env("XDG_CONFIG_HOME", &self.cache).env("XDG_RUNTIME_DIR", &self.cache);
        command
            .env("HOME", &self.cache)
            .env("XDG_STATE_HOME", &self.cache)
            .env("RIDETHROUGH_ERA", "legacy");
        command
    }

    /// Writes a file into the folder of this test.
    fn write(&self, name: &str, text: &str) {
        let path = self.cache.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    /// Returns everything that was kept on disk, with the names of files.
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
        // A rest of it is in the build folder, where it does no harm.
        let _ = std::fs::remove_dir_all(&self.cache);
    }
}

/// The host that started the bridge. The bridge does not outlive its test.
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

    /// Returns the next message of the bridge.
    async fn next(&mut self) -> Value {
        let line = timeout(PATIENCE, self.lines.next_line()).await.expect("a message in time");
        serde_json::from_str(&line.unwrap().expect("a message")).unwrap()
    }

    async fn ask(&mut self, id: u64, method: &str, params: Value) {
        self.say(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})).await;
    }

    async fn say(&mut self, message: &Value) {
        self.stdin.write_all(format!("{message}\n").as_bytes()).await.unwrap();
    }

    /// Closes stdin; returns the exit code, the rest of stdout, and what people were shown.
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

/// The time limit of each wait: far longer than anything here takes, even on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);
