//! Installs a server into the scratch folder by the package manager of its language.
//!
//! An installation with unchanged pins is used as it is. A package manager that is missing or cannot reach
//! its registry is not a failure of ours: the server is skipped, and the run says so.

use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};
use ridethrough_lab::install::NotBrought;
use ridethrough_lab::rivals::pinned;
use ridethrough_testkit::place::{beside, root_and_scratch};
use tokio::time::{Instant, sleep};

use crate::catalog::{Installer, Package, Server};
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
        let (root, scratch) = root_and_scratch("interop")?;
        Ok(Self { sources: root.join("dev/interop/servers"), scratch })
    }

    /// Returns the version of a package that its pins name.
    pub(crate) fn version(&self, package: Package) -> Result<String> {
        let path = self.sources.join(package.folder).join(package.pins[0]);
        let pins = std::fs::read_to_string(&path).with_context(|| path.display().to_string())?;
        let version = pinned(&pins, package.name);
        Ok(version.with_context(|| format!("{} is not pinned", package.name))?.to_owned())
    }

    /// Makes sure that a server can be started.
    pub(crate) async fn install(&self, package: Package) -> Result<Installed> {
        let folder = self.scratch.join(package.folder);
        std::fs::create_dir_all(&folder)?;
        let _lock = self.lock(package.folder).await?;
        self.copy(package.folder, &folder)?;
        let recipe = recipe(package.installer, &folder)?;
        let Some(manager) = package.installer.manager() else {
            return Ok(Installed::Ready(recipe));
        };
        let pins = read_all(&folder, package.pins)?;
        let stamp = folder.join("installed");
        if std::fs::read_to_string(&stamp).is_ok_and(|it| it == pins) {
            return Ok(Installed::Ready(recipe));
        }
        let mut tell = |what: &str| eprintln!("installing {}: {what}", package.folder);
        match manager.bring(&folder, &mut tell).await {
            Ok(()) => {
                std::fs::write(&stamp, pins)?;
                Ok(Installed::Ready(recipe))
            }
            Err(NotBrought::Silent(why)) => Ok(Installed::Skipped(why)),
            Err(refused @ NotBrought::Refused { .. }) => {
                Err(refused).context(format!("{} was not installed", package.folder))
            }
        }
    }

    /// Waits until no other run installs this: two of them would break each other's environment.
    async fn lock(&self, folder: &str) -> Result<File> {
        let file = File::create(self.scratch.join(format!("{folder}.lock")))?;
        let mut told = Instant::now();
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(file),
                Err(TryLockError::WouldBlock) => sleep(Duration::from_millis(100)).await,
                Err(TryLockError::Error(error)) => return Err(error).context("no lock"),
            }
            if told.elapsed() > Duration::from_secs(2) {
                told = Instant::now();
                eprintln!("{folder}: another run installs it");
            }
        }
    }

    /// Copies the server's own files, and those that two servers share.
    fn copy(&self, server: &str, folder: &Path) -> Result<()> {
        copy_files(&self.sources.join(server), folder)?;
        for name in
            ["authorization_hands.py", "conformance.mjs", "host.mjs", "surface.mjs", "surface.py"]
        {
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

/// Leaves an unchanged file alone, so that it keeps its time.
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

/// Returns how the host on this SDK is started, if there is one.
pub(crate) fn host(server: &Server, recipe: &Recipe, bridge: &Path) -> Option<HostRecipe> {
    Some(HostRecipe {
        program: recipe.program.clone(),
        script: server.host?,
        folder: recipe.folder.clone(),
        log: recipe.folder.join("host.log"),
        bridge: bridge.to_owned(),
    })
}

fn recipe(installer: Installer, folder: &Path) -> Result<Recipe> {
    let (program, arguments) = match installer {
        Installer::Beside { program } => (beside(program)?, Vec::new()),
        Installer::None => (std::env::current_exe()?, vec!["recorded-go".to_owned()]),
        Installer::Npm { script, argument } => {
            let arguments = std::iter::once(script).chain(argument).map(str::to_owned).collect();
            (PathBuf::from("node"), arguments)
        }
        Installer::Pip { script } => (folder.join("venv/bin/python"), vec![script.to_owned()]),
    };
    let announces = !matches!(installer, Installer::Npm { argument: Some(_), .. });
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
