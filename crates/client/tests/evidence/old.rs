//! The server of these tests over HTTP+SSE of 2024-11-05: a GET opens the stream that brings the answers, and
//! its first event names the address to POST to.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

use crate::case::Reply;

/// The open streams, by their sessions.
#[derive(Clone, Default)]
pub(crate) struct Streams(Arc<Mutex<BTreeMap<String, UnboundedSender<String>>>>);

impl Streams {
    /// Serves a stream until the client hangs up.
    pub(crate) async fn play(&self, mut io: impl AsyncRead + AsyncWrite + Unpin) {
        let (sender, mut said) = unbounded_channel();
        let session = {
            let mut streams = self.0.lock().unwrap();
            let session = format!("stream-{}", streams.len() + 1);
            streams.insert(session.clone(), sender);
            session
        };
        let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
        let endpoint = chunk(&format!("event: endpoint\ndata: {MESSAGES}?session={session}\n\n"));
        let mut next = Some(format!("{head}{endpoint}"));
        while let Some(text) = next {
            if io.write_all(text.as_bytes()).await.is_err() {
                return;
            }
            next = tokio::select! {
                event = said.recv() => event.map(|event| chunk(&event)),
                _ = io.read_u8() => None,
            };
        }
    }

    /// Puts an answer on the stream of its session, and says that the request was accepted. A refusal
    /// answers the POST itself, and so does an odd answer that is no event stream.
    pub(crate) fn answer(&self, session: &str, reply: Reply) -> Reply {
        let is_success = (200..300).contains(&reply.status);
        let is_for_stream = !reply.is_odd || reply.is_event_stream();
        if !is_success || !is_for_stream || reply.body.is_empty() {
            return reply;
        }
        let event = if reply.is_event_stream() {
            reply.body
        } else {
            format!("event: message\ndata: {}\n\n", reply.body)
        };
        let streams = self.0.lock().unwrap();
        // A client that has hung up misses the event.
        let _ = streams.get(session).expect("a session is a stream").send(event);
        Reply::status(202)
    }
}

fn chunk(text: &str) -> String {
    format!("{:x}\r\n{text}\r\n", text.len())
}

/// The path that messages are posted to.
pub(crate) const MESSAGES: &str = "/messages";
