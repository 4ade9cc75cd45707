//! The part of an HTTP server that the race needs: it knows exactly when an answer has been written.

use std::net::IpAddr;

use anyhow::{Context, Result};
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;

/// A request.
pub(crate) struct Request {
    pub(crate) peer: IpAddr,
    pub(crate) method: String,
    /// The path and the query.
    pub(crate) target: String,
    pub(crate) bearer: Option<String>,
    pub(crate) body: String,
}

/// An answer.
pub(crate) struct Answer {
    status: u16,
    header: Option<(&'static str, String)>,
    body: String,
}

impl Answer {
    pub(crate) const fn empty(status: u16) -> Self {
        Self { status, header: None, body: String::new() }
    }

    pub(crate) fn json(status: u16, body: &Value) -> Self {
        let header = Some(("content-type", "application/json".to_owned()));
        Self { status, header, body: body.to_string() }
    }

    pub(crate) fn with(self, name: &'static str, value: String) -> Self {
        Self { header: Some((name, value)), ..self }
    }
}

/// A connection of one process.
pub(crate) struct Peer {
    stream: BufReader<TcpStream>,
    address: IpAddr,
}

impl Peer {
    pub(crate) fn new(stream: TcpStream, address: IpAddr) -> Self {
        Self { stream: BufReader::new(stream), address }
    }

    /// Reads the next request; `None` if there is no more.
    pub(crate) async fn request(&mut self) -> Result<Option<Request>> {
        let mut first = String::new();
        if self.stream.read_line(&mut first).await? == 0 {
            return Ok(None);
        }
        let mut words = first.split(' ');
        let method = words.next().context("no method")?.to_owned();
        let target = words.next().context("no target")?.to_owned();
        let (mut length, mut bearer) = (0, None);
        loop {
            let mut line = String::new();
            self.stream.read_line(&mut line).await?;
            let Some((name, value)) = line.trim_end().split_once(": ") else { break };
            match name.to_ascii_lowercase().as_str() {
                "content-length" => length = value.parse()?,
                "authorization" => bearer = value.strip_prefix("Bearer ").map(str::to_owned),
                _ => {}
            }
        }
        let mut body = vec![0; length];
        self.stream.read_exact(&mut body).await?;
        let body = String::from_utf8(body)?;
        Ok(Some(Request { peer: self.address, method, target, bearer, body }))
    }

    /// Writes an answer; when this returns, the kernel has all of it.
    pub(crate) async fn answer(&mut self, answer: &Answer) -> Result<()> {
        let mut text = format!("HTTP/1.1 {} X\r\n", answer.status);
        if let Some((name, value)) = &answer.header {
            text += &format!("{name}: {value}\r\n");
        }
        text += &format!("content-length: {}\r\n\r\n{}", answer.body.len(), answer.body);
        self.stream.write_all(text.as_bytes()).await?;
        Ok(self.stream.flush().await?)
    }
}

/// Returns the value of a parameter in a form or a query. Only URLs need decoding here.
pub(crate) fn parameter(text: &str, name: &str) -> Option<String> {
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
