//! Every process that a server has started: those of its group and, on Linux, those that left it.
//!
//! On Linux a process can adopt the orphans among its descendants. Orphans then become our children and not
//! those of `init`, so that a server's daemon is found by its parent. We then also have to reap them.

use std::convert::Infallible;
use std::fs;
use std::io;
use std::process::ExitStatus;
use std::thread::sleep;
use std::time::Duration;

use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, getpgid, getpgrp, getpid, getppid, kill_process,
    kill_process_group, setpgid, waitid,
};
use tokio::process::Child;
use tokio::signal::unix::{SignalKind, signal};

/// Waits for the server's end, and reaps orphans meanwhile.
pub(super) async fn wait(server: &mut Child) -> io::Result<ExitStatus> {
    if let Some(pid) = server.id().and_then(|id| Pid::from_raw(id.cast_signed())) {
        return tokio::select! {
            status = server.wait() => status,
            never = bury_others(pid) => match never {},
        };
    }
    server.wait().await
}

/// Kills every process that is left. We lead the group and first leave it for our parent's group. If the
/// parent is gone, no process needs the server's exit code, and we are killed with the group.
pub(super) fn sweep() {
    kill_orphans();
    let group = getpgrp();
    if group != getpid() {
        return;
    }
    let elsewhere = getppid().and_then(|parent| getpgid(Some(parent)).ok());
    let _ = elsewhere.map(|elsewhere| setpgid(None, Some(elsewhere)));
    // The number is ours as long as we live, even if the group is empty.
    let _ = kill_process_group(group, Signal::KILL);
    kill_orphans();
}

/// Reaps every child but the server, whenever a child ends.
async fn bury_others(server: Pid) -> Infallible {
    let Ok(mut deaths) = signal(SignalKind::child()) else {
        return std::future::pending().await;
    };
    loop {
        children().into_iter().filter(|child| *child != server).for_each(bury);
        deaths.recv().await;
    }
}

/// Kills our children until there are none: a process that loses its parent by that becomes our child.
fn kill_orphans() {
    for _ in 0..ROUNDS {
        let children = children();
        if children.is_empty() {
            return;
        }
        for child in children {
            // It may just have ended, which is the goal.
            let _ = kill_process(child, Signal::KILL);
            bury(child);
        }
        sleep(PAUSE);
    }
}

/// Reaps a process that has ended; a running process is left alone.
fn bury(child: Pid) {
    let _ = waitid(WaitId::Pid(child), WaitIdOptions::EXITED | WaitIdOptions::NOHANG);
}

/// Returns our children, as `/proc` lists them; none, where there is no `/proc`.
fn children() -> Vec<Pid> {
    let Ok(all) = fs::read_dir("/proc") else { return Vec::new() };
    let numbers = all.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    numbers
        .filter(|number| parent_of(*number) == Some(getpid()))
        .filter_map(Pid::from_raw)
        .collect()
}

fn parent_of(number: i32) -> Option<Pid> {
    let stat = fs::read(format!("/proc/{number}/stat")).ok()?;
    let stat = String::from_utf8_lossy(&stat);
    // The process name before it may contain anything: brackets, and bytes that are not UTF-8.
    let parent = stat.rsplit(") ").next()?.split(' ').nth(1)?;
    Pid::from_raw(parent.parse().ok()?)
}

/// The most rounds of killing. Each generation of descendants needs one.
const ROUNDS: usize = 100;
const PAUSE: Duration = Duration::from_millis(2);
