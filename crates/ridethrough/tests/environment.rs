//! What a client takes from its environment, each in a process of its own: a variable cannot be set
//! safely in one that runs.

#![cfg(test)]

use std::io::Write;
use std::process::{Command, Output};

use ridethrough::{Client, EnvironmentBearer};
use ridethrough_lab::{Mcp, Protocol, Server, When};

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

/// The client in the other process.
#[tokio::test]
#[ignore = "run by the tests above, in an environment of their making"]
async fn lists_tools() {
    let url = std::env::var("LAB_URL").expect("set by the test that runs this one");

    let client =
        Client::builder(&url).credentials(EnvironmentBearer::new("LAB_TOKEN")).build().unwrap();

    client.request("tools/list", ()).await.unwrap_or_else(|error| panic!("{}", error.report()));
}

struct Listening {
    server: Server,
    url: String,
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
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "lists_tools", "--ignored", "--nocapture"]);
    command.env_remove("SSL_CERT_FILE").env_remove("LAB_TOKEN").env("LAB_URL", url);
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
        // It lies in the system's folder for such files, which is cleaned anyway.
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
