//! `ridethrough check` at a server that wants a login.

use std::time::Duration;

use serde_json::json;

use crate::rig::Rig;

#[tokio::test]
async fn a_check_shows_how_people_log_in_and_what_a_login_will_do() {
    let rig = Rig::new().await;

    let ran = rig.run(&["check", "SERVER", "--profile", "work"]).await;
    let json = rig.run(&["check", "SERVER", "--json"]).await.json();

    assert_eq!(ran.code, Some(5), "{ran:?}");
    let said = ran.out.split_whitespace().collect::<Vec<_>>().join(" ");
    let issuer = rig.world.state().one.clone();
    let url = rig.world.mcp_url();
    for words in [
        format!("is for the resource `{url}`, trusts `{issuer}` and names the scopes `mcp`"),
        format!("the authorization server is `{issuer}`"),
        "clients register themselves, or are registered by hand".to_owned(),
        "knows PKCE with S256, refresh tokens, revocation, device codes".to_owned(),
        "a login registers a client of its own, asks for the scopes `mcp`".to_owned(),
        format!("`ridethrough login {url} --profile work` logs you in"),
    ] {
        assert!(said.contains(&words), "{words}: {said}");
    }
    let told = &json["authorization"];
    assert_eq!(told["issuer"], issuer, "{told}");
    assert_eq!(told["endpoints"]["token"], format!("{issuer}/token"), "{told}");
    assert_eq!(told["clientKinds"], json!(["registers-itself", "by-hand"]), "{told}");
    assert_eq!(told["scopes"], json!(["mcp"]), "{told}");
    assert_eq!(rig.world.count("one", "/register"), 0);
}

#[tokio::test]
async fn a_check_uses_and_shows_a_stored_login() {
    let rig = Rig::new().await;
    rig.log_in(Duration::ZERO).await;

    let ran = rig.run(&["check", "SERVER"]).await;

    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.out.contains("a login of yours is stored here: ok"), "{ran:?}");
    assert!(!ran.said().contains("c4nary-"), "{ran:?}");
}

#[tokio::test]
async fn what_a_login_would_refuse_is_told_with_the_flag_that_allows_it() {
    let rig = Rig::new().await;
    rig.world.state().registers = false;

    let ran = rig.run(&["check", "SERVER"]).await;

    assert!(ran.out.contains("BAD  a login would fail: clients register by hand only"), "{ran:?}");
    assert!(ran.out.contains("--client-id ID"), "{ran:?}");
}

/// The refusal of a configured token has nothing to do with a login.
#[tokio::test]
async fn a_check_with_a_token_looks_for_no_login() {
    let rig = Rig::new().await;

    let words = ["check", "SERVER", "--bearer-env", "TOKEN", "--json"];
    let ran = rig.run_with(&words, &[("TOKEN", "c4nary-own")]).await;

    assert_eq!((ran.code, &ran.json()["authorization"]), (Some(5), &json!(null)), "{ran:?}");
    assert_eq!(rig.world.count("one", "/.well-known/oauth-authorization-server"), 0);
}
