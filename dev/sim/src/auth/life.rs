//! The life of a world, from the first call to the last process that comes back.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use ridethrough::{Client, ClientBuilder};
use ridethrough_core::rng::Rng;
use ridethrough_lab::{Protocol, Server, Service, Turn};
use ridethrough_oauth::{ClientBuilderExt, OAuth, Timestamp};
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::AuthWorld;
use super::addresses::RESOURCE;
use super::faults::AuthFault;
use super::grants::Issuer;
use super::issuer::{AuthorizationSite, answer};
use super::network::{ProcessDial, Servers};
use super::oracle::AuthOracle;
use super::person::SimulatedPerson;
use super::places::{Places, Running};
use super::process::Process;
use super::resource::ResourceSite;
use super::schedule::{AuthStage, Skew};
use super::shape::AuthShape;
use super::store::{ProcessStore, SharedStore};
use super::truth::Truth;
use crate::seeded::draw_starts;
use crate::world::Lived;
use crate::world::life::AUTHORITY;
use crate::world::order::Order;
use crate::world::people::Caller;
use crate::world::told::Told;
use crate::world::trace::Trace;

/// A world while it runs.
pub(super) struct AuthLife {
    world: AuthWorld,
    shape: AuthShape,
    rng: Rng,
    truth: Truth,
    resource: ResourceSite,
    servers: Arc<Servers>,
    store: SharedStore,
    skew: Skew,
    places: Places,
    next_call: u64,
    endings: Arc<Mutex<BTreeMap<String, u64>>>,
    began: Instant,
}

impl AuthLife {
    pub(super) fn begin(world: &AuthWorld, trace: Trace) -> Self {
        let mut rng = Rng::new(world.seed);
        let shape = AuthShape::draw(&mut rng);
        let mut world = world.clone();
        if shape.life < Duration::from_secs(120) {
            // By a clock that was set back by as much as it lives, a token that ends looks like a new one.
            world.faults = world.faults.without(AuthFault::ClockJumps);
        }
        let mut oracle = AuthOracle::new(world.seed, shape.clone(), world.faults.clone(), trace);
        oracle.note(|| format!("{shape:?}"));
        let truth = Truth::new(oracle, Rng::new(rng.next_u64()), world.faults.clone());
        let resource = ResourceSite::new(shape.clone(), truth.clone());
        let servers = Arc::new(servers(&shape, &truth, &resource));
        let mut life = Self {
            world,
            shape,
            rng,
            truth,
            resource,
            servers,
            store: SharedStore::default(),
            skew: Skew::default(),
            places: Places::default(),
            next_call: 0,
            endings: Arc::default(),
            began: Instant::now(),
        };
        for place in 0..life.shape.processes {
            let running = life.start(place);
            life.places.all().push(running);
        }
        life
    }

    fn start(&mut self, place: usize) -> Running {
        let process = self.process(place);
        let builder = self.builder(&process).oauth(self.oauth(&process));
        let client = builder.expect(GOOD).build().expect(GOOD);
        Running { process, client }
    }

    fn process(&self, place: usize) -> Process {
        let mut oracle = self.truth.oracle();
        oracle.started += 1;
        Process::new(place, oracle.started as usize)
    }

    fn builder(&mut self, process: &Process) -> ClientBuilder {
        Client::builder(RESOURCE)
            .dial(ProcessDial {
                process: process.clone(),
                truth: self.truth.clone(),
                servers: self.servers.clone(),
            })
            .sleep_clock(|| Duration::from_secs(1_000_000_000))
            .seed(self.rng.next_u64())
    }

    fn oauth(&self, process: &Process) -> OAuth {
        let (store, truth) = (self.store.clone(), self.truth.clone());
        let store = ProcessStore { process: process.clone(), store, truth };
        let (skew, began) = (self.skew.clone(), self.began);
        let clock = move || {
            let elapsed = i64::try_from(began.elapsed().as_millis()).unwrap_or(i64::MAX);
            let at = EPOCH + elapsed + skew.0.load(Ordering::Relaxed);
            Timestamp::from_unix_millis(u64::try_from(at).unwrap_or_default())
        };
        let (truth, told) = (self.truth.clone(), process.clone());
        let oauth =
            OAuth::new("simulated").store(store).clock(clock).allow_near_hosts().on_login_needed(
                move |reason| {
                    if !told.is_dead() {
                        truth.oracle().told_login_needed(told.number, reason);
                    }
                },
            );
        if process.place >= self.shape.attended {
            return oauth;
        }
        oauth.person(SimulatedPerson {
            process: process.clone(),
            shape: self.shape.clone(),
            truth: self.truth.clone(),
            script: Arc::default(),
        })
    }

    pub(super) async fn live(mut self) -> Lived {
        self.chaos().await;
        self.recover().await;
        self.end().await
    }

