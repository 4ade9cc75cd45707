//! Proxies of others, from HTTP to HTTP: how each is installed and started, as its documentation shows.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use ridethrough_lab::install::Manager;
use tokio::runtime;

use super::{INTERPRETED, Places, left_out};

/// A proxy of others that is installed.
pub(crate) struct RivalProxy {
    kind: Kind,
    program: PathBuf,
}

/// The proxies that are known here.
#[derive(Clone, Copy)]
enum Kind {
    /// `fastmcp run URL`, of PyPI.
    FastMcp,
    /// `mcp-proxy` of PyPI: it takes calls by HTTP in front of a program, which is `mcp-proxy` again and passes
    /// them on by HTTP.
    McpProxy,
    /// `mcp-proxy` of crates.io, a gateway.
    McpProxyRust,
}

/// Returns the proxies of others, and installs those that are missing.
pub(crate) fn proxies() -> Result<Vec<RivalProxy>> {
    let places = Places::find()?;
    let mut proxies = Vec::new();
    for kind in [Kind::McpProxyRust, Kind::McpProxy, Kind::FastMcp] {
        match kind.install(&places) {
            Ok(program) => proxies.push(RivalProxy { kind, program }),
            Err(error) => left_out(kind.name(), &error),
        }
    }
    Ok(proxies)
}

impl RivalProxy {
    pub(crate) fn name(&self) -> &'static str {
        self.kind.name()
    }

    /// Returns by which factor it carries fewer calls in a round.
    pub(crate) fn fewer(&self) -> usize {
        match self.kind {
            Kind::FastMcp | Kind::McpProxy => INTERPRETED,
            Kind::McpProxyRust => 1,
        }
    }

    /// Returns its name for the tool `echo` of the server.
    pub(crate) fn echo(&self) -> &'static str {
        match self.kind {
            Kind::FastMcp | Kind::McpProxy => "echo",
            Kind::McpProxyRust => "bench/echo",
        }
    }

    /// Returns its URL when it listens at this port.
    pub(crate) fn url(&self, port: u16) -> String {
        let path = match self.kind {
            Kind::FastMcp => "mcp",
            Kind::McpProxy => "mcp/",
            Kind::McpProxyRust => "",
        };
        format!("http://127.0.0.1:{port}/{path}")
    }

    /// Returns the command that starts it in front of a server; its files go to `home`.
    pub(crate) fn command(&self, port: u16, home: &Path, server: &str) -> Result<Command> {
        let mut command = Command::new(&self.program);
        let port = port.to_string();
        match self.kind {
            Kind::FastMcp => {
                command.args(["run", server, "--transport", "http", "--host", "127.0.0.1"]);
                command.args(["--port", &port, "--no-banner", "--log-level", "ERROR"]);
            }
            Kind::McpProxy => {
                command.args(["--host", "127.0.0.1", "--port", &port, "--"]);
                command.arg(&self.program).args(["--transport", "streamablehttp", server]);
            }
            Kind::McpProxyRust => {
                let file = home.join("mcp-proxy.toml");
                fs::write(&file, config(&port, server))?;
                command.arg("--config").arg(file);
            }
        }
        Ok(command)
    }
}

/// The config file of `mcp-proxy` of crates.io.
fn config(port: &str, server: &str) -> String {
    let listen = format!("[proxy.listen]\nhost = \"127.0.0.1\"\nport = {port}\n");
    let backend =
        format!("[[backends]]\nname = \"bench\"\ntransport = \"http\"\nurl = \"{server}\"\n");
    format!("[proxy]\nname = \"bench\"\nseparator = \"/\"\n\n{listen}\n{backend}")
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Self::FastMcp => "fastmcp-proxy",
            Self::McpProxy => "mcp-proxy",
            Self::McpProxyRust => "mcp-proxy-rust",
        }
    }

    /// Installs it and returns its program.
    fn install(self, places: &Places) -> Result<PathBuf> {
        match self {
            // The pins are those of the servers of this SDK.
            Self::FastMcp => {
                let (from, folder) = (places.fastmcp_pins(), places.scratch.join(self.name()));
                fs::create_dir_all(&folder)?;
                for pins in ["requirements.txt", "constraints.txt"] {
                    fs::copy(from.join(pins), folder.join(pins)).context(pins)?;
                }
                let program = folder.join("venv/bin/fastmcp");
                if !program.exists() {
                    let runtime = runtime::Builder::new_current_thread().enable_all().build()?;
                    let mut tell = |what: &str| eprintln!("{}: {what}", self.name());
                    runtime.block_on(Manager::Pip.bring(&folder, &mut tell))?;
                }
                Ok(program)
            }
            Self::McpProxy => Ok(places.install(self.name())?.0),
            Self::McpProxyRust => {
                let folder = places.scratch.join(self.name());
                let program = folder.join("bin/mcp-proxy");
                if !program.exists() {
                    eprintln!("{}: cargo builds it, which takes minutes ...", self.name());
                    let mut cargo = Command::new("cargo");
                    cargo.args(["install", "--quiet", "--locked", "mcp-proxy", "--version"]);
                    let output = cargo.arg(MCP_PROXY_RUST).arg("--root").arg(&folder).output();
                    let output = output.context("no cargo")?;
                    let said = String::from_utf8_lossy(&output.stderr);
                    let last = said.lines().last().unwrap_or("nothing");
                    ensure!(output.status.success(), "cargo said `{last}`");
                }
                Ok(program)
            }
        }
    }
}

const MCP_PROXY_RUST: &str = "=0.6.0";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pins_of_fastmcp_are_where_they_are_looked_for() {
        let pins = Places::find().unwrap().fastmcp_pins();

        assert!(pins.join("requirements.txt").exists() && pins.join("constraints.txt").exists());
    }
}
