//! Finds and ends everything that a client started.

use tokio::process::Command;

/// A process, its group, and whoever carries its mark.
pub(crate) struct Kin {
    id: Option<u32>,
    mark: String,
}

impl Kin {
    /// Gives a command a group and a mark of its own.
    pub(crate) fn mark(command: &mut Command) -> String {
        use std::sync::atomic::{AtomicU64, Ordering};
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let mark = format!("{}-{number}", std::process::id());
        command.env(VARIABLE, &mark);
        #[cfg(unix)]
        command.process_group(0);
        mark
    }

    pub(crate) fn new(id: Option<u32>, mark: String) -> Self {
        Self { id, mark }
    }

    /// Kills them all. Those that are gone already do not mind.
    #[cfg(unix)]
    pub(crate) fn kill(&self) {
        use rustix::process::{Pid, Signal, kill_process, kill_process_group};
        let pid = |id: u32| i32::try_from(id).ok().and_then(Pid::from_raw);
        if let Some(group) = self.id.and_then(pid) {
            let _ = kill_process_group(group, Signal::KILL);
        }
        // One that forks while the list is read is on the next list.
        for _ in 0..MOST_ROUNDS {
            let strays = self.strays();
            for stray in strays.iter().copied().filter_map(pid) {
                let _ = kill_process(stray, Signal::KILL);
            }
            if strays.is_empty() {
                break;
            }
        }
    }

    /// Elsewhere the process itself is killed when its handle is dropped.
    #[cfg(not(unix))]
    pub(crate) fn kill(&self) {}

    /// Processes that carry the mark, wherever they are. Only Linux lets others look.
    #[cfg(unix)]
    fn strays(&self) -> Vec<u32> {
        let wanted = format!("{VARIABLE}={}", self.mark);
        let Ok(processes) = std::fs::read_dir("/proc") else { return Vec::new() };
        let ids = processes.flatten().filter_map(|it| it.file_name().to_str()?.parse().ok());
        let carries = |id: &u32| {
            let environment = std::fs::read(format!("/proc/{id}/environ")).unwrap_or_default();
            environment.split(|byte| *byte == 0).any(|entry| entry == wanted.as_bytes())
        };
        ids.filter(carries).collect()
    }
}

/// More than any honest client needs.
const MOST_ROUNDS: usize = 20;
/// The name under which a client carries its mark.
const VARIABLE: &str = "RIDETHROUGH_LAB_RUN";