    /// The first age: calls are made, and the world's faults happen.
    async fn chaos(&mut self) {
        let calls = self.world.calls;
        let (starts, within) = draw_starts(&mut self.rng, calls, self.shape.pace);
        // Who moves back is met without what was known there.
        let most = |what| if what == AuthFault::Moves { 1 } else { u64::MAX };
        let schedule = self.world.faults.draw_events(&mut self.rng, (calls, 50), within, most);
        let stage = AuthStage {
            truth: self.truth.clone(),
            servers: self.servers.clone(),
            places: self.places.clone(),
            skew: self.skew.clone(),
        };
        let playing = tokio::spawn(stage.play(schedule));
        let mut running = JoinSet::new();
        for at in starts {
            tokio::time::sleep_until(self.began + at).await;
            let place = usize::try_from(self.rng.below(self.shape.processes as u64));
            let call = self.call(place.unwrap_or_default());
            running.spawn(call);
        }
        // A panic of it was printed by then.
        let _ = playing.await;
        self.truth.heal();
        self.truth.oracle().note(|| "everything heals".to_owned());
        while running.join_next().await.is_some() {}
    }

    /// The second age: everything works again, and every process must come back by itself.
    async fn recover(&mut self) {
        for place in 0..self.shape.processes {
            let began = Instant::now();
            let mut has_logged_in = false;
            loop {
                let told = self.call(place).await;
                if matches!(told, Told::Answered(_)) {
                    break;
                }
                if began.elapsed() > Duration::from_secs(600) {
                    let what = format!("place {place}, after 10 min: {told}");
                    self.truth.oracle().broken("a healed world is used again", what);
                    break;
                }
                // Whoever has a person finds out that somebody must log in.
                self.call(0).await;
                let is_told = place >= self.shape.attended && self.truth.oracle().needs_login();
                if is_told && !has_logged_in && began.elapsed() > Duration::from_secs(300) {
                    // Or does not: its token may be good for an hour although its client is forgotten.
                    self.log_in_by_hand().await;
                    has_logged_in = true;
                }
                tokio::time::sleep(Duration::from_secs(2)).await;
            }
        }
    }

    /// Somebody has read that they must log in, and does so with a program of its own.
    async fn log_in_by_hand(&mut self) {
        let process = self.process(0);
        let account = self.oauth(&process).account(&self.builder(&process)).expect(GOOD);
        let logged_in = account.log_in().await;
        self.truth.oracle().note(|| format!("somebody logs in by hand: {}", logged_in.is_ok()));
    }

    async fn end(self) -> Lived {
        let all = std::mem::take(&mut *self.places.all());
        for Running { client, .. } in all {
            let within = self.truth.oracle().longest_close();
            let closed = tokio::time::timeout(within, client.close()).await;
            if closed.is_err() {
                let what = format!("a client took {within:?}");
                self.truth.oracle().broken("leaving is quick", what);
            }
        }
        self.servers.kill().await;
        self.resource.retire();
        let mut oracle = self.truth.oracle();
        let counts = std::mem::take(&mut oracle.counts);
        let count = |what| counts.get(what).copied().unwrap_or_default();
        Lived {
            calls: self.next_call,
            endings: std::mem::take(
                &mut self.endings.lock().unwrap_or_else(PoisonError::into_inner),
            ),
            faults: count("faults"),
            executions: count("executions"),
            millis: u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX),
            violations: std::mem::take(&mut oracle.violations),
            trace: std::mem::take(&mut oracle.trace).into_text(),
            counts: counts
                .into_iter()
                .filter(|(what, _)| !["faults", "executions"].contains(what))
                .collect(),
            ..Lived::default()
        }
    }

    /// A call of the process at this place, which is started again if it is dead.
    fn call(&mut self, place: usize) -> impl Future<Output = Told> + use<> {
        if self.places.all()[place].process.is_dead() {
            let running = self.start(place);
            self.places.all()[place] = running;
        }
        let Running { process, client } = self.places.all()[place].clone();
        self.next_call += 1;
        let size = usize::try_from(self.rng.below(100)).unwrap_or_default();
        let is_safe = self.rng.below(2) == 0;
        let order = Order { call: self.next_call, asks: size, wants: size, is_safe };
        let (truth, endings) = (self.truth.clone(), self.endings.clone());
        async move {
            truth.oracle().begun(order.call, process.number, is_safe);
            let caller = Caller::Direct(client);
            let told = tokio::select! {
                biased;
                () = process.death() => Told::TakenBack,
                told = caller.call(order, super::oracle::DEADLINE, false) => told,
            };
            truth.oracle().ended(order.call, &told, &order.result());
            let mut endings = endings.lock().unwrap_or_else(PoisonError::into_inner);
            *endings.entry(told.name()).or_default() += 1;
            told
        }
    }
}

fn servers(shape: &AuthShape, truth: &Truth, resource: &ResourceSite) -> Servers {
    let issuer = |issuer: Issuer| {
        let site = AuthorizationSite { issuer, shape: shape.clone(), truth: truth.clone() };
        server(move |turn: Turn| site.clone().serve(turn))
    };
    let (resource, truth) = (resource.clone(), truth.clone());
    Servers {
        resource: server(move |turn: Turn| resource.clone().serve(turn)),
        one: issuer(Issuer::One),
        two: issuer(Issuer::Two),
        stranger: server(move |turn: Turn| {
            truth.oracle().received("stranger", &turn.request);
            async move { turn.reply.respond(answer(200, &serde_json::Value::Null)).await }
        }),
    }
}

fn server(service: impl Service) -> Server {
    Server::with_authority(Protocol::Http1, AUTHORITY.clone(), service)
}

const GOOD: &str = "every setting is a good one";
/// What the wall clock says at the beginning, in milliseconds.
const EPOCH: i64 = 1_800_000_000_000;
