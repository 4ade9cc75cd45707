//! The public type of this crate: a backend that is reached by HTTP.

use std::convert::Infallible;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use http::header::CONNECTION;
use http::{HeaderValue, Version};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::Notify;
use tokio::time::{Instant, sleep, timeout_at};

use crate::access::AccessPolicy;
use crate::answered::Answered;
use crate::backend::{Backend, Caller, Principal};
use crate::connections::{Connections, OpenConnection};
use crate::drain::Drain;
use crate::handler::RequestHandler;
use crate::news::SessionNews;
use crate::sessions::Sessions;
use crate::settings::Settings;
use crate::tls::Tls;
use crate::watched_stream::WatchedStream;

/// A backend that is reached by HTTP at the path `/mcp`.
///
/// Clones share one server.
#[derive(Clone)]
pub struct Server {
    handler: Arc<RequestHandler>,
    connections: Arc<Connections>,
    /// Whether answers carry the date.
    is_dated: bool,
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
        let connections = Arc::new(Connections::new(settings.connections));
        let is_dated = settings.is_dated;
        let sessions =
            Sessions::new(Arc::new(backend), settings, Arc::new(tell), connections.clone());
        let handler = RequestHandler::new(access, Arc::new(sessions), connections.clone());
        Self { handler: Arc::new(handler), connections, is_dated }
    }

    /// Answers all requests on one connection, in HTTP/1.1 or HTTP/2 as the client begins, until it ends, is
    /// silent for too long, must make room for another, or the server has drained.
    pub async fn serve(&self, connection: impl AsyncRead + AsyncWrite + Send + Unpin + 'static) {
        let admitted = self.connections.admit();
        let stream = WatchedStream { stream: connection, connection: admitted.connection.clone() };
        self.serve_admitted(stream, &admitted, None).await;
    }

    /// Answers all requests on one connection as [`serve`](Self::serve) does, for a client that is known
    /// without a token: one on a Unix socket that only its owner can open, for example.
    pub async fn serve_as(
        &self,
        principal: Principal,
        connection: impl AsyncRead + AsyncWrite + Send + Unpin + 'static,
    ) {
        let admitted = self.connections.admit();
        let stream = WatchedStream { stream: connection, connection: admitted.connection.clone() };
        self.serve_admitted(stream, &admitted, Some(principal)).await;
    }

    /// Answers all requests on one connection as [`serve`](Self::serve) does, in TLS. The handshake counts as
    /// the head of the first request.
    pub async fn serve_tls(
        &self,
        connection: impl AsyncRead + AsyncWrite + Send + Unpin + 'static,
        tls: &Tls,
    ) {
        let admitted = self.connections.admit();
        let stream = WatchedStream { stream: connection, connection: admitted.connection.clone() };
        let stream = tokio::select! {
            stream = tls.acceptor.accept(stream) => stream,
            () = admitted.connection.must_close() => return,
        };
        // A client that does not speak TLS, or does not trust the certificate, has its own error.
        if let Ok(stream) = stream {
            self.serve_admitted(stream, &admitted, None).await;
        }
    }

    async fn serve_admitted(
        &self,
        connection: impl AsyncRead + AsyncWrite + Send + Unpin + 'static,
        admitted: &OpenConnection,
        known: Option<Principal>,
    ) {
        let (handler, open) = (self.handler.clone(), admitted.connection.clone());
        let drain = self.handler.sessions.drain.clone();
        let is_http_2 = Arc::new(Notify::new());
        let seen = is_http_2.clone();
        let service = service_fn(move |request| {
            let (handler, connection, known) = (handler.clone(), open.clone(), known.clone());
            let answering = connection.answer();
            let seen = seen.clone();
            async move {
                let version = request.version();
                let mut reply = handler.answer(request, &connection, known).await;
                if version == Version::HTTP_2 {
                    seen.notify_one();
                } else if handler.sessions.drain.has_begun() {
                    reply.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
                }
                Ok::<_, Infallible>(reply.map(|body| Answered::new(body, answering, version)))
            }
        });
        let mut builder = protocols();
        builder.http1().auto_date_header(self.is_dated);
        builder.http2().auto_date_header(self.is_dated);
        let mut serving = pin!(builder.serve_connection(TokioIo::new(connection), service));
        let mut must_close = pin!(admitted.connection.must_close());
        tokio::select! {
            biased;
            // The client notices a broken connection; calls under way can be resumed.
            _ = serving.as_mut() => return,
            () = must_close.as_mut() => return,
            () = must_be_left(&drain, &is_http_2) => serving.as_mut().graceful_shutdown(),
        }
        tokio::select! {
            biased;
            _ = serving => {}
            () = must_close => {}
        }
    }

    /// Lets sessions finish what they do, for as long as this at most, and then closes all connections. Returns
    /// whether all have finished.
    ///
    /// Meanwhile connections are to be let in as before: calls of sessions that exist are answered, and everything
    /// else is refused in a form that says that nothing was run. Each connection is closed after its next answer,
    /// and standing streams end once, so that clients may find another server. It is over when nothing is under way
    /// and no session has made a call for a second.
    pub async fn drain(&self, longest: Duration) -> bool {
        let (sessions, until) = (&self.handler.sessions, Instant::now() + longest);
        sessions.drain.begin();
        let finished = async {
            while sessions.is_at_work() {
                sleep(LOOK).await;
            }
        };
        let has_finished = timeout_at(until, finished).await.is_ok();
        sessions.drain.leave();
        let closed = async {
            while !self.connections.is_empty() {
                sleep(LOOK).await;
            }
        };
        timeout_at(until, closed).await.is_ok() && has_finished
    }

    /// Closes the connection that was silent for longest among those that have not shown the token, for when
    /// the system has no more file descriptors.
    pub fn make_room(&self) {
        self.connections.make_room();
    }

    /// Ends the sessions of the callers for which this is true: they are not let in any more.
    pub fn end_sessions(&self, is_out: impl Fn(&Caller) -> bool) {
        self.handler.sessions.end_where(is_out);
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

/// Waits until a connection is to be closed after what is being answered on it.
///
/// In HTTP/2 that is when draining begins, because the client is told which requests are still answered. In
/// HTTP/1.1 a connection that is closed between two answers may cut the next request, so the last answer says
/// `connection: close` instead.
async fn must_be_left(drain: &Drain, is_http_2: &Notify) {
    let goes_away = async {
        drain.begins().await;
        is_http_2.notified().await;
    };
    tokio::select! {
        biased;
        () = drain.leaves() => {}
        () = goes_away => {}
    }
}

fn protocols() -> auto::Builder<TokioExecutor> {
    let mut builder = auto::Builder::new(TokioExecutor::new());
    builder
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(REST)
        .max_buf_size(MOST_HEAD)
        .http2()
        .timer(TokioTimer::new())
        .max_concurrent_streams(MOST_STREAMS)
        .max_header_list_size(MOST_HEAD as u32)
        .initial_stream_window_size(MOST_AHEAD / 2)
        .initial_connection_window_size(MOST_AHEAD)
        .max_send_buf_size(MOST_AHEAD as usize)
        .keep_alive_interval(SILENCE)
        .keep_alive_timeout(SILENCE);
    builder
}

/// How long the head of the next request of an authenticated connection may take.
const REST: Duration = Duration::from_secs(60);
/// The most HTTP/2 streams of a connection: many times the calls that a client has under way at once.
const MOST_STREAMS: u32 = 200;
/// The time without a sign of an HTTP/2 peer after which it is pinged; after this time again it is closed.
const SILENCE: Duration = Duration::from_secs(20);
/// How often the server checks whether calls have finished.
const LOOK: Duration = Duration::from_millis(20);
const MOST_HEAD: usize = 64 * 1024;
/// How much of bodies a client that speaks HTTP/2 may send before it is read.
const MOST_AHEAD: u32 = 256 * 1024;
