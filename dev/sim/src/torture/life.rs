//! One run of an exchange, from the first connection to the last task, with one cut or none.

use std::sync::OnceLock;
use std::time::Duration;

use ridethrough::{Client, RetryPolicy};
use ridethrough_lab::{Authority, Mcp, OldMcp, Protocol, Run, Server};
use tokio::runtime::Handle;

use super::exchange::{Exchange, ServerKind};
use super::stage::{Ended, Stage};
use crate::net::{Cable, Harm, Line, Meter, Network, Passed};
use crate::seeded::in_paused_time;

/// What was observed in one run.
#[derive(Debug)]
pub(super) struct RunRecord {
    /// The application's calls, and two further calls after the script.
    pub(super) ended: Vec<Ended>,
    /// Every run of a tool.
    pub(super) runs: Vec<Run>,
    /// The byte counts of each connection at the end of the script.
    pub(super) scripted: Vec<Passed>,
    /// The byte counts at the end of the run.
    pub(super) passed: Vec<Passed>,
    /// How many tasks were left at the end.
    pub(super) tasks: usize,
}

/// Plays an exchange, with the connection of this dial broken, if any is.
pub(super) fn live(
    exchange: &Exchange,
    protocol: Protocol,
    harm: Option<(u64, Harm)>,
) -> RunRecord {
    in_paused_time(lived(exchange, protocol, harm))
}

async fn lived(exchange: &Exchange, protocol: Protocol, harm: Option<(u64, Harm)>) -> RunRecord {
    let meter = Meter::default();
    let stage = stage(exchange, protocol, harm, &meter);
    exchange.play.on(&stage).await;
    let scripted = meter.passed();
    if !stage.is_closed() {
        stage.read(AFTERWARDS[0]).await;
        tokio::time::sleep(NOTICED).await;
        stage.read(AFTERWARDS[1]).await;
    }
    let ended = stage.ended();
    let Stage { client, mcp, server, .. } = stage;
    drop(client);
    server.kill().await;
    let tasks = tasks_left().await;
    RunRecord { ended, runs: mcp.runs(), scripted, passed: meter.passed(), tasks }
}

fn stage(
    exchange: &Exchange,
    protocol: Protocol,
    harm: Option<(u64, Harm)>,
    meter: &Meter,
) -> Stage {
    let (mcp, server) = match exchange.kind {
        ServerKind::HttpSse => {
            let old = OldMcp::new();
            (old.mcp().clone(), Server::with_authority(protocol, authority(), old))
        }
        ServerKind::Streamable => {
            let mcp = Mcp::new();
            (mcp.clone(), Server::with_authority(protocol, authority(), mcp))
        }
    };
    (exchange.serve)(&mcp);
    let lines = move |number| {
        let harm = harm.filter(|(dial, _)| *dial == number).map(|(_, harm)| harm);
        Line::Connected(Cable { harm, ..Cable::default() })
    };
    let network = Network::new(server.clone(), lines).metered(meter.clone());
    let builder =
        Client::builder("http://server.test/mcp").dial(network).seed(7).retry_policy(policy());
    // The real clocks would notice that simulated time is faster.
    let builder = builder.sleep_clock(|| Duration::ZERO);
    let client = (exchange.dress)(builder).build().expect("every script's settings are right");
    Stage::new(client, mcp, server, exchange.deadline)
}

/// Returns the default policy, except for the patience before the first connect: a handshake that meets
/// silence takes 15 s, and after the default of 10 s it would count as a wrong address. Only an outage
/// shorter than the patience is promised to be ridden through.
fn policy() -> RetryPolicy {
    let patience = Duration::from_secs(30);
    let policy = RetryPolicy::interactive().builder().first_patience(patience).build();
    policy.expect("within its bounds")
}

/// Waits until every task has ended: a drain takes 2 s, and the sweep of idle connections runs every 5 s.
async fn tasks_left() -> usize {
    let alive = || Handle::current().metrics().num_alive_tasks();
    for _ in 0..3 {
        tokio::time::sleep(Duration::from_secs(2)).await;
        if alive() == 0 {
            break;
        }
    }
    alive()
}

/// Returns one authority for all runs, because keys cost milliseconds to make.
fn authority() -> Authority {
    static SHARED: OnceLock<Authority> = OnceLock::new();
    SHARED.get_or_init(Authority::new).clone()
}

/// The calls that follow each script, to see whether the client has recovered.
pub(super) const AFTERWARDS: [&str; 2] = ["afterwards", "and again"];
/// How long an HTTP/2 connection may be silent before it is known to be dead, and a little more.
const NOTICED: Duration = Duration::from_secs(30);
