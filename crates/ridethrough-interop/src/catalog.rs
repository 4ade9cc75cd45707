//! The servers: what each is made of, and how it is installed and started.

use ridethrough_lab::install::Manager;

use crate::surface::Surface;

/// One server of another SDK.
#[derive(Debug)]
pub(crate) struct Server {
    /// Its name, and that of its folder in `interop/servers`.
    pub(crate) name: &'static str,
    /// What its versions are written in.
    pub(crate) pins: &'static [&'static str],
    /// The package whose version the table shows.
    pub(crate) package: &'static str,
    pub(crate) installer: Installer,
    pub(crate) surface: Surface,
    /// The script of a host on the same SDK, if there is one.
    pub(crate) host: Option<&'static str>,
    /// Whether it is asked when nobody says which.
    pub(crate) is_in_short_run: bool,
}

/// Which package manager brings a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Installer {
    Cargo,
    Npm { script: &'static str, argument: Option<&'static str> },
    Pip,
}

impl Installer {
    pub(crate) const fn manager(self) -> Manager {
        match self {
            Self::Cargo => Manager::Cargo,
            Self::Npm { .. } => Manager::Npm,
            Self::Pip => Manager::Pip,
        }
    }
}

const SCRIPT: Installer = Installer::Npm { script: "server.mjs", argument: None };
const EVERYTHING: Installer = Installer::Npm {
    script: "node_modules/@modelcontextprotocol/server-everything/dist/index.js",
    argument: Some("streamableHttp"),
};
const NPM_PINS: &[&str] = &["package.json", "package-lock.json"];
const PIP_PINS: &[&str] = &["requirements.txt", "constraints.txt"];

pub(crate) const SERVERS: &[Server] = &[
    Server {
        name: "python",
        pins: PIP_PINS,
        package: "mcp",
        installer: Installer::Pip,
        surface: Surface::Ours,
        host: Some("host.py"),
        is_in_short_run: true,
    },
    Server {
        name: "fastmcp",
        pins: PIP_PINS,
        package: "fastmcp",
        installer: Installer::Pip,
        surface: Surface::Ours,
        host: None,
        is_in_short_run: false,
    },
    Server {
        name: "typescript",
        pins: NPM_PINS,
        package: "@modelcontextprotocol/sdk",
        installer: SCRIPT,
        surface: Surface::Ours,
        host: Some("host.mjs"),
        is_in_short_run: true,
    },
    Server {
        name: "typescript-split",
        pins: NPM_PINS,
        package: "@modelcontextprotocol/server",
        installer: SCRIPT,
        surface: Surface::Ours,
        host: Some("host.mjs"),
        is_in_short_run: false,
    },
    Server {
        name: "everything",
        pins: NPM_PINS,
        package: "@modelcontextprotocol/server-everything",
        installer: EVERYTHING,
        surface: Surface::Everything,
        host: None,
        is_in_short_run: false,
    },
    Server {
        name: "rmcp",
        pins: &["Cargo.toml", "Cargo.lock"],
        package: "rmcp",
        installer: Installer::Cargo,
        surface: Surface::Ours,
        host: None,
        is_in_short_run: true,
    },
];

#[cfg(test)]
mod tests {
    use ridethrough_lab::rivals::pinned;

    use super::*;

    #[test]
    fn every_server_is_pinned_to_one_version() {
        let servers = concat!(env!("CARGO_MANIFEST_DIR"), "/../../interop/servers");

        for server in SERVERS {
            let path = format!("{servers}/{}/{}", server.name, server.pins[0]);
            let pins = std::fs::read_to_string(path).unwrap();

            assert!(pinned(&pins, server.package).is_some(), "{}", server.name);
        }
    }
}
