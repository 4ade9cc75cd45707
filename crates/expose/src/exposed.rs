//! The public type of this crate: a local server that is reached by HTTP.

use std::sync::Arc;
use std::time::Duration;

use ridethrough_server::{AccessPolicy, Server, Settings, Tls};
use tokio::io::{AsyncRead, AsyncWrite};

use crate::backend::Children;
use crate::child::Start;
use crate::news::News;

/// A local server that is reached by HTTP at the path `/mcp`.
///
/// Clones share one server.
#[derive(Clone, Debug)]
pub struct Exposed {
    server: Server,
}

impl Exposed {
    /// Exposes the server that `start` starts to the clients that the policy lets in. Events for people go to
    /// `tell`, which must not block.
    pub fn new(
        start: impl Start,
        access: AccessPolicy,
        settings: Settings,
        tell: impl Fn(News) + Send + Sync + 'static,
    ) -> Self {
        let tell: Arc<dyn Fn(News) + Send + Sync> = Arc::new(tell);
        let children = Children::new(start, tell.clone());
        let server = Server::new(children, access, settings, move |news| tell(News::Session(news)));
        Self { server }
    }

    /// Returns the server's side of HTTP, for whoever lets connections in.
    pub fn server(&self) -> Server {
        self.server.clone()
    }

    /// Answers all requests on one connection, until it ends, is silent for too long, or must make room for
    /// another.
    pub async fn serve(&self, connection: impl AsyncRead + AsyncWrite + Send + Unpin + 'static) {
        self.server.serve(connection).await;
    }

    /// Answers all requests on one connection as [`serve`](Self::serve) does, in TLS.
    pub async fn serve_tls(
        &self,
        connection: impl AsyncRead + AsyncWrite + Send + Unpin + 'static,
        tls: &Tls,
    ) {
        self.server.serve_tls(connection, tls).await;
    }

    /// Lets sessions finish what they do, for as long as this at most, while nothing new begins; see
    /// [`Server::drain`]. Connections are to be let in meanwhile. Returns whether all have finished.
    pub async fn drain(&self, longest: Duration) -> bool {
        self.server.drain(longest).await
    }

    /// Closes the connection that was silent for longest among those that have not shown the token, for when
    /// the system has no more file descriptors.
    pub fn make_room(&self) {
        self.server.make_room();
    }

    /// Ends all sessions, and waits until their children have ended. No new session begins.
    pub async fn close(&self) {
        self.server.close().await;
    }
}
