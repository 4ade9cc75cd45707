//! A small HTTP implementation for the servers and the browser of these tests.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) query: BTreeMap<String, String>,
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) body: String,
}

impl Request {
    pub(crate) fn form(&self) -> BTreeMap<String, String> {
        pairs(&self.body)
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: String,
    pub(crate) delay: Duration,
    /// Whether the connection is closed instead of an answer.
    pub(crate) is_dropped: bool,
}

impl Answer {
    pub(crate) fn new(status: u16, body: impl Into<String>) -> Self {
        let (headers, delay) = (Vec::new(), Duration::ZERO);
        Self { status, headers, body: body.into(), delay, is_dropped: false }
    }

    pub(crate) fn json(status: u16, body: serde_json::Value) -> Self {
        Self::new(status, body.to_string()).with("content-type", "application/json")
    }

    pub(crate) fn dropped() -> Self {
        Self { is_dropped: true, ..Self::new(0, "") }
    }

    pub(crate) fn with(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    pub(crate) fn after(mut self, delay: Duration) -> Self {
        self.delay = delay;
        self
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(it, _)| it.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }

    fn to_bytes(&self) -> Vec<u8> {
        let mut text = format!("HTTP/1.1 {} X\r\n", self.status);
        for (name, value) in &self.headers {
            text += &format!("{name}: {value}\r\n");
        }
        text += &format!("content-length: {}\r\nconnection: close\r\n\r\n", self.body.len());
        text += &self.body;
        text.into_bytes()
    }
}

/// Serves on a port of its own until the runtime ends, and returns its origin.
pub(crate) async fn serve(answer: Arc<dyn Fn(Request) -> Answer + Send + Sync>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let origin = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let answer = answer.clone();
            tokio::spawn(async move {
                let Some(request) = read_request(&mut stream).await else { return };
                let answer = answer(request);
                tokio::time::sleep(answer.delay).await;
                if !answer.is_dropped {
                    let _ = stream.write_all(&answer.to_bytes()).await;
                    let _ = stream.shutdown().await;
                }
            });
        }
    });
    origin
}

async fn read_request(stream: &mut TcpStream) -> Option<Request> {
    let (head, body) = read_message(stream).await?;
    let mut lines = head.lines();
    let mut line = lines.next()?.split(' ');
    let (method, target) = (line.next()?.to_owned(), line.next()?);
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let headers = headers(lines).into_iter().collect();
    Some(Request { method, path: path.to_owned(), query: pairs(query), headers, body })
}

async fn read_message(stream: &mut TcpStream) -> Option<(String, String)> {
    let mut bytes = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = headers(head.lines().skip(1)).into_iter();
            let mut length = length.filter(|(name, _)| name == "content-length");
            let length = length.next().and_then(|(_, value)| value.parse().ok()).unwrap_or(0);
            if body.len() >= length {
                return Some((head.to_owned(), body.to_owned()));
            }
        }
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    }
}

fn headers<'a>(lines: impl Iterator<Item = &'a str>) -> Vec<(String, String)> {
    let header = |line: &str| {
        let (name, value) = line.split_once(':')?;
        Some((name.to_ascii_lowercase(), value.trim().to_owned()))
    };
    lines.filter_map(header).collect()
}

/// Requests a URL as a browser does, without following redirects.
pub(crate) async fn get(url: &str) -> Answer {
    let rest = url.strip_prefix("http://").expect("tests stay on this machine");
    let (host, target) = rest.split_once('/').unwrap_or((rest, ""));
    let request = format!("GET /{target} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n");
    send(host, &request).await
}

/// Sends these bytes and reads the answer.
pub(crate) async fn send(host: &str, request: &str) -> Answer {
    let mut stream = TcpStream::connect(host).await.unwrap();
    stream.write_all(request.as_bytes()).await.unwrap();
    let (head, body) = read_message(&mut stream).await.unwrap_or_default();
    let status = head.split(' ').nth(1).and_then(|it| it.parse().ok()).unwrap_or(0);
    Answer { headers: headers(head.lines().skip(1)), ..Answer::new(status, body) }
}

pub(crate) fn pairs(text: &str) -> BTreeMap<String, String> {
    let pair = |pair: &str| {
        let (name, value) = pair.split_once('=')?;
        Some((decode(name), decode(value)))
    };
    text.split('&').filter_map(pair).collect()
}

fn decode(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'+' => b' ',
            b'%' => {
                let digits = [rest.next().unwrap(), rest.next().unwrap()];
                u8::from_str_radix(std::str::from_utf8(&digits).unwrap(), 16).unwrap()
            }
            byte => byte,
        });
    }
    String::from_utf8(bytes).unwrap()
}

pub(crate) fn encode(text: &str) -> String {
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"-._~".contains(byte);
    let encoded = |byte: u8| {
        if plain(&byte) { (byte as char).to_string() } else { format!("%{byte:02X}") }
    };
    text.bytes().map(encoded).collect()
}
