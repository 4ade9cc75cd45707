//! The loop's answer to a gauge.

use tokio::io::AsyncWrite;
use tokio::time::Instant;

use super::Router;
use crate::gauge::{Ask, Own, short};

impl<W: AsyncWrite + Unpin> Router<W> {
    pub(super) fn tell_gauge(&self, ask: Ask) {
        let now = Instant::now();
        let server = self.upstream.server().and_then(ridethrough::server::Server::name);
        let own = Own {
            host: self.host.as_deref().map(short),
            server: server.as_deref().map(short),
            up: now - self.began,
            had_session: self.sessions > 0,
            is_in_trouble: self.news.is_in_trouble(),
            recoveries: self.news.recoveries(),
            lost: self.news.lost(),
            dropped_notifications: self.notices.dropped(),
            held_repeats: self.held_repeats,
            login: self.login_snapshot(),
            in_flight: self.calls.oldest(now),
            in_flight_count: self.calls.count(),
        };
        // The reader may be gone, and then needs no answer.
        let _ = ask.send(own);
    }
}
