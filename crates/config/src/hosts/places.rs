//! The places of config files: in a project, and in the folders of the user.

use std::env;
use std::path::{Path, PathBuf};

use crate::folders::{self, settings};
use crate::hosts::Host;
use crate::platform::Platform;

/// A config file, with its host and its scope.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigPlace {
    /// Its path.
    pub path: PathBuf,
    /// Whose file it is.
    pub host: Host,
    /// Who vouches for it.
    pub scope: ConfigScope,
}

/// Who vouches for the content of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConfigScope {
    /// A person named it on the command line.
    Named,
    /// It lies in a project, and may have come with it from anywhere.
    Project,
    /// It is the user's own.
    User,
}

/// The folders in which config files are looked for.
#[derive(Clone, Debug)]
pub struct Folders {
    pub(crate) home: Option<PathBuf>,
    /// The folder in which programs keep their settings on this system.
    settings: Option<PathBuf>,
    /// The folder in which Claude Code keeps the user's file.
    claude: Option<PathBuf>,
    codex: Option<PathBuf>,
    /// Zed's file, which has a place of its own on each platform.
    zed: Option<PathBuf>,
    /// Our own file of the user.
    own: Option<PathBuf>,
    pub(crate) work: PathBuf,
}

impl Folders {
    /// Returns the folders of this process.
    pub fn here() -> Self {
        let folder = |name: &str| env::var_os(name).filter(|it| !it.is_empty()).map(PathBuf::from);
        let home = env::home_dir().filter(|it| !it.as_os_str().is_empty());
        let below = |path: &str| home.as_ref().map(|home| home.join(path));
        let settings = settings(Platform::here(), folder, home.as_deref());
        let zed = zed(Platform::here(), settings.as_deref(), home.as_deref());
        let codex = folder("CODEX_HOME").or_else(|| below(".codex"));
        let claude = folder("CLAUDE_CONFIG_DIR").or_else(|| home.clone());
        let (own, work) = (folders::users_file(), env::current_dir().unwrap_or_default());
        Self { settings, claude, codex, zed, own, work, home }
    }

    /// Returns the folders for a home and a working directory, as on Linux.
    #[cfg(test)]
    pub(crate) fn at(home: &Path, work: &Path) -> Self {
        Self {
            home: Some(home.to_owned()),
            settings: Some(home.join(".config")),
            claude: Some(home.to_owned()),
            codex: Some(home.join(".codex")),
            zed: Some(home.join(".config/zed/settings.json")),
            own: Some(home.join(".config/ridethrough/ridethrough.toml")),
            work: work.to_owned(),
        }
    }

    /// Returns the files that exist. Those of the project come first, as they do for the hosts.
    pub fn files(&self) -> Vec<ConfigPlace> {
        let mine = self.users();
        let theirs = self.projects().into_iter();
        let theirs = theirs.filter(|it| !mine.iter().any(|mine| mine.path == it.path));
        let all: Vec<_> = theirs.chain(mine.iter().cloned()).collect();
        all.into_iter().filter(|place| place.path.is_file()).collect()
    }

    /// Returns our own files: they name servers, and there is nothing to import from them.
    pub(crate) fn own(&self) -> Vec<ConfigPlace> {
        let host = Host::Ridethrough;
        let project = self.work.join(folders::FILE);
        let project = ConfigPlace { path: project, host, scope: ConfigScope::Project };
        let user =
            self.own.clone().map(|path| ConfigPlace { path, host, scope: ConfigScope::User });
        [project].into_iter().chain(user).filter(|place| place.path.is_file()).collect()
    }

    /// Returns the place of a file that a person named.
    pub fn named(path: &Path) -> ConfigPlace {
        ConfigPlace { path: path.to_owned(), host: Host::of(path), scope: ConfigScope::Named }
    }

    /// Whether other people too will read this file, so that it must not contain paths of this machine.
    pub fn is_shared(&self, place: &ConfigPlace) -> bool {
        let is_projects = matches!(
            place.host,
            Host::ClaudeCode | Host::Cursor | Host::GeminiCli | Host::VsCode | Host::Zed
        );
        let path = std::path::absolute(&place.path).unwrap_or_else(|_| place.path.clone());
        is_projects && !self.users().iter().any(|mine| mine.path == path)
    }

    fn users(&self) -> Vec<ConfigPlace> {
        let under = |folder: &Option<PathBuf>, path: &str| Some(folder.as_ref()?.join(path));
        let paths = [
            under(&self.claude, ".claude.json"),
            under(&self.settings, "Claude/claude_desktop_config.json"),
            under(&self.codex, "config.toml"),
            under(&self.home, ".copilot/mcp-config.json"),
            under(&self.home, ".cursor/mcp.json"),
            under(&self.home, ".gemini/settings.json"),
            under(&self.settings, "Code/User/mcp.json"),
            under(&self.home, ".codeium/windsurf/mcp_config.json"),
            under(&self.home, ".codeium/mcp_config.json"),
            self.zed.clone(),
        ];
        let place =
            |path: PathBuf| ConfigPlace { host: Host::of(&path), path, scope: ConfigScope::User };
        paths.into_iter().flatten().map(place).collect()
    }

