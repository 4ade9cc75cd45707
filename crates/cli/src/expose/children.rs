//! Starts a server for each session: this program again, as its supervisor.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result};
use ridethrough_bridge::harmless;
use ridethrough_expose::{BoxFuture, Child, Obituary, Start};
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, BufReader};
use tokio::net::unix::pipe;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::process::{self, Started};
use super::voice::Voice;

/// How servers are started.
pub(super) struct Children {
    /// The path of this program.
    ourselves: PathBuf,
    name: String,
    command: Vec<OsString>,
    /// The variable that holds the token, which is removed from the server's environment.
    secret: Option<String>,
    /// Shows what servers write to stderr.
    voice: Option<Voice>,
}

impl Children {
    pub(super) fn new(
        name: &str,
        command: &[OsString],
        secret: Option<&str>,
        voice: Option<Voice>,
    ) -> Result<Self> {
        let ourselves = std::env::current_exe().context("this program does not find itself")?;
        let (name, command) = (name.to_owned(), command.to_vec());
        Ok(Self { ourselves, name, command, secret: secret.map(str::to_owned), voice })
    }

    fn command(&self) -> Command {
        let mut command = Command::new(&self.ourselves);
        command.arg("supervise").arg("--").args(&self.command);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        if let Some(secret) = &self.secret {
            command.env_remove(secret);
        }
        command
    }
}

impl Start for Children {
    fn start(&self) -> BoxFuture<'_, io::Result<Child>> {
        Box::pin(async {
            let Started { group, stdin, stdout, stderr, ended } =
                process::start(self.command()).await?;
            let stderr = pipe::Receiver::from_owned_fd(stderr.into())?;
            let stderr = Stderr::listen(stderr, self.voice.clone());
            let ended = async move {
                // Dropping this future kills the process group.
                let _group = group;
                let status =
                    ended.await.unwrap_or_else(|_| Err(io::Error::other("nobody knows how")));
                Obituary { status: told(status), last_words: stderr.last_words().await }
            };
            Ok(Child {
                stdin: Box::new(pipe::Sender::from_owned_fd(OwnedFd::from(stdin))?),
                stdout: Box::new(pipe::Receiver::from_owned_fd(OwnedFd::from(stdout))?),
                ended: Box::pin(ended),
            })
        })
    }

    fn name(&self) -> &str {
        &self.name
    }
}

/// A stderr that is being read.
struct Stderr {
    words: Arc<Mutex<LastWords>>,
    listening: JoinHandle<()>,
}

impl Stderr {
    fn listen(pipe: pipe::Receiver, voice: Option<Voice>) -> Self {
        let words = Arc::<Mutex<LastWords>>::default();
        let heard = words.clone();
        let listening = tokio::spawn(listen(pipe, move |line| {
            heard.lock().unwrap_or_else(PoisonError::into_inner).hear(line);
            if let Some(voice) = &voice {
                voice.tell(&format!("| {line}"));
            }
        }));
        Self { words, listening }
    }

    /// Returns the last lines that were written. A process that left the group may hold the pipe open for
    /// ever, so the wait is bounded.
    async fn last_words(mut self) -> Vec<String> {
        let _ = timeout(AFTERMATH, &mut self.listening).await;
        self.words.lock().unwrap_or_else(PoisonError::into_inner).to_vec()
    }
}

impl Drop for Stderr {
    fn drop(&mut self) {
        self.listening.abort();
    }
}

/// Returns how the server ended, as its supervisor reports it: 128 and more is a signal.
fn told(status: io::Result<ExitStatus>) -> String {
    match status {
        Err(error) => error.to_string(),
        Ok(status) => match (status.code(), status.signal()) {
            (Some(code @ 129..=192), _) => format!("signal: {}", code - 128),
            (Some(code), _) => format!("exit status: {code}"),
            (None, Some(signal)) => format!("its supervisor was killed by signal {signal}"),
            (None, None) => status.to_string(),
        },
    }
}

/// The last lines, oldest first, without characters that control a terminal.
#[derive(Debug, Default)]
struct LastWords {
    lines: VecDeque<String>,
    bytes: usize,
}

impl LastWords {
    fn hear(&mut self, line: &str) {
        let line = line.to_owned();
        self.bytes += line.len();
        self.lines.push_back(line);
        while self.lines.len() > MOST_LINES || self.bytes > MOST_BYTES {
            let Some(oldest) = self.lines.pop_front() else { break };
            self.bytes -= oldest.len();
        }
    }

    fn to_vec(&self) -> Vec<String> {
        self.lines.iter().cloned().collect()
    }
}

/// Reads a stderr to its end, line by line, and cuts long lines.
async fn listen(stderr: impl AsyncRead + Unpin, mut hear: impl FnMut(&str)) {
    let mut stderr = BufReader::new(stderr);
    loop {
        let mut line = Vec::new();
        let mut limited = (&mut stderr).take(MOST_LINE);
        if !matches!(limited.read_until(b'\n', &mut line).await, Ok(1..)) {
            return;
        }
        let text = String::from_utf8_lossy(&line);
        let text = harmless(text.trim_end());
        if !text.is_empty() {
            hear(&text);
        }
    }
}

/// How long to wait for output that is already written.
const AFTERMATH: Duration = Duration::from_millis(300);
const MOST_LINES: usize = 20;
const MOST_BYTES: usize = 4096;
/// The most bytes of a line; a longer one becomes several.
const MOST_LINE: u64 = 1024;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_end_is_told_as_that_of_the_server() {
        let ended = |raw| told(Ok(ExitStatus::from_raw(raw)));

        assert_eq!(ended(7 << 8), "exit status: 7");
        assert_eq!(ended((128 + 9) << 8), "signal: 9");
        assert_eq!(ended(9), "its supervisor was killed by signal 9");
    }

    #[test]
    fn the_servers_environment_has_everything_but_the_token() {
        let children = Children::new("x", &["x".into()], Some("TOKEN"), None).unwrap();

        let command = children.command();

        let changed: Vec<_> = command.get_envs().collect();
        assert_eq!(changed, [("TOKEN".as_ref(), None)]);
    }

    #[tokio::test]
    async fn the_last_lines_are_kept_and_no_more_than_4_kib() {
        let hundred: String = (0..100).map(|number| format!("line {number}\n")).collect();
        let long = format!("{0}\n{0}\n{0}\n{0}\n{0}\nlast\n", "x".repeat(1000));

        let (many, long) = (heard(hundred.as_bytes()).await, heard(long.as_bytes()).await);

        assert_eq!((many.len(), &*many[0], &*many[19]), (20, "line 80", "line 99"));
        assert_eq!((long.len(), &*long[4]), (5, "last"));
    }

    #[tokio::test]
    async fn nothing_in_them_can_move_a_terminal() {
        let heard = heard(&b"\x1b[31mred\r\n\n\xff end"[..]).await;

        assert_eq!(heard, ["\u{fffd}[31mred", "\u{fffd} end"]);
    }

    async fn heard(stderr: &[u8]) -> Vec<String> {
        let mut words = LastWords::default();
        listen(stderr, |line| words.hear(line)).await;
        words.to_vec()
    }
}
