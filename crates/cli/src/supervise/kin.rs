//! Everybody whom a server has started: those of its group and, on Linux, those who left it.
//!
//! On Linux a process can adopt the orphans among its descendants. Ours then come to us and not to
//! `init`, so that a server's daemon is found by whose child it is; and since nobody else does, we also
//! have to bury them.

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

/// Waits for the server's end, and buries orphans meanwhile.
pub(super) async fn wait(server: &mut Child) -> io::Result<ExitStatus> {
    if let Some(pid) = server.id().and_then(|id| Pid::from_raw(id.cast_signed())) {
        return tokio::select! {
            status = server.wait() => status,
            never = bury_others(pid) => match never {},
        };
    }
    server.wait().await
}

/// Kills everybody who is left. We are the leader of the group and step out of it first, into that of
/// whoever started us; if that one is gone, nobody wants to know how the server ended, and we die too.
pub(super) fn sweep() {
    kill_orphans();
    let group = getpgrp();
    if group != getpid() {
        return;
    }
    let elsewhere = getppid().and_then(|parent| getpgid(Some(parent)).ok());
    let _ = elsewhere.map(|elsewhere| setpgid(None, Some(elsewhere)));
    // The number is ours as long as we live, also if nobody is in the group any more.
    let _ = kill_process_group(group, Signal::KILL);
    kill_orphans();
}

/// Buries everybody but the server, whenever somebody dies.
async fn bury_others(server: Pid) -> Infallible {
    let Ok(mut deaths) = signal(SignalKind::child()) else {
        return std::future::pending().await;
    };
    loop {
        children().into_iter().filter(|child| *child != server).for_each(bury);
        deaths.recv().await;
    }
}

/// Kills our children until there are none: who loses its parent so becomes our child.
fn kill_orphans() {
    for _ in 0..ROUNDS {
        let children = children();
        if children.is_empty() {
            return;
        }
        for child in children {
            // It may have died just now, which is what was wanted.
            let _ = kill_process(child, Signal::KILL);
            bury(child);
        }
        sleep(PAUSE);
    }
}

/// Takes the dead out of the table of processes; the living are left alone.
fn bury(child: Pid) {
    let _ = waitid(WaitId::Pid(child), WaitIdOptions::EXITED | WaitIdOptions::NOHANG);
}

/// Our children, as `/proc` knows them: nobody, where there is none.
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
    // The name before it may hold anything: brackets, and bytes that are no text.
    let parent = stat.rsplit(") ").next()?.split(' ').nth(1)?;
    Pid::from_raw(parent.parse().ok()?)
}

/// A server whose children have children of their own needs one for each generation.
const ROUNDS: usize = 100;
const PAUSE: Duration = Duration::from_millis(2);
