//! A client's process, whose output is read and of which nothing stays behind.
//!
//! It has a process group of its own and a mark in its environment, by which processes that it started are
//! found even if they left the group.

use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};
use tokio::process::{Child, ChildStderr, ChildStdout, Command};
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

use super::orphans::Kin;
use super::{End, Stderr};

/// A running client. Dropping it kills it and all processes that it started.
pub(super) struct Process {
    child: Child,
    kin: Kin,
    output: Output,
    stderr: JoinHandle<Stderr>,
}

impl Process {
    pub(super) fn start(
        words: &[OsString],
        url: &str,
        script: &Path,
        browser: Option<&Path>,
    ) -> io::Result<Self> {
        let [program, arguments @ ..] = words else {
            return Err(io::Error::new(io::ErrorKind::NotFound, "no words"));
        };
        let mut command = Command::new(program);
        command.args(arguments).arg(url).arg(script);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.kill_on_drop(true);
        for variable in PROXIES {
            // The server is on this machine; a proxy would be a fault that the scenario does not ask for.
            command.env_remove(variable).env_remove(variable.to_lowercase());
        }
        command.env("NO_PROXY", "127.0.0.1").env("no_proxy", "127.0.0.1");
        match browser {
            Some(browser) => command.env("BROWSER", browser),
            // The browser of the person at this machine stays closed.
            None => command.env("BROWSER", "true"),
        };
        let mark = Kin::mark(&mut command);
        let mut child = command.spawn()?;
        let kin = Kin::new(child.id(), mark);
        let missing = || io::Error::other("it has no output");
        let output = Output::new(child.stdout.take().ok_or_else(missing)?);
        let stderr = tokio::spawn(tail(child.stderr.take().ok_or_else(missing)?));
        Ok(Self { child, kin, output, stderr })
    }

    /// Passes every line of its output to `hear`, until it ends or the limit is over.
    pub(super) async fn listen(&mut self, limit: Duration, mut hear: impl FnMut(&str)) -> End {
        let listening = async {
            let status = loop {
                tokio::select! {
                    biased;
                    line = self.output.line() => match line {
                        Some(line) => hear(&line),
                        None => break self.child.wait().await,
                    },
                    status = self.child.wait() => break status,
                }
            };
            // What it wrote just before its end is still in the pipe. Another process may hold the pipe open
            // for ever.
            while let Ok(Some(line)) = timeout(AFTERMATH, self.output.line()).await {
                hear(&line);
            }
            match status {
                Ok(status) if status.success() => End::Finished,
                Ok(status) => End::Failed(status.to_string()),
                Err(error) => End::Failed(error.to_string()),
            }
        };
        timeout(limit, listening).await.unwrap_or(End::Stopped(limit))
    }

    /// Ends the processes that are left, and returns the last lines on stderr.
    pub(super) async fn end(mut self) -> Stderr {
        self.kin.kill();
        // It was killed, so its exit status says nothing.
        let _ = self.child.wait().await;
        tokio::select! {
            Ok(said) = &mut self.stderr => said,
            () = sleep(LAST_WORDS) => Stderr { text: UNHEARD.to_owned(), is_whole: false },
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kin.kill();
        self.stderr.abort();
    }
}

/// The output of a process, line by line.
struct Output {
    pipe: BufReader<ChildStdout>,
    /// The beginning of a line that is not complete yet.
    begun: Vec<u8>,
}

impl Output {
    fn new(pipe: ChildStdout) -> Self {
        Self { pipe: BufReader::new(pipe), begun: Vec::new() }
    }

    /// Reads one line, or the beginning of one that is longer than the limit; `None` at the end. Safe to
    /// cancel.
    async fn line(&mut self) -> Option<String> {
        let room = MOST_LINE.saturating_sub(self.begun.len());
        let mut limited = (&mut self.pipe).take(room as u64);
        // A pipe that fails has no more lines, like one that ended.
        let _ = limited.read_until(b'\n', &mut self.begun).await;
        if self.begun.is_empty() {
            return None;
        }
        let line = std::mem::take(&mut self.begun);
        Some(String::from_utf8_lossy(&line).trim_end_matches(['\n', '\r']).to_owned())
    }
}

/// Reads to the end, and keeps the last part; only a client that floods loses anything.
async fn tail(mut stderr: ChildStderr) -> Stderr {
    let (mut kept, mut is_whole) = (Vec::new(), true);
    let mut buffer = vec![0; 8 << 10];
    while let Ok(read @ 1..) = stderr.read(&mut buffer).await {
        kept.extend_from_slice(&buffer[..read]);
        if kept.len() > 2 * MOST_STDERR {
            kept.drain(..kept.len() - MOST_STDERR);
            is_whole = false;
        }
    }
    Stderr { text: String::from_utf8_lossy(&kept).into_owned(), is_whole }
}

const PROXIES: [&str; 3] = ["ALL_PROXY", "HTTPS_PROXY", "HTTP_PROXY"];
/// How long to wait for output that is written already.
const AFTERMATH: Duration = Duration::from_millis(300);
/// The most bytes of a line. The bound is high, because an answer of many megabytes may be reported whole.
const MOST_LINE: usize = 64 << 20;
const MOST_STDERR: usize = 8 << 20;
/// How long stderr may stay open after all known writers are dead.
const LAST_WORDS: Duration = Duration::from_secs(2);
const UNHEARD: &str = "[stderr was still open when the client was gone, and could not be read]";
