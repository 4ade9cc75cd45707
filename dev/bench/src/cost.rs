//! The cost of a process as the system reports it. Linux only: it is read from `/proc`.

use std::fs;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};

/// Returns the CPU time of all threads of a process, in its own code and in the kernel.
///
/// It is the scheduler's own account; `getrusage` gives this sum in microseconds.
pub(crate) fn cpu(process: impl std::fmt::Display) -> Result<Duration> {
    let tasks = fs::read_dir(format!("/proc/{process}/task"))?;
    let mut nanos = 0;
    for task in tasks {
        nanos += of_thread(&task?.path())?;
    }
    Ok(Duration::from_nanos(nanos))
}

fn of_thread(task: &Path) -> Result<u64> {
    let text = fs::read_to_string(task.join("schedstat"))?;
    let spent = text.split(' ').next().and_then(|it| it.parse::<u64>().ok());
    spent.context("the system does not tell what a thread has cost")
}

/// Returns the memory that a process holds, in bytes.
pub(crate) fn memory(process: u32) -> Result<u64> {
    status(process, "VmRSS:")
}

/// Returns the most memory that a process has ever held, in bytes.
pub(crate) fn peak(process: u32) -> Result<u64> {
    status(process, "VmHWM:")
}

fn status(process: u32, key: &str) -> Result<u64> {
    let status = fs::read_to_string(format!("/proc/{process}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix(key));
    let kib = line.and_then(|it| it.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok());
    Ok(kib.context("the system does not tell how much memory it holds")? << 10)
}

pub(crate) fn micros(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}

/// Returns a count as a number to divide by.
#[allow(clippy::cast_precision_loss, reason = "counts and sizes here are far below 2^53")]
pub(crate) const fn number(count: u64) -> f64 {
    count as f64
}
