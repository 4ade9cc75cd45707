//! Reads a workspace from the disk: its plan, its crates with their sources, and its lock file.
//!
//! The tree comes from `Cargo.lock` and not from the resolver, which would have to download the packages of
//! every platform first. It may contain an optional package that is not enabled: the check is then too
//! strict, never too lax.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;

use crate::crates::{Graph, name_of};
use crate::plan::{PLAN_FILE, Plan};
use crate::source::Source;

/// Everything that the rules look at.
#[derive(Debug)]
pub struct Workspace {
    /// The plan.
    pub plan: Plan,
    /// Which package depends on which.
    pub graph: Graph,
    /// The files below `src` of each crate.
    pub sources: BTreeMap<String, Vec<Source>>,
}

impl Workspace {
    /// Reads the workspace that `folder` belongs to.
    pub fn read(folder: &Path) -> Result<Self> {
        let metadata = Metadata::ask_cargo(folder)?;
        let root = &metadata.workspace_root;
        let plan = Plan::parse(&read_text(&root.join(PLAN_FILE))?)
            .with_context(|| format!("`{PLAN_FILE}` is not a floor plan"))?;
        let lock: Lock = toml::from_str(&read_text(&root.join("Cargo.lock"))?)
            .context("`Cargo.lock` is not a lock file")?;
        let mut sources = BTreeMap::new();
        for package in &metadata.packages {
            sources.insert(package.name.clone(), package.sources()?);
        }
        Ok(Self { plan, graph: graph(&metadata.packages, &lock)?, sources })
    }
}

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
    workspace_root: PathBuf,
}

#[derive(Deserialize)]
struct Package {
    name: String,
    manifest_path: PathBuf,
    dependencies: Vec<Dependency>,
}

#[derive(Deserialize)]
struct Dependency {
    name: String,
    /// `dev`, `build`, or nothing for a plain dependency.
    kind: Option<String>,
}

impl Metadata {
    fn ask_cargo(folder: &Path) -> Result<Self> {
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let answer = Command::new(cargo)
            .args(["metadata", "--no-deps", "--locked", "--offline", "--format-version", "1"])
            .current_dir(folder)
            .output()
            .context("could not start `cargo metadata`")?;
        if !answer.status.success() {
            bail!("`cargo metadata` failed\n{}", String::from_utf8_lossy(&answer.stderr).trim());
        }
        serde_json::from_slice(&answer.stdout).context("`cargo metadata` gave unknown output")
    }
}

impl Package {
    fn sources(&self) -> Result<Vec<Source>> {
        let root = self.manifest_path.with_file_name("src");
        let mut sources = Vec::new();
        let mut folders = vec![root.clone()];
        while let Some(folder) = folders.pop() {
            let entries = fs::read_dir(&folder).with_context(|| not_read(&folder))?;
            for entry in entries {
                let path = entry.with_context(|| not_read(&folder))?.path();
                if path.is_dir() {
                    folders.push(path);
                } else if path.extension().is_some_and(|ending| ending == "rs") {
                    sources.push(Source { file: below(&root, &path), text: read_text(&path)? });
                }
            }
        }
        Ok(sources)
    }

    /// Returns the names of its dependencies, without those of its tests.
    fn needs(&self) -> impl Iterator<Item = &str> {
        let built = self.dependencies.iter().filter(|needed| needed.kind.as_deref() != Some("dev"));
        built.map(|needed| needed.name.as_str())
    }
}

#[derive(Deserialize)]
struct Lock {
    #[serde(default, rename = "package")]
    packages: Vec<Locked>,
}

#[derive(Deserialize)]
struct Locked {
    name: String,
    version: String,
    #[serde(default)]
    dependencies: Vec<String>,
}

/// Joins what the lock file has (all packages, but also development dependencies of ours) with what cargo
/// knows of our crates (the kinds of their dependencies).
fn graph(members: &[Package], lock: &Lock) -> Result<Graph> {
    let mut dependencies = BTreeMap::new();
    for locked in &lock.packages {
        let is_alone = lock.packages.iter().filter(|other| other.name == locked.name).count() == 1;
        let key = if is_alone {
            locked.name.clone()
        } else {
            format!("{} {}", locked.name, locked.version)
        };
        dependencies.insert(key, locked.dependencies.clone());
    }
    for member in members {
        let used = dependencies.entry(member.name.clone()).or_default();
        used.retain(|package| member.needs().any(|name| name_of(package) == name));
        for name in member.needs() {
            ensure!(
                used.iter().any(|package| name_of(package) == name),
                "`Cargo.lock` does not know that `{}` needs `{name}`; run `cargo check`",
                member.name
            );
        }
    }
    Ok(Graph { members: members.iter().map(|member| member.name.clone()).collect(), dependencies })
}

fn read_text(path: &Path) -> Result<String> {
    fs::read_to_string(path).with_context(|| not_read(path))
}

fn not_read(path: &Path) -> String {
    format!("could not read `{}`", path.display())
}

fn below(root: &Path, path: &Path) -> String {
    let inside = path.strip_prefix(root).unwrap_or(path);
    inside.iter().map(|part| part.to_string_lossy()).collect::<Vec<_>>().join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn development_dependencies_are_not_in_the_graph() {
        let graph = graph(&[ours(&[("bytes", None), ("rand", Some("dev"))])], &lock())
            .expect("the lock file knows both");

        assert_eq!(graph.dependencies["ours"], ["bytes"]);
    }

    #[test]
    fn build_dependencies_are_in_the_graph() {
        let graph =
            graph(&[ours(&[("rand", Some("build"))])], &lock()).expect("the lock file knows it");

        assert_eq!(graph.dependencies["ours"], ["rand 2.0.0"]);
        assert_eq!(graph.dependencies["rand 2.0.0"], ["getrandom"]);
    }

    #[test]
    fn a_dependency_that_the_lock_file_does_not_know_is_an_error() {
        let error = graph(&[ours(&[("tokio", None)])], &lock()).expect_err("it is not locked");

        assert_eq!(
            error.to_string(),
            "`Cargo.lock` does not know that `ours` needs `tokio`; run `cargo check`"
        );
    }

    fn ours(dependencies: &[(&str, Option<&str>)]) -> Package {
        let dependency = |(name, kind): &(&str, Option<&str>)| Dependency {
            name: (*name).to_owned(),
            kind: kind.map(str::to_owned),
        };
        Package {
            name: "ours".to_owned(),
            manifest_path: PathBuf::from("ours/Cargo.toml"),
            dependencies: dependencies.iter().map(dependency).collect(),
        }
    }

    fn lock() -> Lock {
        let text = "
            package = [
              { name = 'ours', version = '0.1.0', dependencies = ['bytes', 'rand 2.0.0'] },
              { name = 'bytes', version = '1.0.0' },
              { name = 'rand', version = '1.0.0' },
              { name = 'rand', version = '2.0.0', dependencies = ['getrandom'] },
            ]";
        toml::from_str(text).expect("the lock file of these tests is well-formed")
    }
}
