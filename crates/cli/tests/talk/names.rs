//! Servers by the name that the config file of a host gives them.

use serde_json::json;

use crate::rig::Rig;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_name_reaches_the_server_with_the_headers_and_the_token_of_its_file() {
    let rig = Rig::new().await;
    rig.mcp.require_bearer(Some("s3cret-token"));
    let headers = json!({"Authorization": "Bearer ${TOKEN}", "X-Team": "s3cret-team"});
    let entry =
        json!({"type": "http", "url": format!("{}?key=s3cret-key", rig.url), "headers": headers});
    rig.write(".mcp.json", &json!({"mcpServers": {"it": entry}}).to_string());
    rig.run(&["trust", ".mcp.json", "--yes"]).await;

    let words = ["call", "it", "echo", "msg=hi", "-vvv"];
    let ran = rig.run_with(&words, &[("TOKEN", "s3cret-token")]).await;

    assert_eq!((ran.code, ran.out.as_str()), (Some(0), "hi\n"), "{ran:?}");
    assert_eq!(rig.mcp.log()[0].header("x-team"), Some("s3cret-team"));
    let first = ran.err.lines().next().unwrap();
    assert!(first.starts_with(&format!("`it` is {}, from ", rig.url)), "{first}");
    assert!(first.ends_with(".mcp.json"), "{first}");
    assert!(!format!("{ran:?}").contains("s3cret"), "{ran:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_typed_wins_over_what_the_file_has() {
    let rig = Rig::new().await;
    let headers = json!({"Authorization": "Bearer file", "X-Team": "file", "X-More": "file"});
    let entry = json!({"url": rig.url, "headers": headers});
    rig.write(".cursor/mcp.json", &json!({"mcpServers": {"it": entry}}).to_string());

    let words = ["ping", "cursor:it", "--header", "x-team: typed", "--bearer-env", "TOKEN"];
    let ran = rig.run_with(&words, &[("TOKEN", "typed")]).await;

    assert_eq!(ran.code, Some(0), "{ran:?}");
    let sent = &rig.mcp.log()[0];
    let header = |name: &str| sent.header(name).unwrap_or_default().to_owned();
    assert_eq!([header("x-team"), header("x-more")], ["typed", "file"]);
    assert_eq!(header("authorization"), "Bearer typed");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_name_of_a_program_starts_it_and_needs_no_header() {
    let rig = Rig::new().await;
    // The one stdio server that is sure to exist is this project's own bridge, in a form that the reader of
    // configs does not recognise.
    let line = format!("exec {} bridge {}", env!("CARGO_BIN_EXE_ridethrough"), rig.url);
    let entry = json!({"command": "/bin/sh", "args": ["-c", line]});
    rig.write(".mcp.json", &json!({"mcpServers": {"local": entry}}).to_string());
    rig.run(&["trust", ".mcp.json", "--yes"]).await;

    let words = ["call", "local", "echo", "msg=hi", "--header", "X-Team: blue"];
    let ran = rig.run(&words).await;

    assert_eq!((ran.code, ran.out.as_str()), (Some(0), "hi\n"), "{ran:?}");
    assert!(ran.err.starts_with("`local` is the program `/bin/sh`, from "), "{}", ran.err);
    assert_eq!(rig.mcp.log()[0].header("x-team"), None);
}
