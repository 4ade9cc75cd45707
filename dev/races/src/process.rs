//! The processes that share the login: started, killed, started again.
//!
//! Each connects from a loopback address of its own, so that the server knows which of them sent what.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result};
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, ChildStdout, Command};
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout};

/// The number of a process; each is given once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ProcessNumber(u16);

impl ProcessNumber {
    #[cfg(test)]
    pub(crate) const fn new(number: u16) -> Self {
        Self(number)
    }

    /// Returns the address that the process connects from.
    pub(crate) const fn address(self) -> Ipv4Addr {
        let [high, low] = self.0.to_be_bytes();
        Ipv4Addr::new(127, 1, high, low)
    }

    /// Returns the process that connects from this address; number 0 is the one that logs in.
    pub(crate) const fn of(peer: IpAddr) -> Self {
        match peer {
            IpAddr::V4(peer) => match peer.octets() {
                [127, 1, high, low] => Self(u16::from_be_bytes([high, low])),
                _ => Self(0),
            },
            IpAddr::V6(_) => Self(0),
        }
    }
}

/// The command that starts a process.
#[derive(Clone, Debug)]
pub(crate) struct Order {
    /// The URL of the MCP server.
    pub(crate) url: String,
    /// The folder of the shared login.
    pub(crate) folder: PathBuf,
    /// How many calls each process has under way at a time.
    pub(crate) calls: usize,
}

/// The reports of the processes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Heard {
    /// Calls that were answered.
    pub(crate) answered: u64,
    /// Calls that ended because a person must log in.
    pub(crate) unauthorized: u64,
    /// Calls that ended for any other reason.
    pub(crate) failed: Vec<String>,
    /// When each process reported that a person must log in.
    pub(crate) told: BTreeMap<ProcessNumber, Vec<Duration>>,
}

/// All processes of a run. Dropping it ends them.
#[derive(Clone)]
pub(crate) struct Crew {
    order: Arc<Order>,
    began: Instant,
    state: Arc<Mutex<CrewState>>,
}

#[derive(Default)]
struct CrewState {
    last: u16,
    alive: BTreeMap<ProcessNumber, Running>,
    killed: BTreeMap<ProcessNumber, Duration>,
    heard: Heard,
}

struct Running {
    child: Child,
    reading: JoinHandle<()>,
}

impl Crew {
    pub(crate) fn new(order: Order, began: Instant) -> Self {
        Self { order: Arc::new(order), began, state: Arc::default() }
    }

    /// Starts one more process.
    pub(crate) fn start(&self) -> Result<()> {
        let mut state = self.state();
        state.last = state.last.checked_add(1).context("too many processes were killed")?;
        let number = ProcessNumber(state.last);
        let mut child = Command::new(std::env::current_exe()?)
            .arg("worker")
            .arg(&self.order.url)
            .arg(&self.order.folder)
            .args([number.address().to_string(), self.order.calls.to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .context("a process does not start")?;
        let output = child.stdout.take().context("a process has no output")?;
        let reading = tokio::spawn(self.clone().read(number, output));
        state.alive.insert(number, Running { child, reading });
        Ok(())
    }

    /// Kills a process by `kill -9`. Returns whether it was alive.
    pub(crate) fn kill(&self, number: ProcessNumber) -> bool {
        let mut state = self.state();
        let Some(mut running) = state.alive.remove(&number) else { return false };
        // It fails only if the process has ended by itself, which the run finds out elsewhere.
        let _ = running.child.start_kill();
        state.killed.insert(number, self.began.elapsed());
        tokio::spawn(async move { running.child.wait().await });
        true
    }

    /// Returns the processes that are alive.
    pub(crate) fn alive(&self) -> Vec<ProcessNumber> {
        self.state().alive.keys().copied().collect()
    }

    /// Returns when each of the killed processes was killed.
    pub(crate) fn killed(&self) -> BTreeMap<ProcessNumber, Duration> {
        self.state().killed.clone()
    }

    pub(crate) fn heard(&self) -> Heard {
        self.state().heard.clone()
    }

    /// Asks all processes to end, and waits for their last lines. A process that does not end is a failure.
    pub(crate) async fn end(&self) -> Result<()> {
        let mut alive = std::mem::take(&mut self.state().alive);
        for running in alive.values_mut() {
            drop(running.child.stdin.take());
        }
        for (number, mut running) in alive {
            let ended = timeout(LAST_WORDS, running.child.wait()).await;
            let status = ended.with_context(|| format!("{number:?} did not end"))??;
            anyhow::ensure!(status.success(), "{number:?} ended with {status}");
            running.reading.await?;
        }
        Ok(())
    }

    async fn read(self, number: ProcessNumber, output: ChildStdout) {
        let mut lines = BufReader::new(output).lines();
        while let Ok(Some(line)) = lines.next_line().await {
            let now = self.began.elapsed();
            let mut state = self.state();
            let heard = &mut state.heard;
            match serde_json::from_str::<Value>(&line).unwrap_or_default() {
                said if said["answered"].is_u64() => {
                    heard.answered += said["answered"].as_u64().unwrap_or_default();
                }
                said if said["told"].is_string() => heard.told.entry(number).or_default().push(now),
                said if said["unauthorized"].is_string() => heard.unauthorized += 1,
                _ => heard.failed.push(format!("{number:?} at {now:?}: {line}")),
            }
        }
    }

    fn state(&self) -> MutexGuard<'_, CrewState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How long to wait for the last lines: a call takes a second, and the machine may be busy.
const LAST_WORDS: Duration = Duration::from_secs(30);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_known_by_its_address() {
        let number = ProcessNumber(700);

        assert_eq!(number.address(), Ipv4Addr::new(127, 1, 2, 188));
        assert_eq!(ProcessNumber::of(number.address().into()), number);
        assert_eq!(ProcessNumber::of(Ipv4Addr::LOCALHOST.into()), ProcessNumber(0));
    }
}
