//! A server for testing MCP clients over Streamable HTTP, with exact control of faults.
//!
//! A [`Server`] accepts connections, over real sockets or in-memory pipes, and gives each request to a
//! [`Service`] as a [`Turn`], which can be answered correctly or with a fault. [`Mcp`] is a correct MCP
//! server as such a service, to which a test adds rules for what goes wrong.
//!
//! The lab reads no clock but tokio's and uses no randomness: with paused time, on a `current_thread`
//! runtime, over pipes, every run is identical.

pub mod adapter;
pub mod browser;
mod carrier;
mod connection;
pub mod contestant;
mod date;
mod form;
mod http1;
mod http1_client;
mod http2;
pub mod install;
mod issuer;
pub mod journal;
mod judge;
mod lock;
pub mod mcp;
pub mod page;
mod pipe;
mod platform;
pub mod report;
pub mod rivals;
pub mod run;
pub mod scenario;
pub mod score;
mod server;
mod staff;
pub mod stage;
#[cfg(feature = "tls")]
mod tls;
#[cfg(not(feature = "tls"))]
#[path = "tls_absent.rs"]
mod tls;
mod turn;
mod wire;
pub mod wrong;

pub use carrier::Protocol;
pub use connection::Processed;
pub use date::today;
pub use mcp::{
    Ask, Deed, Entry, Mark, Mcp, OldMcp, Round, Run, Spoken, Sse, Style, Times, What, When,
};
pub use pipe::{Control, Peek, Pipe, pipe};
pub use server::{Http2, Mood, Server, Visit};
pub use staff::Service;
#[cfg(feature = "tls")]
pub use tls::{Authority, Certificate};
pub use turn::{Raw, Reply, Request, Stream, Turn};
