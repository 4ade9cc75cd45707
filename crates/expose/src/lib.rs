//! Exposes a local MCP server, which reads and writes lines, as Streamable HTTP for any number of clients.
//!
//! ```text
//!   client ──HTTP──▶ ┌─────────┐ ──lines──▶ child 1      one session, one child
//!   client ──HTTP──▶ │ Exposed │ ──lines──▶ child 2
//!                    └─────────┘
//! ```
//!
//! Every session has a child of its own, so that two clients share no state, no capabilities and no
//! questions. HTTP, sessions, streams, access and limits are those of `ridethrough-server`; this crate is its
//! backend: it starts children, paces starts, and speaks in lines.
//!
//! This crate knows neither sockets nor processes: connections are byte streams, and a [`Start`] starts
//! children.

mod backend;
mod child;
mod conversation;
mod exposed;
mod lines;
mod news;
mod pace;

pub use child::{Child, Obituary, Start};
pub use exposed::Exposed;
pub use news::News;
pub use ridethrough_server::{
    AccessPolicy, DoubtForm, DoubtRepeat, NotAHost, NotAToken, NotAnOrigin, Settings, Token,
};
pub use ridethrough_server::{BoxFuture, SessionNews, Tls, TlsError};
