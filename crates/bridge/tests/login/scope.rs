//! Calls that need more scope than was granted.

use serde_json::json;

use crate::asking::{accept, say, url};
use crate::stage::{Stage, answers, method, words};
use crate::support::consent;

#[tokio::test]
async fn a_call_that_lacks_scope_leads_to_a_page_and_goes_on_when_more_is_granted() {
    let stage = Stage::new().await;
    stage.log_in_elsewhere().await;
    let mut host = stage.host_with_pages().await;
    host.call(1, "admin").await;
    host.call(2, "admin").await;
    let page = method(&mut host, "elicitation/create").await;
    let message = page["params"]["message"].as_str().unwrap();
    assert!(message.contains("to grant `files` more") && message.contains("admin"), "{message}");

    // Other calls do not wait for more scope.
    host.call(3, "hello").await;
    let (answered, _) = answers(&mut host, &[3]).await;
    assert!(answered[0]["result"].is_object(), "{answered:?}");
    accept(&mut host, &page).await;
    consent(url(&page)).await;

    let (answered, others) = answers(&mut host, &[1, 2]).await;
    assert!(answered.iter().all(|it| it["result"].is_object()), "{answered:?}");
    assert!(others.iter().all(|it| it["method"] != "elicitation/create"), "{others:?}");
    assert_eq!(stage.world.count("one", "/authorize"), 2, "the first login, and more scope");
}

#[tokio::test]
async fn a_person_who_declines_more_scope_gets_the_refusal_and_is_not_asked_again() {
    let stage = Stage::new().await;
    stage.log_in_elsewhere().await;
    let mut host = stage.host_with_pages().await;
    host.call(1, "admin").await;
    let page = method(&mut host, "elicitation/create").await;

    say(&mut host, &page, json!({"action": "decline"})).await;
    let (refused, _) = answers(&mut host, &[1]).await;
    host.call(2, "admin").await;
    let (again, others) = answers(&mut host, &[2]).await;

    for answer in [&refused[0], &again[0]] {
        assert!(words(answer).contains("insufficient scope: admin"), "{answer}");
    }
    assert!(others.iter().all(|it| it["method"] != "elicitation/create"), "{others:?}");
    host.call(3, "hello").await;
    let (answered, _) = answers(&mut host, &[3]).await;
    assert!(answered[0]["result"].is_object(), "{answered:?}");
}

#[tokio::test]
async fn a_host_without_pages_is_told_which_scope_is_missing() {
    let stage = Stage::new().await;
    stage.log_in_elsewhere().await;
    let mut host = stage.host().await;

    let answer = host.asked(1, "tools/call", json!({"name": "admin"})).await;

    assert!(words(&answer).contains("insufficient scope: admin"), "{answer}");
    assert_eq!(stage.world.count("one", "/authorize"), 1);
}
