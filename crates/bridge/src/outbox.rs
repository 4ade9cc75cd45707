//! The messages that are written to the host: whole, one to a line, in the order in which they were put.
//!
//! Putting a message never waits for the host to read. [`Outbox::is_full`] says when the host does not read,
//! and the router must then stop putting messages.

use std::io;
use std::time::Duration;

use bytes::{Buf, BufMut, BytesMut};
use ridethrough_upstream::Masker;
use ridethrough_wire::message::notification;
use ridethrough_wire::message::{Answer, Json};
use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::time::timeout;

/// The end at which the host reads. It is boxed, so that the loop is compiled once.
pub(crate) type Sink = Box<dyn AsyncWrite + Send + Unpin>;

/// Messages on their way to the host.
pub(crate) struct Outbox {
    sink: Sink,
    unwritten: BytesMut,
    is_flushed: bool,
    /// The secrets that errors and logs must not contain.
    masker: Masker,
}

impl Outbox {
    pub(crate) fn new(sink: Sink, masker: Masker) -> Self {
        Self { sink, unwritten: BytesMut::new(), is_flushed: true, masker }
    }

    /// Puts the answer to a request of the host, under its id; `None` if that could not be read.
    ///
    /// A result passes byte for byte: it is data, and the host may send names and addresses in it back later.
    /// An error is read by people and models, so secrets in it are masked.
    pub(crate) fn answer(&mut self, id: Option<&Json>, answer: &Answer) {
        let (key, masked, json) = match answer {
            Answer::Error(json) => {
                ("error", self.masker.secrets().masked_json(json.as_str()), json)
            }
            Answer::Result(json) => ("result", None, json),
        };
        let json = masked.as_deref().unwrap_or(json.as_str());
        let id = id.map_or("null", Json::as_str);
        self.put(&["{\"jsonrpc\":\"2.0\",\"id\":", id, ",\"", key, "\":", json, "}"]);
    }

    /// Puts a notification. The upstream's log is masked as errors are.
    pub(crate) fn notification(&mut self, method: &str, params: Option<&Json>) {
        let mut params = behind(params);
        if method == notification::LOG
            && let Some(masked) = self.masker.secrets().masked_json(&params)
        {
            params = masked;
        }
        self.put(&["{\"jsonrpc\":\"2.0\",\"method\":", &quoted(method), &params, "}"]);
    }

    /// Puts a request of the upstream, under a number of the bridge.
    pub(crate) fn request(&mut self, number: u64, method: &str, params: Option<&Json>) {
        self.put_request(&number.to_string(), method, params);
    }

    /// Puts a request of the bridge's own, under a text, so that it is never taken for one of the upstream.
    pub(crate) fn own_request(&mut self, id: &str, method: &str, params: &Json) {
        self.put_request(&quoted(id), method, Some(params));
    }

    fn put_request(&mut self, id: &str, method: &str, params: Option<&Json>) {
        let method = quoted(method);
        self.put(&[
            "{\"jsonrpc\":\"2.0\",\"id\":",
            id,
            ",\"method\":",
            &method,
            &behind(params),
            "}",
        ]);
    }

    /// Whether the host has left so much unread that nothing more should be put.
    pub(crate) fn is_full(&self) -> bool {
        self.unwritten.len() > ROOM
    }

    /// Writes some of the messages, or waits until there is one. Nothing is lost or written twice if the
    /// future is dropped.
    pub(crate) async fn drive(&mut self) -> io::Result<()> {
        if !self.unwritten.is_empty() {
            return self.write().await;
        }
        if !self.is_flushed {
            self.sink.flush().await?;
            self.is_flushed = true;
            return Ok(());
        }
        std::future::pending().await
    }

    /// Writes everything, as long as the host takes some of it at least every `pause`.
    pub(crate) async fn finish(&mut self, pause: Duration) -> io::Result<()> {
        while !self.unwritten.is_empty() || !self.is_flushed {
            timeout(pause, self.drive()).await??;
        }
        Ok(())
    }

