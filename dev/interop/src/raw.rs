//! Plain HTTP: one request on a connection, its whole answer, and no recovery.
//!
//! It shows what a server answers to an unknown session, which our own client hides.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::partner::{Verdict, expect, words};
use crate::surface::Question;

/// A session without a client.
pub(crate) struct RawSession {
    port: u16,
    id: String,
}

impl RawSession {
    /// Opens a session with the server on this port.
    pub(crate) async fn open(port: u16) -> Verdict<Self> {
        let params = json!({
            "protocolVersion": VERSION,
            "capabilities": {},
            "clientInfo": { "name": "interop-raw", "version": "1" },
        });
        let answer = RawRequest::post(None, request("initialize", params)).send(port).await?;
        let id = answer.header("mcp-session-id").unwrap_or_default().to_owned();
        expect(!id.is_empty(), || format!("`initialize` gave no session: {}", answer.words("")))?;
        let session = Self { port, id };
        let initialized = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        let answer = RawRequest::post(Some(&session.id), initialized).send(port).await?;
        expect(answer.status == 202, || format!("`initialized`: {}", answer.words("")))?;
        Ok(session)
    }

    /// Calls a tool in this session.
    pub(crate) async fn calls(&self, question: &Question) -> Verdict<Answer> {
        let params = json!({ "name": question.tool, "arguments": question.arguments });
        self.posts(request("tools/call", params)).await
    }

    pub(crate) async fn pings(&self) -> Verdict<Answer> {
        self.posts(request("ping", json!({}))).await
    }

    async fn posts(&self, message: Value) -> Verdict<Answer> {
        RawRequest::post(Some(&self.id), message).send(self.port).await
    }

    /// Ends the session by DELETE, on a connection of its own.
    pub(crate) async fn deletes(&self) -> Verdict<Answer> {
        delete(self.port, &self.id).await
    }

    /// Returns an answer in words, without what differs from run to run.
    pub(crate) fn words(&self, answer: &Answer) -> String {
        answer.words(&self.id)
    }
}

/// Ends any session by DELETE.
pub(crate) async fn delete(port: u16, session: &str) -> Verdict<Answer> {
    RawRequest { method: "DELETE", session: Some(session), body: String::new() }.send(port).await
}

fn request(method: &str, params: Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": "raw", "method": method, "params": params })
}

struct RawRequest<'a> {
    method: &'static str,
    session: Option<&'a str>,
    body: String,
}

impl<'a> RawRequest<'a> {
    fn post(session: Option<&'a str>, message: Value) -> Self {
        Self { method: "POST", session, body: message.to_string() }
    }

    async fn send(&self, port: u16) -> Verdict<Answer> {
        let Self { method, session, body } = self;
        let mut text = format!(
            "{method} /mcp HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\nconnection: close\r\n\
             accept: application/json, text/event-stream\r\ncontent-length: {}\r\n",
            body.len()
        );
        if *method == "POST" {
            text.push_str("content-type: application/json\r\n");
        }
        if let Some(session) = session {
            text.push_str(&format!(
                "mcp-session-id: {session}\r\nmcp-protocol-version: {VERSION}\r\n"
            ));
        }
        let mut connection = TcpStream::connect(("127.0.0.1", port)).await.map_err(words)?;
        connection.write_all(format!("{text}\r\n{body}").as_bytes()).await.map_err(words)?;
        let mut bytes = Vec::new();
        let end = timeout(PATIENCE, read(&mut connection, &mut bytes)).await;
        Answer::read(&bytes, end.unwrap_or(End::Open))
    }
}

/// Reads an answer to its end. Some servers keep a connection open that should be closed.
async fn read(connection: &mut TcpStream, bytes: &mut Vec<u8>) -> End {
    while !is_whole(bytes) {
        match connection.read_buf(bytes).await {
            Ok(0) if is_begun(bytes) => return End::Cut,
            Ok(0) => return End::Whole,
            Ok(_) => {}
            // Bytes that came before a reset still count.
            Err(_) => return End::Cut,
        }
    }
    End::Whole
}

/// Whether everything that a head announces is there. A body without a length ends with its connection.
fn is_whole(bytes: &[u8]) -> bool {
    let text = String::from_utf8_lossy(bytes);
    let Some((head, body)) = text.split_once("\r\n\r\n") else { return false };
    match Length::of(head) {
        Length::Bytes(length) => body.len() >= length,
        Length::Chunks => body == "0\r\n\r\n" || body.ends_with("\r\n0\r\n\r\n"),
        Length::Unknown => false,
    }
}

/// Whether a close would cut the answer off: its head is incomplete, or announces where its body ends.
fn is_begun(bytes: &[u8]) -> bool {
    let text = String::from_utf8_lossy(bytes);
    text.split_once("\r\n\r\n").is_none_or(|(head, _)| !matches!(Length::of(head), Length::Unknown))
}

/// How a head marks the end of its body.
enum Length {
    Bytes(usize),
    Chunks,
    Unknown,
}

impl Length {
    fn of(head: &str) -> Self {
        let head = head.to_ascii_lowercase();
        if head.contains("\r\ntransfer-encoding: chunked") {
            return Self::Chunks;
        }
        // A status that has no body ends with its head.
        if head.starts_with("http/1.1 204") {
            return Self::Bytes(0);
        }
        let length = head.lines().find_map(|line| line.strip_prefix("content-length:"));
        length.and_then(|it| it.trim().parse().ok()).map_or(Self::Unknown, Self::Bytes)
    }
}

