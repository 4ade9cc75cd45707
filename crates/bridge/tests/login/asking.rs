//! Hosts that can show a page: they are asked to show that of the login.

use ridethrough_oauth::KeepClient;
use serde_json::{Value, json};

use crate::needed::wait_for;
use crate::rig::{Host, methods, secs};
use crate::stage::{Stage, answers, initialize, method, words};
use crate::support::consent;

#[tokio::test]
async fn many_calls_lead_to_one_page_and_go_on_when_the_person_has_logged_in() {
    let stage = Stage::new().await;
    let mut host = stage.host_with_pages().await;
    let ids: Vec<u64> = (1..21).collect();
    for id in &ids {
        host.call(*id, "hello").await;
    }

    let page = host.hear_json().await;
    assert_eq!(page["method"], "elicitation/create");
    assert_eq!(page["params"]["mode"], "url");
    let message = page["params"]["message"].as_str().unwrap();
    assert!(message.contains("to use `files`"), "{message}");
    accept(&mut host, &page).await;
    consent(url(&page)).await;
    let (answered, others) = answers(&mut host, &ids).await;

    assert!(answered.iter().all(|it| it["result"].is_object()), "{answered:?}");
    let complete: Vec<_> =
        others.iter().filter(|it| it["method"] == "notifications/elicitation/complete").collect();
    assert_eq!(complete.len(), 1, "{others:?}");
    assert_eq!(complete[0]["params"]["elicitationId"], page["params"]["elicitationId"]);
    assert!(!methods(&others).contains(&"elicitation/create"));
    assert_eq!(stage.world.count("one", "/authorize"), 1);
}

/// Hosts begin with lists, and show nothing until they have them.
#[tokio::test]
async fn a_list_leads_to_the_page_and_does_not_wait_for_it() {
    let stage = Stage::new().await;
    let mut host = stage.host_with_pages().await;

    host.ask(1, "tools/list", json!({})).await;
    let (answered, mut others) = answers(&mut host, &[1]).await;

    assert!(words(&answered[0]).contains("needs a login"));
    if others.is_empty() {
        others.push(host.hear_json().await);
    }
    assert_eq!(methods(&others), ["elicitation/create"]);
    consent(url(&others[0])).await;
    method(&mut host, "notifications/tools/list_changed").await;
}

#[tokio::test]
async fn a_host_that_is_not_ready_is_asked_nothing() {
    let stage = Stage::new().await;
    let mut host = Host::start(stage.bridge());
    initialize(&mut host, json!({"elicitation": {"url": {}}})).await;

    let answer = host.asked(1, "tools/call", json!({"name": "hello"})).await;

    assert!(words(&answer).contains("needs a login"), "{answer}");
}

#[tokio::test]
async fn whoever_declines_is_not_asked_again() {
    let stage = Stage::new().await;
    let mut host = stage.host_with_pages().await;
    host.call(1, "hello").await;
    let page = host.hear_json().await;

    say(&mut host, &page, json!({"action": "decline"})).await;
    let declined = host.hear_json().await;

    assert!(words(&declined).contains("the login was declined"), "{declined}");
    tokio::time::pause();
    tokio::time::sleep(secs(3600)).await;
    tokio::time::resume();
    host.call(2, "hello").await;
    let again = host.hear_json().await;
    assert!(words(&again).contains("needs a login"), "{again}");
}

#[tokio::test]
async fn whoever_closes_the_page_is_asked_again_after_a_minute() {
    let stage = Stage::new().await;
    let mut host = stage.host_with_pages().await;
    host.call(1, "hello").await;
    let page = host.hear_json().await;
    say(&mut host, &page, json!({"action": "cancel"})).await;
    assert!(words(&host.hear_json().await).contains("the page was closed"));
    host.call(2, "hello").await;
    assert!(words(&host.hear_json().await).contains("needs a login"));

    tokio::time::pause();
    tokio::time::sleep(secs(61)).await;
    tokio::time::resume();
    host.call(3, "hello").await;

    let page = host.hear_json().await;
    assert_eq!(page["method"], "elicitation/create");
    consent(url(&page)).await;
    let (answered, _) = answers(&mut host, &[3]).await;
    assert!(answered[0]["result"].is_object(), "{answered:?}");
}

#[tokio::test]
async fn a_host_that_never_answers_keeps_no_call_for_ever() {
    let stage = Stage::new().await;
    let mut host = stage.host_with_pages().await;
    host.call(1, "hello").await;
    let page = host.hear_json().await;
    tokio::time::pause();

    let (answered, others) = answers(&mut host, &[1]).await;

    assert!(words(&answered[0]).contains("was not finished within 300s"), "{answered:?}");
    let withdrawn = others.iter().find(|it| it["method"] == "notifications/cancelled").unwrap();
    assert_eq!(withdrawn["params"]["requestId"], page["id"]);
}

