//! Making connections: one for one request, or one for all requests that wait.

use std::sync::Arc;

use futures_util::future::{BoxFuture, FutureExt, Shared, WeakShared};
use ridethrough_core::{Cause, Delivery, Failure, Lane};
use tokio::time::timeout;

use super::http1::Http1;
use super::http2::Http2;
use super::places::ConnectionPermit;
use super::{Lease, Pool, Room};
use crate::dial::Speaks;

/// A dial that several requests wait for.
pub(super) type Dialing = BoxFuture<'static, Result<(), Failure>>;

impl Pool {
    pub(super) async fn dial_alone(
        &self,
        lane: Lane,
        place: Option<ConnectionPermit>,
    ) -> Result<Lease, Failure> {
        match self.room.dial_once().await? {
            Dialed::Http1(connection) => Ok(Lease::Http1(connection.in_use(place, lane))),
            Dialed::Http2(connection) => {
                let stream = connection.stream().ok_or(Failure::not_sent(Cause::StreamRefused))?;
                self.room.share(connection, Beside::Others);
                Ok(Lease::Http2(stream))
            }
        }
    }

    /// Makes one connection for all requests that wait; the dial is dropped with the last of them.
    pub(super) async fn dial_for_all(&self) -> Result<(), Failure> {
        let dialing = {
            let mut state = self.room.state();
            match state.dialing.as_ref().and_then(WeakShared::upgrade) {
                Some(dialing) => dialing,
                None => {
                    let dialing: Shared<Dialing> = self.room.clone().dial_beside().boxed().shared();
                    state.dialing = dialing.downgrade();
                    dialing
                }
            }
        };
        let result = dialing.clone().await;
        let mut state = self.room.state();
        let current = state.dialing.as_ref().and_then(WeakShared::upgrade);
        if current.is_some_and(|current| current.ptr_eq(&dialing)) {
            state.dialing = None;
        }
        result
    }
}

impl Room {
    /// Whether a request gets a connection of its own.
    pub(super) fn dials_alone(&self) -> bool {
        match self.state().speaks {
            Some(Speaks::Http1) => true,
            Some(Speaks::Http2) => false,
            None => !self.endpoint.is_tls(),
        }
    }

    /// Makes one connection and keeps it for the next request.
    async fn dial_beside(self: Arc<Self>) -> Result<(), Failure> {
        match self.dial_once().await? {
            Dialed::Http1(connection) => self.keep(connection, None),
            Dialed::Http2(connection) => self.share(connection, Beside::Others),
        }
        Ok(())
    }

    pub(super) async fn dial_once(&self) -> Result<Dialed, Failure> {
        let dialing = async {
            let connection = self.dial.dial(&self.endpoint).await?;
            self.state().speaks = Some(connection.speaks);
            match connection.speaks {
                Speaks::Http1 => {
                    let entry = self.register.enter();
                    Http1::new(connection, entry.id(), entry).await.map(Dialed::Http1)
                }
                Speaks::Http2 => {
                    Http2::new(connection, self.register.next_number()).await.map(Dialed::Http2)
                }
            }
        };
        match timeout(self.connect_within, dialing).await {
            // Nothing was sent before there was a connection, whatever the dial claims.
            Ok(result) => {
                result.map_err(|failure| Failure { delivery: Delivery::NotSent, ..failure })
            }
            Err(_) => Err(Failure::not_sent(Cause::ConnectTimedOut)),
        }
    }
}

/// Whether a new shared connection joins the others or replaces them.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Beside {
    Nothing,
    Others,
}

/// A connection that was just made.
pub(super) enum Dialed {
    Http1(Http1),
    Http2(Http2),
}