    /// Returns the files of the working directory, and of the folders above it up to the repository's.
    fn projects(&self) -> Vec<ConfigPlace> {
        let top = self.work.ancestors().find(|folder| folder.join(".git").exists());
        let top = top.unwrap_or(&self.work);
        let folders = self.work.ancestors().take_while(|folder| folder.starts_with(top));
        let files = [
            ".mcp.json",
            ".cursor/mcp.json",
            ".gemini/settings.json",
            ".vscode/mcp.json",
            ".zed/settings.json",
        ];
        folders
            .flat_map(|folder| files.map(|file| folder.join(file)))
            .map(|path| ConfigPlace { host: Host::of(&path), path, scope: ConfigScope::Project })
            .collect()
    }
}

fn zed(platform: Platform, settings: Option<&Path>, home: Option<&Path>) -> Option<PathBuf> {
    match platform {
        Platform::MacOs => Some(home?.join(".config/zed/settings.json")),
        Platform::Unix => Some(settings?.join("zed/settings.json")),
        Platform::Windows => Some(settings?.join("Zed/settings.json")),
    }
}

impl ConfigPlace {
    /// Returns the project that the file belongs to, as far as its path shows.
    pub(crate) fn workspace(&self) -> Option<PathBuf> {
        let path = std::path::absolute(&self.path).ok()?;
        let folder = path.parent()?;
        let is_hidden =
            [".cursor", ".gemini", ".vscode", ".zed"].iter().any(|name| folder.ends_with(name));
        let project = if is_hidden { folder.parent()? } else { folder };
        (self.scope != ConfigScope::User).then(|| project.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn files_of_the_project_and_of_the_user_are_found_each_once() {
        let root = env::temp_dir().join(format!("ridethrough-places-{}", std::process::id()));
        let home = root.join("home");
        let folders = Folders::at(&home, &home.join("work/deep"));
        let files = [
            "work/.mcp.json",
            "work/deep/.vscode/mcp.json",
            ".cursor/mcp.json",
            ".config/Claude/claude_desktop_config.json",
            ".codex/config.toml",
        ];
        for file in files {
            fs::create_dir_all(home.join(file).parent().unwrap()).unwrap();
            fs::write(home.join(file), "").unwrap();
        }
        let found = |folders: &Folders| -> Vec<_> {
            let name =
                |it: &ConfigPlace| it.path.strip_prefix(&home).unwrap().display().to_string();
            folders.files().iter().map(|it| (name(it), it.scope)).collect()
        };

        let alone = found(&folders);
        fs::create_dir_all(home.join(".git")).unwrap();
        let within = found(&folders);

        fs::remove_dir_all(&root).unwrap();
        let mine = [
            (files[3].to_owned(), ConfigScope::User),
            (files[4].to_owned(), ConfigScope::User),
            (files[2].to_owned(), ConfigScope::User),
        ];
        let deep = (files[1].to_owned(), ConfigScope::Project);
        assert_eq!(alone, [std::slice::from_ref(&deep), &mine[..]].concat());
        let above = (files[0].to_owned(), ConfigScope::Project);
        assert_eq!(within, [&[deep, above], &mine[..]].concat(), "up to the repository's folder");
    }

    #[test]
    fn settings_are_where_the_platform_has_them() {
        let known = |name: &str| Some(PathBuf::from(format!("/{name}")));
        let (home, unknown) = (Some(Path::new("/me")), |_: &str| None);

        for (platform, from_variable, from_home, of_zed) in [
            (
                Platform::MacOs,
                Some("/me/Library/Application Support"),
                Some("/me/Library/Application Support"),
                "/me/.config/zed/settings.json",
            ),
            (
                Platform::Unix,
                Some("/XDG_CONFIG_HOME"),
                Some("/me/.config"),
                "/XDG_CONFIG_HOME/zed/settings.json",
            ),
            (Platform::Windows, Some("/APPDATA"), None, "/APPDATA/Zed/settings.json"),
        ] {
            let found = settings(platform, known, home);

            assert_eq!(found.as_deref(), from_variable.map(Path::new), "{platform:?}");
            assert_eq!(
                settings(platform, unknown, home),
                from_home.map(Into::into),
                "{platform:?}"
            );
            assert_eq!(zed(platform, found.as_deref(), home), Some(of_zed.into()), "{platform:?}");
            assert_eq!(settings(platform, unknown, None), None, "{platform:?}");
            assert_eq!(zed(platform, None, None), None, "{platform:?}");
        }
    }

    #[test]
    fn a_users_own_file_is_not_shared_and_a_projects_is() {
        let home = std::path::absolute("/home/me").unwrap();
        let folders = Folders::at(&home, &home.join("work"));
        let is_shared = |path: PathBuf| folders.is_shared(&Folders::named(&path));

        assert!(is_shared(home.join("work/.cursor/mcp.json")));
        assert!(is_shared(home.join("work/.mcp.json")));
        assert!(!is_shared(home.join(".cursor/mcp.json")));
        assert!(!is_shared(home.join("claude_desktop_config.json")));
    }

    #[test]
    fn the_workspace_is_the_folder_around_an_editors_folder() {
        let workspace = |path: &str| Folders::named(Path::new(path)).workspace().unwrap();

        assert_eq!(
            workspace("/projects/.vscode/mcp.json"),
            std::path::absolute("/projects").unwrap()
        );
        assert_eq!(workspace("/projects/.mcp.json"), std::path::absolute("/projects").unwrap());
    }
}
