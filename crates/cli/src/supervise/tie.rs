//! Ties a server's life to its supervisor's, where the system can do that.
//!
//! Linux kills a process when its parent dies, if the process has asked for it. A server does not ask, so
//! this program asks and then becomes the server, which keeps what was asked for. Not kept by programs that
//! run with rights of their own (setuid); and what such a server has started is not killed with it, but only
//! sees its stdin end.

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, ExitCode};

use anyhow::{Context, Result};
use rustix::process::{getpid, getppid};

use crate::platform;

/// How a server is started by its supervisor, which is this process.
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

/// Becomes the server. Returns only if that cannot be done.
pub(super) fn become_server(supervisor: i32, words: &[OsString]) -> Result<ExitCode> {
    let (program, arguments) = words.split_first().context("there is no program")?;
    platform::die_with_parent();
    // One that died before is not told of.
    if getppid().map(|parent| parent.as_raw_nonzero().get()) != Some(supervisor) {
        return Ok(ExitCode::FAILURE);
    }
    let error = Command::new(program).args(arguments).exec();
    Err(error).context("the server could not be started")
}

/// This program, also if its file was replaced since. Only Linux has it.
const OURSELVES: &str = "/proc/self/exe";
