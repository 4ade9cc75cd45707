//! Clients and bridges of others: which there are, and how each is brought and started.
//!
//! A client is started as `program args… URL` and obeys the lines that `contest` documents. A bridge is
//! started as `program args… URL` too, and speaks MCP over its stdin and stdout.
//!
//! What their package managers bring lies below the target folder, kept from run to run. Who cannot be
//! brought is left out, and that is told; everybody else plays.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use ridethrough_lab::install::Workshop;
use ridethrough_lab::rivals::Rival;
use tokio::runtime;

use crate::contestant::Contestant;

/// The official SDK as it comes; P5 looks for these two names.
pub(crate) const RMCP: &str = "rmcp";
/// The official SDK with a client that keeps its connections.
pub(crate) const RMCP_POOLED: &str = "rmcp-pooled";

/// Clients of others, installed where they are not yet.
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

/// Bridges of others, installed where they are not yet.
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

/// Clients in other languages, by their names in the lab, and what makes contestants of them.
const SCRIPTS: [(&str, &str); 3] = [
    ("python", "python/client.py"),
    ("typescript", "typescript/client.mjs"),
    ("typescript-v1", "typescript/client.mjs"),
];

/// An interpreter takes a hundred times as long for a call.
const INTERPRETED: usize = 20;

fn left_out(name: &str, error: &anyhow::Error) {
    eprintln!("warning: {name} is left out: {error:#}");
}

/// Where contestants come from and where they go.
struct Places {
    /// `dev/bench/rivals` of this repository.
    sources: PathBuf,
    /// Outside of what is committed; kept from run to run.
    scratch: PathBuf,
}

impl Places {
    /// Below the target folder of the build that runs.
    fn find() -> Result<Self> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let root = root.canonicalize().context("the repository is not where it was built")?;
        let target = std::env::var_os("CARGO_TARGET_DIR").map(PathBuf::from);
        let target = target.unwrap_or_else(|| root.join("target"));
        Ok(Self { sources: root.join("dev/bench/rivals"), scratch: target.join("bench-rivals") })
    }

    /// Builds the clients in Rust, as ours are built, and says where they are.
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

    /// A client in another language.
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

    /// Has the package manager of a rival of the lab bring it, at the version that is pinned there, and
    /// gives the program and the words that start it.
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
