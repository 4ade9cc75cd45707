//! HTTP/1.1 by hand: one connection, one request after the other.

use std::io;
use std::sync::Arc;

use bytes::{Buf, Bytes, BytesMut};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

/// A connection of any kind.
pub trait Duplex: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Duplex for T {}

/// A connection, or the reason why there is none.
pub type Dialed = io::Result<Box<dyn Duplex>>;

/// Connects to `host:port`.
pub(crate) type Dialer = Arc<dyn Fn(String) -> BoxFuture<'static, Dialed> + Send + Sync>;

pub(crate) struct WireConnection {
    io: Box<dyn Duplex>,
    read: BytesMut,
    pub(crate) authority: String,
    /// Whether it has served a request already.
    pub(crate) is_used: bool,
}

/// The head of an answer, and the way to its body.
pub(crate) struct WireReply {
    pub(crate) status: u16,
    headers: Vec<(String, String)>,
    pub(crate) body: WireBody,
}

pub(crate) struct WireBody {
    connection: WireConnection,
    frame: Frame,
    is_kept_alive: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Frame {
    /// How many bytes of this chunk are left; 0 before a size.
    Chunk(usize),
    Ended,
    Length(usize),
    UntilClose,
}

impl WireConnection {
    pub(crate) fn new(io: Box<dyn Duplex>, authority: String) -> Self {
        Self { io, read: BytesMut::new(), authority, is_used: false }
    }

    /// Whether nothing waits to be read: no byte, no end.
    pub(crate) fn is_quiet(&mut self) -> bool {
        let mut byte = [0];
        self.read.is_empty() && self.io.read(&mut byte).now_or_never().is_none()
    }

    /// Sends a request and reads the head of the answer to it.
    pub(crate) async fn ask(mut self, request: &[u8]) -> io::Result<WireReply> {
        self.io.write_all(request).await?;
        self.io.flush().await?;
        loop {
            let (status, headers) = self.head().await?;
            // A 1xx response is followed by the real one.
            if status >= 200 {
                self.is_used = true;
                return WireReply::new(status, headers, self);
            }
        }
    }

    async fn head(&mut self) -> io::Result<(u16, Vec<(String, String)>)> {
        loop {
            let mut headers = [httparse::EMPTY_HEADER; 64];
            let mut head = httparse::Response::new(&mut headers);
            let parsed = head.parse(&self.read).map_err(|error| bad(&error.to_string()))?;
            if let httparse::Status::Complete(length) = parsed {
                let text = |value: &[u8]| String::from_utf8_lossy(value).into_owned();
                let headers = head.headers.iter();
                let headers = headers.map(|it| (it.name.to_ascii_lowercase(), text(it.value)));
                let (status, headers) = (head.code.unwrap_or(0), headers.collect());
                self.read.advance(length);
                return Ok((status, headers));
            }
            if self.read.len() > MOST_HEAD {
                return Err(bad("a head that does not end"));
            }
            self.fill().await?;
        }
    }

    async fn fill(&mut self) -> io::Result<()> {
        match self.io.read_buf(&mut self.read).await? {
            0 => Err(io::ErrorKind::UnexpectedEof.into()),
            _ => Ok(()),
        }
    }

    async fn line(&mut self) -> io::Result<String> {
        loop {
            if let Some(end) = self.read.iter().position(|byte| *byte == b'\n') {
                let line = self.read.split_to(end + 1);
                return Ok(String::from_utf8_lossy(&line).trim().to_owned());
            }
            if self.read.len() > MOST_LINE {
                return Err(bad("a line that does not end"));
            }
            self.fill().await?;
        }
    }

