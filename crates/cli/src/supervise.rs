//! `ridethrough supervise`: runs between `expose` and one server, and outlives neither.
//!
//! It leads the server's process group. It passes its stdin on to the server, and the end of that stdin tells
//! it that `expose` is gone, however `expose` ended: the pipe has no writer any more.
//!
//! ```text
//!   Running ──the server ends─────────────────────────────────────────────▶ Swept: its code is ours
//!      └──stdin ends, or a signal──▶ Asked ──2 s──▶ SIGTERM ──1 s──▶ SIGKILL ──▶ Swept
//! ```
//! Swept means that no process of the group is left, and on Linux none that left the group either.
//!
//! On Linux the system kills the server if this process is killed, so that killing `expose` and all
//! supervisors at once leaves no server: see `tied`.

mod kin;

use std::ffi::OsString;
use std::fs::OpenOptions;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Command as Program, ExitCode, ExitStatus, Stdio};
use std::time::Duration;

use anyhow::{Context, Result};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Signal, getpgrp, getpid, getppid, kill_process_group, setpgid};
use tokio::process::{Child, ChildStdin, Command};
use tokio::runtime;
use tokio::sync::oneshot;
use tokio::time::timeout;

use crate::{platform, until};

/// The arguments of `ridethrough supervise`.
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
        return become_server(supervisor, &args.command);
    }
    if getpgrp() != getpid() {
        // The parent has not made this process a group leader.
        setpgid(None, None).context("no process group can be had")?;
    }
    platform::adopt_orphans();
    let runtime = runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("the runtime could not be started")?;
    let code = runtime.block_on(run(&args.command));
    kin::sweep();
    // A read of stdin that is under way cannot be ended otherwise.
    runtime.shutdown_background();
    code
}

async fn run(words: &[OsString]) -> Result<ExitCode> {
    // Signals are caught from the first poll of this future on, which is just before the server is started;
    // from then on a signal does not end us before the server has ended.
    let mut asked = Box::pin(until::asked());
    let left_alone = hung_up().context("no thread could be started")?;
    let mut command = Command::from(tied(words)?);
    command.stdin(Stdio::piped()).stdout(Stdio::inherit());
    // `expose` has checked that the program exists, so a failure here is worth reporting.
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
            // Our own stdin has not ended, so the server's is closed here.
            _ = &mut asked => handing.abort(),
            _ = left_alone => {}
            _ = &mut handed_on => {}
        } } => end(&mut server).await,
    };
    Ok(code(status.context("the server's end is not known")?))
}

/// Copies stdin to the server until it ends, or the server reads no more.
async fn hand_on(mut stdin: ChildStdin) {
    // A failed copy means, like the end of stdin, that the server has to end.
    let _ = tokio::io::copy(&mut tokio::io::stdin(), &mut stdin).await;
}

/// Returns a receiver that fires when no process can write to our stdin any more. It fires even while a
/// server that does not read keeps us from reading stdin to its end.
fn hung_up() -> io::Result<oneshot::Receiver<()>> {
    let (tell, told) = oneshot::channel();
    std::thread::Builder::new().name("hang-up".to_owned()).spawn(move || {
        let stdin = io::stdin();
        let mut watched = [PollFd::from_borrowed_fd(stdin.as_fd(), PollFlags::empty())];
        while let Err(rustix::io::Errno::INTR) = poll(&mut watched, None) {}
        // The receiver may be gone.
        let _ = tell.send(());
    })?;
    Ok(told)
}

/// Leaves the server as the only holder of its stdout, so that the reader notices when it closes it.
fn give_stdout_away() {
    if let Ok(nowhere) = OpenOptions::new().write(true).open("/dev/null") {
        // If this fails, the only effect is that a server that closes its stdout and lives on is noticed
        // later.
        let _ = rustix::stdio::dup2_stdout(nowhere);
    }
}

/// Ends the server in steps. The first has happened: its stdin has ended, or ends when it has read what is in
/// the pipe.
async fn end(server: &mut Child) -> io::Result<ExitStatus> {
    if let Ok(status) = timeout(AFTER_EOF, kin::wait(server)).await {
        return status;
    }
    // We belong to the group and get the signal too; we ignore it.
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

/// Returns the command by which this process, as a supervisor, starts a server.
fn tied(words: &[OsString]) -> Result<Program> {
    let (program, arguments) = words.split_first().context("there is no program")?;
    if Path::new(OURSELVES).exists() {
        let ourselves = getpid().as_raw_nonzero().to_string();
        let mut command = Program::new(OURSELVES);
        command.arg0("ridethrough").args(["supervise", "--tied-to", &ourselves, "--"]).args(words);
        return Ok(command);
    }
    let mut command = Program::new(program);
    command.args(arguments);
    Ok(command)
}

/// Becomes the server. Returns only if that fails.
fn become_server(supervisor: i32, words: &[OsString]) -> Result<ExitCode> {
    let (program, arguments) = words.split_first().context("there is no program")?;
    platform::die_with_parent();
    // The death of a parent that died before the request is not signalled.
    if getppid().map(|parent| parent.as_raw_nonzero().get()) != Some(supervisor) {
        return Ok(ExitCode::FAILURE);
    }
    let error = Program::new(program).args(arguments).exec();
    Err(error).context("the server could not be started")
}

/// How long the server may take after its stdin has ended. The specification asks to close stdin first, then
/// to signal (Lifecycle, Shutdown, stdio).
const AFTER_EOF: Duration = Duration::from_secs(2);
const AFTER_SIGTERM: Duration = Duration::from_secs(1);
/// The path of this program, even if its file was replaced since. Only Linux has it.
const OURSELVES: &str = "/proc/self/exe";
