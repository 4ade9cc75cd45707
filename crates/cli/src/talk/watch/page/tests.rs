//! The page over real sockets, as a browser reads it, and as others try to.

use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::serve::{MOST_CONNECTIONS, MOST_STREAMS};
use super::*;

#[tokio::test]
async fn what_was_seen_is_on_the_page_and_is_no_markup_there() {
    let page = page().await;
    page.name("<b>evil</b> & \"co\"");
    page.board.add(BoardKind::Notification, "1 s", "server tells <script>alert(1)</script>");
    page.board.add(BoardKind::Status, "2 s", "status: connected");

    let read = ask(&page, "", "").await;

    assert!(read.starts_with("HTTP/1.1 200 OK\r\n"), "{read}");
    assert!(read.contains("&lt;script&gt;alert(1)&lt;/script&gt;"), "{read}");
    assert!(read.contains("<h1>&lt;b&gt;evil&lt;/b&gt; &amp; \"co\"</h1>"), "{read}");
    assert!(read.contains("<b id=\"status\">status: connected</b>"), "{read}");
    assert!(!read.contains("<script>alert") && !read.contains("<b>evil"), "{read}");
    let head = read.to_lowercase();
    for header in ["referrer-policy: no-referrer", "cache-control: no-store", "frame-ancestors"] {
        assert!(head.contains(header), "{header}: {read}");
    }
}

#[tokio::test]
async fn without_scripts_the_page_is_loaded_anew() {
    let read = ask(&page().await, "", "").await;

    assert!(read.contains("<noscript><meta http-equiv=\"refresh\""), "{read}");
}

#[tokio::test]
async fn what_happens_later_comes_to_whoever_follows() {
    let page = page().await;
    page.board.add(BoardKind::Event, "1 s", "old");
    let mut follower = follow(&page, 1).await;
    read_until(&mut follower, "\r\n\r\n").await;

    page.board.add(BoardKind::Event, "2 s", "line\nend");

    let read = read_until(&mut follower, "\n\n").await;
    let event = r#"{"number":2,"kind":"event","at":"2 s","words":"line\nend"}"#;
    assert!(read.contains(&format!("id: 2\ndata: {event}\n\n")), "{read}");
    assert!(!read.contains("old"), "{read}");
}

#[tokio::test]
async fn who_calls_it_by_another_name_or_from_another_page_gets_nothing() {
    let page = page().await;
    page.board.add(BoardKind::Event, "1 s", "only for the owner");

    let rebound = raw(&page, "GET PATH HTTP/1.1\r\nhost: attacker.example\r\n\r\n").await;
    let foreign = ask(&page, "", "origin: https://attacker.example\r\n").await;
    let posted = raw(&page, "POST PATH HTTP/1.1\r\nhost: HOST\r\ncontent-length: 0\r\n\r\n").await;
    let guessed = raw(&page, "GET /0000/ HTTP/1.1\r\nhost: HOST\r\n\r\n").await;

    for (answer, status) in [(rebound, "421"), (foreign, "403"), (posted, "405"), (guessed, "404")]
    {
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{status}: {answer}");
        assert!(!answer.contains("only for the owner"), "{answer}");
    }
}

#[tokio::test]
async fn only_so_many_pages_follow_and_one_that_leaves_makes_room() {
    let page = page().await;
    let mut followers = Vec::new();
    for _ in 0..MOST_STREAMS {
        let mut follower = follow(&page, 0).await;
        read_until(&mut follower, "\r\n\r\n").await;
        followers.push(follower);
    }

    let refused = ask(&page, "events", "").await;

    assert!(refused.starts_with("HTTP/1.1 503 "), "{refused}");
    assert!(ask(&page, "", "").await.starts_with("HTTP/1.1 200 "));
    drop(followers.pop());
    // The server notices that a reader left when it next writes.
    let again = async {
        loop {
            page.board.add(BoardKind::Event, "1 s", "x");
            let mut follower = follow(&page, 0).await;
            if read_until(&mut follower, "\r\n\r\n").await.starts_with("HTTP/1.1 200 ") {
                return;
            }
        }
    };
    timeout(PATIENCE, again).await.expect("there is room again");
}

#[tokio::test]
async fn only_so_many_connections_are_served_at_a_time_and_a_silent_one_is_not_for_ever() {
    let page = page().await;
    let mut silent = Vec::new();
    for _ in 0..MOST_CONNECTIONS {
        silent.push(connect(&page).await);
    }

    let early = timeout(Duration::from_millis(300), ask(&page, "", "")).await;
    let late = timeout(PATIENCE, ask(&page, "", "")).await;

    assert!(early.is_err(), "{early:?}");
    assert!(late.expect("the silent ones are closed").starts_with("HTTP/1.1 200 "));
}

#[tokio::test]
async fn the_page_ends_with_the_command() {
    let page = page().await;
    let address = address(&page);
    assert!(ask(&page, "", "").await.starts_with("HTTP/1.1 200 "));

    drop(page);

    let gone = async {
        while TcpStream::connect(&address).await.is_ok() {
            tokio::task::yield_now().await;
        }
    };
    timeout(PATIENCE, gone).await.expect("nobody listens any more");
}

#[tokio::test]
async fn a_port_that_is_taken_is_told_with_what_to_do() {
    let page = page().await;
    let port = address(&page).rsplit_once(':').unwrap().1.parse().unwrap();

    let error = LivePage::open(port, "server").await.err().expect("it is taken");

    assert!(error.to_string().contains(&format!("port {port} of 127.0.0.1")), "{error}");
}

async fn page() -> LivePage {
    LivePage::open(0, "http://server.test/mcp").await.unwrap()
}

fn address(page: &LivePage) -> String {
    page.url().trim_start_matches("http://").split('/').next().unwrap().to_owned()
}

async fn connect(page: &LivePage) -> TcpStream {
    TcpStream::connect(address(page)).await.unwrap()
}

/// Asks for something beside the page, with these header lines.
async fn ask(page: &LivePage, name: &str, headers: &str) -> String {
    raw(page, &format!("GET PATH{name} HTTP/1.1\r\nhost: HOST\r\n{headers}\r\n")).await
}

/// Sends this request, with `HOST` and `PATH` filled in, and reads to the end.
async fn raw(page: &LivePage, request: &str) -> String {
    let mut connection = connect(page).await;
    let path = page.url().split_once(&address(page)).unwrap().1;
    let request = request.replace("HOST", &address(page)).replace("PATH", path);
    connection.write_all(request.as_bytes()).await.unwrap();
    let mut read = Vec::new();
    // A connection that is closed early may be reset, and one that stays for updates has no end.
    let _ = timeout(PATIENCE, connection.read_to_end(&mut read)).await;
    String::from_utf8(read).unwrap()
}

async fn follow(page: &LivePage, after: u64) -> TcpStream {
    let mut connection = connect(page).await;
    let path = page.url().split_once(&address(page)).unwrap().1;
    let host = address(page);
    let request = format!("GET {path}events?after={after} HTTP/1.1\r\nhost: {host}\r\n\r\n");
    connection.write_all(request.as_bytes()).await.unwrap();
    connection
}

async fn read_until(connection: &mut TcpStream, end: &str) -> String {
    let mut read = String::new();
    let reading = async {
        let mut byte = [0];
        while !read.ends_with(end) && connection.read(&mut byte).await.unwrap() > 0 {
            read.push(char::from(byte[0]));
        }
    };
    timeout(PATIENCE, reading).await.expect("it comes");
    read
}

const PATIENCE: Duration = Duration::from_secs(30);
