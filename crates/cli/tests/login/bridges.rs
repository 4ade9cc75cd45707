//! `ridethrough bridge` to a server that wants a login, and the flags that mcp-remote has for it.

use std::collections::BTreeMap;
use std::process::Stdio;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout};
use tokio::time::timeout;

use crate::rig::Rig;
use crate::support::consent;

#[tokio::test]
async fn a_bridge_names_the_command_opens_no_browser_and_goes_on_after_the_login() {
    let rig = Rig::new().await;
    let mut host = Host::start(&rig, &["--profile", "work"]);
    host.greet(json!({})).await;

    let refused = host.asked(1, "tools/call", json!({"name": "hello"})).await;

    let url = rig.world.mcp_url();
    let command = format!("ridethrough login {url} --profile work");
    let words = refused["error"]["message"].as_str().unwrap();
    assert!(words.contains(&format!("`{url}` needs a login")), "{words}");
    assert!(words.contains(&format!("run `{command}`")), "{words}");
    assert_eq!(refused["error"]["data"]["command"], command.as_str());
    let status = rig.run(&["status"]).await;
    assert!(status.out.contains("login needed"), "{status:?}");
    assert!(status.out.contains(&format!("run `{command}`")), "{status:?}");
    assert_eq!(rig.opened(), None);
    rig.log_in_as("work").await;
    assert_eq!(host.hear().await["method"], "notifications/tools/list_changed");
    let answer = host.asked(2, "tools/call", json!({"name": "hello"})).await;
    assert!(answer["result"].is_object(), "{answer}");
    let said = host.leave().await;
    assert_eq!(said.matches("needs a login").count(), 1, "{said}");
    assert!(!said.contains("c4nary"), "{said}");
}

