//! A contestant as a process: lines in, lines of JSON out.

use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde::Deserialize;
use serde::de::DeserializeOwned;

/// How a contestant is started: `program args… URL`.
#[derive(Clone, Debug)]
pub(crate) struct Contestant {
    /// Its name in tables and in the server's paths: letters, digits and hyphens.
    pub(crate) name: String,
    pub(crate) program: PathBuf,
    pub(crate) args: Vec<String>,
    /// By which factor it makes fewer calls in a round: an interpreter would delay all others.
    pub(crate) fewer: usize,
}

impl Contestant {
    pub(crate) fn new(name: impl Into<String>, program: impl Into<PathBuf>) -> Self {
        Self { name: name.into(), program: program.into(), args: Vec::new(), fewer: 1 }
    }

    /// Starts it and waits until it is connected.
    pub(crate) fn start(&self, url: &str) -> Result<Running> {
        let mut command = Command::new(&self.program);
        command.args(&self.args).arg(url);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let started = command.spawn();
        let mut child =
            started.with_context(|| format!("{} cannot be started", self.program.display()))?;
        let stdin = child.stdin.take().context("it has no stdin")?;
        let stdout = BufReader::new(child.stdout.take().context("it has no stdout")?);
        let (sender, lines) = mpsc::channel();
        thread::spawn(move || {
            for line in stdout.lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    break;
                }
            }
        });
        let mut running = Running { name: self.name.clone(), child, stdin, lines };
        let _: Ready = running.read().context("it does not connect")?;
        Ok(running)
    }

    /// Returns how many calls this one makes when the others make this many.
    pub(crate) fn share(&self, calls: usize) -> usize {
        (calls / self.fewer.max(1)).max(1)
    }
}

/// The line of a contestant that is connected.
#[derive(Deserialize)]
struct Ready {
    #[serde(rename = "ready")]
    _ready: bool,
}

/// The cost of a round of calls.
#[derive(Clone, Copy, Debug, Deserialize)]
pub(crate) struct Round {
    pub(crate) p50_us: f64,
    pub(crate) cpu_us: f64,
}

#[derive(Deserialize)]
struct Trouble {
    error: String,
}

/// A contestant that runs until it is dropped.
pub(crate) struct Running {
    name: String,
    child: Child,
    stdin: ChildStdin,
    lines: Receiver<String>,
}

impl Running {
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Makes it carry out calls, this many at a time.
    pub(crate) fn calls(&mut self, calls: usize, at_once: usize) -> Result<Round> {
        self.ask(&format!("calls {calls} {at_once}"))
    }

    /// Writes a line and waits for the answer.
    pub(crate) fn ask<T: DeserializeOwned>(&mut self, line: &str) -> Result<T> {
        self.say(line)?;
        self.read().with_context(|| format!("it was told `{line}`"))
    }

    pub(crate) fn say(&mut self, line: &str) -> Result<()> {
        writeln!(self.stdin, "{line}").with_context(|| format!("{} has ended", self.name))
    }

    /// Waits for its next line.
    pub(crate) fn read<T: DeserializeOwned>(&mut self) -> Result<T> {
        let name = &self.name;
        let line = match self.lines.recv_timeout(LONGEST) {
            Ok(line) => line,
            Err(RecvTimeoutError::Disconnected) => bail!("{name} ended without a word"),
            Err(RecvTimeoutError::Timeout) => bail!("{name} said nothing for {LONGEST:?}"),
        };
        if let Ok(Trouble { error }) = serde_json::from_str(&line) {
            bail!("{name} says: {error}");
        }
        serde_json::from_str(&line).with_context(|| format!("{name} says `{line}`"))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It may be gone already; how it ended does not matter.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The longest time for an answer: longer than anything that a contestant is asked to do.
const LONGEST: Duration = Duration::from_secs(120);
