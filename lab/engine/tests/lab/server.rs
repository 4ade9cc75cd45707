//! How a server can be reached, closed, killed and restarted.

use std::io::ErrorKind;
use std::net::SocketAddr;
use std::time::Duration;

use bytes::Bytes;
use http::Response;
use ridethrough_lab::{Mood, Protocol, Server, Turn};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::sync::mpsc;

use crate::client::Client;

#[tokio::test]
async fn a_killed_server_refuses_and_comes_back_on_the_same_port() {
    let server = Server::new(Protocol::Http1, ok);
    let address = server.listen().await.unwrap();
    let mut before = Client(TcpStream::connect(address).await.unwrap());
    assert_eq!(before.get("/").await.status(), 200);

    server.kill().await;

    assert_eq!(before.end().await.unwrap_err().kind(), ErrorKind::ConnectionReset);
    let refused = TcpStream::connect(address).await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::ConnectionRefused);
    assert_eq!(server.open_connections(), 0);

    server.restart().await.unwrap();

    assert_eq!(server.listen().await.unwrap(), address);
    let mut after = Client(TcpStream::connect(address).await.unwrap());
    assert_eq!(after.get("/").await.status(), 200);
}

#[tokio::test(start_paused = true)]
async fn a_kill_resets_pipes_and_aborts_handlers() {
    let (alive, mut aborted) = mpsc::channel::<()>(1);
    let server = Server::new(Protocol::Http1, move |turn: Turn| {
        let alive = alive.clone();
        async move {
            turn.reply.hold().await;
            drop(alive);
        }
    });
    let mut client = Client::dial(&server);
    client.send("GET / HTTP/1.1\r\n\r\n").await;
    tokio::time::sleep(Duration::from_secs(1)).await;

    server.kill().await;

    assert_eq!(client.end().await.unwrap_err().kind(), ErrorKind::ConnectionReset);
    assert_eq!(server.connect().unwrap_err().kind(), ErrorKind::ConnectionRefused);
    drop(server);
    assert!(aborted.recv().await.is_none(), "a handler has outlived the kill");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn kills_and_restarts_under_load_leave_nothing_open() {
    let server = Server::new(Protocol::Http1, ok);
    let address = server.listen().await.unwrap();
    let clients: Vec<_> = (0..8).map(|_| tokio::spawn(ask_for_ever(address))).collect();

    for round in 1..=5 {
        while server.open_connections() < clients.len() {
            tokio::task::yield_now().await;
        }
        server.kill().await;
        assert_eq!(server.open_connections(), 0, "round {round}");
        server.restart().await.unwrap();
    }

    clients.iter().for_each(|client| client.abort());
}

#[tokio::test(start_paused = true)]
async fn each_mood_treats_a_pipe_in_its_own_way() {
    let server = Server::new(Protocol::Http1, ok);

    server.set_mood(Mood::Down);
    assert_eq!(server.dial().await.unwrap_err().kind(), ErrorKind::ConnectionRefused);
    server.set_mood(Mood::ResetOnAccept);
    let error = Client::dial(&server).end().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ConnectionReset);
    server.set_mood(Mood::CloseOnAccept);
    assert_eq!(Client::dial(&server).end().await.unwrap(), 0);
    server.set_mood(Mood::BlackHole);
    let hanging = tokio::time::timeout(Duration::from_secs(3600), server.dial()).await;
    assert!(hanging.is_err(), "a dial came out of a black hole");
    assert_eq!((server.dials(), server.connections()), (4, 0));

    server.set_mood(Mood::Up);
    assert_eq!(Client::dial(&server).get("/").await.status(), 200);
    assert_eq!((server.dials(), server.connections()), (5, 1));
}

