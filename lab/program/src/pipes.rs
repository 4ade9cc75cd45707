//! Clients of ours at the other end of the lab's pipes, so that a script can be played inside a test
//! and under paused time.

use std::io;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use ridethrough::machine::{Cause, Failure};
use ridethrough::transport::{Connection, Dial, Endpoint};
use ridethrough::{Client, ClientBuilder, Era};
use ridethrough_lab::browser;
use ridethrough_lab::stage::Stage;
use ridethrough_lab::wrong::{Dialed, Duplex};
use ridethrough_lab::{Pipe, Server};
use ridethrough_oauth::person::{LoginPrompt, Person};
use ridethrough_oauth::store::MemoryStore;
use ridethrough_oauth::{OAuth, Timestamp};
use tokio::sync::Mutex;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::time::Instant;

use super::login::Login;

/// Begins a client of this server, over pipes and with a fixed seed.
pub(super) fn client_of(server: &Server) -> ClientBuilder {
    Client::builder("http://server.test/mcp").eras(Era::Legacy).dial(Pipes(server.clone())).seed(7)
}

/// Begins a client of the servers of a scenario, over pipes and with a fixed seed.
pub(super) fn client_on(stage: &Arc<Stage>) -> ClientBuilder {
    Client::builder(stage.url()).dial(StagePipes(stage.clone())).seed(7)
}

/// Returns a login at the servers of a scenario: the browser uses the pipes, the person pastes the URL that
/// the browser was sent to, and the clock is that of the servers.
pub(super) fn login_on(stage: &Arc<Stage>) -> Login {
    let began = Instant::now();
    let now = move || Timestamp::from_unix_millis(SOME_DAY_MS) + began.elapsed();
    let (sent, received) = unbounded_channel();
    let person = PipePerson { stage: stage.clone(), sent, received: Mutex::new(received) };
    Login(OAuth::new("ridethrough lab").person(person).store(MemoryStore::default()).clock(now))
}

/// A person whose browser goes through pipes.
struct PipePerson {
    stage: Arc<Stage>,
    /// The URLs that the browser was sent to.
    sent: UnboundedSender<String>,
    received: Mutex<UnboundedReceiver<String>>,
}

impl Person for PipePerson {
    fn show<'a>(&'a self, prompt: &'a LoginPrompt) -> BoxFuture<'a, ()> {
        let (stage, url, sent) = (self.stage.clone(), prompt.url.clone(), self.sent.clone());
        tokio::spawn(async move {
            let dial = move |authority: String| -> BoxFuture<'static, Dialed> {
                let stage = stage.clone();
                Box::pin(async move {
                    let pipe = stage.dial(&authority).await?;
                    Ok(Box::new(pipe) as Box<dyn Duplex>)
                })
            };
            if let Ok(Some(location)) = browser::sent_to(&url, dial).await {
                // A login that is over needs no callback.
                let _ = sent.send(location);
            }
        });
        Box::pin(async {})
    }

    fn pasted(&self) -> BoxFuture<'_, String> {
        Box::pin(async {
            match self.received.lock().await.recv().await {
                Some(url) => url,
                None => std::future::pending().await,
            }
        })
    }
}

/// The start of the clock: long after 1970, so that earlier times exist.
const SOME_DAY_MS: u64 = 1_800_000_000_000;

/// Dials the server's own pipes.
struct Pipes(Server);

impl Dial for Pipes {
    fn dial<'a>(&'a self, _: &'a Endpoint) -> BoxFuture<'a, Result<Connection, Failure>> {
        Box::pin(async { connected(self.0.dial().await) })
    }
}

/// Dials the pipes of the server that the address names.
struct StagePipes(Arc<Stage>);

impl Dial for StagePipes {
    fn dial<'a>(&'a self, endpoint: &'a Endpoint) -> BoxFuture<'a, Result<Connection, Failure>> {
        Box::pin(async move {
            let authority = format!("{}:{}", endpoint.host_to_resolve(), endpoint.port());
            connected(self.0.dial(&authority).await)
        })
    }
}

fn connected(dialled: io::Result<Pipe>) -> Result<Connection, Failure> {
    let pipe = dialled
        .map_err(|error| Failure::not_sent(Cause::ConnectRefused).with_detail(error.to_string()))?;
    let peek = Look(pipe.peek());
    Ok(Connection::new(pipe, peek))
}

struct Look(ridethrough_lab::Peek);

impl ridethrough::transport::Peek for Look {
    fn is_quiet(&self) -> bool {
        self.0.is_quiet()
    }
}
