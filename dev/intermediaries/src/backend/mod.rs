//! The server behind the proxies: raw sockets, so that it can fail in any way, and the one place that knows
//! how often each call ran.

mod failing;
mod protocol;

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ridethrough_testkit::http::{Connection, read};
use tokio::io::BufReader;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::broadcast;
use tokio::task::JoinHandle;
use tokio::time::sleep;

use failing::After;
use protocol::Reply;

/// The backend of one proxy. Dropping it closes its port and its connections.
pub(crate) struct Backend {
    port: u16,
    shared: Arc<Shared>,
    accepting: JoinHandle<()>,
}

/// What all connections share.
pub(crate) struct Shared {
    runs: Counts,
    /// Calls that arrived, those that were refused for their session among them.
    received: Counts,
    sessions: Mutex<BTreeSet<String>>,
    opened: AtomicU32,
    /// Whether it answers everything by 503 with a hint, because it is about to go.
    announces_its_end: AtomicBool,
    hang_up: broadcast::Sender<HangUp>,
}

/// How often something happened to each call, by the call's key. Clones share the counts.
#[derive(Clone, Debug, Default)]
pub(crate) struct Counts(Arc<Mutex<BTreeMap<String, u32>>>);

impl Counts {
    /// Counts one more, and returns how many there are.
    pub(crate) fn add(&self, key: &str) -> u32 {
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let count = counts.entry(key.to_owned()).or_default();
        *count += 1;
        *count
    }

    pub(crate) fn of(&self, key: &str) -> u32 {
        let counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        counts.get(key).copied().unwrap_or_default()
    }
}

/// How all connections end at once.
#[derive(Clone, Copy, Debug)]
enum HangUp {
    Close,
    Reset,
}

impl Backend {
    pub(crate) async fn start() -> io::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let port = listener.local_addr()?.port();
        let shared = Arc::new(Shared {
            runs: Counts::default(),
            received: Counts::default(),
            sessions: Mutex::default(),
            opened: AtomicU32::default(),
            announces_its_end: AtomicBool::new(false),
            hang_up: broadcast::channel(16).0,
        });
        let accepting = tokio::spawn(accept(listener, shared.clone()));
        Ok(Self { port, shared, accepting })
    }

    pub(crate) const fn port(&self) -> u16 {
        self.port
    }

    /// Returns how often the call of this key ran.
    pub(crate) fn runs(&self, key: &str) -> u32 {
        self.shared.runs.of(key)
    }

    /// Returns how often the call of this key arrived.
    pub(crate) fn received(&self, key: &str) -> u32 {
        self.shared.received.of(key)
    }

    /// Answers everything by 503 with a hint from here on, and runs nothing.
    pub(crate) fn announce_end(&self) {
        self.shared.announces_its_end.store(true, Ordering::Relaxed);
    }

    /// Stops listening, and closes all connections. Sessions are kept.
    pub(crate) fn leave(&self) {
        self.accepting.abort();
        // No connection is no failure.
        let _ = self.shared.hang_up.send(HangUp::Close);
    }

    /// Listens again, on its port.
    pub(crate) async fn come_back(&mut self) -> io::Result<()> {
        let listener = TcpListener::bind(("127.0.0.1", self.port)).await?;
        self.shared.announces_its_end.store(false, Ordering::Relaxed);
        self.accepting = tokio::spawn(accept(listener, self.shared.clone()));
        Ok(())
    }
}

impl Drop for Backend {
    fn drop(&mut self) {
        self.leave();
    }
}

impl Shared {
    fn open_session(&self) -> String {
        let session = format!("session-{}", self.opened.fetch_add(1, Ordering::Relaxed));
        self.sessions().insert(session.clone());
        session
    }

    fn knows_session(&self, session: &str) -> bool {
        self.sessions().contains(session)
    }

    fn crash(&self) {
        self.sessions().clear();
        // The connection that crashes it listens, too.
        let _ = self.hang_up.send(HangUp::Reset);
    }

    fn sessions(&self) -> MutexGuard<'_, BTreeSet<String>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    while let Ok((stream, _)) = listener.accept().await {
        tokio::spawn(connection(stream, shared.clone()));
    }
}

/// Serves a connection to its end. A proxy that goes away in the middle is no failure of the backend.
async fn connection(stream: TcpStream, shared: Arc<Shared>) {
    let mut hang_up = shared.hang_up.subscribe();
    let mut stream = BufReader::new(stream);
    let end = tokio::select! {
        end = serve(&mut stream, &shared) => end.unwrap_or(After::Close),
        how = hang_up.recv() => match how {
            Ok(HangUp::Reset) => After::Reset,
            _ => After::Close,
        },
    };
    if end == After::Crash {
        shared.crash();
    }
    if matches!(end, After::Crash | After::Reset) {
        // Without it the connection is closed, which the case then shows as one of the other ways.
        let _ = stream.get_ref().set_zero_linger();
    }
}

async fn serve(stream: &mut Connection, shared: &Shared) -> io::Result<After> {
    while let Some(request) = read(stream).await? {
        let after = if shared.announces_its_end.load(Ordering::Relaxed) {
            failing::refuse_for_now(stream.get_mut()).await?
        } else {
            write(stream.get_mut(), protocol::reply(&request, shared)).await?
        };
        if after != After::Keep || !request.is_persistent {
            return Ok(after);
        }
    }
    Ok(After::Close)
}

async fn write(stream: &mut TcpStream, reply: Reply) -> io::Result<After> {
    match reply {
        Reply::Bare(status) => failing::answer(stream, status, "", "").await?,
        Reply::Json { status, session, body } => {
            let head = session.map(|it| format!("mcp-session-id: {it}\r\n")).unwrap_or_default();
            failing::answer(stream, status, &head, &body).await?;
        }
        Reply::Ran { body, way, pause } => {
            sleep(pause).await;
            match way {
                Some(way) => return failing::fail(stream, way, &body).await,
                None => failing::answer(stream, 200, "", &body).await?,
            }
        }
    }
    Ok(After::Keep)
}
