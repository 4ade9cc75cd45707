//! The process of the gateway, which can be killed, stopped and started again, and whose config can be read
//! again while it runs.
//!
//! The gateway's tasks cannot be stopped from outside. When it is killed, its connections are reset and it can
//! make no others; what is left of it is closed out of sight.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ridethrough::machine::{Cause, Failure};
use ridethrough::transport::{BoxFuture, Connection, Dial, Endpoint};
use ridethrough::{Client, ClientBuilder};
use ridethrough_core::rng::Rng;
use ridethrough_gateway::{Connect, Gateway, GatewaySettings, Prefix, ServerSettings};
use ridethrough_lab::{Control, Pipe, pipe};
use ridethrough_server::{AccessPolicy, Principal, Server, Settings, Token};
use tokio::time::timeout;

use super::record::Record;
use super::shape::PrincipalShape;
use super::site::GatewaySite;
use crate::net::{Network, Reachable};
use crate::world::MESSAGE_LIMIT;
use crate::world::host::{CLIENT_HEADER, lock};

/// The place where the gateway runs. Clones share one.
#[derive(Clone)]
pub(super) struct House {
    running: Arc<Mutex<Option<RunningGateway>>>,
    config: Arc<Mutex<Config>>,
    shared: Arc<HouseParts>,
}

struct HouseParts {
    upstreams: Vec<(GatewaySite, Network)>,
    record: Record,
    rng: Mutex<Rng>,
    links: AtomicU64,
}

/// The config file.
#[derive(Clone)]
struct Config {
    servers: Vec<ServerEntry>,
}

#[derive(Clone)]
struct ServerEntry {
    is_present: bool,
    places: usize,
    has_other_prefix: bool,
}

/// A gateway that runs.
#[derive(Clone)]
struct RunningGateway {
    gateway: Gateway,
    server: Server,
    process: ProcessLife,
}

/// The life of one process. Clones share one life.
#[derive(Clone, Default)]
struct ProcessLife {
    is_dead: Arc<AtomicBool>,
    connections: Arc<Mutex<Vec<Control>>>,
}

impl House {
    /// Creates the place, with a gateway that runs.
    pub(super) fn new(
        upstreams: Vec<(GatewaySite, Network)>,
        places: usize,
        record: Record,
        rng: Rng,
    ) -> Self {
        let entry = ServerEntry { is_present: true, places, has_other_prefix: false };
        let config = Config { servers: vec![entry; upstreams.len()] };
        let (rng, links) = (Mutex::new(rng), AtomicU64::new(1000));
        let house = Self {
            running: Arc::default(),
            config: Arc::new(Mutex::new(config)),
            shared: Arc::new(HouseParts { upstreams, record, rng, links }),
        };
        house.start();
        house
    }

    /// Starts a gateway.
    pub(super) fn start(&self) {
        // Of two servers that want one name, the first that lists it gets it.
        self.shared.record.reloaded();
        let process = ProcessLife::default();
        let gateway = Gateway::new(self.settings(&process), GatewaySettings::default(), |_| {});
        let token = |principal: PrincipalShape| Token::new(principal.token()).expect(GOOD);
        let access = AccessPolicy::new([127, 0, 0, 1].into(), Some(token(PrincipalShape::Owner)));
        let access = access.allow_principal(Principal::new("bob"), token(PrincipalShape::Bob));
        let settings = Settings::default().sessions(1000).undated();
        let server = Server::new(gateway.clone(), access, settings, |_| {});
        *lock(&self.running) = Some(RunningGateway { gateway, server, process });
    }

    /// Kills the gateway, as `kill -9` does.
    pub(super) fn kill(&self) {
        let Some(running) = lock(&self.running).take() else { return };
        running.process.die();
        tokio::spawn(running.close());
    }

    /// Stops the gateway in order: calls may finish for half a minute. If `is_replaced`, another one takes new
    /// connections meanwhile.
    pub(super) async fn stop(&self, is_replaced: bool) {
        let Some(running) = lock(&self.running).take() else { return };
        if is_replaced {
            self.start();
        }
        running.server.drain(DRAINING).await;
        running.close().await;
    }

    /// Stops the gateway for good. Returns whether it ended in time.
    pub(super) async fn close(&self) -> bool {
        let Some(running) = lock(&self.running).take() else { return true };
        let closing = async {
            running.server.drain(DRAINING).await;
            running.server.close().await;
            running.gateway.close().await;
        };
        timeout(DRAINING + CLOSING, closing).await.is_ok()
    }

    /// Reads the config again. Some of it may be shown under another name.
    pub(super) async fn rename(&self, place: usize) {
        lock(&self.config).servers[place].has_other_prefix ^= true;
        self.reload().await;
    }

