use std::time::Duration;

use ridethrough_lab::{Mcp, Protocol, Server, Style, Times, When};

use http::Method;
use ridethrough::Client;
use ridethrough::credentials::StaticToken;
use ridethrough::probe::{Found, Question};
use ridethrough::transport::{BoxFuture, Cause, Connection, Dial, Endpoint, Failure};

#[tokio::test]
async fn a_line_says_how_it_was_made_and_what_it_was_answered() {
    let (mcp, _server, url) = served(Protocol::Http1).await;
    mcp.require_bearer(Some("s3cret"));
    let bearer = StaticToken::new("s3cret").unwrap();
    let probe = Client::builder(&url).credentials(bearer).header("x-team", "blue").probe().unwrap();

    let mut line = probe.connect().await.unwrap();
    let found = line.ask(Question::of(Method::POST, PING)).await.unwrap();

    assert_eq!(found.head.status, 400, "no session was named, but the token was shown");
    assert_eq!(mcp.log()[0].header("x-team"), Some("blue"));
    let steps = line.steps();
    assert!(steps.resolved.is_some() && steps.connected.is_some() && steps.peer.is_some());
    assert_eq!((steps.secured, steps.tls, line.is_http2()), (None, None, false));
    assert!(!format!("{probe:?} {line:?} {found:?}").contains("s3cret"));
}

#[tokio::test]
async fn headers_of_a_question_replace_those_of_the_probe() {
    let (mcp, _server, url) = served(Protocol::Http1).await;
    let probe = Client::builder(&url).header("x-team", "blue").probe().unwrap();
    let mut question = Question::get();
    question.headers.insert("x-team", "red".parse().unwrap());
    question.headers.insert("host", "attacker.example".parse().unwrap());

    probe.connect().await.unwrap().ask(question).await.unwrap();

    let entry = &mcp.log()[0];
    assert_eq!(entry.header("x-team"), Some("red"));
    assert_eq!(entry.header("host"), Some("attacker.example"));
}

#[tokio::test]
async fn a_line_is_ready_until_the_server_closes_it() {
    let (mcp, _server, url) = served(Protocol::Http1).await;
    let times = Times::Exactly(2);
    mcp.rule(When::any(), times, |ask| async move { ask.status(200, &[], "").await });
    mcp.rule(When::any(), Times::Once, |ask| async move {
        ask.status(200, &[("connection", "close")], "").await;
    });
    let mut line = Client::builder(&url).probe().unwrap().connect().await.unwrap();

    for _ in 0..2 {
        read(line.ask(Question::get()).await.unwrap()).await;
        assert!(line.is_ready().await);
    }
    read(line.ask(Question::get()).await.unwrap()).await;

    assert!(!line.is_ready().await);
}

#[tokio::test]
async fn tls_and_http2_are_told() {
    let (_mcp, server, url) = served(Protocol::Http2Tls).await;
    let roots = server.authority().root_pem();
    let builder = Client::builder(&url.replace("http:", "https:"));
    let probe = builder.root_certificates(roots).probe().unwrap();

    let mut line = probe.connect().await.unwrap();
    let found = line.ask(Question::of(Method::POST, PING)).await.unwrap();

    assert_eq!((line.is_http2(), found.version), (true, http::Version::HTTP_2));
    assert!(line.steps().secured.is_some());
    assert_eq!(line.steps().tls, Some("TLS 1.3"));
}

#[tokio::test]
async fn a_cookie_of_the_server_comes_back_to_it() {
    let (mcp, _server, url) = served(Protocol::Http1).await;
    mcp.answers(Style::Json);
    mcp.rule(When::any(), Times::Once, |ask| async move {
        ask.status(200, &[("set-cookie", "pin=a; Path=/")], "").await;
    });
    let probe = Client::builder(&url).probe().unwrap();

    probe.connect().await.unwrap().ask(Question::get()).await.unwrap();
    probe.connect().await.unwrap().ask(Question::get()).await.unwrap();

    assert_eq!(mcp.log()[1].header("cookie"), Some("pin=a"));
}

#[tokio::test]
async fn what_cannot_be_probed_is_refused() {
    let refused = Client::builder("ftp://example.com").probe().unwrap_err().to_string();

    assert!(refused.contains("`url`"), "{refused}");
}

#[tokio::test(start_paused = true)]
async fn a_dial_that_hangs_is_bounded() {
    struct Hangs;
    impl Dial for Hangs {
        fn dial<'a>(&'a self, _: &'a Endpoint) -> BoxFuture<'a, Result<Connection, Failure>> {
            Box::pin(std::future::pending())
        }
    }
    let builder = Client::builder("http://server.test/mcp").dial(Hangs);
    let probe = builder.connect_timeout(Duration::from_secs(3)).probe().unwrap();

    let failure = probe.connect().await.map(|_| ()).unwrap_err();

    assert_eq!(failure.cause, Cause::ConnectTimedOut);
}

async fn served(protocol: Protocol) -> (Mcp, Server, String) {
    let mcp = Mcp::new();
    let server = Server::new(protocol, mcp.clone());
    let address = server.listen().await.unwrap();
    (mcp, server, format!("http://{address}/mcp"))
}

async fn read(mut found: Found) {
    while found.body.chunk().await.is_some() {}
}

const PING: &str = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
