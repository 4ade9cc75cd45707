//! One config file with its servers, or why it cannot be read.

use std::env;
use std::fmt;
use std::fs;
use std::io;

use crate::document::ConfigDocument;
use crate::document::tree::Broken;
use crate::hosts::entry::{Entry, entries};
use crate::hosts::places::{ConfigPlace, ConfigScope, Folders};
use crate::hosts::reach::{self, Reached, Unreached};
use crate::hosts::variables;

/// A config file and the servers in it.
pub struct File {
    /// Where it is.
    pub place: ConfigPlace,
    pub(crate) document: ConfigDocument,
    /// Its servers.
    pub entries: Vec<Entry>,
}

/// Whether a file may use this user's environment variables and the files that it names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trust {
    /// It may.
    Full,
    /// It may not: it may have come from anywhere.
    None,
}

/// Why a config file cannot be read.
#[derive(Debug)]
pub enum Unread {
    /// Its syntax is wrong.
    Broken(Broken),
    /// The system cannot read it.
    Lost(io::Error),
}

impl File {
    /// Reads the file at this place.
    pub fn read(place: ConfigPlace) -> Result<Self, Unread> {
        let bytes = fs::read(&place.path).map_err(Unread::Lost)?;
        let document = ConfigDocument::read(&place.path, bytes).map_err(Unread::Broken)?;
        let entries = entries(&document);
        Ok(Self { place, document, entries })
    }

    /// Returns how one of its servers is reached, with variables filled in.
    pub fn reach(
        &self,
        entry: &Entry,
        folders: &Folders,
        trust: Trust,
    ) -> Result<Reached, Unreached> {
        let workspace = self.place.workspace();
        // A file of the user's own applies to the project in the working directory.
        let workspace = match self.place.scope {
            ConfigScope::User => Some(folders.work.as_path()),
            ConfigScope::Named | ConfigScope::Project => workspace.as_deref(),
        };
        let home = folders.home.as_deref();
        let may_read = trust == Trust::Full;
        let environment = |name: &str| env::var(name).ok().filter(|_| may_read);
        let scope =
            variables::VariableScope { environment: &environment, home, workspace, may_read };
        reach::reach(entry, self.place.host.dialect(), scope)
    }
}

impl fmt::Display for Unread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Broken(broken) => write!(f, "it is broken at {broken}"),
            Self::Lost(error) => write!(f, "it cannot be read: {error}"),
        }
    }
}
