//! Pages for people's browsers, which a backend may have beside its MCP endpoints.
//!
//! A browser shows no token, so that whoever answers must know by other means whom it talks to. The `Host` of a
//! request was checked; its `Origin` was not.

use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Method, Request, StatusCode, Uri};
use http_body_util::{BodyExt, Limited};
use hyper::body::Incoming;
use tokio::time::timeout;

/// A request of a browser for a page.
#[derive(Clone)]
#[non_exhaustive]
pub struct PageRequest {
    /// The method.
    pub method: Method,
    /// The path, and the query behind it.
    pub uri: Uri,
    /// The headers.
    pub headers: HeaderMap,
    /// The body, of 16 KiB at most.
    pub body: Bytes,
}

/// The answer to a browser.
#[derive(Clone, Debug)]
pub struct Page {
    /// The status.
    pub status: StatusCode,
    /// All headers but the length.
    pub headers: HeaderMap,
    /// The body.
    pub body: String,
}

impl PageRequest {
    /// Creates a request, for tests of backends.
    pub const fn new(method: Method, uri: Uri, headers: HeaderMap, body: Bytes) -> Self {
        Self { method, uri, headers, body }
    }

    /// Reads a request to its end; or returns the status of the refusal.
    pub(crate) async fn read(request: Request<Incoming>) -> Result<Self, StatusCode> {
        let (head, body) = request.into_parts();
        let body = timeout(LONGEST, Limited::new(body, MOST_BODY).collect()).await;
        let body = body.map_err(|_| StatusCode::REQUEST_TIMEOUT)?;
        let body = body.map_err(|_| StatusCode::PAYLOAD_TOO_LARGE)?.to_bytes();
        Ok(Self::new(head.method, head.uri, head.headers, body))
    }
}

/// Leaves out everything that may be secret: query, cookies and body.
impl std::fmt::Debug for PageRequest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PageRequest").field("method", &self.method).finish_non_exhaustive()
    }
}

/// Forms of people are small.
const MOST_BODY: usize = 16 * 1024;
const LONGEST: Duration = Duration::from_secs(10);
