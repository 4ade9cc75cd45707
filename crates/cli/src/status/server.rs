//! The side of a bridge or gateway of its socket: tells a program that connects and asks how it is.
//!
//! It must never hold its owner up: it serves a few connections at a time, each for a moment, each with one
//! small answer. A socket that cannot be opened is reported to the caller, and its owner runs without.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::{BoxFuture, FutureExt};
use ridethrough_bridge::Gauge;
use ridethrough_config::settings::Origin;
use ridethrough_gateway::Gateway;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::Semaphore;
use tokio::task::AbortHandle;
use tokio::time::{Instant, sleep, timeout};

use super::socket::{self, ASK, GatewayReply, SocketOwner, StatusReply};

/// An open socket. Dropping it closes and removes it.
pub(crate) struct StatusServer {
    path: PathBuf,
    serving: AbortHandle,
}

impl StatusServer {
    /// Opens the socket of a bridge. Must be called in a runtime.
    pub(crate) fn open(
        gauge: Gauge,
        upstream: String,
        settings: Vec<Origin>,
    ) -> Result<Self, String> {
        let facts = BridgeFacts { gauge, upstream, settings };
        Self::open_for(SocketOwner::Bridge, Arc::new(move || facts.clone().told().boxed()))
    }

    /// Opens the socket of a gateway that clients find at this place. Must be called in a runtime.
    pub(crate) fn open_for_gateway(gateway: &Gateway, place: &str) -> Result<Self, String> {
        let (gateway, place, began) = (gateway.clone(), place.to_owned(), Instant::now());
        let told = move || told_of_gateway(gateway.clone(), place.clone(), began).boxed();
        Self::open_for(SocketOwner::Gateway, Arc::new(told))
    }

    /// Opens a socket in the first folder that works.
    fn open_for(owner: SocketOwner, told: Arc<StatusSource>) -> Result<Self, String> {
        let mut faults = Vec::new();
        for folder in socket::places() {
            match listen(&folder, owner) {
                Ok((listener, path)) => {
                    let serving = tokio::spawn(serve(listener, folder, told));
                    return Ok(Self { path, serving: serving.abort_handle() });
                }
                Err(error) => faults.push(format!("`{}`: {error}", folder.display())),
            }
        }
        if faults.is_empty() {
            Err("the user has no folder for it".to_owned())
        } else {
            Err(faults.join("; "))
        }
    }
}

impl Drop for StatusServer {
    fn drop(&mut self) {
        self.serving.abort();
        // A socket that stays behind is removed by the next program that lists sockets.
        let _ = fs::remove_file(&self.path);
    }
}

/// Opens the socket under a draft name and then renames it: a named socket that does not answer yet would
/// look like one that was left behind.
fn listen(folder: &Path, owner: SocketOwner) -> io::Result<(UnixListener, PathBuf)> {
    socket::make_private(folder)?;
    let pid = std::process::id();
    let (draft, path) = (socket::draft(folder, owner, pid), socket::path(folder, owner, pid));
    // A draft under this process number was left by a process that was killed.
    let _ = fs::remove_file(&draft);
    let listener = UnixListener::bind(&draft)?;
    fs::rename(&draft, &path)?;
    Ok((listener, path))
}

/// Makes a reply; `None` if there is nothing to tell any more.
type StatusSource = dyn Fn() -> BoxFuture<'static, Option<Vec<u8>>> + Send + Sync;

/// The facts in a bridge's reply.
#[derive(Clone)]
struct BridgeFacts {
    gauge: Gauge,
    upstream: String,
    /// The sources of its settings.
    settings: Vec<Origin>,
}

impl BridgeFacts {
    async fn told(self) -> Option<Vec<u8>> {
        let Self { gauge, upstream, settings } = self;
        let snapshot = gauge.read().await?;
        let (pid, version) = (std::process::id(), env!("CARGO_PKG_VERSION").to_owned());
        serde_json::to_vec(&StatusReply { pid, version, upstream, settings, snapshot }).ok()
    }
}

async fn told_of_gateway(gateway: Gateway, place: String, began: Instant) -> Option<Vec<u8>> {
    let upstreams = gateway.status().await;
    let (pid, version) = (std::process::id(), env!("CARGO_PKG_VERSION").to_owned());
    let up_since_ms = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
    serde_json::to_vec(&GatewayReply { pid, version, gateway: place, up_since_ms, upstreams }).ok()
}

async fn serve(listener: UnixListener, folder: PathBuf, told: Arc<StatusSource>) {
    let places = Arc::new(Semaphore::new(MOST_AT_ONCE));
    let answering = async {
        while let Ok(place) = places.clone().acquire_owned().await {
            let Ok((stream, _)) = listener.accept().await else {
                // The process has too many open files, which may pass.
                sleep(PAUSE).await;
                continue;
            };
            let told = told.clone();
            tokio::spawn(async move {
                // A client that reads nothing is not waited for.
                let _ = timeout(ANSWER, answer(stream, &*told)).await;
                drop(place);
            });
        }
    };
    tokio::join!(answering, socket::sweep(&folder));
}

async fn answer(mut stream: UnixStream, told: &StatusSource) -> io::Result<()> {
    let mut asked = [0; ASK.len()];
    // Nor is a client that sends nothing.
    timeout(QUESTION, stream.read_exact(&mut asked)).await??;
    if asked != ASK {
        return Ok(());
    }
    let Some(mut told) = told().await else { return Ok(()) };
    told.push(b'\n');
    stream.write_all(&told).await?;
    stream.shutdown().await
}

const MOST_AT_ONCE: usize = 4;
const QUESTION: Duration = Duration::from_millis(500);
/// How long an answer may take: longer than any asker waits, so that a busy bridge counts as silent and not
/// as gone.
const ANSWER: Duration = Duration::from_secs(2);
const PAUSE: Duration = Duration::from_secs(1);
