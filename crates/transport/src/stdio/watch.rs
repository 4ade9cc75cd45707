//! The task that reads what a child writes until it ends, and then tells all that wait how it ended.
//!
//! Its stdout, its stderr and its process may end in any order. The last of them gets a second more than the
//! others: an answer written just before the end must be found, and a grandchild that holds a pipe must not
//! block the task.

use std::io;
use std::process::ExitStatus;
use std::sync::Arc;
use std::time::Duration;

use ridethrough_core::{Advice, Cause, Failure};
use tokio::io::AsyncRead;
use tokio::sync::{oneshot, watch};

use super::last_words::{LastWords, printable};
use super::lines::{Lines, NoLine};
use super::process::Process;
use crate::command::OnStrayLine;
use crate::size::Size;
use crate::switchboard::{Floods, Switchboard};

/// What the task needs.
pub(super) struct ChildWatch {
    /// The program's name, fit to be shown.
    pub(super) program: String,
    /// The longest line that is read.
    pub(super) limit: Size,
    pub(super) process: Arc<Process>,
    pub(super) board: Arc<Switchboard>,
    pub(super) over: watch::Sender<bool>,
    pub(super) on_stray_line: Option<OnStrayLine>,
}

/// Why nothing more is read.
enum Silence {
    /// Its stdout ended.
    End,
    /// It sent more questions than can be kept.
    Flood,
    /// It wrote a line that is too long to be kept, and it is unknown which call waits for it.
    TooLong,
}

impl ChildWatch {
    pub(super) async fn run(
        self,
        lines: Lines<impl AsyncRead + Unpin>,
        stderr: Option<impl AsyncRead + Unpin>,
        ended: oneshot::Receiver<io::Result<ExitStatus>>,
    ) {
        let (silent, is_silent) = watch::channel(false);
        let (dead, is_dead) = watch::channel(false);
        let mut words = LastWords::default();
        let reading = async {
            let mut noise = None;
            let silence = tokio::select! {
                silence = self.read(lines, &mut noise) => silence,
                () = a_second_after(is_dead.clone()) => Silence::End,
            };
            silent.send_replace(true);
            (silence, noise)
        };
        let dying = async {
            let status = self.await_end(ended, is_silent).await;
            dead.send_replace(true);
            status
        };
        let hearing = async {
            let Some(stderr) = stderr else { return };
            tokio::select! {
                () = words.listen(stderr, &self.program) => {}
                () = a_second_after(is_dead.clone()) => {}
            }
        };
        let ((silence, noise), status, ()) = tokio::join!(reading, dying, hearing);
        let mut failure = self.failure(&silence, status);
        let words = words.text(&self.program);
        for (what, words) in [(NOISE, noise.unwrap_or_default()), (LAST_WORDS, words)] {
            if !words.is_empty() {
                let detail = failure.detail.take().unwrap_or_default();
                failure = failure.with_detail(format!("{detail}; {what}: {words}"));
            }
        }
        self.board.close(&failure);
        self.over.send_replace(true);
    }

    /// Routes its lines until they end. Keeps the first line that is no JSON, because many programs print a
    /// greeting there.
    async fn read(
        &self,
        mut lines: Lines<impl AsyncRead + Unpin>,
        noise: &mut Option<String>,
    ) -> Silence {
        let silence = loop {
            match lines.next().await {
                Ok(line) => {
                    if noise.is_none() && !line.trim_ascii_start().starts_with(b"{") {
                        let words = printable(&line[..line.len().min(LONGEST_NOISE)]);
                        self.on_stray_line.iter().for_each(|tell| tell(&words));
                        *noise = Some(words);
                    }
                    if let Err(Floods) = self.board.route(line).await {
                        break Silence::Flood;
                    }
                }
                Err(NoLine::End) => return Silence::End,
                Err(NoLine::TooLong(Some(id))) if self.board.fail(id, &self.too_long()) => {}
                Err(NoLine::TooLong(_) | NoLine::WithoutEnd) => break Silence::TooLong,
            }
        };
        // The lost line may be an answer or a question, which must not be waited for in vain.
        self.process.kill();
        silence
    }

    /// Waits for the end of the process. Without a stdout it cannot answer, and is ended.
    async fn await_end(
        &self,
        mut ended: oneshot::Receiver<io::Result<ExitStatus>>,
        is_silent: watch::Receiver<bool>,
    ) -> Option<ExitStatus> {
        let status = tokio::select! {
            status = &mut ended => status,
            () = a_second_after(is_silent) => {
                self.process.kill();
                ended.await
            }
        };
        status.ok().and_then(Result::ok)
    }

    fn too_long(&self) -> Failure {
        Failure::unknown(Cause::TooLarge).with_detail(self.overlong())
    }

    fn overlong(&self) -> String {
        format!("`{}` wrote a line of more than {}", self.program, self.limit)
    }

    fn failure(&self, silence: &Silence, status: Option<ExitStatus>) -> Failure {
        let program = &self.program;
        match silence {
            Silence::Flood => {
                Failure::unknown(Cause::Flooded).with_detail(format!("`{program}` {FLOODS}"))
            }
            Silence::TooLong => self.too_long(),
            Silence::End => {
                let status = status.map(|status| format!(", {status}")).unwrap_or_default();
                Failure::unknown(Cause::Closed)
                    .with_detail(format!("`{program}` has ended{status}"))
                    .with_advice(Advice::RunProgram)
            }
        }
    }
}

async fn a_second_after(mut flag: watch::Receiver<bool>) {
    // The sender lives at least as long as this wait.
    let _ = flag.wait_for(|is_up| *is_up).await;
    tokio::time::sleep(LAST_GASP).await;
}

const NOISE: &str = "it printed what is no message";
const LAST_WORDS: &str = "its last words";
const LONGEST_NOISE: usize = 200;
const FLOODS: &str = "asked too many questions before its first answer";
/// How long the output of a dead server is read, and how long one may live on without its pipes.
pub(super) const LAST_GASP: Duration = Duration::from_secs(1);
