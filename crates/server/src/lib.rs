//! The server's side of MCP for any [`Backend`]: Streamable HTTP, and lines of one host ([`serve_lines`]).
//!
//! ```text
//!   client ──HTTP──▶ ┌────────┐ ──messages──▶ conversation 1      one session, one conversation
//!   client ──HTTP──▶ │ Server │ ──messages──▶ conversation 2
//!                    └────────┘
//! ```
//!
//! Every session has a conversation of its own, so that two clients share no state, no capabilities and no
//! questions. Every request has exactly one answer, even if its conversation ends or its stream breaks:
//! streams are kept for a while and can be resumed. Payloads pass byte for byte. The [`AccessPolicy`] checks
//! every request first.
//!
//! This crate knows neither sockets nor processes: connections are byte streams.

mod access;
mod answered;
mod aside;
mod backend;
mod bodies;
mod body_size;
mod budget;
mod by_last_use;
mod calls;
mod connections;
mod drain;
mod fault;
mod greeting;
mod handler;
mod headers;
mod hearing;
mod host;
mod jwt;
mod life;
mod lines;
mod log;
mod news;
mod open_calls;
mod page;
mod parts;
mod posted;
mod reader;
mod rehearsal;
mod repeats;
mod reply;
mod reserve;
mod seal_key;
mod server;
mod session;
mod sessions;
mod settings;
mod stateless;
mod streams;
mod tls;
mod token;
mod verify;
mod watched_stream;

pub use access::{AccessPolicy, NotAHost, NotAnOrigin};
pub use backend::{Backend, Caller, Conversation, Principal, TokenOwners, Unavailable};
pub use futures_util::future::BoxFuture;
pub use host::{Aside, CallEnd, Ending, HostEnd, HostMessage, HostSide};
pub use host::{Letter, Lost, Presence, Sink, Voice};
pub use jwt::{Algorithm, FetchKeys, JwtRules, JwtVerifier};
pub use lines::serve_lines;
pub use news::SessionNews;
pub use open_calls::OpenCalls;
pub use page::{Page, PageRequest};
pub use parts::{ParsedMessage, Unreadable};
pub use rehearsal::{Rehearsal, rehearse};
pub use ridethrough_core::{DoubtForm, DoubtRepeat};
pub use seal_key::SealKey;
pub use server::Server;
pub use settings::Settings;
pub use stateless::{Digest, StateContents, StateRehearsal, StateSubject, call_digest};
pub use tls::{Tls, TlsError};
pub use token::{NotAToken, Token};
pub use verify::{
    HashedTokens, Identified, ProtectedResource, TokenHash, TokenRefused, VerifyToken,
};
