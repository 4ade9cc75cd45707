//! The bridge's side of its socket: tells a program that connects and asks how the bridge is.
//!
//! It must never hold the bridge up: it serves a few connections at a time, each for a moment, each with one
//! small answer. A socket that cannot be opened is reported to the caller, and the bridge runs without.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use ridethrough_bridge::Gauge;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::Semaphore;
use tokio::task::AbortHandle;
use tokio::time::{sleep, timeout};

use super::socket::{self, ASK, StatusReply};
use crate::options::Origin;

/// An open socket. Dropping it closes and removes it.
pub(crate) struct StatusServer {
    path: PathBuf,
    serving: AbortHandle,
}

impl StatusServer {
    /// Opens a socket in the first folder that works. Must be called in a runtime.
    pub(crate) fn open(
        gauge: Gauge,
        upstream: String,
        settings: Vec<Origin>,
    ) -> Result<Self, String> {
        let known = StatusFacts { gauge, upstream, settings };
        let mut faults = Vec::new();
        for folder in socket::places() {
            match listen(&folder) {
                Ok((listener, path)) => {
                    let serving = tokio::spawn(serve(listener, folder, known));
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
fn listen(folder: &Path) -> io::Result<(UnixListener, PathBuf)> {
    socket::make_private(folder)?;
    let pid = std::process::id();
    let (draft, path) = (socket::draft(folder, pid), socket::path(folder, pid));
    // A draft under this process number was left by a process that was killed.
    let _ = fs::remove_file(&draft);
    let listener = UnixListener::bind(&draft)?;
    fs::rename(&draft, &path)?;
    Ok((listener, path))
}

/// The facts in a reply.
#[derive(Clone)]
struct StatusFacts {
    gauge: Gauge,
    upstream: String,
    /// The sources of its settings.
    settings: Vec<Origin>,
}

async fn serve(listener: UnixListener, folder: PathBuf, known: StatusFacts) {
    let places = Arc::new(Semaphore::new(MOST_AT_ONCE));
    let answering = async {
        while let Ok(place) = places.clone().acquire_owned().await {
            let Ok((stream, _)) = listener.accept().await else {
                // The process has too many open files, which may pass.
                sleep(PAUSE).await;
                continue;
            };
            let known = known.clone();
            tokio::spawn(async move {
                // A client that reads nothing is not waited for.
                let _ = timeout(ANSWER, answer(stream, known)).await;
                drop(place);
            });
        }
    };
    tokio::join!(answering, socket::sweep(&folder));
}

async fn answer(mut stream: UnixStream, known: StatusFacts) -> io::Result<()> {
    let mut asked = [0; ASK.len()];
    // Nor is a client that sends nothing.
    timeout(QUESTION, stream.read_exact(&mut asked)).await??;
    if asked != ASK {
        return Ok(());
    }
    let StatusFacts { gauge, upstream, settings } = known;
    let Some(snapshot) = gauge.read().await else { return Ok(()) };
    let (pid, version) = (std::process::id(), env!("CARGO_PKG_VERSION").to_owned());
    let mut told = serde_json::to_vec(&StatusReply { pid, version, upstream, settings, snapshot })?;
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
