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
//! What MCP's messages say is in [`model`], for typed calls and for handlers of what a server asks
//! ([`ClientBuilder::on_form`] and its like). What decides is in [`machine`]; this crate performs. [`Client`] is what an application holds,
//! [`Credentials`] is where its tokens come from, [`RecoveryPolicy`] says how hard to try. On Unix
//! [`Client::spawn`] makes the same client for a local server; with the feature `rmcp` a client is also a
//! transport of the official SDK. Below are two seams: a [`Transport`] replaces HTTP, a [`Dial`]
//! replaces sockets.

mod cache;
mod client;
mod clock;
mod command;
mod config;
mod credentials;
mod dial;
mod drain;
mod driver;
mod endpoint;
mod error;
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
#[cfg(unix)]
mod stdio;
mod switchboard;
mod transport;

pub use cache::Cache;
pub use client::{
    Begun, Call, Client, Inbox, List, Notifications, Page, Params, Pending, PendingResult,
    PendingSourced, ProgressStream, Server, Task, TaskCall, TaskWait,
};
pub use command::{Command, Stderr};
pub use config::{BuildError, ClientBuilder};
pub use credentials::{Credentials, EnvironmentBearer, NotAToken, Refused, StaticBearer, Token};
pub use dial::{ByteStream, Connection, Dial, Peek, Steps, Tcp};
pub use driver::Track;
pub use endpoint::{Endpoint, EndpointError};
pub use error::{Error, ReadError, ServerError, TaskEnd, TaskError};
pub use handlers::Refusal;
pub use observe::{Events, Seen};
pub use source::{Source, Sourced};
pub use transport::{Body, Reply, Transport, TransportRequest};

/// The recovery machine and all its words.
pub use ridethrough_core as machine;
pub use ridethrough_core::backoff::Window;
pub use ridethrough_core::head::{AnswerHead, Challenge};
pub use ridethrough_core::message::{Answer, Json, RpcError};
pub use ridethrough_core::policy::{PolicyBuilder, PolicyError};
pub use ridethrough_core::{
    Advice, CallError, CallName, Carrier, Cause, Delivered, Delivery, Era, Eras, Event, ExchangeId,
    Extension, Failure, Headers, Identity, Kind, Lane, Moment, NoCredentials, Outgoing, QuestionId,
    Reason, RecoveryPolicy, Status, TrustHints, Verb, Version, WaitingFor,
};

// What the traits above are written in, so that implementing one needs no crate beside this one.
pub use ::http::{HeaderValue, StatusCode};
pub use bytes::Bytes;
pub use futures_util::future::BoxFuture;

/// The program in the README compiles.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
