//! The servers: how each is installed and started, and what it is asked.

use ridethrough::Era;
use ridethrough_lab::install::Manager;

use crate::surface::Surface;

/// One server of another SDK.
#[derive(Debug)]
pub(crate) struct Server {
    /// Its name, and that of its folder in `dev/interop/servers`.
    pub(crate) name: &'static str,
    /// The files that pin its versions.
    pub(crate) pins: &'static [&'static str],
    /// The package whose version the table shows.
    pub(crate) package: &'static str,
    pub(crate) installer: Installer,
    pub(crate) surface: Surface,
    pub(crate) asked: Asked,
    /// The newest era that its SDK speaks. A server that speaks the modern era speaks the legacy one, too.
    pub(crate) newest: Era,
    /// The script of a host on its SDK, if there is one.
    pub(crate) host: Option<&'static str>,
    /// What it is asked in a run without named servers.
    pub(crate) short_run: ShortRun,
}

impl Server {
    pub(crate) const fn package(&self) -> Package {
        let Self { name, pins, package, installer, .. } = *self;
        Package { folder: name, pins, name: package, installer }
    }
}

/// What a package manager installs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Package {
    /// Its folder in `dev/interop/servers`.
    pub(crate) folder: &'static str,
    /// The files that pin its versions.
    pub(crate) pins: &'static [&'static str],
    /// Its name at the registry.
    pub(crate) name: &'static str,
    pub(crate) installer: Installer,
}

/// The checks that a server is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Asked {
    Everything,
    /// Only how it loses sessions, because it has no other tools.
    Sessions,
}

/// The checks of a server in a short run: hosts are tried with the stateless era at one server only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ShortRun {
    All,
    None,
    /// For the second server of an SDK: only what the first does not speak, with hosts too.
    Stateless,
}

/// The package manager that installs a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Installer {
    /// None: the server is a program of this workspace, built beside this one.
    Beside {
        program: &'static str,
    },
    /// None: the server is a part of this program.
    None,
    Npm {
        script: &'static str,
        argument: Option<&'static str>,
    },
    Pip {
        script: &'static str,
    },
}

impl Installer {
    pub(crate) const fn manager(self) -> Option<Manager> {
        match self {
            Self::Beside { .. } | Self::None => None,
            Self::Npm { .. } => Some(Manager::Npm),
            Self::Pip { .. } => Some(Manager::Pip),
        }
    }
}

const SCRIPT: Installer = Installer::Npm { script: "server.mjs", argument: None };
const PIP: Installer = Installer::Pip { script: "server.py" };
const EVERYTHING: Installer = Installer::Npm {
    script: "node_modules/@modelcontextprotocol/server-everything/dist/index.js",
    argument: Some("streamableHttp"),
};
pub(crate) const NPM_PINS: &[&str] = &["package.json", "package-lock.json"];
pub(crate) const PIP_PINS: &[&str] = &["requirements.txt", "constraints.txt"];

/// A server without a host, of the legacy era, which a short run leaves out.
const PYTHON: Server = Server {
    name: "",
    pins: PIP_PINS,
    package: "mcp",
    installer: PIP,
    surface: Surface::Ours,
    asked: Asked::Everything,
    newest: Era::Legacy,
    host: None,
    short_run: ShortRun::None,
};
const TYPESCRIPT: Server = Server { pins: NPM_PINS, installer: SCRIPT, ..PYTHON };

pub(crate) const SERVERS: &[Server] = &[
    Server {
        name: "python",
        newest: Era::Modern,
        host: Some("host.py"),
        short_run: ShortRun::All,
        ..PYTHON
    },
    Server { name: "python-1", ..PYTHON },
    Server { name: "fastmcp", package: "fastmcp", newest: Era::Modern, ..PYTHON },
    Server {
        name: "typescript",
        package: "@modelcontextprotocol/sdk",
        host: Some("host.mjs"),
        short_run: ShortRun::All,
        ..TYPESCRIPT
    },
    Server {
        name: "typescript-split",
        package: "@modelcontextprotocol/server",
        newest: Era::Modern,
        host: Some("host.mjs"),
        short_run: ShortRun::Stateless,
        ..TYPESCRIPT
    },
    Server {
        name: "everything",
        package: "@modelcontextprotocol/server-everything",
        installer: EVERYTHING,
        surface: Surface::Everything,
        ..TYPESCRIPT
    },
    Server {
        name: "rmcp",
        pins: &["Cargo.toml"],
        package: "rmcp",
        installer: Installer::Beside { program: "interop-rmcp" },
        newest: Era::Modern,
        short_run: ShortRun::All,
        ..PYTHON
    },
    Server {
        name: "go-recorded",
        pins: &["shapes.json"],
        package: "go-sdk",
        installer: Installer::None,
        asked: Asked::Sessions,
        ..PYTHON
    },
];

#[cfg(test)]
mod tests {
    use ridethrough_lab::rivals::pinned;

    use super::*;

    #[test]
    fn every_server_is_pinned_to_one_version() {
        let servers = concat!(env!("CARGO_MANIFEST_DIR"), "/servers");

        for server in SERVERS {
            let path = format!("{servers}/{}/{}", server.name, server.pins[0]);
            let pins = std::fs::read_to_string(path).unwrap();

            assert!(pinned(&pins, server.package).is_some(), "{}", server.name);
        }
    }
}
