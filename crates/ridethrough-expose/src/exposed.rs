//! A local server that is reached by HTTP.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};

use crate::child::Start;
use crate::desk::Desk;
use crate::door::Door;
use crate::news::News;
use crate::sessions::Sessions;
use crate::settings::Settings;

/// A local server that is reached by HTTP at the path `/mcp`.
///
/// Clones are the same server.
#[derive(Clone)]
pub struct Exposed {
    desk: Arc<Desk>,
}

impl Exposed {
    /// Exposes what `start` starts to whoever passes the door. What is worth telling goes to `tell`,
    /// which must not wait.
    pub fn new(
        start: impl Start,
        door: Door,
        settings: Settings,
        tell: impl Fn(News) + Send + Sync + 'static,
    ) -> Self {
        let sessions = Arc::new(Sessions::new(start, settings, Arc::new(tell)));
        Self { desk: Arc::new(Desk { door, sessions }) }
    }

    /// Answers everything that comes on one connection, until it ends.
    pub async fn serve(&self, connection: impl AsyncRead + AsyncWrite + Send + Unpin + 'static) {
        let service = service_fn(|request| {
            let desk = self.desk.clone();
            async move { Ok::<_, Infallible>(desk.answer(request).await) }
        });
        let serving = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(HEAD_TIME)
            .max_buf_size(MOST_HEAD)
            .serve_connection(TokioIo::new(connection), service);
        // A connection that breaks is the client's to notice; what was under way can be resumed.
        let _ = serving.await;
    }

    /// Ends all sessions, and waits until nothing is left of their children. Nobody comes in any more.
    pub async fn close(&self) {
        self.desk.sessions.close().await;
    }
}

impl std::fmt::Debug for Exposed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Exposed").finish_non_exhaustive()
    }
}

/// How long a connection may rest, and how long the head of a request may take.
const HEAD_TIME: Duration = Duration::from_secs(60);
const MOST_HEAD: usize = 64 * 1024;
