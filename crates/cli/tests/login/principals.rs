//! A gateway at one of whose servers each principal has a login of its own.

use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::Child;
use tokio::time::timeout;

use crate::browser::Browser;
use crate::rig::Rig;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_principal_logs_in_at_the_page_of_the_gateway_and_calls_with_its_own_account() {
    let rig = Rig::new().await;
    rig.world.state().tools = &["hello", "repeat"];
    let added = rig.run(&["gateway", "token", "add", "ada"]).await;
    let ada = added.out.trim().to_owned();
    let (_gateway, url) = start(&rig, json!({"login": "principal"})).await;
    let guarded = format!("{url}/guarded");

    let page = page(&rig, &guarded, &ada).await;
    let done = Browser::default().log_in(&page).await;

    assert!(done.body.contains("Logged in to guarded"), "{}", done.body);
    let called = call(&rig, &guarded, &ada, "hello").await;
    assert_eq!(called.code, Some(0), "{called:?}");
    let owner = call(&rig, &guarded, OWNER, "hello").await;
    assert!(owner.err.contains("a person must log in for `owner` first"), "{owner:?}");
    let status = rig.run(&["auth", "status"]).await;
    assert!(status.out.contains("gateway:ada") && !status.out.contains("owner"), "{status:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_login_of_a_principal_that_all_would_share_is_refused_with_a_hint() {
    let rig = Rig::new().await;
    let path = config(&rig, json!({"login": "principal", "share": "all"}));

    let checked = rig.run(&["gateway", "check", "--config", &path]).await;

    assert_eq!(checked.code, Some(2), "{checked:?}");
    assert!(checked.err.contains("share by \"session\" or \"user\""), "{checked:?}");
    let path = config(&rig, json!({"login": "principal"}));
    let checked = rig.run(&["gateway", "check", "--config", &path]).await;
    assert!(checked.out.contains("guarded: a URL, with a login for each principal"), "{checked:?}");
}

/// Calls without a login, and returns the page that the error names.
async fn page(rig: &Rig, url: &str, token: &str) -> String {
    let refused = call(rig, url, token, "hello").await;
    assert_ne!(refused.code, Some(0), "{refused:?}");
    let said = refused.said();
    let page = said.split_whitespace().find(|it| it.contains("/login/"));
    page.unwrap_or_else(|| panic!("no page in {said}")).to_owned()
}

async fn call(rig: &Rig, url: &str, token: &str, tool: &str) -> crate::rig::Ran {
    let words = ["call", url, tool, "--unchecked", "--bearer-env", "SHOWN"];
    rig.run_with(&words, &[("SHOWN", token)]).await
}

async fn start(rig: &Rig, more: Value) -> (Child, String) {
    let path = config(rig, more);
    let flags =
        ["gateway", "--config", &path, "--listen", "127.0.0.1:0", "--token-env", "OWNERS_TOKEN"];
    let mut command = rig.command(&flags);
    let mut gateway = command.env("OWNERS_TOKEN", OWNER).stdout(Stdio::piped()).spawn().unwrap();
    let mut stdout = BufReader::new(gateway.stdout.take().unwrap());
    let mut said = String::new();
    timeout(Duration::from_secs(60), stdout.read_line(&mut said)).await.unwrap().unwrap();
    (gateway, said.trim().to_owned())
}

/// Writes a config file with one server that wants a login.
fn config(rig: &Rig, mut server: Value) -> String {
    server["url"] = rig.world.mcp_url().into();
    let access = json!({"principals": {"ada": {"allow": "*"}}});
    let config = json!({"mcpServers": {"guarded": server}, "gateway": {"access": access}});
    let path = rig.folder.0.join("mcp.json");
    std::fs::write(&path, config.to_string()).unwrap();
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o600)).unwrap();
    path.to_str().unwrap().to_owned()
}

/// The token of the owner.
const OWNER: &str = "owners-own-token-of-the-gateway-0123456789";
