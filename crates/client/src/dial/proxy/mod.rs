//! Proxies: which one leads to a server, if any, and how the server is reached through it.
//!
//! A tunnel (`CONNECT`) is used whatever the server's scheme is. In the other form, where the proxy repeats
//! the client's requests, its 502 could not be told from a server's and would leave a call in doubt; a tunnel
//! that cannot be opened is refused before anything was sent, so that the call waits and is sent later. It
//! also keeps proxies out of all code that speaks HTTP to the server.

mod address;
mod environment;
mod exempt;
mod tunnel;

pub(crate) use address::{ProxyAddress, ProxyError};
pub(crate) use environment::{Chosen, chosen_for};
pub(crate) use tunnel::Tunnel;