#[tokio::test]
async fn the_flags_of_mcp_remote_for_a_login_mean_what_they_mean_there() {
    let rig = Rig::new().await;
    let file = rig.folder.0.join("client.json");
    std::fs::write(&file, r#"{"client_id":"by-hand","client_secret":"${KEY}"}"#).unwrap();
    let (file, port) = (format!("@{}", file.display()), free_port());
    let words = [
        &*port.to_string(),
        "--static-oauth-client-info",
        &file,
        "--static-oauth-client-metadata",
        r#"{"scope":"read write"}"#,
        "--authorize-param",
        "audience=https://api.example",
        "--resource",
        "urn:files",
        "--auth-timeout",
        "60",
    ];
    let mut host = Host::start_with(&rig, &words, &[("KEY", "c4nary-key")]);
    host.greet(json!({"elicitation": {"url": {}}})).await;

    host.ask(1, "tools/call", json!({"name": "hello"})).await;
    let page = host.hear().await;

    let url = page["params"]["url"].as_str().unwrap_or_else(|| panic!("{page}")).to_owned();
    let query = query(&url);
    assert_eq!(query["client_id"], "by-hand");
    assert_eq!(
        query["redirect_uri"],
        format!("http%3A%2F%2Flocalhost%3A{port}%2Foauth%2Fcallback")
    );
    assert_eq!(query["scope"], "read+write");
    assert_eq!(query["audience"], "https%3A%2F%2Fapi.example");
    assert_eq!(query["resource"], "urn%3Afiles");
    consent(&url).await;
    let answer = host.answer(1).await;
    assert!(answer["result"].is_object(), "{answer}");
    // This is `by-hand:c4nary-key`, in the form that the server wants by default.
    let secret = "Basic YnktaGFuZDpjNG5hcnkta2V5";
    assert!(rig.world.sent_to("one").contains(secret), "the secret was not sent");
    let said = host.leave().await;
    assert!(!said.contains("c4nary"), "{said}");
}

#[tokio::test]
async fn a_secret_that_others_can_read_is_warned_of_and_not_repeated() {
    let rig = Rig::new().await;
    let client = r#"{"client_id":"by-hand","client_secret":"c4nary-typed"}"#;
    let mut host = Host::start(&rig, &["--static-oauth-client-info", client, "--debug"]);
    host.greet(json!({})).await;
    let refused = host.asked(1, "tools/call", json!({"name": "hello"})).await;

    let said = host.leave().await;

    assert!(said.contains("others can read the secret"), "{said}");
    assert!(!said.contains("c4nary-typed") && !refused.to_string().contains("c4nary-typed"));
    assert!(refused.to_string().contains("--static-oauth-client-info ..."), "{refused}");
}

#[tokio::test]
async fn a_client_of_its_own_needs_nobody() {
    let rig = Rig::new().await;
    let client = r#"{"client_id":"by-hand","client_secret":"${KEY}"}"#;
    let words = ["--client-credentials", "--static-oauth-client-info", client];
    let mut host = Host::start_with(&rig, &words, &[("KEY", "c4nary-key")]);
    host.greet(json!({})).await;

    let answer = host.asked(1, "tools/call", json!({"name": "hello"})).await;

    assert!(answer["result"].is_object(), "{answer}");
    assert_eq!(rig.world.count("one", "/authorize"), 0);
}

#[tokio::test]
async fn what_cannot_be_meant_here_is_refused_with_what_to_use() {
    let rig = Rig::new().await;
    for (words, reason) in [
        (
            &["bridge", "SERVER", "--token-endpoint", "ftp://c4nary.example/"][..],
            "`token_endpoint`",
        ),
        (&["bridge", "SERVER", "c4nary"], "no port"),
        (&["bridge", "SERVER", "--static-oauth-client-info", "c4nary"], "must be a JSON object"),
        (&["bridge", "SERVER", "--static-oauth-client-info", "@c4nary"], "cannot be read"),
        (&["bridge", "SERVER", "--client-credentials"], "needs a client id"),
        (&["bridge", "SERVER", "--authorize-param", "state=c4nary"], "is ours to set"),
        (&["bridge", "SERVER", "--host", "c4nary.example"], "`127.0.0.1` or `localhost`"),
    ] {
        let ran = rig.run(words).await;

        assert_eq!(ran.code, Some(2), "{ran:?}");
        assert!(ran.err.contains(reason) && ran.err.contains("\n\nhint: "), "{ran:?}");
    }
    assert_eq!(rig.world.count("mcp", "/mcp"), 0);
}

/// A host of the binary.
struct Host {
    child: Child,
    input: ChildStdin,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Host {
    fn start(rig: &Rig, words: &[&str]) -> Self {
        Self::start_with(rig, words, &[])
    }

    fn start_with(rig: &Rig, words: &[&str], variables: &[(&str, &str)]) -> Self {
        let mut command = rig.command(&[&["bridge", "SERVER"][..], words].concat());
        command.envs(variables.iter().copied());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let input = child.stdin.take().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { child, input, lines }
    }

    async fn greet(&mut self, capabilities: Value) {
        let params = json!({
            "protocolVersion": "2025-11-25", "capabilities": capabilities,
            "clientInfo": {"name": "host", "version": "1"},
        });
        let greeting = self.asked(0, "initialize", params).await;
        assert!(greeting["result"].is_object(), "{greeting}");
        self.say(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).await;
    }

    async fn say(&mut self, message: &Value) {
        self.input.write_all(format!("{message}\n").as_bytes()).await.unwrap();
    }

    async fn ask(&mut self, id: u64, method: &str, params: Value) {
        let message = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        self.say(&message).await;
    }

    async fn asked(&mut self, id: u64, method: &str, params: Value) -> Value {
        self.ask(id, method, params).await;
        self.answer(id).await
    }

    /// Returns the answer to this request; earlier messages are skipped.
    async fn answer(&mut self, id: u64) -> Value {
        loop {
            let message = self.hear().await;
            if message["id"] == id && message["method"].is_null() {
                return message;
            }
        }
    }

    async fn hear(&mut self) -> Value {
        let line = timeout(Duration::from_secs(20), self.lines.next_line()).await;
        let line = line.expect("nothing was written").unwrap().expect("the bridge has ended");
        serde_json::from_str(&line).unwrap()
    }

    /// Leaves, and returns what the bridge showed to people.
    async fn leave(self) -> String {
        let Self { mut child, input, mut lines } = self;
        drop(input);
        while let Ok(Some(_)) = lines.next_line().await {}
        let mut said = String::new();
        child.stderr.take().unwrap().read_to_string(&mut said).await.unwrap();
        assert!(child.wait().await.unwrap().success(), "{said}");
        said
    }
}

/// Returns a port that was free a moment ago.
fn free_port() -> u16 {
    std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

fn query(url: &str) -> BTreeMap<String, String> {
    let pairs = url.split_once('?').unwrap().1.split('&').filter_map(|it| it.split_once('='));
    pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}
