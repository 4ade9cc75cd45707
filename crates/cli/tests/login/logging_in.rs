//! `ridethrough login`, from its first line to the check of the new token.

use std::process::Stdio;
use std::time::Duration;

use ridethrough_lab::{Mcp, Protocol, Server};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::time::{sleep, timeout};

use crate::rig::{Ran, Rig};
use crate::support::{consent, get};

#[tokio::test]
async fn a_person_logs_in_by_a_browser_and_every_command_is_let_in() {
    let rig = Rig::new().await;

    let ran = rig.log_in_by_browser(&["login", "SERVER"]).await;

    assert_eq!(ran.code, Some(0), "{ran:?}");
    let issuer = rig.world.state().one.clone();
    let url = rig.world.mcp_url();
    for words in [
        format!("logged in to {url}: issued by {issuer}, scopes mcp, good for "),
        " min and renewed by itself".to_owned(),
        format!("kept in {}, which only you can read", rig.folder.path().display()),
        "the server takes it: guarded speaks 2025-06-18, 0 tools".to_owned(),
    ] {
        assert!(ran.err.contains(&words), "{words}: {ran:?}");
    }
    assert_eq!(rig.run(&["tools", "SERVER"]).await.code, Some(0));
    assert_eq!(rig.world.count("one", "/authorize"), 1);
    shows_no_secret(&ran);
}

#[tokio::test]
async fn json_says_what_was_issued_and_never_a_token() {
    let rig = Rig::new().await;

    let ran = rig.log_in_by_browser(&["login", "SERVER", "--json", "--profile", "work"]).await;

    let told = ran.json();
    assert_eq!(told["isLoggedIn"], true, "{told}");
    assert_eq!(told["grant"]["profile"], "work", "{told}");
    assert_eq!(told["grant"]["client"], "registered-itself", "{told}");
    assert_eq!(told["grant"]["scopes"], serde_json::json!(["mcp"]), "{told}");
    assert_eq!(told["proof"]["server"], "guarded", "{told}");
    shows_no_secret(&ran);
    assert_eq!(rig.run(&["tools", "SERVER"]).await.code, Some(5));
    assert_eq!(rig.run(&["tools", "SERVER", "--profile", "work"]).await.code, Some(0));
}

/// Over SSH the browser cannot reach the callback: the person copies the URL.
#[tokio::test]
async fn without_a_browser_the_url_that_it_ended_at_can_be_pasted() {
    let rig = Rig::new().await;
    let mut command = rig.command(&["login", "SERVER", "--no-browser"]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let url = loop {
        let line = lines.next_line().await.unwrap().expect("it shows the URL");
        if line.trim().starts_with("http") {
            break line.trim().to_owned();
        }
    };

    let ended_at = get(&url).await.header("location").unwrap().to_owned();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(format!("{ended_at}\n").as_bytes()).await.unwrap();

    let code = timeout(Duration::from_secs(20), child.wait()).await.unwrap().unwrap().code();
    assert_eq!(code, Some(0));
    assert_eq!(rig.opened(), None);
    assert_eq!(rig.run(&["tools", "SERVER"]).await.code, Some(0));
}

#[tokio::test]
async fn a_device_shows_a_code_and_opens_nothing() {
    let rig = Rig::new().await;
    rig.world.state().device_pending = 1;

    let ran = rig.run(&["login", "SERVER", "--device"]).await;

    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.err.contains("code: ABCD-EFGH") && ran.err.contains("/activate"), "{ran:?}");
    assert_eq!(rig.opened(), None);
    shows_no_secret(&ran);
}

#[tokio::test]
async fn a_server_that_asks_for_no_login_opens_nothing() {
    let rig = Rig::new().await;
    let open = Server::new(Protocol::Http1, Mcp::new());
    let address = open.listen().await.unwrap();

    let ran = rig.run(&["login", &format!("http://{address}/mcp")]).await;

    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.err.contains("asks for no login"), "{ran:?}");
    assert_eq!(rig.opened(), None);
    assert!(!rig.folder.path().exists());
}

#[tokio::test]
async fn a_login_that_is_stopped_leaves_what_was_stored() {
    let rig = Rig::new().await;
    rig.log_in(Duration::ZERO).await;
    let child = rig.command(&["login", "SERVER"]).stderr(Stdio::null()).spawn().unwrap();
    rig.wait_for_browser().await;

    let id = rustix::process::Pid::from_raw(child.id().unwrap().try_into().unwrap()).unwrap();
    rustix::process::kill_process(id, rustix::process::Signal::INT).unwrap();

    let output = timeout(Duration::from_secs(20), child.wait_with_output()).await.unwrap().unwrap();
    assert_eq!(output.status.code(), Some(130));
    assert_eq!(rig.run(&["tools", "SERVER"]).await.code, Some(0));
}

