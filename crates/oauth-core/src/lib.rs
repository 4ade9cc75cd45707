//! Authorization of MCP clients: every decision, and nothing performed.
//!
//! There is no I/O in this crate, no clock, no randomness and no runtime. Time comes in as a [`Timestamp`]
//! and randomness as bytes. Requests go out as values, and their answers are handed in.
//!
//! # The way to a token
//!
//! 1. A server says 401: [`challenge::Challenges::read`] its headers.
//! 2. [`discovery::Discovery`] says which URL to GET until it has found the authorization server.
//! 3. [`registration::ClientChoice`] says which client to be, and [`registration::Registration`] how to
//!    become one.
//! 4. [`scope::ScopeRequest`] says what to ask for, [`login::LoginRequest`] makes the URL to open, and
//!    [`login::PendingLogin`] takes the callback. Without a browser there is [`device::DeviceFlow`].
//! 5. [`token_request::TokenRequests`] makes the request, [`token_answer::read`] reads its answer.
//! 6. [`grant::Grant`] keeps the tokens alive; [`store::GrantRecord`] is what is stored of them.
//!
//! Before a secret is sent to the endpoints of a document that was read again,
//! [`metadata::PinnedEndpoints`] says whether it may be.

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
