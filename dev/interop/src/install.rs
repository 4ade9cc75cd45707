//! Installs a server into the scratch folder by the package manager of its language.
//!
//! An installation with unchanged pins is used as it is. A package manager that is missing or cannot reach
//! its registry is not a failure of ours: the server is skipped, and the run says so.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use ridethrough_lab::install::NotBrought;
use ridethrough_lab::rivals::pinned;

use crate::catalog::{Installer, Server};
use crate::host::HostRecipe;
use crate::process::Recipe;

/// The result of an installation.
pub(crate) enum Installed {
    /// The server is installed.
    Ready(Recipe),
    /// The package manager could not work, for this reason.
    Skipped(String),
}

/// The folders from which and into which servers are installed.
pub(crate) struct Places {
    /// `dev/interop/servers` of this repository.
    pub(crate) sources: PathBuf,
    /// A folder that is not committed; kept from run to run.
    pub(crate) scratch: PathBuf,
}

impl Places {
    /// Finds the folders; the scratch folder is below the target folder of the present build.
    pub(crate) fn find() -> Result<Self> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let root = root.canonicalize().context("the repository is not where it was built")?;
        let target = std::env::var_os("CARGO_TARGET_DIR").map(PathBuf::from);
        let target = target.unwrap_or_else(|| root.join("target"));
        Ok(Self { sources: root.join("dev/interop/servers"), scratch: target.join("interop") })
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
        let recipe = recipe(server, &folder)?;
        let Some(manager) = server.installer.manager() else {
            return Ok(Installed::Ready(recipe));
        };
        let pins = read_all(&folder, server.pins)?;
        let stamp = folder.join("installed");
        // Cargo itself checks whether anything changed.
        let is_there = server.installer != Installer::Cargo
            && std::fs::read_to_string(&stamp).is_ok_and(|it| it == pins);
        if is_there {
            return Ok(Installed::Ready(recipe));
        }
        let mut tell = |what: &str| eprintln!("installing {}: {what}", server.name);
        match manager.bring(&folder, &mut tell).await {
            Ok(()) => {
                std::fs::write(&stamp, pins)?;
                Ok(Installed::Ready(recipe))
            }
            Err(NotBrought::Silent(why)) => Ok(Installed::Skipped(why)),
            Err(refused @ NotBrought::Refused { .. }) => {
                Err(refused).context(format!("{} was not installed", server.name))
            }
        }
    }

    /// Copies the server's own files, and those that two servers share.
    fn copy(&self, server: &Server, folder: &Path) -> Result<()> {
        copy_files(&self.sources.join(server.name), folder)?;
        for name in ["host.mjs", "surface.mjs", "surface.py"] {
            copy_if_changed(&self.sources.join(name), &self.scratch.join(name))?;
        }
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

/// Leaves an unchanged file alone, so that it keeps its time and cargo does not build again.
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

/// How the host on this SDK is started, if there is one.
pub(crate) fn host(server: &Server, recipe: &Recipe, bridge: &Path) -> Option<HostRecipe> {
    Some(HostRecipe {
        program: recipe.program.clone(),
        script: server.host?,
        folder: recipe.folder.clone(),
        log: recipe.folder.join("host.log"),
        bridge: bridge.to_owned(),
    })
}

fn recipe(server: &Server, folder: &Path) -> Result<Recipe> {
    let (program, arguments) = match server.installer {
        Installer::Cargo => (folder.join("target/debug/interop-rmcp"), Vec::new()),
        Installer::None => (std::env::current_exe()?, vec!["recorded-go".to_owned()]),
        Installer::Npm { script, argument } => {
            let arguments = std::iter::once(script).chain(argument).map(str::to_owned).collect();
            (PathBuf::from("node"), arguments)
        }
        Installer::Pip => (folder.join("venv/bin/python"), vec!["server.py".to_owned()]),
    };
    let announces = !matches!(server.installer, Installer::Npm { argument: Some(_), .. });
    Ok(Recipe {
        program,
        arguments,
        folder: folder.to_owned(),
        ledger: folder.join("ledger"),
        log: folder.join("log"),
        announces,
        only: None,
        settings: &[],
    })
}
