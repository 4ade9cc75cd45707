//! A user's folder in which the built binary runs.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use ridethrough_lab::{Mcp, Protocol, Server};
use ridethrough_testkit::place::ScratchFolder;
use serde_json::Value;

pub(crate) async fn listen(mcp: &Mcp) -> String {
    let address = Server::new(Protocol::Http1, mcp.clone()).listen().await.unwrap();
    format!("http://{address}/mcp")
}

pub(crate) fn servers(text: &str) -> Value {
    serde_json::from_str::<Value>(text).unwrap()["mcpServers"].take()
}

pub(crate) fn out(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

pub(crate) fn err(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// A user's folder with a project `work` in it.
pub(crate) struct Home(pub(crate) ScratchFolder);

impl Home {
    pub(crate) fn new() -> Self {
        let home = ScratchFolder::new("import-test").unwrap();
        fs::create_dir_all(home.join("work")).unwrap();
        Self(home)
    }

    /// Creates a home with a file of every host. A host whose file is in the project has no user's file
    /// beside it.
    pub(crate) fn furnished() -> Self {
        let home = Self::new();
        home.copy("claude-code/.mcp.json", "work/.mcp.json");
        home.copy("cursor/.cursor/mcp.json", "work/.cursor/mcp.json");
        home.copy("vscode/.vscode/mcp.json", "work/.vscode/mcp.json");
        home.copy("claude-code/.claude.json", ".claude.json");
        let settings = format!("{SETTINGS}/Claude/claude_desktop_config.json");
        home.copy("claude-desktop/claude_desktop_config.json", &settings);
        home.copy("codex/config.toml", ".codex/config.toml");
        home.copy("copilot/mcp-config.json", ".copilot/mcp-config.json");
        home.copy("windsurf/mcp_config.json", ".codeium/windsurf/mcp_config.json");
        home
    }

    pub(crate) fn copy(&self, fixture: &str, to: &str) {
        let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/configs").join(fixture);
        self.write(to, &fs::read_to_string(from).unwrap());
    }

    pub(crate) fn write(&self, path: &str, text: &str) {
        let path = self.0.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub(crate) fn read(&self, path: &str) -> String {
        fs::read_to_string(self.0.join(path)).unwrap()
    }

    /// Returns every file below it with its text, in order.
    pub(crate) fn files(&self) -> Vec<(PathBuf, String)> {
        let mut files = Vec::new();
        let mut folders = vec![self.0.to_path_buf()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                } else {
                    let text = fs::read_to_string(&path).unwrap();
                    files.push((path.strip_prefix(self.0.path()).unwrap().to_owned(), text));
                }
            }
        }
        files.sort();
        files
    }

    /// Runs the command in the project; files that are not in it are beside it.
    pub(crate) fn import(&self, args: &[&str]) -> Output {
        self.run(&[&["import"], args].concat())
    }

    pub(crate) fn run(&self, args: &[&str]) -> Output {
        let is_beside = |arg: &&str| self.0.join(arg).is_file();
        let args = args
            .iter()
            .map(|arg| if is_beside(arg) { format!("../{arg}") } else { (*arg).to_owned() });
        Command::new(env!("CARGO_BIN_EXE_ridethrough"))
            .args(args)
            .current_dir(self.0.join("work"))
            .env("HOME", self.0.path())
            .env("MY_KEY", "k3y")
            .envs(
                self.0
                    .join("claude")
                    .is_dir()
                    .then(|| ("CLAUDE_CONFIG_DIR", self.0.join("claude"))),
            )
            .env_remove("XDG_CONFIG_HOME")
            .env_remove("CODEX_HOME")
            .env("XDG_STATE_HOME", self.0.path())
            .output()
            .unwrap()
    }
}

pub(crate) const SETTINGS: &str = ".config";
