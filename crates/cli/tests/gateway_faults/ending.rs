//! However a gateway ends, its children are gone, and its callers know what became of their calls.

use std::time::{Duration, Instant};

use ridethrough::error::Delivery;
use ridethrough::{Era, Error};
use rustix::process::Signal;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::rig::{ERAS, Home, PATIENCE, TOKEN, eventually, has_ended};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn after_kill_9_no_child_is_left_and_clients_go_on_at_the_next_gateway() {
    for era in ERAS {
        let home = Home::new();
        home.configure(&[("a", ""), ("b", "")]);
        let mut gateway = home.start("127.0.0.1:0").await;
        let client = gateway.client(era);
        client.call_tool("b_echo", ()).await.unwrap();
        let hanging = client.call_tool("a_hang", ()).into_future();
        let hanging = tokio::spawn(hanging);
        eventually("it runs", || home.notes("hang ").len() == 1).await;
        let children = home.servers();

        gateway.signal(Signal::KILL);
        gateway.process.wait().await.unwrap();
        eventually("no child is left", || children.iter().all(|it| has_ended(*it))).await;
        let _next = home.start(&gateway.address()).await;

        // Another would be a call that runs twice, or one that is never heard of again.
        let error = timeout(PATIENCE, hanging).await.unwrap().unwrap().unwrap_err();
        let Error::Call(error) = error else { panic!("{era:?}: {error:?}") };
        assert_eq!(error.delivery, Delivery::Unknown, "{era:?}: {error}");
        assert_eq!(home.notes("hang ").len(), 1, "{era:?}: it ran once");
        let answer = client.call_tool("b_echo", ()).await.unwrap();
        assert_eq!(answer.text(), "hello of b", "{era:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn asked_to_end_it_lets_calls_finish_and_sends_streams_elsewhere() {
    for era in ERAS {
        let home = Home::new();
        home.configure(&[("a", "")]);
        let mut gateway = home.start("127.0.0.1:0").await;
        let client = gateway.client(era);
        let slow = tokio::spawn(client.call_tool("a_slow", ()).into_future());
        let mut stream = standing_stream(&gateway.address()).await;
        eventually("it runs", || home.notes("slow ").len() == 1).await;
        let children = home.servers();

        let began = Instant::now();
        gateway.signal(Signal::TERM);
        let ended = timeout(PATIENCE, gateway.process.wait()).await.unwrap().unwrap();
        let took = began.elapsed();

        assert_eq!(slow.await.unwrap().unwrap().text(), "slow of a", "{era:?}");
        let mut said = String::new();
        timeout(PATIENCE, stream.read_to_string(&mut said)).await.unwrap().unwrap();
        assert!(said.contains("retry: "), "{said}");
        assert_eq!(ended.code(), Some(143));
        assert!(took < Duration::from_secs(30), "{took:?}");
        eventually("no child is left", || children.iter().all(|it| has_ended(*it))).await;
    }
}

/// Clients that cannot connect while a server stops take their sessions for lost, before they are.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn asked_to_end_it_answers_its_sessions_and_refuses_new_ones_until_nothing_is_under_way() {
    let home = Home::new();
    home.configure(&[("a", "")]);
    let mut gateway = home.start("127.0.0.1:0").await;
    let (first, second) = (gateway.client(Era::Legacy), gateway.client(Era::Legacy));
    second.call_tool("a_echo", ()).await.unwrap();
    let slow = tokio::spawn(first.call_tool("a_slow", ()).into_future());
    eventually("it runs", || home.notes("slow ").len() == 1).await;

    gateway.signal(Signal::TERM);
    let refused = loop {
        let answer = hello(&gateway.address()).await;
        if answer.starts_with("HTTP/1.1 503 ") {
            break answer;
        }
    };
    // The first may have come on a connection from before the signal.
    let again = hello(&gateway.address()).await;
    let late = second.call_tool("a_echo", ()).await.unwrap();
    let slow = slow.await.unwrap().unwrap();
    let ended = timeout(PATIENCE, gateway.process.wait()).await.unwrap().unwrap();

    assert!(refused.contains("\r\nretry-after: ") && refused.contains(r#""id":0"#), "{refused}");
    assert!(refused.contains(r#""mayHaveRun":false"#), "{refused}");
    assert!(again.starts_with("HTTP/1.1 503 "), "{again}");
    assert_eq!((late.text(), slow.text()), ("hello of a".into(), "slow of a".into()));
    assert_eq!(ended.code(), Some(143));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_second_signal_ends_it_at_once() {
    let home = Home::new();
    home.configure(&[("a", "")]);
    let mut gateway = home.start("127.0.0.1:0").await;
    let client = gateway.client(Era::Legacy);
    let _hanging = tokio::spawn(client.call_tool("a_hang", ()).into_future());
    eventually("it runs", || home.notes("hang ").len() == 1).await;

    gateway.signal(Signal::TERM);
    while !hello(&gateway.address()).await.starts_with("HTTP/1.1 503 ") {}
    let began = Instant::now();
    gateway.signal(Signal::TERM);
    let ended = timeout(PATIENCE, gateway.process.wait()).await.unwrap().unwrap();

    assert_eq!(ended.code(), Some(143));
    assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
}

/// Asks for a session, and returns the whole answer.
async fn hello(address: &str) -> String {
    let hello = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"raw","version":"1"}}}"#;
    let (head, length) = (head(address), hello.len());
    let mut connection = TcpStream::connect(address).await.unwrap();
    let ask = format!(
        "POST /mcp HTTP/1.1\r\n{head}connection: close\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n{hello}"
    );
    connection.write_all(ask.as_bytes()).await.unwrap();
    let mut answer = String::new();
    timeout(PATIENCE, connection.read_to_string(&mut answer)).await.unwrap().unwrap();
    answer
}

fn head(address: &str) -> String {
    format!(
        "host: {address}\r\nauthorization: Bearer {TOKEN}\r\naccept: application/json, text/event-stream\r\n"
    )
}

/// Begins a session, and opens its standing stream.
async fn standing_stream(address: &str) -> TcpStream {
    let answer = hello(address).await;
    let session = answer.lines().find_map(|line| line.strip_prefix("mcp-session-id: ")).unwrap();
    let mut stream = TcpStream::connect(address).await.unwrap();
    let ask = format!("GET /mcp HTTP/1.1\r\n{}mcp-session-id: {session}\r\n\r\n", head(address));
    stream.write_all(ask.as_bytes()).await.unwrap();
    stream
}
