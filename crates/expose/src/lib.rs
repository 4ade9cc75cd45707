//! Exposes a local MCP server, which reads and writes lines, as Streamable HTTP for any number of clients.
//!
//! ```text
//!   client ──HTTP──▶ ┌─────────┐ ──lines──▶ child 1      one session, one child
//!   client ──HTTP──▶ │ Exposed │ ──lines──▶ child 2
//!                    └─────────┘
//! ```
//!
//! Every session has a child of its own, so that two clients share no state, no capabilities and no
//! questions. Every request has exactly one answer, also if its child dies or its stream breaks: streams are
//! kept for a while and can be resumed. Payloads pass byte for byte. Every request is checked by the
//! [`AccessPolicy`] first.
//!
//! This crate knows neither sockets nor processes: connections are byte streams, and a [`Start`] starts
//! children. The revisions are those with sessions, 2025-03-26 to 2025-11-25.

mod access;
mod budget;
mod calls;
mod child;
mod connections;
mod cors;
mod exposed;
mod fault;
mod greeting;
mod handler;
mod headers;
mod life;
mod lines;
mod log;
mod news;
mod pace;
mod parts;
mod posted;
mod reader;
mod rehearsal;
mod reply;
mod reserve;
mod same;
mod session;
mod sessions;
mod settings;
mod streams;
mod token;
mod watched_stream;

pub use access::{AccessPolicy, NotAHost, NotAnOrigin};
pub use child::{Child, Obituary, Start};
pub use exposed::Exposed;
pub use futures_util::future::BoxFuture;
pub use news::News;
pub use rehearsal::{Rehearsal, rehearse};
pub use settings::Settings;
pub use token::{NotAToken, Token};
