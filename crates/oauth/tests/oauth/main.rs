//! Logins and refreshes against servers of the tests' own, over real sockets.

#![cfg(test)]

mod accounts;
mod away;
#[cfg(unix)]
mod beside_mcp_remote;
mod canary;
mod ended;
mod enterprise;
mod foreign;
#[cfg(feature = "keyring")]
mod keyring;
mod listener;
mod logins;
mod machines;
mod moved;
mod near;
mod others;
mod possession;
mod refreshes;
mod secrets;
mod stores;
mod support;
mod unsaved;
mod waiting;
