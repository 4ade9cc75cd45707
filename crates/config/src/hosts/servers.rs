//! The servers in all config files that are found from the working directory, by their names.

use std::path::{Path, PathBuf};

use crate::approvals::Approvals;
use crate::hosts::Host;
use crate::hosts::entry::Entry;
use crate::hosts::file::{File, Trust, Unread};
use crate::hosts::places::{ConfigPlace, ConfigScope, Folders};
use crate::hosts::reach::{Reached, Unreached};
use crate::login::OAuthSettings;

/// The config files of this project and this user.
pub struct Servers {
    folders: Folders,
    files: Vec<File>,
    unread: Vec<(ConfigPlace, Unread)>,
}

/// One server of one file.
#[derive(Clone, Copy)]
pub struct Server<'a> {
    folders: &'a Folders,
    file: &'a File,
    entry: &'a Entry,
}

impl Servers {
    /// Reads the files that are found from the working directory.
    pub fn here() -> Self {
        Self::of(Folders::here())
    }

    /// Reads the user's own files, and none of a project.
    pub fn of_user() -> Self {
        let mut servers = Self::here();
        servers.files.retain(|it| it.place.scope == ConfigScope::User);
        servers.unread.retain(|(place, _)| place.scope == ConfigScope::User);
        servers
    }

    /// Reads the files of a home and a working directory.
    #[cfg(test)]
    pub(crate) fn at(home: &Path, work: &Path) -> Self {
        Self::of(Folders::at(home, work))
    }

    fn of(folders: Folders) -> Self {
        let mut servers = Self { files: Vec::new(), unread: Vec::new(), folders };
        for place in servers.folders.files().into_iter().chain(servers.folders.own()) {
            match File::read(place.clone()) {
                Ok(file) => servers.files.push(file),
                Err(why) => servers.unread.push((place, why)),
            }
        }
        servers
    }

    /// Returns the servers of this name, perhaps of one host only. If a host has the name in several files,
    /// that of the project counts, as it does for the host; a disabled server counts only if no other is
    /// there. A file of a project that was not approved hides no other.
    pub fn named(&self, name: &str, host: Option<Host>) -> Vec<Server<'_>> {
        let all = self.all().filter(|it| it.entry.name == name);
        let all = all.filter(|it| host.is_none_or(|host| it.host() == host));
        let (off, on): (Vec<_>, Vec<_>) = all.partition(|it| it.entry.is_disabled);
        let all = if on.is_empty() { off } else { on };
        let mut seen: Vec<Server<'_>> = Vec::new();
        for server in all {
            let is_hidden = |it: &Server<'_>| it.host() == server.host() && it.is_answered_for();
            match seen.iter().position(is_hidden) {
                // Claude Code looks first at the servers that it keeps for this project.
                Some(at) if server.entry.project.is_some() => seen[at] = server,
                Some(_) => {}
                None => seen.push(server),
            }
        }
        seen
    }

    /// Returns all names, each once.
    pub fn names(&self) -> Vec<&str> {
        let mut names: Vec<_> = self.all().map(|it| it.entry.name.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    /// Returns the files that were found, and for those that cannot be read the reason.
    pub fn files(&self) -> impl Iterator<Item = (&Path, Option<String>)> {
        let read = self.files.iter().map(|it| (it.place.path.as_path(), None));
        let unread = self.unread.iter();
        read.chain(unread.map(|(place, why)| (place.path.as_path(), Some(why.to_string()))))
    }

    /// Returns the servers for all projects, and those for the project in the working directory.
    fn all(&self) -> impl Iterator<Item = Server<'_>> {
        let folders = &self.folders;
        let server = move |file, entry| Server { folders, file, entry };
        let is_here = |it: &Server<'_>| {
            let project = it.entry.project.as_ref();
            project.is_none_or(|project| folders.work.starts_with(project))
        };
        let all = self.files.iter();
        all.flat_map(move |file| file.entries.iter().map(move |entry| server(file, entry)))
            .filter(is_here)
    }
}

impl Server<'_> {
    /// Returns whose file names it.
    pub const fn host(&self) -> Host {
        self.file.place.host
    }

    /// Returns the file that names it.
    pub fn path(&self) -> PathBuf {
        self.file.place.path.clone()
    }

    /// Returns how the server is reached, with the variables of this process. From a project's file that was
    /// not approved only a URL is used: everything else could send a secret, or start a program.
    pub fn reach(&self) -> Result<Reached, Unreached> {
        if self.is_answered_for() {
            return self.file.reach(self.entry, self.folders, Trust::Full);
        }
        match self.file.reach(self.entry, self.folders, Trust::None) {
            Ok(Reached::Remote(address))
                if address.headers.is_empty()
                    && address.authorization.is_none()
                    && *address.oauth == OAuthSettings::default() =>
            {
                Ok(Reached::Remote(address))
            }
            Ok(Reached::Local(_)) => Err(Unreached::because(UNAPPROVED_PROGRAM)),
            _ => Err(Unreached::because(UNAPPROVED)),
        }
    }

    /// Whether the user vouches for the file: it is the user's own, or was approved. A file of a project may
    /// have come with it from anywhere, for whichever program it was written.
    pub fn is_answered_for(&self) -> bool {
        let File { place, document, .. } = self.file;
        place.scope != ConfigScope::Project
            || Approvals::read().has(&place.path, document.text.as_bytes())
    }
}

const UNAPPROVED: &str =
    "its file lies in a project, has more than a URL for it, and is not approved";
const UNAPPROVED_PROGRAM: &str =
    "it is a program, and its file lies in a project and is not approved";
