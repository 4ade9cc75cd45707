//! The public type of this crate: a backend that is reached by HTTP.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use http_body_util::combinators::UnsyncBoxBody;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};

use crate::access::AccessPolicy;
use crate::backend::Backend;
use crate::connections::{Answering, Connections};
use crate::handler::RequestHandler;
use crate::news::SessionNews;
use crate::sessions::Sessions;
use crate::settings::Settings;
use crate::watched_stream::WatchedStream;

/// A backend that is reached by HTTP at the path `/mcp`.
///
/// Clones share one server.
#[derive(Clone)]
pub struct Server {
    handler: Arc<RequestHandler>,
    connections: Arc<Connections>,
}

impl Server {
    /// Serves the backend to the clients that the policy lets in. Events for people go to `tell`, which must
    /// not block.
    pub fn new(
        backend: impl Backend,
        access: AccessPolicy,
        settings: Settings,
        tell: impl Fn(SessionNews) + Send + Sync + 'static,
    ) -> Self {
        let connections = Arc::<Connections>::default();
        let sessions =
            Sessions::new(Arc::new(backend), settings, Arc::new(tell), connections.clone());
        let handler = RequestHandler::new(access, Arc::new(sessions), connections.clone());
        Self { handler: Arc::new(handler), connections }
    }

    /// Answers all requests on one connection, until it ends, is silent for too long, or must make room for
    /// another.
    pub async fn serve(&self, connection: impl AsyncRead + AsyncWrite + Send + Unpin + 'static) {
        let admitted = self.connections.admit();
        let connection =
            WatchedStream { stream: connection, connection: admitted.connection.clone() };
        let service = service_fn(|request| {
            let (handler, connection) = (self.handler.clone(), admitted.connection.clone());
            let answering = connection.answer();
            async move {
                let reply = handler.answer(request, &connection).await;
                Ok::<_, Infallible>(reply.map(|body| Answered { body, _answering: answering }))
            }
        });
        let serving = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(REST)
            .max_buf_size(MOST_HEAD)
            .serve_connection(TokioIo::new(connection), service);
        tokio::select! {
            // The client notices a broken connection; calls under way can be resumed.
            _ = serving => {}
            () = admitted.connection.must_close() => {}
        }
    }

    /// Closes the connection that was silent for longest among those that have not shown the token, for when
    /// the system has no more file descriptors.
    pub fn make_room(&self) {
        self.connections.make_room();
    }

    /// Ends all sessions, and waits until their conversations have ended. No new session begins.
    pub async fn close(&self) {
        self.handler.sessions.close().await;
    }
}

impl std::fmt::Debug for Server {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Server").finish_non_exhaustive()
    }
}

/// The body of an answer. Its request counts as being answered until the body is dropped.
struct Answered {
    body: UnsyncBoxBody<Bytes, Infallible>,
    _answering: Answering,
}

impl Body for Answered {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// How long an authenticated connection may be idle, and how long the head of its next request may take.
const REST: Duration = Duration::from_secs(60);
const MOST_HEAD: usize = 64 * 1024;
