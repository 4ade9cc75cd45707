//! Tests of the lab itself, with raw bytes and `h2` as clients.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking, in its helpers too")]

mod carriers;
mod client;
mod controls;
mod faults;
mod http2;
mod mcp;
mod server;
mod stateless;
