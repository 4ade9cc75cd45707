//! A gateway in a process of its own, in a folder of its own, with shell scripts behind it.

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use ridethrough::credentials::StaticToken;
use ridethrough::{Client, Era};
use rustix::process::{Pid, Signal, kill_process, test_kill_process};
use serde_json::{Map, json};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, ChildStderr, Command};
use tokio::time::{sleep, timeout};

/// A folder with the files of one test.
pub(crate) struct Home(PathBuf);

impl Home {
    pub(crate) fn new() -> Self {
        static NUMBER: AtomicUsize = AtomicUsize::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("gateway-faults-{}-{number}", std::process::id());
        let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).unwrap();
        Self(folder)
    }

    /// Writes a config with these servers. Each is a name and a note; another note is another server.
    pub(crate) fn configure(&self, servers: &[(&str, &str)]) {
        let entry = |(name, note): &(&str, &str)| {
            let args = json!(["-c", SCRIPT, "server", name, note]);
            ((*name).to_owned(), json!({"command": "sh", "args": args}))
        };
        let servers: Map<_, _> = servers.iter().map(entry).collect();
        // Written beside it and moved, so that no half of it is ever read.
        let (next, path) = (self.0.join("next.json"), self.0.join("mcp.json"));
        std::fs::write(&next, json!({"mcpServers": servers}).to_string()).unwrap();
        std::fs::set_permissions(&next, std::fs::Permissions::from_mode(0o600)).unwrap();
        std::fs::rename(next, path).unwrap();
    }

    /// Returns the command of a gateway with these flags.
    pub(crate) fn gateway(&self, flags: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ridethrough"));
        command.args(["gateway", "--config", "mcp.json"]).args(flags).current_dir(&self.0);
        command.env("HOME", &self.0).env("TOKEN", TOKEN).kill_on_drop(true);
        for (name, folder) in [("XDG_STATE_HOME", "state"), ("XDG_CACHE_HOME", "cache")] {
            command.env(name, self.0.join(folder));
        }
        command
    }

    /// Starts a gateway at this address, and waits until it listens.
    pub(crate) async fn start(&self, address: &str) -> GatewayProcess {
        let mut command = self.gateway(&["--token-env", "TOKEN", "--listen", address]);
        let mut process = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut stdout = BufReader::new(process.stdout.take().unwrap());
        let mut url = String::new();
        timeout(PATIENCE, stdout.read_line(&mut url)).await.unwrap().unwrap();
        let told = BufReader::new(process.stderr.take().unwrap());
        GatewayProcess { process, told, url: url.trim().to_owned() }
    }

    /// The lines that the servers have written about themselves.
    pub(crate) fn notes(&self, what: &str) -> Vec<String> {
        let text = std::fs::read_to_string(self.0.join("notes")).unwrap_or_default();
        let notes = text.lines().filter_map(|line| line.strip_prefix(what));
        notes.map(|it| it.trim().to_owned()).collect()
    }

    /// The processes of the servers.
    pub(crate) fn servers(&self) -> Vec<Pid> {
        let pid = |text: String| Pid::from_raw(text.parse().unwrap()).unwrap();
        self.notes("start ").into_iter().map(pid).collect()
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        // A folder that stays behind harms nobody.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A gateway that runs until it is dropped.
pub(crate) struct GatewayProcess {
    pub(crate) process: Child,
    told: BufReader<ChildStderr>,
    pub(crate) url: String,
}

impl GatewayProcess {
    pub(crate) fn signal(&self, signal: Signal) {
        let pid = Pid::from_raw(i32::try_from(self.process.id().unwrap()).unwrap()).unwrap();
        kill_process(pid, signal).unwrap();
    }

    /// Has the config read again, and waits until that is told.
    pub(crate) async fn reload(&mut self) {
        self.signal(Signal::HUP);
        loop {
            let mut line = String::new();
            timeout(PATIENCE, self.told.read_line(&mut line)).await.unwrap().unwrap();
            assert!(!line.is_empty(), "it has ended");
            if line.contains("was read again") {
                return;
            }
        }
    }

    /// The address and the port, at which another may take its place.
    pub(crate) fn address(&self) -> String {
        self.url.trim_start_matches("http://").trim_end_matches("/mcp").to_owned()
    }

    pub(crate) fn client(&self, era: Era) -> Client {
        let token = StaticToken::new(TOKEN).unwrap();
        Client::builder(&self.url).eras(era).credentials(token).build().unwrap()
    }
}

/// Waits until something holds.
pub(crate) async fn eventually(what: &str, holds: impl Fn() -> bool) {
    let waiting = async {
        while !holds() {
            sleep(Duration::from_millis(20)).await;
        }
    };
    assert!(timeout(PATIENCE, waiting).await.is_ok(), "{what}");
}

/// Whether a process has ended; another process may have to reap it.
pub(crate) fn has_ended(process: Pid) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", process.as_raw_nonzero()));
    let is_zombie = stat.is_ok_and(|it| it.rsplit(") ").next().unwrap().starts_with('Z'));
    is_zombie || test_kill_process(process).is_err()
}

pub(crate) const ERAS: [Era; 2] = [Era::Legacy, Era::Modern];
pub(crate) const TOKEN: &str = "s3cret";
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// A server whose name is its first argument, with tools that answer at once, after two seconds, and never, or end it.
const SCRIPT: &str = r#"
echo "start $$" >> notes
while read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
  case "$line" in
    *'"initialize"'*) result='{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"sh","version":"1"}}' ;;
    *'"tools/list"'*) result='{"tools":[{"name":"echo","inputSchema":{"type":"object"}},{"name":"slow","inputSchema":{"type":"object"}},{"name":"hang","inputSchema":{"type":"object"}},{"name":"die","inputSchema":{"type":"object"}}]}' ;;
    *'"die"'*) echo "die $$" >> notes; exit 7 ;;
    *'"hang"'*) echo "hang $$" >> notes; sleep 1000 ;;
    *'"slow"'*) echo "slow $$" >> notes; sleep 2; result='{"content":[{"type":"text","text":"slow of '"$1"'"}]}' ;;
    *'"tools/call"'*) result='{"content":[{"type":"text","text":"hello of '"$1"'"}]}' ;;
    *) result='{}' ;;
  esac
  if [ -n "$id" ]; then printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$result"; fi
done
"#;
