//! The config files of MCP hosts: where they are, which servers they name, and how each is reached.
//!
//! ```text
//! places -> file (entry -> line, other) -> reach (variables, their_login) -> servers, by their names
//!                                       -> contents, for a person who approves the file
//! ```

pub(crate) mod contents;
pub(crate) mod entry;
pub(crate) mod file;
mod host;
pub(crate) mod line;
pub(crate) mod other;
pub(crate) mod places;
pub(crate) mod reach;
mod servers;
pub(crate) mod their_login;
pub(crate) mod variables;

pub use crate::document::tree::Broken;
pub use entry::Entry;
pub use file::{File, Trust, Unread};
pub use host::Host;
pub use line::is_ours;
pub use places::{ConfigPlace, ConfigScope, Folders};
pub use reach::{Program, Reached, RemoteServer, Unreached};
pub use servers::{Server, Servers};
