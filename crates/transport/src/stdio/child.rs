//! One local server: its child process, its pipes, and all that wait for its lines.
//!
//! It lives until its stdout or its process ends; then all that wait are told how it ended, with the last
//! lines of its stderr. It is never started again: that is another child.
//!
//! ```text
//!   Speaking ──stdout or process ends, or it breaks a rule──▶ Over (with a failure)
//!       └──end()──▶ stdin closed ──2 s──▶ SIGTERM ──1.5 s──▶ SIGKILL ──▶ Over
//! ```

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use ridethrough_core::{Advice, Cause, Delivery, Failure};
use tokio::io::AsyncWrite;
use tokio::sync::{mpsc, watch};
use tokio::task::AbortHandle;
use tokio::time::{Instant, sleep, timeout};

use super::lines::{Lines, OutgoingLine, Unsent, letter, write_letters};
use super::process::{self, Process, Started};
use super::watch::{ChildWatch, LAST_GASP};
use crate::command::Command;
use crate::size::Size;
use crate::switchboard::{Awaited, Deliveries, FRAME, Switchboard};

/// A server that runs as a child process. Dropping it kills it.
pub(super) struct Child {
    pub(super) number: u64,
    pub(super) born: Instant,
    /// Whether it has answered a handshake.
    greeted: AtomicBool,
    process: Arc<Process>,
    board: Arc<Switchboard>,
    letters: mpsc::Sender<OutgoingLine>,
    writer: AbortHandle,
    watcher: AbortHandle,
    over: watch::Receiver<bool>,
}

impl Child {
    /// Starts a server. Fails if the program cannot be started; one that dies at once has been started.
    pub(super) async fn start(
        command: &Command,
        number: u64,
        message_limit: usize,
    ) -> Result<Arc<Self>, Failure> {
        let failed = |error: io::Error| not_started(command, &error);
        let Started { process, stdin, stdout, stderr, ended } =
            process::start(command).await.map_err(failed)?;
        let (process, board) = (Arc::new(process), Switchboard::new(message_limit));
        // The channel holds one line: the queue is in the senders, and bounded by the calls in flight.
        let (letters, inbox) = mpsc::channel(1);
        let writer = tokio::spawn(serve_stdin(stdin, inbox, process.clone())).abort_handle();
        let (tell_over, over) = watch::channel(false);
        let watch = ChildWatch {
            program: command.shown(),
            // The frame of an event counts against the message limit, and was subtracted from it.
            limit: Size(message_limit + FRAME.len()),
            process: process.clone(),
            board: board.clone(),
            over: tell_over,
            on_stray_line: command.stray_line_hook(),
        };
        let lines = Lines::new(stdout, message_limit);
        let watcher = tokio::spawn(watch.run(lines, stderr, ended)).abort_handle();
        let (born, greeted) = (Instant::now(), AtomicBool::new(false));
        Ok(Arc::new(Self { number, born, greeted, process, board, letters, writer, watcher, over }))
    }

    /// Whether it may still answer.
    pub(super) fn is_speaking(&self) -> bool {
        self.board.failure().is_none()
    }

    pub(super) fn is_greeted(&self) -> bool {
        self.greeted.load(Ordering::Relaxed)
    }

    pub(super) fn greet(&self) {
        self.greeted.store(true, Ordering::Relaxed);
    }

    pub(super) fn await_answer(&self, id: u64) -> Result<Awaited, Failure> {
        self.board.await_answer(id).map_err(unsent)
    }

    pub(super) fn forget_calls(&self) {
        self.board.forget_calls();
    }

    pub(super) fn listen(&self) -> Result<Deliveries, Failure> {
        self.board.listen()
    }

    /// Writes a message to its stdin. Waits while the server does not read.
    pub(super) async fn write(&self, message: &Bytes) -> Result<(), Failure> {
        let (letter, receipt) = letter(message);
        // Without a writer the line is dropped, and its receipt reports that.
        let _ = self.letters.send(letter).await;
        match receipt.outcome().await {
            Ok(()) => Ok(()),
            Err(Unsent::Certainly) => Err(unsent(self.last_failure().await)),
            Err(Unsent::Perhaps) => Err(self.last_failure().await),
        }
    }

    /// Closes its stdin and waits for its end; if it does not end, it is asked by a signal and then killed.
    pub(super) async fn end(&self) {
        self.writer.abort();
        if timeout(AFTER_EOF, self.is_over()).await.is_ok() {
            return;
        }
        self.process.terminate();
        if timeout(AFTER_SIGTERM, self.is_over()).await.is_ok() {
            return;
        }
        self.process.kill();
        self.is_over().await;
    }

    /// Kills it at once.
    pub(super) fn kill(&self) {
        self.process.kill();
    }

    async fn is_over(&self) {
        // An aborted watcher drops the sender, which counts as an end, too.
        let _ = self.over.clone().wait_for(|is_over| *is_over).await;
    }

    /// Returns how it ended. A server that accepts no message ends soon, by itself or by `serve_stdin`.
    async fn last_failure(&self) -> Failure {
        self.is_over().await;
        self.board.failure().unwrap_or_else(|| Failure::unknown(Cause::Closed))
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        self.process.kill();
        self.writer.abort();
        self.watcher.abort();
    }
}

/// Writes to its stdin. A server that accepts no message and lives on is of no use, and is ended: here and
/// not by the call that wrote last, which may not have the time.
async fn serve_stdin(
    stdin: impl AsyncWrite + Unpin,
    letters: mpsc::Receiver<OutgoingLine>,
    process: Arc<Process>,
) {
    if write_letters(stdin, letters).await.is_ok() {
        return;
    }
    sleep(LAST_GASP).await;
    process.terminate();
    sleep(AFTER_SIGTERM).await;
    process.kill();
}

/// Returns the failure for a message that was not sent. A rule that the server broke does not concern this
/// call, which never reached it.
fn unsent(failure: Failure) -> Failure {
    Failure { cause: Cause::Closed, delivery: Delivery::NotSent, ..failure }
}

/// Returns the failure of a start (row 1p): waiting does not help if the program does not exist, but too many
/// processes, or too little memory, may pass.
fn not_started(command: &Command, error: &io::Error) -> Failure {
    let cause = match error.kind() {
        io::ErrorKind::InvalidInput
        | io::ErrorKind::NotADirectory
        | io::ErrorKind::NotFound
        | io::ErrorKind::PermissionDenied => Cause::Misconfigured,
        _ if error.raw_os_error() == Some(rustix::io::Errno::NOEXEC.raw_os_error()) => {
            Cause::Misconfigured
        }
        _ => Cause::ConnectRefused,
    };
    let program = command.shown();
    if error.kind() == io::ErrorKind::NotFound && command.is_looked_up() {
        return Failure::not_sent(cause)
            .with_detail(format!("no program `{program}` was found on PATH"))
            .with_advice(Advice::InstallProgram);
    }
    Failure::not_sent(cause).with_detail(format!("`{program}` could not be started: {error}"))
}

/// How long a server may live on after its stdin is closed. The specification asks to close stdin first, then
/// to signal (Lifecycle, Shutdown, stdio). Both waits and the kill fit into the 5 s that closing a client may
/// take.
const AFTER_EOF: Duration = Duration::from_secs(2);
const AFTER_SIGTERM: Duration = Duration::from_millis(1500);
