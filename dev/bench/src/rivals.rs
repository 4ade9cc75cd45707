//! Clients, bridges and proxies of others, and how each is installed and started.
//!
//! A client is started as `program args… URL` and carries out the lines that `contest` documents. A bridge is
//! started as `program args… URL`, too, and speaks MCP over its stdin and stdout.
//!
//! Package managers install them below the target folder, where they are kept from run to run. A rival that
//! cannot be installed is left out, and the output says so; the others take part.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use ridethrough_lab::install::Workshop;
use ridethrough_lab::rivals::Rival;
use ridethrough_testkit::place::root_and_scratch;
use tokio::runtime;

use crate::contestant::Contestant;

mod proxies;

pub(crate) use proxies::{RivalProxy, proxies};

/// The official SDK with its defaults; P5 looks for these two names.
pub(crate) const RMCP: &str = "rmcp";
/// The official SDK with an HTTP client that keeps its connections.
pub(crate) const RMCP_POOLED: &str = "rmcp-pooled";

/// Returns the clients of others, and installs those that are missing.
pub(crate) fn clients() -> Result<Vec<Contestant>> {
    let places = Places::find()?;
    let mut clients = Vec::new();
    match places.build() {
        Ok(folder) => {
            clients.push(Contestant::new("reqwest", folder.join("reqwest-client")));
            clients.push(Contestant::new(RMCP, folder.join("rmcp-client")));
            let mut pooled = Contestant::new(RMCP_POOLED, folder.join("rmcp-client"));
            pooled.args = vec!["--pooled".to_owned()];
            clients.push(pooled);
        }
        Err(error) => left_out("the clients in Rust", &error),
    }
    for (name, script) in SCRIPTS {
        match places.script(name, script) {
            Ok(client) => clients.push(client),
            Err(error) => left_out(name, &error),
        }
    }
    Ok(clients)
}

/// Returns the bridges of others, and installs those that are missing.
pub(crate) fn bridges() -> Result<Vec<Contestant>> {
    let places = Places::find()?;
    let mut bridges = Vec::new();
    for name in ["mcp-remote", "mcp-proxy"] {
        match places.bridge(name) {
            Ok(bridge) => bridges.push(bridge),
            Err(error) => left_out(name, &error),
        }
    }
    Ok(bridges)
}

/// Clients in other languages, by their names in the lab, and the scripts that make contestants of them.
const SCRIPTS: [(&str, &str); 3] = [
    ("python", "python/client.py"),
    ("typescript", "typescript/client.mjs"),
    ("typescript-v1", "typescript/client.mjs"),
];

/// The factor by which an interpreter makes fewer calls: it takes a hundred times as long for a call.
const INTERPRETED: usize = 20;

fn left_out(name: &str, error: &anyhow::Error) {
    eprintln!("warning: {name} is left out: {error:#}");
}

/// The folders from which and into which contestants are installed.
struct Places {
    /// `dev/bench/rivals` of this repository.
    sources: PathBuf,
    /// A folder that is not committed; kept from run to run.
    scratch: PathBuf,
}

impl Places {
    /// Finds the folders; the scratch folder is below the target folder of the present build.
    fn find() -> Result<Self> {
        let (root, scratch) = root_and_scratch("bench-rivals")?;
        Ok(Self { sources: root.join("dev/bench/rivals"), scratch })
    }

    /// The folder that pins the versions of FastMCP.
    fn fastmcp_pins(&self) -> PathBuf {
        self.sources.join("../../interop/servers/fastmcp")
    }

    /// Builds the clients in Rust, as ours are built, and returns their folder.
    fn build(&self) -> Result<PathBuf> {
        let target = self.scratch.join("rust");
        eprintln!("building the clients of others in Rust ...");
        let mut cargo = Command::new("cargo");
        cargo.args(["build", "--quiet", "--release", "--locked"]).current_dir(&self.sources);
        let output = cargo.env("CARGO_TARGET_DIR", &target).output().context("no cargo")?;
        let said = String::from_utf8_lossy(&output.stderr);
        let last = said.lines().rfind(|line| !line.trim().is_empty()).unwrap_or("nothing");
        ensure!(output.status.success(), "cargo said `{last}`");
        Ok(target.join("release"))
    }

    /// Installs a client in another language.
    fn script(&self, name: &str, script: &str) -> Result<Contestant> {
        let (program, _) = self.install(name)?;
        let (file, folder) = (self.sources.join(script), self.scratch.join(name));
        // Beside its packages, where an interpreter looks for them.
        let place = folder.join(file.file_name().context("a script has a name")?);
        std::fs::copy(&file, &place).with_context(|| file.display().to_string())?;
        Ok(interpreted(name, program, vec![told(&place)?]))
    }

    fn bridge(&self, name: &str) -> Result<Contestant> {
        let (program, words) = self.install(name)?;
        // The URL comes last here; `mcp-remote` takes flags behind it only, and needs none on loopback.
        let words = words.iter().map(|word| told(word)).collect::<Result<Vec<_>>>()?;
        let words = words.into_iter().take_while(|word| word != "{url}").collect();
        Ok(interpreted(name, program, words))
    }

    /// Installs a rival of the lab by its package manager, at the version that is pinned there, and returns
    /// the program that starts it and its arguments.
    fn install(&self, name: &str) -> Result<(PathBuf, Vec<PathBuf>)> {
        let [rival] = Rival::named(&[name])?[..] else { bail!("the lab does not know it") };
        let runtime = runtime::Builder::new_current_thread().enable_all().build()?;
        let workshop = Workshop::new(&self.scratch);
        let mut words = runtime.block_on(workshop.install(rival, |what| eprintln!("{what}")))?;
        ensure!(!words.is_empty(), "nothing starts it");
        Ok((words.remove(0), words))
    }
}

fn interpreted(name: &str, program: PathBuf, args: Vec<String>) -> Contestant {
    Contestant { args, fewer: INTERPRETED, ..Contestant::new(name, program) }
}

fn told(path: &Path) -> Result<String> {
    path.to_str().map(str::to_owned).context("the path is not UTF-8")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rival_in_the_table_has_its_files() {
        let places = Places::find().unwrap();

        for (name, script) in SCRIPTS {
            assert_eq!(Rival::named(&[name]).unwrap().len(), 1);
            assert!(places.sources.join(script).exists(), "{script}");
        }
        assert_eq!(Rival::named(&["mcp-remote", "mcp-proxy"]).unwrap().len(), 2);
        assert!(places.sources.join("Cargo.lock").exists());
    }
}
