//! Leasing one particular connection.

use ridethrough_core::{ConnectionId, Lane};
use tokio::sync::oneshot;

use super::http1::Http1;
use super::http2::Http2Stream;
use super::places::ConnectionPermit;
use super::register::Returned;
use super::{Lease, Pool, Room};

impl Pool {
    /// Leases this connection as soon as it is free; `None` if it is gone.
    pub(super) async fn lease_named(&self, lane: Lane, id: ConnectionId) -> Option<Lease> {
        let mut place = None;
        loop {
            match self.room.find(lane, id, &mut place)? {
                LivingConnection::Idle(mut connection) => {
                    let is_ready = connection.is_usable() && connection.is_ready_soon().await;
                    return is_ready.then(|| Lease::Http1(connection.in_use(place, lane)));
                }
                LivingConnection::InUse(back) => {
                    // It comes with the permit that it is used under.
                    drop(place.take());
                    let Returned { mut connection, place } = back.await.ok()?;
                    let is_ready = connection.is_usable() && connection.is_ready_soon().await;
                    return is_ready.then(|| Lease::Http1(connection.in_use(place, lane)));
                }
                LivingConnection::NoPlace => place = Some(self.place_in_line(lane).await),
                LivingConnection::Stream(stream) => return Some(Lease::Http2(stream)),
                LivingConnection::Full(freed) => {
                    let stream = freed.await.ok()?;
                    return stream.is_open().then_some(Lease::Http2(stream));
                }
            }
        }
    }
}

impl Room {
    /// Finds a connection, or joins the line for it under one lock if it is in use.
    fn find(
        self: &std::sync::Arc<Self>,
        lane: Lane,
        id: ConnectionId,
        place: &mut Option<ConnectionPermit>,
    ) -> Option<LivingConnection> {
        let mut state = self.state();
        state.shared.retain(super::http2::Http2::is_usable);
        if let Some(shared) = state.shared.iter().find(|it| it.id() == id) {
            return Some(
                shared
                    .stream_or_wait()
                    .map_or_else(LivingConnection::Full, LivingConnection::Stream),
            );
        }
        let Some(at) = state.idle.iter().position(|it| it.id() == id) else {
            return self.register.wait_for(id).map(LivingConnection::InUse);
        };
        if place.is_none() {
            *place = ConnectionPermit::take(self, &mut state, lane);
        }
        Some(match place {
            Some(_) => LivingConnection::Idle(state.idle.remove(at)),
            None => LivingConnection::NoPlace,
        })
    }
}

/// A connection that exists.
enum LivingConnection {
    /// An HTTP/2 connection with all streams taken, and the wait for one of them.
    Full(oneshot::Receiver<Http2Stream>),
    Idle(Http1),
    InUse(oneshot::Receiver<Returned>),
    NoPlace,
    Stream(Http2Stream),
}
