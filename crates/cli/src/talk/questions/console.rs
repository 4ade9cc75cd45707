//! The terminal on which a person is asked: prompts on stderr, lines from stdin, one question at a time.
//!
//! ```text
//!   closed ──open──▶ open ──ask──▶ a line, the end of input, or Ctrl-C
//! ```
//! What was typed before a question was shown is discarded: it cannot be meant as its answer.

use std::io;
use std::sync::mpsc as blocking;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use ridethrough_terminal::stderr::Terminal;
use tokio::sync::{MutexGuard, mpsc, oneshot};

use crate::platform;

/// A terminal with a person at it.
pub(super) struct Console {
    terminal: Arc<Terminal>,
    lines: tokio::sync::Mutex<Lines>,
    stop: Mutex<CtrlC>,
}

/// The handling of Ctrl-C.
#[derive(Default)]
struct CtrlC {
    /// Tells the open question of a Ctrl-C.
    open: Option<oneshot::Sender<()>>,
    /// Whether Ctrl-C has closed a question already: from then on it ends the command.
    is_used: bool,
}

/// A question that is being asked. No other is asked while it exists.
pub(super) struct Dialogue<'a> {
    console: &'a Console,
    lines: MutexGuard<'a, Lines>,
    stopped: oneshot::Receiver<()>,
    is_over: bool,
}

/// A person's reaction to a question.
#[derive(Debug)]
pub(super) enum PersonAnswer {
    /// The end of input.
    End,
    Line(String),
    /// Ctrl-C.
    Stop,
}

impl Console {
    pub(super) fn new(terminal: Arc<Terminal>) -> Self {
        Self { terminal, lines: tokio::sync::Mutex::default(), stop: Mutex::default() }
    }

    /// Begins a question, once no other is being asked.
    pub(super) async fn open(&self) -> Dialogue<'_> {
        let mut lines = self.lines.lock().await;
        lines.forget();
        let (open, stopped) = oneshot::channel();
        self.stop().open = Some(open);
        Dialogue { console: self, lines, stopped, is_over: false }
    }

    /// Handles Ctrl-C. Returns whether it closes the open question, which it does once.
    pub(super) fn stop_question(&self) -> bool {
        let mut stop = self.stop();
        let open = stop.open.take().filter(|_| !stop.is_used);
        let is_heard = open.is_some_and(|it| it.send(()).is_ok());
        stop.is_used |= is_heard;
        is_heard
    }

    fn stop(&self) -> std::sync::MutexGuard<'_, CtrlC> {
        // Each change is one assignment, so a poisoned lock holds a whole value.
        self.stop.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Dialogue<'_> {
    /// Writes the text and waits for a line.
    pub(super) async fn ask(&mut self, text: &str) -> PersonAnswer {
        let terminal = &self.console.terminal;
        terminal.ask(text);
        let heard = tokio::select! {
            biased;
            _ = &mut self.stopped => PersonAnswer::Stop,
            line = self.lines.next() => line.map_or(PersonAnswer::End, PersonAnswer::Line),
        };
        match heard {
            PersonAnswer::Line(_) => terminal.answered(),
            // The cursor is behind the prompt.
            PersonAnswer::End | PersonAnswer::Stop => terminal.clear(),
        }
        heard
    }

    /// Ends the question with a word on its outcome.
    pub(super) fn close(mut self, outcome: &str) {
        self.console.terminal.say(outcome);
        self.is_over = true;
    }
}

impl Drop for Dialogue<'_> {
    fn drop(&mut self) {
        self.console.stop().open = None;
        if !self.is_over {
            self.console.terminal.clear();
            self.console.terminal.say("the question is closed: its answer is not wanted any more");
        }
    }
}

/// Lines from stdin, read by a thread that ends with the process. Only lines that were asked for are read.
#[derive(Default)]
struct Lines {
    reader: Option<ConsoleReader>,
    /// Whether a line was asked for and has not come.
    is_waited_for: bool,
}

struct ConsoleReader {
    wanted: blocking::Sender<()>,
    read: mpsc::UnboundedReceiver<Option<String>>,
}

impl Lines {
    /// Returns the next line; `None` at the end of input.
    async fn next(&mut self) -> Option<String> {
        let reader = self.reader.get_or_insert_with(ConsoleReader::start);
        if !self.is_waited_for {
            reader.wanted.send(()).ok()?;
            self.is_waited_for = true;
        }
        let line = reader.read.recv().await;
        self.is_waited_for = false;
        line.flatten()
    }

    /// Discards what was typed so far.
    fn forget(&mut self) {
        platform::discard_typed();
        let Some(reader) = &mut self.reader else { return };
        while reader.read.try_recv().is_ok() {
            self.is_waited_for = false;
        }
    }
}

impl ConsoleReader {
    fn start() -> Self {
        let (wanted, wishes) = blocking::channel::<()>();
        let (lines, read) = mpsc::unbounded_channel();
        let reading = move || {
            for () in wishes {
                let mut line = String::new();
                // An error counts as the end of input.
                let is_line = io::stdin().read_line(&mut line).is_ok_and(|read| read > 0);
                let line = is_line.then(|| line.trim_end_matches(['\n', '\r']).to_owned());
                if lines.send(line).is_err() {
                    return;
                }
            }
        };
        // Without a thread the other ends of both channels are gone, and every question sees the end of
        // input.
        let _ = thread::Builder::new().name("lines".to_owned()).spawn(reading);
        Self { wanted, read }
    }
}
