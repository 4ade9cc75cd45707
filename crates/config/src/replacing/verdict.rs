//! What becomes of one server of a config file.

use secrecy::ExposeSecret;

use crate::document::Edit;
use crate::hosts::entry::Local;

/// The plan for one server.
#[derive(Debug)]
pub enum EntryVerdict {
    /// The entry uses our bridge already.
    Already,
    /// The host reaches this remote server itself, and for this reason a person has to change the entry.
    ByHand(String),
    /// The host reaches this remote server itself; our bridge could be put in between.
    Could,
    /// The entry stays as it is, for this reason.
    Left(String),
    /// Another bridge, or the host's own connection, is replaced by our bridge.
    Replace(Replacement),
}

/// The edits that put our bridge in place of what an entry has.
pub struct Replacement {
    pub(crate) edits: Vec<Edit>,
    /// Flags that our bridge does not need.
    pub dropped: Vec<&'static str>,
    /// The name of what is replaced.
    pub name: &'static str,
    /// What becomes of the login.
    pub login: LoginAfter,
}

/// What becomes of a login when a bridge is replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoginAfter {
    /// A person logs in.
    Needed,
    /// No login is needed, as far as is known.
    NotNeeded,
    /// The login of `mcp-remote` is used.
    TakenOver,
}

impl Replacement {
    /// Notes that the server wants a login. A login that `mcp-remote` has is used.
    pub fn needs_login(&mut self) {
        if self.login == LoginAfter::NotNeeded {
            self.login = LoginAfter::Needed;
        }
    }
}

impl std::fmt::Debug for Replacement {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Replacement").field("dropped", &self.dropped).finish_non_exhaustive()
    }
}

/// Returns an argument of a program.
pub(crate) fn text(local: &Local, at: usize) -> &str {
    local.args[at].text.expose_secret()
}
