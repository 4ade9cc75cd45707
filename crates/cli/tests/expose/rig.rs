//! The binary with a server behind it, what it printed, and what is left of it.

use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use ridethrough::credentials::StaticToken;
use ridethrough::{Client, ClientBuilder, Era};
use rustix::process::{Pid, Signal, kill_process, test_kill_process};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio::process::{Child, Command};
use tokio::time::timeout;

/// A running `expose`. It does not outlive its test.
pub(crate) struct Rig {
    expose: Child,
    diary: PathBuf,
    pub(crate) url: String,
    /// The token; empty if none was printed.
    pub(crate) token: String,
    said: Arc<Mutex<String>>,
    rest: tokio::task::JoinHandle<String>,
}

impl Rig {
    pub(crate) async fn new(behaviour: Value) -> Self {
        Self::with(behaviour, &[], "").await
    }

    /// Starts `expose` with these flags, and with these words of shell before the server.
    pub(crate) async fn with(behaviour: Value, flags: &[&str], words: &str) -> Self {
        static NUMBER: AtomicUsize = AtomicUsize::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("expose-diary-{}-{number}", std::process::id());
        let diary = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
        // The file may be left from an earlier process with this number.
        let _ = std::fs::remove_file(&diary);
        let mut expose = binary()
            .args(["expose", "--listen", "127.0.0.1:0"])
            .args(flags)
            .args(["--", "sh", "-c"])
            .arg(format!("{words} exec \"$0\" \"$@\" 3>&1 >/dev/null"))
            .arg(std::env::current_exe().unwrap())
            .args(["child::serve", "--exact", "--ignored", "--nocapture", "--test-threads=1"])
            .env("CHILD_DIARY", &diary)
            .env("CHILD_BEHAVIOUR", behaviour.to_string())
            .env("EXPOSED_SECRET", SECRET)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdout = BufReader::new(expose.stdout.take().unwrap());
        let mut url = String::new();
        timeout(PATIENCE, stdout.read_line(&mut url)).await.unwrap().unwrap();
        let rest = tokio::spawn(async move {
            let mut rest = String::new();
            stdout.read_to_string(&mut rest).await.unwrap();
            rest
        });
        let said = Arc::<Mutex<String>>::default();
        let (heard, mut stderr) =
            (said.clone(), BufReader::new(expose.stderr.take().unwrap()).lines());
        tokio::spawn(async move {
            while let Ok(Some(line)) = stderr.next_line().await {
                heard.lock().unwrap().push_str(&format!("{line}\n"));
            }
        });
        let url = url.trim().to_owned();
        let mut rig = Self { expose, diary, url, token: String::new(), said, rest };
        rig.token = rig.told_token().await;
        rig
    }

    async fn told_token(&self) -> String {
        // The process prints the line after the token, or the line that says that there is none.
        self.eventually("it is ready", || {
            let said = self.said();
            said.contains("--bearer-env") || said.contains("there is no token")
        })
        .await;
        let said = self.said();
        let token = said.split_once("export EXPOSE_TOKEN=").map_or("", |(_, rest)| rest);
        token.lines().next().unwrap_or_default().to_owned()
    }

    pub(crate) fn client(&self) -> Client {
        self.builder(&self.url).build().unwrap()
    }

    /// Returns the builder of a client that has a session, and so a server of its own and streams that can be
    /// resumed.
    pub(crate) fn builder(&self, url: &str) -> ClientBuilder {
        self.builder_without_preference(url).prefer_era(Era::Legacy)
    }

    pub(crate) fn builder_without_preference(&self, url: &str) -> ClientBuilder {
        let builder = Client::builder(url).no_proxy();
        match self.token.as_str() {
            "" => builder,
            token => builder.credentials(StaticToken::new(token).unwrap()),
        }
    }

    pub(crate) fn said(&self) -> String {
        self.said.lock().unwrap().clone()
    }

    pub(crate) fn port(&self) -> u16 {
        let port = self.url.trim_start_matches("http://127.0.0.1:").trim_end_matches("/mcp");
        port.parse().unwrap()
    }

    /// Sends this text unchanged, and returns everything that comes back.
    pub(crate) async fn raw(&self, request: &str) -> String {
        let mut socket = TcpStream::connect(("127.0.0.1", self.port())).await.unwrap();
        socket.write_all(request.as_bytes()).await.unwrap();
        let mut answer = Vec::new();
        timeout(PATIENCE, socket.read_to_end(&mut answer)).await.unwrap().unwrap();
        String::from_utf8(answer).unwrap()
    }

