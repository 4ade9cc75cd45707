//! The servers: what each is made of, and how it is installed and started.

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
    /// The program that must be there.
    pub(crate) const fn program(self) -> &'static str {
        match self {
            Self::Cargo => "cargo",
            Self::Npm { .. } => "npm",
            Self::Pip => "python3",
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
        is_in_short_run: true,
    },
    Server {
        name: "fastmcp",
        pins: PIP_PINS,
        package: "fastmcp",
        installer: Installer::Pip,
        surface: Surface::Ours,
        is_in_short_run: false,
    },
    Server {
        name: "typescript",
        pins: NPM_PINS,
        package: "@modelcontextprotocol/sdk",
        installer: SCRIPT,
        surface: Surface::Ours,
        is_in_short_run: true,
    },
    Server {
        name: "typescript-split",
        pins: NPM_PINS,
        package: "@modelcontextprotocol/server",
        installer: SCRIPT,
        surface: Surface::Ours,
        is_in_short_run: false,
    },
    Server {
        name: "everything",
        pins: NPM_PINS,
        package: "@modelcontextprotocol/server-everything",
        installer: EVERYTHING,
        surface: Surface::Everything,
        is_in_short_run: false,
    },
    Server {
        name: "rmcp",
        pins: &["Cargo.toml", "Cargo.lock"],
        package: "rmcp",
        installer: Installer::Cargo,
        surface: Surface::Ours,
        is_in_short_run: true,
    },
];

/// The version in a pin of this package: `mcp==2.3.0`, `"a/b": "1.2.3"`, `rmcp = { version = "=3.8.0"`.
pub(crate) fn pinned<'a>(pins: &'a str, package: &str) -> Option<&'a str> {
    pins.lines().find_map(|line| {
        let line = line.trim().trim_start_matches('"');
        let rest = line.strip_prefix(package)?;
        let is_whole_name = rest.starts_with(['=', '"', ' ']);
        let start = rest.find(|it: char| it.is_ascii_digit()).filter(|_| is_whole_name)?;
        let version = &rest[start..];
        let end = version.find(|it: char| !(it.is_ascii_alphanumeric() || it == '.'));
        Some(&version[..end.unwrap_or(version.len())])
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_read_from_the_pins_of_every_package_manager() {
        let cargo = "[dependencies]\nrmcp = { version = \"=3.8.0\", features = [] }";
        let npm =
            "\"dependencies\": {\n  \"@a/sdk-extra\": \"9.9.9\",\n  \"@a/sdk\": \"1.32.2\"\n}";

        assert_eq!(pinned("mcp-types==9.9.9\nmcp==2.3.0\n", "mcp"), Some("2.3.0"));
        assert_eq!(pinned(npm, "@a/sdk"), Some("1.32.2"));
        assert_eq!(pinned(cargo, "rmcp"), Some("3.8.0"));
        assert_eq!(pinned(cargo, "axum"), None);
    }

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
