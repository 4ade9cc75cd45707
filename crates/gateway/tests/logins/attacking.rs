//! Attacks on the login of a principal, by name.

use ridethrough_gateway::AccessRights;

use crate::browser::{Browser, FROM_OUR_PAGE, yes};
use crate::rig::{Rig, call, refused};
use crate::support::{Iss, get};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_ticket_of_one_principal_logs_in_no_other() {
    let rig = Rig::new().await;
    let (ada, bob) = (rig.login_url("ada").await, rig.login_url("bob").await);
    assert_ne!(ada, bob);

    let page = Browser::default().open(&bob).await;
    assert!(page.body.contains("bob") && !page.body.contains("ada"), "{}", page.body);
    Browser::default().log_in(&bob).await;

    assert_eq!(refused(&rig.client("ada"), "hello").await["data"]["kind"], "loginNeeded");
    assert_eq!(call(&rig.client("bob"), "hello").await.unwrap(), "hello");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_ticket_is_good_once() {
    let rig = Rig::new().await;
    let url = rig.login_url("ada").await;
    let mut browser = Browser::default();
    let form = yes(&browser.open(&url).await);
    assert_eq!(browser.send(&url, &form, FROM_OUR_PAGE).await.status, 303);

    let again = browser.send(&url, &form, FROM_OUR_PAGE).await;
    let page = browser.open(&url).await;

    assert_eq!((again.status, page.status), (404, 404));
    assert_eq!(rig.world.count("one", "/register"), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_forged_ticket_shows_nothing() {
    let rig = Rig::new().await;
    let url = rig.login_url("ada").await;

    for forged in
        [format!("{url}A"), format!("{}/login/", rig.origin), url.replace("/login/", "/login/A")]
    {
        let page = Browser::default().open(&forged).await;

        assert_eq!(page.status, 404, "{forged}");
        assert!(!page.body.contains("ada") && !page.body.contains("guarded"), "{}", page.body);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_form_of_another_site_or_page_or_browser_is_no_consent() {
    let rig = Rig::new().await;
    let url = rig.login_url("ada").await;
    let mut browser = Browser::default();
    let old = yes(&browser.open(&url).await);
    let form = yes(&browser.open(&url).await);

    for (form, headers) in [
        (&old, FROM_OUR_PAGE),
        (&"page=&answer=yes".to_owned(), FROM_OUR_PAGE),
        (&"answer=yes".to_owned(), FROM_OUR_PAGE),
        (&format!("{form}&page=x"), FROM_OUR_PAGE),
        (&form, "origin: https://evil.example\r\n"),
        (&form, "origin: null\r\nsec-fetch-site: cross-site\r\n"),
    ] {
        let answer = browser.send(&url, form, headers).await;
        assert_eq!(answer.status, 400, "{form} {headers}");
    }
    let stranger = Browser::default().send(&url, &form, FROM_OUR_PAGE).await;
    assert_eq!(stranger.status, 400, "it has no cookie");

    assert_eq!(rig.world.count("one", "/register"), 0);
    assert_eq!(browser.send(&url, &form, FROM_OUR_PAGE).await.status, 303);
}

/// Who has consented could send the address of the authorization server to somebody else.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_callback_in_another_browser_gives_no_account_away() {
    let rig = Rig::new().await;
    let url = rig.login_url("bob").await;
    let mut mallory = Browser::default();
    let there = mallory.consent(&url).await;

    let mut victim = Browser::default();
    let back = victim.log_in_at(&there).await;
    let page = victim.open(&back).await;

    assert_eq!(page.status, 400);
    assert_eq!(rig.world.token_forms("authorization_code").len(), 0);
    assert_eq!(refused(&rig.client("bob"), "hello").await["data"]["kind"], "loginNeeded");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_callback_with_a_foreign_state_changes_nothing() {
    let rig = Rig::new().await;
    let url = rig.login_url("ada").await;
    let mut browser = Browser::default();
    let there = browser.consent(&url).await;
    let back = browser.log_in_at(&there).await;

    for query in ["code=evil&state=evil", "code=evil", "state=", ""] {
        let page = browser.open(&format!("{}/oauth/callback?{query}", rig.origin)).await;
        assert_eq!(page.status, 400, "{query}");
    }

    assert_eq!(rig.world.token_forms("authorization_code").len(), 0);
    let page = browser.open(&back).await;
    assert!(page.body.contains("Logged in to guarded"), "{}", page.body);
    assert_eq!(browser.open(&back).await.status, 400, "it is good once");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_callback_of_another_issuer_is_not_exchanged() {
    let rig = Rig::new().await;
    rig.world.state().iss = Iss::Wrong;
    let url = rig.login_url("ada").await;

    let page = Browser::default().log_in(&url).await;

    assert!(page.body.contains("Not logged in"), "{}", page.body);
    assert!(!page.body.contains("evil.example"), "{}", page.body);
    assert_eq!(rig.world.token_forms("authorization_code").len(), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_asked_for_is_what_the_person_has_read() {
    let rig = Rig::new().await;
    let url = rig.login_url("ada").await;
    let mut browser = Browser::default();
    let form = yes(&browser.open(&url).await);
    rig.world.state().scopes = &["admin"];

    let page = browser.send(&url, &form, FROM_OUR_PAGE).await;

    assert_eq!(page.status, 200);
    assert!(page.body.contains("<li>admin</li>"), "{}", page.body);
    assert_eq!(rig.world.count("one", "/authorize"), 0);
    let answer = browser.send(&url, &yes(&page), FROM_OUR_PAGE).await;
    assert!(answer.header("location").unwrap().contains("scope=admin"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_logins_in_one_browser_do_not_meet() {
    let rig = Rig::new().await;
    let (ada, bob) = (rig.login_url("ada").await, rig.login_url("bob").await);
    let mut browser = Browser::default();
    let (to_ada, to_bob) = (browser.consent(&ada).await, browser.consent(&bob).await);

    let back = browser.log_in_at(&to_bob).await;
    browser.open(&back).await;

    assert_eq!(call(&rig.client("bob"), "hello").await.unwrap(), "hello");
    assert_eq!(refused(&rig.client("ada"), "hello").await["data"]["kind"], "loginNeeded");
    let back = browser.log_in_at(&to_ada).await;
    browser.open(&back).await;
    assert_eq!(call(&rig.client("ada"), "hello").await.unwrap(), "hello");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_may_not_use_the_server_any_more_cannot_log_in_to_it() {
    let rig = Rig::new().await;
    let url = rig.login_url("ada").await;

    rig.set_access(AccessRights::default());

    assert_eq!(Browser::default().open(&url).await.status, 404);
}

/// A person who opens the link of somebody else may not read whose it is.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn where_a_proof_is_wanted_only_the_principals_own_token_is_one() {
    let rig = Rig::with_proof().await;
    let url = rig.login_url("ada").await;
    let mut browser = Browser::default();
    let form = yes(&browser.open(&url).await);

    for token in ["", "&token=", "&token=bob", "&token=owner", "&token=ada&token=ada"] {
        let answer = browser.send(&url, &format!("{form}{token}"), FROM_OUR_PAGE).await;
        assert_eq!(answer.status, 403, "{token}");
    }
    assert_eq!(rig.world.count("one", "/register"), 0);

    let answer = browser.send(&url, &format!("{form}&token=%61da"), FROM_OUR_PAGE).await;
    assert_eq!(answer.status, 303, "{}", answer.body);
}

/// Names of the world's secrets begin with one word.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_secret_is_in_a_page_an_error_or_what_people_are_told() {
    let rig = Rig::new().await;
    let error = refused(&rig.client("ada"), "hello").await;
    let url = error["data"]["url"].as_str().unwrap().to_owned();
    let ticket = url.rsplit('/').next().unwrap().to_owned();
    let mut browser = Browser::default();
    let page = browser.open(&url).await;
    let sent = browser.send(&url, &yes(&page), FROM_OUR_PAGE).await;
    let there = sent.header("location").unwrap().to_owned();
    let back = browser.log_in_at(&there).await;
    let state = there.split("state=").nth(1).unwrap().split('&').next().unwrap().to_owned();
    let strangers = get(&back).await;
    let done = browser.open(&back).await;
    assert!(done.body.contains("Logged in"), "{}", done.body);

    let read =
        [&page.body, &sent.body, &strangers.body, &done.body, &error.to_string(), &rig.told()]
            .map(String::as_str)
            .join("\n");

    assert!(!read.contains("c4nary"), "{read}");
    assert!(!read.contains(&state), "{read}");
    let pages = read.replace(&error.to_string(), "");
    assert!(!pages.contains(&ticket), "{pages}");
    assert!(!format!("{:?}", rig.gateway).contains(&ticket));
}
