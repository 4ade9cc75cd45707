//! One of the processes that share the login: it calls without a pause, and never logs in.
//!
//! Each line of its output is one of `{"answered": N}`, `{"told": WHY}`, `{"unauthorized": WHY}` and
//! `{"failed": WHY}`. It ends when its input does.

use std::io::Write;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use anyhow::Result;
use futures_util::future::join_all;
use ridethrough::error::Kind;
use ridethrough::transport::{BoxFuture, Cause, Connection, Dial, Endpoint, Failure, Peek};
use ridethrough::{Client, Era, Error};
use ridethrough_oauth::store::FileStore;
use ridethrough_oauth::{ClientBuilderExt, OAuth};
use serde_json::{Value, json};
use tokio::io::AsyncReadExt;
use tokio::net::{TcpSocket, TcpStream};
use tokio::sync::watch;
use tokio::time::sleep;

/// What a worker is told on its command line.
#[derive(clap::Args)]
pub(crate) struct Task {
    /// The URL of the MCP server.
    url: String,
    /// The folder of the shared login.
    folder: PathBuf,
    /// The address to connect from.
    address: Ipv4Addr,
    /// How many calls are under way at a time.
    calls: usize,
}

/// Calls until the input ends.
pub(crate) async fn work(task: Task) -> Result<()> {
    let oauth = OAuth::new(crate::NAME)
        .client_id(crate::NAME)
        .store(FileStore::at(task.folder))
        .on_login_needed(|why| say(&json!({"told": why.to_string()})));
    let client = Client::builder(&task.url)
        .no_proxy()
        .eras(Era::Legacy)
        .dial(From(task.address))
        .oauth(oauth)?
        .build()?;
    let (stop, stopped) = watch::channel(false);
    tokio::spawn(async move {
        let _ = tokio::io::stdin().read_to_end(&mut Vec::new()).await;
        stop.send_replace(true);
    });
    let calls = (0..task.calls).map(|_| call_on_and_on(&client, stopped.clone()));
    let answered: u64 = join_all(calls).await.into_iter().sum();
    say(&json!({"answered": answered}));
    client.close().await;
    Ok(())
}

/// Makes one call after the other, and returns how many were answered.
async fn call_on_and_on(client: &Client, stopped: watch::Receiver<bool>) -> u64 {
    let mut answered = 0;
    while !*stopped.borrow() {
        match client.call_tool("work", json!({})).await {
            Ok(_) => answered += 1,
            Err(error) => {
                tell(&error);
                sleep(PAUSE).await;
            }
        }
    }
    answered
}

fn tell(error: &Error) {
    let words = error.report();
    if error.kind() == Some(Kind::Unauthorized) {
        say(&json!({"unauthorized": words}));
    } else {
        say(&json!({"failed": words}));
    }
}

/// Writes one line at once, so that a process that is killed next has reported it.
fn say(what: &Value) {
    let mut output = std::io::stdout().lock();
    // A closed stdout is not an error.
    let _ = writeln!(output, "{what}").and_then(|()| output.flush());
}

/// Dials from an address, by which the server tells the processes apart.
struct From(Ipv4Addr);

impl Dial for From {
    fn dial<'a>(&'a self, to: &'a Endpoint) -> BoxFuture<'a, Result<Connection, Failure>> {
        Box::pin(async move {
            let refused = |error: std::io::Error| {
                Failure::not_sent(Cause::ConnectRefused).with_detail(error.to_string())
            };
            self.connect(to.port()).await.map_err(refused)
        })
    }
}

impl From {
    async fn connect(&self, port: u16) -> std::io::Result<Connection> {
        let socket = TcpSocket::new_v4()?;
        socket.bind(SocketAddr::from((self.0, 0)))?;
        let stream = socket.connect(SocketAddr::from((Ipv4Addr::LOCALHOST, port))).await?;
        stream.set_nodelay(true)?;
        let stream = stream.into_std()?;
        let watched = Watched(stream.try_clone()?);
        Ok(Connection::new(TcpStream::from_std(stream)?, watched))
    }
}

/// A duplicate of a socket, which does not block.
struct Watched(std::net::TcpStream);

impl Peek for Watched {
    fn is_quiet(&self) -> bool {
        let looked = self.0.peek(&mut [0]);
        looked.is_err_and(|error| error.kind() == std::io::ErrorKind::WouldBlock)
    }
}

/// The pause after a failed call, as in an application that is told not to call again at once.
const PAUSE: Duration = Duration::from_millis(200);
