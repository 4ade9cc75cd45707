//! Tokens and keys: which advice they change, and that nothing prints them.

use ridethrough_lab::{Times, When};
use serde_json::json;

use super::{answer_all, assert_advice, assert_finding};
use crate::rig::Rig;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_token_that_was_not_shown_is_not_called_wrong() {
    let rig = Rig::new().await;
    answer_all(&rig, |ask| async move {
        // The Python SDK answers this to a client that sends no token.
        let challenge = [("www-authenticate", "Bearer error=\"invalid_token\"")];
        ask.status(401, &challenge, "").await;
    });

    let without = rig.run(&["check", "SERVER", "--json"]).await;
    let words = ["check", "SERVER", "--json", "--bearer-env", "TOKEN"];
    let with = rig.run_with(&words, &[("TOKEN", "s3cret-token")]).await;

    assert_eq!([without.code, with.code], [Some(5), Some(5)], "{without:?} {with:?}");
    assert_advice(&without.json(), "the server wants a token: give it by `--bearer-env VAR`");
    assert!(!without.out.contains("too old"), "{without:?}");
    assert_advice(&with.json(), "wrong or too old");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_shows_no_token_is_not_known_to_the_server() {
    let rig = Rig::new().await;
    answer_all(&rig, |ask| async move { ask.status(403, &[], "").await });

    let without = rig.run(&["check", "SERVER", "--json"]).await;
    let words = ["check", "SERVER", "--json", "--bearer-env", "TOKEN"];
    let with = rig.run_with(&words, &[("TOKEN", "s3cret-token")]).await;

    assert_eq!([without.code, with.code], [Some(5), Some(5)], "{without:?} {with:?}");
    assert_advice(&without.json(), "no token was shown");
    assert!(!without.out.contains("knows who asks"), "{without:?}");
    assert_advice(&with.json(), "knows who asks");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_guard_that_was_shown_a_token_says_that_a_page_has_none() {
    let rig = Rig::new().await;
    rig.mcp.require_bearer(Some("s3cret-token"));

    let words = ["check", "SERVER", "--json", "--bearer-env", "TOKEN"];
    let ran = rig.run_with(&words, &[("TOKEN", "s3cret-token")]).await;

    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_finding(&ran.json(), "origin", "warning", "it has no token");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_server_repeats_of_tokens_and_keys_is_hidden() {
    let rig = Rig::new().await;
    rig.mcp
        .initialize_result(json!({"protocolVersion": "s3cret-file", "capabilities": {"tools": {}},
        "serverInfo": {"name": "for s3cret/key", "version": "s3cret-token-and-more"}}));
    rig.mcp.tools(json!([{"name": "s3cret-header"}, {"name": "s3cret-header"}]));
    rig.mcp.rule(When::method("ping"), Times::Always, |ask| async move {
        // The key is at the place where the message is cut off.
        let error = ask.error(-32000, &format!("{} s3cret-token-and-more", "x".repeat(93)));
        ask.status(400, &[("content-type", "application/json")], error).await;
    });
    rig.mcp.rule(When::method("server/discover"), Times::Always, |ask| async move {
        let error = ask.error(-32000, "bad: s3cret/key s3cret%2Fkey s3cret-header s3cret-file");
        ask.status(400, &[("content-type", "application/json")], error).await;
    });
    let url = format!("{}?key=s3cret%2Fkey", rig.url);
    let named = json!({"type": "http", "url": url, "headers": {"X-File": "s3cret-file"}});
    rig.write(".mcp.json", &json!({"mcpServers": {"it": named}}).to_string());
    rig.run(&["trust", ".mcp.json", "--yes"]).await;

    for more in [&["-vvv"][..], &["--json", "-vvv"]] {
        let settings = ["--bearer-env", "TOKEN", "--header", "X-Key: ${KEY}"];
        let words = [&["check", "it"], &settings[..], more].concat();
        let variables = [("TOKEN", "s3cret-token-and-more"), ("KEY", "s3cret-header")];
        let ran = rig.run_with(&words, &variables).await;

        assert_eq!(ran.code, Some(0), "{ran:?}");
        assert!(ran.out.contains("bad: ..."), "{ran:?}");
        assert!(!format!("{ran:?}").contains("s3c"), "{ran:?}");
    }
}
