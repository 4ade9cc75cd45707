//! The life of a world, from its first connection to the last task that ends.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock, Mutex};
use std::time::Duration;

use ridethrough::{Client, ClientBuilder};
use ridethrough_core::rng::Rng;
use ridethrough_lab::{Authority, Http2, Mcp, Server};
use tokio::runtime::Handle;
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::call::CallPlan;
use super::certain::Certain;
use super::computer::Computer;
use super::faults::{Fault, Faults, fitting};
use super::host::{CLIENT_HEADER, Chance, Host, Shared, lock};
use super::lines::lines;
use super::oracle::Oracle;
use super::order::Order;
use super::people::{BridgeHost, Caller};
use super::schedule::Site;
use super::shape::Shape;
use super::told::Told;
use super::trace::Trace;
use super::vault::Vault;
use super::{Lived, MESSAGE_LIMIT, World};
use crate::net::Network;
use crate::seeded::draw_starts;

/// A world while it runs.
pub(super) struct Life {
    faults: Faults,
    calls: u64,
    shape: Shape,
    rng: Rng,
    oracle: Shared<Oracle>,
    sites: Vec<Site>,
    networks: Vec<Network>,
    callers: Vec<Caller>,
    next_call: u64,
    endings: Shared<BTreeMap<String, u64>>,
    began: Instant,
}

impl Life {
    pub(super) async fn begin(world: &World, trace: Trace) -> Self {
        let mut rng = Rng::new(world.seed);
        let shape = Shape::draw(&mut rng);
        let certain = Certain::of(&world.faults, shape.protocol, world.calls, shape.most_at_once);
        let mut oracle = Oracle::new(world.seed, certain, trace);
        oracle.note(|| format!("{shape:?}"));
        let mut life = Self {
            faults: world.faults.clone(),
            calls: world.calls,
            shape,
            rng,
            oracle: Arc::new(Mutex::new(oracle)),
            sites: Vec::new(),
            networks: Vec::new(),
            callers: Vec::new(),
            next_call: 0,
            endings: Shared::default(),
            began: Instant::now(),
        };
        for _ in 0..life.shape.servers {
            let site = life.site();
            life.sites.push(site);
        }
        for number in 0..life.shape.clients {
            let caller = life.caller(number).await;
            life.callers.push(caller);
        }
        life
    }

    fn site(&mut self) -> Site {
        let mcp = Mcp::new();
        mcp.speaks(self.shape.spoken);
        mcp.issue_sessions(self.shape.has_sessions);
        let server = Server::with_authority(self.shape.protocol, AUTHORITY.clone(), mcp.clone());
        server.http2(Http2 { max_concurrent_streams: self.shape.most_at_once, ..Http2::default() });
        let vault = Vault::default();
        if self.shape.has_tokens {
            vault.expire(&mcp);
        }
        let faults = fitting(&self.faults, self.shape.has_tokens, self.shape.has_sessions);
        let chance = Chance { rng: Rng::new(self.rng.next_u64()), faults };
        let host = Host::new(mcp, vault, self.oracle.clone(), Arc::new(Mutex::new(chance)));
        Site { server, host, computer: Computer::new(), spoken: self.shape.spoken }
    }

    async fn caller(&mut self, number: usize) -> Caller {
        let site = self.sites[number % self.sites.len()].clone();
        let lines = lines(site.host.clone(), self.rng.next_u64());
        let network = Network::new(site.server.clone(), lines);
        self.networks.push(network.clone());
        let client = self.client(number, &site, network);
        let is_last = number + 1 == self.shape.clients;
        if is_last && self.shape.has_bridge {
            let oracle = self.oracle.clone();
            return Caller::Host(Arc::new(BridgeHost::start(client, DEADLINE, oracle).await));
        }
        if self.shape.keeps_connected {
            client.keep_connected();
        }
        Caller::Direct(client)
    }

    fn client(&mut self, number: usize, site: &Site, network: Network) -> Client {
        let builder: ClientBuilder = Client::builder("http://server.test/mcp")
            .dial(network)
            .eras(self.shape.eras)
            .header(CLIENT_HEADER, number.to_string())
            .message_limit(MESSAGE_LIMIT)
            .sleep_clock(site.computer.clock())
            .seed(self.rng.next_u64());
        let builder = match self.shape.most_at_once {
            Some(most) => builder.connection_limit(most as usize),
            None => builder,
        };
        let builder = if self.shape.has_tokens {
            builder.credentials(site.host.vault.clone())
        } else {
            builder
        };
        builder.build().expect("every setting is a good one")
    }

    pub(super) async fn live(mut self) -> Lived {
        self.chaos().await;
        self.recover().await;
        self.end().await
    }

