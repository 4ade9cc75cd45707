//! The program under test as a process: its flags, its folder and its end.

use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, Result};
use ridethrough_testkit::process::{home, printed_url, start};
use serde_json::json;
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

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
        command.envs(home(&opening.home));
        let child = start(&mut command, Stdio::piped(), Stdio::piped(), Stdio::null())?;
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
        printed_url(&mut self.child, START).await.context("a door")
    }

    /// Ends the program: how it says goodbye is another test's question.
    pub(crate) async fn kill(&mut self) -> Result<()> {
        Ok(self.child.kill().await?)
    }
}

/// The gateway's file: one server under its own names, of whose tools one may not be called.
fn config(upstream: &str) -> String {
    let server = json!({"url": upstream, "prefix": false, "deny": ["secret"]});
    json!({"mcpServers": {"backend": server}}).to_string()
}

const START: Duration = Duration::from_secs(20);
