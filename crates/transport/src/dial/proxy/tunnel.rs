//! A connection through a proxy: one `CONNECT`, then bytes (RFC 9110, 9.3.6).
//!
//! It is a layer below TLS, so that a proxy sees the name of an `https` server and nothing else.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::{Buf, Bytes, BytesMut};
use futures_util::future::BoxFuture;
use ridethrough_core::{Cause, Failure, ProxyFault};
use secrecy::ExposeSecret;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadBuf};

use super::ProxyAddress;
use crate::dial::{ByteStream, Connection, Dial};
use crate::endpoint::Endpoint;

/// A dial that reaches a proxy by another dial, and the server through it.
pub(crate) struct Tunnel {
    below: Arc<dyn Dial>,
    proxy: ProxyAddress,
}

impl Tunnel {
    pub(crate) fn new(below: Arc<dyn Dial>, proxy: ProxyAddress) -> Self {
        Self { below, proxy }
    }

    /// Requests a tunnel, and returns the bytes that followed the proxy's answer.
    async fn open(&self, io: &mut dyn ByteStream, to: &Endpoint) -> Result<Bytes, Failure> {
        let request = self.request(to);
        let answer = async {
            io.write_all(&request).await?;
            io.flush().await?;
            read_head(io).await
        };
        let head = answer.await.map_err(|error| self.broken(&error))?;
        match head {
            Head::Status(status, rest) if (200..300).contains(&status) => Ok(rest),
            Head::Status(status, _) => Err(self.refused(status, to)),
            Head::TooLong => Err(self.misfit("its answer to CONNECT has a head without an end")),
            Head::Unreadable => Err(self.misfit("its answer to CONNECT is not HTTP/1.1")),
        }
    }

    fn request(&self, to: &Endpoint) -> Vec<u8> {
        let target = target(to);
        let mut request = format!("CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n").into_bytes();
        if let Some(authorization) = self.proxy.authorization() {
            request.extend_from_slice(b"Proxy-Authorization: ");
            request.extend_from_slice(authorization.expose_secret().as_bytes());
            request.extend_from_slice(b"\r\n");
        }
        request.extend_from_slice(b"\r\n");
        request
    }

    /// Returns the failure for a refusal: it says whether the server may be reached later.
    fn refused(&self, status: u16, to: &Endpoint) -> Failure {
        let words = match status {
            407 if self.proxy.authorization().is_some() => "refuses the name and password".into(),
            407 => "asks for a name and a password".into(),
            _ => format!("opens no tunnel to `{}`", target(to)),
        };
        let words = format!("`{}` {words}: status {status}", self.name());
        let cause = match status {
            504 => Cause::ConnectTimedOut,
            408 | 429 | 500..=599 => Cause::ConnectRefused,
            _ => Cause::Misconfigured,
        };
        Failure::not_sent(cause).of_proxy(ProxyFault::Refused, words)
    }

    fn misfit(&self, words: &str) -> Failure {
        let words = format!("`{}`: {words}", self.name());
        Failure::not_sent(Cause::Misconfigured).of_proxy(ProxyFault::Refused, words)
    }

    fn broken(&self, error: &io::Error) -> Failure {
        let cause = match error.kind() {
            io::ErrorKind::ConnectionReset => Cause::Reset,
            io::ErrorKind::TimedOut => Cause::ConnectTimedOut,
            _ => Cause::Closed,
        };
        let words = format!("`{}` was asked for a tunnel: {error}", self.name());
        Failure::not_sent(cause).of_proxy(ProxyFault::Refused, words)
    }

    /// Adds the proxy's name to a failure: the proxy was not reached, and not the server.
    fn unreached(&self, failure: Failure) -> Failure {
        let is_silent = matches!(
            failure.cause,
            Cause::ConnectRefused | Cause::ConnectTimedOut | Cause::NameUnknown
        );
        match &failure.detail {
            Some(detail) if !is_silent => {
                let words = format!("`{}`: {detail}", self.name());
                failure.of_proxy(ProxyFault::Refused, words)
            }
            _ if is_silent => failure.of_proxy(ProxyFault::Silent, format!("`{}`", self.name())),
            _ => failure.of_proxy(ProxyFault::Refused, format!("`{}`", self.name())),
        }
    }

    fn name(&self) -> &str {
        self.proxy.endpoint().authority()
    }
}

impl Dial for Tunnel {
    fn dial<'a>(&'a self, to: &'a Endpoint) -> BoxFuture<'a, Result<Connection, Failure>> {
        Box::pin(async move {
            let dialed = self.below.dial(self.proxy.endpoint()).await;
            let mut connection = dialed.map_err(|failure| self.unreached(failure))?;
            let first = self.open(&mut *connection.io, to).await?;
            if !first.is_empty() {
                connection.io = Box::new(Prefixed { first, io: connection.io });
            }
            Ok(connection)
        })
    }
}

/// Returns host and port in the form of CONNECT: always both, an IPv6 address in brackets.
fn target(to: &Endpoint) -> String {
    match to.host_to_resolve() {
        host if host.contains(':') => format!("[{host}]:{}", to.port()),
        host => format!("{host}:{}", to.port()),
    }
}

