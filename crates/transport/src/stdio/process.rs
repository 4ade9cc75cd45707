//! A process and everything that it starts: started, signalled and reaped as one group.
//!
//! A thread of its own starts the process and waits for its end, so that neither needs the runtime: even when
//! that is gone, no process stays behind. The group is killed *before* its leader is reaped, because only
//! until then its number cannot belong to another group.
//!
//! ```text
//!   Running ──leader has ended, or is killed──▶ group killed ──▶ leader reaped: Buried
//! ```

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::process::{Child, ExitStatus};
use std::sync::{Arc, Mutex, PoisonError};

use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, kill_process, kill_process_group, waitid,
};
use tokio::net::unix::pipe;
use tokio::sync::oneshot;

use crate::command::Command;

/// A process that was started, and its pipes.
pub(super) struct Started {
    pub(super) process: Process,
    pub(super) stdin: pipe::Sender,
    pub(super) stdout: pipe::Receiver,
    /// Its stderr; `None` if it is inherited.
    pub(super) stderr: Option<pipe::Receiver>,
    pub(super) ended: oneshot::Receiver<io::Result<ExitStatus>>,
}

/// A running process and its group. Dropping it kills the whole group.
pub(super) struct Process {
    group: Arc<Group>,
}

struct Group(Mutex<ProcessState>);

#[derive(Clone, Copy)]
enum ProcessState {
    /// Reaped: the number may belong to another process.
    Buried,
    Running(Pid),
}

/// Starts a process in a group of its own.
pub(super) async fn start(command: &Command) -> io::Result<Started> {
    let mut command = command.to_std();
    command.process_group(0);
    let (report, started) = oneshot::channel();
    let (obituary, ended) = oneshot::channel();
    std::thread::Builder::new().name("mcp server".to_owned()).spawn(move || {
        let mut child = match command.spawn() {
            Ok(child) => child,
            // The caller may be gone, and then needs no report of the failure.
            Err(error) => return drop(report.send(Err(error))),
        };
        let process = Process::of(&child);
        let group = process.group.clone();
        let pipes = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        // If the caller is gone, the process comes back, is dropped and so killed.
        drop(report.send(Ok((process, pipes))));
        // The receiver may be gone; the process is reaped anyway.
        let _ = obituary.send(group.bury(&mut child));
    })?;
    let died = || io::Error::other("the thread that starts it has died");
    let (process, (stdin, stdout, stderr)) = started.await.map_err(|_| died())??;
    let missing = || io::Error::other("a pipe is missing");
    let stderr = stderr.map(|it| pipe::Receiver::from_owned_fd(OwnedFd::from(it))).transpose()?;
    Ok(Started {
        process,
        stdin: pipe::Sender::from_owned_fd(stdin.ok_or_else(missing)?.into())?,
        stdout: pipe::Receiver::from_owned_fd(stdout.ok_or_else(missing)?.into())?,
        stderr,
        ended,
    })
}

impl Process {
    fn of(child: &Child) -> Self {
        Self { group: Arc::new(Group(Mutex::new(ProcessState::Running(Pid::from_child(child))))) }
    }

    /// Sends SIGTERM to the group.
    pub(super) fn terminate(&self) {
        self.group.signal(Signal::TERM);
    }

    /// Kills the group.
    pub(super) fn kill(&self) {
        self.group.signal(Signal::KILL);
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}

impl Group {
    fn signal(&self, signal: Signal) {
        let state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let ProcessState::Running(leader) = *state {
            // The group may have just ended, which is what was wanted.
            let _ = kill_process_group(leader, signal);
            // The leader can leave its group, and must still end.
            let _ = kill_process(leader, signal);
        }
    }

    /// Waits for the leader's end, kills what is left of its group, and reaps it.
    fn bury(&self, child: &mut Child) -> io::Result<ExitStatus> {
        let leader = Pid::from_child(child);
        let just_look = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        while let Err(rustix::io::Errno::INTR) = waitid(WaitId::Pid(leader), just_look) {}
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // This fails if the leader was the last of the group, which is what was wanted.
        let _ = kill_process_group(leader, Signal::KILL);
        let status = child.wait();
        *state = ProcessState::Buried;
        status
    }
}
