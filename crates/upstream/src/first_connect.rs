//! The first connect to the upstream, tried until it succeeds.
//!
//! Afterwards the client renews sessions by itself. But before its first success it takes some failures for
//! final, such as a name that does not resolve, and a program that was started without a network could not
//! recover from that.

use std::time::Duration;

use futures_util::future::BoxFuture;
use ridethrough::server::Server;
use ridethrough::{Client, Error};

/// Connects for the first time.
pub(crate) struct FirstConnect {
    client: Client,
    reaching: Option<BoxFuture<'static, Result<Server, Error>>>,
    server: Option<Server>,
    failures: u32,
}

impl FirstConnect {
    pub(crate) const fn new(client: Client) -> Self {
        Self { client, reaching: None, server: None, failures: 0 }
    }

    /// Begins to connect, unless it has begun, and stays connected.
    pub(crate) fn reach(&mut self) {
        if self.reaching.is_none() && self.server.is_none() {
            self.client.keep_connected();
            self.connect_after(Duration::ZERO);
        }
    }

    /// Stops the attempts to connect until [`reach`](Self::reach), or for this time.
    pub(crate) fn pause(&mut self, time: Option<Duration>) {
        self.reaching = None;
        if let Some(time) = time {
            self.connect_after(time);
        }
    }

    /// Connects at once, if it is not connected, however long the pause would be.
    pub(crate) fn reach_now(&mut self) {
        self.reaching = None;
        self.failures = 0;
        self.reach();
    }

    /// Returns what the upstream said of itself, once it was reached.
    pub(crate) const fn server(&self) -> Option<&Server> {
        self.server.as_ref()
    }

    /// Waits for the next connect to end; none comes after the one that succeeds. Nothing is lost if the
    /// future is dropped.
    pub(crate) async fn next(&mut self) -> Result<(), Error> {
        let Some(reaching) = &mut self.reaching else { return std::future::pending().await };
        match reaching.await {
            Ok(server) => {
                self.reaching = None;
                self.server = Some(server);
                Ok(())
            }
            Err(error) => {
                let pause = FIRST_PAUSE * 2_u32.pow(self.failures.min(MOST_DOUBLINGS));
                self.failures += 1;
                self.connect_after(pause);
                Err(error)
            }
        }
    }

    fn connect_after(&mut self, pause: Duration) {
        let client = self.client.clone();
        self.reaching = Some(Box::pin(async move {
            tokio::time::sleep(pause).await;
            client.connect().await
        }));
    }
}

/// The first pause after a failure. Most failures come after the client's patience is over.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
/// How often the pause doubles: to half a minute at most, because a person who repairs something looks
/// whether it works.
const MOST_DOUBLINGS: u32 = 5;
