//! Authorization of MCP clients: every decision, and nothing performed.
//!
//! There is no I/O in this crate, no clock, no randomness and no runtime. Time comes in as a
//! [`Timestamp`], chance as random bytes; what must be fetched goes out as a value, and what came back
//! is handed in.

pub mod address;
pub mod challenge;
pub mod client;
mod constant_time;
pub mod device;
pub mod discovery;
pub mod dpop;
mod form;
pub mod grant;
pub mod http_answer;
mod json;
pub mod jwt;
pub mod login;
pub mod mcp_remote;
pub mod metadata;
pub mod pkce;
pub mod registration;
pub mod scope;
pub mod secret;
pub mod store;
pub mod timestamp;
pub mod token_answer;
pub mod token_request;
pub mod tokens;
mod words;

pub use address::{AddressError, HttpUrl};
pub use http_answer::{Fetched, HttpAnswer};
pub use secret::Secret;
pub use timestamp::Timestamp;
