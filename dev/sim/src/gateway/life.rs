//! The life of a world with a gateway, from its first call to the last task that ends.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ridethrough_core::rng::Rng;
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::GatewayWorld;
use super::caller::GatewayCaller;
use super::faults::{GatewayFault, GatewayFaults};
use super::plan::{GatewayCall, Peace, Tricks};
use super::process::{FrontDoor, House};
use super::record::{Behaviour, Record};
use super::schedule::GatewayStage;
use super::shape::GatewayShape;
use super::site::{GatewaySite, tools_of};
use crate::net::Network;
use crate::seeded::draw_starts;
use crate::world::certain::{CALM, Certain};
use crate::world::host::{Shared, lock};
use crate::world::life::lived;
use crate::world::lines::lines;
use crate::world::oracle::Oracle;
use crate::world::order::{Order, SAFE_TOOL};
use crate::world::told::Told;
use crate::world::trace::Trace;
use crate::world::{Fault, Lived};

/// A world while it runs.
pub(super) struct GatewayLife {
    faults: GatewayFaults,
    calls: u64,
    shape: GatewayShape,
    rng: Rng,
    record: Record,
    sites: Vec<GatewaySite>,
    networks: Vec<Network>,
    house: House,
    callers: Vec<GatewayCaller>,
    next_call: u64,
    endings: Shared<BTreeMap<String, u64>>,
    is_calm: bool,
    peace: Peace,
    began: Instant,
}

impl GatewayLife {
    pub(super) fn begin(world: &GatewayWorld, trace: Trace) -> Self {
        let mut rng = Rng::new(world.seed);
        let shape = GatewayShape::draw(&mut rng);
        let certain = certain(&world.faults, &shape);
        let peace = peace(&world.faults, &shape);
        let mut oracle = Oracle::new(world.seed, certain, trace);
        oracle.note(|| format!("{shape:?}"));
        let record = Record::new(Arc::new(Mutex::new(oracle)));
        let servers = shape.servers.iter().cloned().enumerate();
        let sites: Vec<_> = servers
            .map(|(place, it)| {
                GatewaySite::new(place, it, &world.faults.servers, &record, &mut rng)
            })
            .collect();
        let upstreams = sites.iter().map(|site| {
            let lines = lines(site.site.host.clone(), rng.next_u64());
            (site.clone(), Network::new(site.site.server.clone(), lines))
        });
        let upstreams: Vec<_> = upstreams.collect();
        let mut networks: Vec<_> = upstreams.iter().map(|(_, network)| network.clone()).collect();
        let house_rng = Rng::new(rng.next_u64());
        let house = House::new(upstreams, shape.places, record.clone(), house_rng);
        let callers = (0..shape.callers.len()).map(|number| {
            let front =
                FrontDoor { house: house.clone(), is_http2: shape.callers[number].is_http2 };
            // The network of callers has the faults of the first server's.
            let network = Network::new(front, lines(sites[0].site.host.clone(), rng.next_u64()));
            networks.push(network.clone());
            GatewayCaller::new(number, &shape, network, record.clone(), rng.next_u64())
        });
        let callers = callers.collect();
        Self {
            faults: world.faults.clone(),
            calls: world.calls,
            shape,
            rng,
            record,
            sites,
            networks,
            house,
            callers,
            next_call: 0,
            endings: Shared::default(),
            is_calm: certain.is_calm,
            peace,
            began: Instant::now(),
        }
    }

    pub(super) async fn live(mut self) -> Lived {
        self.chaos().await;
        self.recover().await;
        self.rest().await;
        self.end().await
    }

    /// Lives through the first age: calls are made, and the world's faults happen.
    async fn chaos(&mut self) {
        let (starts, within) = draw_starts(&mut self.rng, self.calls, self.shape.pace);
        let mut schedules = self.schedules(within);
        let mut calls = JoinSet::new();
        for at in starts {
            let plan = self.plan();
            tokio::time::sleep_until(self.began + at).await;
            calls.spawn(plan.play());
        }
        while schedules.join_next().await.is_some() {}
        for site in &self.sites {
            site.site.heal().await;
        }
        self.record.note(|| "everything heals".to_owned());
        while calls.join_next().await.is_some() {}
    }

