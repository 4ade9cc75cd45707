//! The commands that talk to a server, as a person runs them: the built binary against a server of the
//! lab on a socket.

#![cfg(test)]

mod arguments;
mod certificates;
mod check;
mod doubts;
mod endings;
mod eras;
mod exits;
mod hostile;
mod listings;
mod names;
mod programs;
mod project_file;
mod pty;
mod questions;
mod rig;
mod secrets;
mod settings;
mod shots;
mod snapshots;
mod tasks;
mod terminal;
mod waiting;
mod watching;
