//! What the oracle knows of one call, and of one client.

use std::collections::VecDeque;
use std::time::Duration;

use tokio::time::Instant;

/// One call, from all that is known.
#[derive(Debug)]
pub(super) struct CallHistory {
    pub(super) client: usize,
    pub(super) is_safe: bool,
    pub(super) began: Instant,
    pub(super) deadline: Duration,
    pub(super) executions: u32,
    pub(super) lies: u32,
    pub(super) arrivals: u32,
    /// Arrivals that the carrier itself refused: those may be repeated as often as it does so.
    pub(super) excused: u32,
    /// How often the server did not know its session or its token.
    pub(super) unknown: u32,
    pub(super) resumes: u32,
    pub(super) last_resume: Option<Instant>,
    /// The server asked to be left alone with this call until then.
    pub(super) not_before: Option<Instant>,
    /// What it met last makes a repeat draw on the budget.
    pub(super) is_budgeted: bool,
    pub(super) ended: Option<Instant>,
    pub(super) is_taken_back: bool,
    /// It ended with the claim that the server has not run it.
    pub(super) is_denied: bool,
    /// The server called its session lost after it ran.
    pub(super) is_called_lost: bool,
    /// How often the server had forgotten its sessions when the call last arrived.
    pub(super) forgets: u64,
}

/// One client's manners towards the server.
#[derive(Debug, Default)]
pub(super) struct Client {
    pub(super) calls: u32,
    pub(super) in_flight: u32,
    pub(super) most_in_flight: u32,
    pub(super) repeats: u32,
    pub(super) handshakes: VecDeque<Instant>,
    pub(super) listens: VecDeque<Instant>,
    /// Standing streams in all.
    pub(super) streams: u32,
}
