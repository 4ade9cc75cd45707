//! `rmcp`'s server behind a front, and the means to reach it, kill it and make it forget.

use std::convert::Infallible;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::future::BoxFuture;
use http::{Request, Response};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use ridethrough::error::CallError;
use ridethrough::machine::{Cause, Failure};
use ridethrough::rmcp::ClientTransport;
use ridethrough::transport::{Connection, Dial, Endpoint, Peek};
use ridethrough::{Client, ClientBuilder, Era};
use ridethrough_lab::Pipe;
use rmcp::RoleClient;
use rmcp::model::{
    CallToolRequestParams, ClientJsonRpcMessage, JsonRpcMessage, ServerJsonRpcMessage,
};
use rmcp::service::{RunningService, ServiceExt};
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService, Transport};
use tokio::task::{AbortHandle, JoinHandle};

use crate::front::{self, Asked, Body, Fault, Front};
use crate::guest::Guest;
use crate::workshop::Workshop;

type Service = StreamableHttpService<Workshop, LocalSessionManager>;

/// A server of `rmcp`. Clones share one server.
#[derive(Clone)]
pub(crate) struct Rig {
    pub(crate) front: Arc<Front>,
    pub(crate) workshop: Workshop,
    polling: Polling,
    life: Arc<Mutex<Life>>,
}

/// Whether the server asks to be polled, by `retry:`, as it does by default.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Polling {
    Asked,
    NotAsked,
}

/// What dies with a server process.
struct Life {
    running: Option<Running>,
    connections: Vec<AbortHandle>,
    dials: usize,
}

struct Running {
    service: Service,
    sessions: Arc<LocalSessionManager>,
}

impl Rig {
    pub(crate) fn new(polling: Polling) -> Self {
        let life = Life { running: None, connections: Vec::new(), dials: 0 };
        let life = Arc::new(Mutex::new(life));
        let rig = Self { front: Arc::default(), workshop: Workshop::default(), polling, life };
        rig.restart();
        rig
    }

    /// Returns this client as a service of `rmcp`, with a handler that records everything.
    pub(crate) async fn served(&self) -> (RunningService<RoleClient, Guest>, Guest) {
        let guest = Guest::default();
        let client = self.builder().build().unwrap();
        (guest.clone().serve(client).await.unwrap(), guest)
    }

    /// Returns this client as a service of `rmcp`, with a count of the ends of calls that `rmcp` is told.
    pub(crate) async fn tallied(&self) -> (RunningService<RoleClient, Guest>, Tally) {
        let tally = Tally::default();
        let client = ClientTransport::new(self.builder().build().unwrap());
        let transport = Tallied { transport: client, tally: tally.clone() };
        (Guest::default().serve(transport).await.unwrap(), tally)
    }

    pub(crate) fn builder(&self) -> ClientBuilder {
        Client::builder("http://localhost/mcp").eras(Era::Legacy).dial(self.clone()).seed(7)
    }

    /// Returns how many connections were made.
    pub(crate) fn dials(&self) -> usize {
        self.life.lock().unwrap().dials
    }

    /// Makes the server forget every session.
    pub(crate) async fn forget_sessions(&self) {
        let sessions = self.life.lock().unwrap().running.as_ref().unwrap().sessions.clone();
        sessions.sessions.write().await.clear();
    }

    /// Returns how many sessions the server knows.
    pub(crate) async fn sessions(&self) -> usize {
        let sessions = self.life.lock().unwrap().running.as_ref().unwrap().sessions.clone();
        sessions.sessions.read().await.len()
    }

    /// Ends the server: its connections, its sessions and its port.
    pub(crate) fn kill(&self) {
        let mut life = self.life.lock().unwrap();
        if let Some(running) = life.running.take() {
            running.service.config.cancellation_token.cancel();
        }
        life.connections.drain(..).for_each(|connection| connection.abort());
    }

    /// Lets tools that wait end once so many resumes have come. `rmcp`'s server keeps no answer for a stream
    /// without a reader.
    pub(crate) async fn open_after_resumes(&self, resumes: usize) {
        while self.front.count(&Asked::Resume) < resumes {
            tokio::time::sleep(millis(100)).await;
        }
        settle().await;
        self.workshop.gate.0.add_permits(1);
    }

    /// Waits for so many resumes, and for no time to pass.
    pub(crate) async fn resumed(&self, resumes: usize) {
        while self.front.count(&Asked::Resume) < resumes {
            tokio::task::yield_now().await;
        }
    }

