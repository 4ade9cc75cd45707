//! Clients of ours at the other end of a lab server's pipes, so that a script can be played inside a
//! test and under paused time.

use futures_util::future::BoxFuture;
use ridethrough::machine::{Cause, Failure};
use ridethrough::{Client, ClientBuilder, Connection, Dial, Endpoint};
use ridethrough_lab::Server;

/// Begins a client of this server, over pipes and with a fixed seed.
pub(super) fn client_of(server: &Server) -> ClientBuilder {
    Client::builder("http://server.test/mcp").dial(Pipes(server.clone())).seed(7)
}

/// Dials the server's own pipes.
struct Pipes(Server);

impl Dial for Pipes {
    fn dial<'a>(&'a self, _: &'a Endpoint) -> BoxFuture<'a, Result<Connection, Failure>> {
        Box::pin(async {
            let pipe = self.0.dial().await.map_err(|error| {
                Failure::not_sent(Cause::ConnectRefused).with_detail(error.to_string())
            })?;
            let peek = Look(pipe.peek());
            Ok(Connection::new(pipe, peek))
        })
    }
}

struct Look(ridethrough_lab::Peek);

impl ridethrough::Peek for Look {
    fn is_quiet(&self) -> bool {
        self.0.is_quiet()
    }
}
