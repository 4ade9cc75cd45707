//! The clients and bridges that ours are compared with: their files and how each is started. Some are published
//! clients over this project's Python package.
//!
//! Adapters are in `lab/engine/clients` of the repository and are embedded in this crate, so that an
//! installed binary can write them to any folder. Versions are named only in their pins.

use crate::install::Manager;

/// A published client with our adapter, or a published bridge.
#[derive(Debug)]
pub struct Rival {
    /// Its name, and that of its folder.
    pub name: &'static str,
    /// Its author and its language, in a few words.
    pub what: &'static str,
    /// The package whose version counts.
    pub package: &'static str,
    /// The package manager that installs it.
    pub manager: Manager,
    /// Whether it is a client or a bridge.
    pub part: Part,
    /// Whether it can be asked to log in: its adapter can, or it does so by itself.
    pub logs_in: bool,
    /// Whether it asks every server for a session, as the host of a bridge does: what spares bridges spares it.
    pub asks_for_session: bool,
    /// Whether it runs over this project's Python package, which no package manager brings.
    pub needs_python_package: bool,
    /// Its files; those that pin versions come first.
    pins: &'static [File],
    adapter: &'static [File],
}

/// The kind of a rival, which decides how it is played.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// A stdio server in front of a remote one, started as its documentation shows: it needs a host.
    Bridge {
        /// The installed program and its arguments; `{url}` stands for the URL.
        command: &'static [&'static str],
        /// The variable from which it takes a token; otherwise it takes the flag `--header`.
        token: Option<&'static str>,
        /// The variable that names the folder of its logins, if it logs in by itself.
        logins: Option<&'static str>,
    },
    /// A client, with our adapter around it.
    Client,
}

/// A path below the folder of a client, and the text of the file.
pub type File = (&'static str, &'static str);

impl Rival {
    /// Returns the version that its pins name; that of our own client is ours.
    pub fn version(&self) -> &'static str {
        if self.package == "ridethrough" {
            return env!("CARGO_PKG_VERSION");
        }
        let found = self.pins.iter().find_map(|(_, text)| pinned(text, self.package));
        found.unwrap_or("not pinned")
    }

    /// Returns all files of its folder.
    pub fn files(&self) -> impl Iterator<Item = &'static File> {
        self.pins.iter().chain(self.adapter)
    }

    /// Returns the text of the pins, on which an installation depends.
    pub fn pins(&self) -> String {
        self.pins.iter().map(|(_, text)| *text).collect::<Vec<_>>().join("\n")
    }

    /// Returns the rivals with these names, in the order of [`RIVALS`].
    ///
    /// # Errors
    ///
    /// Fails at the first name that none has.
    pub fn named(names: &[&str]) -> Result<Vec<&'static Self>, UnknownRival> {
        let is_unknown = |name: &&&str| !RIVALS.iter().any(|rival| rival.name == **name);
        if let Some(name) = names.iter().find(is_unknown) {
            return Err(UnknownRival((*name).to_owned()));
        }
        Ok(RIVALS.iter().filter(|rival| names.contains(&rival.name)).collect())
    }
}

/// Returns the version in a pin of this package: `mcp==2.3.0`, `a[b]==1.2`, `"a/b": "1.2.3"`, `rmcp = {
/// version = "=3.8.0"`.
pub fn pinned<'a>(pins: &'a str, package: &str) -> Option<&'a str> {
    pins.lines().find_map(|line| {
        let rest = line.trim().trim_start_matches('"').strip_prefix(package)?;
        let is_whole_name = rest.starts_with(['=', '"', ' ', '[']);
        let version = rest[rest.find('=').or_else(|| rest.find(':'))?..]
            .trim_start_matches(|it: char| !it.is_ascii_digit());
        let end = version.find(|it: char| !(it.is_ascii_alphanumeric() || it == '.'));
        Some(&version[..end.unwrap_or(version.len())]).filter(|it| is_whole_name && !it.is_empty())
    })
}

/// A name that no rival has.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no client `{0}` to compare with")]
pub struct UnknownRival(pub String);

