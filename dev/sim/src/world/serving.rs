//! What the server of a world does with each request: one that meets no fault is passed on to the lab's correct
//! server, and a call of a tool is answered here.

use ridethrough_lab::{Ask, Mcp, Times, What, When};

use super::answers;
use super::faults::Fault;
use super::host::{CLIENT_HEADER, Chance, Host, Shared};
use super::oracle::Oracle;
use super::order::Order;
use super::vault::Vault;

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

    fn first(&self, faults: &[Fault]) -> Option<Fault> {
        let mut chance = self.chance();
        faults.iter().copied().find(|fault| chance.happens(*fault))
    }
}

/// Returns the client that a request comes from.
fn client_of(ask: &Ask) -> usize {
    ask.entry.header(CLIENT_HEADER).and_then(|number| number.parse().ok()).unwrap_or_default()
}

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
