//! A gateway that takes the signed tokens of an authorization server, and a client that gets one by itself.

use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::Child;
use tokio::time::timeout;

use crate::rig::Rig;
use crate::support::{Signer, get};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_logs_in_to_a_gateway_by_itself_and_sees_what_its_scope_may() {
    let rig = Rig::new().await;
    rig.world.state().signer = Some(Signer::new("ada"));
    let (_gateway, url) = start(&rig, &free_address()).await;

    let refused = rig.run(&["tools", &url]).await;
    assert_eq!(refused.code, Some(5), "{refused:?}");
    let metadata = get(&url.replace("/mcp", "/.well-known/oauth-protected-resource/mcp")).await;
    assert!(metadata.body.contains(&rig.world.state().one), "{}", metadata.body);
    let ran = rig.log_in_by_browser(&["login", &url]).await;
    assert_eq!(ran.code, Some(0), "{ran:?}");

    let tools = rig.run(&["tools", &url]).await;
    assert!(tools.out.contains("a_echo") && !tools.out.contains("b_echo"), "{tools:?}");
    let called = rig.run(&["call", &url, "a_echo"]).await;
    assert!(called.out.contains("hello of a"), "{called:?}");
    let denied = rig.run(&["call", &url, "b_echo", "--unchecked"]).await;
    assert!(denied.err.contains("there is no tool `b_echo` here"), "{denied:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_gateway_takes_no_token_that_is_for_another_or_of_another() {
    let rig = Rig::new().await;
    let (signer, stranger) = (Signer::new("ada"), Signer::new("ada"));
    let address = free_address();
    let url = format!("http://{address}/mcp");
    let issuer = rig.world.state().one.clone();
    let shown = [
        (signer.token(&issuer, &url, "mcp"), Some(0)),
        (signer.token(&issuer, "https://other.example/mcp", "mcp"), Some(5)),
        (signer.token("https://other.example", &url, "mcp"), Some(5)),
        (stranger.token(&issuer, &url, "mcp"), Some(5)),
    ];
    rig.world.state().signer = Some(signer);
    let (_gateway, url) = start(&rig, &address).await;

    for (number, (token, code)) in shown.iter().enumerate() {
        let words = ["tools", &url, "--bearer-env", "SHOWN"];
        let ran = rig.run_with(&words, &[("SHOWN", token)]).await;
        assert_eq!(ran.code, *code, "{number} {ran:?}");
        assert!(!ran.said().contains(token), "{number}");
    }
    assert_eq!(rig.world.count("one", "/keys"), 1, "keys are fetched once");
}

/// Starts a gateway whose audience is its own URL.
async fn start(rig: &Rig, address: &str) -> (Child, String) {
    let issuer = rig.world.state().one.clone();
    let server = |name: &str| {
        let args = serde_json::json!(["-c", SCRIPT, "server", name]);
        serde_json::json!({"command": "/bin/sh", "args": args})
    };
    let url = format!("http://{address}/mcp");
    let config = serde_json::json!({
        "mcpServers": {"a": server("a"), "b": server("b")},
        "gateway": {"access": {
            "groups": {"mcp": {"allow": ["a"]}},
            "jwt": {"issuer": issuer, "audience": url, "scopes": ["mcp"]},
        }},
    });
    let path = rig.folder.0.join("mcp.json");
    std::fs::write(&path, config.to_string()).unwrap();
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o600)).unwrap();
    let flags = ["gateway", "--config", path.to_str().unwrap(), "--listen", address];
    let mut gateway = rig.command(&flags).stdout(Stdio::piped()).spawn().unwrap();
    let mut stdout = BufReader::new(gateway.stdout.take().unwrap());
    let mut said = String::new();
    timeout(Duration::from_secs(60), stdout.read_line(&mut said)).await.unwrap().unwrap();
    assert_eq!(said.trim(), url);
    (gateway, url)
}

/// An address on which nothing listens: the audience must be known before the gateway starts.
fn free_address() -> String {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().to_string()
}

/// A server with one tool, whose name is its first argument.
const SCRIPT: &str = r#"
while read -r line; do
  id=$(printf '%s' "$line" | /bin/sed -n 's/.*"id":\([0-9]*\).*/\1/p')
  case "$line" in
    *'"initialize"'*) result='{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"sh","version":"1"}}' ;;
    *'"tools/list"'*) result='{"tools":[{"name":"echo","inputSchema":{"type":"object"}}]}' ;;
    *'"tools/call"'*) result='{"content":[{"type":"text","text":"hello of '"$1"'"}]}' ;;
    *) result='{}' ;;
  esac
  if [ -n "$id" ]; then printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$result"; fi
done
"#;
