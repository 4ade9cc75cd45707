//! The programs whose config files we know, told apart by the path of the file.

use std::fmt;
use std::path::Path;

use crate::hosts::variables::Dialect;

/// A program that reads a config file and starts or reaches MCP servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "each is the program of that name")]
pub enum Host {
    ClaudeCode,
    ClaudeDesktop,
    Codex,
    Copilot,
    Cursor,
    GeminiCli,
    /// A file of another name, which is still read if it looks like one of these.
    Other,
    /// This program: `ridethrough.toml` names servers, too.
    Ridethrough,
    VsCode,
    Windsurf,
    Zed,
}

impl Host {
    /// Returns the host whose file this is.
    pub(crate) fn of(path: &Path) -> Self {
        let name = |path: &Path| path.file_name().and_then(|it| it.to_str()).map(str::to_owned);
        let folder = path.parent().and_then(name);
        match (name(path).as_deref().unwrap_or_default(), folder.as_deref().unwrap_or_default()) {
            (".mcp.json" | ".claude.json", _) => Self::ClaudeCode,
            ("claude_desktop_config.json", _) => Self::ClaudeDesktop,
            ("config.toml", _) => Self::Codex,
            ("mcp-config.json", _) => Self::Copilot,
            ("ridethrough.toml", _) => Self::Ridethrough,
            ("mcp.json", ".cursor") => Self::Cursor,
            ("mcp.json", ".vscode" | "User") => Self::VsCode,
            ("mcp_config.json", _) => Self::Windsurf,
            ("settings.json", ".gemini") => Self::GeminiCli,
            ("settings.json", ".zed" | "zed" | "Zed") => Self::Zed,
            _ => Self::Other,
        }
    }

    /// Returns the host of this short name.
    pub fn named(word: &str) -> Option<Self> {
        HOSTS.iter().find(|(_, name, ..)| *name == word).map(|(host, ..)| *host)
    }

    /// Returns the short name, for command lines and JSON.
    pub fn word(self) -> &'static str {
        self.facts().0
    }

    /// Returns how variables are written in the host's files.
    pub(crate) fn dialect(self) -> Dialect {
        self.facts().2
    }

    fn facts(self) -> (&'static str, &'static str, Dialect) {
        let row = HOSTS.iter().find(|(host, ..)| *host == self);
        let (_, word, name, dialect) = row.expect("each host has a row");
        (word, name, *dialect)
    }
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.facts().1)
    }
}

/// Each host with its short name, its name, and how variables are written in its files.
const HOSTS: [(Host, &str, &str, Dialect); 11] = [
    (Host::ClaudeCode, "claude-code", "Claude Code", Dialect::Shell),
    (Host::ClaudeDesktop, "claude-desktop", "Claude Desktop", Dialect::None),
    (Host::Codex, "codex", "Codex", Dialect::None),
    (Host::Copilot, "copilot", "Copilot CLI", Dialect::Any),
    (Host::Cursor, "cursor", "Cursor", Dialect::Editor),
    (Host::GeminiCli, "gemini-cli", "Gemini CLI", Dialect::Dollar),
    (Host::Other, "other", "Config file", Dialect::Any),
    (Host::Ridethrough, "ridethrough", "ridethrough", Dialect::Shell),
    (Host::VsCode, "vscode", "VS Code", Dialect::Editor),
    (Host::Windsurf, "windsurf", "Windsurf", Dialect::Editor),
    (Host::Zed, "zed", "Zed", Dialect::None),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_tells_whose_it_is_by_its_name_and_folder() {
        let of = |path: &str| Host::of(Path::new(path));

        assert_eq!(of("/home/me/.cursor/mcp.json"), Host::Cursor);
        assert_eq!(of("work/.vscode/mcp.json"), Host::VsCode);
        assert_eq!(of("/home/me/.config/Code/User/mcp.json"), Host::VsCode);
        assert_eq!(of(".mcp.json"), Host::ClaudeCode);
        assert_eq!(of("/home/me/.gemini/settings.json"), Host::GeminiCli);
        assert_eq!(of("/home/me/.config/zed/settings.json"), Host::Zed);
        assert_eq!(of("work/.zed/settings.json"), Host::Zed);
        assert_eq!(of("mcp.json"), Host::Other);
        assert!(HOSTS.iter().all(|(host, ..)| Host::named(host.word()) == Some(*host)));
    }
}
