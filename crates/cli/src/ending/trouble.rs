//! A failure of a command together with its exit code, for failures that neither a call nor a flag explains.

use std::fmt;

use crate::ending::exit::Exit;

/// A failure of a command. It ends with the exit code that it names.
#[derive(Debug)]
pub(crate) struct Trouble {
    /// How the command ends.
    pub(crate) exit: Exit,
    /// What happened.
    pub(crate) what: String,
    /// What was tried.
    pub(crate) tried: String,
    /// What to do.
    pub(crate) hint: String,
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { what, tried, hint, .. } = self;
        write!(f, "error: {what}\n  tried: {tried}\n\nhint: {hint}")
    }
}

impl std::error::Error for Trouble {}