    /// Lives through the first age: calls are made, and the world's faults happen.
    async fn chaos(&mut self) {
        let (starts, within) = draw_starts(&mut self.rng, self.calls, self.shape.pace);
        let mut schedules = JoinSet::new();
        for site in self.sites.clone() {
            let calls = (self.calls, 100);
            let schedule = self.faults.draw_events(&mut self.rng, calls, within, |_| u64::MAX);
            schedules.spawn(site.play(schedule));
        }
        let mut calls = JoinSet::new();
        for at in starts {
            let plan = self.plan();
            tokio::time::sleep_until(self.began + at).await;
            calls.spawn(plan.play());
        }
        while schedules.join_next().await.is_some() {}
        for site in &self.sites {
            site.heal().await;
        }
        lock(&self.oracle).note(|| "everything heals".to_owned());
        while calls.join_next().await.is_some() {}
    }

    /// Lives through the second age: the server works again, and every client must recover by itself within
    /// minutes.
    async fn recover(&mut self) {
        for number in 0..self.callers.len() {
            let began = Instant::now();
            loop {
                let mut plan = self.plan_of(number);
                (plan.deadline, plan.gives_up) = (DEADLINE, None);
                let told = plan.play().await;
                if matches!(told, Told::Answered(_)) {
                    break;
                }
                if began.elapsed() > Duration::from_secs(180) {
                    let what = format!("client {number}, after 3 min: {told}");
                    lock(&self.oracle).broken("a healed server is used again", what);
                    break;
                }
                tokio::time::sleep(Duration::from_millis(500)).await;
            }
        }
    }

    /// Lives through the last age: all clients leave, and nothing may be left.
    async fn end(mut self) -> Lived {
        for caller in std::mem::take(&mut self.callers) {
            if let Some(wrong) = caller.leave().await {
                lock(&self.oracle).broken("leaving is quick", wrong);
            }
        }
        tokio::time::sleep(Duration::from_secs(10)).await;
        let mut connections = 0;
        for site in &self.sites {
            connections += site.server.connections();
            let open = site.server.open_connections();
            if open > 0 && !self.faults.has(SILENT) {
                lock(&self.oracle).broken("no socket is left", format!("{open} are open"));
            }
            site.server.kill().await;
            site.host.retire();
        }
        self.networks.iter().for_each(Network::hang_up);
        tokio::time::sleep(Duration::from_secs(1)).await;
        let lived = lived(&self.oracle, connections, self.began);
        let endings = std::mem::take(&mut *lock(&self.endings));
        Lived { calls: self.next_call, endings, ..lived }
    }

    fn plan(&mut self) -> CallPlan {
        let number = self.rng.below(self.callers.len() as u64);
        self.plan_of(usize::try_from(number).unwrap_or_default())
    }

    fn plan_of(&mut self, number: usize) -> CallPlan {
        self.next_call += 1;
        let (rng, faults) = (&mut self.rng, &self.faults);
        let mut happens = |fault: Fault| faults.happens(fault, rng);
        let is_large = happens(Fault::Large);
        let is_short = happens(Fault::ShortDeadlines);
        let gives_up = happens(Fault::Cancels);
        let wants_progress = happens(Fault::Progress);
        let caller = self.callers[number].clone();
        let is_bridged = matches!(caller, Caller::Host(_));
        let size = |rng: &mut Rng, most| usize::try_from(rng.below(most)).unwrap_or_default();
        let wants = if is_large { size(rng, 100_000) } else { size(rng, 200) };
        let order = Order {
            call: self.next_call,
            asks: if rng.below(50) == 0 { size(rng, 40_000) } else { size(rng, 100) },
            wants,
            is_safe: rng.below(2) == 0,
        };
        let deadline = if is_short && !is_bridged {
            Duration::from_millis(50 + rng.below(3000))
        } else {
            DEADLINE
        };
        let gives_up = gives_up.then(|| Duration::from_millis(rng.below(500)));
        CallPlan {
            caller,
            number,
            order,
            deadline,
            gives_up,
            wants_progress,
            is_bridged,
            oracle: self.oracle.clone(),
            endings: self.endings.clone(),
        }
    }
}

/// Returns what an oracle knows at the end of a world, in which no task may be left.
pub(crate) fn lived(oracle: &Shared<Oracle>, connections: u64, began: Instant) -> Lived {
    let tasks = Handle::current().metrics().num_alive_tasks();
    let mut oracle = lock(oracle);
    if tasks > 0 {
        oracle.broken("no task is left", format!("{tasks} are alive"));
    }
    oracle.closed(connections);
    Lived {
        faults: oracle.faults,
        executions: oracle.executions,
        lies: oracle.lies,
        connections,
        millis: u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX),
        violations: std::mem::take(&mut oracle.violations),
        trace: std::mem::take(&mut oracle.trace).into_text(),
        ..Lived::default()
    }
}

/// One authority for all servers; a server has one even without TLS.
pub(crate) static AUTHORITY: LazyLock<Authority> = LazyLock::new(Authority::new);
/// The deadline of a call whose caller is patient.
const DEADLINE: Duration = Duration::from_secs(60);
/// Faults after which a server may never notice that its client is gone.
const SILENT: &[Fault] =
    &[Fault::Stall, Fault::Pause, Fault::StallAll, Fault::Sleeps, Fault::HoleAfter];