    /// Starts a new server in place of the old one.
    pub(crate) fn restart(&self) {
        let mut sessions = LocalSessionManager::default();
        // The keep-alive of `rmcp` counts real time, and spins while time is paused.
        let mut config = StreamableHttpServerConfig::default().with_sse_keep_alive(None);
        if self.polling == Polling::NotAsked {
            sessions.session_config.sse_retry = None;
            config.sse_retry = None;
        }
        let sessions = Arc::new(sessions);
        let workshop = self.workshop.clone();
        let service = Service::new(move || Ok(workshop.clone()), sessions.clone(), config);
        self.life.lock().unwrap().running = Some(Running { service, sessions });
    }

    /// Starts a new server in place of the old one, after this time.
    pub(crate) fn restart_in(&self, time: Duration) {
        let rig = self.clone();
        tokio::spawn(async move {
            tokio::time::sleep(time).await;
            rig.restart();
        });
    }

    /// Opens a connection, if there is a server.
    pub(crate) fn connect(&self) -> std::io::Result<Pipe> {
        let mut life = self.life.lock().unwrap();
        let service = life.running.as_ref().map(|running| running.service.clone());
        let service = service.ok_or(std::io::ErrorKind::ConnectionRefused)?;
        life.dials += 1;
        let (ours, theirs) = ridethrough_lab::pipe(64 * 1024);
        life.connections.push(serve(theirs, self.front.clone(), service).abort_handle());
        Ok(ours)
    }
}

fn serve(pipe: Pipe, front: Arc<Front>, service: Service) -> JoinHandle<()> {
    let answer = service_fn(move |request| {
        let (front, service) = (front.clone(), service.clone());
        async move { Ok::<_, Infallible>(pass(&front, &service, request).await) }
    });
    tokio::spawn(async move {
        let connection = hyper::server::conn::http1::Builder::new();
        // A connection that a test cut ends with an error, as it should.
        let _ = connection.serve_connection(TokioIo::new(pipe), answer).await;
    })
}

async fn pass(front: &Front, service: &Service, request: Request<Incoming>) -> Response<Body> {
    match front.admit(request).await {
        (_, Some(Fault::AcceptAndCut)) => front::cut_stream(),
        (request, Some(Fault::CutAfter(events))) => {
            front::cut(service.handle(request).await, events)
        }
        (_, Some(Fault::Refuse(status, after))) => front::refusal(status, after),
        (request, None) => front::whole(service.handle(request).await),
    }
}

impl Dial for Rig {
    fn dial<'a>(&'a self, _: &'a Endpoint) -> BoxFuture<'a, Result<Connection, Failure>> {
        Box::pin(async {
            let refused = |_| Failure::not_sent(Cause::ConnectRefused);
            let pipe = self.connect().map_err(refused)?;
            let peek = Look(pipe.peek());
            Ok(Connection::new(pipe, peek))
        })
    }
}

struct Look(ridethrough_lab::Peek);

impl Peek for Look {
    fn is_quiet(&self) -> bool {
        self.0.is_quiet()
    }
}

/// How many calls were reported as ended.
#[derive(Clone, Default)]
pub(crate) struct Tally(Arc<AtomicUsize>);

impl Tally {
    pub(crate) fn ends(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }
}

/// The transport, with a count of the ends of calls.
struct Tallied {
    transport: ClientTransport,
    tally: Tally,
}

impl Transport<RoleClient> for Tallied {
    type Error = CallError;

    fn send(
        &mut self,
        message: ClientJsonRpcMessage,
    ) -> impl Future<Output = Result<(), CallError>> + Send + 'static {
        self.transport.send(message)
    }

    async fn receive(&mut self) -> Option<ServerJsonRpcMessage> {
        let message = self.transport.receive().await;
        let is_end =
            matches!(message, Some(JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_)));
        self.tally.0.fetch_add(usize::from(is_end), Ordering::Relaxed);
        message
    }

    async fn close(&mut self) -> Result<(), CallError> {
        self.transport.close().await
    }
}

/// Returns a call of this tool, without arguments.
pub(crate) fn tool(name: &'static str) -> CallToolRequestParams {
    CallToolRequestParams::new(name)
}

pub(crate) fn post(method: &str) -> Asked {
    Asked::Post(method.to_owned())
}

/// Lets everything happen that needs no time of its own.
pub(crate) async fn settle() {
    tokio::time::sleep(millis(500)).await;
}

pub(crate) const fn secs(secs: u64) -> Duration {
    Duration::from_secs(secs)
}

pub(crate) const fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}