/// The state of a connection when its answer was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// The connection ended before the answer did.
    Cut,
    /// More was to come when the time was over.
    Open,
    Whole,
}

/// An answer, byte for byte.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    headers: Vec<(String, String)>,
    body: String,
    end: End,
}

impl Answer {
    fn read(bytes: &[u8], end: End) -> Verdict<Self> {
        let text = String::from_utf8_lossy(bytes);
        let Some((head, body)) = text.split_once("\r\n\r\n") else {
            let body = text.into_owned();
            return Ok(Self { status: 0, headers: Vec::new(), body, end });
        };
        let mut lines = head.lines();
        let status = lines.next().and_then(|line| line.split(' ').nth(1));
        let status = status.and_then(|it| it.parse().ok()).ok_or("an answer without a status")?;
        let headers: Vec<_> = lines
            .filter_map(|line| line.split_once(':'))
            .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
            .collect();
        let mut answer = Self { status, headers, body: String::new(), end };
        let is_chunked = answer.header("transfer-encoding") == Some("chunked");
        answer.body = if is_chunked { unchunked(body) } else { body.to_owned() };
        Ok(answer)
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(it, _)| it == name).map(|(_, value)| value.as_str())
    }

    /// Whether it contains a JSON-RPC result.
    pub(crate) fn is_result(&self) -> bool {
        self.status == 200 && self.body.contains(r#""result""#)
    }

    /// Status, headers and body in one line. `secret` and other texts that differ from run to run, such as
    /// dates and event ids, are replaced.
    pub(crate) fn words(&self, secret: &str) -> String {
        let masked = |text: &str| match secret {
            "" => text.to_owned(),
            secret => text.replace(secret, "…"),
        };
        if self.status == 0 {
            return format!("no answer{}", self.ending());
        }
        let mut words = self.status.to_string();
        for (name, value) in &self.headers {
            if !OF_THE_CONNECTION.contains(&name.as_str()) {
                words.push_str(&format!("; {name}: {}", masked(value)));
            }
        }
        let lines = self.body.lines().map(|line| match line.strip_prefix("id:") {
            Some(_) => "id: …".to_owned(),
            None => masked(line.trim_end()),
        });
        // Keep-alive comments come at any time, so they are left out.
        let lines: Vec<_> =
            lines.filter(|line| !line.is_empty() && !line.starts_with(':')).collect();
        let body = if lines.is_empty() {
            "; no body".to_owned()
        } else {
            format!("; `{}`", lines.join(" ⏎ "))
        };
        words + &body + self.ending()
    }

    const fn ending(&self) -> &'static str {
        match self.end {
            End::Cut => "; then the connection breaks",
            End::Open => "; left open",
            End::Whole => "",
        }
    }
}

/// Returns a chunked body, as far as it came.
fn unchunked(mut rest: &str) -> String {
    let mut body = String::new();
    while let Some((size, after)) = rest.split_once("\r\n") {
        let size = usize::from_str_radix(size.trim(), 16).unwrap_or(0);
        let Some(chunk) = after.get(..size).filter(|chunk| !chunk.is_empty()) else { break };
        body.push_str(chunk);
        rest = after[size..].trim_start_matches("\r\n");
    }
    body
}

/// The newest revision that has sessions.
const VERSION: &str = "2025-11-25";
/// How long to wait for an answer: longer than any call here takes.
const PATIENCE: Duration = Duration::from_secs(4);
/// Headers that say nothing about the session.
const OF_THE_CONNECTION: &[&str] = &[
    "access-control-allow-origin",
    "access-control-expose-headers",
    "cache-control",
    "connection",
    "content-length",
    "date",
    "etag",
    "keep-alive",
    "server",
    "transfer-encoding",
    "vary",
    "x-accel-buffering",
    "x-powered-by",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_told_without_what_is_another_in_each_run() {
        let bytes = b"HTTP/1.1 404 Not Found\r\nDate: now\r\nX-Session: s1\r\n\
                      content-type: text/plain\r\n\r\nno s1\n";

        let answer = Answer::read(bytes, End::Whole).unwrap();

        assert_eq!(answer.words("s1"), "404; x-session: …; content-type: text/plain; `no …`");
    }

    #[test]
    fn a_body_in_chunks_is_put_together_and_its_event_ids_are_masked() {
        let bytes = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n\
                      6\r\nid: 7\n\r\n6\r\ndata: \r\n1\r\n\n\r\n0\r\n\r\n";

        let answer = Answer::read(bytes, End::Whole).unwrap();

        assert_eq!(answer.body, "id: 7\ndata: \n");
        assert_eq!(answer.words(""), "200; `id: … ⏎ data:`");
    }

    #[test]
    fn an_answer_is_whole_when_all_that_its_head_announces_is_there() {
        let chunked = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nab\r\n";
        let counted = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\na";

        assert!(!is_whole(chunked.as_bytes()) && is_begun(chunked.as_bytes()));
        assert!(is_whole(format!("{chunked}0\r\n\r\n").as_bytes()));
        assert!(!is_whole(counted.as_bytes()));
        assert!(is_whole(format!("{counted}b").as_bytes()));
        assert!(is_whole(b"HTTP/1.1 204 No Content\r\n\r\n"));
        assert!(!is_begun(b"HTTP/1.1 200 OK\r\n\r\nabc"));
    }

    #[test]
    fn a_connection_that_brings_nothing_is_no_answer() {
        let answer = Answer::read(b"", End::Cut).unwrap();

        assert_eq!(answer.words(""), "no answer; then the connection breaks");
    }
}
