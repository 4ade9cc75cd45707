//! A long run: many sessions for many hours, a server that is restarted again and again, and memory that must
//! not grow.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ridethrough::{Client, Era};
use ridethrough_core::rng::Rng;
use ridethrough_lab::{Mcp, Protocol, Server};
use tokio::runtime::Handle;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};

use super::call::CallPlan;
use super::certain::Certain;
use super::faults::{Fault, Faults};
use super::host::{CLIENT_HEADER, Chance, Host, Shared, lock};
use super::life::AUTHORITY;
use super::oracle::Oracle;
use super::order::Order;
use super::people::Caller;
use super::trace::Trace;
use super::vault::Vault;
use crate::Violation;
use crate::net::{Cable, Line, Network};

/// The settings of a soak.
#[derive(Clone, Copy, Debug)]
pub struct Soak {
    /// The seed; everything else is drawn from it.
    pub seed: u64,
    /// Virtual hours.
    pub hours: u32,
    /// Clients, each with a session and a standing stream.
    pub sessions: usize,
    /// The time between two restarts of the server.
    pub restart_every: Duration,
    /// How long a client waits between two calls, on average.
    pub pause: Duration,
}

/// What was measured at the end of an hour, between two restarts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hour {
    /// The number of the hour, counted from one.
    pub number: u32,
    /// Calls that have ended so far.
    pub calls: u64,
    /// Bytes in use.
    pub heap: usize,
}

/// The results of a soak.
#[derive(Clone, Debug)]
pub struct Soaked {
    /// The measurements, hour by hour.
    pub hours: Vec<Hour>,
    /// How many calls ended in which way.
    pub endings: BTreeMap<String, u64>,
    /// Restarts of the server.
    pub restarts: u64,
    /// Broken promises.
    pub violations: Vec<Violation>,
}

impl Soaked {
    /// Returns how much more memory is in use at the end than after the first hour, in percent.
    pub fn growth(&self) -> f64 {
        let (Some(first), Some(last)) = (self.hours.first(), self.hours.last()) else { return 0.0 };
        #[allow(clippy::cast_precision_loss, reason = "far below 2^53")]
        let (first, last) = (first.heap as f64, last.heap as f64);
        (last / first - 1.0) * 100.0
    }
}

impl Soak {
    /// Runs the soak. `heap` returns how many bytes are in use, `told` gets every hour.
    pub fn live(&self, heap: impl Fn() -> usize, told: impl FnMut(Hour)) -> Soaked {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .expect("a runtime without I/O needs nothing of the system");
        runtime.block_on(async { Soaking::begin(self).live(heap, told).await })
    }
}

/// A soak while it runs.
struct Soaking {
    soak: Soak,
    oracle: Shared<Oracle>,
    chance: Shared<Chance>,
    vault: Vault,
    host: Host,
    server: Server,
    networks: Vec<Network>,
    clients: JoinSet<Option<String>>,
    is_over: Arc<AtomicBool>,
    endings: Shared<BTreeMap<String, u64>>,
    restarts: u64,
}

impl Soaking {
    fn begin(soak: &Soak) -> Self {
        let faults = soaking();
        let certain = Certain::of(&faults, Protocol::Http1, 0, None);
        let oracle = Oracle::new(soak.seed, certain, Trace::default());
        let oracle = Arc::new(Mutex::new(oracle));
        let mut rng = Rng::new(soak.seed);
        let chance = Arc::new(Mutex::new(Chance { rng: Rng::new(rng.next_u64()), faults }));
        let vault = Vault::default();
        let (server, host) = serve(&vault, &oracle, &chance);
        let mut soaking = Self {
            soak: *soak,
            oracle,
            chance,
            vault,
            host,
            server,
            networks: Vec::new(),
            clients: JoinSet::new(),
            is_over: Arc::default(),
            endings: Shared::default(),
            restarts: 0,
        };
        let numbers = Arc::new(AtomicU64::new(0));
        for number in 0..soak.sessions {
            soaking.client(number, rng.next_u64(), numbers.clone());
        }
        soaking
    }

    fn client(&mut self, number: usize, seed: u64, numbers: Arc<AtomicU64>) {
        let network = Network::new(self.server.clone(), |_| Line::Connected(Cable::default()));
        self.networks.push(network.clone());
        let client = Client::builder("http://server.test/mcp")
            .dial(network)
            .eras(Era::Legacy)
            .header(CLIENT_HEADER, number.to_string())
            .credentials(self.vault.clone())
            .sleep_clock(|| Duration::from_secs(1_000_000_000))
            .seed(seed)
            .build()
            .expect("every setting is a good one");
        client.keep_connected();
        let user = User {
            caller: Caller::Direct(client),
            number,
            rng: Rng::new(!seed),
            pause: self.soak.pause,
            numbers,
            is_over: self.is_over.clone(),
            oracle: self.oracle.clone(),
            endings: self.endings.clone(),
        };
        self.clients.spawn(user.live());
    }

