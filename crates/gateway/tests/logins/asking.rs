//! How a principal comes by its login, and what calls do meanwhile.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use ridethrough::Era;
use ridethrough::model::Elicited;
use ridethrough_gateway::Share;
use tokio::time::{sleep, timeout};

use crate::browser::Browser;
use crate::rig::{ERAS, Rig, call, refused};
use crate::support::{builder, robot};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_leads_to_the_gateways_page_and_goes_on_when_the_person_has_logged_in() {
    for era in ERAS {
        let rig = Rig::new().await;
        let origin = rig.origin.clone();
        let client = rig.builder("ada", era, "/mcp/guarded").on_url(move |page| {
            assert!(page.url.starts_with(&format!("{origin}/login/")), "{}", page.url);
            assert!(page.message.contains("`guarded`"), "{}", page.message);
            tokio::spawn(async move { Browser::default().log_in(&page.url).await });
            async { Elicited::accepted() }
        });
        let client = client.build().unwrap();

        assert_eq!(call(&client, "hello").await.unwrap(), "hello", "{era:?}");

        assert_eq!(call(&client, "hello").await.unwrap(), "hello", "{era:?}");
        assert_eq!(rig.world.count("one", "/authorize"), 1, "{era:?}");
        assert!(rig.told().contains("logged in to `guarded` for `ada`"), "{}", rig.told());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_caller_without_pages_gets_one_error_that_names_server_and_page() {
    for era in ERAS {
        let rig = Rig::new().await;
        let client = rig.builder("ada", era, "/mcp/guarded").build().unwrap();

        let error = refused(&client, "hello").await;

        let (words, data) = (error["message"].as_str().unwrap(), &error["data"]);
        let url = data["url"].as_str().unwrap();
        assert!(words.contains("server `guarded`") && words.contains(url), "{era:?} {words}");
        assert!(words.contains("`ada`") && words.contains("do not retry"), "{era:?} {words}");
        assert_eq!((&data["kind"], &data["mayHaveRun"]), (&"loginNeeded".into(), &false.into()));
        let before = rig.world.count("mcp", "/mcp");
        assert_eq!(refused(&client, "hello").await["data"]["url"], url, "{era:?} it is one page");
        assert_eq!(rig.world.count("mcp", "/mcp"), before, "{era:?} the server is left alone");
        let page = Browser::default().log_in(url).await;
        assert!(page.body.contains("Logged in to guarded"), "{}", page.body);
        assert_eq!(call(&client, "hello").await.unwrap(), "hello", "{era:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_page_names_principal_client_server_issuer_and_scopes() {
    for era in ERAS {
        let rig = Rig::new().await;
        rig.world.state().challenge_scope = Some("mcp:call mcp:read");
        let client = rig.builder("ada", era, "/mcp/guarded").build().unwrap();
        let error = refused(&client, "hello").await;

        let page = Browser::default().open(error["data"]["url"].as_str().unwrap()).await;

        for word in ["ada", "test-agent", "guarded", "127.0.0.1", "mcp:call", "mcp:read"] {
            assert!(page.body.contains(word), "{era:?} {word} {}", page.body);
        }
        assert_eq!(rig.world.count("one", "/register"), 0, "nothing happens before a yes");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_the_login_of_a_principal_shows_is_nobody_elses() {
    for share in [Share::Session, Share::User, Share::All] {
        let rig = Rig::with(|it| it.share = share).await;
        let url = rig.login_url("ada").await;
        Browser::default().log_in(&url).await;
        let ada = call(&rig.client("ada"), "repeat").await.unwrap();

        let url = rig.login_url("bob").await;
        let error = refused(&rig.client("owner"), "hello").await;

        assert_eq!(error["data"]["kind"], "loginNeeded", "{share:?}");
        Browser::default().log_in(&url).await;
        let bob = call(&rig.client("bob"), "repeat").await.unwrap();
        assert_ne!(ada, bob, "{share:?}");
        assert_eq!(call(&rig.client("ada"), "repeat").await.unwrap(), ada, "{share:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_calls_of_a_session_lead_to_one_page() {
    let rig = Rig::new().await;
    let pages = Arc::<AtomicUsize>::default();
    let counting = pages.clone();
    let client = rig.builder("ada", Era::Legacy, "/mcp/guarded").on_url(move |page| {
        counting.fetch_add(1, Ordering::SeqCst);
        async move {
            // Others must have joined by then.
            sleep(Duration::from_millis(300)).await;
            tokio::spawn(async move { Browser::default().log_in(&page.url).await });
            Elicited::accepted()
        }
    });
    let client = client.build().unwrap();

    let calls = (0..10).map(|_| call(&client, "hello"));
    let said = futures_util::future::join_all(calls).await;

    assert!(said.iter().all(|it| it.as_ref().is_ok_and(|it| it == "hello")), "{said:?}");
    assert_eq!(pages.load(Ordering::SeqCst), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_person_who_declines_is_not_asked_again() {
    let rig = Rig::new().await;
    let pages = Arc::<AtomicUsize>::default();
    let counting = pages.clone();
    let client = rig.builder("ada", Era::Legacy, "/mcp/guarded").on_url(move |_| {
        counting.fetch_add(1, Ordering::SeqCst);
        async { Elicited::Declined }
    });
    let client = client.build().unwrap();

    let first = refused(&client, "hello").await;
    let second = refused(&client, "hello").await;

    assert_eq!(pages.load(Ordering::SeqCst), 1);
    assert!(first["message"].as_str().unwrap().contains("the page was not opened"), "{first}");
    assert!(second["data"]["url"].is_string(), "{second}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_person_who_says_no_on_the_page_ends_the_call() {
    let rig = Rig::new().await;
    let client = rig.builder("ada", Era::Legacy, "/mcp/guarded").on_url(|page| async move {
        let mut browser = Browser::default();
        let form = crate::browser::yes(&browser.open(&page.url).await).replace("yes", "no");
        browser.send(&page.url, &form, crate::browser::FROM_OUR_PAGE).await;
        Elicited::accepted()
    });

    let error = refused(&client.build().unwrap(), "hello").await;

    assert!(error["message"].as_str().unwrap().contains("said no"), "{error}");
    assert_eq!(rig.world.count("one", "/authorize"), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_login_that_the_authorization_server_refuses_ends_the_call() {
    let rig = Rig::new().await;
    rig.world.state().denies_login = true;
    let client = rig.builder("ada", Era::Legacy, "/mcp/guarded").on_url(|page| async move {
        let page = Browser::default().log_in(&page.url).await;
        assert!(page.body.contains("Not logged in to guarded"), "{}", page.body);
        Elicited::accepted()
    });

    let error = refused(&client.build().unwrap(), "hello").await;

    assert!(error["message"].as_str().unwrap().contains("access_denied"), "{error}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_login_by_another_program_lets_the_principal_call() {
    let rig = Rig::new().await;
    let client = rig.client("ada");
    refused(&client, "hello").await;
    let oauth = rig.oauth().profile("gateway:ada").person(robot());

    oauth.account(&builder(&rig.world)).unwrap().log_in().await.unwrap();

    assert_eq!(call(&client, "hello").await.unwrap(), "hello");
    assert_eq!(refused(&rig.client("bob"), "hello").await["data"]["kind"], "loginNeeded");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn among_other_servers_the_greeting_says_where_to_log_in_and_the_list_changes_after_it() {
    let rig = Rig::new().await;
    let client = rig.builder("ada", Era::Legacy, "/mcp").build().unwrap();
    let greeting = client.connect().await.unwrap();
    assert!(client.tools().await.unwrap().is_empty());
    let mut inbox = client.inbox();
    let told = greeting.instructions().unwrap_or_default().to_owned();
    let url = told.split_whitespace().find(|it| it.contains("/login/")).unwrap_or_else(|| {
        panic!("no page in {told:?}");
    });

    Browser::default().log_in(url).await;

    let changed = async {
        while let Some(delivered) = inbox.next().await {
            if format!("{delivered:?}").contains("notifications/tools/list_changed") {
                return;
            }
        }
    };
    timeout(Duration::from_secs(10), changed).await.expect("the client is told");
    let names: Vec<_> = client.tools().await.unwrap().into_iter().map(|it| it.name).collect();
    assert_eq!(names, ["guarded_hello", "guarded_repeat"]);
    assert_eq!(call(&client, "guarded_hello").await.unwrap(), "hello");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn among_other_servers_a_name_that_is_not_listed_yet_leads_to_the_page() {
    let rig = Rig::new().await;
    let client = rig.builder("ada", Era::Modern, "/mcp").on_url(|page| async move {
        tokio::spawn(async move { Browser::default().log_in(&page.url).await });
        Elicited::accepted()
    });
    let client = client.build().unwrap();

    assert_eq!(call(&client, "guarded_hello").await.unwrap(), "hello");

    let error = refused(&rig.builder("bob", Era::Legacy, "/mcp").build().unwrap(), "other").await;
    assert!(error["message"].as_str().unwrap().contains("no tool `other` is known"), "{error}");
}
