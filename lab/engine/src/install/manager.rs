//! The package managers: how each is started, and what its failures mean.

use std::path::{Path, PathBuf};

use super::step::{Failed, InstallStep};
use crate::platform;

/// A package manager, and thereby the language of what it installs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Manager {
    /// A Rust project of its own, built in its folder.
    Cargo,
    /// A program for Node.
    Npm,
    /// A program for Python, with an environment of its own.
    Pip,
}

/// Why a package was not installed.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotBrought {
    /// The package manager answered, and refused.
    #[error("{program} failed: {said}")]
    Refused {
        /// The name of the program.
        program: &'static str,
        /// Its last output.
        said: String,
    },
    /// The package manager is missing or cannot reach its registry.
    #[error("{0}")]
    Silent(String),
}

impl Manager {
    /// Installs what the pins in this folder name. `tell` gets a message every few seconds.
    ///
    /// # Errors
    ///
    /// Fails if the package manager is missing, silent for minutes, or refuses, and on a platform where the
    /// lab cannot use it.
    pub async fn bring(self, folder: &Path, tell: &mut dyn FnMut(&str)) -> Result<(), NotBrought> {
        if !platform::knows_package_managers() {
            let words = "package managers are not supported on this platform";
            return Err(NotBrought::Silent(words.to_owned()));
        }
        for step in self.steps(folder) {
            let program = step.name;
            step.run(tell).await.map_err(|failed| reason(program, failed))?;
        }
        Ok(())
    }

    /// Returns the command that starts an adapter with what was installed.
    pub(super) fn adapter(self, folder: &Path) -> Vec<PathBuf> {
        match self {
            Self::Cargo => {
                vec![folder.join("target/debug/lab-client-rmcp")]
            }
            Self::Npm => vec!["node".into(), folder.join("adapter.mjs")],
            Self::Pip => {
                let words = [in_environment(folder, "python"), folder.join("adapter.py")];
                kept_compiled().chain(words).collect()
            }
        }
    }

    /// Returns the command that starts an installed program.
    pub(super) fn bridge(self, folder: &Path, command: &[&str]) -> Vec<PathBuf> {
        let (program, arguments) = command.split_first().unwrap_or((&"", &[]));
        let mut words = match self {
            Self::Cargo => vec![folder.join("target/debug").join(program)],
            Self::Npm => vec!["node".into(), folder.join(program)],
            Self::Pip => kept_compiled().chain([in_environment(folder, program)]).collect(),
        };
        words.extend(arguments.iter().map(PathBuf::from));
        words
    }

    fn steps(self, folder: &Path) -> Vec<InstallStep> {
        match self {
            Self::Cargo => {
                let build =
                    InstallStep::new("cargo", "cargo", &["build", "--quiet", "--locked"], folder);
                vec![build.with("CARGO_TARGET_DIR", folder.join("target"))]
            }
            Self::Npm => vec![InstallStep::new("npm", "npm", &NPM_INSTALL, folder)],
            Self::Pip => {
                let venv = ["-m", "venv", "--clear", "venv"];
                let pip = in_environment(folder, "python");
                vec![
                    InstallStep::new("python3", "python3", &venv, folder),
                    InstallStep::new("pip", pip, PIP_INSTALL, folder),
                ]
            }
        }
    }
}

/// Returns the words before a program for Python that make it keep what it has compiled, whatever this process was
/// told: without that each of hundreds of starts takes seconds to import an SDK.
fn kept_compiled() -> impl Iterator<Item = PathBuf> {
    ["env", "-u", "PYTHONDONTWRITEBYTECODE"].into_iter().map(PathBuf::from)
}

fn in_environment(folder: &Path, program: &str) -> PathBuf {
    folder.join("venv/bin").join(program)
}

/// Distinguishes a package manager that could not work from one that refused.
fn reason(program: &'static str, failed: Failed) -> NotBrought {
    match failed {
        Failed::Missing => NotBrought::Silent(format!("{program} is missing")),
        Failed::TooLong(limit) => {
            NotBrought::Silent(format!("{program} did not answer within {} s", limit.as_secs()))
        }
        Failed::Said(said) => match SILENCE.iter().find(|words| said.contains(**words)) {
            Some(words) => NotBrought::Silent(format!("{program} did not answer (`{words}`)")),
            None => NotBrought::Refused { program, said: last_words(&said) },
        },
    }
}

fn last_words(said: &str) -> String {
    let lines: Vec<_> = said.lines().filter(|line| !line.trim().is_empty()).collect();
    let last = lines[lines.len().saturating_sub(3)..].join(" / ");
    last.chars().take(300).collect()
}

const NPM_INSTALL: [&str; 4] = ["ci", "--no-audit", "--no-fund", "--fetch-retries=1"];
const PIP_INSTALL: &[&str] = &[
    "-m",
    "pip",
    "install",
    "--quiet",
    "--no-compile",
    "--disable-pip-version-check",
    "--retries=1",
    "--timeout=20",
    "--requirement=requirements.txt",
    "--constraint=constraints.txt",
];

/// The messages of package managers that cannot reach their registry.
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
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_package_manager_that_cannot_reach_its_registry_did_not_answer() {
        let pip = "WARNING: Retrying (Retry(total=0)) after connection broken by \
                   'NewConnectionError(...)'\nERROR: No matching distribution found for mcp==2.3.0";
        for (program, failed, why) in [
            ("npm", Failed::Said("code ECONNREFUSED".to_owned()), "npm did not answer (`ECONN"),
            ("pip", Failed::Said(pip.to_owned()), "pip did not answer (`NewConnectionError`)"),
            ("cargo", Failed::Missing, "cargo is missing"),
            ("npm", Failed::TooLong(Duration::from_secs(9)), "npm did not answer within 9 s"),
        ] {
            let reason = reason(program, failed);

            assert!(matches!(&reason, NotBrought::Silent(it) if it.starts_with(why)), "{reason}");
        }
    }

    #[test]
    fn clients_and_bridges_for_python_keep_what_they_compile() {
        let folder = Path::new("/a b");

        let words = [Manager::Pip.adapter(folder), Manager::Pip.bridge(folder, &["it", "{url}"])];

        for words in words {
            assert_eq!(words[..3], ["env", "-u", "PYTHONDONTWRITEBYTECODE"].map(PathBuf::from));
            assert!(words[3].starts_with("/a b/venv/bin"), "{words:?}");
        }
    }

    #[test]
    fn a_package_manager_that_answers_and_refuses_is_told_by_its_last_words() {
        let said = "a\nb\n\nerror[E0308]: mismatched types\nhelp\nerror: could not compile".into();

        let reason = reason("cargo", Failed::Said(said));

        let said = "error[E0308]: mismatched types / help / error: could not compile".to_owned();
        assert_eq!(reason, NotBrought::Refused { program: "cargo", said });
    }
}
