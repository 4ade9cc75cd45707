//! An MCP client that rides through faults.
//!
//! Connections drop, sessions expire, servers restart and balancers answer 503. This client keeps
//! one promise through all of it: **every call ends exactly once, with its answer or with an error
//! that says what happened, what was tried, and whether the server may have run it.**
//!
//! ```no_run
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! use ridethrough::Client;
//!
//! let client = Client::new("https://example.com/mcp")?;
//! match client.call_tool("deploy", serde_json::json!({ "to": "production" })).await {
//!     Ok(result) => println!("{}", result.text()),
//!     Err(error) if error.may_have_run() => eprintln!("look before you repeat it: {error}"),
//!     Err(error) => eprintln!("it did not run: {error}"),
//! }
//! # Ok(()) }
//! ```
//!
//! [`Client`] is what an application holds; [`ClientBuilder`] sets it up, and [`RetryPolicy`] says how hard it
//! tries. On Unix [`Client::spawn`] makes one for a local server. Everything else is found by its subject:
//!
//! | module | what is in it |
//! |---|---|
//! | [`call`] | requests: params, lists, progress, where a result comes from |
//! | [`task`] | calls that go on in the background |
//! | [`error`] | why there is no result, and whether the server may have run the call |
//! | [`model`] | MCP's messages, for typed calls and for handlers of what a server asks |
//! | [`event`] | what happens on the connection, and what the server says unasked |
//! | [`server`] | who the server is, and which revisions it speaks |
//! | [`credentials`] | where tokens come from |
//! | [`policy`] | how long to wait, how often to try, what to keep |
//! | [`transport`] | the seams below: a `Transport` replaces HTTP, a `Dial` replaces sockets |
//! | [`probe`] | one request at a time, for programs that look at a server |
//!
//! Features: `http2`, `proxy`, `stdio` (local servers) and `aws-lc-rs` (TLS) are on; `ring` takes the place of
//! `aws-lc-rs`. With `rmcp`, a client is also a transport of the official SDK.

#[cfg(not(any(feature = "aws-lc-rs", feature = "ring")))]
compile_error!("TLS needs a provider: turn on the feature `aws-lc-rs` (a default) or `ring`");

mod cache;
mod client;
mod clock;
#[cfg_attr(
    not(feature = "stdio"),
    allow(dead_code, unused_imports, reason = "local servers need it")
)]
mod command;
mod config;
pub mod credentials;
mod dial;
mod drain;
mod driver;
mod endpoint;
pub mod error;
mod handlers;
mod http;
mod http_sse;
pub mod model;
pub mod news;
mod observe;
mod platform;
mod pool;
pub mod probe;
#[cfg(feature = "rmcp")]
pub mod rmcp;
mod size;
mod source;
// Process groups, signals and pipes through and through: it is there as a whole or not at all, and a module
// can be left out only where it is declared. Whoever wants it elsewhere is refused in `platform`.
#[cfg(all(unix, feature = "stdio"))]
mod stdio;
#[cfg_attr(
    not(feature = "stdio"),
    allow(dead_code, unused_imports, reason = "local servers need it")
)]
mod switchboard;
pub mod transport;

pub use client::{Call, Client};
pub use command::{Command, Stderr};
pub use config::{ClientBuilder, Network};
pub use error::Error;
pub use ridethrough_core::message::Json;
pub use ridethrough_core::{Era, RetryPolicy};

/// Requests: their params, their lists, their progress, and where a result comes from.
pub mod call {
    pub use crate::client::{
        Call, List, Page, Params, Pending, PendingResult, PendingSourced, ProgressStream,
    };
    pub use crate::driver::Track;
    pub use crate::source::{Source, Sourced};
    pub use ridethrough_core::{CallName, ExchangeId, Extension};
}

/// What happens on the connection, and what the server says unasked.
pub mod event {
    pub use crate::client::{Inbox, Notifications};
    pub use crate::handlers::Refusal;
    pub use crate::observe::{Events, Seen};
    pub use ridethrough_core::message::Answer;
    pub use ridethrough_core::{Delivered, Event, Moment, QuestionId, Status, WaitingFor};
}

/// How long to wait, how often to try, and what to keep.
pub mod policy {
    pub use crate::cache::Cache;
    pub use ridethrough_core::TrustHints;
    pub use ridethrough_core::backoff::Window;
    pub use ridethrough_core::policy::{PolicyBuilder, PolicyError, RetryPolicy};
}

/// Who the server is, who we are to it, and which revisions of the protocol are spoken.
pub mod server {
    pub use crate::client::Server;
    pub use ridethrough_core::{Era, Eras, Identity, Version};
}

/// Calls that go on in the background: begun, followed, cancelled.
pub mod task {
    pub use crate::client::{Begun, Task, TaskCall, TaskWait};
    pub use crate::error::{TaskEnd, TaskError};
}

/// The recovery machine. Not part of the stable interface.
#[doc(hidden)]
pub use ridethrough_core as machine;

/// The program in the README compiles.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