    fn schedules(&mut self, within: Duration) -> JoinSet<()> {
        let mut schedules = JoinSet::new();
        let (calls, most) = ((self.calls, 100), |_| u64::MAX);
        for site in self.sites.clone() {
            let schedule = self.faults.servers.draw_events(&mut self.rng, calls, within, most);
            schedules.spawn(site.site.play(schedule));
        }
        let schedule = self.faults.gateway.draw_events(&mut self.rng, calls, within, |_| u64::MAX);
        let stage = GatewayStage {
            house: self.house.clone(),
            servers: self.sites.len(),
            record: self.record.clone(),
            rng: Arc::new(Mutex::new(Rng::new(self.rng.next_u64()))),
        };
        schedules.spawn(stage.play(schedule));
        schedules
    }

    /// Lives through the second age: everything works again, and every caller must recover by itself within
    /// minutes.
    async fn recover(&mut self) {
        for number in 0..self.callers.len() {
            let began = Instant::now();
            loop {
                self.learn(number).await;
                let mut plan = self.plan_of(number, false);
                (plan.deadline, plan.gives_up, plan.learns) = (DEADLINE, None, false);
                let told = plan.play().await;
                if matches!(told, Told::Answered(_)) {
                    break;
                }
                // Calls that wait for people may have all places of a server.
                let most = if self.shape.places > 4 { 3 * A_MINUTE } else { 15 * A_MINUTE };
                if began.elapsed() > most {
                    let what = format!("caller {number}, after {most:?}: {told}");
                    self.record.broken("a healed server is used again", what);
                    break;
                }
                tokio::time::sleep(Duration::from_millis(500)).await;
            }
        }
    }

    async fn learn(&self, number: usize) {
        let count = self.callers[number].learn().await;
        let places = (0..self.sites.len())
            .filter(|it| self.shape.callers[number].only.is_none_or(|only| only == *it));
        let there: usize = places.map(|place| tools_of(place).len()).sum();
        let is_slow = self.faults.servers.has(&[Fault::Delay, Fault::Slices]);
        if self.is_calm && !is_slow && count != Some(there) {
            let what = format!("caller {number} is shown {count:?} of {there} tools");
            self.record.broken("a list shows what there is", what);
        }
    }

    /// Lives through the third age: nothing is asked, and nothing may happen.
    async fn rest(&mut self) {
        tokio::time::sleep(A_MINUTE).await;
        let before: usize = self.sites.iter().map(GatewaySite::requests).sum();
        tokio::time::sleep(10 * A_MINUTE).await;
        let asked = self.sites.iter().map(GatewaySite::requests).sum::<usize>() - before;
        // Unused links are closed, and standing streams may be opened again now and then.
        let most = 20 * self.sites.len() * (self.callers.len() + 1);
        if asked > most {
            let what = format!("{asked} requests within ten minutes without a call");
            self.record.broken("a gateway without calls rests", what);
        }
    }

    /// Lives through the last age: all callers leave, the gateway lets go of its servers, and nothing may be
    /// left when it is stopped.
    async fn end(mut self) -> Lived {
        for caller in std::mem::take(&mut self.callers) {
            if let Some(wrong) = caller.leave().await {
                self.record.broken("leaving is quick", wrong);
            }
        }
        // The time after which a session, a link and a held call are given up.
        tokio::time::sleep(45 * A_MINUTE).await;
        let mut connections = 0;
        for site in &self.sites {
            connections += site.site.server.connections();
            let open = site.site.server.open_connections();
            if open > 0 && !self.faults.servers.has(SILENT) {
                let what = format!("{open} connections to {} are open", site.shape.name);
                self.record.broken("a gateway without callers lets go of its servers", what);
            }
        }
        let open = self.record.open();
        if !open.is_empty() && !self.faults.servers.has(SILENT) {
            self.record.broken("nothing is held beyond its time", format!("{open:?} are open"));
        }
        if !self.house.close().await {
            self.record.broken("leaving is quick", "the gateway did not stop".to_owned());
        }
        for site in &self.sites {
            site.site.server.kill().await;
            site.site.host.retire();
        }
        self.networks.iter().for_each(Network::hang_up);
        // The streams of a session that is over can be resumed for a minute.
        tokio::time::sleep(2 * A_MINUTE).await;
        self.lived(connections)
    }

    fn lived(self, connections: u64) -> Lived {
        let lived = lived(&self.record.oracle, connections, self.began);
        let endings = std::mem::take(&mut *lock(&self.endings));
        Lived { calls: self.next_call, endings, counts: self.record.counts(), ..lived }
    }

