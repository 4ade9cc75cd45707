//! What a client takes from its environment. Each test runs it in a process of its own, because a variable
//! cannot be set safely in one that runs.

#![cfg(test)]

use std::io::Write;
use std::net::SocketAddr;
use std::process::{Command, Output};
use std::sync::{Arc, Mutex};

use ridethrough::Client;
use ridethrough::credentials::EnvironmentToken;
use ridethrough::transport::{BoxFuture, Connection, Dial, Endpoint, Failure, Tcp};
use ridethrough_lab::{Authority, Certificate, Mcp, Protocol, Server, When};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_is_trusted_by_the_roots_of_ssl_cert_file() {
    let (server, _) = listening(Protocol::Http2Tls).await;
    let roots = file_with(&server.authority().root_pem());

    let with = in_a_process(&server.url, &[("SSL_CERT_FILE", roots.path())]).await;
    let without = in_a_process(&server.url, &[]).await;

    assert!(with.status.success(), "{}", words(&with));
    assert!(words(&without).contains("certificate was not accepted"), "{}", words(&without));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_self_signed_certificate_in_ssl_cert_file_is_trusted_for_its_names() {
    let (server, _) = listening(Protocol::Http1Tls).await;
    server.set_certificate(Certificate::SelfSigned);
    let own = file_with(&server.authority().self_signed_pem());
    let other = file_with(&Authority::new().self_signed_pem());
    let elsewhere = server.url.replace("localhost", "0.0.0.0");

    let with = in_a_process(&server.url, &[("SSL_CERT_FILE", own.path())]).await;
    let misnamed = in_a_process(&elsewhere, &[("SSL_CERT_FILE", own.path())]).await;
    let misfit = in_a_process(&server.url, &[("SSL_CERT_FILE", other.path())]).await;

    assert!(with.status.success(), "{}", words(&with));
    let (misnamed, misfit) = (words(&misnamed), words(&misfit));
    assert!(misnamed.contains("it is not for `0.0.0.0`: it is for `localhost`"), "{misnamed}");
    assert!(misfit.contains("it is self-signed, and not one that is trusted"), "{misfit}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_ssl_cert_file_that_cannot_be_read_is_named_when_the_client_is_made() {
    let (server, _) = listening(Protocol::Http1Tls).await;
    let empty = file_with("no certificate");

    let output = in_a_process(&server.url, &[("SSL_CERT_FILE", empty.path())]).await;

    assert!(words(&output).contains("`SSL_CERT_FILE` is"), "{}", words(&output));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_token_comes_from_the_environment_and_is_not_printed() {
    let (server, mcp) = listening(Protocol::Http1).await;
    mcp.require_bearer(Some("t0ken"));

    let right = in_a_process(&server.url, &[("LAB_TOKEN", "t0ken")]).await;
    let wrong = in_a_process(&server.url, &[("LAB_TOKEN", "wr0ng")]).await;
    let none = in_a_process(&server.url, &[]).await;

    assert!(right.status.success(), "{}", words(&right));
    for output in [wrong, none] {
        assert!(words(&output).contains("was not authorized"), "{}", words(&output));
        assert!(!words(&output).contains("wr0ng"));
    }
    assert_eq!(mcp.count(&When::method("tools/list")), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_is_reached_through_the_proxy_that_the_environment_names() {
    for (protocol, variable) in [
        (Protocol::Http1, "http_proxy"),
        (Protocol::Http1, "HTTP_PROXY"),
        (Protocol::Http1, "ALL_PROXY"),
        (Protocol::Http2Tls, "https_proxy"),
        (Protocol::Http1Tls, "HTTPS_PROXY"),
        (Protocol::Http2Tls, "all_proxy"),
    ] {
        let (server, mcp) = listening(protocol).await;
        let roots = file_with(&server.authority().root_pem());
        let proxy = Proxy::before(&server).await;
        let variables = [("SSL_CERT_FILE", roots.path()), (variable, &*proxy.url)];

        let output = in_a_process(&server.url_by_name(), &variables).await;

        assert!(output.status.success(), "{variable}: {}", words(&output));
        assert_eq!(mcp.count(&When::method("tools/list")), 1, "{variable}");
        assert!(proxy.was_asked_for("server.test"), "{variable}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_no_proxy_names_is_reached_without_one() {
    for (variable, value) in [
        ("NO_PROXY", "server.test"),
        ("no_proxy", ".TEST"),
        ("NO_PROXY", "a.test, *"),
        ("REQUEST_METHOD", "GET"),
    ] {
        let (server, _) = listening(Protocol::Http1).await;
        let proxy = Proxy::before(&server).await;

        let variables = [("HTTP_PROXY", &*proxy.url), (variable, value)];
        let output = in_a_process(&server.url_by_name(), &variables).await;

        // The system does not know this name: a client that asks the system has asked no proxy.
        assert!(words(&output).contains("name does not resolve"), "{}", words(&output));
        assert!(!proxy.was_asked_for(""), "{variable}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn this_machine_is_never_reached_through_a_proxy_of_the_environments() {
    let (server, _) = listening(Protocol::Http1).await;
    let proxy = Proxy::before(&server).await;

    for url in [server.url.clone(), server.url.replace("localhost", "127.0.0.1")] {
        let output = in_a_process(&url, &[("ALL_PROXY", &proxy.url)]).await;

        assert!(output.status.success(), "{}", words(&output));
    }

    assert!(!proxy.was_asked_for(""));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_proxy_of_the_environments_that_cannot_be_used_is_named_without_its_password() {
    let (server, _) = listening(Protocol::Http1).await;

    for url in ["socks5://us3r:s3cret@a.test:1080", "http://us3r:s3cret@:x"] {
        let output = in_a_process(&server.url_by_name(), &[("ALL_PROXY", url)]).await;

        assert!(words(&output).contains("`ALL_PROXY` is `"), "{}", words(&output));
        assert!(!words(&output).contains("s3cret"), "{}", words(&output));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_dial_of_the_applications_own_does_not_lead_through_a_proxy_of_the_environments() {
    let (server, _) = listening(Protocol::Http1).await;
    let proxy = Proxy::before(&server).await;
    let variables = [("ALL_PROXY", &*proxy.url), ("LAB_LEADS_TO", &*server.url)];

    let url = server.url_by_name();
    let output = run_in_a_process("lists_tools_by_its_own_dial", &url, &variables).await;

    assert!(output.status.success(), "{}", words(&output));
    assert!(!proxy.was_asked_for(""));
}

/// Runs the client in the other process.
#[tokio::test]
#[ignore = "run by the tests above, in an environment of their making"]
async fn lists_tools() {
    let url = std::env::var("LAB_URL").expect("set by the test that runs this one");

    let client =
        Client::builder(&url).credentials(EnvironmentToken::new("LAB_TOKEN")).build().unwrap();

    client.request("tools/list", ()).await.unwrap_or_else(|error| panic!("{}", error.report()));
}

/// Runs the client in the other process, with a dial that leads to one server, whatever its name is.
#[tokio::test]
#[ignore = "run by a test above, in an environment of its making"]
async fn lists_tools_by_its_own_dial() {
    let url = std::env::var("LAB_URL").expect("set by the test that runs this one");
    let to = std::env::var("LAB_LEADS_TO").expect("set by the test that runs this one");
    let dial = LeadsTo(Endpoint::parse(&to).unwrap());

    let client = Client::builder(&url).dial(dial).build().unwrap();

    client.request("tools/list", ()).await.unwrap_or_else(|error| panic!("{}", error.report()));
}

struct LeadsTo(Endpoint);

impl Dial for LeadsTo {
    fn dial<'a>(&'a self, _: &'a Endpoint) -> BoxFuture<'a, Result<Connection, Failure>> {
        Tcp.dial(&self.0)
    }
}

struct Listening {
    server: Server,
    url: String,
}

impl Listening {
    /// Returns the URL of the server by a name that only the proxy of these tests knows.
    fn url_by_name(&self) -> String {
        self.url.replace("localhost", "server.test")
    }
}

/// A proxy that leads every tunnel to one server, whatever name it is asked for.
struct Proxy {
    url: String,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Proxy {
    async fn before(server: &Server) -> Self {
        let server = server.listen().await.unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://us3r:s3cret@{}", listener.local_addr().unwrap());
        let asked = Arc::new(Mutex::new(Vec::new()));
        let heads = asked.clone();
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                tokio::spawn(tunnel(client, server, heads.clone()));
            }
        });
        Self { url, asked }
    }

    fn was_asked_for(&self, host: &str) -> bool {
        let begins = format!("CONNECT {host}");
        self.asked.lock().unwrap().iter().any(|head| head.starts_with(&begins))
    }
}

async fn tunnel(mut client: TcpStream, server: SocketAddr, asked: Arc<Mutex<Vec<String>>>) {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let Ok(byte) = client.read_u8().await else { return };
        head.push(byte);
    }
    asked.lock().unwrap().push(String::from_utf8(head).unwrap());
    let mut server = TcpStream::connect(server).await.unwrap();
    client.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await.unwrap();
    // Either side may end the connection in any way.
    let _ = tokio::io::copy_bidirectional(&mut client, &mut server).await;
}

impl std::ops::Deref for Listening {
    type Target = Server;

    fn deref(&self) -> &Server {
        &self.server
    }
}

async fn listening(protocol: Protocol) -> (Listening, Mcp) {
    let mcp = Mcp::new();
    let server = Server::new(protocol, mcp.clone());
    let port = server.listen().await.unwrap().port();
    let url = format!("{}://localhost:{port}/mcp", protocol.scheme());
    (Listening { server, url }, mcp)
}

/// Runs `lists_tools` in a process with these variables.
async fn in_a_process(url: &str, variables: &[(&str, &str)]) -> Output {
    run_in_a_process("lists_tools", url, variables).await
}

async fn run_in_a_process(test: &str, url: &str, variables: &[(&str, &str)]) -> Output {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", test, "--ignored", "--nocapture"]);
    for variable in ["SSL_CERT_FILE", "LAB_TOKEN", "REQUEST_METHOD"] {
        command.env_remove(variable);
    }
    for variable in ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"] {
        command.env_remove(variable).env_remove(variable.to_lowercase());
    }
    command.env("LAB_URL", url);
    command.envs(variables.iter().copied());
    tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap()
}

fn words(output: &Output) -> String {
    format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    )
}

/// A file that is gone when this is dropped.
struct File(std::path::PathBuf);

impl File {
    fn path(&self) -> &str {
        self.0.to_str().unwrap()
    }
}

impl Drop for File {
    fn drop(&mut self) {
        // The file is in the system's folder for temporary files, which is cleaned anyway.
        let _ = std::fs::remove_file(&self.0);
    }
}

fn file_with(text: &str) -> File {
    use std::sync::atomic::{AtomicU64, Ordering};

    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let path = std::env::temp_dir().join(format!("ridethrough-{}-{number}", std::process::id()));
    std::fs::File::create(&path).unwrap().write_all(text.as_bytes()).unwrap();
    File(path)
}
