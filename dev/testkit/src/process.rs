//! Programs as processes: how they are started, spoken to and ended.

use std::net::TcpListener;
use std::path::Path;
use std::process::{Output, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::time::timeout;

/// Returns the variables that keep all files of a program of ours in one folder.
pub fn home(folder: &Path) -> [(&'static str, &Path); 5] {
    ["HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME"]
        .map(|name| (name, folder))
}

/// Returns a port of this machine that is free at the moment.
///
/// # Errors
///
/// Fails if there is none.
pub fn free_port() -> std::io::Result<u16> {
    Ok(TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port())
}

/// Sends a signal to a process, or to a group (`-1234`); returns whether there was one.
pub fn signal(name: &str, id: &str) -> bool {
    let kill = std::process::Command::new("kill")
        .args([&format!("-{name}"), "--", id])
        .stderr(Stdio::null())
        .status();
    kill.is_ok_and(|status| status.success())
}

/// Starts a program with these pipes. Dropping it kills it.
///
/// # Errors
///
/// Fails if there is no such program.
pub fn start(command: &mut Command, input: Stdio, output: Stdio, errors: Stdio) -> Result<Child> {
    let name = command.as_std().get_program().to_string_lossy().into_owned();
    let command = command.stdin(input).stdout(output).stderr(errors).kill_on_drop(true);
    command.spawn().with_context(|| format!("`{name}` does not start"))
}

/// Reads the URL that a program prints in its first line.
///
/// # Errors
///
/// Fails if it ends first, or prints nothing in this time.
pub async fn printed_url(child: &mut Child, within: Duration) -> Result<String> {
    let output = child.stdout.take().context("it has no output")?;
    let mut lines = BufReader::new(output).lines();
    match timeout(within, lines.next_line()).await {
        Ok(Ok(Some(url))) => Ok(url.trim().to_owned()),
        Ok(_) => bail!("it ended before it listened"),
        Err(_) => bail!("it did not listen within {within:?}"),
    }
}

/// What a run of a program came to.
#[derive(Debug)]
pub struct Ran {
    /// The exit code; `None` if a signal ended it.
    pub code: Option<i32>,
    /// What it printed.
    pub out: String,
    /// What it said to people.
    pub err: String,
}

impl From<Output> for Ran {
    fn from(output: Output) -> Self {
        let text = |bytes| String::from_utf8(bytes).expect("it prints UTF-8");
        Self { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
    }
}

impl Ran {
    /// Returns what it printed, as JSON.
    ///
    /// # Panics
    ///
    /// Panics if it is none.
    #[expect(clippy::panic, reason = "a test that reads something else has failed")]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// Returns everything that it printed.
    pub fn said(&self) -> String {
        format!("{}{}", self.out, self.err)
    }
}

/// A host and the server that it has started, which speak JSON-RPC in lines.
#[derive(Debug)]
pub struct LineHost {
    _child: Child,
    input: ChildStdin,
    output: Lines<BufReader<ChildStdout>>,
    last: u64,
}

impl LineHost {
    /// Starts a server.
    ///
    /// # Errors
    ///
    /// Fails if there is no such program.
    pub fn start(command: &mut Command) -> Result<Self> {
        let mut child = start(command, Stdio::piped(), Stdio::piped(), Stdio::null())?;
        let input = child.stdin.take().context("it has no input")?;
        let output = child.stdout.take().context("it has no output")?;
        Ok(Self { _child: child, input, output: BufReader::new(output).lines(), last: 0 })
    }

    /// Greets the server, in the last revision with sessions.
    ///
    /// # Errors
    ///
    /// Fails if it ends.
    pub async fn greet(&mut self, name: &str) -> Result<()> {
        let info = json!({"name": name, "version": "1"});
        let params =
            json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": info});
        self.ask("initialize", &params).await?;
        self.write(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).await
    }

    /// Asks something, and returns the whole answer. Everything else that comes meanwhile is passed over.
    ///
    /// # Errors
    ///
    /// Fails if the server ends.
    pub async fn ask(&mut self, method: &str, params: &Value) -> Result<Value> {
        self.last += 1;
        let id = self.last;
        let request = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        self.write(&request).await?;
        loop {
            let line = self.output.next_line().await?.context("the server ended")?;
            let message: Value = serde_json::from_str(&line)?;
            if message["id"] == id && message["method"].is_null() {
                return Ok(message);
            }
        }
    }

    async fn write(&mut self, message: &Value) -> Result<()> {
        self.input.write_all(format!("{message}\n").as_bytes()).await?;
        Ok(self.input.flush().await?)
    }
}
