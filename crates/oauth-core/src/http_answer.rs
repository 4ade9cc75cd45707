//! The answer to an HTTP request, as `oauth` hands it in.

use std::fmt;
use std::time::Duration;

use http::StatusCode;

/// An HTTP answer, read to its end.
///
/// Bodies of token endpoints hold secrets: `Debug` shows their length only.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct HttpAnswer {
    /// The status.
    pub status: StatusCode,
    /// `Content-Type` as it was sent.
    pub content_type: Option<String>,
    /// `Retry-After`, with a date already turned into a duration.
    pub retry_after: Option<Duration>,
    /// `DPoP-Nonce`.
    pub dpop_nonce: Option<String>,
    /// The body. A body that is longer than [`HttpAnswer::LONGEST_BODY`] is not read.
    pub body: Vec<u8>,
}

impl HttpAnswer {
    /// The most bytes of a body: no document and no token answer is longer, so reading may stop there.
    pub const LONGEST_BODY: usize = 1 << 20;

    /// Creates an answer with this status and body and no headers.
    pub fn new(status: StatusCode, body: impl Into<Vec<u8>>) -> Self {
        Self { status, content_type: None, retry_after: None, dpop_nonce: None, body: body.into() }
    }

    /// Sets the content type.
    #[must_use]
    pub fn with_content_type(mut self, content_type: impl Into<String>) -> Self {
        self.content_type = Some(content_type.into());
        self
    }

    /// Sets `Retry-After`.
    #[must_use]
    pub const fn with_retry_after(mut self, retry_after: Duration) -> Self {
        self.retry_after = Some(retry_after);
        self
    }

    /// Sets `DPoP-Nonce`.
    #[must_use]
    pub fn with_dpop_nonce(mut self, nonce: impl Into<String>) -> Self {
        self.dpop_nonce = Some(nonce.into());
        self
    }

    /// Whether the server is in trouble, so that asking again later may help.
    pub fn is_transient(&self) -> bool {
        is_transient(self.status)
    }
}

impl fmt::Debug for HttpAnswer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let length = self.body.len();
        write!(f, "HttpAnswer({}, {:?}, {length} bytes)", self.status, self.content_type)
    }
}

/// Whether this status means a server in trouble, and nothing about the request.
fn is_transient(status: StatusCode) -> bool {
    status.is_server_error()
        || [StatusCode::REQUEST_TIMEOUT, StatusCode::TOO_EARLY, StatusCode::TOO_MANY_REQUESTS]
            .contains(&status)
}

/// The outcome of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fetched {
    /// The server answered.
    Answer(HttpAnswer),
    /// There is no answer: no connection, a time-out, a broken body. The text is for people.
    Failure(String),
}
