//! Single connections and requests to a server, for programs that examine it.
//!
//! A [`Probe`] dials as a client with its settings does, through the proxy and with the trust and credentials
//! that they name. A request is sent once, and its answer is returned as it came. Nothing is pooled, repeated
//! or limited in time here.

use std::fmt;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::header::{AUTHORIZATION, COOKIE, HOST};
use http::{HeaderMap, HeaderValue, Method, Request, Response, Uri};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::client::conn::http1;
#[cfg(feature = "http2")]
use hyper::client::conn::http2;
#[cfg(feature = "http2")]
use hyper_util::rt::TokioExecutor;
use hyper_util::rt::TokioIo;
use ridethrough_core::{AnswerHead, Cause, Failure, Generation};
use tokio::task::AbortHandle;
use tokio::time::timeout;

use crate::credentials::Credentials;
use crate::dial::{Connection, Dial, Speaks, Steps};
use crate::endpoint::Endpoint;
use crate::http::{Cookies, of_send, poll_data};
use crate::transport::Body;

pub use crate::http::{keep_alive, read_head};

/// Makes single connections to one server. A client makes one of its settings by `ClientBuilder::probe`.
///
/// ```no_run
/// # use ridethrough_transport::{Failure, probe};
/// # async fn example(probe: probe::Probe) -> Result<(), Failure> {
/// use ridethrough_transport::probe::Question;
///
/// let mut line = probe.connect().await?;
/// println!("TLS took {:?}", line.steps().secured);
///
/// let found = line.ask(Question::get()).await?;
/// println!("{} over {:?}", found.head.status, found.version);
/// # Ok(()) }
/// ```
pub struct Probe {
    destination: Arc<Destination>,
    dial: Arc<dyn Dial>,
    credentials: Option<Arc<dyn Credentials>>,
    connect_within: Duration,
}

/// What all requests of one probe share.
struct Destination {
    endpoint: Endpoint,
    headers: HeaderMap,
    cookies: Cookies,
}

impl Probe {
    /// Dials so, and sends these headers and a token of these credentials with each request.
    pub fn new(
        endpoint: Endpoint,
        dial: Arc<dyn Dial>,
        headers: HeaderMap,
        credentials: Option<Arc<dyn Credentials>>,
        connect_within: Duration,
    ) -> Self {
        let destination = Arc::new(Destination { endpoint, headers, cookies: Cookies::default() });
        Self { destination, dial, credentials, connect_within }
    }

    /// Returns the address of the server.
    pub fn endpoint(&self) -> &Endpoint {
        &self.destination.endpoint
    }

    /// Makes one connection.
    pub async fn connect(&self) -> Result<Line, Failure> {
        let dialed = timeout(self.connect_within, self.dial.dial(&self.destination.endpoint)).await;
        let connection =
            dialed.unwrap_or_else(|_| Err(Failure::not_sent(Cause::ConnectTimedOut)))?;
        let authorization = match &self.credentials {
            // A probe without a token finds out that one is wanted.
            Some(credentials) => credentials.token(None).await.ok().flatten(),
            None => None,
        };
        let authorization = authorization.and_then(|token| token.header());
        Line::new(connection, authorization, self.destination.clone()).await
    }
}

impl fmt::Debug for Probe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Probe")
            .field("endpoint", &self.destination.endpoint)
            .finish_non_exhaustive()
    }
}

/// A request to a server.
#[derive(Clone)]
pub struct Question {
    /// The HTTP method.
    pub method: Method,
    /// The headers, each of which replaces the probe's own of that name.
    pub headers: HeaderMap,
    /// The body.
    pub body: Bytes,
    /// The path and query to request instead of the endpoint's own.
    pub target: Option<String>,
}

impl Question {
    /// Creates a GET without headers of its own.
    pub fn get() -> Self {
        Self::of(Method::GET, Bytes::new())
    }

    /// Creates a request without headers of its own.
    pub fn of(method: Method, body: impl Into<Bytes>) -> Self {
        Self { method, headers: HeaderMap::new(), body: body.into(), target: None }
    }
}

impl fmt::Debug for Question {
    /// Headers and body may be secrets, so neither is printed.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Question").field("method", &self.method).finish_non_exhaustive()
    }
}

/// The answer of a server.
#[non_exhaustive]
pub struct Found {
    /// The head, as a client reads it.
    pub head: AnswerHead,
    /// The headers, as they came.
    pub headers: HeaderMap,
    /// The HTTP version that was used.
    pub version: http::Version,
    /// The body, not read yet.
    pub body: Box<dyn Body>,
}

impl fmt::Debug for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Found").field("head", &self.head).finish_non_exhaustive()
    }
}

/// One connection. Dropping it closes it, and ends a request on it.
pub struct Line {
    sender: Sender,
    steps: Steps,
    authorization: Option<HeaderValue>,
    destination: Arc<Destination>,
    task: AbortHandle,
}

