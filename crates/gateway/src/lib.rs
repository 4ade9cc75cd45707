//! One MCP endpoint in front of many servers, which rides through the faults of each.
//!
//! ```text
//!   client ──▶ ┌────────┐    ┌─────────┐ ──client──▶ server 1
//!   client ──▶ │ Server │ ──▶│ Gateway │ ──client──▶ server 2
//!              └────────┘    └─────────┘ ──client──▶ a process
//! ```
//!
//! HTTP, sessions, access and limits are those of `ridethrough-server`; this crate is its backend. Each server
//! is reached by a [`Client`](ridethrough::Client), which renews what dies under a living session of a caller.
//! One sick server neither slows nor hides the others.
//!
//! This crate knows neither config files nor sockets: a [`Connect`] makes clients.

mod catalogue;
mod conversation;
mod fault;
mod gateway;
mod logins;
mod news;
mod once;
mod quota;
mod repeats;
mod sealed;
mod settings;
mod state;
mod status;
mod tasks;
mod upstreams;

pub use catalogue::{AccessRights, Approved, Grant, Notice, Prefix, Rights, Rules, Share};
pub use catalogue::{NameStore, OwnedName};
pub use catalogue::{RehearsedTool, rehearse_cursor, rehearse_names, rehearse_place};
pub use gateway::Gateway;
pub use news::GatewayNews;
pub use once::{MemoryRounds, RoundStore, StateNumber};
pub use quota::{Limits, MemoryQuotas, OverQuota, QuotaPlace, QuotaStore};
pub use ridethrough_core::{DoubtForm, DoubtRepeat};
pub use ridethrough_wire::message::ListKind;
pub use settings::{Connect, GatewaySettings, ListStore, ServerSettings};
pub use status::{UpstreamState, UpstreamStatus};
pub use tasks::{KeptTask, MemoryTasks, TaskStore};
