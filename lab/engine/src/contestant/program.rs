//! A client that is a program: `CMD <url> <script.json>`.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use futures_util::future::{BoxFuture, try_join_all};
use tokio::time::Instant;

use super::browser_file::BrowserFile;
use super::process::Process;
use super::{Contestant, End, Performance, Stderr, Transcript};
use crate::adapter::Step;
use crate::carrier::Protocol;
use crate::mcp::Mcp;
use crate::scenario::ContestantKind;
use crate::server::Server;

/// A command to which a URL and the path of a script are added.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    words: Vec<OsString>,
    lead: Duration,
    kind: ContestantKind,
    browser: Option<Arc<BrowserFile>>,
}

/// Why a command line names no program.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoProgram {
    /// There are no words in it.
    #[error("the command is empty")]
    Empty,
    /// A quotation has no end.
    #[error("the command has a {0} without its other half")]
    Unclosed(char),
}

impl Program {
    /// Creates a program from its name and its first arguments.
    pub fn new(words: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Self {
        let words = words.into_iter().map(|word| word.as_ref().to_owned()).collect();
        Self { words, lead: Duration::ZERO, kind: ContestantKind::Client, browser: None }
    }

    /// Declares the program to be the host of a bridge that is put through the scenarios.
    #[must_use]
    pub fn before_a_bridge(self) -> Self {
        Self { kind: ContestantKind::Front, ..self }
    }

    /// Declares the program to be a client that asks every server for a session.
    #[must_use]
    pub fn asking_for_session(self) -> Self {
        Self { kind: ContestantKind::ClientWithSession, ..self }
    }

    /// Lets the program find these words in `BROWSER`, to log in by: they open the URL that is added to them.
    ///
    /// # Errors
    ///
    /// Fails if no file can be written for it.
    pub fn with_browser(self, words: &[&OsStr]) -> io::Result<Self> {
        let browser = Some(Arc::new(BrowserFile::write(words)?));
        Ok(Self { browser, ..self })
    }

    /// Measures how long the program takes to start while `at_once` of it start together, so that this time
    /// does not count against it; see [`Contestant::lead`].
    ///
    /// # Errors
    ///
    /// Returns what is wrong if the program cannot play even an empty script.
    pub async fn timed(self, at_once: usize, patience: Duration) -> Result<Self, String> {
        let idle = Step::Sleep { s: 0.0 };
        self.timed_by("http://127.0.0.1:1/mcp", idle, at_once, patience).await
    }

    /// Measures the start as [`timed`](Self::timed) does, for a host that starts a bridge when it connects:
    /// the time until a correct server has answered.
    ///
    /// # Errors
    ///
    /// Returns what is wrong if it cannot connect to such a server.
    pub async fn timed_as_bridge(self, at_once: usize, patience: Duration) -> Result<Self, String> {
        let server = Server::new(Protocol::Http1, Mcp::new());
        let address = server.listen().await.map_err(|error| error.to_string())?;
        let url = format!("http://{address}/mcp");
        self.timed_by(&url, Step::Initialize { bearer: None, login: None }, at_once, patience).await
    }

    async fn timed_by(
        mut self,
        url: &str,
        step: Step,
        at_once: usize,
        patience: Duration,
    ) -> Result<Self, String> {
        let script = [step];
        // The first start is not measured: it compiles something, or reads it from disk.
        self.start(url, &script, patience).await?;
        let starts = (0..at_once.max(1)).map(|_| self.start(url, &script, patience));
        self.lead = try_join_all(starts).await?.into_iter().max().unwrap_or_default();
        Ok(self)
    }

    async fn start(
        &self,
        url: &str,
        script: &[Step],
        patience: Duration,
    ) -> Result<Duration, String> {
        let performance = self.run(url, script, patience).await;
        let Performance { end, lines, stderr, elapsed_ms, .. } = performance;
        match (end, lines.first().and_then(|line| line.done.error.as_ref())) {
            (_, Some(error)) => Err(format!("its only step failed: {error} {stderr}")),
            (end, None) => Self::started(end, lines.len(), &stderr, elapsed_ms),
        }
    }

    fn started(end: End, lines: usize, stderr: &str, elapsed_ms: f64) -> Result<Duration, String> {
        match end {
            End::Finished if lines == 1 => Ok(Duration::from_secs_f64(elapsed_ms / 1e3)),
            End::NotStarted(why) => Err(why),
            End::Finished => Err(format!("it said nothing of its only step {stderr}")),
            End::Failed(how) => Err(format!("it ended with {how} {stderr}")),
            End::Stopped(limit) => Err(format!("it did not end in {} s", limit.as_secs())),
        }
    }

    /// Reads a command line as a shell would split it: words, quotes and backslashes, but no variables.
    ///
    /// # Errors
    ///
    /// Fails if there is no word, or a quote that is not closed.
    pub fn parse(command: &str) -> Result<Self, NoProgram> {
        split(command).map(Self::new)
    }

    /// Whether the program exists, in the folders of `PATH` or at its path.
    pub fn is_there(&self) -> bool {
        let Some(name) = self.words.first().map(Path::new) else { return false };
        if name.components().count() > 1 {
            return name.exists();
        }
        let folders = std::env::var_os("PATH").unwrap_or_default();
        std::env::split_paths(&folders).any(|folder| folder.join(name).is_file())
    }

    async fn run(&self, url: &str, script: &[Step], limit: Duration) -> Performance {
        let began = Instant::now();
        let mut transcript = Transcript::default();
        let started = ScriptFile::write(script).and_then(|file| {
            Ok((Process::start(&self.words, url, &file.0, self.browser())?, file))
        });
        let (mut process, _file) = match started {
            Ok(started) => started,
            Err(error) => {
                let end = End::NotStarted(self.reason(&error));
                return transcript.into_performance(end, Stderr::NONE, began);
            }
        };
        let end = process.listen(limit, |line| transcript.hear(line)).await;
        let stderr = process.end().await;
        transcript.into_performance(end, stderr, began)
    }

    fn browser(&self) -> Option<&Path> {
        self.browser.as_deref().map(BrowserFile::path)
    }

    fn reason(&self, error: &io::Error) -> String {
        let name = self.words.first().map(|word| word.to_string_lossy()).unwrap_or_default();
        match error.kind() {
            io::ErrorKind::NotFound => format!("there is no program `{name}`"),
            io::ErrorKind::PermissionDenied => format!("`{name}` may not be run"),
            _ => format!("`{name}`: {error}"),
        }
    }
}

impl Contestant for Program {
    fn perform<'a>(
        &'a self,
        url: &'a str,
        script: &'a [Step],
        limit: Duration,
    ) -> BoxFuture<'a, Performance> {
        Box::pin(self.run(url, script, limit))
    }

    fn lead(&self) -> Duration {
        self.lead
    }

    fn kind(&self) -> ContestantKind {
        self.kind
    }
}

