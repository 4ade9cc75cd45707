//! One command of an installation, watched while it runs.

use std::ffi::OsStr;
use std::io;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use tokio::process::Command;
use tokio::time::{Instant, timeout};

use crate::contestant::Kin;

/// A command with a time limit.
pub(super) struct InstallStep {
    /// Its name for people.
    pub(super) name: &'static str,
    command: Command,
    mark: String,
    limit: Duration,
}

/// How a command failed.
#[derive(Debug)]
pub(super) enum Failed {
    /// There is no such program.
    Missing,
    /// It failed with this output.
    Said(String),
    /// It was ended after this time.
    TooLong(Duration),
}

impl InstallStep {
    pub(super) fn new(
        name: &'static str,
        program: impl AsRef<OsStr>,
        arguments: &[&str],
        folder: &Path,
    ) -> Self {
        let mut command = Command::new(program);
        command.args(arguments).current_dir(folder);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.kill_on_drop(true);
        let mark = Kin::mark(&mut command);
        Self { name, command, mark, limit: LIMIT }
    }

    /// Sets a variable of its environment.
    pub(super) fn with(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    /// Runs the command to its end, and reports every few seconds that it still runs.
    pub(super) async fn run(mut self, tell: &mut dyn FnMut(&str)) -> Result<(), Failed> {
        tell(&format!("{} ...", self.name));
        let began = Instant::now();
        let (output, _kin) = match self.command.spawn() {
            Ok(child) => {
                // Package managers have children, which end with them, also if the future is dropped.
                let kin = KillOnDrop(Kin::new(child.id(), std::mem::take(&mut self.mark)));
                (child.wait_with_output(), kin)
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(Failed::Missing),
            Err(error) => return Err(Failed::Said(error.to_string())),
        };
        tokio::pin!(output);
        while began.elapsed() < self.limit {
            let Ok(output) = timeout(PULSE, &mut output).await else {
                tell(&format!("{} ... {} s", self.name, began.elapsed().as_secs()));
                continue;
            };
            let output = output.map_err(|error| Failed::Said(error.to_string()))?;
            let said = [output.stdout, output.stderr].concat();
            let said = || String::from_utf8_lossy(&said).trim().to_owned();
            return if output.status.success() { Ok(()) } else { Err(Failed::Said(said())) };
        }
        Err(Failed::TooLong(self.limit))
    }
}

/// Kills all of its processes when it is dropped.
struct KillOnDrop(Kin);

impl Drop for KillOnDrop {
    fn drop(&mut self) {
        self.0.kill();
    }
}

/// The time limit: building an HTTP client from source takes minutes on a small machine.
const LIMIT: Duration = Duration::from_secs(600);
/// How often a person is told that it still runs.
const PULSE: Duration = Duration::from_secs(10);

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_step_says_how_it_ended() {
        let run = |program, words: &'static [&str]| async move {
            InstallStep::new("it", program, words, Path::new("/")).run(&mut |_| {}).await
        };

        assert!(run("true", &[]).await.is_ok());
        assert!(matches!(run("no-such-manager", &[]).await, Err(Failed::Missing)));
        let said = run("sh", &["-c", "echo out; echo err >&2; exit 3"]).await;
        assert!(matches!(said, Err(Failed::Said(said)) if said == "out\nerr"));
    }

    #[tokio::test(start_paused = true)]
    async fn a_step_that_takes_too_long_is_ended_and_told_meanwhile() {
        let mut told = Vec::new();
        let mut step = InstallStep::new("it", "sleep", &["60"], Path::new("/"));
        step.limit = Duration::from_secs(25);

        let ended = step.run(&mut |what| told.push(what.to_owned())).await;

        assert!(matches!(ended, Err(Failed::TooLong(_))));
        assert_eq!(told, ["it ...", "it ... 10 s", "it ... 20 s", "it ... 30 s"]);
    }
}
