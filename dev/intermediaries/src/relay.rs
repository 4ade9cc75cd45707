//! A TCP relay between the client and the proxy, which counts what the client sent.
//!
//! It reads the key of each call out of the bytes that pass, so that a repeat of ours and a repeat of the
//! proxy can be told apart. It changes nothing: a close is passed on as a close, a reset as a reset.

use std::io;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use tokio::time::Instant;

use crate::backend::Counts;

/// A relay before one proxy. Dropping it closes its port.
pub(crate) struct Relay {
    port: u16,
    seen: Seen,
    accepting: JoinHandle<()>,
}

/// What has passed.
#[derive(Clone, Debug, Default)]
pub(crate) struct Seen {
    sends: Counts,
    moments: Arc<Mutex<Moments>>,
}

#[derive(Debug, Default)]
struct Moments {
    sent: Vec<(String, Instant)>,
    /// From when on a refusal counts.
    watching: Option<Instant>,
    refused: Option<Instant>,
    /// When the first refusal came that speaks of more than one call.
    away: Option<Instant>,
}

impl Relay {
    pub(crate) async fn start(proxy: u16) -> io::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let port = listener.local_addr()?.port();
        let seen = Seen::default();
        let accepting = tokio::spawn(accept(listener, proxy, seen.clone()));
        Ok(Self { port, seen, accepting })
    }

    /// Returns the URL of the backend behind the proxy.
    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    pub(crate) const fn seen(&self) -> &Seen {
        &self.seen
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

impl Seen {
    /// Returns how often the client sent the call of this key.
    pub(crate) fn sends(&self, key: &str) -> u32 {
        self.sends.of(key)
    }

    /// Looks for the first refusal from here on.
    pub(crate) fn watch_for_refusal(&self) {
        self.moments().watching = Some(Instant::now());
    }

    /// Returns when the first refusal, or the first end without an answer, came from the proxy.
    pub(crate) fn refused(&self) -> Option<Instant> {
        self.moments().refused
    }

    /// Returns when the first refusal came from the proxy that is no 500: a server says that of one call, and no other
    /// is held for it.
    pub(crate) fn away(&self) -> Option<Instant> {
        self.moments().away
    }

    /// Returns when the call of this key was first sent.
    pub(crate) fn first_sent(&self, key: &str) -> Option<Instant> {
        self.moments().sent.iter().find(|(it, _)| it == key).map(|(_, at)| *at)
    }

    fn send(&self, key: &str) {
        self.sends.add(key);
        self.moments().sent.push((key.to_owned(), Instant::now()));
    }

    fn refuse(&self, refusal: Refusal) {
        let mut moments = self.moments();
        if moments.watching.is_some() {
            moments.refused.get_or_insert_with(Instant::now);
            if refusal == Refusal::OfAll {
                moments.away.get_or_insert_with(Instant::now);
            }
        }
    }

    fn moments(&self) -> MutexGuard<'_, Moments> {
        self.moments.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn accept(listener: TcpListener, proxy: u16, seen: Seen) {
    while let Ok((client, _)) = listener.accept().await {
        tokio::spawn(relay(client, proxy, seen.clone()));
    }
}

async fn relay(client: TcpStream, proxy: u16, seen: Seen) {
    let Ok(server) = TcpStream::connect(("127.0.0.1", proxy)).await else {
        // The client is told by a reset, as a port that is closed would.
        let _ = client.set_zero_linger();
        return;
    };
    let _ = (client.set_nodelay(true), server.set_nodelay(true));
    let (from_client, to_client) = client.into_split();
    let (from_server, to_server) = server.into_split();
    let is_call_out = AtomicBool::new(false);
    let up = copy(from_client, to_server, Direction::Up(KeyReader::default()), &seen, &is_call_out);
    let down = copy(from_server, to_client, Direction::Down, &seen, &is_call_out);
    // A failure of one direction ends both, and its reset is passed on when they are dropped.
    let _ = tokio::try_join!(up, down);
}

enum Direction {
    Down,
    Up(KeyReader),
}

async fn copy(
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    mut direction: Direction,
    seen: &Seen,
    is_call_out: &AtomicBool,
) -> io::Result<()> {
    let mut buffer = vec![0; 64 * 1024];
    loop {
        let read = match from.read(&mut buffer).await {
            Ok(0) => {
                // The end of a connection that rests refuses nothing.
                if matches!(direction, Direction::Down) && is_call_out.load(Relaxed) {
                    seen.refuse(Refusal::OfAll);
                }
                return to.shutdown().await;
            }
            Ok(read) => read,
            Err(error) => {
                if matches!(direction, Direction::Down) {
                    seen.refuse(Refusal::OfAll);
                }
                to.as_ref().set_zero_linger()?;
                return Err(error);
            }
        };
        let bytes = &buffer[..read];
        match &mut direction {
            Direction::Down => {
                is_call_out.store(false, Relaxed);
                if let Some(refusal) = refusal(bytes) {
                    seen.refuse(refusal);
                }
            }
            Direction::Up(keys) => keys.read(bytes, |key| {
                is_call_out.store(true, Relaxed);
                seen.send(key);
            }),
        }
        to.write_all(bytes).await?;
    }
}

/// What a proxy refuses, or the server behind it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Refusal {
    /// Every call, as far as a client can know.
    OfAll,
    /// One call.
    OfOne,
}

/// Returns the refusal if the bytes begin with the head of a response that is not a success.
fn refusal(bytes: &[u8]) -> Option<Refusal> {
    let status = bytes.starts_with(b"HTTP/1.").then(|| bytes.get(9..12))??;
    match status {
        b"500" => Some(Refusal::OfOne),
        [b'3'..=b'5', ..] => Some(Refusal::OfAll),
        _ => None,
    }
}

/// Finds the keys of calls in bytes that come in pieces.
#[derive(Default)]
struct KeyReader(Vec<u8>);

impl KeyReader {
    fn read(&mut self, bytes: &[u8], mut found: impl FnMut(&str)) {
        self.0.extend_from_slice(bytes);
        let mut done = 0;
        while let Some(at) = find(&self.0[done..], BEFORE_KEY) {
            let begin = done + at + BEFORE_KEY.len();
            let Some(length) = self.0[begin..].iter().position(|it| *it == b'"') else {
                self.0.drain(..done + at);
                return;
            };
            found(&String::from_utf8_lossy(&self.0[begin..begin + length]));
            done = begin + length;
        }
        // The beginning of what stands before a key may be at the end.
        let rest = self.0.len().saturating_sub(BEFORE_KEY.len() - 1);
        self.0.drain(..rest.max(done));
    }
}

fn find(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    bytes.windows(wanted.len()).position(|window| window == wanted)
}

const BEFORE_KEY: &[u8] = br#""key":""#;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_found_however_its_bytes_are_cut() {
        let text = br#"{"arguments":{"key":"k17","way":"crash"}}POST {"key":"k18"}"#;

        for cut in 0..text.len() {
            let mut reader = KeyReader::default();
            let mut keys = Vec::new();
            reader.read(&text[..cut], |key| keys.push(key.to_owned()));
            reader.read(&text[cut..], |key| keys.push(key.to_owned()));

            assert_eq!(keys, ["k17", "k18"], "cut at {cut}");
        }
    }

    #[test]
    fn only_a_head_that_is_no_success_is_a_refusal() {
        assert_eq!(refusal(b"HTTP/1.1 503 Service Unavailable\r\n"), Some(Refusal::OfAll));
        assert_eq!(refusal(b"HTTP/1.1 500 Internal Server Error\r\n"), Some(Refusal::OfOne));
        assert_eq!(refusal(b"HTTP/1.1 200 OK\r\n"), None);
        assert_eq!(refusal(b"{\"id\":5}"), None);
    }
}
