//! Every bad way to answer, as an HTTP/1.1 client sees it.

use std::io::ErrorKind;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::Response;
use ridethrough_lab::{Protocol, Reply, Server, Turn};
use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;
use tokio::sync::Notify;

use crate::client::{self, Client};

#[tokio::test]
async fn a_reset_is_a_reset_on_every_http1_carrier() {
    let server = Server::new(Protocol::Http1, |turn: Turn| async move { turn.reply.reset() });
    let mut client = Client::dial(&server);
    client.send(REQUEST).await;
    assert_eq!(client.end().await.unwrap_err().kind(), ErrorKind::ConnectionReset, "pipe");

    let address = server.listen().await.unwrap();
    let mut client = Client(TcpStream::connect(address).await.unwrap());
    client.send(REQUEST).await;
    assert_eq!(client.end().await.unwrap_err().kind(), ErrorKind::ConnectionReset, "socket");

    let server = Server::new(Protocol::Http1Tls, |turn: Turn| async move { turn.reply.reset() });
    let raw = TcpStream::connect(server.listen().await.unwrap()).await.unwrap();
    let secured = client::handshake(raw, server.protocol(), server.authority()).await;
    let mut client = Client(secured.unwrap());
    client.send(REQUEST).await;
    assert_eq!(client.end().await.unwrap_err().kind(), ErrorKind::ConnectionReset, "TLS");
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_is_cut_ends_without_its_last_chunk() {
    let server = Server::new(Protocol::Http1, |turn: Turn| async move {
        let mut stream = turn.reply.open(Response::new(())).await;
        stream.send("half").await;
        stream.cut().await;
    });
    let mut client = Client::dial(&server);

    client.send(REQUEST).await;

    client.head().await.unwrap();
    let mut rest = String::new();
    client.0.read_to_string(&mut rest).await.unwrap();
    assert_eq!(rest, "4\r\nhalf\r\n");
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_is_dropped_is_cut() {
    let server = Server::new(Protocol::Http1, |turn: Turn| async move {
        turn.reply.open(Response::new(())).await.send("half").await;
    });
    let mut client = Client::dial(&server);

    client.send(REQUEST).await;

    client.head().await.unwrap();
    assert_eq!(client.end().await.unwrap(), "4\r\nhalf\r\n".len());
}

#[tokio::test(start_paused = true)]
async fn a_request_that_nobody_answers_ends_in_a_close() {
    for service in [drop_it, close_it] {
        let server = Server::new(Protocol::Http1, move |turn: Turn| service(turn.reply));
        let mut client = Client::dial(&server);

        client.send(REQUEST).await;

        assert_eq!(client.end().await.unwrap(), 0);
    }
}

#[tokio::test(start_paused = true)]
async fn a_held_request_is_let_go_when_the_client_hangs_up() {
    let let_go = Arc::new(Notify::new());
    let noted = let_go.clone();
    let server = Server::new(Protocol::Http1, move |turn: Turn| {
        let noted = noted.clone();
        async move {
            turn.reply.hold().await;
            noted.notify_one();
        }
    });
    let mut client = Client::dial(&server);
    client.send(REQUEST).await;
    let early = tokio::time::timeout(Duration::from_secs(3600), let_go.notified()).await;
    assert!(early.is_err(), "let go before the client hung up");
    assert_eq!(server.open_connections(), 1);

    drop(client);

    let_go.notified().await;
    assert_eq!(server.open_connections(), 0);
}

#[tokio::test(start_paused = true)]
async fn sending_fails_once_the_client_is_gone() {
    let (sent, mut results) = tokio::sync::mpsc::unbounded_channel();
    let server = Server::new(Protocol::Http1, move |turn: Turn| {
        let sent = sent.clone();
        async move {
            let mut stream = turn.reply.open(Response::new(())).await;
            let _ = sent.send(stream.send("one").await);
            stream.gone().await;
            let _ = sent.send(stream.send("two").await);
        }
    });
    let mut client = Client::dial(&server);
    client.send(REQUEST).await;

    assert_eq!(results.recv().await, Some(true));
    drop(client);

    assert_eq!(results.recv().await, Some(false));
}

#[tokio::test(start_paused = true)]
async fn raw_bytes_are_written_as_they_are_and_the_connection_can_be_kept() {
    let server = Server::new(Protocol::Http1, |turn: Turn| async move {
        let mut raw = turn.reply.raw().expect("HTTP/1.1 has raw bytes");
        raw.write("HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\nabcd").await;
        raw.keep().await;
    });
    let mut client = Client::dial(&server);

    for _ in 0..2 {
        client.send(REQUEST).await;
        assert_eq!(client.answer().await.unwrap().body, "abc");
        assert_eq!(client.exactly(1).await.unwrap(), "d", "one byte too many");
    }

    assert_eq!(server.connections(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_length_may_promise_more_than_is_sent() {
    let server = Server::new(Protocol::Http1, |turn: Turn| async move {
        let head = Response::builder().header("content-length", "10").body(()).unwrap();
        let mut stream = turn.reply.open(head).await;
        stream.send("half").await;
        stream.cut().await;
    });
    let mut client = Client::dial(&server);

    client.send(REQUEST).await;

    assert_eq!(client.answer().await.unwrap_err().kind(), ErrorKind::UnexpectedEof);
}

#[tokio::test(start_paused = true)]
async fn a_handler_that_goes_on_after_its_answer_does_not_hold_up_the_connection() {
    let server = Server::new(Protocol::Http1, |turn: Turn| async move {
        turn.reply.respond(Response::new(Bytes::new())).await;
        std::future::pending::<()>().await;
    });
    let mut client = Client::dial(&server);

    for _ in 0..2 {
        assert_eq!(client.get("/").await.status(), 200);
    }
}

fn drop_it(reply: Reply) -> futures_util::future::BoxFuture<'static, ()> {
    drop(reply);
    Box::pin(async {})
}

fn close_it(reply: Reply) -> futures_util::future::BoxFuture<'static, ()> {
    Box::pin(reply.close())
}

const REQUEST: &str = "GET / HTTP/1.1\r\n\r\n";
