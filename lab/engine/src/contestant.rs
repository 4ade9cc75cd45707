//! A client under test, which plays scripts and reports how each step ended.

use std::time::Duration;

use futures_util::future::BoxFuture;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::time::{Instant, timeout};

use crate::adapter::{Line, Step};
use crate::journal::millis;
use crate::scenario::ContestantKind;

mod browser_file;
mod orphans;
mod process;
mod program;

pub(crate) use orphans::Kin;
pub use program::{NoProgram, Program, split};

/// A client that can be put through a scenario.
pub trait Contestant: Send + Sync {
    /// Plays the script at the URL, for no longer than the limit. Whatever the client left running is ended
    /// then.
    fn perform<'a>(
        &'a self,
        url: &'a str,
        script: &'a [Step],
        limit: Duration,
    ) -> BoxFuture<'a, Performance>;

    /// Returns how long the client takes from its start until its first step.
    ///
    /// Times that a scenario counts from the start of the client are counted from there, and the limit is
    /// extended by it: an interpreter that loads its libraries is not a slow client.
    fn lead(&self) -> Duration {
        Duration::ZERO
    }

    /// Returns what it is, on which it depends which checks it is asked.
    fn kind(&self) -> ContestantKind {
        ContestantKind::Client
    }
}

/// What a client reported and how it ended.
#[derive(Clone, Debug)]
pub struct Performance {
    /// When it was started.
    pub began: Instant,
    /// What it reported.
    pub lines: Vec<Line>,
    /// When each of these lines was read.
    pub heard: Vec<Instant>,
    /// What else it printed on stdout, shortened.
    pub garbage: Vec<String>,
    /// How it ended.
    pub end: End,
    /// The last lines that it wrote to stderr.
    pub stderr: String,
    /// Everything that it printed; `None` if not all of it could be read.
    pub said: Option<String>,
    /// The time from its start to its end.
    pub elapsed_ms: f64,
}

/// The way in which a client ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// It ended by itself, with a failure, in these words.
    Failed(String),
    /// It ended by itself, after its last step.
    Finished,
    /// It never began, for this reason.
    NotStarted(String),
    /// It was stopped after this time.
    Stopped(Duration),
}

/// A client inside this process: a function that plays a script and sends its lines.
pub struct Inside<F>(pub F);

impl<F> Contestant for Inside<F>
where
    F: Fn(String, Vec<Step>, UnboundedSender<String>) -> BoxFuture<'static, ()> + Send + Sync,
{
    fn perform<'a>(
        &'a self,
        url: &'a str,
        script: &'a [Step],
        limit: Duration,
    ) -> BoxFuture<'a, Performance> {
        Box::pin(async move {
            let (said, mut heard) = unbounded_channel();
            let began = Instant::now();
            let mut transcript = Transcript::default();
            let playing = (self.0)(url.to_owned(), script.to_vec(), said);
            let listening = listen(playing, &mut heard, &mut transcript);
            let end = match timeout(limit, listening).await {
                Ok(()) => End::Finished,
                Err(_) => End::Stopped(limit),
            };
            while let Ok(line) = heard.try_recv() {
                transcript.hear(&line);
            }
            transcript.into_performance(end, Stderr::NONE, began)
        })
    }
}

/// Receives each line when it is sent, so that its time is known, until the client has ended.
async fn listen(
    mut playing: BoxFuture<'static, ()>,
    heard: &mut UnboundedReceiver<String>,
    transcript: &mut Transcript,
) {
    loop {
        tokio::select! {
            biased;
            Some(line) = heard.recv() => transcript.hear(&line),
            () = &mut playing => return,
        }
    }
}

/// The lines that a client prints, as they are read.
#[derive(Default)]
pub(crate) struct Transcript {
    lines: Vec<Line>,
    heard: Vec<Instant>,
    garbage: Vec<String>,
    said: String,
}

impl Transcript {
    pub(crate) fn hear(&mut self, text: &str) {
        if self.said.len() + text.len() > MOST_SAID {
            // A client that floods has failed already, so the rest is dropped.
            return self.garbage.extend((!self.is_flooded()).then(|| FLOODED.to_owned()));
        }
        self.said.push_str(text);
        self.said.push('\n');
        match serde_json::from_str(text) {
            Ok(line) => {
                self.lines.push(line);
                self.heard.push(Instant::now());
            }
            Err(_) if text.trim().is_empty() => {}
            Err(_) if self.garbage.len() < MOST_GARBAGE => self.garbage.push(beginning(text)),
            Err(_) => {}
        }
    }

    fn is_flooded(&self) -> bool {
        self.garbage.iter().any(|it| it == FLOODED)
    }

    fn into_performance(self, end: End, stderr: Stderr, began: Instant) -> Performance {
        let is_whole = stderr.is_whole && !self.is_flooded();
        let Self { lines, heard, garbage, mut said } = self;
        said.push_str(&stderr.text);
        let said = is_whole.then_some(said);
        let elapsed_ms = millis(began.elapsed());
        let stderr = last_lines(&stderr.text);
        Performance { began, lines, heard, garbage, end, stderr, said, elapsed_ms }
    }
}

/// What a client wrote to stderr.
#[derive(Debug)]
pub(crate) struct Stderr {
    text: String,
    /// Whether nothing of it was dropped.
    is_whole: bool,
}

impl Stderr {
    /// The stderr of a client that has none.
    const NONE: Self = Self { text: String::new(), is_whole: true };
}

/// Returns the beginning of a text, with printable characters only.
fn beginning(text: &str) -> String {
    text.chars().take(200).map(|it| if it.is_control() { ' ' } else { it }).collect()
}

fn last_lines(text: &str) -> String {
    let lines: Vec<_> = text.lines().collect();
    lines[lines.len().saturating_sub(MOST_LAST_LINES)..].join("\n")
}

const MOST_GARBAGE: usize = 5;
/// The most bytes of a client's output. The bound is high, because some scenarios have answers of many
/// megabytes.
const MOST_SAID: usize = 96 << 20;
const FLOODED: &str = "[more than 96 MiB, the rest was not read]";
const MOST_LAST_LINES: usize = 20;

#[cfg(test)]
mod tests;
