//! A server that costs as little as possible: it answers every request at once, from memory.
//!
//! A path is `/WAY/NAME`: the way in which it answers, and the contestant. Connections are counted for each
//! path, by their first request. Dropping the server has the effect of killing its process: the port refuses
//! and all connections are closed. A server that is started after it knows none of its sessions.

mod answer;
mod body;
mod sickness;
mod tls;

pub(crate) use sickness::Sickness;
pub(crate) use tls::Authority;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

use anyhow::{Context, Result};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio::runtime;
use tokio::sync::oneshot;
use tokio_rustls::TlsAcceptor;

use answer::Responder;
use sickness::Condition;

/// A server that runs on a thread of its own until it is dropped.
pub(crate) struct Server {
    address: SocketAddr,
    scheme: &'static str,
    tally: Arc<Tally>,
    /// Dropping it stops the thread.
    _stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    pub(crate) fn start() -> Result<Self> {
        Self::start_at(SocketAddr::from(([127, 0, 0, 1], 0)))
    }

    /// Starts it at the address of an earlier one.
    pub(crate) fn start_at(address: SocketAddr) -> Result<Self> {
        Self::listen(address, None)
    }

    /// Starts it behind TLS, with a certificate of this authority.
    pub(crate) fn start_tls(authority: &Authority) -> Result<Self> {
        Self::listen(SocketAddr::from(([127, 0, 0, 1], 0)), Some(authority.acceptor()?))
    }

    fn listen(address: SocketAddr, tls: Option<TlsAcceptor>) -> Result<Self> {
        let runtime = runtime::Builder::new_current_thread().enable_all().build()?;
        let listener = runtime.block_on(TcpListener::bind(address));
        let listener = listener.with_context(|| format!("{address} cannot be listened on"))?;
        let address = listener.local_addr()?;
        let scheme = if tls.is_some() { "https" } else { "http" };
        let tally = Arc::new(Tally::default());
        let (stop, stopped) = oneshot::channel();
        let accepting = accept(listener, tls, tally.clone());
        let work = move || {
            runtime.block_on(async {
                tokio::select! {
                    () = accepting => {}
                    _ = stopped => {}
                }
            });
        };
        let thread = thread::Builder::new().name("server".into()).spawn(work);
        let thread = Some(thread.context("no thread for the server")?);
        Ok(Self { address, scheme, tally, _stop: Some(stop), thread })
    }

    pub(crate) const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the URL at which it answers this contestant in this way.
    pub(crate) fn url(&self, way: &str, name: &str) -> String {
        format!("{}://{}/{way}/{name}", self.scheme, self.address)
    }

    /// Returns how many connections began with a request for this path.
    pub(crate) fn connections(&self, way: &str, name: &str) -> u64 {
        self.tally.paths().get(&format!("/{way}/{name}")).copied().unwrap_or_default()
    }

    /// Makes it behave like this from here on.
    pub(crate) fn fall_ill(&self, sickness: Sickness) {
        self.tally.condition.set(sickness);
    }

    /// Returns how many standing streams are open, of all paths.
    pub(crate) fn standing(&self) -> u64 {
        self.tally.standing.load(Ordering::Relaxed)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self._stop = None;
        // All sockets are closed only when the thread has ended.
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// The counts of a server.
#[derive(Default)]
struct Tally {
    connections: Mutex<BTreeMap<String, u64>>,
    standing: AtomicU64,
    condition: Condition,
}

impl Tally {
    fn paths(&self) -> MutexGuard<'_, BTreeMap<String, u64>> {
        self.connections.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn accept(listener: TcpListener, tls: Option<TlsAcceptor>, tally: Arc<Tally>) {
    let responder = Arc::new(Responder::new(tally));
    while let Ok((socket, _)) = listener.accept().await {
        // The kernel's delay would add to the times of all contestants.
        let _ = socket.set_nodelay(true);
        let responder = responder.clone();
        match tls.clone() {
            None => drop(tokio::spawn(serve(socket, responder))),
            Some(tls) => drop(tokio::spawn(async move {
                if let Ok(stream) = tls.accept(socket).await {
                    serve(stream, responder).await;
                }
            })),
        }
    }
}

async fn serve(stream: impl AsyncRead + AsyncWrite + Unpin, responder: Arc<Responder>) {
    let is_first = AtomicBool::new(true);
    let service = service_fn(|request| {
        if is_first.swap(false, Ordering::Relaxed) {
            responder.count(&request);
        }
        responder.answer(request)
    });
    // A contestant that closes is not an error of the server.
    let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
}