    /// Reads at most this many of the next bytes.
    async fn some(&mut self, most: usize) -> io::Result<Bytes> {
        if self.read.is_empty() {
            self.fill().await?;
        }
        let length = self.read.len().min(most);
        Ok(self.read.split_to(length).freeze())
    }
}

impl WireReply {
    fn new(
        status: u16,
        headers: Vec<(String, String)>,
        connection: WireConnection,
    ) -> io::Result<Self> {
        let body = WireBody { connection, frame: Frame::Ended, is_kept_alive: true };
        let mut reply = Self { status, headers, body };
        let is = |name: &str, word: &str| {
            reply.header(name).is_some_and(|value| value.to_ascii_lowercase().contains(word))
        };
        let lengths = || reply.headers.iter().filter(|(it, _)| it == "content-length");
        if lengths().zip(lengths().skip(1)).any(|(one, next)| one != next) {
            return Err(bad("two lengths"));
        }
        let frame = match reply.header("content-length") {
            _ if status == 204 || status == 304 => Frame::Ended,
            _ if is("transfer-encoding", "chunked") => Frame::Chunk(0),
            Some(length) => Frame::Length(length.parse().map_err(|_| bad("a bad length"))?),
            None => Frame::UntilClose,
        };
        let is_kept_alive = frame != Frame::UntilClose && !is("connection", "close");
        reply.body.frame = frame;
        reply.body.is_kept_alive = is_kept_alive;
        Ok(reply)
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(it, _)| it == name).map(|(_, value)| value.as_str())
    }

    /// Returns the media type of the body, in lower case and without parameters.
    pub(crate) fn kind(&self) -> String {
        let kind = self.header("content-type").unwrap_or_default();
        kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
    }
}

impl WireBody {
    /// Returns the next piece of the body; `None` at its proper end.
    pub(crate) async fn piece(&mut self) -> io::Result<Option<Bytes>> {
        match self.frame {
            Frame::Ended | Frame::Length(0) => {
                self.frame = Frame::Ended;
                Ok(None)
            }
            Frame::Length(left) => {
                let piece = self.connection.some(left).await?;
                self.frame = Frame::Length(left - piece.len());
                Ok(Some(piece))
            }
            Frame::UntilClose => match self.connection.some(usize::MAX).await {
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                    self.frame = Frame::Ended;
                    Ok(None)
                }
                piece => piece.map(Some),
            },
            Frame::Chunk(0) => self.chunk().await,
            Frame::Chunk(left) => self.rest_of_chunk(left).await.map(Some),
        }
    }

    async fn chunk(&mut self) -> io::Result<Option<Bytes>> {
        let size = self.connection.line().await?;
        let size = size.split(';').next().unwrap_or_default().trim();
        let size = usize::from_str_radix(size, 16).map_err(|_| bad("a bad chunk size"))?;
        if size > 0 {
            return self.rest_of_chunk(size).await.map(Some);
        }
        while !self.connection.line().await?.is_empty() {}
        self.frame = Frame::Ended;
        Ok(None)
    }

    async fn rest_of_chunk(&mut self, left: usize) -> io::Result<Bytes> {
        let piece = self.connection.some(left).await?;
        let left = left - piece.len();
        self.frame = Frame::Chunk(left);
        if left == 0 && !self.connection.line().await?.is_empty() {
            return Err(bad("a chunk that is longer than it says"));
        }
        Ok(piece)
    }

    /// Returns the rest of the body, if it is not too long.
    pub(crate) async fn rest(&mut self, most: usize) -> io::Result<Vec<Bytes>> {
        let (mut pieces, mut length) = (Vec::new(), 0);
        while let Some(piece) = self.piece().await? {
            length += piece.len();
            if length > most {
                return Err(bad("a body that does not end"));
            }
            pieces.push(piece);
        }
        Ok(pieces)
    }

    /// Returns the connection, if the body has ended and it may be used again.
    pub(crate) fn into_connection(self) -> Option<WireConnection> {
        (self.frame == Frame::Ended && self.is_kept_alive).then_some(self.connection)
    }
}

fn bad(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what.to_owned())
}

const MOST_HEAD: usize = 64 << 10;
const MOST_LINE: usize = 8 << 10;
