//! The servers of a test, and the binary in a folder of its own with an environment of its own.

use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use ridethrough_oauth::store::FileStore;
use ridethrough_oauth::{Account, OAuth, Timestamp};
pub(crate) use ridethrough_testkit::process::Ran;
use tokio::process::Command;
use tokio::time::timeout;

use crate::support::{Folder, World, builder, robot};

pub(crate) struct Rig {
    pub(crate) world: World,
    pub(crate) folder: Folder,
}

impl Rig {
    pub(crate) async fn new() -> Self {
        Self { world: World::start().await, folder: Folder::new() }
    }

    /// Returns the command that runs the binary with these words; `SERVER` stands for the server's URL.
    pub(crate) fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ridethrough"));
        let url = self.world.mcp_url();
        command.args(words.iter().map(|word| word.replace("SERVER", &url)));
        command.env_clear().current_dir(&self.folder.0).stdin(Stdio::null()).kill_on_drop(true);
        command.env("HOME", &self.folder.0).env("RIDETHROUGH_AUTH_DIR", self.folder.path());
        command.env("RIDETHROUGH_ERA", "legacy").env("BROWSER", self.browser());
        command
    }

    /// Runs the binary to its end.
    pub(crate) async fn run(&self, words: &[&str]) -> Ran {
        self.run_with(words, &[]).await
    }

    /// Runs the binary to its end, with these variables.
    pub(crate) async fn run_with(&self, words: &[&str], variables: &[(&str, &str)]) -> Ran {
        let mut command = self.command(words);
        command.envs(variables.iter().copied());
        let output = timeout(Duration::from_secs(50), command.output()).await;
        output.expect("it ends by itself").unwrap().into()
    }

    /// Returns the URL that a browser was opened with, if one was.
    pub(crate) fn opened(&self) -> Option<String> {
        let opened = std::fs::read_to_string(self.folder.0.join("opened")).ok()?;
        opened.strip_suffix('\n').map(str::to_owned)
    }

    /// Returns the account of the binary, logged in by the library, whose clock is behind by this time.
    pub(crate) async fn log_in(&self, behind: Duration) -> Account {
        let clock = self.world.clock.read();
        let clock =
            move || Timestamp::from_unix_millis(clock().unix_millis() - behind.as_millis() as u64);
        let oauth = OAuth::new("test").store(FileStore::at(self.folder.path())).clock(clock);
        let account = oauth.person(robot()).account(&builder(&self.world)).unwrap();
        account.log_in().await.unwrap();
        account
    }

    /// Logs a person in to this profile by another process.
    pub(crate) async fn log_in_as(&self, profile: &str) {
        let oauth = OAuth::new("test").store(FileStore::at(self.folder.path())).profile(profile);
        let account = oauth.person(robot()).account(&builder(&self.world)).unwrap();
        account.log_in().await.unwrap();
    }

    /// Returns a browser that records the URL that it is opened with.
    fn browser(&self) -> PathBuf {
        use std::os::unix::fs::PermissionsExt;
        let path = self.folder.0.join("browser");
        if !path.exists() {
            let opened = self.folder.0.join("opened");
            let script = format!(
                "#!/bin/sh\necho \"$1\" > '{0}.part' && mv '{0}.part' '{0}'\n",
                opened.display()
            );
            std::fs::write(&path, script.replace("mv", "/bin/mv")).unwrap();
            std::fs::set_permissions(&path, PermissionsExt::from_mode(0o700)).unwrap();
        }
        path
    }
}