#[tokio::test]
async fn a_login_that_is_denied_ends_the_calls_and_is_told() {
    let stage = Stage::new().await;
    stage.world.state().denies_login = true;
    let mut host = stage.host_with_pages().await;
    host.call(1, "hello").await;
    let page = host.hear_json().await;
    accept(&mut host, &page).await;

    consent(url(&page)).await;
    let (answered, _) = answers(&mut host, &[1]).await;

    assert!(words(&answered[0]).contains("the login failed"), "{answered:?}");
    host.call(2, "hello").await;
    let again = host.hear_json().await;
    assert!(words(&again).contains("needs a login"), "{again}");
}

#[tokio::test]
async fn a_login_elsewhere_takes_the_page_back_and_lets_the_calls_go_on() {
    let stage = Stage::new().await;
    let mut host = stage.host_with_pages().await;
    host.call(1, "hello").await;
    let page = host.hear_json().await;

    stage.log_in_elsewhere().await;
    let (answered, others) = answers(&mut host, &[1]).await;

    assert!(answered[0]["result"].is_object(), "{answered:?}");
    let withdrawn = others.iter().find(|it| it["method"] == "notifications/cancelled").unwrap();
    assert_eq!(withdrawn["params"]["requestId"], page["id"]);
}

#[tokio::test]
async fn a_server_that_refuses_every_token_leads_to_one_page() {
    let stage = Stage::new().await;
    stage.world.state().refuses_all_tokens = true;
    let mut host = stage.host_with_pages().await;
    host.call(1, "hello").await;
    let page = host.hear_json().await;
    accept(&mut host, &page).await;
    consent(url(&page)).await;
    let (answered, _) = answers(&mut host, &[1]).await;
    assert!(words(&answered[0]).contains("refuses a token that was just issued"), "{answered:?}");
    let asked = stage.asked();

    let ids: Vec<u64> = (2..52).collect();
    for id in &ids {
        host.call(*id, "hello").await;
    }
    let (answered, others) = answers(&mut host, &ids).await;

    assert!(answered.iter().all(|it| words(it).contains("needs a login")));
    assert!(!methods(&others).contains(&"elicitation/create"), "{others:?}");
    assert_eq!(stage.asked(), asked);
    assert_eq!(stage.world.count("one", "/authorize"), 1);
}

#[tokio::test]
async fn a_call_that_waits_for_the_login_can_be_taken_back() {
    let stage = Stage::new().await;
    let mut host = stage.host_with_pages().await;
    host.call(1, "hello").await;
    host.call(2, "hello").await;
    let page = host.hear_json().await;

    host.cancel(1).await;
    consent(url(&page)).await;
    let (answered, others) = answers(&mut host, &[2]).await;

    assert!(answered[0]["result"].is_object(), "{answered:?}");
    assert!(others.iter().all(|it| it["id"] != 1), "{others:?}");
}

#[tokio::test]
async fn calls_that_wait_are_answered_when_the_bridge_ends() {
    let stage = Stage::new().await;
    let mut host = stage.host_with_pages().await;
    host.call(1, "hello").await;
    host.hear_json().await;

    host.finish_writing().await;
    let rest = host.rest().await;

    assert!(rest.iter().any(|line| line.contains(r#""id":1,"error""#)), "{rest:?}");
}

/// The next login has another page, and the person is asked again.
#[tokio::test]
async fn a_second_logout_leads_to_a_second_page() {
    let stage = Stage::new().await;
    let elsewhere = stage.log_in_elsewhere().await;
    let mut host = stage.host_with_pages().await;
    for id in [1, 3] {
        host.call(id, "hello").await;
        let (answered, _) = answers(&mut host, &[id]).await;
        assert!(answered[0]["result"].is_object(), "{answered:?}");
        elsewhere.log_out(KeepClient::Yes).await.unwrap();
        host.call(id + 1, "hello").await;
        let page = method(&mut host, "elicitation/create").await;
        accept(&mut host, &page).await;
        consent(url(&page)).await;
        let (answered, _) = answers(&mut host, &[id + 1]).await;
        assert!(answered[0]["result"].is_object(), "{answered:?}");
    }
    wait_for(&host, "somebody has logged in").await;
}

pub(crate) async fn accept(host: &mut Host, page: &Value) {
    say(host, page, json!({"action": "accept"})).await;
}

pub(crate) async fn say(host: &mut Host, page: &Value, result: Value) {
    let answer = json!({"jsonrpc": "2.0", "id": page["id"], "result": result});
    host.say(answer.to_string()).await;
}

pub(crate) fn url(page: &Value) -> &str {
    page["params"]["url"].as_str().unwrap_or_else(|| panic!("no page: {page}"))
}