/// Files in a folder of `lab/engine/clients`, each by its name and its text.
macro_rules! files {
    ($folder:literal: $($name:literal),* $(, with $shared:ident)?) => {
        &[$(($name, include_str!(concat!("../clients/", $folder, "/", $name))),)* $($shared)?]
    };
}

const PLAYER_MJS: File = ("player.mjs", include_str!("../clients/player.mjs"));
const PLAYER_PY: File = ("player.py", include_str!("../clients/player.py"));

/// What most rivals on Python, and on Node, have in common.
const ON_PYTHON: Rival = Rival {
    name: "",
    what: "",
    package: "",
    manager: Manager::Pip,
    part: Part::Client,
    logs_in: false,
    asks_for_session: false,
    needs_python_package: false,
    pins: &[],
    adapter: &[],
};
const ON_NODE: Rival = Rival { manager: Manager::Npm, ..ON_PYTHON };
/// Those over this project's Python package.
const OVER_OURS: Rival = Rival { needs_python_package: true, ..ON_PYTHON };

/// All rivals.
pub const RIVALS: &[Rival] = &[
    Rival {
        name: "python",
        what: "the official Python SDK",
        package: "mcp",
        logs_in: true,
        pins: files!("python": "requirements.txt", "constraints.txt"),
        adapter: files!("python": "adapter.py", "login.py", with PLAYER_PY),
        ..ON_PYTHON
    },
    Rival {
        name: "fastmcp",
        what: "FastMCP, on top of the official Python SDK",
        package: "fastmcp-slim",
        pins: files!("fastmcp": "requirements.txt", "constraints.txt"),
        adapter: files!("fastmcp": "adapter.py", with PLAYER_PY),
        ..ON_PYTHON
    },
    Rival {
        name: "ridethrough-python",
        what: "this project's client for Python",
        package: "ridethrough",
        logs_in: true,
        pins: files!("ridethrough-python": "requirements.txt", "constraints.txt"),
        adapter: files!("ridethrough-python": "adapter.py", with PLAYER_PY),
        ..OVER_OURS
    },
    Rival {
        name: "python+ridethrough",
        what: "the official Python SDK over this project's transport",
        package: "mcp",
        pins: files!("python+ridethrough": "requirements.txt", "constraints.txt"),
        adapter: files!("python+ridethrough": "adapter.py", with PLAYER_PY),
        ..OVER_OURS
    },
    Rival {
        name: "fastmcp+ridethrough",
        what: "FastMCP over this project's `RideTransport`",
        package: "fastmcp-slim",
        pins: files!("fastmcp+ridethrough": "requirements.txt", "constraints.txt"),
        adapter: files!("fastmcp+ridethrough": "adapter.py", with PLAYER_PY),
        ..OVER_OURS
    },
    Rival {
        name: "langchain+ridethrough",
        what: "langchain-mcp-adapters, with this project's transport installed",
        package: "langchain-mcp-adapters",
        asks_for_session: true,
        pins: files!("langchain+ridethrough": "requirements.txt", "constraints.txt"),
        adapter: files!("langchain+ridethrough": "adapter.py", with PLAYER_PY),
        ..OVER_OURS
    },
    Rival {
        name: "typescript",
        what: "the official TypeScript SDK, version 2",
        package: "@modelcontextprotocol/client",
        logs_in: true,
        pins: files!("typescript": "package.json", "package-lock.json"),
        adapter: files!("typescript": "adapter.mjs", "login.mjs", with PLAYER_MJS),
        ..ON_NODE
    },
    Rival {
        name: "typescript-v1",
        what: "the official TypeScript SDK, version 1",
        package: "@modelcontextprotocol/sdk",
        pins: files!("typescript-v1": "package.json", "package-lock.json"),
        adapter: files!("typescript-v1": "adapter.mjs", with PLAYER_MJS),
        ..ON_NODE
    },
    Rival {
        name: "rmcp",
        what: "the official Rust SDK",
        package: "rmcp",
        manager: Manager::Cargo,
        // Not named `Cargo.toml` here: Cargo leaves folders that have one out of the package of this crate.
        pins: &[
            ("Cargo.toml", include_str!("../clients/rmcp/manifest.toml")),
            ("Cargo.lock", include_str!("../clients/rmcp/Cargo.lock")),
        ],
        adapter: files!("rmcp": "src/main.rs", "src/client.rs", "src/guest.rs", "src/step.rs"),
        ..ON_PYTHON
    },
    Rival {
        name: "mcp-remote",
        what: "the bridge `mcp-remote`, on the official TypeScript SDK; it greets a server twice at its \
               start, which checks that count sessions see",
        package: "mcp-remote",
        part: Part::Bridge {
            command: &["node_modules/mcp-remote/dist/proxy.js", "{url}", "--allow-http"],
            token: None,
            logins: Some("MCP_REMOTE_CONFIG_DIR"),
        },
        logs_in: true,
        pins: files!("mcp-remote": "package.json", "package-lock.json"),
        ..ON_NODE
    },
    Rival {
        name: "mcp-proxy",
        what: "the bridge `mcp-proxy`, on the official Python SDK",
        package: "mcp-proxy",
        part: Part::Bridge {
            command: &["mcp-proxy", "--transport", "streamablehttp", "{url}"],
            token: Some("API_ACCESS_TOKEN"),
            logins: None,
        },
        pins: files!("mcp-proxy": "requirements.txt", "constraints.txt"),
        ..ON_PYTHON
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rival_is_pinned_to_one_version() {
        for rival in RIVALS {
            let starts = rival.version().as_bytes()[0];

            assert!(starts.is_ascii_digit(), "{}: {}", rival.name, rival.version());
        }
    }

    #[test]
    fn every_file_of_an_adapter_is_carried_along() {
        let clients = concat!(env!("CARGO_MANIFEST_DIR"), "/clients");

        for rival in RIVALS {
            let mut there = listed(format!("{clients}/{}", rival.name).as_ref(), "");
            let mut carried: Vec<_> = rival.files().map(|(path, _)| (*path).to_owned()).collect();
            carried.retain(|path| !path.starts_with("player."));
            there.sort();
            carried.sort();

            assert_eq!(carried, there, "{}", rival.name);
        }
    }

    #[test]
    fn a_name_that_nobody_has_is_told() {
        let found = Rival::named(&["rmcp", "python"]).unwrap();

        assert_eq!(found.iter().map(|it| it.name).collect::<Vec<_>>(), ["python", "rmcp"]);
        assert_eq!(Rival::named(&["pithon"]).unwrap_err(), UnknownRival("pithon".to_owned()));
    }

    #[test]
    fn a_version_is_read_from_the_pins_of_every_package_manager() {
        let cargo = "[dependencies]\nrmcp = { version = \"=3.8.0\", features = [] }";
        let npm =
            "\"dependencies\": {\n  \"@a/sdk-extra\": \"9.9.9\",\n  \"@a/sdk\": \"1.32.2\"\n}";

        assert_eq!(pinned("mcp-types==9.9.9\nmcp==2.3.0\n", "mcp"), Some("2.3.0"));
        assert_eq!(pinned("fastmcp-slim[client2]==4.1.4", "fastmcp-slim"), Some("4.1.4"));
        assert_eq!(pinned(npm, "@a/sdk"), Some("1.32.2"));
        assert_eq!(pinned(cargo, "rmcp"), Some("3.8.0"));
        assert_eq!(pinned(cargo, "axum"), None);
    }

    fn listed(folder: &std::path::Path, before: &str) -> Vec<String> {
        let mut files = Vec::new();
        for entry in std::fs::read_dir(folder).unwrap() {
            let entry = entry.unwrap();
            let name = format!("{before}{}", entry.file_name().to_string_lossy());
            let name = name.replace("manifest.toml", "Cargo.toml");
            if !entry.path().is_dir() {
                files.push(name);
            } else if name == "src" {
                files.extend(listed(&entry.path(), "src/"));
            }
        }
        files
    }
}
