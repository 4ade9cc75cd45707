//! Reads HTTP/1.1 requests by hand: only what proxies send to the backend.

use std::io;

use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;

/// A request.
#[derive(Debug, Default)]
pub(super) struct HttpRequest {
    pub(super) method: String,
    pub(super) path: String,
    /// Whether the connection may carry another request.
    pub(super) is_persistent: bool,
    pub(super) session: Option<String>,
    pub(super) body: Vec<u8>,
}

#[derive(Default)]
struct Framing {
    length: usize,
    is_chunked: bool,
    wants_continue: bool,
}

/// Reads the next request; `None` if there is none.
pub(super) async fn read(stream: &mut BufReader<TcpStream>) -> io::Result<Option<HttpRequest>> {
    let Some(line) = line(stream).await? else { return Ok(None) };
    let mut words = line.split(' ');
    let mut word = || words.next().unwrap_or_default().to_owned();
    let (method, path, version) = (word(), word(), word());
    let is_persistent = version == "HTTP/1.1";
    let mut request = HttpRequest { method, path, is_persistent, ..HttpRequest::default() };
    let mut framing = Framing::default();
    loop {
        let header = self::line(stream).await?.ok_or(io::ErrorKind::UnexpectedEof)?;
        let Some((name, value)) = header.split_once(':') else { break };
        note(&mut request, &mut framing, &name.to_ascii_lowercase(), value.trim());
    }
    if framing.wants_continue {
        stream.write_all(b"HTTP/1.1 100 Continue\r\n\r\n").await?;
    }
    if framing.is_chunked {
        request.body = chunks(stream).await?;
    } else {
        request.body = vec![0; framing.length];
        stream.read_exact(&mut request.body).await?;
    }
    Ok(Some(request))
}

fn note(request: &mut HttpRequest, framing: &mut Framing, name: &str, value: &str) {
    match name {
        "connection" if value.eq_ignore_ascii_case("close") => request.is_persistent = false,
        "connection" if value.eq_ignore_ascii_case("keep-alive") => request.is_persistent = true,
        "content-length" => framing.length = value.parse().unwrap_or_default(),
        "expect" => framing.wants_continue = true,
        "mcp-session-id" => request.session = Some(value.to_owned()),
        "transfer-encoding" => framing.is_chunked = value.eq_ignore_ascii_case("chunked"),
        _ => {}
    }
}

async fn chunks(stream: &mut BufReader<TcpStream>) -> io::Result<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let line = line(stream).await?.ok_or(io::ErrorKind::UnexpectedEof)?;
        let size = line.split(';').next().unwrap_or_default().trim();
        let size = usize::from_str_radix(size, 16).map_err(|_| io::ErrorKind::InvalidData)?;
        if size == 0 {
            while self::line(stream).await?.is_some_and(|trailer| !trailer.is_empty()) {}
            return Ok(body);
        }
        let begin = body.len();
        body.resize(begin + size, 0);
        stream.read_exact(&mut body[begin..]).await?;
        self::line(stream).await?;
    }
}

/// Returns the next line without its end; `None` if there is no byte.
async fn line(stream: &mut BufReader<TcpStream>) -> io::Result<Option<String>> {
    let mut line = Vec::new();
    if stream.read_until(b'\n', &mut line).await? == 0 {
        return Ok(None);
    }
    Ok(Some(String::from_utf8_lossy(&line).trim_end_matches(['\r', '\n']).to_owned()))
}
