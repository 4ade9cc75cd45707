//! The part of an HTTP/1.1 server that a scripted one needs: it knows exactly when an answer has been written.

use std::io;

use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;

/// A connection of a client.
pub type Connection = BufReader<TcpStream>;

/// A request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Request {
    /// The method.
    pub method: String,
    /// The path and the query.
    pub target: String,
    /// Whether the connection may carry another request.
    pub is_persistent: bool,
    /// The headers, with their names in lower case.
    pub headers: Vec<(String, String)>,
    /// The whole body.
    pub body: Vec<u8>,
}

impl Request {
    /// Returns the path without the query.
    pub fn path(&self) -> &str {
        self.target.split('?').next().unwrap_or_default()
    }

    /// Returns the value of a header, whose name is in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(it, _)| it == name).map(|(_, value)| &**value)
    }

    /// Returns the token that it brings.
    pub fn bearer(&self) -> Option<&str> {
        self.header("authorization")?.strip_prefix("Bearer ")
    }

    /// Returns the body as JSON; `null` if it is none.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }
}

/// Reads the next request; `None` if there is none.
///
/// # Errors
///
/// Fails if the connection breaks.
pub async fn read(connection: &mut Connection) -> io::Result<Option<Request>> {
    let Some(line) = line(connection).await? else { return Ok(None) };
    let mut words = line.split(' ').map(str::to_owned);
    let mut word = || words.next().unwrap_or_default();
    let (method, target, version) = (word(), word(), word());
    let mut request = Request { method, target, ..Request::default() };
    loop {
        let header = self::line(connection).await?.ok_or(io::ErrorKind::UnexpectedEof)?;
        let Some((name, value)) = header.split_once(':') else { break };
        request.headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
    let says =
        |name, word: &str| request.header(name).is_some_and(|it| it.eq_ignore_ascii_case(word));
    request.is_persistent = match version.as_str() {
        "HTTP/1.1" => !says("connection", "close"),
        _ => says("connection", "keep-alive"),
    };
    if request.header("expect").is_some() {
        connection.write_all(b"HTTP/1.1 100 Continue\r\n\r\n").await?;
    }
    if request.header("transfer-encoding").is_some_and(|it| it.eq_ignore_ascii_case("chunked")) {
        request.body = chunks(connection).await?;
    } else {
        let length = request.header("content-length").and_then(|it| it.parse().ok());
        request.body = vec![0; length.unwrap_or_default()];
        connection.read_exact(&mut request.body).await?;
    }
    Ok(Some(request))
}

async fn chunks(connection: &mut Connection) -> io::Result<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let line = line(connection).await?.ok_or(io::ErrorKind::UnexpectedEof)?;
        let size = line.split(';').next().unwrap_or_default().trim();
        let size = usize::from_str_radix(size, 16).map_err(|_| io::ErrorKind::InvalidData)?;
        if size == 0 {
            while self::line(connection).await?.is_some_and(|trailer| !trailer.is_empty()) {}
            return Ok(body);
        }
        let begin = body.len();
        body.resize(begin + size, 0);
        connection.read_exact(&mut body[begin..]).await?;
        self::line(connection).await?;
    }
}

/// Returns the next line without its end; `None` if there is no byte.
async fn line(connection: &mut Connection) -> io::Result<Option<String>> {
    let mut line = Vec::new();
    if connection.read_until(b'\n', &mut line).await? == 0 {
        return Ok(None);
    }
    Ok(Some(String::from_utf8_lossy(&line).trim_end_matches(['\r', '\n']).to_owned()))
}

/// An answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    status: u16,
    headers: String,
    body: String,
}

impl Answer {
    /// An answer without a body.
    pub const fn empty(status: u16) -> Self {
        Self { status, headers: String::new(), body: String::new() }
    }

    /// An answer of JSON.
    pub fn json(status: u16, body: &Value) -> Self {
        Self {
            body: body.to_string(),
            ..Self::empty(status).with("content-type", "application/json")
        }
    }

    /// Adds a header.
    #[must_use]
    pub fn with(mut self, name: &str, value: &str) -> Self {
        self.headers += &format!("{name}: {value}\r\n");
        self
    }

    /// Writes it; when this returns, the kernel has all of it.
    ///
    /// # Errors
    ///
    /// Fails if the connection breaks.
    pub async fn write(&self, connection: &mut Connection) -> io::Result<()> {
        let Self { status, headers, body } = self;
        let length = body.len();
        let text =
            format!("HTTP/1.1 {status} X\r\n{headers}content-length: {length}\r\n\r\n{body}");
        connection.write_all(text.as_bytes()).await?;
        connection.flush().await
    }
}

/// Returns the value of a parameter in a form or a query. Only URLs need decoding here.
pub fn parameter(text: &str, name: &str) -> Option<String> {
    let value = text.split('&').find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='))?;
    Some(value.replace("%3A", ":").replace("%2F", "/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_parameter_is_found_by_its_whole_name() {
        let query = "redirect_uri=http%3A%2F%2F127.0.0.1%3A7%2Fcallback&state=abc";

        let found = parameter(query, "redirect_uri");

        assert_eq!(found.as_deref(), Some("http://127.0.0.1:7/callback"));
        assert_eq!(parameter(query, "uri"), None);
    }
}
