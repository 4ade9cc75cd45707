//! Reads and edits `ridethrough.toml` and the config files of MCP hosts.
//!
//! What a file says may be secret: errors and `Debug` repeat no value. A file of a project may have come from
//! anywhere: until a person approves it, it names URLs and nothing else.
//!
//! It is no API: nothing here is promised.

pub mod address;
pub mod approvals;
mod disk;
mod document;
pub mod folders;
pub mod gateway;
pub mod hosts;
pub mod login;
pub mod moving;
pub mod names;
pub mod platform;
mod rehearsal;
pub mod replacing;
pub mod settings;
#[cfg(test)]
mod tests;
mod undo;
pub mod values;

pub use rehearsal::{Rehearsal, rehearse};
pub use undo::{Restored, UndoneFiles, undo};
