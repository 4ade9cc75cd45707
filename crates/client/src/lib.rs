//! An MCP client that rides through faults.
//!
//! Connections drop, sessions expire, servers restart and load balancers answer 503. Through all of it this
//! client keeps one promise: **every call ends exactly once, with its answer or with an error that says what
//! happened, what was tried, and whether the server may have run it.**
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
//! [`Client`] is the handle that an application holds; [`ClientBuilder`] configures it, and [`RetryPolicy`]
//! says how long and how often it tries. On Unix [`Client::spawn`] makes one for a local server. Everything
//! else is in a module by subject:
//!
//! | module | what is in it |
//! |---|---|
//! | [`call`] | requests: params, lists, progress, and the source of a result |
//! | [`task`] | calls that the server continues in the background |
//! | [`error`] | why there is no result, and whether the server may have run the call |
//! | [`model`] | MCP's messages, for typed calls and for handlers of the server's requests |
//! | [`event`] | what happens on the connection, and messages of the server that belong to no call |
//! | [`wording`] | events as sentences for people |
//! | [`server`] | the server's identity, and the revisions it speaks |
//! | [`credentials`] | where tokens come from |
//! | [`policy`] | how long to wait, how often to try, what to keep |
//! | [`transport`] | the traits below the client: a `Transport` replaces HTTP, a `Dial` replaces sockets |
//! | `skills` | skills of a server, verified before they are loaded (a feature) |
//! | [`probe`] | one request at a time, for programs that examine a server |
//!
//! Features: `http2`, `proxy`, `stdio` (local servers) and `aws-lc-rs` (TLS) are on; `ring` takes the place of
//! `aws-lc-rs`, and without both a URL of `https` is refused. With `rmcp`, a client is also a transport of the official SDK; with `skills`, it lists and
//! loads the skills of servers.

mod cache;
mod client;
mod config;
mod driver;
pub mod error;
mod handlers;
pub mod model;
mod observe;
#[cfg(feature = "rmcp")]
pub mod rmcp;
#[cfg(feature = "skills")]
pub mod skills;
mod source;
pub mod wording;

pub use client::{Call, Client};
pub use config::{ClientBuilder, Network};
pub use driver::Peers;
pub use error::Error;
pub use ridethrough_core::{Era, RetryPolicy};
pub use ridethrough_transport::{Command, Stderr, credentials, probe};
pub use ridethrough_wire::message::Json;

/// Requests: their params, lists and progress, and the source of a result.
pub mod call {
    pub use crate::client::{
        Call, List, Page, Params, Pending, PendingResult, PendingSourced, ProgressStream,
    };
    pub use crate::driver::Track;
    pub use crate::source::{Source, Sourced};
    pub use ridethrough_core::{CallName, ExchangeId, Extension};
}

/// What happens on the connection, and messages of the server that belong to no call.
pub mod event {
    pub use crate::client::{Inbox, Notifications};
    pub use crate::handlers::Refusal;
    pub use crate::observe::{Events, Seen};
    pub use ridethrough_core::{Delivered, Event, Moment, QuestionId, Status, WaitingFor};
    pub use ridethrough_wire::message::Answer;
}

/// How long to wait, how often to try, and what to keep.
pub mod policy {
    pub use crate::cache::Cache;
    pub use ridethrough_core::TrustHints;
    pub use ridethrough_core::backoff::Window;
    pub use ridethrough_core::policy::{PolicyBuilder, PolicyError, RetryPolicy};
    pub use ridethrough_transport::ReadRate;
}

/// The identities of server and client, and the revisions of the protocol that they speak.
pub mod server {
    pub use crate::client::Server;
    pub use ridethrough_core::{Era, Eras, Identity, Version};
}

/// Calls that the server continues in the background: begun, followed, cancelled.
pub mod task {
    pub use crate::client::{Begun, Task, TaskCall, TaskWait};
    pub use crate::error::{TaskEnd, TaskError};
}

/// The traits below the client: a `Transport` replaces HTTP, a `Dial` replaces sockets.
pub mod transport {
    pub use ridethrough_transport::{
        AnswerHead, Body, BoxFuture, ByteStream, Bytes, Carrier, Cause, Connection, Dial, Endpoint,
        EndpointError, Failure, HeaderValue, Headers, Lane, Outgoing, Peek, ProxyFault, Recall,
        Reply, StatusCode, Steps, Tcp, Transport, TransportRequest, Verb,
    };
}

/// The recovery state machine. Not part of the stable interface.
#[doc(hidden)]
pub use ridethrough_core as machine;
/// The words and bytes of MCP: messages, event streams, headers, revisions.
pub use ridethrough_wire as wire;

/// Compiles the program in the README.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;

/// Compiles the program in the README of this crate.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct CrateReadme;
