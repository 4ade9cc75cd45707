//! Answers browsers, a bounded number at a time, one request on each connection.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream;
use http::header::{ALLOW, CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, REFERRER_POLICY};
use http::header::{HeaderName, X_CONTENT_TYPE_OPTIONS};
use http::{HeaderValue, Request, Response, StatusCode};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::body::Frame;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use super::access::{Asked, Closed, PageAccess};
use super::board::{BoardLine, PageBoard};
use super::draw;

type Answer = Response<UnsyncBoxBody<Bytes, Infallible>>;

/// Serves until it is dropped.
pub(super) async fn serve(listener: TcpListener, access: PageAccess, board: Arc<PageBoard>) {
    let server =
        Arc::new(PageServer { access, board, streams: Arc::new(Semaphore::new(MOST_STREAMS)) });
    let places = Arc::new(Semaphore::new(MOST_CONNECTIONS));
    let mut open = JoinSet::new();
    loop {
        // A connection without a place waits in the system's queue, which is bounded too.
        let place = places.clone().acquire_owned().await.expect("the places are never closed");
        while open.try_join_next().is_some() {}
        match listener.accept().await {
            Ok((connection, _)) => {
                open.spawn(answer(connection, server.clone(), place));
            }
            // The browser has left already, or the system is out of resources for the moment.
            Err(_) => sleep(PAUSE).await,
        }
    }
}

async fn answer(connection: TcpStream, server: Arc<PageServer>, place: OwnedSemaphorePermit) {
    let service = service_fn(|request| {
        let server = server.clone();
        async move { Ok::<_, Infallible>(server.answer(&request)) }
    });
    // A broken connection is for the browser to notice.
    let _ = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(PATIENCE)
        .max_buf_size(MOST_HEAD)
        .keep_alive(false)
        .serve_connection(TokioIo::new(connection), service)
        .await;
    drop(place);
}

struct PageServer {
    access: PageAccess,
    board: Arc<PageBoard>,
    /// Places for pages that stay connected for updates. They are fewer than connections, so that a page can
    /// always be loaded.
    streams: Arc<Semaphore>,
}

impl PageServer {
    fn answer<B>(&self, request: &Request<B>) -> Answer {
        match self.access.pass(request) {
            Ok(Asked::Page) => whole(StatusCode::OK, HTML, draw::page(&self.board.state())),
            Ok(Asked::Script) => whole(StatusCode::OK, SCRIPT, draw::SCRIPT),
            Ok(Asked::Events(after)) => match self.streams.clone().try_acquire_owned() {
                Ok(place) => self.follow(after, place),
                Err(_) => whole(StatusCode::SERVICE_UNAVAILABLE, TEXT, TOO_MANY),
            },
            Err(closed) => {
                let mut answer = whole(closed.status(), TEXT, closed.words());
                if closed == Closed::Method {
                    answer.headers_mut().insert(ALLOW, HeaderValue::from_static("GET"));
                }
                answer
            }
        }
    }

    fn follow(&self, after: u64, place: OwnedSemaphorePermit) -> Answer {
        let board = self.board.clone();
        let reader = PageFollower { newest: board.newest(), board, after, _place: place };
        let events = stream::unfold(reader, |mut reader| async move {
            let piece = reader.next().await;
            Some((Ok(Frame::data(piece)), reader))
        });
        head(StatusCode::OK, EVENTS, StreamBody::new(events).boxed_unsync())
    }
}

/// A page that stays connected for updates.
struct PageFollower {
    board: Arc<PageBoard>,
    newest: watch::Receiver<u64>,
    /// The number of the last line that it has.
    after: u64,
    _place: OwnedSemaphorePermit,
}

impl PageFollower {
    /// Returns the lines that came meanwhile, or a sign of life.
    async fn next(&mut self) -> Bytes {
        loop {
            // Before looking, so that a line that comes in between is not missed.
            self.newest.mark_unchanged();
            let news = self.board.after(self.after);
            if let Some(last) = news.last() {
                self.after = last.number;
                return news.iter().map(event).collect::<String>().into();
            }
            // The board outlives its readers, so the sender is not gone.
            if timeout(SIGN_OF_LIFE, self.newest.changed()).await.is_err() {
                return Bytes::from_static(b":\n\n");
            }
        }
    }
}

/// Returns a line as an event; JSON has no line breaks.
fn event(kept: &BoardLine) -> String {
    let json = serde_json::to_string(kept).expect("strings and numbers are JSON");
    format!("id: {}\ndata: {json}\n\n", kept.number)
}

fn whole(status: StatusCode, kind: &'static str, text: impl Into<Bytes>) -> Answer {
    head(status, kind, Full::new(text.into()).boxed_unsync())
}

fn head(status: StatusCode, kind: &'static str, body: UnsyncBoxBody<Bytes, Infallible>) -> Answer {
    let mut answer = Response::new(body);
    *answer.status_mut() = status;
    for (name, value) in HEADERS.into_iter().chain([(CONTENT_TYPE, kind)]) {
        answer.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    answer
}

/// The headers of every answer. The address is a secret, so no other page may learn it; and no other page may
/// show this one.
const HEADERS: [(HeaderName, &str); 5] = [
    (CACHE_CONTROL, "no-store"),
    (CONTENT_SECURITY_POLICY, "frame-ancestors 'none'; base-uri 'none'; form-action 'none'"),
    (REFERRER_POLICY, "no-referrer"),
    (X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
];
const EVENTS: &str = "text/event-stream";
const HTML: &str = "text/html; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";
const TEXT: &str = "text/plain; charset=utf-8";
const TOO_MANY: &str = "as many pages follow as may; close one of them, or reload this one\n";
/// The most connections: a browser opens a handful.
pub(super) const MOST_CONNECTIONS: usize = 32;
pub(super) const MOST_STREAMS: usize = 8;
const MOST_HEAD: usize = 16 << 10;
/// How long the head of a request may take: browsers that connect ahead of time send it at once.
const PATIENCE: Duration = Duration::from_secs(5);
const SIGN_OF_LIFE: Duration = Duration::from_secs(15);
const PAUSE: Duration = Duration::from_millis(100);