    async fn write(&mut self) -> io::Result<()> {
        let part = &self.unwritten[..self.unwritten.len().min(PART)];
        let written = self.sink.write(part).await?;
        if written == 0 {
            return Err(io::ErrorKind::WriteZero.into());
        }
        self.unwritten.advance(written);
        self.is_flushed = false;
        if self.unwritten.is_empty() && self.unwritten.capacity() > KEPT {
            // Frees the memory that one large result took.
            self.unwritten = BytesMut::new();
        }
        Ok(())
    }

    fn put(&mut self, parts: &[&str]) {
        let begin = self.unwritten.len();
        self.unwritten.reserve(parts.iter().map(|part| part.len()).sum::<usize>() + 1);
        for part in parts {
            self.unwritten.put_slice(part.as_bytes());
        }
        // The upstream's JSON may contain line ends; in JSON they can only be white space.
        let line = &mut self.unwritten[begin..];
        let mut from = 0;
        while let Some(at) = memchr::memchr2(b'\n', b'\r', &line[from..]) {
            line[from + at] = b' ';
            from += at + 1;
        }
        self.unwritten.put_u8(b'\n');
    }
}

fn quoted(text: &str) -> String {
    serde_json::to_string(text).expect("a string is JSON")
}

fn behind(params: Option<&Json>) -> String {
    params.map(|params| format!(",\"params\":{}", params.as_str())).unwrap_or_default()
}

/// The bound on unread messages; several times the largest message that is passed on.
const ROOM: usize = 64 << 20;
/// The size of one write: as much as a pipe holds, so that a slow reader is seen to read.
const PART: usize = 64 << 10;
/// The capacity that an empty outbox keeps for the next messages.
const KEPT: usize = 1 << 20;

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, DuplexStream, duplex};

    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[tokio::test]
    async fn a_message_is_one_line_whatever_its_layout() {
        let (mut outbox, host) = read_by_a_host();
        let result = Json::new("{\n  \"text\": \"a\\nb\",\r\n  \"n\": 1.10\n}").unwrap();
        let id = Json::new("\"x\"").unwrap();

        outbox.answer(Some(&id), &Answer::Result(result));
        let text = heard(outbox, host).await;
        assert_eq!(
            text,
            "{\"jsonrpc\":\"2.0\",\"id\":\"x\",\"result\":{   \"text\": \"a\\nb\",    \"n\": 1.10 }}\n"
        );
    }

    #[tokio::test]
    async fn messages_have_the_members_that_they_should() {
        let (mut outbox, host) = read_by_a_host();
        let params = Json::new("[1]").unwrap();

        outbox.notification("a\"b", Some(&params));
        outbox.notification("n", None);
        outbox.request(7, "m", Some(&params));
        outbox.answer(None, &Answer::refusal(-1, "no"));
        let text = heard(outbox, host).await;
        assert_eq!(
            text.lines().collect::<Vec<_>>(),
            [
                r#"{"jsonrpc":"2.0","method":"a\"b","params":[1]}"#,
                r#"{"jsonrpc":"2.0","method":"n"}"#,
                r#"{"jsonrpc":"2.0","id":7,"method":"m","params":[1]}"#,
                r#"{"jsonrpc":"2.0","id":null,"error":{"code":-1,"message":"no"}}"#,
            ]
        );
    }

    fn read_by_a_host() -> (Outbox, DuplexStream) {
        let (host, sink) = duplex(1 << 16);
        (Outbox::new(Box::new(sink), Masker::default()), host)
    }

    async fn heard(mut outbox: Outbox, mut host: DuplexStream) -> String {
        outbox.finish(SECOND).await.unwrap();
        drop(outbox);
        let mut text = String::new();
        host.read_to_string(&mut text).await.unwrap();
        text
    }
}
