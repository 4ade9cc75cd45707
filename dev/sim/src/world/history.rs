//! The oracle's records of one call, and of one client.

use std::collections::VecDeque;
use std::time::Duration;

use tokio::time::Instant;

/// The history of one call.
#[derive(Debug)]
pub(super) struct CallHistory {
    pub(super) client: usize,
    pub(super) is_safe: bool,
    pub(super) began: Instant,
    pub(super) deadline: Duration,
    pub(super) executions: u32,
    pub(super) lies: u32,
    pub(super) arrivals: u32,
    /// Arrivals that the carrier itself refused, which may be repeated as often as it refuses them.
    pub(super) excused: u32,
    /// How often the server refused its session or its token.
    pub(super) unknown: u32,
    pub(super) resumes: u32,
    pub(super) last_resume: Option<Instant>,
    /// The server asked not to be sent this call before this time.
    pub(super) not_before: Option<Instant>,
    /// Whether the fault it met last makes a repeat draw on the budget.
    pub(super) is_budgeted: bool,
    pub(super) ended: Option<Instant>,
    pub(super) is_taken_back: bool,
    /// Whether it ended with the claim that the server has not run it.
    pub(super) is_denied: bool,
    /// Whether the server called its session lost after it ran.
    pub(super) is_called_lost: bool,
    /// How often the server had forgotten its sessions by the last arrival of the call.
    pub(super) forgets: u64,
}

/// How one client treats the server.
#[derive(Debug, Default)]
pub(super) struct Client {
    pub(super) calls: u32,
    pub(super) in_flight: u32,
    pub(super) most_in_flight: u32,
    pub(super) repeats: u32,
    pub(super) handshakes: VecDeque<Instant>,
    pub(super) listens: VecDeque<Instant>,
    /// How many standing streams it opened in all.
    pub(super) streams: u32,
}
