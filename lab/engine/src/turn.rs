//! One request and the ways to answer it, for HTTP/1.1 and HTTP/2.

use bytes::Bytes;
use http::{HeaderMap, Method};
use tokio::time::Instant;

mod raw;
mod reply;
mod stream;

pub use raw::Raw;
pub use reply::Reply;
pub use stream::Stream;

/// One request, read whole, and the means to answer it.
#[derive(Debug)]
pub struct Turn {
    /// The request.
    pub request: Request,
    /// The means to answer it.
    pub reply: Reply,
}

/// A request as it was received.
#[derive(Clone, Debug)]
pub struct Request {
    /// The connection it came on: the first that the server accepted is number one.
    pub connection: u64,
    /// When its last byte was read.
    pub at: Instant,
    /// The HTTP method.
    pub method: Method,
    /// Path and query.
    pub target: String,
    /// The headers; HTTP/2's `:authority` is not among them.
    pub headers: HeaderMap,
    /// The whole body.
    pub body: Bytes,
}
