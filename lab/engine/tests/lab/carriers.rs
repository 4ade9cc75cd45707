//! The same handler answers on every carrier.

use bytes::Bytes;
use http::Response;
use ridethrough_lab::{Authority, Certificate, Protocol, Server, Turn};
use tokio::net::TcpStream;

use crate::client::{self, Client};

#[tokio::test(start_paused = true)]
async fn every_carrier_answers_a_plain_request_through_a_pipe() {
    for protocol in Protocol::ALL {
        let server = Server::new(protocol, echo_path);

        let body = ask_through(server.connect().unwrap(), &server).await;

        assert_eq!(body, "you asked for /hello", "{protocol:?}");
    }
}

#[tokio::test]
async fn every_carrier_answers_a_plain_request_through_a_socket() {
    for protocol in Protocol::ALL {
        let server = Server::new(protocol, echo_path);
        let address = server.listen().await.unwrap();

        let body = ask_through(TcpStream::connect(address).await.unwrap(), &server).await;

        assert_eq!(body, "you asked for /hello", "{protocol:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn http2_is_served_in_the_clear_too() {
    let server = Server::new(Protocol::Http2, echo_path);
    let mut requests = client::http2(&server).await;

    let (status, body) = client::http2_get(&mut requests, "/hello").await.unwrap();

    assert_eq!((status, &body[..]), (200, &b"you asked for /hello"[..]));
}

#[tokio::test(start_paused = true)]
async fn a_bad_certificate_is_bad_in_the_way_that_was_asked_for() {
    let reasons = [
        (Certificate::Expired, "Expired"),
        (Certificate::Stranger, "UnknownIssuer"),
        (Certificate::WrongName, "NotValidForName"),
    ];
    let server = Server::new(Protocol::Http1Tls, echo_path);
    for (certificate, reason) in reasons {
        server.set_certificate(certificate);

        let error = handshake(&server, server.authority()).await.expect_err("a bad certificate");

        assert!(error.contains(reason), "{certificate:?}: {error}");
    }
}

#[tokio::test(start_paused = true)]
async fn servers_of_one_authority_are_trusted_by_one_root() {
    let authority = Authority::new();
    let server = Server::with_authority(Protocol::Http1Tls, authority.clone(), echo_path);

    handshake(&server, &authority).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn chunked_request_bodies_are_read() {
    let server = Server::new(Protocol::Http1, echo_body);
    let mut client = Client::dial(&server);

    client.send("POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n").await;
    client.send("5;extension=1\r\nhello\r\n").await;
    client.send("7\r\n, world\r\n0\r\ntrailer: 1\r\n\r\n").await;

    assert_eq!(client.answer().await.unwrap().body, "hello, world");
    assert_eq!(client.get("/").await.body, "", "the connection is in step");
}

#[tokio::test(start_paused = true)]
async fn requests_sent_ahead_are_answered_in_order() {
    let server = Server::new(Protocol::Http1, echo_path);
    let mut client = Client::dial(&server);

    client.send("GET /1 HTTP/1.1\r\n\r\nGET /2 HTTP/1.1\r\n\r\n").await;

    assert_eq!(client.answer().await.unwrap().body, "you asked for /1");
    assert_eq!(client.answer().await.unwrap().body, "you asked for /2");
}

#[tokio::test(start_paused = true)]
async fn what_is_no_request_is_refused() {
    let server = Server::new(Protocol::Http1, echo_path);
    let mut client = Client::dial(&server);

    client.send("\u{1}\u{2}\u{3}\r\n\r\n").await;

    assert_eq!(client.answer().await.unwrap().status(), 400);
    assert_eq!(client.end().await.unwrap(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_client_that_wants_its_connection_closed_gets_its_way() {
    let server = Server::new(Protocol::Http1, echo_path);
    let mut client = Client::dial(&server);

    client.send("GET / HTTP/1.1\r\nconnection: close\r\n\r\n").await;

    assert_eq!(client.answer().await.unwrap().status(), 200);
    assert_eq!(client.end().await.unwrap(), 0);
}

async fn echo_path(turn: Turn) {
    let body = format!("you asked for {}", turn.request.target);
    turn.reply.respond(Response::new(Bytes::from(body))).await;
}

async fn echo_body(turn: Turn) {
    turn.reply.respond(Response::new(turn.request.body)).await;
}

async fn ask_through<T>(raw: T, server: &Server) -> String
where
    T: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin + Send + 'static,
{
    let protocol = server.protocol();
    if !protocol.is_tls() {
        return Client(raw).get("/hello").await.body;
    }
    let secured = client::handshake(raw, protocol, server.authority()).await.unwrap();
    if !protocol.is_http2() {
        return Client(secured).get("/hello").await.body;
    }
    let mut requests = client::http2_over(secured).await;
    let (_, body) = client::http2_get(&mut requests, "/hello").await.unwrap();
    String::from_utf8(body.to_vec()).unwrap()
}

async fn handshake(server: &Server, trusted: &Authority) -> Result<(), String> {
    let raw = server.connect().unwrap();
    let shaken = client::handshake(raw, server.protocol(), trusted).await;
    shaken.map(drop).map_err(|error| format!("{error:?}"))
}
