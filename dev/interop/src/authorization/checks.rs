//! The checks that every authorization server is asked. A check's name is a sentence that can be false.

use std::time::Duration;

use futures_util::future::BoxFuture;
use ridethrough_oauth::{KeepClient, LoggedOut, RedirectTo, Secret};
use ridethrough_oauth_core::client::ClientKind;
use ridethrough_oauth_core::store::GrantRecord;
use ridethrough_testkit::process::free_port;

use super::bench::LoginBench;
use super::robot::{CallbackManner, Robot};
use crate::partner::{Verdict, expect, words};

/// One check of authorization.
pub(super) struct LoginCheck {
    pub(super) name: &'static str,
    pub(super) run: for<'a> fn(LoginBench<'a>) -> BoxFuture<'a, Verdict>,
}

impl LoginCheck {
    pub(super) fn sentence(&self) -> String {
        self.name.replace('_', " ")
    }
}

macro_rules! checks {
    ($($name:ident,)*) => {
        &[$(LoginCheck { name: stringify!($name), run: |bench| Box::pin($name(bench)) },)*]
    };
}

pub(super) const LOGIN_CHECKS: &[LoginCheck] = checks![
    a_client_that_registers_itself_logs_in_by_a_browser,
    a_client_that_was_registered_by_hand_logs_in_by_a_browser,
    a_client_whose_id_is_a_url_logs_in_by_a_browser,
    a_person_who_pastes_the_url_of_the_callback_is_logged_in,
    a_person_logs_in_on_another_device,
    ten_calls_whose_token_has_ended_are_answered_without_a_login,
    five_refreshes_in_a_row_keep_the_login,
    a_refresh_token_that_is_sent_again_ends_the_login_and_the_next_one_is_good,
    a_logout_revokes_what_was_granted,
    a_server_that_has_forgotten_everything_is_logged_in_to_once,
];

async fn a_client_that_registers_itself_logs_in_by_a_browser(bench: LoginBench<'_>) -> Verdict {
    let client = bench.log_in(bench.oauth()).await?;
    bench.calls_at_once(&client, 10).await?;
    is_of(&bench, ClientKind::Dynamic).await
}

async fn a_client_that_was_registered_by_hand_logs_in_by_a_browser(
    bench: LoginBench<'_>,
) -> Verdict {
    let port = free_port().map_err(words)?;
    bench.by_hand(&format!("register?port={port}")).await?;
    let redirect = RedirectTo { port: Some(port), ..RedirectTo::default() };
    let oauth = bench.oauth().client_id("by-hand").redirect(redirect);
    let client = bench.log_in(oauth.client_secret(Secret::new("secret-of-by-hand"))).await?;
    bench.end_access_tokens().await?;
    bench.call(&client).await?;
    is_of(&bench, ClientKind::Preregistered).await
}

async fn a_client_whose_id_is_a_url_logs_in_by_a_browser(bench: LoginBench<'_>) -> Verdict {
    let client = bench.log_in(bench.oauth().client_metadata_url(METADATA_URL)).await?;
    bench.end_access_tokens().await?;
    bench.call(&client).await?;
    is_of(&bench, ClientKind::MetadataDocument).await
}

async fn a_person_who_pastes_the_url_of_the_callback_is_logged_in(
    mut bench: LoginBench<'_>,
) -> Verdict {
    bench.robot = Robot::new(CallbackManner::Pasted);
    bench.log_in(bench.oauth()).await.map(drop)
}

async fn a_person_logs_in_on_another_device(bench: LoginBench<'_>) -> Verdict {
    let client = bench.log_in(bench.oauth().device()).await?;
    bench.end_access_tokens().await?;
    bench.call(&client).await?;
    expect(bench.robot.logins() == 1, || "the login was not kept".to_owned())
}

async fn ten_calls_whose_token_has_ended_are_answered_without_a_login(
    bench: LoginBench<'_>,
) -> Verdict {
    bench.log_in(bench.oauth()).await?;
    let client = bench.client(bench.unattended())?;
    bench.call(&client).await?;
    bench.end_access_tokens().await?;
    bench.calls_at_once(&client, 10).await
}

async fn five_refreshes_in_a_row_keep_the_login(bench: LoginBench<'_>) -> Verdict {
    bench.log_in(bench.oauth()).await?;
    let mut last = granted(&bench).await?;
    for refresh in 1..=5 {
        bench.pass(LONGER_THAN_A_TOKEN_LIVES);
        bench.call(&bench.client(bench.unattended())?).await?;
        let record = granted(&bench).await?;
        let is_new = record.tokens.as_ref().map(|it| &it.access)
            != last.tokens.as_ref().map(|it| &it.access);
        expect(is_new, || format!("refresh {refresh} brought no new token"))?;
        last = record;
    }
    Ok(())
}

async fn a_refresh_token_that_is_sent_again_ends_the_login_and_the_next_one_is_good(
    bench: LoginBench<'_>,
) -> Verdict {
    bench.log_in(bench.oauth()).await?;
    let old = granted(&bench).await?;
    bench.end_access_tokens().await?;
    bench.call(&bench.client(bench.unattended())?).await?;
    bench.end_access_tokens().await?;
    bench.put_back(&old).await?;

    let alone = bench.client(bench.unattended())?;
    let said = bench.call_in_vain(&alone).await?;
    expect(said.contains("the login has ended"), || format!("it says {said}"))?;

    bench.account(bench.oauth())?.log_in().await.map_err(words)?;
    bench.call(&alone).await
}

async fn a_logout_revokes_what_was_granted(bench: LoginBench<'_>) -> Verdict {
    bench.log_in(bench.oauth()).await?;
    let old = granted(&bench).await?;
    let account = bench.account(bench.unattended())?;
    let out = account.log_out(KeepClient::Yes).await.map_err(words)?;
    let is_revoked = out == LoggedOut::Done { not_revoked: None };
    expect(is_revoked, || format!("{out:?}"))?;

    bench.put_back(&old).await?;
    // The access token is no longer new, so that a refusal leads to a refresh.
    bench.pass(Duration::from_secs(100));
    bench.call_in_vain(&bench.client(bench.unattended())?).await.map(drop)
}

async fn a_server_that_has_forgotten_everything_is_logged_in_to_once(
    mut bench: LoginBench<'_>,
) -> Verdict {
    let client = bench.log_in(bench.oauth()).await?;
    let before = granted(&bench).await?.client.id;
    bench.pass(Duration::from_secs(100));
    bench.restart().await?;
    bench.calls_at_once(&client, 10).await?;
    expect(bench.robot.logins() == 2, || format!("{} logins", bench.robot.logins()))?;
    let after = granted(&bench).await?.client.id;
    expect(before != after, || "a client that is forgotten was used again".to_owned())
}

async fn granted(bench: &LoginBench<'_>) -> Verdict<GrantRecord> {
    bench.record().await?.ok_or_else(|| "the store is empty".to_owned())
}

async fn is_of(bench: &LoginBench<'_>, kind: ClientKind) -> Verdict {
    let found = granted(bench).await?.client.kind;
    expect(found == kind, || format!("the client is {found:?}"))
}

/// The URL of the metadata document that the servers are configured with; it is never fetched.
const METADATA_URL: &str = "https://client.example/ridethrough.json";
const LONGER_THAN_A_TOKEN_LIVES: Duration = Duration::from_secs(3700);
