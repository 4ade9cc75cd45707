//! One remote MCP server, as what stands in front of it needs it.
//!
//! ```text
//!   calls ──────▶ ┌──────────┐ ──requests──▶ ┌────────┐
//!                 │ Upstream │               │ Client │ ◀──▶ server
//!   effects ◀──── └──────────┘ ◀───events─── └────────┘
//! ```
//!
//! [`Client`](ridethrough::Client) rides through faults. [`Upstream`] adds what lasts longer than a call: the first connect,
//! the gate of a login, what was kept on disk, lists that are compared, repeats that are held, words for people.
//! Who calls, and in which words, it does not know.

mod catalogue;
pub mod disk;
mod era_memory;
pub mod fault;
mod first_connect;
mod gauge;
mod hidden;
mod list_checks;
mod lists;
mod login;
mod manner;
mod news;
mod platform;
mod repeats;
mod upstream;
mod voice;

pub use catalogue::Catalogue;
pub use era_memory::EraMemory;
pub use gauge::{
    Ask, Asks, Breaker, Gauge, InFlight, LastError, NeededLogin, Snapshot, State, millis, short,
};
pub use hidden::Hidden;
pub use login::{Closing, LoginAdvice, Purpose, Wait, Waiting};
pub use manner::Manner;
pub use news::Detail;
pub use upstream::{Effect, Ended, Settings, Upstream, UpstreamNews};
pub use voice::{Masker, Tell};
