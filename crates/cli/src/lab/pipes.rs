//! Clients of ours at the other end of the lab's pipes, so that a script can be played inside a test
//! and under paused time.

use std::io;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use ridethrough::machine::{Cause, Failure};
use ridethrough::transport::{Connection, Dial, Endpoint};
use ridethrough::{Client, ClientBuilder, Era};
use ridethrough_lab::stage::Stage;
use ridethrough_lab::{Pipe, Server};

/// Begins a client of this server, over pipes and with a fixed seed.
pub(super) fn client_of(server: &Server) -> ClientBuilder {
    Client::builder("http://server.test/mcp").eras(Era::Legacy).dial(Pipes(server.clone())).seed(7)
}

/// Begins a client of the servers of a scenario, over pipes and with a fixed seed.
pub(super) fn client_on(stage: &Arc<Stage>) -> ClientBuilder {
    Client::builder(stage.url()).dial(Doors(stage.clone())).seed(7)
}

/// Dials the server's own pipes.
struct Pipes(Server);

impl Dial for Pipes {
    fn dial<'a>(&'a self, _: &'a Endpoint) -> BoxFuture<'a, Result<Connection, Failure>> {
        Box::pin(async { connected(self.0.dial().await) })
    }
}

/// Dials the pipes of whichever server is meant.
struct Doors(Arc<Stage>);

impl Dial for Doors {
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
