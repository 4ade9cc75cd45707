//! `ridethrough supervise`: stands between `expose` and one server, and outlives neither.
//!
//! It leads the server's process group. It hands its stdin on, and that is also how it learns that
//! `expose` is gone, however that ended: the pipe has no writer any more.
//!
//! ```text
//!   Running ──the server ends─────────────────────────────────────────────▶ Swept: its code is ours
//!      └──stdin ends, or a signal──▶ Asked ──2 s──▶ SIGTERM ──1 s──▶ SIGKILL ──▶ Swept
//! ```
//! Swept means that nobody of the group is left, and on Linux nobody who left the group either.
//!
//! On Linux the system kills the server if this process is killed, so that killing `expose` and all
//! supervisors at once leaves no server: see `tie`.

mod kin;
mod tie;

use std::ffi::OsString;
use std::fs::OpenOptions;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::process::ExitStatusExt;
use std::process::{ExitCode, ExitStatus, Stdio};
use std::time::Duration;

use anyhow::{Context, Result};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Signal, getpgrp, getpid, kill_process_group, setpgid};
use tokio::process::{Child, ChildStdin, Command};
use tokio::runtime;
use tokio::sync::oneshot;
use tokio::time::timeout;

use crate::{platform, until};

/// What `supervise` is asked for.
#[derive(clap::Args)]
pub(crate) struct SuperviseArgs {
    /// Become the server, and die with the supervisor of this number
    #[arg(long, value_name = "PID")]
    tied_to: Option<i32>,
    /// The server: a program and its arguments
    #[arg(last = true, required = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

pub(crate) fn play(args: &SuperviseArgs) -> Result<ExitCode> {
    if let Some(supervisor) = args.tied_to {
        return tie::become_server(supervisor, &args.command);
    }
    if getpgrp() != getpid() {
        // Whoever started us did not make us a leader.
        setpgid(None, None).context("no process group can be had")?;
    }
    platform::adopt_orphans();
    let runtime = runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("the runtime could not be started")?;
    let code = runtime.block_on(run(&args.command));
    kin::sweep();
    // A read of stdin that is under way has no other end.
    runtime.shutdown_background();
    code
}

async fn run(words: &[OsString]) -> Result<ExitCode> {
    // Signals are heard from the first time on that this is asked, which is just before the server is
    // started; from then on they do not end us before the server has ended.
    let mut asked = Box::pin(until::asked());
    let left_alone = hung_up().context("no thread could be started")?;
    let mut command = Command::from(tie::command(words)?);
    command.stdin(Stdio::piped()).stdout(Stdio::inherit());
    // `expose` has looked for it, so that this is news.
    let mut server = tokio::select! {
        biased;
        _ = &mut asked => return Ok(ExitCode::FAILURE),
        started = async { command.spawn() } => started.context("the server could not be started")?,
    };
    give_stdout_away();
    let stdin = server.stdin.take().context("the server has no stdin")?;
    let mut handed_on = tokio::spawn(hand_on(stdin));
    let handing = handed_on.abort_handle();
    let status = tokio::select! {
        status = kin::wait(&mut server) => status,
        () = async { tokio::select! {
            // Our own stdin has not ended, so that the server's is ended here.
            _ = &mut asked => handing.abort(),
            _ = left_alone => {}
            _ = &mut handed_on => {}
        } } => end(&mut server).await,
    };
    Ok(code(status.context("the server's end is not known")?))
}

/// Hands stdin on until it ends, or the server takes no more.
async fn hand_on(mut stdin: ChildStdin) {
    // Either way it is time to end.
    let _ = tokio::io::copy(&mut tokio::io::stdin(), &mut stdin).await;
}

/// Is done when nobody can write to our stdin any more, also while a server that does not read keeps
/// us from reading to its end.
fn hung_up() -> io::Result<oneshot::Receiver<()>> {
    let (tell, told) = oneshot::channel();
    std::thread::Builder::new().name("hang-up".to_owned()).spawn(move || {
        let stdin = io::stdin();
        let mut watched = [PollFd::from_borrowed_fd(stdin.as_fd(), PollFlags::empty())];
        while let Err(rustix::io::Errno::INTR) = poll(&mut watched, None) {}
        // Whoever wanted to know may have ended.
        let _ = tell.send(());
    })?;
    Ok(told)
}

/// Makes the server the only one who holds its stdout, so that closing it is seen.
fn give_stdout_away() {
    if let Ok(nowhere) = OpenOptions::new().write(true).open("/dev/null") {
        // If it cannot be done, only a server that closes its stdout and lives on is seen later.
        let _ = rustix::stdio::dup2_stdout(nowhere);
    }
}

/// Ends the server, with growing insistence: it has been asked, because its stdin has ended or ends when it
/// has read what is in it.
async fn end(server: &mut Child) -> io::Result<ExitStatus> {
    if let Ok(status) = timeout(AFTER_EOF, kin::wait(server)).await {
        return status;
    }
    // We hear it too, and do not mind.
    let _ = kill_process_group(getpid(), Signal::TERM);
    if let Ok(status) = timeout(AFTER_SIGTERM, kin::wait(server)).await {
        return status;
    }
    server.start_kill()?;
    server.wait().await
}

fn code(status: ExitStatus) -> ExitCode {
    let signal = status.signal().map(|signal| 128 + signal);
    let code = status.code().or(signal).and_then(|code| u8::try_from(code).ok());
    ExitCode::from(code.unwrap_or(1))
}

/// The specification asks to close stdin first, then to signal (Lifecycle, Shutdown, stdio).
const AFTER_EOF: Duration = Duration::from_secs(2);
const AFTER_SIGTERM: Duration = Duration::from_secs(1);
