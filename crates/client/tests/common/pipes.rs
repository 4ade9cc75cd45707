//! A client's way to a server of the lab without a network: the server's own pipes.

use futures_util::future::BoxFuture;
use ridethrough::machine::{Cause, Failure};
use ridethrough::transport::{Connection, Dial, Endpoint};
use ridethrough_lab::Server;

/// Dials the server's own pipes.
pub(crate) struct Pipes(pub(crate) Server);

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

impl ridethrough::transport::Peek for Look {
    fn is_quiet(&self) -> bool {
        self.0.is_quiet()
    }
}