enum Sender {
    Http1(http1::SendRequest<Full<Bytes>>),
    #[cfg(feature = "http2")]
    Http2(http2::SendRequest<Full<Bytes>>),
}

impl Line {
    async fn new(
        connection: Connection,
        authorization: Option<HeaderValue>,
        destination: Arc<Destination>,
    ) -> Result<Self, Failure> {
        let (steps, io) = (connection.steps, TokioIo::new(connection.io));
        let failed =
            |error: hyper::Error| Failure::not_sent(Cause::Reset).with_detail(error.to_string());
        let (sender, task) = match connection.speaks {
            Speaks::Http1 => {
                let builder = http1::Builder::new().max_buf_size(HEAD_LIMIT).handshake(io).await;
                let (sender, driving) = builder.map_err(failed)?;
                // Each request learns of a failure by itself.
                (Sender::Http1(sender), tokio::spawn(async { drop(driving.await) }))
            }
            #[cfg(not(feature = "http2"))]
            Speaks::Http2 => return Err(Failure::not_sent(Cause::Misconfigured)),
            #[cfg(feature = "http2")]
            Speaks::Http2 => {
                let mut builder = http2::Builder::new(TokioExecutor::new());
                let made = builder.max_header_list_size(HEAD_LIMIT as u32).handshake(io).await;
                let (sender, driving) = made.map_err(failed)?;
                (Sender::Http2(sender), tokio::spawn(async { drop(driving.await) }))
            }
        };
        Ok(Self { sender, steps, authorization, destination, task: task.abort_handle() })
    }

    /// Returns how the connection was made.
    pub const fn steps(&self) -> &Steps {
        &self.steps
    }

    /// Whether HTTP/2 was agreed on.
    pub const fn is_http2(&self) -> bool {
        !matches!(self.sender, Sender::Http1(_))
    }

    /// Waits until the next request can be sent; false if the connection closed instead.
    pub async fn is_ready(&mut self) -> bool {
        match &mut self.sender {
            Sender::Http1(sender) => sender.ready().await.is_ok(),
            #[cfg(feature = "http2")]
            Sender::Http2(sender) => sender.ready().await.is_ok(),
        }
    }

    /// Sends a request, once.
    pub async fn ask(&mut self, question: Question) -> Result<Found, Failure> {
        let target = question.target.clone();
        let request = self.request(question)?;
        let response = match &mut self.sender {
            Sender::Http1(sender) => sender.send_request(request).await,
            #[cfg(feature = "http2")]
            Sender::Http2(sender) => sender.send_request(request).await,
        };
        let (parts, incoming) =
            response.map_err(|error| of_send(&error)).map(Response::into_parts)?;
        self.destination.cookies.keep(JAR, &parts.headers);
        let asked = target.as_deref().unwrap_or_else(|| self.destination.endpoint.path());
        let head = read_head(&parts, &self.destination.endpoint, asked);
        let body = Box::new(Pieces(incoming));
        Ok(Found { head, headers: parts.headers, version: parts.version, body })
    }

    fn request(&self, question: Question) -> Result<Request<Full<Bytes>>, Failure> {
        let uri = self.destination.endpoint.uri(question.target.as_deref());
        let uri = uri.ok_or_else(|| Failure::not_sent(Cause::Misconfigured))?;
        let mut request = Request::new(Full::new(question.body));
        let headers = request.headers_mut();
        headers.extend(self.destination.headers.clone());
        if let Some(authorization) = &self.authorization {
            headers.insert(AUTHORIZATION, authorization.clone());
        }
        if let Some(cookies) = self.destination.cookies.header(JAR) {
            headers.insert(COOKIE, cookies);
        }
        *request.uri_mut() = if self.is_http2() {
            uri
        } else {
            if let Ok(host) = HeaderValue::try_from(self.destination.endpoint.authority()) {
                request.headers_mut().insert(HOST, host);
            }
            uri.path_and_query().cloned().map(Uri::from).unwrap_or_default()
        };
        for (name, value) in &question.headers {
            request.headers_mut().insert(name, value.clone());
        }
        *request.method_mut() = question.method;
        Ok(request)
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl fmt::Debug for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Line").field("steps", &self.steps).finish_non_exhaustive()
    }
}

/// A body as it arrives. Its connection lives no longer than its line.
struct Pieces(Incoming);

impl Body for Pieces {
    fn poll_chunk(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Bytes, Failure>>> {
        poll_data(&mut self.0, context)
    }
}

/// The one generation of a probe's cookies: it is one visitor, whatever sessions it opens.
const JAR: Generation = Generation::new(1);
/// The largest head that is read, as in the client.
const HEAD_LIMIT: usize = 32 * 1024;