#[tokio::test]
async fn each_mood_treats_a_socket_in_its_own_way() {
    let server = Server::new(Protocol::Http1, ok);
    let address = server.listen().await.unwrap();

    server.set_mood(Mood::Down);
    let refused = TcpStream::connect(address).await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::ConnectionRefused);
    server.set_mood(Mood::ResetOnAccept);
    let mut client = Client(TcpStream::connect(address).await.unwrap());
    assert_eq!(client.end().await.unwrap_err().kind(), ErrorKind::ConnectionReset);
    server.set_mood(Mood::CloseOnAccept);
    let mut client = Client(TcpStream::connect(address).await.unwrap());
    assert_eq!(client.end().await.unwrap(), 0);
    assert_eq!(server.connections(), 0);

    server.set_mood(Mood::Up);
    let mut client = Client(TcpStream::connect(address).await.unwrap());
    assert_eq!(client.get("/").await.status(), 200);
}

#[tokio::test(start_paused = true)]
async fn connections_are_counted_until_either_side_closes() {
    let server = Server::new(Protocol::Http1, ok);
    let mut one = Client::dial(&server);
    let mut other = Client::dial(&server);
    one.get("/").await;
    other.get("/").await;
    assert_eq!((server.connections(), server.open_connections()), (2, 2));

    drop(one);
    tokio::time::sleep(Duration::from_millis(1)).await;

    assert_eq!((server.connections(), server.open_connections()), (2, 1));
}

#[tokio::test(start_paused = true)]
async fn closing_idle_connections_spares_those_with_a_request_under_way() {
    let server = Server::new(Protocol::Http1, |turn: Turn| async move {
        if turn.request.target == "/slow" {
            tokio::time::sleep(Duration::from_secs(60)).await;
        }
        turn.reply.respond(Response::new(Bytes::new())).await;
    });
    let mut busy = Client::dial(&server);
    busy.send("GET /slow HTTP/1.1\r\n\r\n").await;
    let mut idle = Client::dial(&server);
    idle.get("/").await;

    server.close_idle();

    assert_eq!(idle.end().await.unwrap(), 0);
    assert_eq!(busy.answer().await.unwrap().status(), 200);
    assert_eq!(busy.get("/").await.status(), 200, "it was closed after its request");
}

#[tokio::test(start_paused = true)]
async fn an_idle_connection_can_be_told_something_unasked() {
    let server = Server::new(Protocol::Http1, ok);
    let mut client = Client::dial(&server);
    client.get("/").await;

    server.say_on_idle("HTTP/1.1 408 Request Timeout\r\ncontent-length: 0\r\n\r\n");

    assert_eq!(client.answer().await.unwrap().status(), 408);
    assert_eq!(client.end().await.unwrap(), 0);
}

#[tokio::test(start_paused = true)]
async fn stalled_connections_stay_open_and_silent_while_new_ones_are_served() {
    let server = Server::new(Protocol::Http1, ok);
    let mut stalled = Client::dial(&server);
    stalled.get("/").await;

    server.stall_connections();

    stalled.send("GET / HTTP/1.1\r\n\r\n").await;
    let silence = tokio::time::timeout(Duration::from_secs(3600), stalled.head()).await;
    assert!(silence.is_err());
    assert_eq!(Client::dial(&server).get("/").await.status(), 200);
}

#[tokio::test(start_paused = true)]
async fn open_connections_can_be_reset_while_the_server_stays_up() {
    let server = Server::new(Protocol::Http1, ok);
    let mut client = Client::dial(&server);
    client.get("/").await;

    server.reset_connections();

    assert_eq!(client.end().await.unwrap_err().kind(), ErrorKind::ConnectionReset);
    assert_eq!(Client::dial(&server).get("/").await.status(), 200);
}

async fn ok(turn: Turn) {
    turn.reply.respond(Response::new(Bytes::new())).await;
}

/// Asks again and again, on a new connection whenever one fails.
async fn ask_for_ever(address: SocketAddr) {
    loop {
        let Ok(stream) = TcpStream::connect(address).await else { continue };
        let mut client = Client(stream);
        while client.0.write_all(b"GET / HTTP/1.1\r\n\r\n").await.is_ok() {
            if client.answer().await.is_err() {
                break;
            }
        }
    }
}
