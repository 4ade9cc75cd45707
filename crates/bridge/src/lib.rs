//! A stdio bridge: an MCP server towards a host, and a [`Client`](ridethrough::Client) towards the real
//! server, which hides faults of the upstream from the host.
//!
//! ```text
//!   host ──lines──▶ ┌────────┐ ──requests──▶ ┌────────┐
//!                   │ Bridge │               │ Client │ ◀──▶ upstream
//!   host ◀──lines── └────────┘ ◀──answers─── └────────┘
//! ```
//!
//! Every request of the host has exactly one answer, unless the host cancelled it. Payloads pass byte for
//! byte. The bridge takes any reader and writer; it does not touch stdin and stdout itself.
//!
//! ```no_run
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! use ridethrough::Client;
//! use ridethrough_bridge::Bridge;
//!
//! let client = Client::new("https://example.com/mcp")?;
//! let (host, ours) = tokio::io::duplex(64 * 1024);
//! let (reader, writer) = tokio::io::split(ours);
//! Bridge::new(client).run(reader, writer, std::future::pending()).await;
//! # drop(host);
//! # Ok(()) }
//! ```

mod bridge;
mod calls;
mod greeting;
mod held;
mod host;
mod lines;
mod listens;
mod modern;
mod outbox;
mod own_requests;
mod rounds;
mod router;

pub use bridge::{Bridge, Ended};
pub use ridethrough_core::answer::words::{harmless, is_harmful};
pub use ridethrough_core::{DoubtForm, DoubtRepeat};
pub use ridethrough_upstream::{
    Breaker, Catalogue, Detail, EraMemory, Gauge, Hidden, InFlight, LastError, LoginAdvice,
    NeededLogin, Snapshot, State, disk,
};
