//! The server of a world, whose random numbers decide what it does with each request.
//!
//! It is the lab's correct MCP server with one rule for every request, which `serving` is.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ridethrough_core::rng::Rng;
use ridethrough_lab::Mcp;

use super::dialect::Dialect;
use super::faults::{Fault, Faults};
use super::oracle::Oracle;
use super::streams::ServerStreams;
use super::vault::Vault;

/// The state that the handlers of one server share. Clones share one server.
#[derive(Clone)]
pub(crate) struct Host {
    pub(crate) mcp: Mcp,
    pub(crate) vault: Vault,
    pub(crate) oracle: Shared<Oracle>,
    pub(super) streams: Shared<ServerStreams>,
    chance: Shared<Chance>,
}

/// State that several parts of a world share.
pub(crate) type Shared<T> = Arc<Mutex<T>>;

/// The faults that may happen, and the random numbers that decide.
#[derive(Debug)]
pub(crate) struct Chance {
    pub(crate) rng: Rng,
    pub(crate) faults: Faults,
}

impl Chance {
    pub(crate) fn happens(&mut self, fault: Fault) -> bool {
        self.faults.happens(fault, &mut self.rng)
    }

    pub(crate) fn millis(&mut self, most: u64) -> Duration {
        Duration::from_micros(self.rng.below(most * 1000))
    }
}

impl Host {
    /// Creates the host without its rule, for a world that looks at requests first.
    pub(crate) fn bare(
        mcp: Mcp,
        vault: Vault,
        oracle: Shared<Oracle>,
        chance: Shared<Chance>,
    ) -> Self {
        Self { mcp, vault, oracle, streams: Shared::default(), chance }
    }

    /// Removes the rule, which would otherwise keep the host alive for ever.
    pub(crate) fn retire(&self) {
        self.mcp.clear_rules();
    }

    /// Forgets all sessions, and chooses the dialect in which to say so.
    pub(crate) fn forget_sessions(&self) {
        let dialect = Dialect::draw(&mut self.chance().rng);
        self.mcp.lost_session(dialect.status, dialect.body("null"));
        self.mcp.forget_sessions();
        self.oracle().sessions_forgotten();
    }

    pub(crate) fn happens(&self, fault: Fault) -> bool {
        self.chance().happens(fault)
    }

    pub(crate) fn below(&self, bound: u64) -> u64 {
        self.chance().rng.below(bound)
    }

    pub(crate) fn millis(&self, most: u64) -> Duration {
        self.chance().millis(most)
    }

    pub(crate) fn chance(&self) -> MutexGuard<'_, Chance> {
        lock(&self.chance)
    }

    pub(crate) fn oracle(&self) -> MutexGuard<'_, Oracle> {
        lock(&self.oracle)
    }
}

pub(crate) fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The header that tells clients apart.
pub(crate) const CLIENT_HEADER: &str = "x-client";
