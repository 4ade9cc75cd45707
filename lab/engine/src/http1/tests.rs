//! Which bytes leave in which write: a client cannot see that, so the wire records it.

use std::io;
use std::pin::Pin;
use std::sync::Mutex;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::Response;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::*;
use crate::lock::lock;
use crate::pipe::{Pipe, pipe};
use crate::staff::Service;
use crate::wire::Fuse;

#[tokio::test]
async fn a_whole_response_is_one_write() {
    let writes = writes_of(|turn: Turn| async move {
        turn.reply.respond(Response::new(Bytes::from_static(b"hello"))).await;
    });

    assert_eq!(writes.await, ["HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello"]);
}

#[tokio::test]
async fn the_last_bytes_and_the_end_of_a_stream_are_one_write() {
    let writes = writes_of(|turn: Turn| async move {
        let mut stream = turn.reply.open(Response::new(())).await;
        stream.send("one").await;
        stream.finish_with("two").await;
    });

    let head = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";
    assert_eq!(writes.await, [head, "3\r\none\r\n", "3\r\ntwo\r\n0\r\n\r\n"]);
}

#[tokio::test]
async fn an_end_apart_is_a_write_of_its_own() {
    let writes = writes_of(|turn: Turn| async move {
        let mut stream = turn.reply.open(Response::new(())).await;
        stream.send("one").await;
        stream.finish().await;
    });

    assert_eq!(writes.await[1..], ["3\r\none\r\n", "0\r\n\r\n"]);
}

/// Sends a service one request, closes, and returns what was written.
async fn writes_of(service: impl Service) -> Vec<String> {
    let (mut client, server) = pipe(1024);
    let connection = Arc::new(Connection::new(1, Fuse::of_pipe(&server)));
    let writes = Arc::default();
    let wire = Recorder { pipe: server, writes: Arc::clone(&writes) };
    client.write_all(b"GET / HTTP/1.1\r\n\r\n").await.unwrap();
    client.shutdown().await.unwrap();

    serve(Box::new(wire), connection, Staff::new(service)).await;

    std::mem::take(&mut *lock(&writes))
}

struct Recorder {
    pipe: Pipe,
    writes: Arc<Mutex<Vec<String>>>,
}

impl AsyncRead for Recorder {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.pipe).poll_read(context, buffer)
    }
}

impl AsyncWrite for Recorder {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        lock(&self.writes).push(String::from_utf8_lossy(bytes).into_owned());
        Pin::new(&mut self.pipe).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.pipe).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.pipe).poll_shutdown(context)
    }
}
