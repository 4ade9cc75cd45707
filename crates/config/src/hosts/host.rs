//! The programs whose config files we know, told apart by the path of the file.

use std::fmt;
use std::path::Path;

use crate::hosts::variables::Dialect;

/// A program that reads a config file and starts or reaches MCP servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Host {
    /// Claude Code.
    ClaudeCode,
    /// Claude Desktop.
    ClaudeDesktop,
    /// Codex.
    Codex,
    /// Copilot CLI.
    Copilot,
    /// Cursor.
    Cursor,
    /// Gemini CLI.
    GeminiCli,
    /// A file of another name, which is still read if it looks like one of these.
    Other,
    /// This program: `ridethrough.toml` names servers, too.
    Ridethrough,
    /// VS Code.
    VsCode,
    /// Windsurf.
    Windsurf,
    /// Zed.
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
        ALL.into_iter().find(|host| host.word() == word)
    }

    /// Returns the short name, for command lines and JSON.
    pub const fn word(self) -> &'static str {
        match self {
            Self::ClaudeCode => "claude-code",
            Self::ClaudeDesktop => "claude-desktop",
            Self::Codex => "codex",
            Self::Copilot => "copilot",
            Self::Cursor => "cursor",
            Self::GeminiCli => "gemini-cli",
            Self::Other => "other",
            Self::Ridethrough => "ridethrough",
            Self::VsCode => "vscode",
            Self::Windsurf => "windsurf",
            Self::Zed => "zed",
        }
    }

    /// Returns how variables are written in the host's files.
    pub(crate) const fn dialect(self) -> Dialect {
        match self {
            Self::ClaudeCode | Self::Ridethrough => Dialect::Shell,
            Self::ClaudeDesktop | Self::Codex | Self::Zed => Dialect::None,
            Self::GeminiCli => Dialect::Dollar,
            Self::Cursor | Self::VsCode | Self::Windsurf => Dialect::Editor,
            Self::Copilot | Self::Other => Dialect::Any,
        }
    }
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::ClaudeCode => "Claude Code",
            Self::ClaudeDesktop => "Claude Desktop",
            Self::Codex => "Codex",
            Self::Copilot => "Copilot CLI",
            Self::Cursor => "Cursor",
            Self::GeminiCli => "Gemini CLI",
            Self::Other => "Config file",
            Self::Ridethrough => "ridethrough",
            Self::VsCode => "VS Code",
            Self::Windsurf => "Windsurf",
            Self::Zed => "Zed",
        })
    }
}

const ALL: [Host; 11] = [
    Host::ClaudeCode,
    Host::ClaudeDesktop,
    Host::Codex,
    Host::Copilot,
    Host::Cursor,
    Host::GeminiCli,
    Host::Other,
    Host::Ridethrough,
    Host::VsCode,
    Host::Windsurf,
    Host::Zed,
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
        assert!(ALL.into_iter().all(|host| Host::named(host.word()) == Some(host)));
    }
}
