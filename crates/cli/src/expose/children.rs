//! Starts a server for each session: this program again, as its supervisor.

use std::ffi::OsString;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result};
use ridethrough_expose::{BoxFuture, Child, Obituary, Start};
use tokio::net::unix::pipe;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::last_words::{self, LastWords};
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
        let listening = tokio::spawn(last_words::listen(pipe, move |line| {
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

/// How long to wait for output that is already written.
const AFTERMATH: Duration = Duration::from_millis(300);

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
}
