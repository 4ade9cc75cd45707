//! What the programs that a person starts have in common: output for people and for pipes, wrong usage, and work
//! that a signal stops.
//!
//! It is no API: nothing here is promised.

pub mod misuse;
pub mod out;
mod platform;
pub mod until;
