//! Ties a server's life to its supervisor's, where the system can do that.
//!
//! Linux kills a process when its parent dies, if the process has asked for that. A server does not ask, so
//! this program asks and then becomes the server by `exec`, which keeps the request. Programs that run with
//! rights of their own (setuid) lose it; and the processes that such a server has started are not killed with
//! it, but only see their stdin end.

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, ExitCode};

use anyhow::{Context, Result};
use rustix::process::{getpid, getppid};

use crate::platform;

/// Returns the command by which this process, as a supervisor, starts a server.
pub(super) fn command(words: &[OsString]) -> Result<Command> {
    let (program, arguments) = words.split_first().context("there is no program")?;
    if Path::new(OURSELVES).exists() {
        let ourselves = getpid().as_raw_nonzero().to_string();
        let mut command = Command::new(OURSELVES);
        command.arg0("ridethrough").args(["supervise", "--tied-to", &ourselves, "--"]).args(words);
        return Ok(command);
    }
    let mut command = Command::new(program);
    command.args(arguments);
    Ok(command)
}

/// Becomes the server. Returns only if that fails.
pub(super) fn become_server(supervisor: i32, words: &[OsString]) -> Result<ExitCode> {
    let (program, arguments) = words.split_first().context("there is no program")?;
    platform::die_with_parent();
    // The death of a parent that died before the request is not signalled.
    if getppid().map(|parent| parent.as_raw_nonzero().get()) != Some(supervisor) {
        return Ok(ExitCode::FAILURE);
    }
    let error = Command::new(program).args(arguments).exec();
    Err(error).context("the server could not be started")
}

/// The path of this program, even if its file was replaced since. Only Linux has it.
const OURSELVES: &str = "/proc/self/exe";