    /// Asks for a session with these headers beside the usual ones.
    pub(crate) async fn greet(&self, headers: &str) -> String {
        let info = json!({"name": "t", "version": "1"});
        let params =
            json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": info});
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params})
            .to_string();
        self.post_with(headers, &body).await
    }

    /// Posts this with these headers beside the usual ones.
    async fn post_with(&self, headers: &str, body: &str) -> String {
        let length = body.len();
        self.raw(&format!(
            "POST /mcp HTTP/1.1\r\nconnection: close\r\ncontent-type: application/json\r\n\
             accept: application/json\r\ncontent-length: {length}\r\n{headers}\r\n{body}"
        ))
        .await
    }

    /// Begins a session of this revision.
    pub(crate) async fn session(&self, version: &str) -> String {
        let info = json!({"name": "t", "version": "1"});
        let params = json!({"protocolVersion": version, "capabilities": {}, "clientInfo": info});
        let message = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params});
        let token = format!("host: localhost\r\nauthorization: Bearer {}\r\n", self.token);
        let answer = self.post_with(&token, &message.to_string()).await;
        let session = answer.lines().find_map(|line| line.strip_prefix("mcp-session-id: "));
        session.unwrap_or_else(|| panic!("no session: {answer}")).to_owned()
    }

    /// Posts a message to a session and leaves the answer unread.
    pub(crate) async fn begin_to_post(&self, session: &str, message: &str) -> TcpStream {
        self.begin_to("application/json, text/event-stream", session, message).await
    }

    /// Posts a message to a session, accepts this media type only, and leaves the answer unread.
    pub(crate) async fn begin_to(&self, accept: &str, session: &str, message: &str) -> TcpStream {
        let mut socket = TcpStream::connect(("127.0.0.1", self.port())).await.unwrap();
        let head = format!(
            "POST /mcp HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {}\r\n\
             content-type: application/json\r\naccept: {accept}\r\nmcp-session-id: {session}\r\n\
             content-length: {}\r\n\r\n",
            self.token,
            message.len()
        );
        socket.write_all(head.as_bytes()).await.unwrap();
        socket.write_all(message.as_bytes()).await.unwrap();
        socket
    }

    /// Returns the most memory that the process has had at once, in bytes.
    pub(crate) fn most_memory(&self) -> u64 {
        let status = format!("/proc/{}/status", self.expose.id().unwrap());
        let status = std::fs::read_to_string(status).unwrap();
        let most = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
        most.trim().trim_end_matches(" kB").parse::<u64>().unwrap() * 1024
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(pid(self.expose.id().unwrap()), signal).unwrap();
    }

    /// Waits for the end of the process; returns how it ended, and its stdout besides the URL.
    pub(crate) async fn ended(&mut self) -> (ExitStatus, String) {
        let status = timeout(PATIENCE, self.expose.wait()).await.expect("it ends").unwrap();
        let rest = std::mem::replace(&mut self.rest, tokio::spawn(async { String::new() }));
        (status, rest.await.unwrap())
    }

    /// Returns the rest of each entry of the diary that has this beginning.
    pub(crate) fn entries(&self, beginning: &str) -> Vec<String> {
        let diary = std::fs::read_to_string(&self.diary).unwrap_or_default();
        diary.lines().filter_map(|line| line.strip_prefix(beginning)).map(str::to_owned).collect()
    }

    /// Returns the processes of this name, in the order in which they were started.
    pub(crate) fn pids(&self, name: &str) -> Vec<Pid> {
        let numbers = self.entries(&format!("{name} "));
        numbers.iter().map(|it| pid(it.parse().unwrap())).collect()
    }

    /// Returns the supervisor of the first server.
    pub(crate) fn supervisor(&self) -> Pid {
        parent_of(self.pids("start")[0])
    }

    pub(crate) async fn eventually(&self, what: &str, mut is_so: impl FnMut() -> bool) {
        let began = Instant::now();
        while !is_so() {
            assert!(began.elapsed() < PATIENCE, "never happened: {what}\n{}", self.said());
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}

impl Drop for Rig {
    fn drop(&mut self) {
        // The file is in the build's own directory, where it does no harm if it stays.
        let _ = std::fs::remove_file(&self.diary);
    }
}

/// Returns the command that runs the binary.
pub(crate) fn binary() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ridethrough"));
    command.stdin(Stdio::null()).kill_on_drop(true);
    // The cache of the person who runs the tests is not touched.
    command.env("XDG_CACHE_HOME", concat!(env!("CARGO_TARGET_TMPDIR"), "/expose-cache"));
    command
}

pub(crate) fn pid(number: u32) -> Pid {
    Pid::from_raw(number.try_into().unwrap()).unwrap()
}

fn parent_of(child: Pid) -> Pid {
    let parent = stat_of(child).unwrap();
    let parent = parent.rsplit(") ").next().unwrap().split(' ').nth(1).unwrap().to_owned();
    pid(parent.parse().unwrap())
}

fn stat_of(pid: Pid) -> Option<String> {
    // The name in it may not be valid text.
    let stat = std::fs::read(format!("/proc/{}/stat", pid.as_raw_nonzero())).ok()?;
    Some(String::from_utf8_lossy(&stat).into_owned())
}

/// Whether a process has ended; another process may have to reap it.
pub(crate) fn has_ended(pid: Pid) -> bool {
    let is_zombie =
        stat_of(pid).is_some_and(|stat| stat.rsplit(") ").next().unwrap().starts_with('Z'));
    is_zombie || test_kill_process(pid).is_err()
}

pub(crate) const SECRET: &str = "s3cret-of-the-environment";
/// The time limit of each wait: longer than anything takes on a busy machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(50);
