//! `ridethrough gateway` as a person runs it: the built binary, real sockets, real processes. The servers
//! behind it are small shell scripts.

#![cfg(test)]

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Output, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio::process::{Child, Command};
use tokio::time::{sleep, timeout};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pasted_file_is_one_endpoint_and_an_edit_changes_what_it_changes() {
    let home = Home::new();
    home.write("mcp.json", &config(&["a", "b"]));
    let mut gateway = home.start(&["--config", "mcp.json", "--listen", "127.0.0.1:0"]).await;

    let token = home.path("state/ridethrough/gateway-token");
    assert_eq!(std::fs::metadata(&token).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(home.tools(&gateway.url).await, ["a_echo", "b_echo"]);
    assert_eq!(home.tools(&format!("{}/b", gateway.url)).await, ["echo"]);
    let called = home.run(&["call", &gateway.url, "a_echo", "--bearer-env", "TOKEN"]).await;
    assert!(text(&called.stdout).contains("hello of a"), "{called:?}");
    let refused = home.run(&["tools", &gateway.url]).await;
    assert_ne!(refused.status.code(), Some(0), "{refused:?}");
    assert!(get(&gateway.url, "/readyz").await.ends_with("ready"));

    home.write("mcp.json", "{ \"mcpServers\": {,} }");
    gateway.signal(Signal::HUP);
    sleep(Duration::from_millis(500)).await;
    assert_eq!(home.tools(&gateway.url).await, ["a_echo", "b_echo"], "a bad edit changes nothing");
    home.write("mcp.json", &config(&["a", "c"]));
    gateway.signal(Signal::HUP);
    for _ in 0..100 {
        if home.tools(&gateway.url).await == ["a_echo", "c_echo"] {
            break;
        }
        sleep(Duration::from_millis(100)).await;
    }
    assert_eq!(home.tools(&gateway.url).await, ["a_echo", "c_echo"]);

    gateway.signal(Signal::TERM);
    let ended = timeout(PATIENCE, gateway.process.wait()).await.unwrap().unwrap();
    assert_eq!(ended.code(), Some(143));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_host_that_starts_processes_has_all_servers_on_stdin_and_stdout() {
    let home = Home::new();
    home.write("mcp.json", &config(&["a", "b"]));
    let mut gateway = home.command(&["gateway", "--stdio", "--config", "mcp.json"]);
    let mut gateway = gateway.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut stdin = gateway.stdin.take().unwrap();
    let mut lines = BufReader::new(gateway.stdout.take().unwrap()).lines();
    let hello = json!({"protocolVersion": "2025-06-18", "capabilities": {},
        "clientInfo": {"name": "host", "version": "1"}});

    let mut answers = Vec::new();
    for (id, method, params) in [
        (1, "initialize", hello),
        (2, "tools/list", json!({})),
        (3, "tools/call", json!({"name": "b_echo"})),
    ] {
        let asked = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        stdin.write_all(format!("{asked}\n").as_bytes()).await.unwrap();
        let answer = timeout(PATIENCE, lines.next_line()).await.unwrap().unwrap().unwrap();
        answers.push(serde_json::from_str::<Value>(&answer).unwrap());
    }
    drop(stdin);
    let ended = timeout(PATIENCE, gateway.wait()).await.unwrap().unwrap();

    assert_eq!(answers[0]["result"]["protocolVersion"], "2025-06-18");
    assert_eq!(answers[1]["result"]["tools"].as_array().unwrap().len(), 2);
    assert_eq!(answers[2]["result"]["content"][0]["text"], "hello of b");
    assert_eq!(ended.code(), Some(0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_is_checked_without_starting_anything() {
    let home = Home::new();
    let program = json!({"command": "touch", "args": ["started"]});
    home.write("good.json", &json!({"mcpServers": {"a": program}}).to_string());
    home.write("bad.toml", "[servers.a]\nurl = 'https://a.example/mcp'\nplaces = 0\n");
    home.write("shared.json", &json!({"mcpServers": {"a": program}}).to_string());
    let others = std::fs::Permissions::from_mode(0o666);
    std::fs::set_permissions(home.path("shared.json"), others).unwrap();

    let good = home.run(&["gateway", "check", "--config", "good.json"]).await;
    let bad = home.run(&["gateway", "check", "--config", "bad.toml"]).await;
    let shared = home.run(&["gateway", "check", "--config", "shared.json"]).await;
    let nowhere = home.run(&["gateway", "check"]).await;

    assert_eq!((good.status.code(), text(&good.stdout)), (Some(0), "a: a program\n"));
    assert_eq!(bad.status.code(), Some(2));
    let said = text(&bad.stderr);
    assert!(said.contains("line 3, column 10: `places` must be a number, 1 to 10000"), "{said}");
    assert!(text(&shared.stderr).contains("others can write it"), "{shared:?}");
    assert_eq!((shared.status.code(), nowhere.status.code()), (Some(2), Some(2)));
    assert!(!home.path("started").exists());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_schema_takes_the_example_of_the_documents() {
    let home = Home::new();
    let page = include_str!("../../../docs/guides/gateway.md");
    let examples = page.split("```toml\n").skip(1).map(|it| it.split_once("```").unwrap().0);
    let example = &examples.collect::<Vec<_>>().join("\n");
    assert!(example.contains("[gateway.access.jwt]"), "all parts of the page");
    home.write("ridethrough.toml", example);
    let parsed: toml::Value = toml::from_str(example).unwrap();

    let schema = home.run(&["gateway", "schema"]).await;
    let schema: Value = serde_json::from_slice(&schema.stdout).unwrap();
    let checked = home
        .command(&["gateway", "check", "--config", "ridethrough.toml"])
        .env("ISSUES_TOKEN", "t")
        .output()
        .await
        .unwrap();

    let example = serde_json::to_value(parsed).unwrap();
    assert!(jsonschema::is_valid(&schema, &example));
    assert!(!jsonschema::is_valid(&schema, &json!({"servers": {"a": {"url": "u", "places": 0}}})));
    assert!(!jsonschema::is_valid(&schema, &json!({"servers": {"a": {}}})));
    let misspelt =
        json!({"gateway": {"access": {"principals": {"a": {"allow": "*", "readonly": true}}}}});
    assert!(!jsonschema::is_valid(&schema, &misspelt));
    assert_eq!(checked.status.code(), Some(0), "{checked:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn principals_have_tokens_of_their_own_and_see_what_they_may() {
    let home = Home::new();
    home.write("mcp.json", &with_access(&["a", "b"], &json!({"ada": {"allow": ["a"]}})));
    let added = home.run(&["gateway", "token", "add", "ada"]).await;
    let ada = text(&added.stdout).trim().to_owned();
    assert_eq!((added.status.code(), ada.len()), (Some(0), 64), "{added:?}");
    let kept = home.path("state/ridethrough/gateway-tokens.json");
    assert!(!std::fs::read_to_string(&kept).unwrap().contains(&ada), "only its hash is kept");
    assert_eq!(std::fs::metadata(&kept).unwrap().permissions().mode() & 0o777, 0o600);
    let listed = home.run(&["gateway", "token", "list"]).await;
    assert_eq!(text(&listed.stdout), "ada: 1 token\n");
    let checked = home.run(&["gateway", "check", "--config", "mcp.json"]).await;
    assert!(text(&checked.stdout).contains("ada: a principal with a token"), "{checked:?}");
    let gateway = home.start(&["--config", "mcp.json", "--listen", "127.0.0.1:0"]).await;

    assert_eq!(home.tools(&gateway.url).await, ["a_echo", "b_echo"]);
    assert_eq!(home.tools_by(&gateway.url, &ada).await, ["a_echo"]);
    let elsewhere = home.run_by(&["tools", &format!("{}/b", gateway.url)], &ada).await;
    assert!(text(&elsewhere.stderr).contains("404"), "{elsewhere:?}");
    let refused = home.run_by(&["call", &gateway.url, "b_echo", "--unchecked"], &ada).await;
    assert!(text(&refused.stderr).contains("there is no tool `b_echo` here"), "{refused:?}");

    home.write("mcp.json", &with_access(&["a", "b"], &json!({"ada": {"allow": {"b": ["e*"]}}})));
    gateway.signal(Signal::HUP);
    for _ in 0..100 {
        if home.tools_by(&gateway.url, &ada).await == ["b_echo"] {
            break;
        }
        sleep(Duration::from_millis(100)).await;
    }
    assert_eq!(home.tools_by(&gateway.url, &ada).await, ["b_echo"]);

    let session = begin_session(&gateway.url, &ada).await;
    assert_eq!(list_in(&gateway.url, &ada, &session).await, 200);
    home.run(&["gateway", "token", "remove", "ada"]).await;
    for _ in 0..100 {
        if list_in(&gateway.url, &ada, &session).await == 401 {
            break;
        }
        sleep(Duration::from_millis(100)).await;
    }
    assert_eq!(list_in(&gateway.url, &ada, &session).await, 401);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_id_of_one_principal_in_the_hands_of_another_is_404() {
    let home = Home::new();
    let access = json!({"ada": {"allow": "*"}, "bob": {"allow": "*"}});
    home.write("mcp.json", &with_access(&["a"], &access));
    let mut tokens = Vec::new();
    for name in ["ada", "bob"] {
        let added = home.run(&["gateway", "token", "add", name]).await;
        tokens.push(text(&added.stdout).trim().to_owned());
    }
    let gateway = home.start(&["--config", "mcp.json", "--listen", "127.0.0.1:0"]).await;
    let session = begin_session(&gateway.url, &tokens[0]).await;

    assert_eq!(list_in(&gateway.url, &tokens[0], &session).await, 200);
    assert_eq!(list_in(&gateway.url, &tokens[1], &session).await, 404);
    let owner = std::fs::read_to_string(home.path("state/ridethrough/gateway-token")).unwrap();
    assert_eq!(list_in(&gateway.url, owner.trim(), &session).await, 404);
    assert_eq!(list_in(&gateway.url, &tokens[0], &session).await, 200, "its owner still has it");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_owner_needs_no_token_on_a_socket_that_no_one_else_can_open() {
    let home = Home::new();
    home.write("mcp.json", &config(&["a"]));
    let path = home.path("s");
    let socket = path.to_str().unwrap();
    let mut gateway =
        home.start(&["--config", "mcp.json", "--listen", "127.0.0.1:0", "--socket", socket]).await;
    for _ in 0..100 {
        if path.exists() {
            break;
        }
        sleep(Duration::from_millis(20)).await;
    }

    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    let asked = request("localhost", "", "", &HELLO.replace("VERSION", "2025-11-25"));
    let mut connection = tokio::net::UnixStream::connect(&path).await.unwrap();
    connection.write_all(asked.as_bytes()).await.unwrap();
    let mut answer = String::new();
    timeout(PATIENCE, connection.read_to_string(&mut answer)).await.unwrap().unwrap();
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    let flags = ["gateway", "--config", "mcp.json", "--listen", "127.0.0.1:0", "--socket", socket];
    let second = home.run(&flags).await;
    assert_eq!(second.status.code(), Some(2), "{second:?}");
    assert!(text(&second.stderr).contains("another process listens on it"), "{second:?}");

    gateway.signal(Signal::TERM);
    timeout(PATIENCE, gateway.process.wait()).await.unwrap().unwrap();
    assert!(!path.exists());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_door_without_tokens_is_not_opened_beside_settings_that_need_them() {
    let home = Home::new();
    let server = "[servers.a]\nurl = \"https://a.example/mcp\"\n";
    for (settings, said) in [
        ("[gateway]\nlogin_needs_token = true\n", "nobody could log in"),
        ("[gateway.access.principals.me]\nallow = \"*\"\n", "would let everybody do everything"),
    ] {
        home.write("ridethrough.toml", &format!("{settings}{server}"));
        let flags =
            ["gateway", "--config", "ridethrough.toml", "--listen", "127.0.0.1:0", "--no-token"];
        let refused = home.run(&flags).await;

        assert_eq!(refused.status.code(), Some(2), "{refused:?}");
        assert!(text(&refused.stderr).contains(said), "{refused:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_example_of_a_config_is_one_as_it_stands() {
    let home = Home::new();
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/examples");
    let examples: Vec<_> =
        std::fs::read_dir(folder).unwrap().map(|it| it.unwrap().path()).collect();
    assert_eq!(examples.len(), 3, "{examples:?}");

    for path in examples {
        let name = path.file_name().unwrap().to_str().unwrap();
        home.write(name, &std::fs::read_to_string(&path).unwrap());
        let checked = home
            .command(&["gateway", "check", "--config", name])
            .envs([("ISSUES_TOKEN", "t"), ("SEARCH_TOKEN", "t")])
            .output()
            .await
            .unwrap();

        assert_eq!(checked.status.code(), Some(0), "{name}: {checked:?}");
        assert!(text(&checked.stdout).lines().count() >= 2, "{name}: {checked:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_person_approves_is_back_without_a_restart() {
    let home = Home::new();
    let definition = |text: &str| {
        let tool = json!({"name": "echo", "description": text, "inputSchema": {"type": "object"}});
        home.write("tools", &tool.to_string());
    };
    definition("harmless");
    let args = json!(["-c", SCRIPT, "server", "a", home.path("tools")]);
    let server = json!({"command": "sh", "args": args, "pin": true});
    home.write("mcp.json", &json!({"mcpServers": {"a": server}}).to_string());
    let gateway = home.start(&["--config", "mcp.json", "--listen", "127.0.0.1:0"]).await;

    let first = home.tools(&gateway.url).await;
    definition("sends your files away");
    let withheld = home.tools_become(&gateway.url, &[]).await;
    let approved = home.run(&["gateway", "approve", "a"]).await;
    let back = home.tools_become(&gateway.url, &["a_echo"]).await;
    definition("something else again");
    let again = home.tools_become(&gateway.url, &[]).await;

    assert_eq!(first, ["a_echo"]);
    assert!(withheld, "a definition that changed is withheld");
    assert_eq!(approved.status.code(), Some(0), "{approved:?}");
    assert!(back, "it is approved as it is");
    assert!(again, "and no other definition is");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn status_shows_the_gateway_and_each_of_its_servers() {
    let home = Home::new();
    let mut servers: Value = serde_json::from_str(&config(&["a", "idle"])).unwrap();
    // Nobody listens there.
    servers["mcpServers"]["gone"] = json!({"url": "http://127.0.0.1:9/mcp", "share": "all"});
    servers["mcpServers"]["a"]["share"] = json!("all");
    home.write("mcp.json", &servers.to_string());
    let gateway = home.start(&["--config", "mcp.json", "--listen", "127.0.0.1:0"]).await;
    home.run(&["call", &format!("{}/a", gateway.url), "echo", "--bearer-env", "TOKEN"]).await;
    let gone = format!("{}/gone", gateway.url);
    let call = ["call", &gone, "nothing", "--bearer-env", "TOKEN", "--timeout", "1", "--unchecked"];
    home.run(&call).await;

    let json = home.run(&["status", "--json"]).await;
    let words = home.run(&["status"]).await;

    let seen: Value = serde_json::from_slice(&json.stdout).unwrap();
    let seen = &seen[0];
    assert_eq!(seen["gateway"], gateway.url.as_str(), "{seen}");
    assert_eq!(seen["pid"], json!(gateway.process.id().unwrap()));
    let by_name = |name: &str| {
        let all = seen["upstreams"].as_array().unwrap();
        all.iter().find(|it| it["name"] == name).unwrap().clone()
    };
    let (a, idle, gone) = (by_name("a"), by_name("idle"), by_name("gone"));
    assert_eq!((&a["state"], &a["era"]), (&json!("ready"), &json!("legacy")), "{a}");
    assert_eq!((&a["revision"], &a["links"]), (&json!("2025-11-25"), &json!(1)), "{a}");
    assert!(a["sessionAgeMs"].is_u64() && a["inFlight"] == 0, "{a}");
    assert_eq!(idle["state"], "idle", "{idle}");
    assert_eq!(gone["state"], "connecting", "{gone}");
    assert!(gone["lastError"].is_string(), "{gone}");
    let words = text(&words.stdout);
    assert!(words.contains(&format!("gateway at {}", gateway.url)), "{words}");
    assert!(words.contains("  a ") && words.contains("1 (2025-11-25)"), "{words}");
    assert!(words.contains("last error "), "{words}");
}

/// A folder of a test's own, in which everything is kept.
struct Home(PathBuf);

struct Started {
    process: Child,
    url: String,
}

impl Home {
    fn new() -> Self {
        static NUMBER: AtomicUsize = AtomicUsize::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("gateway-{}-{number}", std::process::id());
        let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).unwrap();
        Self(folder)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.path(name), text).unwrap();
        std::fs::set_permissions(self.path(name), std::fs::Permissions::from_mode(0o600)).unwrap();
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ridethrough"));
        command.args(words).current_dir(&self.0).env("HOME", &self.0).kill_on_drop(true);
        for (name, folder) in [
            ("XDG_CONFIG_HOME", "config"),
            ("XDG_STATE_HOME", "state"),
            ("XDG_CACHE_HOME", "cache"),
        ] {
            command.env(name, self.path(folder));
        }
        let token = std::fs::read_to_string(self.path("state/ridethrough/gateway-token"));
        command.env("TOKEN", token.unwrap_or_default().trim());
        command
    }

    async fn run(&self, words: &[&str]) -> Output {
        timeout(PATIENCE, self.command(words).output()).await.unwrap().unwrap()
    }

    async fn start(&self, flags: &[&str]) -> Started {
        let mut command = self.command(&["gateway"]);
        let mut process = command.args(flags).stdout(Stdio::piped()).spawn().unwrap();
        let mut stdout = BufReader::new(process.stdout.take().unwrap());
        let mut url = String::new();
        timeout(PATIENCE, stdout.read_line(&mut url)).await.unwrap().unwrap();
        Started { process, url: url.trim().to_owned() }
    }

    /// Runs the binary with this token.
    async fn run_by(&self, words: &[&str], token: &str) -> Output {
        let mut command = self.command(words);
        command.args(["--bearer-env", "TOKEN"]).env("TOKEN", token);
        timeout(PATIENCE, command.output()).await.unwrap().unwrap()
    }

    /// Waits until these are the names of the tools at a URL.
    async fn tools_become(&self, url: &str, names: &[&str]) -> bool {
        for _ in 0..100 {
            if self.tools(url).await == names {
                return true;
            }
            sleep(Duration::from_millis(200)).await;
        }
        false
    }

    /// The names of the tools at a URL.
    async fn tools(&self, url: &str) -> Vec<String> {
        let token = std::fs::read_to_string(self.path("state/ridethrough/gateway-token"));
        self.tools_by(url, token.unwrap().trim()).await
    }

    /// The names of the tools that a principal is shown.
    async fn tools_by(&self, url: &str, token: &str) -> Vec<String> {
        let listed = self.run_by(&["tools", url, "--json"], token).await;
        let listed: Value = serde_json::from_slice(&listed.stdout)
            .unwrap_or_else(|error| panic!("{error}: {listed:?}"));
        let tools = listed["tools"].as_array().or_else(|| listed.as_array()).unwrap();
        tools.iter().map(|it| it["name"].as_str().unwrap().to_owned()).collect()
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        // A folder that stays behind harms nobody.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

impl Started {
    fn signal(&self, signal: Signal) {
        let pid = Pid::from_raw(i32::try_from(self.process.id().unwrap()).unwrap()).unwrap();
        kill_process(pid, signal).unwrap();
    }
}

/// The body of an answer to a GET without a token.
async fn get(url: &str, path: &str) -> String {
    let host = url.trim_start_matches("http://").trim_end_matches("/mcp");
    let mut connection = TcpStream::connect(host).await.unwrap();
    let asked = format!("GET {path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n");
    connection.write_all(asked.as_bytes()).await.unwrap();
    let mut answer = String::new();
    timeout(PATIENCE, connection.read_to_string(&mut answer)).await.unwrap().unwrap();
    answer
}

/// Begins a session, and returns its id.
async fn begin_session(url: &str, token: &str) -> String {
    let answer = post(url, token, "", &HELLO.replace("VERSION", "2025-11-25")).await;
    let lower = answer.to_ascii_lowercase();
    let at = lower.find("mcp-session-id: ").unwrap_or_else(|| panic!("{answer}"));
    answer[at + 16..].lines().next().unwrap().trim().to_owned()
}

/// Lists tools in a session, and returns the status.
async fn list_in(url: &str, token: &str, session: &str) -> u16 {
    let asked = r#"{"jsonrpc":"2.0","id":2,"method":"tools/list"}"#;
    let answer = post(url, token, &format!("mcp-session-id: {session}\r\n"), asked).await;
    answer.split(' ').nth(1).unwrap().parse().unwrap()
}

async fn post(url: &str, token: &str, headers: &str, body: &str) -> String {
    let host = url.trim_start_matches("http://").trim_end_matches("/mcp");
    let mut connection = TcpStream::connect(host).await.unwrap();
    let asked = request(host, token, headers, body);
    connection.write_all(asked.as_bytes()).await.unwrap();
    let mut answer = String::new();
    timeout(PATIENCE, connection.read_to_string(&mut answer)).await.unwrap().unwrap();
    answer
}

fn request(host: &str, token: &str, headers: &str, body: &str) -> String {
    let shown =
        if token.is_empty() { String::new() } else { format!("authorization: Bearer {token}\r\n") };
    let length = body.len();
    format!(
        "POST /mcp HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\ncontent-length: {length}\r\n\
         content-type: application/json\r\naccept: application/json\r\n{shown}{headers}\r\n{body}"
    )
}

/// The file of a host with these servers, and who may use them.
fn with_access(names: &[&str], principals: &Value) -> String {
    let mut file: Value = serde_json::from_str(&config(names)).unwrap();
    file["gateway"]["access"]["principals"] = principals.clone();
    file.to_string()
}

/// The file of a host with these servers.
fn config(names: &[&str]) -> String {
    let server = |name: &&str| {
        let entry = json!({"command": "sh", "args": ["-c", SCRIPT, "server", name]});
        ((*name).to_owned(), entry)
    };
    json!({"mcpServers": names.iter().map(server).collect::<serde_json::Map<_, _>>()}).to_string()
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

/// A server with one tool, whose name is its first argument. The definition of the tool may be in a file.
const SCRIPT: &str = r#"
TOOL='{"name":"echo","inputSchema":{"type":"object"}}'
while read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
  case "$line" in
    *'"initialize"'*) result='{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"sh","version":"1"}}' ;;
    *'"tools/list"'*) if [ -n "$2" ]; then TOOL=$(cat "$2"); fi; result='{"tools":['"$TOOL"']}' ;;
    *'"tools/call"'*) result='{"content":[{"type":"text","text":"hello of '"$1"'"}]}' ;;
    *) result='{}' ;;
  esac
  if [ -n "$id" ]; then printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$result"; fi
done
"#;

const HELLO: &str = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"VERSION","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}"#;
const PATIENCE: Duration = Duration::from_secs(60);