/// The proxy's answer.
enum Head {
    /// A status, and the bytes after the head.
    Status(u16, Bytes),
    TooLong,
    Unreadable,
}

/// Reads the answer to CONNECT. Its body, if it has one, is ignored.
async fn read_head(io: &mut dyn ByteStream) -> io::Result<Head> {
    let mut read = BytesMut::with_capacity(1024);
    loop {
        if let Some(end) = read.windows(4).position(|four| four == b"\r\n\r\n") {
            let Some(status) = status(&read) else { return Ok(Head::Unreadable) };
            return Ok(Head::Status(status, read.split_off(end + 4).freeze()));
        }
        if !is_http_so_far(&read) {
            return Ok(Head::Unreadable);
        }
        if read.len() >= HEAD_LIMIT {
            return Ok(Head::TooLong);
        }
        if io.read_buf(&mut read).await? == 0 {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "closed without an answer"));
        }
    }
}

/// Whether the bytes can still become an answer. A peer that speaks another protocol may wait for the client,
/// so this is checked early.
fn is_http_so_far(read: &[u8]) -> bool {
    let begun = read.len().min(BEGINNING.len());
    read[..begun] == BEGINNING[..begun]
}

fn status(head: &[u8]) -> Option<u16> {
    let line = head.split(|byte| *byte == b'\r').next()?;
    let line = std::str::from_utf8(line).ok()?;
    let (version, rest) = line.split_once(' ')?;
    let is_known = matches!(version, "HTTP/1.0" | "HTTP/1.1");
    let digits = rest.get(..3).filter(|it| it.bytes().all(|byte| byte.is_ascii_digit()))?;
    digits.parse().ok().filter(|_| is_known)
}

/// A stream whose first bytes were already read.
struct Prefixed {
    first: Bytes,
    io: Box<dyn ByteStream>,
}

impl AsyncRead for Prefixed {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.first.is_empty() {
            return Pin::new(&mut self.io).poll_read(context, buffer);
        }
        let count = self.first.len().min(buffer.remaining());
        buffer.put_slice(&self.first[..count]);
        self.first.advance(count);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Prefixed {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.io).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.io).poll_write_vectored(context, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_shutdown(context)
    }
}

const BEGINNING: &[u8] = b"HTTP/1.";
/// The largest head: a proxy adds a few lines of its own, and a peer that sends more is no proxy.
const HEAD_LIMIT: usize = 16 * 1024;

#[cfg(test)]
mod tests {
    use tokio::io::DuplexStream;

    use super::*;
    use crate::dial::Peek;

    #[tokio::test]
    async fn what_a_proxy_sends_with_its_answer_belongs_to_the_server() {
        let mut connection = dialed("HTTP/1.0 200 OK\r\n\r\nhello", usize::MAX).await.unwrap();

        let mut heard = String::new();
        connection.io.read_to_string(&mut heard).await.unwrap();

        assert_eq!(heard, "hello");
    }

    #[tokio::test]
    async fn an_answer_in_crumbs_is_read_to_its_end_and_no_further() {
        let mut connection = dialed("HTTP/1.1 204 No\r\nA: b\r\n\r\nhello", 1).await.unwrap();

        let mut heard = String::new();
        connection.io.read_to_string(&mut heard).await.unwrap();

        assert_eq!(heard, "hello");
    }

    #[tokio::test]
    async fn a_proxy_that_ends_within_its_answer_has_not_opened_a_tunnel() {
        let failure = dialed("HTTP/1.1 200 OK\r\nA: b\r\n", usize::MAX).await.unwrap_err();

        assert_eq!(failure.cause, Cause::Closed);
    }

    /// Dials through a proxy that answers this, in pieces of this size, and ends.
    async fn dialed(answer: &'static str, piece: usize) -> Result<Connection, Failure> {
        let proxy = ProxyAddress::parse("http://proxy.test").unwrap();
        let tunnel = Tunnel::new(Arc::new(Answers { answer, piece }), proxy);
        tunnel.dial(&Endpoint::parse("http://server.test/").unwrap()).await
    }

    struct Answers {
        answer: &'static str,
        piece: usize,
    }

    impl Dial for Answers {
        fn dial<'a>(&'a self, _: &'a Endpoint) -> BoxFuture<'a, Result<Connection, Failure>> {
            let (ours, theirs) = tokio::io::duplex(self.piece.min(1024));
            tokio::spawn(answer(theirs, self.answer));
            Box::pin(async { Ok(Connection::new(ours, Unseen)) })
        }
    }

    async fn answer(mut io: DuplexStream, answer: &'static str) {
        let mut asked = Vec::new();
        while !asked.ends_with(b"\r\n\r\n") {
            asked.push(io.read_u8().await.unwrap());
        }
        io.write_all(answer.as_bytes()).await.unwrap();
    }

    struct Unseen;

    impl Peek for Unseen {
        fn is_quiet(&self) -> bool {
            true
        }
    }
}
