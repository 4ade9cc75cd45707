//! Commands that use a stored login, and never begin one.

use std::time::Duration;

use ridethrough_oauth::GrantStatus;

use crate::rig::Rig;

#[tokio::test]
async fn a_stored_login_is_used_by_every_command() {
    let rig = Rig::new().await;
    rig.log_in(Duration::ZERO).await;

    for words in
        [&["tools", "SERVER"][..], &["ping", "SERVER"], &["call", "SERVER", "hello", "--unchecked"]]
    {
        let ran = rig.run(words).await;

        assert_eq!(ran.code, Some(0), "{words:?}: {ran:?}");
    }
    assert_eq!(rig.world.count("one", "/authorize"), 1);
}

#[tokio::test]
async fn a_call_without_a_login_names_the_command_and_opens_nothing() {
    let rig = Rig::new().await;

    let ran = rig.run(&["call", "SERVER", "hello", "--profile", "work"]).await;

    assert_eq!(ran.code, Some(5), "{ran:?}");
    let command = format!("ridethrough login {} --profile work", rig.world.mcp_url());
    assert_eq!(ran.err.matches(&command).count(), 1, "{ran:?}");
    assert_eq!(ran.err.matches("hint: ").count(), 1, "{ran:?}");
    assert!(ran.err.contains("nobody has logged in yet"), "{ran:?}");
    assert_eq!(rig.opened(), None);
    assert_eq!(rig.world.count("one", "/register"), 0);
}

#[tokio::test]
async fn a_configured_token_wins_over_a_stored_login() {
    let rig = Rig::new().await;
    rig.log_in(Duration::ZERO).await;
    let stored = rig.world.state().access.keys().next().unwrap().clone();

    let variable = [("TOKEN", "c4nary-own")];
    let ran = rig.run_with(&["tools", "SERVER", "--bearer-env", "TOKEN"], &variable).await;

    assert_eq!(ran.code, Some(5), "{ran:?}");
    let sent = rig.world.sent_to("mcp");
    assert!(sent.contains("c4nary-own") && !sent.contains(&stored), "{sent}");
    let header = rig.run(&["tools", "SERVER", "--header", "Authorization: Basic b3Vyczo="]).await;
    assert_eq!(header.code, Some(5), "{header:?}");
    assert!(!rig.world.sent_to("mcp").contains(&stored));
}

#[tokio::test]
async fn a_stored_login_goes_to_its_own_url_only() {
    let (rig, other) = (Rig::new().await, Rig::new().await);
    rig.log_in(Duration::ZERO).await;

    let ran = rig.run(&["tools", &other.world.mcp_url()]).await;

    assert_eq!(ran.code, Some(5), "{ran:?}");
    assert!(!other.world.sent_to("mcp").contains("authorization"));
}

#[tokio::test]
async fn a_profile_has_a_login_of_its_own() {
    let rig = Rig::new().await;
    rig.log_in(Duration::ZERO).await;

    let ran = rig.run_with(&["tools", "SERVER"], &[("RIDETHROUGH_PROFILE", "work")]).await;

    assert_eq!(ran.code, Some(5), "{ran:?}");
}

/// The refresh is still under way when the call has its answer. If the process ended then, the answer to the
/// refresh would be lost, and the login with it.
#[tokio::test]
async fn a_renewal_that_is_under_way_is_stored_before_the_command_ends() {
    let rig = Rig::new().await;
    rig.world.state().expires_in = 60;
    let account = rig.log_in(Duration::from_secs(50)).await;
    rig.world.state().refresh_delay = Duration::from_millis(700);

    let ran = rig.run(&["call", "SERVER", "hello", "--unchecked"]).await;

    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_renewed_and_stored(&rig);
    assert_eq!(account.status().await.unwrap().status, GrantStatus::Ok);
}

/// The time limit for ending a session does not apply to a renewal.
#[tokio::test]
async fn a_renewal_that_is_under_way_is_stored_although_the_time_of_the_command_is_over() {
    let rig = Rig::new().await;
    rig.world.state().expires_in = 60;
    rig.log_in(Duration::from_secs(120)).await;
    rig.world.state().refresh_delay = Duration::from_millis(2500);

    let ran = rig.run(&["call", "SERVER", "hello", "--unchecked", "--timeout", "1"]).await;

    assert!(ran.code.is_some_and(|code| code != 0), "{ran:?}");
    assert_renewed_and_stored(&rig);
}

fn assert_renewed_and_stored(rig: &Rig) {
    assert_eq!(rig.world.token_forms("refresh_token").len(), 1);
    let newest = format!("\"c4nary-access-{}\"", rig.world.state().number - 1);
    let files = std::fs::read_dir(rig.folder.path()).unwrap();
    let stored: String =
        files.filter_map(|it| std::fs::read_to_string(it.unwrap().path()).ok()).collect();
    assert!(stored.contains(&newest), "{stored}");
}

#[tokio::test]
async fn a_token_of_a_login_that_the_server_repeats_is_masked() {
    let rig = Rig::new().await;
    rig.log_in(Duration::ZERO).await;

    for words in [
        &["call", "SERVER", "repeat", "--unchecked", "-vv"][..],
        &["call", "SERVER", "repeat", "--unchecked", "--json"],
    ] {
        let ran = rig.run(words).await;

        assert_eq!(ran.code, Some(0), "{ran:?}");
        assert!(!ran.said().contains("c4nary"), "{ran:?}");
    }
}