/// A script on disk, for as long as its client runs.
struct ScriptFile(PathBuf);

impl ScriptFile {
    fn write(script: &[Step]) -> io::Result<Self> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("ridethrough-lab-{}-{number}.json", std::process::id());
        let file = Self(std::env::temp_dir().join(name));
        std::fs::write(&file.0, serde_json::to_vec_pretty(script)?)?;
        Ok(file)
    }
}

impl Drop for ScriptFile {
    fn drop(&mut self) {
        // A file that stays behind does no harm.
        let _ = std::fs::remove_file(&self.0);
    }
}

/// Splits a command line into words as a shell would; see [`Program::parse`].
///
/// # Errors
///
/// Fails if there is no word, or a quote that is not closed.
pub fn split(command: &str) -> Result<Vec<String>, NoProgram> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote: Option<char> = None;
    let mut letters = command.chars();
    while let Some(letter) = letters.next() {
        match (quote, letter) {
            (Some(open), _) if letter == open => quote = None,
            (None | Some('"'), '\\') => word.get_or_insert_default().extend(letters.next()),
            (Some(_), _) => word.get_or_insert_default().push(letter),
            (None, '\'' | '"') => {
                quote = Some(letter);
                word.get_or_insert_default();
            }
            (None, _) if letter.is_whitespace() => words.extend(word.take()),
            (None, _) => word.get_or_insert_default().push(letter),
        }
    }
    words.extend(word);
    match quote {
        Some(open) => Err(NoProgram::Unclosed(open)),
        None if words.is_empty() => Err(NoProgram::Empty),
        None => Ok(words),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_split_as_a_shell_would() {
        let words = split(r#"python3 -u "my client.py" --name 'a "b"' c\ d ''"#).unwrap();

        assert_eq!(words, ["python3", "-u", "my client.py", "--name", "a \"b\"", "c d", ""]);
    }

    #[test]
    fn a_command_without_words_or_ends_is_refused() {
        assert_eq!(Program::parse("  "), Err(NoProgram::Empty));
        assert_eq!(Program::parse("a 'b"), Err(NoProgram::Unclosed('\'')));
    }
}
