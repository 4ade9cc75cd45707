//! Finds and ends all processes that a client started.

use tokio::process::Command;

use crate::platform;

/// A process, its group, and all processes that carry its mark.
pub(crate) struct Kin {
    id: Option<u32>,
    mark: String,
}

impl Kin {
    /// Gives a command a process group and a mark of its own.
    pub(crate) fn mark(command: &mut Command) -> String {
        use std::sync::atomic::{AtomicU64, Ordering};
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let mark = format!("{}-{number}", std::process::id());
        command.env(VARIABLE, &mark);
        platform::lead_group(command);
        mark
    }

    pub(crate) fn new(id: Option<u32>, mark: String) -> Self {
        Self { id, mark }
    }

    /// Kills all of them. Processes that have ended already are skipped.
    pub(crate) fn kill(&self) {
        if let Some(group) = self.id {
            platform::kill_group(group);
        }
        // A process that forks while the list is read is on the next list.
        for _ in 0..MOST_ROUNDS {
            let strays = self.strays();
            strays.iter().copied().for_each(platform::kill);
            if strays.is_empty() {
                break;
            }
        }
    }

    /// Returns the processes that carry the mark, in any group. Only Linux lets other processes read it.
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

/// The most rounds of killing: more than any real client needs.
const MOST_ROUNDS: usize = 20;
/// The environment variable that holds the mark.
const VARIABLE: &str = "RIDETHROUGH_LAB_RUN";
