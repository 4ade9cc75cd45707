//! Brings a server into the scratch folder by the package manager of its language.
//!
//! What is there and has the same pins is used as it is. A package manager that is missing or cannot
//! reach its registry is no failure of ours: the server is skipped, and the run says so.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, Result};
use tokio::process::Command;
use tokio::time::{Instant, timeout};

use crate::catalog::{Installer, Server, pinned};
use crate::process::Recipe;

/// What became of an installation.
pub(crate) enum Installed {
    /// It is there.
    Ready(Recipe),
    /// The package manager did not answer, in these words.
    Skipped(String),
}

/// Where servers come from and where they go.
pub(crate) struct Places {
    /// `interop/servers` of this repository.
    pub(crate) sources: PathBuf,
    /// Outside of what is committed; kept from run to run.
    pub(crate) scratch: PathBuf,
}

impl Places {
    /// Below the target folder of the build that runs.
    pub(crate) fn find() -> Result<Self> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let root = root.canonicalize().context("the repository is not where it was built")?;
        let target = std::env::var_os("CARGO_TARGET_DIR").map(PathBuf::from);
        let target = target.unwrap_or_else(|| root.join("target"));
        Ok(Self { sources: root.join("interop/servers"), scratch: target.join("interop") })
    }

    /// The version of a server that its pins name.
    pub(crate) fn version(&self, server: &Server) -> Result<String> {
        let path = self.sources.join(server.name).join(server.pins[0]);
        let pins = std::fs::read_to_string(&path).with_context(|| path.display().to_string())?;
        let version = pinned(&pins, server.package);
        Ok(version.with_context(|| format!("{} is not pinned", server.package))?.to_owned())
    }

    /// Makes sure that a server can be started.
    pub(crate) async fn install(&self, server: &Server) -> Result<Installed> {
        let folder = self.scratch.join(server.name);
        std::fs::create_dir_all(&folder)?;
        self.copy(server, &folder)?;
        let recipe = recipe(server, &folder);
        let pins = read_all(&folder, server.pins)?;
        let stamp = folder.join("installed");
        // Cargo looks for itself whether anything changed.
        let is_there = server.installer != Installer::Cargo
            && std::fs::read_to_string(&stamp).is_ok_and(|it| it == pins);
        if is_there {
            return Ok(Installed::Ready(recipe));
        }
        for step in steps(server, &folder) {
            if let Err(said) = step.run(server.name).await? {
                return match silence(server.installer, &said) {
                    Some(why) => Ok(Installed::Skipped(why)),
                    None => Err(anyhow::anyhow!("{} was not installed: {said}", server.name)),
                };
            }
        }
        std::fs::write(&stamp, pins)?;
        Ok(Installed::Ready(recipe))
    }

    /// The server's own files, and the one that two of them share.
    fn copy(&self, server: &Server, folder: &Path) -> Result<()> {
        copy_files(&self.sources.join(server.name), folder)?;
        std::fs::copy(self.sources.join("surface.mjs"), self.scratch.join("surface.mjs"))?;
        Ok(())
    }
}

fn copy_files(from: &Path, to: &Path) -> Result<()> {
    std::fs::create_dir_all(to)?;
    for entry in std::fs::read_dir(from)? {
        let entry = entry?;
        let (source, name) = (entry.path(), entry.file_name());
        if source.is_dir() {
            copy_files(&source, &to.join(name))?;
        } else {
            copy_if_changed(&source, &to.join(name))?;
        }
    }
    Ok(())
}

/// A file that is the same keeps its time, so that cargo does not build again.
fn copy_if_changed(from: &Path, to: &Path) -> Result<()> {
    let bytes = std::fs::read(from)?;
    if std::fs::read(to).is_ok_and(|old| old == bytes) {
        return Ok(());
    }
    std::fs::write(to, bytes).with_context(|| to.display().to_string())
}

fn read_all(folder: &Path, names: &[&str]) -> Result<String> {
    let read = |name: &&str| std::fs::read_to_string(folder.join(name));
    let texts: Result<Vec<_>, _> = names.iter().map(read).collect();
    Ok(texts?.join("\n"))
}

fn recipe(server: &Server, folder: &Path) -> Recipe {
    let (program, arguments) = match server.installer {
        Installer::Cargo => (folder.join("target/debug/interop-rmcp"), Vec::new()),
        Installer::Npm { script, argument } => {
            let arguments = std::iter::once(script).chain(argument).map(str::to_owned).collect();
            (PathBuf::from("node"), arguments)
        }
        Installer::Pip => (folder.join("venv/bin/python"), vec!["server.py".to_owned()]),
    };
    let announces = !matches!(server.installer, Installer::Npm { argument: Some(_), .. });
    Recipe {
        program,
        arguments,
        folder: folder.to_owned(),
        ledger: folder.join("ledger"),
        log: folder.join("log"),
        announces,
    }
}

