//! The server of a world, whose random numbers decide what it does with each request.
//!
//! It is the lab's correct MCP server with one rule for every request: a request that meets no fault is
//! passed on to that server, and a call of a tool is answered here.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ridethrough_core::rng::Rng;
use ridethrough_lab::{Ask, Mcp, Times, What, When};

use super::answers;
use super::dialect::Dialect;
use super::faults::{Fault, Faults};
use super::oracle::Oracle;
use super::order::Order;
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
    /// Creates the host and puts its rule into the server.
    pub(crate) fn new(
        mcp: Mcp,
        vault: Vault,
        oracle: Shared<Oracle>,
        chance: Shared<Chance>,
    ) -> Self {
        let host = Self::bare(mcp, vault, oracle, chance);
        let serving = host.clone();
        host.mcp.rule(When::any(), Times::Always, move |ask| serving.clone().serve(ask));
        host
    }

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

    pub(crate) async fn serve(self, ask: Ask) {
        match &ask.entry.what {
            What::Request { tool: Some(_), .. } => self.call(ask).await,
            What::Request { method, .. } if HANDSHAKES.contains(&method.as_str()) => {
                self.handshake(ask).await;
            }
            What::Listen => {
                self.oracle().listened(client_of(&ask));
                ask.pass().await;
            }
            What::Resume => answers::resume(&self, ask).await,
            _ => ask.pass().await,
        }
    }

    async fn handshake(self, ask: Ask) {
        self.oracle().shook_hands(client_of(&ask));
        if !self.happens(Fault::Handshakes) {
            return ask.pass().await;
        }
        self.oracle().faults += 1;
        match self.below(4) {
            0 => ask.reply().1.reset(),
            1 => ask.reply().1.close().await,
            2 => ask.status(503, &[], "starting").await,
            _ => ask.status(502, &[], "bad gateway").await,
        }
    }

    /// Answers a call of a tool, or lets it meet a fault.
    pub(crate) async fn call(self, ask: Ask) {
        if ask.entry.target == answers::ERROR_PAGE {
            return ask.status(405, &[], "").await;
        }
        let Some(order) = Order::of(&ask) else { return ask.pass().await };
        self.oracle().arrived(order.call);
        self.lose_standing(&ask, order);
        if ask.is_refused() {
            self.oracle().turned_away(order.call);
            return ask.pass().await;
        }
        tokio::time::sleep(self.millis(3)).await;
        if let Some(fault) = self.first(BEFORE) {
            self.oracle().met(order.call, fault);
            return answers::before(&self, fault, ask, order).await;
        }
        let work = if self.happens(Fault::Slow) { self.millis(90_000) } else { self.millis(50) };
        tokio::time::sleep(work).await;
        self.oracle().executed(order.call);
        match self.first(AFTER).filter(|fault| *fault != Fault::LyingLoss || !ask.is_stateless()) {
            Some(fault) => {
                self.oracle().met(order.call, fault);
                answers::after(&self, fault, ask, order).await;
            }
            None => answers::well(&self, ask, order).await,
        }
    }

    /// Lets the session or the token expire just before the call arrives, by chance.
    fn lose_standing(&self, ask: &Ask, order: Order) {
        if self.happens(Fault::Unauthorized) {
            self.oracle().met(order.call, Fault::Unauthorized);
            self.vault.expire(&self.mcp);
        }
        if !ask.is_stateless() && self.happens(Fault::Expiry) {
            self.oracle().met(order.call, Fault::Expiry);
            self.forget_sessions();
        }
    }

    /// Forgets all sessions, and chooses the dialect in which to say so.
    pub(crate) fn forget_sessions(&self) {
        let dialect = Dialect::draw(&mut self.chance().rng);
        self.mcp.lost_session(dialect.status, dialect.body("null"));
        self.mcp.forget_sessions();
        self.oracle().sessions_forgotten();
    }

    fn first(&self, faults: &[Fault]) -> Option<Fault> {
        let mut chance = self.chance();
        faults.iter().copied().find(|fault| chance.happens(*fault))
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

/// Returns the client that a request comes from.
fn client_of(ask: &Ask) -> usize {
    ask.entry.header(CLIENT_HEADER).and_then(|number| number.parse().ok()).unwrap_or_default()
}

/// The header that tells clients apart.
pub(crate) const CLIENT_HEADER: &str = "x-client";
const HANDSHAKES: [&str; 2] = ["initialize", "server/discover"];
const BEFORE: &[Fault] = &[
    Fault::ResetBefore,
    Fault::CloseBefore,
    Fault::Deferral,
    Fault::GatewayBefore,
    Fault::RefusedStream,
    Fault::HoleBefore,
];
const AFTER: &[Fault] = &[
    Fault::ResetAfter,
    Fault::CloseAfter,
    Fault::GatewayAfter,
    Fault::Broken,
    Fault::Nonsense,
    Fault::CutBody,
    Fault::HoleAfter,
    Fault::Door,
    Fault::LyingDeferral,
    Fault::LyingLoss,
    Fault::OddRefusal,
    Fault::Accepted,
    Fault::Flood,
];
