//! A client and the odd server, joined by pipes or by a socket, and what was observed of a case.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::future::BoxFuture;
use ridethrough::credentials::{Credentials, NoCredentials, Refused, Token};
use ridethrough::machine::Failure;
use ridethrough::server::Eras;
use ridethrough::transport::{Connection, Dial, Endpoint, Peek};
use ridethrough::{Client, ClientBuilder, Error, Json};
use serde_json::json;
use tokio::net::TcpListener;
use tokio::time::timeout;

use crate::case::Case;
use crate::judge::{Ended, Seen};
use crate::old::Streams;
use crate::server::{ODD, Server, Speaks, TOOL, Then};
use crate::{http1, http2};

/// The server that the connections share.
pub(crate) type Shared = Arc<Mutex<Server>>;

/// What a connection must know of the server that it leads to.
#[derive(Clone)]
pub(crate) struct Place {
    pub(crate) server: Shared,
    pub(crate) speaks: Speaks,
    pub(crate) streams: Streams,
    /// The number of the connection.
    pub(crate) connection: u64,
}

/// A server, its client, and the way between them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct World {
    pub(crate) speaks: Speaks,
    pub(crate) eras: Eras,
    pub(crate) way: Way,
    pub(crate) then: Then,
    pub(crate) brings: Brings,
}

/// What the credentials hook of a client returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Brings {
    /// Another token each time that it is asked.
    AnotherToken,
    /// There is no hook.
    Nothing,
}

/// The way between client and server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    Pipes,
    PipesOfHttp2,
    Socket,
}

impl World {
    pub(crate) const fn new(speaks: Speaks, eras: Eras) -> Self {
        Self { speaks, eras, way: Way::Pipes, then: Then::Lives, brings: Brings::Nothing }
    }

    pub(crate) const fn by(mut self, way: Way) -> Self {
        self.way = way;
        self
    }

    pub(crate) const fn brings(mut self, brings: Brings) -> Self {
        self.brings = brings;
        self
    }

    pub(crate) const fn then(mut self, then: Then) -> Self {
        self.then = then;
        self
    }

    /// Runs one case: a session, the odd call, and calls after it until one succeeds, at most so many.
    pub(crate) async fn live(self, case: &Case, most_later: usize) -> Seen {
        let server = Shared::new(Mutex::new(Server::new(self.speaks, case.clone(), self.then)));
        let client = self.builder(&server).await.build().unwrap();
        // The server can be asked again only for what it has answered before.
        match case.number % 2 {
            0 => drop(client.request("tools/list", ()).await.unwrap()),
            _ => drop(client.connect().await.unwrap()),
        }
        let outcome = timeout(LIMIT, call(&client, ODD)).await.ok();
        let mut later = Vec::new();
        while later.len() < most_later && !later.last().is_some_and(Result::is_ok) {
            let key = format!("later {}", later.len());
            later.push(match timeout(LIMIT, call(&client, &key)).await {
                Err(_) => Err(format!("no end after {LIMIT:?}")),
                Ok(Err(error)) => Err(error.report()),
                Ok(Ok(_)) => Ok(()),
            });
            assert!(server.lock().unwrap().runs(&key) <= 1, "{case}: a later call ran twice");
        }
        Seen::new(&server.lock().unwrap(), outcome.map(ended), later)
    }

    /// Returns the builder of a client of this server, to be changed.
    pub(crate) async fn builder(self, server: &Shared) -> ClientBuilder {
        let (server, streams) = (server.clone(), Streams::default());
        let place = Place { server, speaks: self.speaks, streams, connection: 1 };
        let builder = match self.way {
            Way::Pipes | Way::PipesOfHttp2 => {
                let pipes = Pipes { place, way: self.way, dialed: AtomicU64::default() };
                Client::builder("http://server.test/mcp").dial(pipes)
            }
            Way::Socket => Client::builder(&listen(place).await),
        };
        let builder = builder.eras(self.eras).seed(7);
        match self.brings {
            Brings::AnotherToken => builder.credentials(Tokens::default()),
            Brings::Nothing => builder,
        }
    }
}

fn ended(outcome: Result<Json, Error>) -> Ended {
    match outcome {
        Ok(result) => Ended::Result(result.read().unwrap()),
        Err(Error::Server(error)) => Ended::Error(error.json.read().unwrap()),
        Err(error) => Ended::Call { may_have_run: error.may_have_run(), told: error.report() },
    }
}

/// Calls the tool with a key by which its runs are counted.
pub(crate) async fn call(client: &Client, key: &str) -> Result<Json, Error> {
    client.request("tools/call", json!({"name": TOOL, "arguments": {"key": key}})).await
}

/// Runs a future on a runtime of its own, with time paused.
pub(crate) fn paused<T>(life: impl Future<Output = T>) -> T {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    runtime.enable_all().start_paused(true).build().unwrap().block_on(life)
}

/// Starts a server on a port of this machine, which lives as long as the runtime, and returns its URL.
async fn listen(place: Place) -> String {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    tokio::spawn(async move {
        while let Ok((io, _)) = listener.accept().await {
            tokio::spawn(http1::serve(io, place.clone()));
        }
    });
    url
}

struct Pipes {
    place: Place,
    way: Way,
    dialed: AtomicU64,
}

impl Dial for Pipes {
    fn dial<'a>(&'a self, _: &'a Endpoint) -> BoxFuture<'a, Result<Connection, Failure>> {
        let (ours, theirs) = tokio::io::duplex(64 * 1024);
        let connection = Connection::new(ours, Unseen);
        let connection = match self.way {
            Way::PipesOfHttp2 => {
                tokio::spawn(http2::serve(theirs, self.place.server.clone()));
                connection.http2()
            }
            Way::Pipes | Way::Socket => {
                let number = self.dialed.fetch_add(1, Ordering::Relaxed) + 1;
                let place = Place { connection: number, ..self.place.clone() };
                tokio::spawn(http1::serve(theirs, place));
                connection
            }
        };
        Box::pin(async { Ok(connection) })
    }
}

/// Endless new tokens.
#[derive(Default)]
struct Tokens(AtomicUsize);

impl Credentials for Tokens {
    fn token<'a>(
        &'a self,
        _: Option<Refused<'a>>,
    ) -> BoxFuture<'a, Result<Option<Token>, NoCredentials>> {
        let number = self.0.fetch_add(1, Ordering::Relaxed);
        Box::pin(async move { Ok(Token::bearer(format!("token-{number}")).ok()) })
    }
}

/// A look at an idle connection, which this server never closes.
struct Unseen;

impl Peek for Unseen {
    fn is_quiet(&self) -> bool {
        true
    }
}

/// The time limit of a call: the longest of all waits is that for a server which defers.
const LIMIT: Duration = Duration::from_secs(120);
