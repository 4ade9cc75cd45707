//! The program under test as a process: its flags, its folder and its end.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde_json::json;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::time::timeout;

use super::{Door, Opening};

/// A running program. It is killed when it is dropped.
pub(crate) struct Program {
    child: Child,
}

impl Program {
    /// Starts a door.
    pub(crate) fn start(door: Door, opening: &Opening<'_>) -> Result<Self> {
        std::fs::create_dir_all(&opening.home)?;
        let mut command = Command::new(opening.program);
        match door {
            Door::Bridge => {
                command.args(["bridge", "--silent", "--ignore-tool", "secret", &opening.upstream]);
            }
            Door::Expose => {
                let us = std::env::current_exe()?;
                command.args(["expose", "--no-token", "--listen", "127.0.0.1:0", "--"]);
                command.arg(us).arg("backend");
            }
            Door::Gateway | Door::GatewayStdio => {
                let file = opening.home.join("gateway.json");
                std::fs::write(&file, config(&opening.upstream))?;
                command.args(["gateway", "--config"]).arg(file);
            }
        }
        match door {
            Door::Gateway => command.args(["--no-token", "--listen", "127.0.0.1:0"]),
            Door::GatewayStdio => command.arg("--stdio"),
            Door::Bridge | Door::Expose => &mut command,
        };
        let folders = ["CACHE", "CONFIG", "DATA", "STATE"];
        command
            .env("HOME", &opening.home)
            .envs(folders.map(|it| (format!("XDG_{it}_HOME"), &opening.home)))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true);
        let child = command
            .spawn()
            .with_context(|| format!("`{}` does not start", opening.program.display()))?;
        Ok(Self { child })
    }

    /// Takes the pipes.
    pub(crate) fn pipes(&mut self) -> Result<(ChildStdin, ChildStdout)> {
        let input = self.child.stdin.take().context("a door has no input")?;
        let output = self.child.stdout.take().context("a door has no output")?;
        Ok((input, output))
    }

    /// Reads the URL that a door over HTTP prints when it listens.
    pub(crate) async fn url(&mut self) -> Result<String> {
        let output = self.child.stdout.take().context("a door has no output")?;
        let mut lines = BufReader::new(output).lines();
        match timeout(START, lines.next_line()).await {
            Ok(Ok(Some(url))) => Ok(url.trim().to_owned()),
            Ok(_) => bail!("a door ended before it listened"),
            Err(_) => bail!("a door did not listen within {START:?}"),
        }
    }

    /// Ends the program: how it says goodbye is another test's question.
    pub(crate) async fn kill(&mut self) -> Result<()> {
        Ok(self.child.kill().await?)
    }
}

/// Returns whether there is such a program.
pub(crate) fn is_there(program: &Path) -> Result<PathBuf> {
    program.canonicalize().with_context(|| {
        format!(
            "there is no `{}`; build it with `cargo build -p ridethrough-cli`",
            program.display()
        )
    })
}

/// The gateway's file: one server under its own names, of whose tools one may not be called.
fn config(upstream: &str) -> String {
    let server = json!({"url": upstream, "prefix": false, "deny": ["secret"]});
    json!({"mcpServers": {"backend": server}}).to_string()
}

const START: Duration = Duration::from_secs(20);
