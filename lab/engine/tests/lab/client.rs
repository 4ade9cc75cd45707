//! Clients that show exactly what a server did: raw HTTP/1.1, and `h2`.

use std::io;
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use h2::client::SendRequest;
use http::Request;
use ridethrough_lab::{Authority, Pipe, Protocol, Server};
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, RootCertStore};
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

/// An HTTP/1.1 connection that is read and written by hand.
pub(crate) struct Client<T = Pipe>(pub(crate) T);

/// A response as it stood on the wire.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Client {
    pub(crate) fn dial(server: &Server) -> Self {
        Self(server.connect().expect("the server is up"))
    }
}

impl<T: AsyncRead + AsyncWrite + Unpin> Client<T> {
    pub(crate) async fn send(&mut self, bytes: impl AsRef<[u8]>) {
        self.0.write_all(bytes.as_ref()).await.unwrap();
        self.0.flush().await.unwrap();
    }

    pub(crate) async fn get(&mut self, path: &str) -> Answer {
        self.send(format!("GET {path} HTTP/1.1\r\nhost: server.test\r\n\r\n")).await;
        self.answer().await.unwrap()
    }

    /// Asks an MCP server with these header lines, each with its line end.
    pub(crate) async fn post(&mut self, headers: &str, message: &Value) -> Answer {
        let body = message.to_string();
        let length = body.len();
        let head = format!("POST /mcp HTTP/1.1\r\ncontent-length: {length}\r\n{headers}\r\n");
        self.send(head + &body).await;
        self.answer().await.unwrap()
    }

    pub(crate) async fn head(&mut self) -> io::Result<String> {
        self.until("\r\n\r\n").await
    }

    pub(crate) async fn until(&mut self, end: &str) -> io::Result<String> {
        let mut read = String::new();
        while !read.ends_with(end) {
            read.push(char::from(self.0.read_u8().await?));
        }
        Ok(read)
    }

    pub(crate) async fn exactly(&mut self, length: usize) -> io::Result<String> {
        let mut read = vec![0; length];
        self.0.read_exact(&mut read).await?;
        Ok(String::from_utf8(read).unwrap())
    }

    /// Reads a whole response, by its length or its chunks.
    pub(crate) async fn answer(&mut self) -> io::Result<Answer> {
        let head = self.head().await?;
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
        let body = match length {
            Some(length) => self.exactly(length.parse().unwrap()).await?,
            None if head.contains("chunked") => self.chunks().await?,
            None => String::new(),
        };
        Ok(Answer { head, body })
    }

    async fn chunks(&mut self) -> io::Result<String> {
        let mut body = String::new();
        loop {
            let size = self.until("\r\n").await?;
            let size = usize::from_str_radix(size.trim(), 16).unwrap();
            body.push_str(&self.exactly(size).await?);
            self.until("\r\n").await?;
            if size == 0 {
                return Ok(body);
            }
        }
    }

    /// Whether the server has closed properly, once everything is read.
    pub(crate) async fn end(&mut self) -> io::Result<usize> {
        self.0.read_to_end(&mut Vec::new()).await
    }
}

impl Answer {
    pub(crate) fn status(&self) -> u16 {
        self.head[9..12].parse().unwrap()
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap()
    }
}

/// Does the client's side of a TLS handshake, trusting this authority.
pub(crate) async fn handshake<T: AsyncRead + AsyncWrite + Unpin>(
    raw: T,
    protocol: Protocol,
    trusted: &Authority,
) -> io::Result<TlsStream<T>> {
    let mut roots = RootCertStore::empty();
    roots.add(trusted.root_der()).unwrap();
    let mut config = ClientConfig::builder_with_provider(aws_lc_rs::default_provider().into())
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let alpn: &[u8] = if protocol.is_http2() { b"h2" } else { b"http/1.1" };
    config.alpn_protocols = vec![alpn.to_vec()];
    let name = ServerName::try_from("server.test").unwrap();
    TlsConnector::from(Arc::new(config)).connect(name, raw).await
}

/// Opens an HTTP/2 connection in the clear, with a task that keeps it going.
pub(crate) async fn http2(server: &Server) -> SendRequest<Bytes> {
    http2_over(server.connect().unwrap()).await
}

pub(crate) async fn http2_over<T>(stream: T) -> SendRequest<Bytes>
where
    T: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let (requests, connection) = h2::client::handshake(stream).await.unwrap();
    // How a connection ends is seen by the requests on it.
    tokio::spawn(async move { drop(connection.await) });
    requests.ready().await.unwrap()
}

/// Asks over HTTP/2 and reads the whole answer.
pub(crate) async fn http2_get(
    requests: &mut SendRequest<Bytes>,
    path: &str,
) -> Result<(u16, Bytes), h2::Error> {
    let (response, _) = requests.send_request(http2_request(path), true)?;
    let response = response.await?;
    let status = response.status().as_u16();
    let mut stream = response.into_body();
    let mut body = BytesMut::new();
    while let Some(piece) = stream.data().await {
        let piece = piece?;
        stream.flow_control().release_capacity(piece.len())?;
        body.extend_from_slice(&piece);
    }
    Ok((status, body.freeze()))
}

pub(crate) fn http2_request(path: &str) -> Request<()> {
    Request::get(format!("https://server.test{path}")).body(()).unwrap()
}
