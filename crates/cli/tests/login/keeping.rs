//! `ridethrough logout`, `auth status` and `auth move`: what becomes of a login afterwards.

use std::process::Stdio;
use std::time::Duration;

use tokio::io::AsyncWriteExt;

use crate::rig::Rig;

#[tokio::test]
async fn a_logout_revokes_deletes_and_keeps_the_client() {
    let rig = Rig::new().await;
    rig.log_in_by_browser(&["login", "SERVER"]).await;

    let ran = rig.run(&["logout", "SERVER"]).await;

    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.err.contains("the tokens are revoked, and deleted here"), "{ran:?}");
    assert_eq!(rig.world.count("one", "/revoke"), 2);
    assert_eq!(rig.run(&["tools", "SERVER"]).await.code, Some(5));
    rig.log_in_by_browser(&["login", "SERVER"]).await;
    assert_eq!(rig.world.count("one", "/register"), 1);
    rig.run(&["logout", "SERVER", "--client"]).await;
    rig.log_in_by_browser(&["login", "SERVER"]).await;
    assert_eq!(rig.world.count("one", "/register"), 2);
}

#[tokio::test]
async fn a_logout_of_nobody_is_no_failure_and_one_of_all_ends_every_account() {
    let rig = Rig::new().await;
    let nobody = rig.run(&["logout", "SERVER", "--json"]).await;
    assert_eq!((nobody.code, &nobody.json()[0]["wasLoggedIn"]), (Some(0), &false.into()));
    rig.log_in_by_browser(&["login", "SERVER"]).await;
    rig.log_in_by_browser(&["login", "SERVER", "--profile", "work"]).await;

    let ran = rig.run(&["logout", "--all", "--json"]).await;

    assert_eq!(ran.json().as_array().unwrap().len(), 2, "{ran:?}");
    assert!(rig.world.state().access.is_empty());
    assert_eq!(rig.run(&["auth", "status", "--json"]).await.json(), serde_json::json!([]));
}

#[tokio::test]
async fn a_server_that_cannot_revoke_is_told_and_the_tokens_are_deleted() {
    let rig = Rig::new().await;
    rig.world.state().knows_revocation = false;
    rig.log_in_by_browser(&["login", "SERVER"]).await;

    let ran = rig.run(&["logout", "SERVER"]).await;

    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.err.contains("deleted here, and not revoked"), "{ran:?}");
    assert_eq!(rig.run(&["auth", "status", "SERVER"]).await.code, Some(5));
}

#[tokio::test]
async fn a_status_is_told_offline_with_its_exit_code() {
    let rig = Rig::new().await;
    assert_eq!(rig.run(&["auth", "status"]).await.code, Some(0));
    assert_eq!(rig.run(&["auth", "status", "SERVER"]).await.code, Some(5));
    rig.log_in(Duration::ZERO).await;
    let asked = rig.world.state().log.len();

    let (ran, json) = (
        rig.run(&["auth", "status"]).await,
        rig.run(&["auth", "status", "SERVER", "--json"]).await,
    );

    assert_eq!((ran.code, json.code), (Some(0), Some(0)), "{ran:?}");
    let issuer = rig.world.state().one.clone();
    for words in [
        format!("{}: ok", rig.world.mcp_url()),
        format!("issued by {issuer}; client registered-itself"),
    ] {
        assert!(ran.out.contains(&words), "{words}: {ran:?}");
    }
    let told = &json.json()[0];
    assert_eq!((&told["status"], &told["isUsable"]), (&"ok".into(), &true.into()), "{told}");
    assert_eq!(rig.world.state().log.len(), asked);
    assert!(!format!("{}{}", ran.said(), json.said()).contains("c4nary"));
}

#[tokio::test]
async fn a_login_that_has_ended_is_renewed_or_needs_a_person() {
    let rig = Rig::new().await;
    rig.log_in(Duration::from_secs(4000)).await;
    let status = async |rig: &Rig| {
        let ran = rig.run(&["auth", "status", "SERVER", "--json"]).await;
        (ran.json()[0]["status"].clone(), ran.code)
    };
    assert_eq!(status(&rig).await, ("expired-refreshable".into(), Some(0)));
    rig.world.state().refresh.clear();
    rig.world.state().access.clear();

    let call = rig.run(&["tools", "SERVER"]).await;

    assert_eq!(call.code, Some(5), "{call:?}");
    assert!(call.err.contains("ridethrough login"), "{call:?}");
    assert_eq!(status(&rig).await, ("login-needed".into(), Some(5)));
}

#[tokio::test]
async fn a_login_is_moved_to_another_machine_and_not_copied() {
    let (here, there) = (Rig::new().await, Rig::new().await);
    here.log_in(Duration::ZERO).await;
    let url = here.world.mcp_url();

    let given = here.run(&["auth", "move", "SERVER", "--to", "login.json"]).await;
    assert_eq!(given.code, Some(0), "{given:?}");
    assert!(!given.said().contains("c4nary"), "{given:?}");
    assert_eq!(here.run(&["tools", "SERVER"]).await.code, Some(5));
    let file = here.folder.0.join("login.json");
    assert_eq!(mode(&file), 0o600);
    let taken = there.run(&["auth", "move", "--from", file.to_str().unwrap()]).await;

    assert_eq!(taken.code, Some(0), "{taken:?}");
    assert_eq!(there.run(&["tools", &url]).await.code, Some(0));
    assert!(!file.exists());
}

#[tokio::test]
async fn a_login_goes_through_a_pipe_and_replaces_no_good_one_unasked() {
    let rig = Rig::new().await;
    rig.log_in(Duration::ZERO).await;
    let given = rig.run(&["auth", "move", "SERVER"]).await;
    assert_eq!(given.code, Some(0), "{given:?}");
    rig.log_in(Duration::ZERO).await;

    let refused = take(&rig, &["auth", "move", "--from", "-"], &given.out).await;
    let forced = take(&rig, &["auth", "move", "--from", "-", "--force"], &given.out).await;
    let nonsense = take(&rig, &["auth", "move", "--from", "-"], "{}").await;

    assert_eq!([refused, forced, nonsense], [Some(2), Some(0), Some(2)]);
    assert_eq!(rig.run(&["tools", "SERVER"]).await.code, Some(0));
    let nobody = rig.run(&["auth", "move", "SERVER", "--profile", "work"]).await;
    assert_eq!((nobody.code, nobody.out.as_str()), (Some(2), ""), "{nobody:?}");
}

/// An existing file is not overwritten, and the login is not lost over it.
#[tokio::test]
async fn a_login_that_cannot_be_written_stays() {
    let rig = Rig::new().await;
    rig.log_in(Duration::ZERO).await;
    std::fs::write(rig.folder.0.join("login.json"), "mine").unwrap();

    let given = rig.run(&["auth", "move", "SERVER", "--to", "login.json"]).await;

    assert_eq!(given.code, Some(1), "{given:?}");
    assert_eq!(rig.run(&["tools", "SERVER"]).await.code, Some(0));
    assert_eq!(std::fs::read_to_string(rig.folder.0.join("login.json")).unwrap(), "mine");
}

async fn take(rig: &Rig, words: &[&str], text: &str) -> Option<i32> {
    let mut child = rig.command(words).stdin(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(text.as_bytes()).await.unwrap();
    child.wait().await.unwrap().code()
}

fn mode(path: &std::path::Path) -> u32 {
    use std::os::unix::fs::PermissionsExt;
    path.metadata().unwrap().permissions().mode() & 0o777
}
