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

mod advice;
mod bridge;
mod calls;
mod catalogue;
pub mod disk;
mod era_memory;
mod fault;
mod gauge;
mod greeting;
mod harmless;
mod hidden;
mod lines;
mod listens;
mod lists;
mod login;
mod manner;
mod masker;
mod modern;
mod news;
mod notices;
mod outbox;
mod platform;
mod rounds;
mod router;
mod upstream;

pub use bridge::{Bridge, Ended};
pub use catalogue::Catalogue;
pub use era_memory::EraMemory;
pub use gauge::{Breaker, Gauge, InFlight, LastError, NeededLogin, Snapshot, State};
pub use harmless::{harmless, is_harmful};
pub use hidden::Hidden;
pub use login::LoginAdvice;
pub use news::Detail;
pub use ridethrough_core::{DoubtForm, DoubtRepeat};