#[tokio::test]
async fn who_must_be_registered_by_hand_is_told_how_and_can_be() {
    let rig = Rig::new().await;
    rig.world.state().registers = false;

    let refused = rig.run(&["login", "SERVER", "--profile", "work"]).await;

    assert_eq!(refused.code, Some(5), "{refused:?}");
    let url = rig.world.mcp_url();
    let command =
        format!("ridethrough login {url} --client-id ID --callback-port 8765 --profile work");
    assert!(refused.err.contains(&command), "{refused:?}");
    assert_eq!(rig.opened(), None);
    let done = rig.log_in_by_browser(&["login", "SERVER", "--client-id", "by-hand"]).await;
    assert_eq!(done.code, Some(0), "{done:?}");
}

#[tokio::test]
async fn a_login_that_is_refused_says_so() {
    let rig = Rig::new().await;
    rig.world.state().denies_login = true;

    let ran = rig.log_in_by_browser(&["login", "SERVER", "--json"]).await;

    assert_eq!(ran.code, Some(5), "{ran:?}");
    let told = ran.json();
    assert_eq!(told["error"]["kind"], "unauthorized", "{told}");
    assert!(told["error"]["message"].as_str().unwrap().contains("access_denied"), "{told}");
    let hint = told["error"]["hint"].as_str().unwrap();
    assert!(hint.contains("ridethrough login"), "{hint}");
}

#[tokio::test]
async fn a_client_is_registered_once_unless_a_new_one_is_asked_for() {
    let rig = Rig::new().await;
    rig.log_in_by_browser(&["login", "SERVER"]).await;

    rig.log_in_by_browser(&["login", "SERVER"]).await;
    assert_eq!(rig.world.count("one", "/register"), 1);
    let ran = rig.log_in_by_browser(&["login", "SERVER", "--new-client"]).await;

    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(rig.world.count("one", "/register"), 2);
}

#[tokio::test]
async fn a_server_of_a_config_file_is_logged_in_to_by_its_name_and_as_its_entry_says() {
    let rig = Rig::new().await;
    let entry = format!(
        r#"{{"mcpServers":{{"guarded":{{"command":"npx","args":["mcp-remote","{}",
            "--authorize-param","audience=us","--host","localhost"]}}}}}}"#,
        rig.world.mcp_url()
    );
    std::fs::create_dir_all(rig.folder.0.join(".cursor")).unwrap();
    std::fs::write(rig.folder.0.join(".cursor/mcp.json"), entry).unwrap();

    let ran = rig.log_in_by_browser(&["login", "guarded"]).await;

    assert_eq!(ran.code, Some(0), "{ran:?}");
    let opened = rig.opened().unwrap();
    assert!(opened.contains("audience=us") && opened.contains("localhost"), "{opened}");
    assert_eq!(rig.run(&["tools", "guarded"]).await.code, Some(0));
}

/// A file that came with a repository could name an issuer of its own.
#[tokio::test]
async fn a_projects_file_that_is_not_approved_has_no_say_in_a_login() {
    let rig = Rig::new().await;
    let entry = format!(
        r#"{{"mcpServers":{{"guarded":{{"command":"ridethrough","args":["bridge","{}",
            "--trust-issuer","https://evil.example"]}}}}}}"#,
        rig.world.mcp_url()
    );
    std::fs::write(rig.folder.0.join(".mcp.json"), entry).unwrap();

    let ran = rig.run(&["login", "guarded"]).await;

    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.err.contains("is not approved"), "{ran:?}");
    assert_eq!(rig.world.state().log.len(), 0);
}

#[tokio::test]
async fn a_program_is_not_logged_in_to() {
    let rig = Rig::new().await;

    let ran = rig.run(&["login", "--", "cat"]).await;

    assert_eq!(ran.code, Some(2), "{ran:?}");
}

fn shows_no_secret(ran: &Ran) {
    for secret in ["access", "refresh", "secret", "code", "device"] {
        assert!(!ran.said().contains(&format!("c4nary-{secret}")), "{secret}: {ran:?}");
    }
}

impl Rig {
    /// Runs the binary, and consents in the browser that it opens.
    pub(crate) async fn log_in_by_browser(&self, words: &[&str]) -> Ran {
        let _ = std::fs::remove_file(self.folder.0.join("opened"));
        let mut command = self.command(words);
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let url = self.wait_for_browser().await;
        drop(consent(&url).await);
        timeout(Duration::from_secs(50), child.wait_with_output()).await.unwrap().unwrap().into()
    }

    /// Returns the URL that the browser is opened with.
    async fn wait_for_browser(&self) -> String {
        let waiting = async {
            loop {
                if let Some(url) = self.opened() {
                    return url;
                }
                sleep(Duration::from_millis(10)).await;
            }
        };
        timeout(Duration::from_secs(50), waiting).await.expect("a browser is opened")
    }
}