    async fn live(mut self, heap: impl Fn() -> usize, mut told: impl FnMut(Hour)) -> Soaked {
        let (began, every) = (Instant::now(), self.soak.restart_every);
        let mut hours = Vec::new();
        for number in 1..=self.soak.hours {
            let end = began + HOUR * number;
            let mut next = began + HOUR * (number - 1) + every;
            while next < end {
                tokio::time::sleep_until(next).await;
                self.restart().await;
                next += every;
            }
            tokio::time::sleep_until(end).await;
            lock(&self.oracle).forget();
            let calls = lock(&self.endings).values().sum();
            let hour = Hour { number, calls, heap: heap() };
            told(hour);
            hours.push(hour);
            self.vault.expire(&self.host.mcp);
            self.restart().await;
        }
        self.end(hours).await
    }

    /// Replaces the server by a new process, which remembers nothing.
    async fn restart(&mut self) {
        self.restarts += 1;
        self.server.kill().await;
        self.host.retire();
        lock(&self.oracle).forget();
        let outage = lock(&self.chance).millis(3000);
        sleep(outage).await;
        (self.server, self.host) = serve(&self.vault, &self.oracle, &self.chance);
        for network in &self.networks {
            network.lead_to(self.server.clone());
        }
    }

    async fn end(mut self, hours: Vec<Hour>) -> Soaked {
        lock(&self.chance).faults = Faults::none();
        self.is_over.store(true, Ordering::Relaxed);
        while let Some(left) = self.clients.join_next().await {
            if let Ok(Some(wrong)) = left {
                lock(&self.oracle).broken("leaving is quick", wrong);
            }
        }
        sleep(Duration::from_secs(10)).await;
        let open = self.server.open_connections();
        self.server.kill().await;
        sleep(Duration::from_secs(1)).await;
        let tasks = Handle::current().metrics().num_alive_tasks();
        let mut oracle = lock(&self.oracle);
        if tasks > 0 || open > 0 {
            let what = format!("{tasks} tasks and {open} connections are alive");
            oracle.broken("no task and no socket is left", what);
        }
        oracle.closed(0);
        let violations = std::mem::take(&mut oracle.violations);
        let endings = std::mem::take(&mut *lock(&self.endings));
        Soaked { hours, endings, restarts: self.restarts, violations }
    }
}

fn serve(vault: &Vault, oracle: &Shared<Oracle>, chance: &Shared<Chance>) -> (Server, Host) {
    let mcp = Mcp::new();
    let server = Server::with_authority(Protocol::Http1, AUTHORITY.clone(), mcp.clone());
    vault.expire(&mcp);
    let host = Host::new(mcp, vault.clone(), oracle.clone(), chance.clone());
    (server, host)
}

/// A user who makes a call now and then, all day long.
struct User {
    caller: Caller,
    number: usize,
    rng: Rng,
    pause: Duration,
    numbers: Arc<AtomicU64>,
    is_over: Arc<AtomicBool>,
    oracle: Shared<Oracle>,
    endings: Shared<BTreeMap<String, u64>>,
}

impl User {
    async fn live(mut self) -> Option<String> {
        loop {
            sleep(self.rng.between(Duration::ZERO, self.pause * 2)).await;
            if self.is_over.load(Ordering::Relaxed) {
                return self.caller.leave().await;
            }
            self.plan().play().await;
        }
    }

    fn plan(&mut self) -> CallPlan {
        let order = Order {
            call: self.numbers.fetch_add(1, Ordering::Relaxed) + 1,
            asks: 50,
            wants: 100,
            is_safe: self.rng.below(2) == 0,
        };
        CallPlan {
            caller: self.caller.clone(),
            number: self.number,
            order,
            deadline: Duration::from_secs(60),
            gives_up: None,
            wants_progress: false,
            is_bridged: false,
            oracle: self.oracle.clone(),
            endings: self.endings.clone(),
        }
    }
}

/// Returns the faults besides restarts and tokens that expire.
fn soaking() -> Faults {
    let faults = Faults::none().with(Fault::Streams, 500).with(Fault::Resumable, 300);
    let faults = faults.with(Fault::CutStream, 50).with(Fault::Apart, 200);
    let faults = faults.with(Fault::ResetAfter, 5).with(Fault::GatewayBefore, 10);
    // The oracle must know that connections break.
    faults.with(Fault::Deferral, 10).with(Fault::Restarts, 1)
}

const HOUR: Duration = Duration::from_secs(3600);
