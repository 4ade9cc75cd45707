//! The way of one process to the servers of a world, by their addresses.

use std::future::pending;
use std::sync::Arc;

use ridethrough::machine::{Cause, Failure};
use ridethrough::transport::{BoxFuture, Connection, Dial, Endpoint};
use ridethrough_lab::Server;

use super::grants::Issuer;
use super::process::Process;
use super::truth::Truth;
use crate::net::Look;

/// The servers of a world.
pub(super) struct Servers {
    pub(super) resource: Server,
    pub(super) one: Server,
    pub(super) two: Server,
    pub(super) stranger: Server,
}

impl Servers {
    pub(super) const fn issuer(&self, issuer: Issuer) -> &Server {
        match issuer {
            Issuer::One => &self.one,
            Issuer::Two => &self.two,
        }
    }

    fn at(&self, host: &str) -> Option<&Server> {
        match host {
            RESOURCE_HOST => Some(&self.resource),
            ONE_HOST => Some(&self.one),
            TWO_HOST => Some(&self.two),
            STRANGER_HOST => Some(&self.stranger),
            _ => None,
        }
    }

    /// Ends everything.
    pub(super) async fn kill(&self) {
        for server in [&self.resource, &self.one, &self.two, &self.stranger] {
            server.kill().await;
        }
    }
}

/// The dial of one process.
pub(super) struct ProcessDial {
    pub(super) process: Process,
    pub(super) truth: Truth,
    pub(super) servers: Arc<Servers>,
}

impl Dial for ProcessDial {
    fn dial<'a>(&'a self, endpoint: &'a Endpoint) -> BoxFuture<'a, Result<Connection, Failure>> {
        Box::pin(async move {
            self.process.alive().await;
            if self.truth.oracle().dialled(self.process.number) {
                pending().await
            }
            let refused = || Failure::not_sent(Cause::ConnectRefused);
            let server = self.servers.at(endpoint.host_to_resolve()).ok_or_else(refused)?;
            let pipe = server.dial().await.map_err(|_| refused())?;
            self.process.alive().await;
            self.process.owns_connection(pipe.control());
            let look = Look::at(&pipe);
            Ok(Connection::new(pipe, look))
        })
    }
}

const RESOURCE_HOST: &str = "127.0.0.1";
const ONE_HOST: &str = "127.0.0.2";
const TWO_HOST: &str = "127.0.0.3";
const STRANGER_HOST: &str = "127.0.0.4";