    fn plan(&mut self) -> GatewayCall {
        let number = self.rng.below(self.callers.len() as u64);
        let asks = self.faults.gateway.happens(GatewayFault::Questions, &mut self.rng);
        self.plan_of(usize::try_from(number).unwrap_or_default(), asks)
    }

    fn plan_of(&mut self, number: usize, asks: bool) -> GatewayCall {
        self.next_call += 1;
        let (rng, faults) = (&mut self.rng, &self.faults);
        let mut server_fault = |fault: Fault| faults.servers.happens(fault, rng);
        let is_large = server_fault(Fault::Large);
        let is_short = server_fault(Fault::ShortDeadlines);
        let gives_up = server_fault(Fault::Cancels);
        let wants_progress = server_fault(Fault::Progress);
        let caller = self.callers[number].clone();
        let (tool, learnt) = caller.choose(rng, asks);
        let size = |rng: &mut Rng, most| usize::try_from(rng.below(most)).unwrap_or_default();
        let order = Order {
            call: self.next_call,
            asks: if rng.below(50) == 0 { size(rng, 40_000) } else { size(rng, 100) },
            wants: if is_large { size(rng, 100_000) } else { size(rng, 200) },
            is_safe: tool.target.tool == SAFE_TOOL,
        };
        let person = behaviour(rng, faults);
        let deadline = match person.takes {
            _ if is_short => Duration::from_millis(50 + rng.below(3000)),
            Some(takes) if asks => DEADLINE + takes,
            _ => DEADLINE,
        };
        let principal = caller.shape.principal;
        let stranger = self.callers.iter().find(|it| it.shape.principal != principal).cloned();
        GatewayCall {
            order,
            tool,
            learnt,
            deadline,
            gives_up: gives_up.then(|| Duration::from_millis(rng.below(500))),
            wants_progress,
            person,
            tricks: tricks(rng, faults),
            stranger,
            learns: rng.below(10) == 0,
            caller,
            peace: self.peace,
            record: self.record.clone(),
            endings: self.endings.clone(),
        }
    }
}

fn behaviour(rng: &mut Rng, faults: &GatewayFaults) -> Behaviour {
    let mut happens = |fault| faults.gateway.happens(fault, rng);
    let declines = happens(GatewayFault::Declined);
    let is_late = happens(GatewayFault::LateAnswers);
    let never = happens(GatewayFault::NoAnswers);
    let longest = if is_late { 15 * A_MINUTE } else { Duration::from_secs(3) };
    let takes = rng.between(Duration::ZERO, longest);
    Behaviour { takes: (!never).then_some(takes), declines }
}

fn tricks(rng: &mut Rng, faults: &GatewayFaults) -> Tricks {
    let mut happens = |fault| faults.gateway.happens(fault, rng);
    Tricks {
        answers_twice: happens(GatewayFault::Twice),
        alters_state: happens(GatewayFault::Altered),
        is_foreign: happens(GatewayFault::Foreign),
        changes_params: happens(GatewayFault::OtherParams),
    }
}

/// What happens in this world that could cost a call.
fn peace(faults: &GatewayFaults, shape: &GatewayShape) -> Peace {
    let is_calm = |it| CALM.contains(&it) && it != Fault::CloseIdle;
    let events = || faults.gateway.present().filter(|it| it.is_event());
    match () {
        () if shape.places <= 4 || !faults.servers.present().all(is_calm) => Peace::None,
        () if events().next().is_none() => Peace::Questions,
        () if events().all(|it| it == GatewayFault::Reloads) => Peace::Reloads,
        () => Peace::None,
    }
}

/// What can be judged in this world. A request passes two networks and two clients.
fn certain(faults: &GatewayFaults, shape: &GatewayShape) -> Certain {
    let is_calm =
        faults.gateway.present().next().is_none() && peace(faults, shape) == Peace::Questions;
    Certain {
        answers_arrive: false,
        lag: None,
        is_swallowed: true,
        is_mild: false,
        is_calm,
        connections_last: false,
        most_arrivals: 300,
    }
}

/// The deadline of a call whose caller is patient.
const DEADLINE: Duration = Duration::from_secs(60);
const A_MINUTE: Duration = Duration::from_secs(60);
/// Faults after which a server may never notice that its client is gone.
const SILENT: &[Fault] = &[Fault::Stall, Fault::Pause, Fault::StallAll, Fault::HoleAfter];
