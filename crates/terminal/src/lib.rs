//! What the programs that a person starts have in common: output for people and for pipes without secrets, wrong
//! usage, and work that a signal stops.
//!
//! It is no API: nothing here is promised.

pub mod misuse;
pub mod near;
pub mod out;
mod platform;
pub mod safe;
pub mod secrets;
pub mod stderr;
pub mod stray_line;
pub mod until;