    /// Reads a config in which the links of a server must be made anew.
    pub(super) async fn touch(&self, place: usize) {
        lock(&self.config).servers[place].places += 1;
        self.reload().await;
    }

    /// Reads a config with or without a server.
    pub(super) async fn set_present(&self, place: usize, is_present: bool) {
        lock(&self.config).servers[place].is_present = is_present;
        self.reload().await;
    }

    /// Reads the config again.
    pub(super) async fn reload(&self) {
        self.shared.record.reloaded();
        let Some(running) = lock(&self.running).clone() else { return };
        let settings = self.settings(&running.process);
        running.gateway.set_servers(settings).await;
    }

    fn settings(&self, process: &ProcessLife) -> Vec<ServerSettings> {
        let config = lock(&self.config).clone();
        let all = self.shared.upstreams.iter().enumerate().zip(config.servers);
        let present = all.filter(|(_, entry)| entry.is_present);
        let settings = present.map(|((place, (site, _)), entry)| {
            let connect = To { shared: self.shared.clone(), place, process: process.clone() };
            let mut settings = ServerSettings::new(site.shape.name, connect);
            settings.share = site.shape.share;
            settings.places = entry.places;
            if entry.has_other_prefix {
                settings.rules.prefix = Prefix::Text(format!("other_{}_", site.shape.name));
            }
            settings
        });
        settings.collect()
    }
}

impl RunningGateway {
    async fn close(self) {
        let closing = async {
            self.server.close().await;
            self.gateway.close().await;
        };
        let _ = timeout(CLOSING, closing).await;
        self.process.die();
    }
}

impl ProcessLife {
    fn die(&self) {
        self.is_dead.store(true, Ordering::Relaxed);
        std::mem::take(&mut *lock(&self.connections)).iter().for_each(Control::reset);
    }

    /// Remembers a connection. A process that is dead has none.
    fn owns(&self, connection: Control) {
        if self.is_dead.load(Ordering::Relaxed) {
            connection.reset();
        } else {
            lock(&self.connections).push(connection);
        }
    }
}

/// The gateway's front door, for clients of one protocol.
pub(super) struct FrontDoor {
    pub(super) house: House,
    pub(super) is_http2: bool,
}

impl Reachable for FrontDoor {
    fn dial(&self) -> BoxFuture<'_, io::Result<Pipe>> {
        Box::pin(async {
            let running = lock(&self.house.running).clone();
            let RunningGateway { server, process, .. } =
                running.ok_or(io::ErrorKind::ConnectionRefused)?;
            let (ours, theirs) = pipe(CAPACITY);
            process.owns(theirs.control());
            tokio::spawn(async move { server.serve(theirs).await });
            Ok(ours)
        })
    }

    fn is_http2(&self) -> bool {
        self.is_http2
    }
}

/// Makes the gateway's clients of one server.
struct To {
    shared: Arc<HouseParts>,
    place: usize,
    process: ProcessLife,
}

impl Connect for To {
    fn builder(&self) -> Result<ClientBuilder, String> {
        let (site, network) = &self.shared.upstreams[self.place];
        let link = self.shared.links.fetch_add(1, Ordering::Relaxed);
        let (process, network) = (self.process.clone(), network.clone());
        let builder = Client::builder("http://server.test/mcp")
            .dial(SiteDial { process, network })
            .header(CLIENT_HEADER, link.to_string())
            .message_limit(MESSAGE_LIMIT)
            .sleep_clock(site.site.computer.clock())
            .seed(lock(&self.shared.rng).next_u64());
        Ok(if site.shape.has_tokens {
            builder.credentials(site.site.host.vault.clone())
        } else {
            builder
        })
    }

    fn is_local(&self) -> bool {
        false
    }

    fn fingerprint(&self) -> String {
        self.place.to_string()
    }
}

/// The way of one process to a server.
struct SiteDial {
    process: ProcessLife,
    network: Network,
}

impl Dial for SiteDial {
    fn dial<'a>(&'a self, _: &'a Endpoint) -> BoxFuture<'a, Result<Connection, Failure>> {
        Box::pin(async {
            if self.process.is_dead.load(Ordering::Relaxed) {
                return Err(Failure::not_sent(Cause::ConnectRefused));
            }
            let pipe = self.network.connect().await?;
            self.process.owns(pipe.control());
            Ok(self.network.connection(pipe))
        })
    }
}

const GOOD: &str = "every setting is a good one";
const DRAINING: Duration = Duration::from_secs(30);
const CLOSING: Duration = Duration::from_secs(15);
/// How many unread bytes a connection holds each way.
const CAPACITY: usize = 64 << 10;