/// One command of an installation.
struct Step {
    command: Command,
    limit: Duration,
}

fn steps(server: &Server, folder: &Path) -> Vec<Step> {
    let step = |program: &Path, arguments: &[&str]| {
        let mut command = Command::new(program);
        command.args(arguments).current_dir(folder);
        Step { command, limit: LIMIT }
    };
    match server.installer {
        Installer::Cargo => {
            let mut build = step(Path::new("cargo"), &["build", "--quiet", "--locked"]);
            build.command.env("CARGO_TARGET_DIR", folder.join("target"));
            vec![build]
        }
        Installer::Npm { .. } => {
            let arguments = ["ci", "--no-audit", "--no-fund", "--fetch-retries=1"];
            vec![step(Path::new("npm"), &arguments)]
        }
        Installer::Pip => {
            let pip = folder.join("venv/bin/pip");
            let venv = ["-m", "venv", "--clear", "venv"];
            vec![step(Path::new("python3"), &venv), step(&pip, PIP_INSTALL)]
        }
    }
}

impl Step {
    /// Runs it, telling that it still runs; the inner error is what it said.
    async fn run(mut self, name: &str) -> Result<Result<(), String>> {
        let began = Instant::now();
        self.command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        self.command.kill_on_drop(true);
        let output = match self.command.spawn() {
            Ok(child) => child.wait_with_output(),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Ok(Err(MISSING.to_owned()));
            }
            Err(error) => return Err(error.into()),
        };
        tokio::pin!(output);
        loop {
            if let Ok(output) = timeout(Duration::from_secs(2), &mut output).await {
                let output = output?;
                let said = [output.stdout, output.stderr].concat();
                let said = String::from_utf8_lossy(&said).trim().to_owned();
                return Ok(if output.status.success() { Ok(()) } else { Err(said) });
            }
            let elapsed = began.elapsed();
            if elapsed > self.limit {
                return Ok(Err(TOO_LONG.to_owned()));
            }
            if elapsed.as_secs() % 10 < 2 {
                eprintln!("installing {name}: {} s", elapsed.as_secs());
            }
        }
    }
}

/// Why a package manager did not answer; nothing if it did, and refused.
fn silence(installer: Installer, said: &str) -> Option<String> {
    let program = match installer {
        Installer::Pip if said != MISSING => "pip",
        other => other.program(),
    };
    if said == MISSING || said == TOO_LONG {
        return Some(format!("{program} {said}"));
    }
    let words = SILENCE.iter().find(|words| said.contains(**words))?;
    Some(format!("{program} did not answer (`{words}`)"))
}

const PIP_INSTALL: &[&str] = &[
    "install",
    "--quiet",
    "--disable-pip-version-check",
    "--retries=1",
    "--timeout=20",
    "--requirement=requirements.txt",
    "--constraint=constraints.txt",
];
const MISSING: &str = "is missing";
const TOO_LONG: &str = "did not answer within 300 s";
const LIMIT: Duration = Duration::from_secs(300);

/// What package managers say when they cannot reach their registry.
const SILENCE: &[&str] = &[
    "ConnectTimeoutError",
    "Connection refused",
    "Connection reset",
    "Could not connect to server",
    "Could not resolve host",
    "EAI_AGAIN",
    "ECONNREFUSED",
    "ECONNRESET",
    "ENOTFOUND",
    "ETIMEDOUT",
    "Name or service not known",
    "NameResolutionError",
    "NewConnectionError",
    "ProxyError",
    "ReadTimeoutError",
    "Temporary failure in name resolution",
    "spurious network error",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_package_manager_that_cannot_reach_its_registry_did_not_answer() {
        let npm = Installer::Npm { script: "", argument: None };
        let pip = "WARNING: Retrying (Retry(total=0)) after connection broken by \
                   'NewConnectionError(...)'\nERROR: No matching distribution found for mcp==2.3.0";

        let why = silence(npm, "npm error code ECONNREFUSED\nnpm error FetchError");

        assert_eq!(why.as_deref(), Some("npm did not answer (`ECONNREFUSED`)"));
        assert_eq!(silence(npm, MISSING).as_deref(), Some("npm is missing"));
        assert_eq!(silence(Installer::Pip, MISSING).as_deref(), Some("python3 is missing"));
        assert!(silence(Installer::Pip, pip).is_some());
    }

    #[test]
    fn a_package_manager_that_answers_and_refuses_is_a_failure() {
        let pip = "ERROR: No matching distribution found for mcp==99";

        assert_eq!(silence(Installer::Pip, pip), None);
        assert_eq!(silence(Installer::Cargo, "error[E0308]: mismatched types"), None);
    }
}
