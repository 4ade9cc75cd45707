//! A supervisor and the process group that it leads: started, killed and reaped as one.
//!
//! A thread of its own starts the process and waits for its end, so that neither needs the runtime. The group
//! is killed *before* its leader is reaped, because after that its number may belong to another process. A
//! supervisor that works leaves no process behind in its group; a supervisor that was killed does.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, ExitStatus};
use std::sync::{Arc, Mutex, PoisonError};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use tokio::sync::oneshot;

/// A process that was started, and its pipes.
pub(super) struct Started {
    pub(super) group: Group,
    pub(super) stdin: ChildStdin,
    pub(super) stdout: ChildStdout,
    pub(super) stderr: ChildStderr,
    pub(super) ended: oneshot::Receiver<io::Result<ExitStatus>>,
}

/// A running process group. Dropping it kills the whole group.
pub(super) struct Group(Arc<Mutex<ProcessState>>);

#[derive(Clone, Copy)]
enum ProcessState {
    /// Reaped: the number may be another process's by now.
    Buried,
    Running(Pid),
}

/// Starts a process as the leader of a group. The command must pipe its stdin, stdout and stderr.
pub(super) async fn start(mut command: Command) -> io::Result<Started> {
    command.process_group(0);
    let (report, started) = oneshot::channel();
    let (obituary, ended) = oneshot::channel();
    std::thread::Builder::new().name("server".to_owned()).spawn(move || {
        let mut child = match command.spawn() {
            Ok(child) => child,
            // The caller may be gone, and then does not need the error.
            Err(error) => return drop(report.send(Err(error))),
        };
        let state = Arc::new(Mutex::new(ProcessState::Running(Pid::from_child(&child))));
        let pipes = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        // If the caller is gone, the group comes back in the error and is dropped, which kills it.
        drop(report.send(Ok((Group(state.clone()), pipes))));
        // The caller may be gone; the child is reaped nevertheless.
        let _ = obituary.send(bury(&mut child, &state));
    })?;
    let died = || io::Error::other("the thread that starts it has died");
    let (group, pipes) = started.await.map_err(|_| died())??;
    let (Some(stdin), Some(stdout), Some(stderr)) = pipes else {
        return Err(io::Error::other("a pipe is missing"));
    };
    Ok(Started { group, stdin, stdout, stderr, ended })
}

impl Drop for Group {
    fn drop(&mut self) {
        let state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let ProcessState::Running(leader) = *state {
            // It fails if the group has just ended, which is the goal.
            let _ = kill_process_group(leader, Signal::KILL);
        }
    }
}

/// Waits for the leader's end, kills the processes that it leaves behind, and reaps it.
fn bury(child: &mut Child, state: &Mutex<ProcessState>) -> io::Result<ExitStatus> {
    let leader = Pid::from_child(child);
    let just_look = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
    let has_ended = loop {
        match waitid(WaitId::Pid(leader), just_look) {
            Err(rustix::io::Errno::INTR) => {}
            looked => break looked.is_ok(),
        }
    };
    let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
    // If the leader was not seen to have ended, it may be reaped already, and the number another's.
    if has_ended {
        // It fails if no process is left in the group, which is the goal.
        let _ = kill_process_group(leader, Signal::KILL);
    }
    let status = child.wait();
    *state = ProcessState::Buried;
    status
}
